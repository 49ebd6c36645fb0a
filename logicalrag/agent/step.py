"""One turn of a session: state in, one planner call, one action, state out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from logicalrag.agent.actions import (
    Abstain,
    ActionError,
    Answer,
    Count,
    Read,
    Reply,
    Search,
    parse_reply,
)
from logicalrag.agent.certificate import certify
from logicalrag.agent.feedback import Done, ErrorFeedback, Feedback
from logicalrag.agent.outcome import Abstained, Answered, Citation, LimitReached, Outcome
from logicalrag.agent.planners.protocol import Planner, PlannerError
from logicalrag.agent.searching import count, read, search
from logicalrag.agent.state import SessionState
from logicalrag.agent.support import unsupported
from logicalrag.agent.tools import Tools
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataError


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a reply led to: feedback alone, or the outcome that ends the session."""

    action: Search | Count | Read | Answer | Abstain | None
    feedback: Feedback
    outcome: Outcome | None = None


def step(state: SessionState, tools: Tools, planner: Planner) -> SessionState:
    """Take one turn and return the state after it; a finished session is returned as it is.

    Exactly one planner call, or none where a limit on tokens, seconds or cost is reached, which
    ends the session without a turn. What the planner gets wrong becomes the feedback of the turn;
    what the infrastructure gets wrong is raised, and the state given stays good for another try.

    Raises:
        EngineError: the index failed.
        PlannerError: the planner gave no reply while there was time for one.
    """
    if state.outcome is not None:
        return state
    if state.spent is not None:
        return replace(state, outcome=LimitReached(state.spent))
    try:
        tools = tools.narrowed(state.filters, state.sort)
    except MetadataError as error:
        raise EngineError(f"The session's filters do not fit the index: {error}") from error
    begun = tools.clock()
    try:
        reply = planner.propose(state)
    except PlannerError as error:
        ended = state.after(
            None,
            Done(),
            LimitReached("seconds"),
            usage=error.usage,
            seconds=tools.clock() - begun,
        )
        if ended.spent == "seconds":  # it was cut off where the session's time was up
            return ended
        raise
    effect = _effect(state, tools, reply)
    return state.after(
        effect.action,
        effect.feedback,
        effect.outcome,
        usage=reply.usage,
        record=reply.record,
        seconds=tools.clock() - begun,
    )


def _effect(state: SessionState, tools: Tools, reply: Reply) -> _Effect:
    if reply.stop == "refused":
        return _ended(None, Abstained("refusal", reply.detail, None))
    if reply.stop == "truncated":
        return _unless_used_up(
            state,
            ErrorFeedback(
                "truncated",
                "The reply was cut off before its end, so nothing of it was executed; "
                "send a shorter one that ends with one action.",
            ),
        )
    try:
        action = parse_reply(reply)
    except ActionError as error:
        return _unless_used_up(state, ErrorFeedback(error.code, error.message))
    if isinstance(action, Answer):
        return _answer(state, action)
    if isinstance(action, Abstain):
        certificate = certify(state, tools)
        return _ended(
            action,
            Abstained(
                "insufficient_evidence" if certificate is None else "no_evidence",
                action.reason,
                certificate,
            ),
        )
    if state.used_up is not None:
        return _ended(action, LimitReached(state.used_up))
    return _Effect(action, _execute(state, tools, action))


def _ended(action: Search | Count | Read | Answer | Abstain | None, outcome: Outcome) -> _Effect:
    return _Effect(action, Done(), outcome)


def _unless_used_up(state: SessionState, feedback: ErrorFeedback) -> _Effect:
    """Return `feedback` for a reply without an action, or the end where only one was left."""
    if state.used_up is not None:
        return _ended(None, LimitReached(state.used_up))
    return _Effect(None, feedback)


def _execute(state: SessionState, tools: Tools, action: Search | Count | Read) -> Feedback:
    if isinstance(action, Read):
        whole = [passage.passage_id for passage in state.shown().values() if passage.whole]
        return read(action, tools, state.visibility, whole)
    if not (action.evidence_needed.strip() or state.evidence_needed):
        return ErrorFeedback(
            "evidence_needed_missing",
            "The first search or count says in evidence_needed what the passages must show; "
            "send the action again with it.",
        )
    try:
        if isinstance(action, Search):
            return search(action, tools, state.visibility, state.limits)
        return count(action, tools, state.visibility)
    except MetadataError as error:
        return ErrorFeedback(error.code, error.message)


def _answer(state: SessionState, action: Answer) -> _Effect:
    """End with the answer where it cites shown passages only; else ask once, then abstain."""
    shown = state.shown()
    cited = list(dict.fromkeys(action.cited))
    unseen = [identity for identity in cited if identity not in shown]
    if cited and not unseen:
        citations = tuple(
            Citation(p.passage_id, p.document_id, p.title, p.text, p.location)
            for p in (shown[identity] for identity in cited)
        )
        claims = unsupported(action.text, [f"{c.title}\n{c.text}" for c in citations])
        return _ended(action, Answered(action.text, citations, claims))
    warned = any(
        isinstance(turn.feedback, ErrorFeedback) and turn.feedback.code == "unseen_citation"
        for turn in state.turns
    )
    if warned:
        return _ended(action, Abstained("unseen_citation", "", None))
    problem = (
        f"The answer cites {', '.join(unseen[:5])}, never shown in this session"
        if unseen
        else "The answer cites no passage"
    )
    return _Effect(
        action,
        ErrorFeedback("unseen_citation", f"{problem}; cite ids of passages shown, or abstain."),
    )
