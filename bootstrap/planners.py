"""Which planner a name stands for. One driven by a language model takes its place here."""

from __future__ import annotations

from pathlib import Path

import orjson

from bootstrap.settings import SettingsError
from logicalrag.agent.actions import Reply
from logicalrag.agent.planners.offline.planner import OfflinePlanner
from logicalrag.agent.planners.protocol import Planner
from logicalrag.agent.planners.scripted import ScriptedPlanner


def choose_planner(name: str, script: Path | None = None) -> Planner:
    """Return the planner called `name`.

    Args:
        name: ``offline`` or ``scripted``.
        script: for ``scripted`` alone: one reply a line, each an action or a list of actions.

    Raises:
        SettingsError: a script without its planner, the planner without a script, or a script
            that is no JSON lines.
    """
    if name == "scripted":
        if script is None:
            raise SettingsError("The scripted planner needs --script FILE, one action a line.")
        return ScriptedPlanner(_replies(script))
    if script is not None:
        raise SettingsError(f"--script goes with --planner scripted, not with {name}.")
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
