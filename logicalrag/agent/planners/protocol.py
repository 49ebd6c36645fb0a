"""What a planner is: a function of the session's state that proposes the next action."""

from __future__ import annotations

from typing import Protocol

from logicalrag.agent.actions import Reply
from logicalrag.agent.state import SessionState
from logicalrag.agent.usage import Usage


class PlannerError(RuntimeError):
    """The planner gave no reply; nothing is said about the question.

    Args:
        message: one sentence.
        retryable: whether the same call may succeed later.
        usage: what the failed call cost nonetheless; None where nothing.
    """

    def __init__(self, message: str, retryable: bool = False, usage: Usage | None = None) -> None:
        super().__init__(message, retryable, usage)
        self.message = message
        self.retryable = retryable
        self.usage = usage

    def __str__(self) -> str:
        return self.message


class Planner(Protocol):
    """Proposes actions; keeps nothing between calls that the state does not hold.

    One whose model's price may be unknown has an attribute `price_known`; where that is False no
    session with a limit on cost starts.
    """

    @property
    def name(self) -> str:
        """The planner's name, shown with every answer."""
        ...

    def propose(self, state: SessionState) -> Reply:
        """Return the reply to everything in `state`; a running session's only.

        Raises:
            PlannerError: no reply could be had.
        """
        ...
