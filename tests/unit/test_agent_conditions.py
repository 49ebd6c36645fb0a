"""Filters, order, synonyms and analysis in a session: what they change for the planner."""

from __future__ import annotations

from typing import Any

import pytest

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Search
from logicalrag.agent.feedback import (
    CountFeedback,
    ErrorFeedback,
    PartCount,
    ReadFeedback,
    SearchFeedback,
    Shown,
)
from logicalrag.agent.outcome import Abstained, Answered, Certificate, Failed
from logicalrag.agent.planners.scripted import ScriptedPlanner
from logicalrag.agent.rendering import render, render_passage
from logicalrag.agent.report import session_report
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from logicalrag.engines.metadata import MetadataSchema, Value
from logicalrag.engines.reference import ReferenceEngine
from logicalrag.query.errors import ExpressionError
from logicalrag.query.synonyms import SynonymTable, parse_synonyms
from tests.unit.sessions import cite, engine_over, passages_of, session

SCHEMA = MetadataSchema({"year": "number", "kind": "keyword", "given": "date"})
NEED = "where the opera was first performed"
QUESTION = "When was Catone in Utica first performed?"
CHAIN = (
    '"Catone in Utica" AND opera AND Vivaldi',
    '"Catone in Utica" AND opera',
    '"Catone in Utica"',
    "catone-in-utica",
)
# Of names of the question alone, which may be dead from first to last.
NAMES = ("catone AND utica AND opera", "catone AND utica", "catone", "catone OR utica")
LATE = ("year>1720",)
YEARS = (("ottone", 1713.0), ("orlando", 1727.0), ("alcina", 1735.0))
TEXTS = {
    "ottone": "An opera by Antonio Vivaldi, first performed in Vicenza.",
    "orlando": "An opera by Antonio Vivaldi, given in Venice.",
    "alcina": "An opera by George Frideric Handel, given in London.",
}


def engine() -> ReferenceEngine:
    made = ReferenceEngine(schema=SCHEMA)
    for (name, year), page in zip(YEARS, (3, 4, 5), strict=True):
        (passage,) = passages_of([(name, name.capitalize(), TEXTS[name])])
        held: dict[str, tuple[Value, ...]] = {"year": (year,), "kind": ("opera",)}
        made.put([passage._replace(metadata=held, location=f"page {page}")], replaces=0)
    made.commit()
    return made


def ended(*actions: Any, question: str = "Where?", **named: Any) -> SessionState:
    return session([*actions, Abstain("")], question=question, tools=Tools(engine(), **named))


def first(state: SessionState) -> Any:
    return state.turns[0].feedback


# --- filters and order --------------------------------------------------------------------------


def test_a_search_finds_only_what_fulfils_its_filters_and_says_so() -> None:
    filters = (" year >= 1720", "kind=opera")
    found = first(ended(Search("opera", filters=filters, evidence_needed=NEED)))
    assert isinstance(found, SearchFeedback)
    assert {shown.document_id for shown in found.results} == {"orlando", "alcina"}
    assert (found.hits, found.visible) == (2, 2)
    assert found.filters == ("year>=1720", "kind=opera")
    assert "\nfilters: year>=1720 and kind=opera\n" in render(found)


def test_a_search_is_ordered_as_asked() -> None:
    for sort, order in (
        ("year", ["alcina", "orlando", "ottone"]),
        ("-year", ["ottone", "orlando", "alcina"]),
    ):
        found = first(ended(Search("opera", sort=f" {sort} ", evidence_needed=NEED)))
        assert [shown.document_id for shown in found.results] == order
        assert f"\nsorted by: {sort}\n" in render(found)


def test_a_count_is_taken_under_its_filters() -> None:
    counted = first(ended(Count(("opera", "handel"), filters=("year<1730",), evidence_needed=NEED)))
    assert isinstance(counted, CountFeedback)
    assert [count.hits for count in counted.counts] == [2, 0]
    assert (counted.visible, counted.filters) == (2, ("year<1730",))
    assert render(counted).splitlines()[-1] == "filters: year<1730"


