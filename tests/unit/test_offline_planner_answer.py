"""Which sentences the offline planner answers with, and what it says of two things compared."""

from __future__ import annotations

import pytest

from logicalrag.agent.planners.offline.answer import MAX_CHARACTERS, compose, draft, quoted
from logicalrag.agent.planners.offline.comparison import agrees, alternatives, subjects
from logicalrag.agent.planners.offline.evidence import Evidence
from logicalrag.agent.planners.offline.question import Kind
from logicalrag.agent.planners.offline.sentences import Rating, kind_held, shown_sentences
from tests.unit.test_offline_planner_evidence import evidence_of


def answer_to(evidence: Evidence) -> str:
    chosen = draft(evidence, Rating(evidence))
    assert chosen is not None
    return compose(evidence, chosen).text


def test_an_answer_goes_from_the_named_thing_over_a_name_to_what_is_asked() -> None:
    evidence = evidence_of(
        "When was the architect of Tarn Hall born?",
        ("Tarn Hall", "Tarn Hall is a house by the architect Ida Voss. It has nine rooms."),
        ("Ida Voss", "Ida Voss built houses. She was born on 3 May 1871."),
        ("Carl Moll", "Carl Moll, an architect, was born in 1860."),
        titles={"tarn hall": 1},
    )
    assert answer_to(evidence) == (
        "Tarn Hall is a house by the architect Ida Voss. Ida Voss: She was born on 3 May 1871."
    )


def test_an_answer_cites_the_passages_of_its_sentences() -> None:
    evidence = evidence_of(
        "When was the architect of Tarn Hall born?",
        ("Tarn Hall", "Tarn Hall is a house by the architect Ida Voss."),
        ("Elsewhere", "Nothing of it."),
        ("Ida Voss", "Ida Voss was born in 1871."),
        titles={"tarn hall": 1},
    )
    chosen = draft(evidence, Rating(evidence))
    assert chosen is not None
    assert compose(evidence, chosen).cited == ("p0", "p2")


def test_a_sentence_that_says_it_all_stands_alone() -> None:
    evidence = evidence_of(
        "At what temperature does zinc melt?",
        ("Zinc", "Zinc is a metal. Zinc melts at a temperature of 419 degrees."),
        ("Carl Moll", "Carl Moll studied zinc."),
    )
    assert answer_to(evidence) == "Zinc melts at a temperature of 419 degrees."


def test_without_sentences_there_is_no_answer() -> None:
    evidence = evidence_of("When was Ida Voss born?")
    assert draft(evidence, Rating(evidence)) is None


def test_one_long_sentence_is_shortened_between_words() -> None:
    evidence = evidence_of("What is Tarn?", ("Tarn", "Tarn is " + "very " * 120 + "deep."))
    text = answer_to(evidence)
    assert len(text) <= MAX_CHARACTERS
    assert text.endswith(" very…")


def test_an_abbreviation_is_said_without_its_stop() -> None:
    evidence = evidence_of("Who?", ("Leo", "Dr. Leo F. Ott of St. Ives came. He left"))
    said = [quoted(sentence) for sentence in shown_sentences(evidence)]
    assert said == ["Dr Leo F Ott of St Ives came.", "Leo: He left."]


@pytest.mark.parametrize(
    ("kind", "text", "new_name", "held"),
    [
        ("date", "It closed in March.", False, 1.0),
        ("date", "It closed in the 18th century.", False, 1.0),
        ("date", "It closed early.", True, 0.0),
        ("number", "It has nine rooms.", False, 1.0),
        ("number", "It has many rooms.", True, 0.0),
        ("name", "It was built by Ida Voss.", True, 1.0),
        ("name", "It was built in 1871.", False, 0.0),
        ("other", "It was built.", False, 0.5),
    ],
)
def test_whether_a_sentence_holds_the_kind_asked_for(
    kind: Kind, text: str, new_name: bool, held: float
) -> None:
    assert kind_held(kind, text, new_name) == held


def test_alternatives_are_answered_with_a_sentence_of_each() -> None:
    evidence = evidence_of(
        "Which opened first, the Alba Line or the Borro Line?",
        ("Borro Line", "The Borro Line is a railway. It opened in 1850."),
        ("Alba Line", "The Alba Line is a railway. It opened in 1861."),
        ("Railway", "The first railway opened in 1825."),
    )
    pair = alternatives(evidence)
    assert pair is not None
    assert [finding.title for finding in pair] == ["Alba Line", "Borro Line"]
    text = answer_to(evidence)
    assert "Alba Line: It opened in 1861." in text
    assert "Borro Line: It opened in 1850." in text


def test_without_both_passages_there_are_no_alternatives() -> None:
    question = "Which opened first, the Alba Line or the Borro Line?"
    assert alternatives(evidence_of(question, ("Alba Line", "A railway."))) is None
    assert alternatives(evidence_of("Who built the Alba Line?", ("Alba Line", "A."))) is None


def test_subjects_stand_in_the_order_of_the_question() -> None:
    evidence = evidence_of(
        "Are Senna Lake and Lake Orm both lakes?",
        ("Lake", "A lake is a body of water."),
        ("Lake Orm", "A lake."),
        ("Senna Lake (reservoir)", "A lake."),
    )
    assert [finding.title for finding in subjects(evidence)] == ["Senna Lake", "Lake Orm"]


def test_yes_or_no_is_said_with_a_sentence_of_each_thing() -> None:
    evidence = evidence_of("Are Lake Orm and Lake Ise both lakes?", *LAKES)
    assert answer_to(evidence) == (
        "Yes: Lake Orm is a deep lake in Norland, dug in 1810. "
        "Lake Ise is a lake in Westmark, dug in 1790."
    )


LAKES = (
    ("Lake Orm", "Lake Orm is a deep lake in Norland, dug in 1810."),
    ("Lake Ise", "Lake Ise is a lake in Westmark, dug in 1790."),
)


@pytest.mark.parametrize(
    ("question", "yes"),
    [
        ("Are Lake Orm and Lake Ise both lakes?", True),
        ("Are Lake Orm and Lake Ise both in Norland?", False),
        ("Are Lake Orm and Lake Ise in the same country?", False),
        ("Was Lake Ise dug before Lake Orm?", True),
        ("Was Lake Orm dug earlier than Lake Ise?", False),
        ("Is Lake Orm younger than Lake Ise?", True),
        ("Is Lake Nemo a lake?", False),
    ],
)
def test_yes_or_no(question: str, yes: bool) -> None:
    evidence = evidence_of(question, *LAKES)
    assert agrees(evidence) is yes
    assert answer_to(evidence).startswith("Yes: " if yes else "No: ")
