"""What a session may use up: tokens, seconds and money; what it used; and what that costs."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Reply, Search, as_reply
from logicalrag.agent.limits import Limits, LimitsError
from logicalrag.agent.outcome import Abstained, Answered, Failed, LimitReached
from logicalrag.agent.planners.offline.planner import OfflinePlanner
from logicalrag.agent.planners.protocol import PlannerError
from logicalrag.agent.planners.scripted import ScriptedPlanner
from logicalrag.agent.report import session_report
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState, dump_state, load_state
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from logicalrag.agent.usage import Usage
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.reference import ReferenceEngine
from tests.unit.sessions import cite, engine_over, session

# 100 tokens, of each sort some, and 2 dollars.
ONE = Usage("m", 1, 40, 30, 20, 10, 0.5, 2.0)
FIRST = Search('"Ottone in villa"', evidence_needed="where it was first performed")
ANSWER = Answer("It was first performed in Vicenza.", (cite("ottone"),))


def costing(action: Search | Count | Read | Answer | Abstain, usage: Usage = ONE) -> Reply:
    return replace(as_reply(action), usage=usage)


def ticking() -> Tools:
    """Tools whose clock says that every turn takes one second."""
    return Tools(engine_over(), clock=itertools.count().__next__)


SEARCHES = [costing(FIRST), *[costing(Search("opera"))] * 7]


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(tokens=300), "tokens"),
        (Limits(tokens=201), "tokens"),
        (Limits(seconds=3), "seconds"),
        (Limits(seconds=2.5), "seconds"),
        (Limits(cost=6), "cost"),
        (Limits(cost=4.01), "cost"),
    ],
)
def test_the_turn_after_a_limit_is_reached_is_not_taken(limits: Limits, name: Any) -> None:
    seen: list[int] = []
    planner = ScriptedPlanner(SEARCHES)
    state = run(
        start("?", planner, limits=limits),
        ticking(),
        planner,
        lambda after: seen.append(len(after.turns)),
    )
    assert state.outcome == LimitReached(name)
    assert len(state.turns) == 3
    assert seen == [1, 2, 3], "each turn is seen once"
    assert load_state(dump_state(state)) == state


@pytest.mark.parametrize("limits", [Limits(tokens=101), Limits(seconds=1.5), Limits(cost=2.5)])
def test_a_reply_that_passes_a_limit_and_answers_is_the_answer(limits: Limits) -> None:
    replies = [costing(FIRST), costing(ANSWER)]
    assert isinstance(session(replies, limits=limits, tools=ticking()).outcome, Answered)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    replies = [costing(FIRST), costing(Abstain("enough"))]
    limits = Limits(tokens=200, seconds=2, cost=4)
    assert isinstance(session(replies, limits=limits, tools=ticking()).outcome, Abstained)


@pytest.mark.parametrize(
    ("limits", "name"),
    [(Limits(tokens=200), "tokens"), (Limits(seconds=2), "seconds"), (Limits(cost=4), "cost")],
)
def test_a_resumed_session_goes_on_counting(limits: Limits, name: Any) -> None:
    state = start("?", ScriptedPlanner(SEARCHES), limits=limits)
    for _ in range(2):
        state = load_state(dump_state(step(state, ticking(), ScriptedPlanner(SEARCHES))))
    assert state.outcome is None
    ended = step(state, ticking(), ScriptedPlanner(SEARCHES))
    assert ended.outcome == LimitReached(name)
    assert ended.turns == state.turns


def test_the_seconds_of_a_turn_are_those_of_the_planner_and_of_the_engine() -> None:
    now = [0.0]

    class Slow(ReferenceEngine):
        def count(self, *arguments: Any, **named: Any) -> Any:
            now[0] += 3
            return super().count(*arguments, **named)

    class Thoughtful(ScriptedPlanner):
        def propose(self, state: SessionState) -> Reply:
            now[0] += 2
            return super().propose(state)

    planner = Thoughtful([Count(("opera",), evidence_needed="x"), Abstain("")])
    tools = Tools(Slow(), clock=lambda: now[0])
    state = run(start("?", planner), tools, planner)
    assert [turn.seconds for turn in state.turns] == [5, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": 0}, {"seconds": 0}, {"cost": 0}, {"cost": -1}, {"seconds": float("inf")},
        {"cost": float("nan")},
    ],
)  # fmt: skip
def test_a_limit_that_bounds_nothing_is_no_limit(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Limits(**wrong)


class _Unpriced(ScriptedPlanner):
    price_known = False


def test_a_limit_on_cost_with_an_unknown_price_is_refused_at_the_start() -> None:
    with pytest.raises(LimitsError) as refused:
        start("?", _Unpriced([]), limits=Limits(cost=1))
    sentence = (
        "A limit on cost needs the price of the model of the planner scripted, which is not "
        "known; give its price, or leave the limit out."
    )
    assert refused.value.message == str(refused.value) == sentence
    assert pickle.loads(pickle.dumps(refused.value)).message == sentence  # noqa: S301
    assert start("?", _Unpriced([]), limits=Limits(tokens=1)).outcome is None


def test_a_planner_without_a_model_costs_nothing() -> None:
    planner = OfflinePlanner()
    limits = Limits(cost=0.01, tokens=1)
    state = run(start("Who wrote Ottone in villa?", planner, limits=limits), ticking(), planner)
    assert isinstance(state.outcome, Answered | Abstained)
    assert state.usage is None


def test_a_price_that_turns_out_to_be_unknown_ends_a_session_with_a_limit_on_cost() -> None:
    replies = [costing(FIRST, replace(ONE, cost=None)), costing(ANSWER)]
    ended = session(replies, limits=Limits(cost=100))
    assert ended.outcome == LimitReached("cost")
    assert isinstance(session(replies).outcome, Answered)


def test_usage_is_added_up_over_the_turns_and_shown_with_each() -> None:
    mute = as_reply(Search("opera"))
    state = session([costing(FIRST), mute, costing(ANSWER, replace(ONE, model="m2"))])
    assert state.usage == Usage("m2", 2, 80, 60, 40, 20, 1.0, 4.0)
    report = session_report(state)
    model = ("calls", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens",
             "seconds", "cost")  # fmt: skip
    assert [report["usage"][name] for name in model] == [2, 80, 60, 40, 20, 1.0, 4.0]
    first, second, third = report["trace"]
    assert first["usage"] == {
        "model": "m", "calls": 1, "input_tokens": 40, "cached_tokens": 30,
        "cache_write_tokens": 20, "output_tokens": 10, "seconds": 0.5, "cost": 2.0,
    }  # fmt: skip
    assert "usage" not in second
    assert third["usage"]["model"] == "m2"


def test_without_a_model_nothing_is_said_of_its_cost_and_without_a_price_no_cost() -> None:
    mute = session_report(session([FIRST, ANSWER]))["usage"]
    assert (mute["calls"], mute["cached_tokens"], mute["seconds"], mute["cost"]) == (None,) * 4
    unpriced = [costing(FIRST), costing(ANSWER, replace(ONE, cost=None))]
    usage = session_report(session(unpriced))["usage"]
    assert (usage["calls"], usage["input_tokens"], usage["cost"]) == (2, 80, None)


def test_what_a_failed_planner_call_cost_is_kept() -> None:
    class Overloaded(ScriptedPlanner):
        def propose(self, state: SessionState) -> Reply:
            if state.turns:
                raise PlannerError("The model is overloaded.", retryable=True, usage=ONE)
            return super().propose(state)

    planner = Overloaded([costing(FIRST)])
    state = run(start("?", planner), ticking(), planner)
    assert state.outcome == Failed("planner_error", "The model is overloaded.", ONE)
    assert len(state.turns) == 1
    assert state.usage == ONE + ONE
    assert session_report(load_state(dump_state(state)))["usage"]["cost"] == 4.0


def test_what_a_reply_cost_is_kept_where_the_engine_failed_over_it() -> None:
    class Failing(ReferenceEngine):
        def search(self, *_: Any, **__: Any) -> Any:
            raise EngineError("The index cannot be read.")

    state = session([costing(FIRST)], engine=Failing())
    assert state.outcome == Failed("engine_error", "The index cannot be read.", ONE)
    assert session_report(state)["usage"]["input_tokens"] == 40


def test_an_index_that_changes_its_fields_under_a_session_charges_no_turn_twice() -> None:
    class Redeclared(ReferenceEngine):
        asked = 0

        @property
        def metadata_schema(self) -> MetadataSchema:
            return MetadataSchema({} if self.asked else {"year": "number"})

        def search(self, *arguments: Any, **named: Any) -> Any:
            self.asked += 1
            return super().search(*arguments, **{**named, "filters": ()})

    planner = ScriptedPlanner([costing(FIRST), costing(ANSWER)])
    state = run(start("?", planner, filters=("year>1",)), Tools(Redeclared()), planner)
    assert isinstance(state.outcome, Failed)
    assert state.usage == ONE


def test_a_failed_call_after_a_paid_turn_is_not_charged_twice() -> None:
    state = session([costing(FIRST)])
    assert isinstance(state.outcome, Failed)
    assert state.usage == ONE


def test_a_planner_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(PlannerError("No reply.", True, ONE)))  # noqa: S301
    assert (error.message, error.retryable, error.usage) == ("No reply.", True, ONE)


USAGES = st.builds(
    Usage,
    st.sampled_from(["", "a", "b"]),
    *[st.integers(0, 10**9)] * 5,
    st.integers(0, 1000).map(float),
    st.none() | st.integers(0, 1000).map(float),
)


@given(st.lists(USAGES, max_size=5))
def test_usage_adds_up_whatever_the_order(usages: Sequence[Usage]) -> None:
    def total(parts: Sequence[Usage]) -> Usage:
        return replace(sum(parts, Usage()), model="")

    assert total(usages) == total(usages[::-1])
    assert total(usages).tokens == sum(usage.tokens for usage in usages)
