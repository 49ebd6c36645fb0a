"""How long a text is: counters, and where their counts add up."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import regex

from logicalrag.query.tokens import MAX_TOKEN_CODE_POINTS, tokenize

# Line-breaking class SA: scripts written without spaces (Thai, Lao, Khmer, Burmese and their
# kin). The token rule makes one run of them one token, which says nothing about their length.
_UNSPACED = regex.compile(r"\p{Line_Break=SA}")
# Holds all of class SA and little else of what is written; searched twice as fast.
_MAYBE_UNSPACED = re.compile("[\u0e00-\u1aff\ua900-\uabff\U00010000-\U0001ffff]")

# Most texts of European languages can be written in this code page, a byte a character.
_CODE_PAGE = "cp1252"
_LETTER, _UNCLEAR = b"x", b"?"
_APOSTROPHES = "'’".encode(_CODE_PAGE)
_WORD_START = b" " + _LETTER
_LONG_WORD = _LETTER * (MAX_TOKEN_CODE_POINTS + 1)


def _kind(code: int) -> bytes:
    """Return whether a byte of the code page is a letter, parts words, or may do otherwise."""
    if code in _APOSTROPHES:
        return _UNCLEAR
    around = tokenize(f"a{bytes([code]).decode(_CODE_PAGE, 'replace')}b")
    if len(around) == 2:
        return b" "
    return _LETTER if len(around[0]) == 3 else _UNCLEAR


_KINDS = b"".join(map(_kind, range(256)))
_SENTENCE_ENDS = frozenset(".!?。！？")


@dataclass(frozen=True, slots=True)
class Counter:
    """How long a text is.

    Args:
        name: goes into the content hash, so that another counter is another chunking.
        count: the length of a text; 0 for the empty one.
        seam: what a count changes by where two parts of a text are joined, so that chunks need
            not be counted again. ``seam(text, place, end)`` is a number such that
            ``count(text[start:end]) <= count(text[start:place]) + count(text[place:end]) +
            seam`` for every ``start`` before `place`, also where it is a seam itself; None where
            no such number is known. None for a counter of which nothing is known.
    """

    name: str
    count: Callable[[str], int]
    seam: Callable[[str, int, int], int | None] | None = None


def count_tokens(text: str) -> int:
    """Count the tokens of the token rule, and each letter of an unspaced script as one.

    64 code points of anything count as at least one, so that no text is long and counts nothing.
    """
    return max(-(-len(text) // MAX_TOKEN_CODE_POINTS), _count_words(text))


def _count_words(text: str) -> int:
    try:
        kinds = text.encode("ascii" if text.isascii() else _CODE_PAGE).translate(_KINDS)
    except UnicodeEncodeError:
        if not _MAYBE_UNSPACED.search(text):
            return len(tokenize(text))
        spaced, unspaced = _UNSPACED.subn(" ", text)
        return unspaced + len(tokenize(spaced))
    if _UNCLEAR in kinds or _LONG_WORD in kinds:
        return len(tokenize(text))
    return kinds.count(_WORD_START) + kinds.startswith(_LETTER)


def _token_seam(text: str, place: int, _end: int) -> int | None:
    """Return 0 after white space and the end of a sentence, which no token goes over.

    Nothing composes with either, and neither is removed or part of a possessive.
    """
    last = text[place - 1]
    return 0 if last.isspace() or last in _SENTENCE_ENDS else None


def _character_seam(_text: str, _place: int, _end: int) -> int:
    return 0


TOKENS = Counter("token-rule/1", count_tokens, _token_seam)
CHARACTERS = Counter("characters/1", len, _character_seam)
