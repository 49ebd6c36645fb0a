"""Expressions that led to an answer, kept so that the same question starts from them.

Kept are actions, never results: counts and passages are taken anew from the index as it is. Of a
document nothing is kept but words that a planner wrote into an expression.
"""

from __future__ import annotations

import hashlib
import json
import threading
import unicodedata
from collections import OrderedDict
from typing import Protocol

from logicalrag.agent.actions import ACTION_KINDS, Search
from logicalrag.agent.feedback import SearchFeedback
from logicalrag.agent.outcome import Answered
from logicalrag.agent.state import SessionState

MAX_QUESTIONS = 10_000
_KEY_BYTES = 20
_VERSION = 1  # of what a key is made from


class ExpressionStore(Protocol):
    """The searches kept for each key; never fails. Safe to call from several threads."""

    def get(self, key: str) -> tuple[Search, ...]:
        """Return what is kept for `key` in order, nothing where nothing is; it counts as used."""
        ...

    def put(self, key: str, searches: tuple[Search, ...]) -> None:
        """Keep `searches` for `key` in place of what was; beyond its bound the store forgets the
        keys whose last use is longest ago."""
        ...


class MemoryExpressions:
    """An `ExpressionStore` of this process; `questions` is how many keys it keeps at most."""

    def __init__(self, questions: int = MAX_QUESTIONS) -> None:
        self._questions = questions
        self._kept: OrderedDict[str, tuple[Search, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> tuple[Search, ...]:
        """Return what is kept for `key`."""
        with self._lock:
            if key not in self._kept:
                return ()
            self._kept.move_to_end(key)
            return self._kept[key]

    def put(self, key: str, searches: tuple[Search, ...]) -> None:
        """Keep `searches` for `key`."""
        with self._lock:
            self._kept[key] = searches
            self._kept.move_to_end(key)
            if len(self._kept) > self._questions:
                self._kept.popitem(last=False)


def expression_key(state: SessionState, planner: str, prompt_version: str) -> str:
    """Return the key of a session's question: 40 characters of ``0-9a-f``.

    It differs where anything does that decides which expressions are right or whose they are:
    tenant, groups, hidden documents, the question (but for case, white space and closing
    punctuation), the session's filters and order, the actions and fields that a planner may use,
    the planner and its prompt.
    """
    question = unicodedata.normalize("NFC", " ".join(state.question.split())).casefold()
    visibility = state.visibility
    parts = [
        visibility.tenant,
        _VERSION,
        sorted(visibility.groups),
        sorted(visibility.hidden_documents),
        question.rstrip("?!.… "),
        ACTION_KINDS,
        sorted(state.fields.items()),
        state.filters,
        state.sort,
        planner,
        prompt_version,
    ]
    # JSON tells where each part ends, and in ASCII it can write any text.
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=_KEY_BYTES).hexdigest()


def searches_that_answered(state: SessionState) -> tuple[Search, ...]:
    """Return the searches that showed what the answer cites, in the order executed.

    Each showed a cited passage that none before it had, and carries the evidence need that stood
    when it was made. Empty where there is no answer.
    """
    if not isinstance(state.outcome, Answered):
        return ()
    missing = {citation.passage_id for citation in state.outcome.citations}
    found: list[Search] = []
    need = ""
    for turn in state.turns:
        action, feedback = turn.action, turn.feedback
        need = getattr(action, "evidence_needed", "").strip() or need
        if isinstance(action, Search) and isinstance(feedback, SearchFeedback):
            shown = {passage.passage_id for passage in feedback.results}
            if shown & missing:
                missing -= shown
                found.append(
                    Search(
                        action.expression,
                        action.default_operator,
                        action.max_results,
                        need,
                        action.filters,
                        action.sort,
                    )
                )
    return tuple(found)
