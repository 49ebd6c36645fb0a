"""A session from its question to its outcome, in one process."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from logicalrag.agent.limits import Limits
from logicalrag.agent.outcome import Failed
from logicalrag.agent.planners.protocol import Planner, PlannerError
from logicalrag.agent.state import SessionState
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from logicalrag.engines.errors import EngineError
from logicalrag.engines.protocol import Visibility


def _unobserved(_state: SessionState) -> None:
    return None


def start(
    question: str,
    planner: Planner,
    visibility: Visibility | None = None,
    limits: Limits | None = None,
) -> SessionState:
    """Return the state of a new session, with an id of its own and no turn taken."""
    return SessionState(
        session_id=uuid.uuid4().hex,
        question=question,
        planner=planner.name,
        visibility=visibility or Visibility(),
        limits=limits or Limits(),
    )


def run(
    state: SessionState,
    tools: Tools,
    planner: Planner,
    on_turn: Callable[[SessionState], None] = _unobserved,
) -> SessionState:
    """Step `state` until it has an outcome and return it; `on_turn` sees it after every turn.

    A failure of engine or planner ends the session with the outcome `Failed`.
    """
    while state.outcome is None:
        try:
            state = step(state, tools, planner)
        except (EngineError, PlannerError) as error:
            code = "engine_error" if isinstance(error, EngineError) else "planner_error"
            return state.failed(Failed(code, error.message))
        on_turn(state)
    return state
