"""Small corpora and scripted sessions for the tests of the agent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Reply, Search
from logicalrag.agent.limits import Limits
from logicalrag.agent.planners.scripted import ScriptedPlanner
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState
from logicalrag.agent.tools import Tools
from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage, Visibility
from logicalrag.engines.reference import ReferenceEngine

OPERAS = (
    ("ottone", "Ottone in villa", "Ottone in villa is an opera by Antonio Vivaldi. It was first "
     "performed on 17 May 1713 in Vicenza."),
    ("orlando", "Orlando furioso", "Orlando furioso is an opera by Antonio Vivaldi, given at the "
     "Teatro San Angelo in Venice in 1727."),
    ("alcina", "Alcina", "Alcina is an opera by George Frideric Handel, first given in London."),
)  # fmt: skip


def passages_of(
    documents: Iterable[tuple[str, str, str]], tenant: str = DEFAULT_TENANT
) -> list[Passage]:
    """Return one passage for each (id, title, text)."""
    return [
        Passage(passage_id(tenant, name, 0), name, 0, title, text, 0, len(text), tenant)
        for name, title, text in documents
    ]


def engine_over(
    documents: Iterable[tuple[str, str, str]] = OPERAS, tenant: str = DEFAULT_TENANT
) -> ReferenceEngine:
    """Return the reference engine over one passage a document."""
    engine = ReferenceEngine()
    for passage in passages_of(documents, tenant):
        engine.put([passage], replaces=0)
    engine.commit()
    return engine


def cite(document_id: str) -> str:
    """Return the id of a document's only passage."""
    return passage_id(DEFAULT_TENANT, document_id, 0)


def session(
    replies: Sequence[Reply | Search | Count | Read | Answer | Abstain],
    *,
    engine: ReferenceEngine | None = None,
    question: str = "Where was Ottone in villa first performed?",
    limits: Limits | None = None,
    visibility: Visibility | None = None,
    tools: Tools | None = None,
) -> SessionState:
    """Run a scripted session to its end and return its state."""
    planner = ScriptedPlanner(replies)
    tools = tools or Tools(engine or engine_over())
    return run(start(question, planner, visibility, limits), tools, planner)
