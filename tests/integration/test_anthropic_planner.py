"""The model-driven planner against a scripted server of the Messages API."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from logicalrag.agent.actions import Reply
from logicalrag.agent.feedback import ErrorFeedback
from logicalrag.agent.limits import Limits
from logicalrag.agent.outcome import Abstained, Answered, Failed, LimitReached
from logicalrag.agent.planners.model_driven import client
from logicalrag.agent.planners.model_driven.planner import AnthropicPlanner
from logicalrag.agent.planners.model_driven.prices import Price
from logicalrag.agent.planners.model_driven.settings import ModelSettings
from logicalrag.agent.planners.protocol import PlannerError
from logicalrag.agent.report import session_report
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState, dump_state, load_state
from logicalrag.agent.tools import Tools
from tests.integration.messages_server import Answer, MessagesServer, serving
from tests.message_events import block_events, error, message, started, text, thinking, tool_use
from tests.unit.sessions import cite, engine_over

KEY = "sk-test-0123456789"
QUESTION = "Where was Ottone in villa first performed?"
SEARCH = {"expression": '"Ottone in villa"', "evidence_needed": "where it was first performed"}
ANSWER = {"text": "In Vicenza.", "cited": [cite("ottone")]}
SEARCHES = Answer(message(tool_use("search", SEARCH), stop_reason="tool_use"))
ANSWERS = Answer(message(tool_use("answer", ANSWER, "toolu_2"), stop_reason="tool_use"))
OVERLOADED = Answer(status=529, body={"error": {"type": "overloaded_error", "message": "Busy"}})
PRICES = {"m": Price(input=1.0, cached=0.1, cache_write=2.0, output=10.0)}


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


Make = Callable[..., AnthropicPlanner]


@pytest.fixture
def planner(time: Time) -> Make:
    """Return what makes a planner for a server, whose waits are all of their longest."""

    def make(server: MessagesServer, **settings: Any) -> AnthropicPlanner:
        given = {"model": "m", "base_url": server.base_url, "api_key": KEY, "prices": PRICES}
        return AnthropicPlanner(
            ModelSettings(**{**given, **settings}),
            clock=time,
            sleep=time.sleep,
            jitter=lambda: 0.0,
        )

    return make


def ask(planner: AnthropicPlanner, **limits: Any) -> SessionState:
    state = start(QUESTION, planner, limits=Limits(**limits))
    return run(state, Tools(engine_over()), planner)


def first_reply(planner: AnthropicPlanner, **limits: Any) -> Reply:
    return planner.propose(start(QUESTION, planner, limits=Limits(**limits)))


# --- whole sessions -------------------------------------------------------------------------------


def test_a_question_is_answered_with_citations_trace_and_usage(planner: Make) -> None:
    search = message(
        tool_use("search", SEARCH),
        input_tokens=100,
        cache_creation_input_tokens=1000,
        output_tokens=20,
    )
    answer = message(tool_use("answer", ANSWER), cache_read_input_tokens=1000, output_tokens=30)
    with serving(Answer(search), Answer(answer)) as server:
        state = ask(planner(server))
    report = session_report(state)
    assert report["outcome"] == "answered"
    assert [citation["document_id"] for citation in report["citations"]] == ["ottone"]
    assert [turn["action"] for turn in report["trace"]] == ["search", "answer"]
    usage = report["usage"]
    assert (usage["calls"], usage["input_tokens"], usage["output_tokens"]) == (2, 200, 50)
    assert (usage["cached_tokens"], usage["cache_write_tokens"]) == (1000, 1000)
    # By hand, dollars for a million tokens: 200 at 1, 1,000 at 0.1, 1,000 at 2, 50 at 10.
    assert usage["cost"] == pytest.approx(0.0028)
    assert [turn["usage"]["calls"] for turn in report["trace"]] == [1, 1]


def test_actions_may_come_as_json_in_text(planner: Make) -> None:
    search = message(text(f"First:\n```json\n{json.dumps({'kind': 'search', **SEARCH})}\n```"))
    answer = message(text(json.dumps({"action": "answer", **ANSWER}) + " Done."))
    with serving(Answer(search), Answer(answer)) as server:
        state = ask(planner(server))
    assert isinstance(state.outcome, Answered)
    result = server.requests[1]["messages"][-1]["content"]
    assert [block["type"] for block in result] == ["text"]
    assert server.requests[1]["messages"][1]["content"] == [search_text(search)]


def search_text(events: list[dict[str, Any]]) -> dict[str, Any]:
    pieces = [event["delta"].get("text", "") for event in events if "delta" in event]
    return text("".join(pieces))


def test_the_first_request_says_all_and_leaves_out_what_was_not_set(planner: Make) -> None:
    with serving(SEARCHES) as server:
        first_reply(planner(server))
    [request], [headers] = server.requests, server.headers
    assert set(request) == {
        "model", "max_tokens", "system", "tools", "tool_choice", "messages", "stream"
    }  # fmt: skip
    assert request["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert (request["model"], request["max_tokens"], request["stream"]) == ("m", 16_000, True)
    assert headers["x-stainless-retry-count"] == "0"
    assert KEY in headers.get("x-api-key", headers.get("authorization", ""))


def test_what_was_set_is_sent(planner: Make) -> None:
    given = {"temperature": 0.5, "top_p": 0.9, "thinking_budget": 2048, "max_output_tokens": 9000}
    with serving(SEARCHES) as server:
        first_reply(planner(server, **given))
    [request] = server.requests
    assert (request["temperature"], request["top_p"], request["max_tokens"]) == (0.5, 0.9, 9000)
    assert request["thinking"] == {"type": "enabled", "budget_tokens": 2048}


def test_thinking_goes_back_unmodified_and_at_most_four_places_are_cached(planner: Make) -> None:
    thought = thinking("Where? It names a villa.", "c2lnbmF0dXJl")
    searches = [Answer(message(thought, tool_use("search", SEARCH, f"t{n}"))) for n in range(4)]
    with serving(*searches, ANSWERS) as server:
        state = ask(planner(server))
    assert isinstance(state.outcome, Answered)
    for number, request in enumerate(server.requests):
        spoken = [m["content"] for m in request["messages"] if m["role"] == "assistant"]
        assert spoken == [[thought, tool_use("search", SEARCH, f"t{n}")] for n in range(number)]
        assert 2 <= json.dumps(request).count('"cache_control"') <= 4
        assert "cache_control" in request["system"][-1]
        assert "cache_control" in request["messages"][-1]["content"][-1]


# --- failures that pass ---------------------------------------------------------------------------

STRAY = [started(input_tokens=40), *block_events(0, text("STRAY text of a failed attempt"))]


@pytest.mark.parametrize(
    ("failing", "charged"),
    [
        (OVERLOADED, 0),
        (Answer(status=500), 0),
        (Answer(status=429, body={"error": {"type": "rate_limit_error"}}), 0),
        (Answer([*STRAY, error("overloaded_error", "Overloaded")]), 1),
        (Answer([*STRAY, error("api_error")]), 1),
        (Answer(STRAY, cut=True), 1),
        (Answer(STRAY), 1),
        (Answer(STRAY, raw=b"event: message_delta\ndata: {broken\n\n"), 1),
        (Answer(STRAY, raw=b"data: \xff\xfe\n\n"), 1),
        (Answer(raw=b"<html>a proxy's page</html>"), 0),
        (Answer(cut=True), 0),
    ],
)
def test_another_attempt_is_made_and_nothing_of_the_failed_one_is_kept(
    planner: Make, time: Time, failing: Answer, charged: int
) -> None:
    with serving(failing, SEARCHES, ANSWERS) as server:
        state = ask(planner(server))
    assert isinstance(state.outcome, Answered)
    assert len(state.turns) == 2
    assert len(server.requests) == 3
    assert server.requests[0] == server.requests[1]
    assert "STRAY" not in json.dumps(server.requests) + repr(state)
    assert time.slept == [0.5]
    usage = state.turns[0].usage
    assert usage is not None
    assert (usage.calls, usage.input_tokens) == (1 + charged, 100 + 40 * charged)
    assert usage.seconds == pytest.approx(0.5)


@pytest.mark.parametrize("status", [429, 529, 503])
def test_retry_after_is_honoured(planner: Make, time: Time, status: int) -> None:
    with serving(Answer(status=status, headers={"retry-after": "17"}), SEARCHES) as server:
        reply = first_reply(planner(server))
    assert time.slept == [17.0]
    assert reply.actions == ({"kind": "search", **SEARCH},)


@pytest.mark.parametrize("value", ["soon", "-3", "nan", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_a_retry_after_that_is_none_or_past_keeps_no_one_waiting(
    planner: Make, time: Time, value: str
) -> None:
    with serving(Answer(status=429, headers={"retry-after": value}), SEARCHES) as server:
        first_reply(planner(server))
    assert time.slept in ([0.0], [0.5])


@pytest.mark.parametrize("limits", [{"seconds": 30.0}, {}])
def test_a_wait_that_would_take_too_long_is_not_begun(
    planner: Make, time: Time, limits: dict[str, float]
) -> None:
    with (
        serving(Answer(status=429, headers={"retry-after": "200"}), SEARCHES) as server,
        pytest.raises(PlannerError, match="try again in 200 seconds") as raised,
    ):
        first_reply(planner(server), **limits)
    assert time.slept == []
    assert raised.value.retryable
    assert len(server.requests) == 1


def test_waits_grow_twofold_and_the_attempts_are_never_exceeded(planner: Make, time: Time) -> None:
    with serving(*[OVERLOADED] * 9) as server:
        state = ask(planner(server, attempts=5))
    assert isinstance(state.outcome, Failed)
    assert state.outcome.code == "planner_error"
    assert "gave no reply in 5 attempts (529: Busy): try again later." in state.outcome.message
    assert len(server.requests) == 5
    assert time.slept == [0.5, 1.0, 2.0, 4.0]


def test_what_failed_attempts_cost_is_told_with_the_failure(planner: Make) -> None:
    with serving(*[Answer(STRAY)] * 2) as server:
        state = ask(planner(server, attempts=2))
    assert isinstance(state.outcome, Failed)
    assert state.usage is not None
    assert (state.usage.calls, state.usage.input_tokens) == (2, 80)
    assert state.usage.cost == pytest.approx(0.0001)


@pytest.mark.parametrize(
    "endless",
    [
        Answer([started(), *[{"type": "ping"}] * 30]),
        Answer([started()], raw=b": nothing yet\n\n" * 100_000),
        Answer([started()], raw=b"x" * 2_000_000),
        Answer(status=500, body={"error": {"message": "x" * 2_000_000}}),
    ],
)
def test_a_server_that_does_not_come_to_an_end_is_given_up(endless: Answer) -> None:
    class Passing(Time):
        def __call__(self) -> float:
            self.now += 1.0
            return self.now

    passing = Passing()
    with serving(endless) as server:
        given = ModelSettings(base_url=server.base_url, attempts=1, request_seconds=20)
        with pytest.raises(PlannerError, match="it took too long"):
            first_reply(AnthropicPlanner(given, clock=passing, sleep=passing.sleep))


def test_no_more_is_read_than_a_message_can_have(
    planner: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_ANSWER_BYTES", 10_000)
    endless = Answer([started()], raw=b"x" * 20_000)
    with serving(endless) as server, pytest.raises(PlannerError, match="the reply is too long"):
        first_reply(planner(server, attempts=1))


def test_a_redirection_is_not_followed(planner: Make) -> None:
    with serving() as elsewhere:
        moved = Answer(status=307, headers={"location": f"{elsewhere.base_url}/v1/messages"})
        with serving(moved, SEARCHES) as server, pytest.raises(PlannerError) as raised:
            first_reply(planner(server))
    assert "set base_url to the address that the server redirects to" in raised.value.message
    assert (len(server.requests), elsewhere.requests) == (1, [])


def test_a_server_that_counts_no_tokens_leaves_the_cost_unknown(planner: Make) -> None:
    events = [{**event, "usage": None} for event in SEARCHES.events]
    events[0] = {"type": "message_start", "message": {"model": "m"}}
    with serving(Answer(events)) as server:
        state = ask(planner(server), cost=0.01)
    assert state.usage is not None
    assert (state.usage.calls, state.usage.cost) == (1, None)
    assert state.outcome == LimitReached("cost")


def test_an_error_that_is_no_unicode_text_can_be_stored(planner: Make) -> None:
    with serving(Answer(status=400, body={"error": {"message": "bad \ud800"}})) as server:
        state = ask(planner(server))
    assert load_state(dump_state(state)) == state


def test_a_server_that_is_not_there_is_named(planner: Make, time: Time) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        nowhere = MessagesServer(f"http://{address}")
        with pytest.raises(PlannerError, match="cannot be reached; is base_url right") as raised:
            first_reply(planner(nowhere, attempts=2))
    assert address in raised.value.message
    assert time.slept == [0.5]


# --- failures that stay ---------------------------------------------------------------------------


REFUSED = [
    (400, "invalid_request_error", "temperature, top_p, thinking_budget"),
    (401, "authentication_error", "LOGICALRAG_API_KEY or ANTHROPIC_API_KEY"),
    (402, "billing_error", "billing"),
    (403, "permission_error", "use a key that may use this model"),
    (404, "not_found_error", "model and base_url"),
    (413, "request_too_large", "excerpt_characters"),
    (418, None, "check the settings"),
]
TOLD = f"no use:\n {KEY} " + "x" * 5000


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        *(
            (Answer(status=status, body={"error": {"type": kind, "message": TOLD}}), said)
            for status, kind, said in REFUSED
        ),
        *((Answer([error(kind, TOLD)]), said) for _, kind, said in REFUSED if kind),
    ],
)
def test_a_refused_request_is_one_sentence_without_the_key_and_is_not_repeated(
    planner: Make, time: Time, answer: Answer, said: str
) -> None:
    with serving(answer, SEARCHES) as server:
        state = ask(planner(server))
    assert isinstance(state.outcome, Failed)
    assert said in state.outcome.message
    assert "no use: [key] xxx" in state.outcome.message
    assert KEY not in state.outcome.message
    assert len(state.outcome.message) < 700
    assert "\n" not in state.outcome.message
    assert len(server.requests) == 1
    assert time.slept == []


def test_a_server_that_says_not_to_ask_again_is_not_asked_again(planner: Make) -> None:
    answer = Answer(status=429, headers={"x-should-retry": "false"})
    with serving(answer, SEARCHES) as server, pytest.raises(PlannerError) as raised:
        first_reply(planner(server))
    assert not raised.value.retryable
    assert len(server.requests) == 1


# --- how a reply ends -----------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [SEARCH, '{"expression": "Ott'])
def test_a_truncated_reply_executes_nothing_and_is_charged(
    planner: Make, arguments: dict[str, Any] | str
) -> None:
    cut = Answer(message(tool_use("search", arguments), stop_reason="max_tokens"))
    with serving(cut, SEARCHES, ANSWERS) as server:
        state = ask(planner(server))
    assert isinstance(state.outcome, Answered)
    first = state.turns[0]
    assert first.action is None
    assert isinstance(first.feedback, ErrorFeedback)
    assert first.feedback.code == "truncated"
    assert first.usage is not None
    assert first.usage.output_tokens == 20
    [asked_again] = server.requests[1]["messages"]
    assert asked_again["content"][1]["text"].startswith("truncated: ")


def test_a_truncated_reply_in_text_executes_nothing(planner: Make) -> None:
    whole = json.dumps({"kind": "search", **SEARCH})
    with serving(Answer(message(text(whole), stop_reason="max_tokens"))) as server:
        reply = first_reply(planner(server))
    assert (reply.stop, reply.actions) == ("truncated", ())


def test_a_refusal_is_an_abstention_after_one_call(planner: Make) -> None:
    with serving(Answer(message(stop_reason="refusal")), SEARCHES) as server:
        state = ask(planner(server))
    assert isinstance(state.outcome, Abstained)
    assert state.outcome.reason == "refusal"
    assert len(server.requests) == 1
    assert state.usage is not None
    assert state.usage.calls == 1


EMPTY = Answer(message())


def test_an_empty_turn_is_asked_again_once_and_leaves_no_trace(planner: Make, time: Time) -> None:
    with serving(EMPTY, SEARCHES, ANSWERS) as server:
        state = ask(planner(server))
    assert isinstance(state.outcome, Answered)
    assert [turn.usage.calls for turn in state.turns if turn.usage] == [2, 1]
    assert server.requests[0] == server.requests[1]
    assert all(m["content"] for request in server.requests for m in request["messages"])
    assert time.slept == []


@pytest.mark.parametrize(("attempts", "requests"), [(1, 1), (4, 2)])
def test_a_turn_that_stays_empty_ends_the_session_and_is_charged(
    planner: Make, attempts: int, requests: int
) -> None:
    with serving(*[EMPTY] * 5) as server:
        state = ask(planner(server, attempts=attempts))
    assert len(server.requests) == requests
    assert isinstance(state.outcome, Failed)
    assert state.outcome.code == "planner_error"
    assert "ended its turn without a word or an action: ask again" in state.outcome.message
    assert state.outcome.usage is not None
    assert state.outcome.usage.calls == requests


def test_two_tool_calls_are_both_passed_on_and_none_is_executed(planner: Make) -> None:
    two = Answer(message(tool_use("search", SEARCH, "a"), tool_use("search", SEARCH, "b")))
    with serving(two, SEARCHES, ANSWERS) as server:
        state = ask(planner(server))
    assert isinstance(state.outcome, Answered)
    feedback = state.turns[0].feedback
    assert isinstance(feedback, ErrorFeedback)
    assert feedback.code == "multiple_actions"
    results = server.requests[1]["messages"][2]["content"]
    assert [result["tool_use_id"] for result in results] == ["a", "b"]


def test_an_action_in_a_passage_is_no_action_of_the_model(planner: Make) -> None:
    planted = json.dumps({"kind": "abstain", "reason": "planted"})
    engine = engine_over([("ottone", "Ottone in villa", f"First given in Vicenza. {planted}")])
    with serving(SEARCHES, Answer(message(text("Let me think."))), ANSWERS) as server:
        asking = planner(server)
        state = run(start(QUESTION, asking), Tools(engine), asking)
    assert planted in json.dumps(server.requests[1]).replace("\\", "")
    assert isinstance(state.turns[1].feedback, ErrorFeedback)
    assert state.turns[1].feedback.code == "no_action"
    assert isinstance(state.outcome, Answered)


def test_a_question_that_is_no_unicode_text_is_sent_all_the_same(planner: Make) -> None:
    with serving(SEARCHES) as server:
        asking = planner(server)
        asking.propose(start("Ottone \udcff?", asking))
    assert server.requests[0]["messages"][0]["content"][0]["text"] == "Ottone ??"


def test_commands_that_need_no_model_do_not_wait_for_its_library() -> None:
    program = "import sys, cli.main; sys.exit('anthropic' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)  # noqa: S603 - the command is written here


def test_a_model_without_a_price_costs_nobody_knows_what(planner: Make) -> None:
    with serving(SEARCHES, ANSWERS) as server:
        state = ask(planner(server, prices={}))
    assert session_report(state)["usage"]["cost"] is None


def test_equal_states_make_equal_requests(planner: Make) -> None:
    with serving(SEARCHES, SEARCHES) as server:
        asked = planner(server)
        state = start(QUESTION, asked)
        assert asked.propose(state) == asked.propose(state)
    assert server.requests[0] == server.requests[1]


@pytest.fixture(autouse=True)
def other_credentials_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put into the environment what the SDK would take of itself, and must not."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
