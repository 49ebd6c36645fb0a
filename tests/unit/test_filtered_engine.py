"""Filters that the user gives hold for every call of a session, reads included."""

from __future__ import annotations

import random

import pytest

from logicalrag.agent.actions import Abstain, Count, Read, Search
from logicalrag.agent.feedback import ReadFeedback, SearchFeedback
from logicalrag.agent.outcome import Abstained, Failed
from logicalrag.agent.planners.scripted import ScriptedPlanner
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState, dump_state, load_state
from logicalrag.agent.tools import Tools
from logicalrag.engines.filtered import FilteredEngine
from logicalrag.engines.identity import passage_id
from logicalrag.engines.metadata import Filter, MetadataSchema, Sort
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage, SearchEngine, Visibility
from logicalrag.engines.reference import ReferenceEngine
from logicalrag.query.parser import parse

SCHEMA = MetadataSchema({"year": "number"})
WORDS = ("opera", "operas", "operatic", "aria", "arias", "vivaldi", "handel")
LATE = Filter("year", ">=", (1720.0,))


@pytest.fixture
def engine() -> ReferenceEngine:
    """Return 40 documents of two passages, half of them of 1720 or later."""
    draw = random.Random(7)  # noqa: S311 - to be repeatable, not to be secret
    engine = ReferenceEngine(schema=SCHEMA)
    for number in range(40):
        name = f"d{number}"
        engine.put(
            [
                Passage(
                    passage_id(DEFAULT_TENANT, name, part), name, part, "", text, 0, len(text),
                    metadata={"year": (1700.0 + number,)},
                )
                for part in range(2)
                if (text := " ".join(draw.choices(WORDS, k=4)))
            ],
            replaces=0,
        )  # fmt: skip
    engine.commit()
    return engine


def only_late(engine: ReferenceEngine) -> ReferenceEngine:
    """Return an engine that holds nothing else than what the filter leaves."""
    everything = engine.search(parse("NOT nothing").tree, Visibility(), limit=1000).hits
    kept: dict[str, list[Passage]] = {}
    for hit in sorted(everything, key=lambda hit: hit.passage.number):
        if float(hit.passage.metadata["year"][0]) >= 1720.0:
            kept.setdefault(hit.passage.document_id, []).append(hit.passage)
    late = ReferenceEngine(schema=SCHEMA)
    for passages in kept.values():
        late.put(passages, replaces=0)
    late.commit()
    return late


def test_it_is_an_engine(engine: ReferenceEngine) -> None:
    narrowed = FilteredEngine(engine, [LATE])
    assert isinstance(narrowed, SearchEngine)
    assert narrowed.metadata_schema == SCHEMA
    assert narrowed.analysis == "english"
    assert narrowed.stats(Visibility()) == engine.stats(Visibility())


def test_every_call_is_as_if_nothing_else_were_there(engine: ReferenceEngine) -> None:
    narrowed, late = FilteredEngine(engine, [LATE]), only_late(engine)
    everybody = Visibility()
    trees = [parse(text).tree for text in ("opera", "vivaldi AND handel", "NOT aria")]
    for tree in trees:
        found, wanted = (
            each.search(tree, everybody, limit=1000, documents=True, clause_counts=True)
            for each in (narrowed, late)
        )
        assert (found.count, found.visible) == (wanted.count, wanted.visible)
        assert (found.documents, found.clause_counts) == (wanted.documents, wanted.clause_counts)
        assert {hit.passage.id for hit in found.hits} == {hit.passage.id for hit in wanted.hits}
        assert narrowed.values("year", tree, everybody) == late.values("year", tree, everybody)
    assert narrowed.count(trees, everybody).counts == late.count(trees, everybody).counts
    assert narrowed.documents_holding(trees, everybody) == late.documents_holding(trees, everybody)
    ids = [passage_id(DEFAULT_TENANT, f"d{number}", 0) for number in range(40)]
    assert narrowed.read(ids, everybody, neighbours=1) == late.read(ids, everybody, neighbours=1)
    for word in ("opra", "ario", "zzz"):
        near = narrowed.nearest_words(word, everybody)
        assert sorted(near, key=lambda each: each.word) == sorted(
            late.nearest_words(word, everybody), key=lambda each: each.word
        )


def test_a_calls_own_filters_and_order_come_on_top(engine: ReferenceEngine) -> None:
    narrowed = FilteredEngine(engine, [LATE], Sort("year"))
    tree = parse("NOT nothing").tree

    def years(*filters: Filter, sort: Sort | None = None) -> list[float]:
        found = narrowed.search(tree, Visibility(), limit=1000, filters=filters, sort=sort)
        return [float(hit.passage.metadata["year"][0]) for hit in found.hits][::2]

    assert years() == [float(year) for year in range(1739, 1719, -1)]
    assert years(Filter("year", "<", (1722.0,))) == [1721.0, 1720.0]
    assert years(sort=Sort("year", descending=False))[0] == 1720.0


def session(engine: ReferenceEngine, *actions: Search | Count | Read | Abstain) -> SessionState:
    planner = ScriptedPlanner(actions)
    state = start(
        "Which London opera?", planner, fields=SCHEMA.fields, filters=("year>=1720",), sort="year"
    )
    return run(load_state(dump_state(state)), Tools(engine), planner)


def test_a_passage_outside_the_users_filters_is_never_shown(engine: ReferenceEngine) -> None:
    early, late = (passage_id(DEFAULT_TENANT, name, 0) for name in ("d3", "d30"))
    state = session(
        engine,
        Read((early, late), neighbours=1),
        Search("NOT nothing", evidence_needed="x", filters=("year<1722",), max_results=20),
        Search("NOT nothing", filters=("year<1720",)),
        Abstain("no"),
    )
    read, narrowed, empty = (turn.feedback for turn in state.turns[:3])
    assert isinstance(read, ReadFeedback)
    assert read.unknown == (early,)
    assert {passage.document_id for passage in read.passages} == {"d30"}
    assert isinstance(narrowed, SearchFeedback)
    assert [passage.document_id for passage in narrowed.results[::2]] == ["d21", "d20"]
    assert isinstance(empty, SearchFeedback)
    assert (empty.hits, empty.visible, empty.without_filters) == (0, 0, 40)
    assert {passage.document_id for passage in state.shown().values()} == {"d20", "d21", "d30"}


def test_a_certificate_names_the_users_filters(engine: ReferenceEngine) -> None:
    state = session(
        engine,
        Count(
            (
                "london AND opera AND aria AND vivaldi",
                "london AND opera AND aria",
                "london AND opera",
                "london",
            ),
            evidence_needed="x",
        ),
        Abstain("no"),
    )
    assert isinstance(state.outcome, Abstained)
    assert state.outcome.certificate is not None
    assert state.outcome.certificate.filters == ("year>=1720",)
    assert state.outcome.certificate.visible == 40


def test_filters_that_the_index_does_not_know_fail_the_session(engine: ReferenceEngine) -> None:
    planner = ScriptedPlanner([Abstain("no")])
    state = run(start("?", planner, filters=("colour=red",)), Tools(engine), planner)
    assert isinstance(state.outcome, Failed)
    assert "colour" in state.outcome.message
    assert state.turns == ()