def test_what_is_too_broad_is_said_under_the_filters() -> None:
    made = ReferenceEngine(schema=SCHEMA)
    for number in range(260):
        late = number < 120
        (passage,) = passages_of([(f"d{number}", "", "report" if late else "letter")])
        made.put([passage._replace(metadata={"year": (float(late),)})], replaces=0)
    made.commit()
    search = Search("report", filters=("year=1",), evidence_needed=NEED)
    refused = first(session([search, Abstain("")], tools=Tools(made)))
    assert refused.too_broad
    assert (refused.visible, refused.clauses) == (120, (PartCount("report", 120),))


def test_no_hits_under_filters_say_what_is_left_without_them() -> None:
    found = first(ended(Search("vicenza", filters=("year>1720",), evidence_needed=NEED)))
    assert (found.hits, found.without_filters, found.dead_words) == (0, 1, ())
    assert "Hits without the filters: 1" in render(found)
    assert first(ended(Search("vienna", evidence_needed=NEED))).without_filters is None


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (Search("opera", filters=("year>=",), evidence_needed=NEED), "bad_filter"),
        (Search("opera", filters=("kind<opera",), evidence_needed=NEED), "bad_filter"),
        (Search("opera", filters=("pages>3",), evidence_needed=NEED), "unknown_metadata_field"),
        (Search("opera", sort="kind", evidence_needed=NEED), "bad_sort"),
        (Search("opera", sort="pages", evidence_needed=NEED), "unknown_metadata_field"),
        (Count(("opera",), filters=("year=soon",), evidence_needed=NEED), "bad_filter"),
    ],
)
def test_a_bad_filter_or_order_is_a_feedback_turn_and_executes_nothing(
    action: Search | Count, code: str
) -> None:
    state = ended(action, Search("opera", evidence_needed=NEED))
    error = first(state)
    assert isinstance(error, ErrorFeedback)
    assert error.code == code
    assert render(error) == f"{code}: {error.message}"
    assert state.searching_turns == 1


def test_filters_and_order_stand_in_the_trace() -> None:
    action = Search("opera", filters=("year>1720",), sort="year", evidence_needed=NEED)
    entry, plain, _ = session_report(ended(action, Search("opera")))["trace"]
    assert (entry["filters"], entry["sort"]) == (["year>1720"], "year")
    assert not {"filters", "sort"} & set(plain)


def test_more_filters_than_a_call_takes_are_a_feedback_turn() -> None:
    planner = ScriptedPlanner(
        [Search("opera", filters=tuple(f"year!={n}" for n in range(20)), evidence_needed=NEED)]
    )
    everywhere = tuple(f"year!={n}" for n in range(20, 40))
    state = step(start("?", planner, filters=everywhere), Tools(engine()), planner)
    assert isinstance(first(state), ErrorFeedback)
    assert first(state).code == "bad_filter"


def test_filters_and_order_of_a_session_hold_for_every_call_and_for_its_certificate() -> None:
    planner = ScriptedPlanner(
        [
            Search("opera", evidence_needed=NEED),
            Read((cite("ottone"), cite("alcina"))),
            Count(NAMES, filters=("kind=opera",), evidence_needed="Catone"),
            Abstain(""),
        ]
    )
    state = run(
        start(QUESTION, planner, filters=("year>1720",), sort="-year"), Tools(engine()), planner
    )
    assert [shown.document_id for shown in first(state).results] == ["orlando", "alcina"]
    reading = state.turns[1].feedback
    assert isinstance(reading, ReadFeedback)
    assert reading.unknown == (cite("ottone"),)
    assert isinstance(state.outcome, Abstained)
    assert state.outcome.certificate is not None
    assert state.outcome.certificate.filters == ("year>1720", "kind=opera")
    assert state.outcome.certificate.visible == 2
    planner = ScriptedPlanner([Count(NAMES, evidence_needed="Catone"), Abstain("")])
    nothing = start(QUESTION, planner, filters=("year>2000",))
    outcome = run(nothing, Tools(engine()), planner).outcome
    assert isinstance(outcome, Abstained)
    assert outcome.certificate is None, "filters that leave nothing prove nothing"


