"""One turn of a session: state in, one planner call, one action, state out."""

from __future__ import annotations

from logicalrag.agent.actions import (
    Abstain,
    ActionError,
    Answer,
    Read,
    Search,
    parse_reply,
)
from logicalrag.agent.certificate import certify
from logicalrag.agent.feedback import Done, ErrorFeedback
from logicalrag.agent.outcome import Abstained, Answered, Citation, LimitReached
from logicalrag.agent.planners.protocol import Planner
from logicalrag.agent.state import SessionState
from logicalrag.agent.support import unsupported
from logicalrag.agent.tools import Tools, count, read, search


def step(state: SessionState, tools: Tools, planner: Planner) -> SessionState:
    """Take one turn and return the state after it; a finished session is returned as it is.

    Exactly one planner call. What the planner gets wrong becomes the feedback of the turn; what
    the infrastructure gets wrong is raised, and the state given stays good for another try.

    Raises:
        EngineError: the index failed.
        PlannerError: the planner gave no reply.
    """
    if state.outcome is not None:
        return state
    reply = planner.propose(state)
    try:
        action = parse_reply(reply)
    except ActionError as error:
        if state.used_up is not None:
            return state.after(None, Done(), LimitReached(state.used_up))
        return state.after(None, ErrorFeedback(error.code, error.message))
    if isinstance(action, Answer):
        return _answer(state, action)
    if isinstance(action, Abstain):
        certificate = certify(state, tools)
        return state.after(
            action,
            Done(),
            Abstained(
                "insufficient_evidence" if certificate is None else "no_evidence",
                action.reason,
                certificate,
            ),
        )
    if state.used_up is not None:
        return state.after(action, Done(), LimitReached(state.used_up))
    if isinstance(action, Read):
        whole = [passage.passage_id for passage in state.shown().values() if passage.whole]
        return state.after(action, read(action, tools.engine, state.visibility, whole))
    if not (action.evidence_needed.strip() or state.evidence_needed):
        return state.after(
            action,
            ErrorFeedback(
                "evidence_needed_missing",
                "The first search or count says in evidence_needed what the passages must show; "
                "send the action again with it.",
            ),
        )
    if isinstance(action, Search):
        return state.after(action, search(action, tools.engine, state.visibility, state.limits))
    return state.after(action, count(action, tools.engine, state.visibility))


def _answer(state: SessionState, action: Answer) -> SessionState:
    """End with the answer where it cites shown passages only; else ask once, then abstain."""
    shown = state.shown()
    cited = list(dict.fromkeys(action.cited))
    unseen = [identity for identity in cited if identity not in shown]
    if cited and not unseen:
        citations = tuple(
            Citation(p.passage_id, p.document_id, p.title, p.text)
            for p in (shown[identity] for identity in cited)
        )
        claims = unsupported(action.text, [f"{c.title}\n{c.text}" for c in citations])
        return state.after(action, Done(), Answered(action.text, citations, claims))
    warned = any(
        isinstance(turn.feedback, ErrorFeedback) and turn.feedback.code == "unseen_citation"
        for turn in state.turns
    )
    if warned:
        return state.after(action, Done(), Abstained("unseen_citation", "", None))
    problem = (
        f"The answer cites {', '.join(unseen[:5])}, never shown in this session"
        if unseen
        else "The answer cites no passage"
    )
    return state.after(
        action,
        ErrorFeedback("unseen_citation", f"{problem}; cite ids of passages shown, or abstain."),
    )
