"""The planner that a language model drives, as the settings have it.

Apart from the other planners, because the library of the Messages API takes long to import.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from bootstrap.settings import Settings, SettingsError, read_text
from logicalrag.agent.planners.model_driven.planner import AnthropicPlanner
from logicalrag.agent.planners.model_driven.prices import (
    Price,
    PriceError,
    parse_prices,
    published_prices,
)
from logicalrag.agent.planners.model_driven.settings import ANTHROPIC_URL, ModelSettings


def anthropic_planner(settings: Settings) -> AnthropicPlanner:
    """Return the planner that asks the model of `settings`; no request is sent yet.

    Raises:
        SettingsError: no key for Anthropic's own server, values that do not go together, or no
            price table.
    """
    key = None if settings.api_key is None else settings.api_key.get_secret_value()
    if key is None and settings.base_url is None:
        raise SettingsError(
            "The planner anthropic needs a key: set LOGICALRAG_API_KEY or ANTHROPIC_API_KEY, or "
            "name a server of your own with --base-url."
        )
    try:
        return AnthropicPlanner(
            ModelSettings(
                model=settings.model,
                base_url=settings.base_url or ANTHROPIC_URL,
                api_key=key,
                temperature=settings.temperature,
                top_p=settings.top_p,
                thinking_budget=settings.thinking_budget,
                max_output_tokens=settings.max_output_tokens,
                attempts=settings.attempts,
                request_seconds=settings.request_seconds,
                prompt=settings.prompt,
                prices=_prices(settings),
            )
        )
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        name = "".join(f"The setting {part}: " for part in problem["loc"][:1])
        raise SettingsError(f"{name}{problem['msg'].removeprefix('Value error, ')}.") from None


def _prices(settings: Settings) -> Mapping[str, Price]:
    """Return the published prices, with those of the user's table in their place."""
    if settings.prices is None:
        return published_prices()
    text = read_text(settings.prices, "price table")
    try:
        return {**published_prices(), **parse_prices(text, str(settings.prices))}
    except PriceError as error:
        raise SettingsError(error.message) from None
