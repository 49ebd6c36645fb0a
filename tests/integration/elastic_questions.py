"""Questions to a corpus whose answers are known, and a session that earns a certificate."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from logicalrag.agent.actions import Abstain, Count, Reply, Search
from logicalrag.agent.planners.scripted import ScriptedPlanner
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState
from logicalrag.agent.tools import Tools
from logicalrag.engines.protocol import SearchEngine, Visibility
from logicalrag.query.parser import parse
from tests.integration.elastic_corpus import ANIMALS, COLOURS, Corpus

SOMEBODY = Visibility()
RED_CAT, CAT_AND_DOG = parse("red AND cat").tree, parse("cat AND dog").tree
CAT, DOG = parse("cat").tree, parse("dog").tree
# Ever weaker, each without a passage, since no passage holds two animals.
_EMPTY = (
    "entry AND holds AND cat AND dog AND red",
    "holds AND cat AND dog AND red",
    "cat AND dog AND red",
    "cat AND dog",
)
SCRIPT = (
    Search(_EMPTY[0], evidence_needed="a passage with both"),
    Count(_EMPTY[1:]),
    Abstain("Nothing was found."),
)


def session(tools: Tools, before: Callable[[int], object] = lambda _: None) -> SessionState:
    """Return a session that ends with an abstention and its certificate, where all is well.

    Args:
        tools: what it searches with.
        before: called with the number of each turn, from 0, when its action is about to run.
    """

    class Planner(ScriptedPlanner):
        def propose(self, state: SessionState) -> Reply:
            before(len(state.turns))
            return super().propose(state)

    planner = Planner(SCRIPT)
    return run(start("Which passage holds a cat and a dog?", planner), tools, planner)


def questions(
    engine: SearchEngine, corpus: Corpus, generation: str | None = None
) -> Mapping[Callable[[], object], object]:
    """Return questions, each with the answer that a whole index gives.

    Args:
        engine: of which they are asked.
        corpus: what the index holds.
        generation: of the index, part of the answers; None: the engine is asked for it now.
    """
    generation = generation or engine.stats(SOMEBODY).generation
    held = corpus.held()
    words = [*COLOURS, *ANIMALS]

    def search() -> object:
        found = engine.search(RED_CAT, SOMEBODY, limit=7, clause_counts=True, documents=True)
        return (
            (found.count.hits, found.count.relation, found.documents),
            [(part.canonical, part.count.hits) for part in found.clause_counts],
            ["red cat." in hit.passage.text for hit in found.hits],
            (found.visible, found.generation),
        )

    def why_empty() -> object:
        found = engine.search(CAT_AND_DOG, SOMEBODY, leave_one_out=True)
        parts = [(part.canonical, part.count.hits) for part in found.leave_one_out]
        return found.count.hits, found.hits, parts, found.visible, found.generation

    def count() -> object:
        counted = engine.count([parse(word).tree for word in words], SOMEBODY)
        return [each.hits for each in counted.counts], counted.visible, counted.generation

    def documents_holding() -> object:
        return engine.documents_holding([CAT, DOG], SOMEBODY)

    def nearest_words() -> object:
        return [(near.word, near.hits) for near in engine.nearest_words("violett", SOMEBODY)]

    def read() -> object:
        found = engine.read([each.id for each in held[:5]], SOMEBODY)
        return [(each.id, each.document_id, each.number, each.text, each.start) for each in found]

    red, cat, dog = (corpus.hits(word) for word in ("red", "cat", "dog"))
    red_cats = len({each.document_id for each in held if "red cat." in each.text})
    return {
        search: (
            (corpus.hits("red", "cat"), "eq", red_cats),
            [("red", red), ("cat", cat)],
            [True] * 7,
            (len(held), generation),
        ),
        why_empty: (0, (), [("cat", dog), ("dog", cat)], len(held), generation),
        count: ([corpus.hits(word) for word in words], len(held), generation),
        documents_holding: corpus.documents,
        nearest_words: [("violet", corpus.hits("violet"))],
        read: [tuple(each) for each in held[:5]],
    }
