"""A planner that asks a language model, one request for a turn."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Any

from logicalrag.agent.actions import Reply
from logicalrag.agent.planners.model_driven.client import MessagesClient
from logicalrag.agent.planners.model_driven.conversation import CACHE, conversation
from logicalrag.agent.planners.model_driven.prompt import prompt_version, system_prompt
from logicalrag.agent.planners.model_driven.settings import ModelSettings
from logicalrag.agent.planners.model_driven.text_actions import actions_in
from logicalrag.agent.planners.model_driven.tools import tool_definitions
from logicalrag.agent.state import SessionState


class AnthropicPlanner:
    """Proposes what a model behind the Anthropic Messages API replies; keeps no conversation.

    Args:
        settings: model, server, bounds, instructions.
        clock, sleep, jitter: as in `MessagesClient`.
    """

    name = "anthropic"

    def __init__(
        self,
        settings: ModelSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._client = MessagesClient(settings, clock=clock, sleep=sleep, jitter=jitter)

    @property
    def price_known(self) -> bool:
        """Whether the cost of a reply can be told."""
        return self._settings.model in self._settings.prices

    @property
    def prompt_version(self) -> str:
        """Version and variant of the instructions, as ``1-full``."""
        return prompt_version(self._settings.prompt)

    def propose(self, state: SessionState) -> Reply:
        """Return the model's reply to everything in `state`.

        Actions are read from tool calls, and where there are none from JSON in the text; never
        from anything but this one reply.

        Raises:
            PlannerError: no reply could be had.
        """
        message, usage = self._client.ask(self._request(state), _seconds_left(state))
        actions: tuple[dict[str, Any], ...] = ()
        if message.stop == "complete":
            actions = message.tool_calls or actions_in(message.text)
        record = {"content": list(message.content)}
        return Reply(actions, message.stop, usage, record, message.detail)

    def _request(self, state: SessionState) -> dict[str, Any]:
        settings = self._settings
        instructions = system_prompt(settings.prompt, state.limits, state.fields, state.filters)
        # What models differ in is sent where it was set, and only there. Outside the SDK's own
        # arguments, which do not have all of it.
        optional: dict[str, Any] = {}
        if settings.temperature is not None:
            optional["temperature"] = settings.temperature
        if settings.top_p is not None:
            optional["top_p"] = settings.top_p
        if settings.thinking_budget is not None:
            optional["thinking"] = {"type": "enabled", "budget_tokens": settings.thinking_budget}
        return {
            "model": settings.model,
            "max_tokens": settings.max_output_tokens,
            "system": [{"type": "text", "text": instructions, "cache_control": CACHE}],
            "tools": tool_definitions(
                operators=settings.prompt != "no-operators", fields=bool(state.fields)
            ),
            # Thinking models refuse to be forced to call a tool.
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
            "messages": conversation(
                state, calls_need_thinking=settings.thinking_budget is not None
            ),
            "extra_body": optional,
        }


def _seconds_left(state: SessionState) -> float:
    """Return what the session's limit in seconds leaves for this reply."""
    limit = state.limits.seconds
    return math.inf if limit is None else limit - sum(turn.seconds for turn in state.turns)
