"""When the offline planner abstains, and how it tries to prove that nothing is there."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from logicalrag.agent.outcome import Answered
from logicalrag.agent.planners.offline import abstention
from logicalrag.agent.planners.offline.answer import draft
from logicalrag.agent.planners.offline.evidence import Evidence
from logicalrag.agent.planners.offline.planner import OfflinePlanner
from logicalrag.agent.planners.offline.sentences import Rating
from logicalrag.agent.session import run, start
from logicalrag.agent.tools import Tools
from logicalrag.engines.analysis import stem
from logicalrag.query.parser import parse
from logicalrag.query.relaxation import weaker_than
from tests.unit.sessions import engine_over
from tests.unit.test_offline_planner_evidence import evidence_of

QUESTION = "When was the architect of Tarn Hall born?"
HALL = ("Tarn Hall", "Tarn Hall is a house by the architect Ida Voss.")
VOSS = ("Ida Voss", "Ida Voss was born in 1871.")
OTHER = ("Carl Moll", "Carl Moll, an architect, was born in 1860.")


def signs_of(evidence: Evidence) -> abstention.Signs:
    rating = Rating(evidence)
    chosen = draft(evidence, rating)
    return abstention.signs(evidence, rating, chosen.pair if chosen else None)


def abstains(evidence: Evidence) -> bool:
    rating = Rating(evidence)
    chosen = draft(evidence, rating)
    return abstention.should_abstain(evidence, rating, chosen.pair if chosen else None)


def test_it_answers_where_the_named_thing_and_what_is_said_of_it_were_shown() -> None:
    assert not abstains(evidence_of(QUESTION, HALL, VOSS, OTHER))


def test_it_abstains_where_only_other_things_were_shown() -> None:
    assert abstains(evidence_of(QUESTION, OTHER))
    assert abstains(evidence_of(QUESTION))


def test_signs_are_what_was_shown_of_the_question() -> None:
    found = signs_of(evidence_of(QUESTION, HALL, VOSS))
    assert found.names_met == 1
    assert found.closed == 1
    assert found.pooled == 1
    assert 0 < found.titled < 1
    assert astuple(signs_of(evidence_of(QUESTION))) == (0, 0, 0, 0)


def test_names_joined_by_and_are_met_one_by_one() -> None:
    evidence = evidence_of(
        "Are Lake Orm and Lake Ise deep?", ("Lake Orm", "A lake."), ("Lake Ise", "A lake.")
    )
    assert signs_of(evidence).names_met == 1


def test_every_sign_raises_the_confidence() -> None:
    none = abstention.Signs(0, 0, 0, 0)
    for place in range(4):
        one = abstention.Signs(*(float(place == other) for other in range(4)))
        assert abstention.confidence(one) > abstention.confidence(none)
    assert abstention.confidence(none) < 0.5 < abstention.confidence(abstention.Signs(1, 1, 1, 1))


def test_relaxations_hold_a_chain_of_four_from_the_name_and_its_predicate_to_the_name() -> None:
    expressions = abstention.relaxations(evidence_of(QUESTION, OTHER))
    assert len(expressions) <= 32
    trees = [parse(expression).tree for expression in expressions]
    assert expressions[0].startswith('title:"tarn hall" AND ')
    chain = [trees[0]]
    for tree in trees[1:]:
        if weaker_than(tree, chain[-1], stem) and not weaker_than(chain[-1], tree, stem):
            chain.append(tree)
    assert len(chain) >= 4
    assert chain[-1] in (parse('"tarn hall"').tree, parse("tarn AND hall").tree)


def test_words_without_hits_prove_nothing_and_are_left_out() -> None:
    expressions = abstention.relaxations(evidence_of(QUESTION, OTHER, hits={"architect": 0}))
    assert not any("architect" in expression for expression in expressions)


def test_names_that_were_not_shown_come_first() -> None:
    evidence = evidence_of("Did Ida Voss build Tarn Hall?", VOSS)
    assert abstention.relaxations(evidence)[0].startswith('title:"tarn hall"')


def test_a_question_without_names_relaxes_its_words() -> None:
    evidence = evidence_of("what do blue penguins eat?", hits={"blue": 9, "penguin": 1, "eat": 4})
    assert abstention.relaxations(evidence) == [
        "penguins AND eat AND blue",
        "penguins AND eat",
        "penguins",
    ]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("How often is ERR_CONN_RESET retried?", True),
        ("Which river flows into the sea near Cuxhaven?", True),
        ("How often is ERR_DNS_FAIL retried?", False),
        ("Which river flows into the Baltic Sea?", False),
    ],
)
def test_one_sentence_that_says_nearly_all_is_evidence_whatever_its_title(
    question: str, answers: bool
) -> None:
    documents = [
        ("errors", "Notes", "ERR_CONN_RESET is retried three times. Then the job fails."),
        ("elbe", "Page 2", "The Elbe is a river. It flows into the North Sea near Cuxhaven."),
        ("weser", "Page 3", "The Weser is a river. It flows into the sea near Bremerhaven."),
    ]
    planner = OfflinePlanner()
    state = run(start(question, planner), Tools(engine_over(documents)), planner)
    assert isinstance(state.outcome, Answered) == answers


def test_a_sentence_that_says_it_all_takes_no_stray_one_along() -> None:
    documents = [
        ("errors", "Errors", "ERR_CONN_RESET is retried three times. Then the job fails."),
        ("cinema", "Zheng Zhengqiu", "He is often considered a father of Chinese cinema."),
        *((f"d{n}", f"Page {n}", "Nothing of note stands here.") for n in range(20)),
    ]
    planner = OfflinePlanner()
    question = "How often is ERR_CONN_RESET retried?"
    state = run(start(question, planner), Tools(engine_over(documents)), planner)
    assert isinstance(state.outcome, Answered)
    assert state.outcome.text == "Errors: ERR_CONN_RESET is retried three times."
