"""Where in its source a passage stands: labels of parts, kept right through cutting."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from ingest.sanitising import sanitised

MAX_LABEL_CODE_POINTS = 120
Parts = tuple[tuple[int, str], ...]
_NUMBERED = re.compile(r"(?P<kind>page|row) (?P<number>\d+)")


def label_of(text: str) -> str:
    """Return a heading as a label: one storable line of at most `MAX_LABEL_CODE_POINTS`."""
    line = " ".join(sanitised(text).split())
    if len(line) <= MAX_LABEL_CODE_POINTS:
        return line
    return line[: MAX_LABEL_CODE_POINTS - 1] + "…"


def locations(parts: Parts, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the location of each span: ``page 3``, ``rows 17-30``, ``Hope – Despair``.

    Args:
        parts: start code points, rising, and the label of the text from there on.
        spans: (start, end) code points. What stands before the first part has no location.
    """
    starts = [start for start, _ in parts]
    found: list[str] = []
    for start, end in spans:
        first = max(bisect_right(starts, start) - 1, 0)
        last = bisect_right(starts, end - 1) - 1
        found.append("" if last < 0 else _joined(parts[first][1], parts[last][1]))
    return found


def _joined(first: str, last: str) -> str:
    if first == last:
        return first
    one, other = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(last)
    if one and other and one["kind"] == other["kind"]:
        return f"{one['kind']}s {one['number']}-{other['number']}"
    return f"{first} – {last}"


def sanitised_parts(text: str, parts: Parts) -> tuple[str, Parts]:
    """Return what `sanitised` makes of `text`, with the parts where they then begin."""
    pieces: list[str] = []
    moved: list[tuple[int, str]] = []
    length = before = 0
    for start, label in (*parts, (len(text), "")):
        pieces.append(sanitised(text[before:start]))
        length += len(pieces[-1])
        moved.append((length, label))
        before = start
    return "".join(pieces), tuple(moved[:-1])
