"""The offline planner over the reference engine: whole sessions."""

from __future__ import annotations

import json
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from logicalrag.agent.actions import Answer, Count, Read, Search
from logicalrag.agent.feedback import CountFeedback, Done, ErrorFeedback, SearchFeedback
from logicalrag.agent.limits import Limits
from logicalrag.agent.outcome import Abstained, Answered
from logicalrag.agent.planners.offline import OfflinePlanner, plan
from logicalrag.agent.planners.protocol import PlannerError
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState, dump_state, load_state
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from logicalrag.engines.protocol import Passage, Visibility
from tests.unit.sessions import OPERAS, engine_over

HOUSES = (
    *OPERAS,
    ("tarn", "Tarn Hall", "Tarn Hall is a house by the architect Ida Voss. It has nine rooms."),
    ("voss", "Ida Voss", "Ida Voss built houses in Norland. She was born on 3 May 1871."),
    ("moll", "Carl Moll", "Carl Moll was a painter. He was born in 1861."),
    ("orm", "Lake Orm", "Lake Orm is a lake in Norland."),
)
QUESTION = "When was the architect of Tarn Hall born?"


def ask(
    question: str, *, hidden: tuple[str, ...] = (), limits: Limits | None = None
) -> SessionState:
    planner = OfflinePlanner()
    visibility = Visibility(hidden_documents=frozenset(hidden))
    return run(start(question, planner, visibility, limits), Tools(engine_over(HOUSES)), planner)


def test_it_follows_a_name_to_the_answer_and_cites_both_passages() -> None:
    state = ask(QUESTION)
    assert isinstance(state.outcome, Answered)
    assert "3 May 1871" in state.outcome.text
    assert {citation.document_id for citation in state.outcome.citations} == {"tarn", "voss"}
    assert state.outcome.unsupported == ()
    assert state.planner == "offline"


def test_it_abstains_with_a_certificate_where_the_named_thing_is_hidden() -> None:
    state = ask(QUESTION, hidden=("tarn", "voss"))
    assert isinstance(state.outcome, Abstained)
    assert state.outcome.reason == "no_evidence"
    assert state.outcome.certificate is not None
    assert '"tarn hall"' in state.outcome.certificate.expressions[-2].canonical


def test_equal_sessions_take_equal_turns_also_when_stored_between_turns() -> None:
    tools, planner = Tools(engine_over(HOUSES)), OfflinePlanner()
    state = start(QUESTION, planner)
    while state.outcome is None:
        stored = load_state(dump_state(state))
        assert OfflinePlanner().propose(stored) == OfflinePlanner().propose(state)
        state = step(stored, tools, OfflinePlanner())
    assert state.turns == ask(QUESTION).turns


def test_the_first_action_counts_and_every_search_says_what_it_needs() -> None:
    state = ask(QUESTION)
    assert isinstance(state.turns[0].action, Count)
    needs = [
        turn.action.evidence_needed
        for turn in state.turns
        if isinstance(turn.action, Search | Count)
    ]
    assert all(needs)


@pytest.mark.parametrize("turns", range(1, 9))
def test_it_concludes_within_any_number_of_searching_turns(turns: int) -> None:
    for hidden in ((), ("tarn", "voss")):
        state = ask(QUESTION, hidden=hidden, limits=Limits(searching_turns=turns))
        assert isinstance(state.outcome, Answered | Abstained)
        assert state.searching_turns <= turns


def test_a_question_without_a_word_is_not_searched_for() -> None:
    state = ask(" ?! ")
    assert isinstance(state.outcome, Abstained)
    assert "no word" in state.outcome.detail
    assert state.searching_turns == 0


@hypothesis.settings(max_examples=30)
@hypothesis.given(
    strategies.lists(
        strategies.sampled_from(
            ["Tarn", "Hall", "AND", "or", "NOT", '"', "(", "title:", "^2", "Ida", "born", "*", "–"]
        ),
        max_size=12,
    )
)
def test_no_question_breaks_the_language(parts: list[str]) -> None:
    state = ask(" ".join(parts))
    assert isinstance(state.outcome, Answered | Abstained)
    assert not any(isinstance(turn.feedback, ErrorFeedback) for turn in state.turns)


