"""A finished session in the shape that every interface gives it: a contract."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_jsonable_python

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Search
from logicalrag.agent.feedback import (
    CountFeedback,
    ErrorFeedback,
    ReadFeedback,
    SearchFeedback,
)
from logicalrag.agent.outcome import Abstained, Answered, Failed, LimitReached
from logicalrag.agent.state import SessionState, Turn

_MODEL_USAGE = (
    "calls", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "seconds",
    "cost",
)  # fmt: skip


def session_report(state: SessionState) -> dict[str, Any]:
    """Return how a session ended and all that led there.

    Keys: ``outcome, answer, citations, unsupported, reason, detail, certificate, trace, usage,
    planner``.
    Every key is always there: ``answer`` is None and lists are empty where they do not apply.
    ``reason`` says why there is no answer; ``detail`` is the planner's or the failure's sentence.
    """
    outcome = state.outcome
    report: dict[str, Any] = {
        "outcome": None if outcome is None else outcome.kind,
        "answer": None,
        "citations": [],
        "unsupported": [],
        "reason": None,
        "detail": None,
        "certificate": None,
        "trace": [turn_report(turn) for turn in state.turns],
        "usage": usage_report(state),
        "planner": state.planner,
    }
    if isinstance(outcome, Answered):
        report["answer"] = outcome.text
        report["citations"] = [
            {
                "id": citation.passage_id,
                "document_id": citation.document_id,
                "title": citation.title,
                "text": citation.text,
                "location": citation.location,
            }
            for citation in outcome.citations
        ]
        report["unsupported"] = [_data(claim) for claim in outcome.unsupported]
    elif isinstance(outcome, Abstained):
        report["reason"] = outcome.reason
        report["detail"] = outcome.detail
        report["certificate"] = outcome.certificate and _data(outcome.certificate)
    elif isinstance(outcome, LimitReached):
        report["reason"] = outcome.limit
    elif isinstance(outcome, Failed):
        report["reason"] = outcome.code
        report["detail"] = outcome.message
    return report


def turn_report(turn: Turn) -> dict[str, Any]:
    """Return ``turn, action, expression, canonical, hits, shown`` and what else the turn gave.

    ``shown`` lists document ids. A count has its expressions in ``counts``, each
    ``{expression, canonical, hits}`` or with ``error``. ``usage`` is given where a model took part.
    """
    action, feedback = turn.action, turn.feedback
    entry: dict[str, Any] = {
        "turn": turn.number,
        "action": None if action is None else action.kind,
        "expression": action.expression if isinstance(action, Search) else None,
        "canonical": None,
        "hits": None,
        "shown": [],
    }
    if isinstance(action, Search | Count) and action.evidence_needed:
        entry["evidence_needed"] = action.evidence_needed
    if isinstance(action, Search) and action.sort:
        entry["sort"] = action.sort
    if isinstance(action, Search | Count) and action.filters:
        entry["filters"] = list(action.filters)
    if isinstance(action, Read):
        entry["passage_ids"] = list(action.passage_ids)
    if isinstance(action, Abstain):
        entry["reason"] = action.reason
    if isinstance(action, Answer):
        entry["cited"] = list(action.cited)
    if isinstance(feedback, SearchFeedback):
        entry |= {
            "canonical": feedback.canonical,
            "hits": feedback.hits,
            "relation": feedback.relation,
            "fraction": feedback.fraction,
            "notices": [remark.code for remark in feedback.notices],
            "shown": [passage.document_id for passage in feedback.results],
            "too_broad": feedback.too_broad,
            "leave_one_out": [_data(part) for part in feedback.leave_one_out],
            "dead_words": [_data(dead) for dead in feedback.dead_words],
        }
    elif isinstance(feedback, CountFeedback):
        entry["counts"] = [
            {"expression": count.expression, "error": count.error.code}
            if count.error
            else {
                "expression": count.expression,
                "canonical": count.canonical,
                "hits": count.hits,
            }
            for count in feedback.counts
        ]
    elif isinstance(feedback, ReadFeedback):
        entry["shown"] = [passage.document_id for passage in feedback.passages]
        entry["already_read"] = list(feedback.already_read)
    elif isinstance(feedback, ErrorFeedback):
        entry["error"] = {"code": feedback.code, "message": feedback.message}
    if turn.usage is not None:
        entry["usage"] = _data(turn.usage)
    return entry


def usage_report(state: SessionState) -> dict[str, Any]:
    """Return what the session used: turns, searching turns, expressions, passages shown, model.

    Of the model: ``calls``, tokens, ``seconds`` waited for it and ``cost`` in US dollars, failed
    calls included; all are None where no model took part, ``cost`` too where a price is not known.
    """
    usage = state.usage
    expressions = sum(
        1 if isinstance(turn.action, Search) else len(turn.action.expressions)
        for turn in state.turns
        if isinstance(turn.action, Search | Count)
    )
    return {
        "turns": len(state.turns),
        "searching_turns": state.searching_turns,
        "expressions": expressions,
        "passages_shown": len(state.shown()),
        **{name: usage and getattr(usage, name) for name in _MODEL_USAGE},
    }


def _data(value: object) -> Any:
    """Return a dataclass of this package as dictionaries and lists."""
    return to_jsonable_python(value)
