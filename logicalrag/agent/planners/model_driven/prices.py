"""What tokens cost, by model: the published prices, and those that a user gives."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated

from logicalrag.agent.usage import Usage

MAX_TEXT_CHARACTERS = 1_000_000
_PUBLISHED = Path(__file__).with_name("prices.toml")
_MILLION = 1_000_000
_FORBID = ConfigDict(extra="forbid")
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PriceError(ValueError):
    """A price table that cannot be used; `message` says where and what would do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


@validated(frozen=True, slots=True, config=_FORBID)
class LongPrompt:
    """The prices of every token of a request whose prompt has more than `above_tokens` tokens."""

    above_tokens: Annotated[int, Field(ge=1)]
    input: _Dollars
    cached: _Dollars
    cache_write: _Dollars
    output: _Dollars


@validated(frozen=True, slots=True, config=_FORBID)
class Price:
    """US dollars for a million tokens of one model.

    Args:
        input: read outside a cache.
        cached: read from a prompt cache.
        cache_write: written to one.
        output: written by the model, its thinking included.
        long_prompt: other prices for long prompts, where the model has them.
    """

    input: _Dollars
    cached: _Dollars
    cache_write: _Dollars
    output: _Dollars
    long_prompt: LongPrompt | None = None

    def cost(self, request: Usage) -> float:
        """Return what one request cost, in US dollars."""
        prompt = request.input_tokens + request.cached_tokens + request.cache_write_tokens
        long = self.long_prompt
        rates = long if long is not None and prompt > long.above_tokens else self
        return (
            request.input_tokens * rates.input
            + request.cached_tokens * rates.cached
            + request.cache_write_tokens * rates.cache_write
            + request.output_tokens * rates.output
        ) / _MILLION


_TABLE: TypeAdapter[dict[str, Price]] = TypeAdapter(dict[str, Price])


def parse_prices(text: str, name: str) -> dict[str, Price]:
    """Return the prices of a TOML table with one section a model, as in ``prices.toml``.

    Args:
        text: at most 1,000,000 code points.
        name: what errors call it.

    Raises:
        PriceError: no such table.
    """
    if len(text) > MAX_TEXT_CHARACTERS:
        raise PriceError(f"{name}: over {MAX_TEXT_CHARACTERS:,} characters is no price table.")
    try:
        return _TABLE.validate_python(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise PriceError(f"{name}: no TOML: {error}.") from None
    except RecursionError:
        raise PriceError(f"{name}: nested too deeply for a price table.") from None
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, problem["loc"])) or "table"
        raise PriceError(
            f"{name}: {place}: {problem['msg']}; each model has a section with input, cached, "
            "cache_write and output in US dollars for a million tokens."
        ) from None


@functools.cache
def published_prices() -> Mapping[str, Price]:
    """Return the prices that come with the program, by model name."""
    return parse_prices(_PUBLISHED.read_text(encoding="utf-8"), _PUBLISHED.name)
