"""What a planner's reply cost: model calls, tokens, seconds, money."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass as validated

_Tokens = Annotated[int, Field(ge=0)]


@validated(frozen=True, slots=True)
class Usage:
    """What was used, by one reply or by several added up.

    Args:
        model: the model's name as the server gave it; of several replies the last one's.
        calls: requests to the model that were answered or charged, retries included.
        input_tokens: read by the model outside any cache.
        cached_tokens: read from a prompt cache.
        cache_write_tokens: written to one.
        output_tokens: written by the model, its thinking included.
        seconds: from request to the end of the reply, waits between retries included.
        cost: in US dollars; None where the price of a model that took part is not known.
    """

    model: str = ""
    calls: _Tokens = 0
    input_tokens: _Tokens = 0
    cached_tokens: _Tokens = 0
    cache_write_tokens: _Tokens = 0
    output_tokens: _Tokens = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    cost: Annotated[float, Field(ge=0)] | None = 0.0

    @property
    def tokens(self) -> int:
        """All tokens: input, cached, cache writes and output."""
        return self.input_tokens + self.cached_tokens + self.cache_write_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Return both added up."""
        return Usage(
            model=other.model or self.model,
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            seconds=self.seconds + other.seconds,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
        )
