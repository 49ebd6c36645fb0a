"""The indexed words of one commit, and which of them are spelt like a given one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import groupby

from tantivy import Searcher

from logicalrag.engines.embedded.schema import EXACT
from logicalrag.engines.protocol import NearWord
from logicalrag.engines.spelling import MAX_EDITS, similarity
from logicalrag.query.nodes import FIELDS, Field


class Vocabulary:
    """The words of each field with an upper bound of their passages; read when first needed.

    Args:
        searcher: of the commit.
    """

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._lock = threading.Lock()
        self._words: dict[Field, dict[str, int]] = {}

    def nearest(
        self, word: str, field: Field | None, limit: int, hits_of: Callable[[str], int]
    ) -> list[NearWord]:
        """Return at most `limit` words spelt like `word`, by similarity, hits, and the word.

        Alike and similar as `spelling.similarity` says.

        Args:
            word: one token; itself never returned.
            field: the field whose words are meant; None for all.
            limit: at least 0.
            hits_of: counts the passages that the caller may see; words without any are left out.
        """
        found: dict[str, tuple[float, int]] = {}
        for name in FIELDS if field is None else (field,):
            words = self._of(name)
            from rapidfuzz import process  # here, as most commands look for no near word
            from rapidfuzz.distance import Levenshtein

            alike = process.extract(
                word,
                words.keys(),
                scorer=Levenshtein.distance,
                score_cutoff=MAX_EDITS,
                limit=None,
            )
            for held, _, _ in alike:
                similar = similarity(word, held)
                if similar is not None:
                    found[held] = (similar, words[held] + found.get(held, (0.0, 0))[1])
        nearest: list[NearWord] = []
        by_similarity = sorted(found.items(), key=lambda item: -item[1][0])
        for _, group in groupby(by_similarity, key=lambda item: item[1][0]):
            if len(nearest) >= limit:
                break
            equals = [(bound, held) for held, (_, bound) in group]
            nearest += _most_held(equals, limit - len(nearest), hits_of)
        return nearest

    def _of(self, name: Field) -> dict[str, int]:
        with self._lock:
            known = self._words.get(name)
            if known is None:
                known = self._words[name] = dict(self._searcher.terms_with_prefix(EXACT[name], ""))
            return known


def _most_held(
    words: list[tuple[int, str]], limit: int, hits_of: Callable[[str], int]
) -> list[NearWord]:
    """Return the `limit` of `words` with most hits; counts no more of them than it must.

    Args:
        words: each with an upper bound of its hits.
    """
    words.sort(key=lambda pair: (-pair[0], pair[1]))
    found: list[NearWord] = []
    for bound, word in words:
        if len(found) >= limit and found[limit - 1].hits > bound:
            break
        hits = hits_of(word)
        if hits:
            found.append(NearWord(word, hits))
            found.sort(key=lambda near: (-near.hits, near.word))
            del found[limit:]
    return found
