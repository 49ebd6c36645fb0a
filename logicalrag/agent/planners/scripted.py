"""A planner that replays given replies: for tests, demonstrations and replays of a trace."""

from __future__ import annotations

from collections.abc import Sequence

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Reply, Search, as_reply
from logicalrag.agent.planners.protocol import PlannerError
from logicalrag.agent.state import SessionState


class ScriptedPlanner:
    """Sends the n-th reply of a script in the n-th turn.

    Args:
        replies: one a turn, in order; an action stands for a reply with just that action.
    """

    name = "scripted"

    def __init__(self, replies: Sequence[Reply | Search | Count | Read | Answer | Abstain]) -> None:
        self._replies = tuple(
            reply if isinstance(reply, Reply) else as_reply(reply) for reply in replies
        )

    def propose(self, state: SessionState) -> Reply:
        """Return the reply for the turn that comes next.

        Raises:
            PlannerError: the script is used up.
        """
        turn = len(state.turns)
        if turn >= len(self._replies):
            raise PlannerError(f"The script ends after {len(self._replies)} replies.")
        return self._replies[turn]
