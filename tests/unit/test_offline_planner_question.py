"""What the offline planner reads in a question and in a text."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies

from logicalrag.agent.planners.offline.lexicon import related
from logicalrag.agent.planners.offline.prose import bare_title, name_spans, pieces, sentences, words
from logicalrag.agent.planners.offline.question import (
    MAX_NAME_CHARACTERS,
    Kind,
    analyse,
)
from logicalrag.engines.analysis import stem


def spans(text: str) -> list[str]:
    return [" ".join(span) for span, _ in name_spans(text)]


@pytest.mark.parametrize(
    ("question", "kind", "focus"),
    [
        ("When was the Clifton Suspension Bridge opened?", "date", ""),
        ("In what year did the author of Emma die?", "date", ""),
        ("How many strings has a bouzouki?", "number", ""),
        ("What is the population of Vicenza?", "number", "popul"),
        ("Who revised the libretto of Griselda?", "name", ""),
        ("Where was the poet who wrote the Aeneid buried?", "name", ""),
        ("In which city did the playwright die?", "name", "citi"),
        ("The lighthouse was built by an engineer born in which county?", "name", "counti"),
        ("Which board game did Reiner Knizia design?", "other", "game"),
        ("What is the name of the opera that opened the theatre?", "other", "opera"),
        ("How did the expedition end?", "other", ""),
        ("Are both Griselda and Alcina operas?", "yes_no", ""),
        ("Is Alcina an opera or an oratorio?", "other", ""),
        ("Tell me of the opera Alcina.", "other", ""),
    ],
)
def test_the_kind_of_answer_and_the_noun_asked_for(question: str, kind: Kind, focus: str) -> None:
    asked = analyse(question)
    assert (asked.kind, asked.focus) == (kind, focus)


def test_a_pronoun_that_refers_back_asks_for_nothing() -> None:
    asked = analyse("The engineer who built the Bell Rock Lighthouse died in what year?")
    assert asked.kind == "date"


def test_names_are_capitalised_spans_with_their_parts_and_quotes() -> None:
    asked = analyse('Who sang "la donna e mobile" at the Bank of Scotland in Leith\'s harbour?')
    assert asked.names == ("Bank of Scotland in Leith", "la donna e mobile")
    assert asked.single_names == ("Bank", "Scotland", "Leith")


def test_an_asking_word_or_auxiliary_at_the_beginning_is_no_name() -> None:
    assert analyse("Did Vivaldi write Alcina?").single_names == ("Vivaldi", "Alcina")
    assert analyse("Which Danish author wrote it?").single_names == ("Danish",)


def test_maximal_names_are_no_part_of_another() -> None:
    asked = analyse("What did the Duke of Mantua say to Isabella in Mantua?")
    assert asked.maximal_names() == ("Duke of Mantua", "Isabella in Mantua")


def test_content_words_are_stems_each_once_without_stop_words() -> None:
    asked = analyse("Which operas did the opera composer compose?")
    assert asked.words == (stem("operas"), stem("composer"))
    assert asked.surface == ("operas", "composer")


def test_words_near_the_asking_word_weigh_most() -> None:
    asked = analyse("Who is the spouse of the director of Jump?")
    near = dict(zip(asked.words, asked.nearness, strict=True))
    assert near[stem("spouse")] == 1
    assert near[stem("spouse")] > near[stem("director")] > near[stem("Jump".lower())] > 0


def test_title_candidates_go_from_capital_to_capital_the_whole_name_first() -> None:
    asked = analyse("Who wrote The Wind in the Willows in 1908?")
    assert "the wind in the willows" in asked.title_candidates
    assert "1908" not in asked.title_candidates
    assert "who wrote the wind" not in asked.title_candidates


def test_a_quoted_title_is_the_likeliest() -> None:
    asked = analyse('Which Italian composed "falling down the stairs"?')
    assert asked.title_candidates[0] == "falling down the stairs"


@hypothesis.given(strategies.text(max_size=400))
def test_any_text_is_a_question(text: str) -> None:
    asked = analyse(text)
    assert len(asked.words) == len(asked.surface) == len(asked.nearness) <= 20
    assert len(set(asked.words)) == len(asked.words)
    assert all(len(name) <= MAX_NAME_CHARACTERS for name in asked.names)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. No met J. S. Bach. He left.", ["Dr. No met J. S. Bach.", "He left."]),
        ("It cost 3.5 million. 1907 was better.", ["It cost 3.5 million.", "1907 was better."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("She lives in the U.S. and writes.", ["She lives in the U.S. and writes."]),
        ("A line\nanother line", ["A line", "another line"]),
        ("  ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


@hypothesis.given(strategies.text(alphabet="Ab. !?\"'\n1é", max_size=80))
def test_sentences_lose_nothing_but_white_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def test_name_spans_keep_connectors_and_initials_and_end_at_commas_and_possessives() -> None:
    assert spans("In 1735 Carlo Goldoni, a friend, met Tomaso Albinoni's pupil.") == [
        "1735 Carlo Goldoni",
        "Tomaso Albinoni",
    ]
    assert spans("The Bank of England and John F. Kennedy") == [
        "Bank of England and John F Kennedy"
    ]
    assert spans("They sailed. Then the Argo sank") == ["Argo"]


def test_pieces_are_what_connectors_join() -> None:
    assert pieces(("Bank", "of", "England")) == [("Bank",), ("England",)]
    assert pieces(("Antonio", "Vivaldi")) == []


def test_words_lose_their_possessive_and_keep_their_place() -> None:
    assert words("Leith’s docks") == [("Leith", 0), ("docks", 8)]


def test_a_bare_title_has_no_remark() -> None:
    assert bare_title("Alcina (opera)") == "Alcina"
    assert bare_title("(untitled)") == "(untitled)"


def test_related_words_are_other_ways_to_say_it() -> None:
    assert {stem("wife"), stem("married")} <= related(stem("spouse")).keys()
    assert stem("spouse") not in related(stem("spouse"))
    assert related(stem("bouzouki")) == {}
