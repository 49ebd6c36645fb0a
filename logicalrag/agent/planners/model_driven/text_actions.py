"""Actions in the text of a reply, from models that do not call tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Control characters may stand in strings: models write their line breaks as they are.
_DECODER = json.JSONDecoder(strict=False)
_NAMES = ("kind", "action", "name", "tool")
_ARGUMENTS = ("input", "arguments", "parameters")
_BEGINS_AN_ACTION = re.compile(r'\{\s*"(?:kind|action|name|tool)"\s*:')
# Beyond it a reply is no action with prose around it, and looking on would take too long.
MAX_OPENINGS = 1_000
MAX_WASTED_CHARACTERS = 1_000_000  # read in vain, those of every opening added up


def actions_in(text: str) -> tuple[dict[str, Any], ...]:
    """Return the actions written as JSON objects in `text`, in order; fences and prose are skipped.

    Taken are ``{"kind": NAME, …}``, ``{"action": NAME, …}`` and ``{"name": NAME, "input": {…}}``.
    Other objects are no actions, and nothing inside an object is looked at: behind one that begins
    as an action and cannot be read there is none, as what follows may be a part of it.
    """
    return tuple(action for value in _objects(text) if (action := _action(value)) is not None)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    position = text.find("{")
    wasted = 0
    for _ in range(MAX_OPENINGS):
        if position < 0 or wasted > MAX_WASTED_CHARACTERS:
            return
        try:
            value, end = _DECODER.raw_decode(text, position)
            yield value
        except (ValueError, RecursionError) as error:
            if _BEGINS_AN_ACTION.match(text, position):
                return
            wasted += getattr(error, "pos", position) - position
            end = position + 1
        position = text.find("{", end)


def _action(value: Mapping[str, Any]) -> dict[str, Any] | None:
    naming = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
    if naming is None:
        return None
    holding = next((key for key in _ARGUMENTS if isinstance(value.get(key), dict)), None)
    if holding is not None:
        return {**value[holding], "kind": value[naming]}
    if naming in {"name", "tool"}:
        return None  # an object that has a name is not yet an action
    arguments = {key: argument for key, argument in value.items() if key != naming}
    return {**arguments, "kind": value[naming]}
