"""The part of a passage that a search shows: whole sentences around what matched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from itertools import pairwise

import regex

from logicalrag.engines.analysis import stem
from logicalrag.query.nodes import Node, Phrase
from logicalrag.query.tokens import token_spans
from logicalrag.query.visitor import positive_leaves

# A sentence ends at its mark and white space, at an ideographic mark, or at a line's end. Errors
# of this simple rule only move the edge of an excerpt.
_SENTENCE_END = regex.compile(r"(?<=[.!?]['\")\]”’]?)\s+|(?<=[。！？])|\n+")


def matched_forms(
    tree: Node, stem: Callable[[str], str] = stem
) -> tuple[frozenset[str], frozenset[str]]:
    """Return (stems, exact tokens) that positive words and quotes of `tree` ask for.

    `stem` is the stemmer of the index's analysis, here as in `excerpt`.
    """
    stems: set[str] = set()
    exact: set[str] = set()
    for leaf in positive_leaves(tree):
        if isinstance(leaf, Phrase):
            exact.update(leaf.tokens)
        else:
            stems.update(stem(token) for token in leaf.tokens)
    return frozenset(stems), frozenset(exact)


def excerpt(
    text: str,
    stems: Set[str],
    exact: Set[str],
    limit: int,
    stem: Callable[[str], str] = stem,
) -> tuple[str, bool]:
    """Return at most `limit` code points of `text` and whether that is all of it.

    The excerpt is a run of whole sentences (a longer sentence is cut between words) with the
    most distinct matches, then the most matches, then the earliest; its characters are those of
    the source.
    """
    if len(text) <= limit:
        return text, True
    segments = _segments(text, limit)
    matches: list[list[str]] = [[] for _ in segments]
    place = 0
    for token in token_spans(text):
        while place < len(segments) - 1 and token.start >= segments[place][1]:
            place += 1
        if token.text in exact:
            matches[place].append(token.text)
        elif (stemmed := stem(token.text)) in stems:
            matches[place].append(stemmed)
    first, last = _best_window(segments, matches, limit)
    return text[segments[first][0] : segments[last][1]].strip(), False


def _segments(text: str, limit: int) -> list[tuple[int, int]]:
    """Return consecutive (start, end) that cover `text`, each at most `limit` long."""
    edges = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    segments: list[tuple[int, int]] = []
    for sentence_start, end in pairwise(edges):
        start = sentence_start
        while end - start > limit:
            cut = text.rfind(" ", start + 1, start + limit) + 1 or start + limit
            segments.append((start, cut))
            start = cut
        if end > start:
            segments.append((start, end))
    return segments


def _best_window(
    segments: Sequence[tuple[int, int]], matches: Sequence[Sequence[str]], limit: int
) -> tuple[int, int]:
    """Return (first, last) of the best run of segments, in time linear in their number."""
    held: Counter[str] = Counter()
    total = begin = 0
    best, window = (-1, -1, -1), (0, 0)
    for end, (_, stop) in enumerate(segments):
        held.update(matches[end])
        total += len(matches[end])
        while stop - segments[begin][0] > limit:
            for form in matches[begin]:
                held[form] -= 1
                if not held[form]:
                    del held[form]
            total -= len(matches[begin])
            begin += 1
        # More text around equal matches is worth more than less.
        rank = (len(held), total, end - begin)
        if rank > best:
            best, window = rank, (begin, end)
    return window
