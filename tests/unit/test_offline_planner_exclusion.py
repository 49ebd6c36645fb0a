"""Names that a question leaves out are found, taken out of it, and excluded from searches."""

from __future__ import annotations

import pytest

from logicalrag.agent.limits import Limits
from logicalrag.agent.outcome import Answered
from logicalrag.agent.planners.offline.exclusion import exclusion, without
from logicalrag.agent.planners.offline.planner import OfflinePlanner
from logicalrag.agent.session import run, start
from logicalrag.agent.tools import Tools
from logicalrag.query.parser import parse
from logicalrag.query.visitor import leaves
from tests.unit.sessions import engine_over

RIVERS = (
    ("weser", "Weser", "The Weser is a river in Germany that flows into the North Sea."),
    ("elbe", "Elbe", "The Elbe is a river in Germany that flows into the North Sea."),
    ("spree", "Spree", "The Spree is a river in Germany that flows through Berlin."),
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "title", "rest"),
    [
        ("Which river that is not the Elbe flows north?", None, None),
        ("Which river that is not Elbe flows north?", "elbe", "Which river flows north?"),
        ("Which opera other than La fida ninfa is his?", "la fida ninfa", "Which opera is his?"),
        ("Which river, except for Weser, flows north?", "weser", "Which river flows north?"),
        ("Who wrote operas besides “Alcina” in London?", "alcina", "Who wrote operas in London?"),
        ("Which rivers aren't Elbe?", "elbe", "Which rivers ?"),
    ],
)
def test_the_longest_title_after_the_words_that_leave_out(
    question: str, title: str | None, rest: str | None
) -> None:
    left_out = exclusion(question)
    if title is None:
        assert left_out is None, "an article begins no name here"
        return
    assert left_out is not None
    titled = left_out.titled({title: 1, title.split()[0] + " x": 9}, 8)
    assert titled is not None
    assert titled[0] == title
    assert " ".join(without(question, left_out, titled[1]).split()) == rest


@pytest.mark.parametrize(
    "question",
    ["Who did not walk on the Moon?", "Is it not so?", "", "that is not", "Which other river?"],
)
def test_a_negation_without_a_name_leaves_nothing_out(question: str) -> None:
    assert exclusion(question) is None


def test_every_search_excludes_it_and_the_answer_is_about_another() -> None:
    question = "Which river in Germany other than Elbe flows into the North Sea?"
    planner = OfflinePlanner()
    state = run(start(question, planner, limits=Limits()), Tools(engine_over(RIVERS)), planner)
    searches = [turn.action for turn in state.turns if turn.feedback.kind == "search"]
    assert searches
    for search in searches:
        assert search is not None
        assert search.kind == "search"
        found = list(leaves(parse(search.expression).tree))
        assert any(leaf.tokens == ("elbe",) and leaf.field == "title" for leaf in found)
    assert "elbe" not in {shown.document_id for shown in state.shown().values()}
    assert isinstance(state.outcome, Answered)
    assert "Weser" in state.outcome.text


def test_a_name_that_is_no_title_changes_nothing() -> None:
    question = "Which river other than Amazon flows through Berlin?"
    planner = OfflinePlanner()
    state = run(start(question, planner), Tools(engine_over(RIVERS)), planner)
    for turn in state.turns:
        if turn.action is not None and turn.action.kind == "search":
            assert "NOT title:" not in turn.action.expression.split("NOT (", 1)[0]
