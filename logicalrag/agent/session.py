"""A session from its question to its outcome, in one process."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from logicalrag.agent.actions import Reply
from logicalrag.agent.limits import Limits, LimitsError
from logicalrag.agent.outcome import Failed
from logicalrag.agent.planners.protocol import Planner, PlannerError
from logicalrag.agent.state import SessionState
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from logicalrag.agent.usage import Usage
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import FieldKind
from logicalrag.engines.protocol import Visibility


def _unobserved(_state: SessionState) -> None:
    return None


def start(
    question: str,
    planner: Planner,
    visibility: Visibility | None = None,
    limits: Limits | None = None,
    fields: Mapping[str, FieldKind] | None = None,
    *,
    filters: tuple[str, ...] = (),
    sort: str = "",
) -> SessionState:
    """Return the state of a new session, with an id of its own and no turn taken.

    Args:
        question: as asked.
        planner: who will drive it.
        visibility: who asks; the default tenant without groups where not given.
        limits: its bounds.
        fields: the index's declared fields, which the planner may filter and sort by.
        filters, sort: what holds for every call of it, as in `SessionState`.

    Raises:
        LimitsError: a limit on cost with a planner whose price is not known.
    """
    limits = limits or Limits()
    if limits.cost is not None and not getattr(planner, "price_known", True):
        raise LimitsError(
            f"A limit on cost needs the price of the model of the planner {planner.name}, which is "
            "not known; give its price, or leave the limit out."
        )
    return SessionState(
        session_id=uuid.uuid4().hex,
        question=question,
        planner=planner.name,
        visibility=visibility or Visibility(),
        limits=limits,
        fields=dict(fields or {}),
        filters=filters,
        sort=sort,
    )


def run(
    state: SessionState,
    tools: Tools,
    planner: Planner,
    on_turn: Callable[[SessionState], None] = _unobserved,
) -> SessionState:
    """Step `state` until it has an outcome and return it; `on_turn` sees it after every turn.

    A failure of engine or planner ends the session with the outcome `Failed`, which keeps what
    the turn that failed had cost.
    """
    while state.outcome is None:
        metered = _Metered(planner)
        turns = len(state.turns)
        try:
            state = step(state, tools, metered)
        except EngineError as error:
            return state.failed(Failed("engine_error", error.message, metered.usage))
        except PlannerError as error:
            return state.failed(Failed("planner_error", error.message, error.usage))
        if len(state.turns) > turns:
            on_turn(state)
    return state


class _Metered:
    """Passes the reply of a planner on and keeps what it cost."""

    def __init__(self, planner: Planner) -> None:
        self.name = planner.name
        self.usage: Usage | None = None
        self._planner = planner

    def propose(self, state: SessionState) -> Reply:
        reply = self._planner.propose(state)
        self.usage = reply.usage
        return reply
