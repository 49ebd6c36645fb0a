"""The rules of a session, each shown by a scripted planner over the reference engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Reply, Search
from logicalrag.agent.feedback import (
    CountFeedback,
    ErrorFeedback,
    ReadFeedback,
    SearchFeedback,
)
from logicalrag.agent.limits import Limits
from logicalrag.agent.outcome import Abstained, Answered, Failed, LimitReached
from logicalrag.agent.planners.scripted import ScriptedPlanner
from logicalrag.agent.session import start
from logicalrag.agent.state import SessionState, StateError, dump_state, load_state
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from logicalrag.agent.usage import Usage
from logicalrag.engines.errors import EngineError
from logicalrag.engines.protocol import Visibility
from logicalrag.engines.reference import ReferenceEngine
from tests.unit.sessions import OPERAS, cite, engine_over, session

NEED = "where the opera was first performed"
# Stored by the release that wrote version 1: one session that goes on, one that had ended.
_VERSION_1 = Path(__file__).with_name("sessions_version_1.jsonl")
FIRST = Search('"Ottone in villa"', evidence_needed=NEED)


def feedback_of(state: SessionState, turn: int) -> Any:
    return state.turns[turn - 1].feedback


def test_an_answer_cites_what_was_shown_and_keeps_its_text() -> None:
    state = session([FIRST, Answer("It was first performed in Vicenza.", (cite("ottone"),))])
    assert isinstance(state.outcome, Answered)
    (citation,) = state.outcome.citations
    assert (citation.document_id, citation.title) == ("ottone", "Ottone in villa")
    assert citation.text == OPERAS[0][2]
    assert state.outcome.unsupported == ()


def test_a_search_shows_counts_canonical_form_and_passages() -> None:
    state = session([Search("opera NOT handel", evidence_needed=NEED), Abstain("enough")])
    found = feedback_of(state, 1)
    assert isinstance(found, SearchFeedback)
    assert (found.hits, found.relation, found.visible) == (2, "eq", 3)
    assert found.fraction == pytest.approx(2 / 3)
    assert found.canonical == "opera AND NOT handel"
    assert {shown.document_id for shown in found.results} == {"ottone", "orlando"}


def test_the_first_search_must_state_the_evidence_needed() -> None:
    state = session([Search("opera"), FIRST, Search("opera"), Abstain("")])
    refused = feedback_of(state, 1)
    assert isinstance(refused, ErrorFeedback)
    assert refused.code == "evidence_needed_missing"
    assert isinstance(feedback_of(state, 3), SearchFeedback), "the need stated before still stands"
    assert state.searching_turns == 2, "what executed nothing is no searching turn"


def test_a_malformed_expression_is_a_feedback_turn_with_the_structured_error() -> None:
    state = session([Search("alpha AND", evidence_needed=NEED), FIRST, Abstain("")])
    error = feedback_of(state, 1)
    assert isinstance(error, ErrorFeedback)
    assert (error.code, error.position) == ("missing_operand", 9)
    assert "^" in error.rendered
    assert isinstance(feedback_of(state, 2), SearchFeedback)


@pytest.mark.parametrize(
    ("actions", "code"),
    [
        ((), "no_action"),
        (({"kind": "search", "expression": "a"}, {"kind": "abstain", "reason": ""}),
         "multiple_actions"),
        (({"kind": "launch"},), "unknown_action"),
        (({"expression": "a"},), "unknown_action"),
        ((17,), "unknown_action"),
        (({"kind": ["search"]},), "unknown_action"),
        (({"kind": "search"},), "bad_arguments"),
        (({"kind": "search", "expression": "a", "max_results": "5"},), "bad_arguments"),
        (({"kind": "search", "expression": "a", "max_results": 21},), "bad_arguments"),
        (({"kind": "search", "expression": None},), "bad_arguments"),
        (({"kind": "search", "expression": "a\ud800"},), "bad_arguments"),
        (({"kind": "count", "expressions": []},), "bad_arguments"),
        (({"kind": "count", "expressions": ["a"] * 33},), "bad_arguments"),
        (({"kind": "read", "passage_ids": ["p"], "neighbours": -1},), "bad_arguments"),
        (({"kind": "answer", "text": "x", "cited": "p"},), "bad_arguments"),
        (({"kind": "answer", "text": "", "cited": []},), "bad_arguments"),
        (({"kind": "abstain", "reason": "x", "then": "y"},), "bad_arguments"),
        (({"kind": "abstain", "reason": "x", "\x1b\n" + "k" * 5000: "y"},), "bad_arguments"),
    ],
)  # fmt: skip
def test_a_malformed_action_is_a_feedback_turn_and_executes_nothing(
    actions: tuple[Any, ...], code: str
) -> None:
    engine = _Untouchable()
    planner = ScriptedPlanner([Reply(actions)])
    state = step(start("?", planner), Tools(engine), planner)
    assert isinstance(state.turns[0].feedback, ErrorFeedback)
    assert state.turns[0].feedback.code == code
    assert state.turns[0].feedback.message.isprintable()
    assert len(state.turns[0].feedback.message) < 500
    assert state.turns[0].action is None
    assert state.outcome is None


class _Untouchable(ReferenceEngine):
    """An engine that must not be called."""

    def search(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nothing may be executed")

    count = read = search


def test_after_the_last_searching_turn_only_an_answer_or_an_abstention_may_follow() -> None:
    limits = Limits(searching_turns=2)
    searched = [FIRST, Search("opera")]
    answered = session([*searched, Answer("Vicenza.", (cite("ottone"),))], limits=limits)
    assert isinstance(answered.outcome, Answered)
    went_on = session([*searched, Search("vivaldi")], limits=limits)
    assert went_on.outcome == LimitReached("searching_turns")
    assert len(went_on.turns) == 3
    babbled = session([*searched, Reply(())], limits=limits)
    assert babbled.outcome == LimitReached("searching_turns")


def test_eight_searching_turns_are_the_default() -> None:
    counts = [Count(("opera",))] * 4
    reads = [Read((cite("alcina"),))] * 3
    state = session([FIRST, *counts, *reads, Search("opera")])
    assert state.outcome == LimitReached("searching_turns")
    assert state.searching_turns == 8


def test_malformed_replies_end_at_the_limit_on_turns() -> None:
    state = session([Reply(())] * 20, limits=Limits(turns=5))
    assert state.outcome == LimitReached("turns")
    assert len(state.turns) == 6, "one more that might have concluded"
    assert sum(isinstance(turn.feedback, ErrorFeedback) for turn in state.turns) == 5


def test_after_the_last_turn_an_answer_is_still_taken() -> None:
    limits = Limits(searching_turns=1, turns=2)
    answer = Answer("Vicenza.", (cite("ottone"),))
    assert isinstance(session([Reply(()), FIRST, answer], limits=limits).outcome, Answered)


@pytest.mark.parametrize("blank", ["", "  ", "\n\t"])
def test_blank_is_neither_a_plan_nor_an_answer(blank: str) -> None:
    state = session([Search("opera", evidence_needed=blank), FIRST, Abstain("")])
    assert feedback_of(state, 1).code == "evidence_needed_missing"
    raw = Reply(({"kind": "answer", "text": blank, "cited": [cite("ottone")]},))
    assert feedback_of(session([FIRST, raw, Abstain("")]), 2).code == "bad_arguments"


def test_an_answer_that_cites_unseen_passages_gets_one_turn_then_abstains() -> None:
    unseen = Answer("In Vicenza.", (cite("ottone"), cite("alcina")))
    state = session([FIRST, unseen, unseen])
    warned = feedback_of(state, 2)
    assert isinstance(warned, ErrorFeedback)
    assert warned.code == "unseen_citation"
    assert cite("alcina") in warned.message
    assert state.outcome == Abstained("unseen_citation", "", None)
    mended = session([FIRST, unseen, Answer("In Vicenza.", (cite("ottone"),))])
    assert isinstance(mended.outcome, Answered)


def test_an_answer_without_citations_is_refused_alike() -> None:
    state = session([FIRST, Answer("In Vicenza.", ()), Answer("In Vicenza.", ())])
    assert state.outcome == Abstained("unseen_citation", "", None)


def test_the_one_turn_for_a_bad_citation_is_given_after_the_last_search_too() -> None:
    limits = Limits(searching_turns=1)
    state = session(
        [FIRST, Answer("Vicenza.", ("nowhere",)), Answer("Vicenza.", (cite("ottone"),))],
        limits=limits,
    )
    assert isinstance(state.outcome, Answered)


def test_a_count_gives_counts_and_errors_in_their_places_and_no_passage() -> None:
    expressions = ("opera", "title:", "vivaldi AND handel", "opera and")
    state = session([Count(expressions, evidence_needed=NEED), Abstain("")])
    counted = feedback_of(state, 1)
    assert isinstance(counted, CountFeedback)
    assert [count.hits for count in counted.counts] == [3, None, 0, 3]
    assert [count.error and count.error.code for count in counted.counts] == [
        None, "missing_operand", None, None,
    ]  # fmt: skip
    assert [remark.code for remark in counted.counts[3].notices] == ["lowercase_operator"]
    assert state.shown() == {}


def test_reading_again_costs_one_line_and_unknown_ids_are_named() -> None:
    long = [("long", "Long", "First sentence. " * 100)]
    engine = engine_over([*OPERAS, *long])
    state = session(
        [
            Search("first", evidence_needed=NEED, max_results=10),
            Read((cite("long"), cite("ottone"), "nowhere")),
            Read((cite("long"),)),
            Abstain(""),
        ],
        engine=engine,
    )
    first = feedback_of(state, 2)
    assert isinstance(first, ReadFeedback)
    assert [shown.document_id for shown in first.passages] == ["long"]
    assert first.passages[0].text == long[0][2]
    assert first.already_read == (cite("ottone"),), "the search had shown all of it"
    assert first.unknown == ("nowhere",)
    again = feedback_of(state, 3)
    assert again == ReadFeedback((), (cite("long"),))


def test_a_search_shows_at_most_600_characters_of_a_passage_around_what_matched() -> None:
    filler = "Nothing of note happened in this year. " * 40
    text = filler + "The keeper of the lighthouse was Ida Lewis. " + filler
    state = session(
        [Search("keeper lighthouse", evidence_needed=NEED), Abstain("")],
        engine=engine_over([("long", "Lime Rock", text)]),
    )
    (shown,) = feedback_of(state, 1).results
    assert not shown.whole
    assert len(shown.text) <= 600
    assert "The keeper of the lighthouse was Ida Lewis." in shown.text
    assert shown.text in text


def _many(common: str, rare: str) -> ReferenceEngine:
    """120 documents that all hold `common`, two of which hold `rare`."""
    return engine_over(
        (f"d{n}", f"Paper {n}", common + (f" {rare}" if n < 2 else "")) for n in range(120)
    )


def test_a_search_for_more_than_half_of_everything_is_refused_with_the_counts() -> None:
    state = session(
        [Search("report OR annual", evidence_needed=NEED), Abstain("")],
        engine=_many("annual report", "penguin"),
    )
    refused = feedback_of(state, 1)
    assert refused.too_broad
    assert (refused.hits, refused.visible, refused.results) == (120, 120, ())
    assert {part.canonical: part.hits for part in refused.clauses} == {"annual": 120, "report": 120}
    assert state.searching_turns == 1


def test_a_selective_clause_makes_a_broad_search_acceptable() -> None:
    state = session(
        [Search("report OR penguin", evidence_needed=NEED, max_results=2), Abstain("")],
        engine=_many("annual report", "penguin"),
    )
    found = feedback_of(state, 1)
    assert not found.too_broad
    assert {shown.document_id for shown in found.results} == {"d0", "d1"}


def test_a_clause_in_exactly_half_is_not_selective() -> None:
    engine = engine_over((f"d{n}", "", "aa" if n % 2 else "bb") for n in range(100))
    refused = feedback_of(
        session([Search("aa OR bb", evidence_needed=NEED), Abstain("")], engine=engine), 1
    )
    assert refused.too_broad


def test_a_negated_clause_does_not_make_a_broad_search_acceptable() -> None:
    state = session(
        [Search("NOT penguin", evidence_needed=NEED), Abstain("")],
        engine=_many("annual report", "penguin"),
    )
    assert feedback_of(state, 1).too_broad


def test_nothing_is_too_broad_below_a_hundred_passages() -> None:
    state = session([Search("opera", evidence_needed=NEED), Abstain("")])
    assert not feedback_of(state, 1).too_broad
    assert len(feedback_of(state, 1).results) == 3


def test_zero_hits_say_what_each_clause_costs_and_what_is_spelt_alike() -> None:
    state = session([Search("vivaldi AND vicenca AND opera", evidence_needed=NEED), Abstain("")])
    empty = feedback_of(state, 1)
    assert empty.hits == 0
    assert {part.canonical: part.hits for part in empty.leave_one_out} == {
        "vivaldi": 0, "vicenca": 2, "opera": 0,
    }  # fmt: skip
    (dead,) = empty.dead_words
    assert dead.word == "vicenca"
    assert dead.nearest[0].canonical == "vicenza"
    assert dead.nearest[0].hits == 1


def test_hidden_documents_are_absent_from_every_feedback() -> None:
    state = session(
        [
            Search("vicenza OR villas", evidence_needed=NEED),
            Read((cite("ottone"),)),
            Count(("opera",)),
            Abstain(""),
        ],
        visibility=Visibility(hidden_documents=frozenset({"ottone"})),
    )
    searched = feedback_of(state, 1)
    assert (searched.hits, searched.visible, searched.results) == (0, 2, ())
    assert all(word.nearest == () for word in searched.dead_words)
    assert feedback_of(state, 2) == ReadFeedback((), (), (cite("ottone"),))
    assert feedback_of(state, 3).counts[0].hits == 2


def test_a_failing_engine_is_an_error_and_never_a_zero() -> None:
    class Failing(ReferenceEngine):
        def count(self, *_: Any, **__: Any) -> Any:
            raise EngineError("The index cannot be read.", retryable=True)

    planner = ScriptedPlanner([Count(("opera",), evidence_needed=NEED)])
    state = start("?", planner)
    with pytest.raises(EngineError):
        step(state, Tools(Failing()), planner)
    ended = session([Count(("opera",), evidence_needed=NEED)], engine=Failing())
    assert ended.outcome == Failed("engine_error", "The index cannot be read.")
    assert ended.turns == ()


def test_a_script_that_ends_too_early_is_an_error_of_the_planner() -> None:
    state = session([FIRST])
    assert state.outcome == Failed("planner_error", "The script ends after 1 replies.")


def test_a_finished_session_stays_as_it_is() -> None:
    state = session([Abstain("no")])
    planner = ScriptedPlanner([])
    assert step(state, Tools(engine_over()), planner) is state


def test_a_session_can_be_stored_and_continued_after_every_turn() -> None:
    planner = ScriptedPlanner(
        [
            FIRST,
            Count(("opera", "title:")),
            Reply(()),
            Read((cite("alcina"),)),
            Answer("In Vicenza on 17 May 1713.", (cite("ottone"),)),
        ]
    )
    state = start("Where?", planner, Visibility(groups=frozenset({"staff"})))
    tools = Tools(engine_over())
    stored = dump_state(state)
    while (current := load_state(stored)).outcome is None:
        stored = dump_state(step(current, tools, planner))
    straight = start("Where?", planner, Visibility(groups=frozenset({"staff"})))
    while straight.outcome is None:
        straight = step(straight, tools, planner)
    assert current.turns == straight.turns
    assert current.outcome == straight.outcome
    assert isinstance(current.outcome, Answered)


def test_a_stored_session_of_another_shape_is_refused_with_a_sentence() -> None:
    with pytest.raises(StateError, match="cannot be read"):
        load_state(b'{"question": 3}')
    newer = dump_state(session([Abstain("")])).replace(b'"schema":2', b'"schema":3')
    with pytest.raises(StateError, match="version 3; this program reads up to 2"):
        load_state(newer)


def test_a_running_session_of_the_version_before_is_continued() -> None:
    running, _ = _VERSION_1.read_bytes().splitlines()
    state = load_state(running)
    assert state.schema == 2
    assert state.session_id == "stored-by-version-1"
    assert state.visibility.groups == {"staff"}
    assert [turn.feedback.kind for turn in state.turns] == ["search", "count", "error", "read"]
    assert (state.usage, state.fields, state.limits.cost) == (None, {}, None)
    answer = Answer("In Vicenza.", (cite("ottone"),))
    planner = ScriptedPlanner([*[Reply(())] * 4, answer])
    ended = step(state, Tools(engine_over()), planner)
    assert isinstance(ended.outcome, Answered)
    assert ended.outcome.citations[0].location == ""
    assert load_state(dump_state(ended)) == ended


def test_an_ended_session_of_the_version_before_keeps_its_certificate() -> None:
    _, ended = _VERSION_1.read_bytes().splitlines()
    outcome = load_state(ended).outcome
    assert isinstance(outcome, Abstained)
    assert outcome.certificate is not None
    assert [part.canonical for part in outcome.certificate.expressions] == [
        "catone AND utica AND opera", "catone AND utica", "catone", "catone OR utica",
    ]  # fmt: skip
    assert outcome.certificate.filters == ()


@pytest.mark.parametrize(
    "actions",
    [
        ({"kind": "search", "expression": "ope"},),  # happens to parse
        ({"kind": "search", "expression": 3},),
        (),
        ({"kind": "search", "expression": "a"}, {"kind": "search", "expression": "b"}),
    ],
)
def test_a_reply_that_was_cut_off_executes_nothing_and_is_charged(
    actions: tuple[Any, ...],
) -> None:
    usage = Usage("m", 1, 90, 0, 0, 10, 1.5, 0.25)
    cut = Reply(actions, "truncated", usage, {"blocks": [1]})
    planner = ScriptedPlanner([cut, cut])
    state = step(start("?", planner), Tools(_Untouchable()), planner)
    (turn,) = state.turns
    assert (turn.action, turn.usage, turn.record) == (None, usage, {"blocks": [1]})
    assert isinstance(turn.feedback, ErrorFeedback)
    assert turn.feedback.code == "truncated"
    assert state.outcome is None
    ended = session([cut] * 3, limits=Limits(turns=2))
    assert ended.outcome == LimitReached("turns")
    assert ended.usage == usage + usage + usage


@pytest.mark.parametrize("actions", [(), ({"kind": "search", "expression": "opera"},)])
def test_a_refusal_is_an_abstention_after_one_call(actions: tuple[Any, ...]) -> None:
    usage = Usage("m", 1, 90, 0, 0, 0, 1.5, None)
    refused = Reply(actions, "refused", usage, detail="I cannot help with that.")
    planner = ScriptedPlanner([refused])
    state = step(start("?", planner), Tools(_Untouchable()), planner)
    assert state.outcome == Abstained("refusal", "I cannot help with that.", None)
    assert len(state.turns) == 1
    assert state.usage == usage
