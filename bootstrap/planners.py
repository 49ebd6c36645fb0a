"""Which planner a name stands for."""

from __future__ import annotations

from pathlib import Path

import orjson

from bootstrap.settings import Settings, SettingsError
from logicalrag.agent.actions import Reply
from logicalrag.agent.planners.offline.planner import OfflinePlanner
from logicalrag.agent.planners.protocol import Planner
from logicalrag.agent.planners.scripted import ScriptedPlanner


def choose_planner(settings: Settings, script: Path | None = None) -> Planner:
    """Return the planner that `settings` name.

    Args:
        settings: ``planner``, and for ``anthropic`` those of its model.
        script: for ``scripted`` alone: one reply a line, each an action or a list of actions.

    Raises:
        SettingsError: a script without its planner, the planner without a script, a script that
            is no JSON lines, or settings of a model that do not do.
    """
    name = settings.planner
    if name == "scripted":
        if script is None:
            raise SettingsError("The scripted planner needs --script FILE, one action a line.")
        return ScriptedPlanner(_replies(script))
    if script is not None:
        raise SettingsError(f"--script goes with --planner scripted, not with {name}.")
    if name == "anthropic":
        from bootstrap.model import anthropic_planner  # its library is slow to import

        return anthropic_planner(settings)
    return OfflinePlanner()


def _replies(script: Path) -> list[Reply]:
    try:
        lines = script.read_bytes().splitlines()
    except OSError as error:
        raise SettingsError(f"The script {script} cannot be read: {error.strerror}.") from None
    replies: list[Reply] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise SettingsError(f"{script}:{number}: no JSON: {error}.") from None
        replies.append(Reply(tuple(value) if isinstance(value, list) else (value,)))
    return replies
