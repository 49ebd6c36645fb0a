"""A planner that starts a question it knows from the searches that answered it before."""

from __future__ import annotations

from logicalrag.agent.actions import Reply, Search, as_reply
from logicalrag.agent.expressions import ExpressionStore, expression_key, searches_that_answered
from logicalrag.agent.feedback import SearchFeedback
from logicalrag.agent.planners.protocol import Planner
from logicalrag.agent.state import SessionState, Turn


class RememberingPlanner:
    """Proposes the remembered searches of a question first, then leaves it to `inner`.

    Each is an ordinary search, so that what it finds is what this caller may see of the index as
    it is. `inner` takes over as soon as one shows nothing, and in time to search once itself.

    Args:
        inner: a planner that goes on from turns that are not its own, and whose attributes
            `prompt_version` and `price_known`, where it has them, are this one's too.
        store: what is remembered.
    """

    def __init__(self, inner: Planner, store: ExpressionStore) -> None:
        self._inner = inner
        self._store = store
        self.name = inner.name
        self.prompt_version: str = getattr(inner, "prompt_version", "")
        self.price_known: bool = getattr(inner, "price_known", True)

    def propose(self, state: SessionState) -> Reply:
        """Return the next remembered search, or the reply of the inner planner.

        Raises:
            PlannerError: the inner planner gave no reply.
        """
        done = len(state.turns)
        # Read off the turns alone: whatever process takes the next turn decides the same.
        if (
            state.searching_turns == done < state.limits.searching_turns - 1
            and done < state.limits.turns - 2
            and all(map(_has_shown, state.turns))
        ):
            searches = self._store.get(self._key(state))
            taken = tuple(turn.action for turn in state.turns)
            if done < len(searches) and taken == searches[:done]:
                return as_reply(searches[done])
        return self._inner.propose(state)

    def remember(self, state: SessionState) -> None:
        """Keep the searches of a session that was answered; of any other nothing."""
        searches = searches_that_answered(state)
        if searches:
            self._store.put(self._key(state), searches)

    def _key(self, state: SessionState) -> str:
        return expression_key(state, self.name, self.prompt_version)


def _has_shown(turn: Turn) -> bool:
    return (
        isinstance(turn.action, Search)
        and isinstance(turn.feedback, SearchFeedback)
        and bool(turn.feedback.results)
    )
