"""Documents into passages: whole sentences up to a size, with offsets that lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import add
from typing import Literal

import regex

from ingest.sentences import sentences
from ingest.token_counters import CHARACTERS, TOKENS, Counter

_GRAPHEMES = regex.compile(r"\X")
_LOOK_BACK_CODE_POINTS = 64


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
        return f"chunks/2 {self.size} {self.overlap} {counter} {self.language}"


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
    if settings.unit == "sentences":
        spans = sentences(text, settings.language)
        return _pack(spans, [1] * len(spans), [0] * len(spans), settings, _always)
    counter = settings.counter if settings.unit == "tokens" else CHARACTERS
    count, seam = counter.count, counter.seam
    # Longer ones seldom fit, and would be counted in vain.
    if len(text) <= 4 * settings.size and count(text) <= settings.size:
        return [(0, len(text))]
    spans = sentences(text, settings.language)
    pieces, costs = _pieces(text, spans, settings.size, count)
    seams: list[int | None] = [None] * len(pieces)
    if seam is not None:
        seams = [seam(text, start, end) if start else 0 for start, end in pieces]

    def fits(start: int, end: int) -> bool:
        return count(text[start:end]) <= settings.size

    return _pack(pieces, costs, seams, settings, fits)


def _always(_start: int, _end: int) -> bool:
    return True


def _pieces(
    text: str, spans: list[tuple[int, int]], size: int, count: Callable[[str], int]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the sentences, over-long ones cut, and what each counts."""
    costs = [count(text[start:end]) for start, end in spans]
    if max(costs) <= size:
        return spans, costs
    pieces: list[tuple[int, int]] = []
    counts: list[int] = []
    for (start, end), cost in zip(spans, costs, strict=True):
        if cost <= size:
            pieces.append((start, end))
            counts.append(cost)
            continue
        for cut in _cut(text, start, end, size, count):
            pieces.append(cut)
            counts.append(count(text[slice(*cut)]))
    return pieces, counts


def _pack(
    pieces: list[tuple[int, int]],
    costs: list[int],
    seams: list[int | None],
    settings: ChunkSettings,
    fits: Callable[[int, int], bool],
) -> list[tuple[int, int]]:
    """Fill chunks with adjoining pieces.

    Args:
        seams: what each piece counts more than its cost where it follows another; None where the
            count of the whole may be anything, so that `fits` has to tell.
    """
    size, overlap = settings.size, settings.overlap
    known = [seam or 0 for seam in seams]
    # What the pieces before a place count together, and how many of their seams are unknown.
    sums = list(accumulate(map(add, costs, known), initial=0))
    doubts = list(accumulate((seam is None for seam in seams), initial=0))
    chunks: list[tuple[int, int]] = []
    fresh = 0  # the first piece that no chunk holds yet
    while fresh < len(pieces):
        first = fresh
        while overlap and first and sums[fresh] - sums[first - 1] - known[first - 1] <= overlap:
            first -= 1
        while first < fresh and sums[fresh + 1] - sums[first] - known[first] > size:
            first += 1
        most = sums[first] + known[first] + size
        last = fresh + 1
        while last < len(pieces) and sums[last + 1] <= most:
            last += 1
        if doubts[last] > doubts[first + 1]:
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