def test_no_search_shows_more_than_what_is_left_of_ten_passages() -> None:
    documents = [(f"d{n}", f"Tarn {n}", f"Tarn {n} is by Ida Voss.") for n in range(40)]
    planner = OfflinePlanner()
    state = run(start("Who built Tarn?", planner), Tools(engine_over(documents)), planner)
    assert len(state.shown()) == 10


def test_a_search_refused_as_too_broad_is_narrowed() -> None:
    documents = [(f"d{n}", "Film of the year", "A film of a year.") for n in range(120)]
    planner = OfflinePlanner()
    state = run(start("which film year", planner), Tools(engine_over(documents)), planner)
    refused = [
        isinstance(turn.feedback, SearchFeedback) and turn.feedback.too_broad
        for turn in state.turns
    ]
    assert refused.count(True) == 2  # the narrowed one is as broad here, and is not repeated
    assert isinstance(state.turns[2].action, Search)
    assert state.turns[2].action.expression == "film AND year"
    assert isinstance(state.outcome, Abstained)


def test_what_was_shown_in_part_is_read_in_full() -> None:
    long = "Tarn Hall is a house. " + "It has many rooms. " * 60 + "The architect was Ida Voss."
    planner = OfflinePlanner()
    engine = engine_over([("tarn", "Tarn Hall", long), *OPERAS])
    question = "Who was the architect of Tarn Hall?"
    state = run(start(question, planner), Tools(engine), planner)
    assert any(isinstance(turn.action, Read) for turn in state.turns)
    assert all(passage.whole for passage in state.shown().values())


def test_errors_in_place_of_results_end_in_an_abstention() -> None:
    course = plan(QUESTION)
    action = next(course)
    kinds = [action.kind]
    for _ in range(20):
        if action.kind == "abstain":
            break
        action = course.send(ErrorFeedback("bad_boost", "no"))
        kinds.append(action.kind)
    assert kinds[-1] == "abstain"


def test_an_answer_that_is_sent_back_becomes_an_abstention() -> None:
    state = ask(QUESTION)
    course = plan(QUESTION)
    action = next(course)
    for turn in state.turns[:-1]:
        action = course.send(turn.feedback)
    assert isinstance(action, Answer)
    action = course.send(ErrorFeedback("unseen_citation", "no"))
    if isinstance(action, Count):
        action = course.send(CountFeedback((), 0, "0"))
    assert action.kind == "abstain"


def test_a_session_that_the_planner_ended_cannot_go_on() -> None:
    state = ask(QUESTION)
    longer = state.after(None, Done())
    with pytest.raises(PlannerError, match="goes on after the offline planner ended") as raised:
        OfflinePlanner().propose(longer)
    assert raised.value.retryable is False


def test_answers_to_real_questions_are_short_and_within_ten_passages(shared: Path) -> None:
    folder = shared / "data" / "hotpotqa"
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()[:300]
    documents = [(d["id"], d["title"], d["text"]) for d in map(json.loads, lines)]
    known = {document[0] for document in documents}
    questions = [
        question["question"]
        for question in map(
            json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
        )
        if known.issuperset(question["gold_ids"])
    ]
    assert len(questions) >= 5
    engine, planner = engine_over(documents), OfflinePlanner()
    for question in questions[:5]:
        state = run(start(question, planner), Tools(engine), planner)
        assert isinstance(state.outcome, Answered | Abstained)
        assert len(state.shown()) <= 10
        if isinstance(state.outcome, Answered):
            assert len(state.outcome.text) <= 400


def test_passages_without_title_or_text_do_no_harm() -> None:
    engine = engine_over(HOUSES)
    for number, (title, text) in enumerate([("", "Tarn Hall"), ("Tarn Hall", ""), ("!", "?")]):
        engine.put([Passage(f"x{number}", f"x{number}", 0, title, text, 0, len(text))], replaces=0)
    engine.commit()
    planner = OfflinePlanner()
    state = run(start(QUESTION, planner), Tools(engine), planner)
    assert isinstance(state.outcome, Answered)
