"""How far a session may go: each limit with its unit, scope and when it is checked."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass as validated


@validated(frozen=True, slots=True)
class Limits:
    """Bounds of one session; a limit reached is an outcome of its own, never an answer.

    Tokens, seconds and cost count what all turns together used, the turns before an interruption
    included, and are checked before each planner call: the turn after the limit is reached is
    not taken. So one reply may pass it, and one that ends the session still counts. None: no
    bound.

    Args:
        searching_turns: search, count and read actions of a session; checked before each. The
            turn after the last of them may only answer or abstain.
        turns: planner calls of a session, malformed replies included; checked before each. The
            turn after the last of them, too, may only answer or abstain.
        results: passages shown by one search at most; applied to `max_results`.
        excerpt_characters: code points of a passage shown by a search; `read` gives the whole.
        too_broad_fraction: share of the visible passages above which a search is refused, where
            no positive clause by itself is below it.
        too_broad_passages: visible passages below which no search is too broad.
        nearest_words: suggestions for each word without hits, at most.
        dead_words: words without hits that get suggestions in one feedback, at most.
        tokens: input, cached, cache writes and output of all model calls.
        seconds: elapsed in planner replies and engine calls.
        cost: US dollars of all model calls; reached, too, where a reply's price is not known.
    """

    searching_turns: Annotated[int, Field(ge=1, le=100)] = 8
    turns: Annotated[int, Field(ge=2, le=200)] = 16
    results: Annotated[int, Field(ge=1, le=20)] = 10
    excerpt_characters: Annotated[int, Field(ge=100, le=20_000)] = 600
    too_broad_fraction: Annotated[float, Field(gt=0, le=1)] = 0.5
    too_broad_passages: Annotated[int, Field(ge=1)] = 100
    nearest_words: Annotated[int, Field(ge=0, le=20)] = 3
    dead_words: Annotated[int, Field(ge=0, le=20)] = 5
    tokens: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class LimitsError(ValueError):
    """Limits that cannot be kept; `message` is one sentence that says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
