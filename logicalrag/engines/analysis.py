"""Stems: English, as Snowball 3 makes them, one implementation for all that stems in Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

import Stemmer

Analysis = Literal["english", "standard"]
"""``english``: words by their stems, quotes exact. ``standard``: no stems and no second form."""

_local = threading.local()


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the English stem of one token (lower case, folded).

    Source: Snowball 3 by PyStemmer 3.1.0, equal to tantivy's stemmer on every word measured.
    """
    # A Stemmer object keeps a buffer of its own and is not safe to share between threads.
    stemmer: Stemmer.Stemmer | None = getattr(_local, "stemmer", None)
    if stemmer is None:
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
    stemmed: str = stemmer.stemWord(word)
    return stemmed


def stemmer(analysis: Analysis) -> Callable[[str], str]:
    """Return what turns a token into the form that words are compared by."""
    return stem if analysis == "english" else _unchanged


def _unchanged(word: str) -> str:
    return word