def test_a_session_whose_filters_do_not_fit_the_index_fails_with_a_sentence() -> None:
    planner = ScriptedPlanner([Search("opera", evidence_needed=NEED)])
    state = run(start("?", planner, filters=("year>1720",)), Tools(engine_over()), planner)
    assert isinstance(state.outcome, Failed)
    assert state.outcome.code == "engine_error"
    assert "The session's filters do not fit the index: " in state.outcome.message


def test_a_session_knows_the_declared_fields() -> None:
    state = start("?", ScriptedPlanner([]), fields=engine().metadata_schema.fields)
    assert state.fields == {"year": "number", "kind": "keyword", "given": "date"}


# --- locations ----------------------------------------------------------------------------------


def test_where_a_passage_stands_is_shown_and_cited() -> None:
    tools = Tools(engine())
    state = session(
        [
            Search("vicenza", evidence_needed=NEED),
            Read((cite("alcina"),)),
            Answer("In Vicenza.", (cite("ottone"), cite("alcina"))),
        ],
        tools=tools,
    )
    assert f"[{cite('ottone')}] Ottone (page 3): An opera" in render(first(state))
    assert f"[{cite('alcina')}] Alcina (page 5): An opera" in render(state.turns[1].feedback)
    assert isinstance(state.outcome, Answered)
    assert [citation.location for citation in state.outcome.citations] == ["page 3", "page 5"]
    assert [cited["location"] for cited in session_report(state)["citations"]] == [
        "page 3", "page 5",
    ]  # fmt: skip


def test_a_passage_without_title_or_location_says_neither() -> None:
    def line(title: str, location: str) -> str:
        return render_passage(Shown("p", "d", title, "text", True, location)).splitlines()[1]

    assert line("T", "") == "[p] T: text"
    assert line("", "row\n 7") == "[p] (row 7): text"


# --- certificates under filters -----------------------------------------------------------------


def certified(*actions: Any) -> Certificate | None:
    outcome = ended(*actions, question=QUESTION).outcome
    assert isinstance(outcome, Abstained)
    return outcome.certificate


def test_a_certificate_names_the_filters_that_it_holds_under() -> None:
    searches = [Search(one, filters=LATE, evidence_needed=NEED) for one in CHAIN]
    certificate = certified(*searches)
    assert certificate is not None
    assert (certificate.filters, certificate.visible) == (("year>1720",), 2)
    report = session_report(ended(*searches, question=QUESTION))
    assert report["certificate"]["filters"] == ["year>1720"]


def test_a_chain_never_mixes_filters() -> None:
    half = Count(CHAIN[:2], evidence_needed=NEED)
    rest = Count(CHAIN[2:], evidence_needed=NEED)
    late = Count(CHAIN[2:], filters=LATE, evidence_needed=NEED)
    assert certified(half, late) is None
    assert certified(Count(CHAIN[:2], filters=LATE, evidence_needed=NEED), rest) is None
    joined = certified(half, late, rest)
    assert joined is not None
    assert joined.filters == ()


def test_the_filters_of_the_last_search_stand() -> None:
    everywhere = Count(CHAIN, evidence_needed=NEED)
    late = Search("opera", filters=LATE)
    assert certified(everywhere, late) is None
    bad = Search("opera", filters=("year>",))
    certificate = certified(everywhere, bad)
    assert certificate is not None, "what executed nothing changes nothing"
    assert certificate.filters == ()


def test_the_order_and_the_writing_of_filters_make_no_difference() -> None:
    certificate = certified(
        Count(CHAIN[:2], filters=("year>1720", "kind=opera"), evidence_needed=NEED),
        Count(CHAIN[2:], filters=("kind = opera", "year > 1720", "year>1720")),
    )
    assert certificate is not None
    assert certificate.filters == ("kind=opera", "year>1720")


def test_filters_that_leave_nothing_prove_nothing() -> None:
    assert certified(Count(NAMES, filters=("year>2000",), evidence_needed=NEED)) is None
    assert certified(Count(NAMES, filters=("year>1720",), evidence_needed=NEED)) is not None


