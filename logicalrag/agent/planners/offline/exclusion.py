"""What a question leaves out: "which opera that is not X", "other than X", "except X"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import regex

from logicalrag.query.tokens import token_spans

_MARKER = regex.compile(
    r"""[,\s]*\b
    (?: (?:(?:that|which|who)\s+)? (?:(?:is|are|was|were)\s+not|(?:is|are|was|were)n['’]t)
      | other\s+than | except(?:\s+for)? | apart\s+from | besides | excluding )
    \s+ (?=["“„«]?\p{Lu})""",
    regex.X,
)
_MAX_NAME_TOKENS = 6


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A name that the answer must not be about.

    Args:
        start: code points of the question before the words that leave it out.
        names: for each way to read where the name ends, (its tokens, that end), longest first.
    """

    start: int
    names: tuple[tuple[str, int], ...]

    def titled(self, title_hits: Mapping[str, int], most: int) -> tuple[str, int] | None:
        """Return the longest reading that 1 to `most` passages have in their titles."""
        return next((name for name in self.names if 1 <= title_hits.get(name[0], 0) <= most), None)


def exclusion(question: str) -> Exclusion | None:
    """Return what `question` leaves out by name, or None."""
    marker = _MARKER.search(question)
    if marker is None:
        return None
    rest = [token for token in token_spans(question) if token.start >= marker.end()]
    names: list[tuple[str, int]] = []
    for count in range(min(len(rest), _MAX_NAME_TOKENS), 0, -1):
        name = " ".join(token.text for token in rest[:count])
        names.append((name, rest[count - 1].end))
    return Exclusion(marker.start(), tuple(names))


def without(question: str, left_out: Exclusion, end: int) -> str:
    """Return `question` without the words from the exclusion's start to `end`."""
    rest = regex.sub(r'^["”“»]*,?', "", question[end:])
    return f"{question[: left_out.start]} {rest.strip()}".strip()
