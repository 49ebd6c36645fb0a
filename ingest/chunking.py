"""Documents into passages: whole sentences up to a size, with offsets that lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import regex

from ingest.sentences import sentences
from logicalrag.query.tokens import MAX_TOKEN_CODE_POINTS, tokenize

# Line-breaking class SA: scripts written without spaces (Thai, Lao, Khmer, Burmese and their
# kin). The token rule makes one run of them one token, which says nothing about their length.
_UNSPACED = regex.compile(r"\p{Line_Break=SA}")
_GRAPHEMES = regex.compile(r"\X")
_LOOK_BACK_CODE_POINTS = 64


@dataclass(frozen=True, slots=True)
class Counter:
    """How long a text is.

    Args:
        name: goes into the content hash, so that another counter is another chunking.
        count: the length of a text; 0 for the empty one.
    """

    name: str
    count: Callable[[str], int]


def count_tokens(text: str) -> int:
    """Count the tokens of the token rule, and each letter of an unspaced script as one.

    64 code points of anything count as at least one, so that no text is long and counts nothing.
    """
    floor = -(-len(text) // MAX_TOKEN_CODE_POINTS)
    if text.isascii():
        return max(floor, len(tokenize(text)))
    spaced, unspaced = _UNSPACED.subn(" ", text)
    return max(floor, unspaced + len(tokenize(spaced)))


TOKENS = Counter("token-rule/1", count_tokens)
CHARACTERS = Counter("characters/1", len)


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How documents are cut.

    Args:
        mode: ``chunks`` cuts at sentences; ``passage`` keeps each document whole.
        size: the most that one chunk may hold, in `unit`; at least 1.
        overlap: what a chunk may repeat of the end of the one before, in `unit`, in whole
            sentences; at least 0 and under `size`. 0 by default: a repeated sentence would be
            counted as two hits.
        unit: ``tokens`` (by `counter`), ``characters`` (code points) or ``sentences``.
        counter: counts tokens where `unit` is ``tokens``.
        language: ISO 639-1 code for the rules of abbreviations and sentence ends.

    Raises:
        ValueError: a bound is broken.
    """

    mode: Literal["chunks", "passage"] = "chunks"
    size: int = 1_000
    overlap: int = 0
    unit: Literal["tokens", "characters", "sentences"] = "tokens"
    counter: Counter = TOKENS
    language: str = "en"

    def __post_init__(self) -> None:
        if self.mode not in ("chunks", "passage"):
            raise ValueError(f"mode is chunks or passage, not {self.mode!r}")
        if self.unit not in ("tokens", "characters", "sentences"):
            raise ValueError(f"unit is tokens, characters or sentences, not {self.unit!r}")
        if self.size < 1:
            raise ValueError(f"a chunk's size is at least 1, not {self.size}")
        if not 0 <= self.overlap < self.size:
            raise ValueError(f"overlap is from 0 to under size {self.size}, not {self.overlap}")

    @property
    def fingerprint(self) -> str:
        """One text for settings that cut alike; part of every content hash."""
        if self.mode == "passage":
            return "passage/1"
        counter = self.counter.name if self.unit == "tokens" else self.unit
        return f"chunks/1 {self.size} {self.overlap} {counter} {self.language}"


def chunk_parts(text: str, starts: Sequence[int], settings: ChunkSettings) -> list[tuple[int, int]]:
    """Return the chunks of `text`, none of which goes on past one of `starts` (rising).

    Together they hold every character; blank parts are part of the one before. Mode ``passage``
    keeps the document whole.
    """
    if settings.mode == "passage" or not text or text.isspace():
        return chunk(text, settings)
    bounds = [0]
    for start in starts:
        if text[bounds[-1] : start].strip():
            bounds.append(start)
    if not text[bounds[-1] :].strip():
        bounds.pop()
    return [
        (start + offset, end + offset)
        for offset, stop in pairwise((*bounds, len(text)))
        for start, end in chunk(text[offset:stop], settings)
    ]


