"""A question asked again: fewer replies of the inner planner, the same answer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from logicalrag.agent.actions import Abstain, Answer, Reply, Search, as_reply
from logicalrag.agent.expressions import MemoryExpressions, expression_key
from logicalrag.agent.limits import Limits
from logicalrag.agent.outcome import Abstained, Answered
from logicalrag.agent.planners.remembering import RememberingPlanner
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState, dump_state, load_state
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from logicalrag.agent.usage import Usage
from logicalrag.engines.protocol import Visibility
from logicalrag.engines.reference import ReferenceEngine
from tests.unit.sessions import OPERAS, cite, engine_over, passages_of

QUESTION = "Where was Ottone in villa first performed?"
USED = Usage(model="m", calls=1)


class _Model:
    """Tries its searches in turn and answers from all it was shown; counts its replies."""

    name = "model"
    prompt_version = "7-full"
    price_known = False

    def __init__(self, searches: Sequence[str], needed: int = 1) -> None:
        self._searches = searches
        self._needed = needed
        self.replies = 0

    def propose(self, state: SessionState) -> Reply:
        self.replies += 1
        shown = list(state.shown())
        tried = {getattr(turn.action, "expression", "") for turn in state.turns}
        left = [each for each in self._searches if each not in tried]
        action: Search | Answer | Abstain
        if len(shown) >= self._needed:
            action = Answer("It is all here.", tuple(shown))
        elif left:
            action = Search(left[0], evidence_needed="" if state.evidence_needed else "the place")
        else:
            action = Abstain("Nothing.")
        return Reply(as_reply(action).actions, usage=USED, record={"content": []})


def _ask(
    model: _Model,
    store: MemoryExpressions,
    engine: ReferenceEngine | None = None,
    *,
    question: str = QUESTION,
    visibility: Visibility | None = None,
    limits: Limits | None = None,
) -> SessionState:
    planner = RememberingPlanner(model, store)
    state = run(
        start(question, planner, visibility, limits), Tools(engine or engine_over()), planner
    )
    planner.remember(state)
    return state


def _actions(state: SessionState) -> list[str]:
    return [getattr(turn.action, "expression", "") for turn in state.turns]


def test_the_second_time_asks_the_model_less_and_answers_the_same() -> None:
    store = MemoryExpressions()
    model = _Model(["typoo", "nothingg", "ottone AND villa"])
    first = _ask(model, store)
    assert model.replies == 4
    again = _ask(model, store, question="where was  OTTONE in villa first performed")
    assert model.replies == 4 + 1
    assert isinstance(first.outcome, Answered)
    assert again.outcome == first.outcome
    assert _actions(again) == ["ottone AND villa", ""]
    # What was remembered is told apart from the model's own turns, and costs nothing.
    assert [(turn.usage, turn.record is None) for turn in again.turns] == [
        (None, True),
        (USED, False),
    ]
    _ask(model, store)
    assert model.replies == 4 + 1 + 1


def test_several_searches_are_remembered_in_order() -> None:
    store = MemoryExpressions()
    model = _Model(["ottone", "typoo", "orlando", "alcina"], needed=3)
    first = _ask(model, store)
    model.replies = 0
    again = _ask(model, store)
    assert _actions(again) == ["ottone", "orlando", "alcina", ""]
    assert model.replies == 1
    assert again.outcome == first.outcome


def test_counts_and_passages_are_those_of_the_index_as_it_is() -> None:
    store = MemoryExpressions()
    model = _Model(["vivaldi"])
    _ask(model, store)
    more = (*OPERAS, ("griselda", "Griselda", "Griselda is an opera by Antonio Vivaldi."))
    again = _ask(model, store, engine_over(more))
    assert isinstance(again.outcome, Answered)
    assert cite("griselda") in [each.passage_id for each in again.outcome.citations]


def test_where_a_remembered_search_shows_nothing_the_model_goes_on() -> None:
    store = MemoryExpressions()
    model = _Model(["ottone", "orlando", "alcina"], needed=3)
    _ask(model, store)
    model.replies = 0
    left = engine_over([document for document in OPERAS if document[0] != "orlando"])
    again = _ask(model, store, left)
    # The second remembered search is empty; the third is the model's own again.
    assert _actions(again) == ["ottone", "orlando", "alcina", ""]
    assert model.replies == 2
    assert isinstance(again.outcome, Abstained)


@pytest.mark.parametrize(
    "bad",
    [
        Search("(unclosed", evidence_needed="x"),
        Search("ottone", evidence_needed="x", filters=("year>1",)),
        Search("ottone", evidence_needed=""),
        Search("ottone", evidence_needed="x", max_results=0),
    ],
)
def test_a_remembered_search_that_fails_is_the_models_to_mend(bad: Search) -> None:
    store = MemoryExpressions()
    model = _Model(["ottone AND villa"])
    state = start(QUESTION, model)
    store.put(expression_key(state, model.name, model.prompt_version), (bad, Search("alcina")))
    again = _ask(model, store)
    assert model.replies == 2
    assert isinstance(again.outcome, Answered)
    assert [each.passage_id for each in again.outcome.citations] == [cite("ottone")]


def test_a_search_refused_as_too_broad_is_the_models_to_mend() -> None:
    store = MemoryExpressions()
    model = _Model(["opera", "ottone"])
    limits = Limits(too_broad_passages=1)
    key = expression_key(start(QUESTION, model), model.name, model.prompt_version)
    store.put(key, (Search("opera", evidence_needed="x"), Search("alcina")))
    again = _ask(model, store, limits=limits)
    assert _actions(again) == ["opera", "ottone", ""]
    assert model.replies == 2


def test_another_caller_gets_no_remembered_expressions() -> None:
    store = MemoryExpressions()
    model = _Model(["ottone"])
    _ask(model, store, visibility=Visibility(groups=frozenset({"staff"})))
    model.replies = 0
    _ask(model, store, visibility=Visibility())
    assert model.replies == 2


def test_withdrawn_access_is_withdrawn_from_what_is_found() -> None:
    store = MemoryExpressions()
    model = _Model(["ottone"])
    staff = Visibility(groups=frozenset({"staff"}))
    _ask(model, store, visibility=staff)
    engine = ReferenceEngine()
    for passage in passages_of(OPERAS):
        engine.put([passage._replace(access=())], replaces=0)
    engine.commit()
    again = _ask(model, store, engine, visibility=staff)
    assert isinstance(again.outcome, Abstained)
    assert again.shown() == {}


def test_a_session_resumed_elsewhere_goes_on_the_same() -> None:
    store = MemoryExpressions()
    model = _Model(["ottone", "orlando"], needed=2)
    _ask(model, store)
    expected = _ask(model, store)
    state = start(QUESTION, RememberingPlanner(model, store))
    while state.outcome is None:
        # A new planner for every turn, as if each were taken by another process.
        planner = RememberingPlanner(_Model(["ottone", "orlando"], needed=2), store)
        state = step(load_state(dump_state(state)), Tools(engine_over()), planner)
    assert _actions(state) == _actions(expected)
    assert state.outcome == expected.outcome


def test_what_is_remembered_meanwhile_does_not_break_into_a_session() -> None:
    store = MemoryExpressions()
    model = _Model(["typoo", "ottone"])
    planner = RememberingPlanner(model, store)
    tools = Tools(engine_over())
    state = step(start(QUESTION, planner), tools, planner)
    store.put(
        expression_key(state, model.name, model.prompt_version),
        (Search("alcina", evidence_needed="x"), Search("orlando")),
    )
    assert _actions(run(state, tools, planner)) == ["typoo", "ottone", ""]


@pytest.mark.parametrize(("allowed", "replayed"), [(1, 0), (2, 1), (3, 2), (8, 3)])
def test_the_model_can_always_search_once_itself(allowed: int, replayed: int) -> None:
    store = MemoryExpressions()
    model = _Model(["ottone", "orlando", "alcina"], needed=3)
    _ask(model, store)
    model.replies = 0
    again = _ask(model, store, limits=Limits(searching_turns=allowed))
    assert sum(turn.usage is None for turn in again.turns) == replayed
    assert model.replies == len(again.turns) - replayed


def test_an_abstention_leaves_what_is_remembered() -> None:
    store = MemoryExpressions()
    model = _Model(["ottone"])
    key = expression_key(start(QUESTION, model), model.name, model.prompt_version)
    _ask(model, store)
    kept = store.get(key)
    _ask(model, store, engine_over(OPERAS[1:]))
    assert kept == store.get(key) == (Search("ottone", evidence_needed="the place"),)


def test_it_passes_for_the_planner_inside() -> None:
    planner = RememberingPlanner(_Model([]), MemoryExpressions())
    assert (planner.name, planner.prompt_version, planner.price_known) == ("model", "7-full", False)


def test_a_planner_without_those_attributes_is_free_and_has_no_prompt() -> None:
    class Plain:
        name = "plain"

        def propose(self, state: SessionState) -> Reply:
            return as_reply(Abstain(state.question))

    planner = RememberingPlanner(Plain(), MemoryExpressions())
    assert (planner.prompt_version, planner.price_known) == ("", True)