def test_documents_and_dead_words_are_counted_under_the_filters() -> None:
    # "vicenza" has hits, but none under the filter: there it is dead.
    chain = ("vicenza AND opera AND given AND london", "vicenza AND opera AND given",
             "vicenza AND opera", "vicenza")  # fmt: skip
    assert certified(Count(chain, filters=LATE, evidence_needed=NEED)) is None
    # Two passages of one document hold the parts, one of them filtered out.
    made = ReferenceEngine(schema=SCHEMA)
    one, two = passages_of([("split", "Split", "alpha"), ("other", "Split", "beta")])
    two = two._replace(document_id="split", number=1)
    made.put(
        [one._replace(metadata={"year": (1.0,)}), two._replace(metadata={"year": (2.0,)})],
        replaces=0,
    )
    made.commit()
    parts = ("alpha AND beta AND split AND NOT x AND NOT y", "alpha AND beta AND split AND NOT x",
             "alpha AND beta AND split", "alpha AND beta")  # fmt: skip
    for filters, held in ((("year>=1",), [1] * 4), (("year=1",), None)):
        state = session(
            [Count(parts, filters=filters, evidence_needed=NEED), Abstain("")],
            tools=Tools(made),
            question="Do Beta and Split hold it?",
        )
        assert isinstance(state.outcome, Abstained)
        certificate = state.outcome.certificate
        assert certificate is not None
        assert [part.documents for part in certificate.expressions] == (held or [0] * 4)


def test_a_session_over_an_index_with_other_fields_proves_nothing() -> None:
    planner = ScriptedPlanner([Count(CHAIN, filters=LATE, evidence_needed=NEED), Abstain("")])
    state = step(start(QUESTION, planner), Tools(engine()), planner)
    outcome = step(state, Tools(engine_over()), planner).outcome
    assert outcome == Abstained("insufficient_evidence", "", None)


def test_more_conjuncts_than_a_call_takes_are_no_failure() -> None:
    words = [f"w{number}" for number in range(40)]
    chain = [" AND ".join(words[:size]) for size in (40, 38, 36, 34)]
    state = ended(Count(tuple(chain), evidence_needed=NEED), question=" ".join(words).upper())
    assert state.outcome == Abstained("insufficient_evidence", "", None)


# --- synonyms and analysis ----------------------------------------------------------------------


def table(text: str) -> SynonymTable:
    return parse_synonyms(text, "synonyms.txt")


def test_synonyms_are_searched_and_shown_in_the_canonical_form() -> None:
    state = ended(
        Search("melodrama NOT handel", evidence_needed=NEED),
        Count(("melodrama", '"melodrama"')),
        synonyms=lambda: table("melodrama, opera"),
    )
    found = first(state)
    assert (found.hits, found.canonical) == (2, "(melodrama OR opera) AND NOT handel")
    counted = state.turns[1].feedback
    assert isinstance(counted, CountFeedback)
    assert [(count.canonical, count.hits) for count in counted.counts] == [
        ("melodrama OR opera", 3), ('"melodrama"', 0),
    ]  # fmt: skip


def test_a_changed_table_counts_in_the_next_call() -> None:
    tables = [table(""), table("melodrama, opera")]
    planner = ScriptedPlanner([Count(("melodrama",), evidence_needed=NEED)] * 2)
    tools = Tools(engine(), synonyms=lambda: tables[0])
    state = step(start("?", planner), tools, planner)
    tables.pop(0)
    feedback = [turn.feedback for turn in step(state, tools, planner).turns]
    assert [one.counts[0].hits for one in feedback if isinstance(one, CountFeedback)] == [0, 3]


def test_a_word_whose_synonyms_are_found_is_not_dead_and_no_synonym_is_called_so() -> None:
    found = first(
        ended(
            Search("melodrama AND vienna", evidence_needed=NEED),
            synonyms=lambda: table("melodrama => opera, singspiel"),
        )
    )
    assert found.canonical == "(melodrama OR opera OR singspiel) AND vienna"
    assert [dead.word for dead in found.dead_words] == ["vienna"]