def chunk(text: str, settings: ChunkSettings) -> list[tuple[int, int]]:
    """Return the chunks of `text` as (start, end) code points, in order.

    The first begins at 0, the last ends at ``len(text)``, and each begins at or before the end
    of the one before: together they hold every character. Each counts at most ``settings.size``;
    a longer sentence is cut, between words where there are any. No chunk repeats only what the
    one before holds. A blank text has none.
    """
    if not text or text.isspace():
        return []
    if settings.mode == "passage":
        return [(0, len(text))]
    spans = sentences(text, settings.language)
    if settings.unit == "sentences":
        return _pack(spans, [1] * len(spans), settings.size, settings.overlap, None)
    counter = settings.counter if settings.unit == "tokens" else CHARACTERS
    pieces: list[tuple[int, int]] = []
    costs: list[int] = []
    for start, end in spans:
        cost = counter.count(text[start:end])
        if cost <= settings.size:
            pieces.append((start, end))
            costs.append(cost)
            continue
        for cut in _cut(text, start, end, settings.size, counter.count):
            pieces.append(cut)
            costs.append(counter.count(text[slice(*cut)]))

    def fits(start: int, end: int) -> bool:
        return counter.count(text[start:end]) <= settings.size

    additive = settings.unit == "characters"
    return _pack(pieces, costs, settings.size, settings.overlap, None if additive else fits)


def _pack(
    pieces: list[tuple[int, int]],
    costs: list[int],
    size: int,
    overlap: int,
    fits: Callable[[int, int], bool] | None,
) -> list[tuple[int, int]]:
    """Fill chunks with adjoining pieces; `fits` checks a whole whose count is not the sum."""
    chunks: list[tuple[int, int]] = []
    fresh = 0  # the first piece that no chunk holds yet
    while fresh < len(pieces):
        first, total = fresh, 0
        repeated = 0
        while overlap and chunks and first > 0 and repeated + costs[first - 1] <= overlap:
            first -= 1
            repeated += costs[first]
        while first < fresh and repeated + costs[fresh] > size:
            repeated -= costs[first]
            first += 1
        total = repeated
        last = fresh
        while last < len(pieces) and (last == fresh or total + costs[last] <= size):
            total += costs[last]
            last += 1
        if fits is not None:
            while not fits(pieces[first][0], pieces[last - 1][1]):
                if last - 1 > fresh:
                    last -= 1
                elif first < fresh:
                    first += 1
                else:
                    break  # one piece alone, which was cut to fit
        chunks.append((pieces[first][0], pieces[last - 1][1]))
        fresh = last
    return chunks


def _cut(
    text: str, start: int, end: int, size: int, count: Callable[[str], int]
) -> list[tuple[int, int]]:
    """Cut one over-long sentence into pieces of at most `size`, each as long as may be."""
    pieces: list[tuple[int, int]] = []
    guess = size
    while start < end:
        stop = _longest(text, start, end, size, count, guess)
        guess = stop - start  # an even text is cut evenly, and the search is over at once
        if stop < end:
            stop = _between_words(text, start, stop, size, count)
        pieces.append((start, stop))
        start = stop
    return pieces


def _longest(
    text: str, start: int, end: int, size: int, count: Callable[[str], int], guess: int
) -> int:
    """Return the largest end found whose piece counts at most `size`; at least one code point.

    Args:
        guess: the length to try first; the search widens from there.
    """
    low, high = start + 1, end + 1  # low fits, or is all there can be; high does not
    step, place = 1, min(end, start + guess)
    while low < place < high:
        if count(text[start:place]) <= size:
            low, place = place, place + step
        else:
            high, place = place, place - step
        step *= 2
        if low + 1 < high and not low < place < high:
            place = (low + high) // 2
    return low


def _between_words(text: str, start: int, stop: int, size: int, count: Callable[[str], int]) -> int:
    """Move a cut back to the last space near it, else to the last whole character."""
    nearest = max(start + (stop - start) // 2, stop - _LOOK_BACK_CODE_POINTS)
    for place in range(stop, nearest, -1):
        if text[place - 1].isspace() and count(text[start:place]) <= size:
            return place
    if regex.match(r"[\p{M}\u200d]", text[stop]) or text[stop - 1] == "\u200d":
        whole = nearest
        for grapheme in _GRAPHEMES.finditer(text, nearest, stop + 1):
            if grapheme.end() > stop:
                break
            whole = grapheme.end()
        if whole > nearest and count(text[start:whole]) <= size:
            return whole
    return stop
