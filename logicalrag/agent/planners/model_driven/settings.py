"""How a model is asked: its name, its server, and how far one reply may go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic.dataclasses import dataclass as validated

from logicalrag.agent.planners.model_driven.prices import Price, published_prices

DEFAULT_MODEL = "claude-sonnet-5-5"
ANTHROPIC_URL = "https://api.anthropic.com"
PromptVariant = Literal["full", "syntax-only", "no-operators"]


@validated(frozen=True, slots=True, config=ConfigDict(hide_input_in_errors=True))
class ModelSettings:
    """Frozen values of a planner that is driven by a model.

    Args:
        model: the model's name.
        base_url: of a server that speaks the Messages API, without ``/v1``.
        api_key: its key; None for a server that asks for none. Never shown.
        temperature, top_p, thinking_budget: sent only where given, as models differ in what they
            accept; the budget is in tokens and under `max_output_tokens`.
        max_output_tokens: of one reply, thinking included.
        attempts: requests for one reply at most, all retries counted.
        request_seconds: how long one request may take, and how long a server may ask to wait
            before the next.
        prompt: which instructions the model gets.
        prices: by model name.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)] = DEFAULT_MODEL
    base_url: str = ANTHROPIC_URL
    api_key: str | None = Field(default=None, repr=False)
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    thinking_budget: Annotated[int, Field(ge=1024)] | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] = 16_000
    attempts: Annotated[int, Field(ge=1, le=100)] = 4
    request_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    prompt: PromptVariant = "full"
    prices: Mapping[str, Price] = Field(default_factory=published_prices, repr=False)

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            fits = False
        if not fits or "@" in parts.netloc:
            raise ValueError("write http(s)://host[:port][/path], with no user or password")
        return value

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: str | None) -> str | None:
        if value is not None and not (value.isascii() and value.isprintable() and value.strip()):
            raise ValueError("a key has printable ASCII characters only, and at least one")
        return value

    @model_validator(mode="after")
    def _leaves_room_to_reply(self) -> Self:
        if self.thinking_budget is not None and self.thinking_budget >= self.max_output_tokens:
            raise ValueError(
                f"thinking_budget ({self.thinking_budget}) must be under max_output_tokens "
                f"({self.max_output_tokens})"
            )
        return self
