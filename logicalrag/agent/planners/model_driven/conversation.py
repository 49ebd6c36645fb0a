"""The conversation as the Messages API takes it, rebuilt from the session's state alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from logicalrag.agent.actions import raw_action
from logicalrag.agent.feedback import ErrorFeedback
from logicalrag.agent.rendering import render
from logicalrag.agent.state import SessionState, Turn

# The end of the conversation and the end of the turn before, where the last request ended: at
# most 4 places may be marked, and the instructions take one.
_CACHED_TURNS = 2
CACHE = {"type": "ephemeral"}


def conversation(state: SessionState, *, calls_need_thinking: bool) -> list[dict[str, Any]]:
    """Return the messages that lead to the next reply: question, then each turn and its result.

    A turn is sent back as it was received (`Turn.record`), thinking with its signature included;
    one that another planner took, as if the model had called the tool. Equal states give equal
    messages, and those of a longer state begin with those of a shorter one, up to cache marks.

    Args:
        state: a session, with or without turns.
        calls_need_thinking: whether the API refuses a call without thinking before it, as it does
            where thinking has a budget; then another planner's actions are sent as text.
    """
    messages: list[dict[str, Any]] = []
    question = state.question.encode(errors="replace").decode()  # JSON has no lone surrogates
    _add(messages, "user", [{"type": "text", "text": question}])
    for number, turn in enumerate(state.turns, start=1):
        said = _said(turn, calls_need_thinking)
        if said:
            _add(messages, "assistant", said)
        result = _result(replace(state, turns=state.turns[:number], outcome=None), turn)
        failed = {"is_error": True} if isinstance(turn.feedback, ErrorFeedback) else {}
        calls = [block["id"] for block in said if block["type"] == "tool_use"]
        answers: list[dict[str, Any]] = [
            {"type": "tool_result", "tool_use_id": call, "content": result, **failed}
            for call in calls
        ]
        _add(messages, "user", answers or [{"type": "text", "text": result}])
    for message in [m for m in messages if m["role"] == "user"][-_CACHED_TURNS:]:
        message["content"][-1]["cache_control"] = CACHE
    return messages


def _add(messages: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    """Add `blocks`, to the last message where it has the same role: roles must alternate."""
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].extend(blocks)
    else:
        messages.append({"role": role, "content": list(blocks)})


def _said(turn: Turn, calls_need_thinking: bool) -> list[dict[str, Any]]:
    if turn.record is not None:
        return [dict(block) for block in turn.record["content"]]
    if turn.action is None:
        return []
    arguments = raw_action(turn.action)
    if calls_need_thinking:
        return [{"type": "text", "text": json.dumps(arguments)}]
    name = arguments.pop("kind")
    return [{"type": "tool_use", "id": f"turn_{turn.number}", "name": name, "input": arguments}]


def _result(state: SessionState, turn: Turn) -> str:
    """Return what the turn gave, and how far the session may still go after it."""
    if state.used_up is not None:
        left = "No search, count or read is left: answer or abstain now."
    else:
        left = f"Searches left: {state.limits.searching_turns - state.searching_turns}."
    return f"{render(turn.feedback)}\n{left}"
