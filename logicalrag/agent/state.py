"""One session's whole state: a value that can be stored, sent and continued anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field as declared
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated

from logicalrag.agent.actions import Action, Count, Search
from logicalrag.agent.feedback import Feedback, ReadFeedback, SearchFeedback, Shown
from logicalrag.agent.limits import Limits
from logicalrag.agent.outcome import Failed, Outcome
from logicalrag.agent.usage import Usage
from logicalrag.engines.metadata import FieldKind
from logicalrag.engines.protocol import Visibility

# Version 2 added what a turn used, locations, metadata and limits on tokens, seconds and cost: all
# of them fields whose defaults are right for a session of version 1.
SCHEMA_VERSION = 2
SEARCHING_KINDS = frozenset({"search", "count", "read"})


class StateError(ValueError):
    """A stored state that cannot be continued; `message` says why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@validated(frozen=True, slots=True)
class Turn:
    """One turn: what the planner asked and what came back.

    Args:
        number: from 1.
        action: the action executed or refused; None where the reply was not one valid action.
        feedback: what the planner sees next.
        usage: what the planner's reply cost; None where no model took part.
        record: the reply as its planner wants to see it again (`Reply.record`).
        seconds: from asking the planner to the feedback; takes no part in equality.
    """

    number: int
    action: Action | None
    feedback: Feedback
    usage: Usage | None = None
    record: dict[str, Any] | None = None
    seconds: Annotated[float, Field(ge=0)] = declared(default=0.0, compare=False)


@validated(frozen=True, slots=True)
class SessionState:
    """A session between two turns. `outcome` is None exactly while it is running.

    Args:
        session_id: chosen by the caller.
        question: as asked.
        planner: the name of the planner that drives it.
        visibility: who asks; holds for every call of the session.
        limits: bounds, fixed at the start.
        fields: the declared metadata fields that filters may name, with their kinds.
        filters: conditions that hold for every call, whatever the planner asks; canonical.
        sort: the order of searches that name none; empty for relevance.
        turns: the whole trace, in order.
        outcome: how it ended.
        schema: version of this shape.
    """

    session_id: str
    question: str
    planner: str
    visibility: Visibility = Visibility()
    limits: Limits = Limits()
    fields: dict[str, FieldKind] = Field(default_factory=dict)
    filters: tuple[str, ...] = ()
    sort: str = ""
    turns: tuple[Turn, ...] = ()
    outcome: Outcome | None = None
    schema: Annotated[int, Field(ge=1)] = SCHEMA_VERSION

    def after(
        self,
        action: Any,  # the unions are checked by validation, not by the signature
        feedback: Any,
        outcome: Any = None,
        *,
        usage: Usage | None = None,
        record: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
    ) -> SessionState:
        """Return the state with one more turn, and with `outcome` where it ended the session."""
        kept = None if record is None else dict(record)
        turn = Turn(len(self.turns) + 1, action, feedback, usage, kept, seconds)
        return replace(self, turns=(*self.turns, turn), outcome=outcome)

    def failed(self, failure: Failed) -> SessionState:
        """Return the state ended by a failure of the infrastructure; no turn is added."""
        return replace(self, outcome=failure)

    @property
    def searching_turns(self) -> int:
        """How many search, count and read actions were executed.

        One that came back as an error executed nothing and counts for `Limits.turns` alone.
        """
        return sum(turn.feedback.kind in SEARCHING_KINDS for turn in self.turns)

    @property
    def used_up(self) -> Literal["searching_turns", "turns"] | None:
        """The limit on turns that is used up, if one is."""
        if self.searching_turns >= self.limits.searching_turns:
            return "searching_turns"
        return "turns" if len(self.turns) >= self.limits.turns else None

    @property
    def usage(self) -> Usage | None:
        """What all model calls of the session used, failed ones included; None without any."""
        used = [turn.usage for turn in self.turns]
        if isinstance(self.outcome, Failed):
            used.append(self.outcome.usage)
        total: Usage | None = None
        for usage in used:
            if usage is not None:
                total = usage if total is None else total + usage
        return total

    @property
    def spent(self) -> Literal["tokens", "seconds", "cost"] | None:
        """The limit on tokens, seconds or cost that is reached, if one is."""
        limits, usage = self.limits, self.usage or Usage()
        if limits.tokens is not None and usage.tokens >= limits.tokens:
            return "tokens"
        if limits.seconds is not None and (
            sum(turn.seconds for turn in self.turns) >= limits.seconds
        ):
            return "seconds"
        if limits.cost is not None and (usage.cost is None or usage.cost >= limits.cost):
            return "cost"
        return None

    @property
    def evidence_needed(self) -> str:
        """The evidence need that stands now: the last one stated; empty before the first."""
        for turn in reversed(self.turns):
            if isinstance(turn.action, Search | Count) and turn.action.evidence_needed.strip():
                return turn.action.evidence_needed
        return ""

    def shown(self) -> dict[str, Shown]:
        """Return every passage shown so far by id, in order of first showing.

        A passage read in full stands with its whole text; one shown by several searches with
        each distinct excerpt, in order, joined by a line of ``…``.
        """
        seen: dict[str, Shown] = {}
        for turn in self.turns:
            passages: tuple[Shown, ...] = ()
            if isinstance(turn.feedback, SearchFeedback):
                passages = turn.feedback.results
            elif isinstance(turn.feedback, ReadFeedback):
                passages = turn.feedback.passages
            for passage in passages:
                seen[passage.passage_id] = _merged(seen.get(passage.passage_id), passage)
        return seen


def _merged(before: Shown | None, now: Shown) -> Shown:
    if before is None or now.whole:
        return now
    if before.whole or now.text in before.text:
        return before
    if before.text in now.text:
        return now
    return replace(before, text=f"{before.text}\n…\n{now.text}")


_STATE: TypeAdapter[SessionState] = TypeAdapter(SessionState)


def dump_state(state: SessionState) -> bytes:
    """Return `state` as JSON; `load_state` gives an equal state back."""
    return _STATE.dump_json(state)


def load_state(stored: bytes) -> SessionState:
    """Return the state that `dump_state` stored, in this version or the one before.

    Raises:
        StateError: not such a state, or one of a newer version.
    """
    try:
        state = _STATE.validate_json(stored)
    except ValidationError as error:
        raise StateError(
            f"The stored session cannot be read: {error.error_count()} fields do not fit."
        ) from None
    if state.schema > SCHEMA_VERSION:
        raise StateError(
            f"The stored session has version {state.schema}; "
            f"this program reads up to {SCHEMA_VERSION}. Upgrade it."
        )
    return replace(state, schema=SCHEMA_VERSION)
