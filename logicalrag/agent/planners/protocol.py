"""What a planner is: a function of the session's state that proposes the next action."""

from __future__ import annotations

from typing import Protocol

from logicalrag.agent.actions import Reply
from logicalrag.agent.state import SessionState


class PlannerError(RuntimeError):
    """The planner gave no reply; nothing is said about the question.

    Args:
        message: one sentence.
        retryable: whether the same call may succeed later.
    """

    def __init__(self, message: str, retryable: bool = False) -> None:
        super().__init__(message, retryable)
        self.message = message
        self.retryable = retryable

    def __str__(self) -> str:
        return self.message


class Planner(Protocol):
    """Proposes actions; keeps nothing between calls that the state does not hold."""

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