def test_synonyms_that_make_an_expression_too_large_are_a_feedback_turn() -> None:
    wide = ", ".join(f"s{number}" for number in range(60))
    expression = " OR ".join(["s0"] * 10)
    error = first(ended(Search(expression, evidence_needed=NEED), synonyms=lambda: table(wide)))
    assert isinstance(error, ErrorFeedback)
    assert error.code == "too_many_clauses"
    assert "s0 OR s0" in error.rendered
    with pytest.raises(ExpressionError):
        Tools(engine(), synonyms=lambda: table(wide)).parse(expression)


def test_a_certificate_is_of_what_was_searched_synonyms_included() -> None:
    count = Count(CHAIN, evidence_needed=NEED)
    planner = ScriptedPlanner([count, Abstain("")])
    searched = step(start(QUESTION, planner), Tools(engine()), planner)
    # By now the last expression, read with its synonyms, has a hit.
    found = Tools(engine(), synonyms=lambda: table("catone in utica => ottone"))
    outcome = step(searched, found, planner).outcome
    assert isinstance(outcome, Abstained)
    assert outcome.certificate is None
    known = Tools(engine(), synonyms=lambda: table("catone in utica => cato in utica"))
    outcome = step(searched, known, planner).outcome
    assert isinstance(outcome, Abstained)
    assert outcome.certificate is not None
    assert [part.canonical for part in outcome.certificate.expressions][-1] == (
        "catone-in-utica OR cato-in-utica"
    )
    thai = Tools(engine(), synonyms=lambda: table("catone in utica => กรุงเทพ"))
    assert step(searched, thai, planner).outcome == Abstained("insufficient_evidence", "", None)
    # And by now it is too large to be searched at all.
    wide = ", ".join(["opera", *(f"s{number}" for number in range(90))])
    chain = [" OR ".join(["opera AND zz", *[f"zz{n} AND opera" for n in range(m)]])
             for m in (5, 6, 7, 8)]  # fmt: skip
    planner = ScriptedPlanner([Count(tuple(chain), evidence_needed=NEED), Abstain("")])
    searched = step(start("ZZ?", planner), Tools(engine()), planner)
    outcome = step(searched, Tools(engine(), synonyms=lambda: table(wide)), planner).outcome
    assert outcome == Abstained("insufficient_evidence", "", None)


def test_a_synonym_that_no_passage_holds_is_no_dead_word_of_a_chain() -> None:
    chain = ("opera AND catone AND utica AND given", "opera AND catone AND utica",
             "opera AND catone", "opera AND (catone OR utica)")  # fmt: skip
    outcome = ended(
        Count(chain, evidence_needed=NEED),
        question=QUESTION,
        synonyms=lambda: table("opera => singspiel"),
    ).outcome
    assert isinstance(outcome, Abstained)
    assert outcome.certificate is not None


def test_an_index_without_stems_is_asked_and_excerpted_without_them() -> None:
    filler = "Nothing of note happened here. " * 40
    text = f"The operas were given. {filler} An opera was given. {filler}"
    made = ReferenceEngine(analysis="standard")
    made.put(passages_of([("d", "", text)]), replaces=0)
    made.commit()
    state = session([Search("opera", evidence_needed=NEED), Abstain("")], tools=Tools(made))
    (shown,) = first(state).results
    assert "An opera was given." in shown.text
    assert "The operas were given." not in shown.text


def test_without_stems_forms_of_one_word_are_different_expressions() -> None:
    # With stems each of these is the same expression; without, the chain grows by one word each.
    chain = ("erased AND zz", "erased", "erased OR erases", "erased OR erases OR erase")
    for analysis, found in (("standard", True), ("english", False)):
        made = ReferenceEngine(analysis=analysis)  # type: ignore[arg-type]
        made.put(passages_of([("d", "", "alpha")]), replaces=0)
        made.commit()
        state = session(
            [Count(chain, evidence_needed=NEED), Abstain("")],
            tools=Tools(made),
            question="What did Erased do?",
        )
        assert isinstance(state.outcome, Abstained)
        assert (state.outcome.certificate is not None) == found
