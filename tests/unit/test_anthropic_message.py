"""A message from the events of its stream: whole, cut, refused, malformed."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.agent.feedback import Done
from logicalrag.agent.outcome import Abstained
from logicalrag.agent.planners.model_driven.message import (
    MAX_LEVELS,
    MAX_MESSAGE_CHARACTERS,
    Message,
    MessageAssembly,
    StreamBrokenError,
    StreamedError,
)
from logicalrag.agent.state import SessionState, dump_state, load_state
from logicalrag.agent.usage import Usage
from tests.message_events import block_events, error, message, started, text, thinking, tool_use

SEARCH = {"expression": '"Ottone in villa" AND première', "evidence_needed": "where"}


def assembled(events: list[dict[str, Any]]) -> Message:
    assembly = MessageAssembly()
    for event in events:
        assembly.take(json.dumps(event))
    assert assembly.whole
    return assembly.message()


def test_a_tool_call_is_an_action_and_is_kept_to_be_sent_back() -> None:
    got = assembled(
        message(text("Let me see."), tool_use("search", SEARCH), stop_reason="tool_use")
    )
    assert got.tool_calls == ({"kind": "search", **SEARCH},)
    assert got.content == (text("Let me see."), tool_use("search", SEARCH))
    assert (got.stop, got.text) == ("complete", "Let me see.")


def test_two_tool_calls_are_two_actions_in_order() -> None:
    calls = (tool_use("read", {"passage_ids": ["a"]}, "t1"), tool_use("abstain", {}, "t2"))
    got = assembled(message(*calls))
    assert [call["kind"] for call in got.tool_calls] == ["read", "abstain"]
    assert [block["id"] for block in got.content] == ["t1", "t2"]


def test_signed_thinking_is_kept_as_it_came_and_other_thinking_is_not() -> None:
    signed, hidden = thinking("Venice or Vicenza?", "c2ln"), thinking("", "b21pdHRlZA==")
    redacted = {"type": "redacted_thinking", "data": "ZW5j"}
    events = message(signed, hidden, thinking("unsigned", ""), tool_use("search", SEARCH))
    redaction = {"type": "content_block_start", "index": 7, "content_block": redacted}
    got = assembled([*events[:-2], redaction, *events[-2:]])
    assert got.content == (signed, hidden, tool_use("search", SEARCH), redacted)


def test_arguments_that_come_whole_with_the_start_of_the_block_are_taken() -> None:
    block = {"type": "tool_use", "id": "t", "name": "search", "input": SEARCH}
    begun = {"type": "content_block_start", "index": 0, "content_block": block}
    assert assembled([started(), begun, *message()[-2:]]).tool_calls[0]["expression"]


@pytest.mark.parametrize("arguments", ['{"expression": "a', "[1]", "nonsense", "{" * 2000])
def test_malformed_arguments_of_a_whole_message_are_an_action_that_does_not_fit(
    arguments: str,
) -> None:
    got = assembled(message(tool_use("search", arguments)))
    assert got.tool_calls == ({"malformed_arguments": arguments[:200], "kind": "search"},)
    assert got.content[0]["input"] == {}


def test_a_call_without_an_id_gets_one_and_its_name_stands_over_an_argument() -> None:
    got = assembled(message(tool_use("search", {"kind": "answer"}, "")))
    assert got.content[0]["id"] == "call_0"
    assert got.tool_calls[0]["kind"] == "search"


def test_names_of_another_kind_are_texts_and_an_odd_stop_is_a_whole_message() -> None:
    events = message(tool_use("search", SEARCH), stop_reason="end_turn")
    events[2]["content_block"] |= {"id": {"a": 1}, "name": ["search"]}
    events[-2]["delta"]["stop_reason"] = ["max_tokens"]
    got = assembled(events)
    assert got.stop == "complete"
    assert got.tool_calls[0]["kind"] == "['search']"
    assert isinstance(got.content[0]["id"], str)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
@pytest.mark.parametrize("arguments", [SEARCH, '{"expression": "a'])
def test_a_truncated_message_calls_for_nothing_whether_or_not_it_parses(
    reason: str, arguments: dict[str, Any] | str
) -> None:
    blocks = (thinking("so", "c2ln"), text("I search"), tool_use("search", arguments))
    got = assembled(message(*blocks, stop_reason=reason))
    assert (got.stop, got.tool_calls, got.content) == ("truncated", (), (text("I search"),))


def test_a_refusal_has_no_content_and_may_say_why() -> None:
    events = message(stop_reason="refusal")
    events[-2]["delta"]["stop_details"] = {"type": "refusal", "explanation": "Not this."}
    got = assembled(events)
    assert (got.stop, got.content, got.detail, got.is_empty) == ("refused", (), "Not this.", False)
    assert assembled(message(text("No."), stop_reason="refusal")).detail == "No."


@pytest.mark.parametrize("blocks", [(), (text(""),), (text(" \n"),), (thinking("so", "c2ln"),)])
def test_an_empty_turn_is_empty_and_leaves_nothing_to_send_back(
    blocks: tuple[dict[str, Any], ...],
) -> None:
    got = assembled(message(*blocks))
    assert got.is_empty
    assert got.content == ()


def test_usage_is_known_from_the_first_event_and_later_counts_replace_it() -> None:
    assembly = MessageAssembly()
    assert assembly.usage == Usage()
    first = started(input_tokens=7, cache_read_input_tokens=50, cache_creation_input_tokens=30)
    assembly.take(json.dumps(first))
    charged = Usage("claude-sonnet-5-5", 1, 7, 50, 30, 1)
    assert assembly.usage == charged
    late = {"output_tokens": 42, "input_tokens": None, "cache_read_input_tokens": 51}
    assembly.take(json.dumps({"type": "message_delta", "delta": {}, "usage": late}))
    assert assembly.usage == Usage("claude-sonnet-5-5", 1, 7, 51, 30, 42)


def test_an_error_within_the_stream_is_raised_with_its_kind() -> None:
    with pytest.raises(StreamedError) as raised:
        MessageAssembly().take(json.dumps(error("overloaded_error", "Overloaded")))
    assert (raised.value.kind, raised.value.message) == ("overloaded_error", "Overloaded")


def test_what_is_not_known_is_passed_over() -> None:
    assembly = MessageAssembly()
    assembly.take('{"type": "something_new", "index": "x"}')
    delta = {"type": "new_delta", "more": 1}
    assembly.take(json.dumps({"type": "content_block_delta", "index": 0, "delta": delta}))
    for event in message()[-2:]:
        assembly.take(json.dumps(event))
    assert assembly.message().is_empty


def test_a_message_that_does_not_say_why_it_ended_is_not_whole() -> None:
    events = message(tool_use("search", SEARCH))
    events[-2]["delta"]["stop_reason"] = None
    with pytest.raises(StreamBrokenError, match="why the message ended"):
        assembled(events)


def test_what_could_not_be_stored_and_read_again_is_not_taken() -> None:
    nested = "[" * (MAX_LEVELS - 5) + "]" * (MAX_LEVELS - 5)
    got = assembled(message(tool_use("search", '{"filters": ' + nested + "}")))
    assert got.tool_calls[0].keys() == {"filters", "kind"}
    record = {"content": list(got.content)}
    state = SessionState("s", "q", "p").after(None, Done(), record=record)
    assert load_state(dump_state(state)) == state

    deeper = "[" * MAX_LEVELS + "]" * MAX_LEVELS
    got = assembled(message(tool_use("search", '{"filters": ' + deeper + "}")))
    assert got.tool_calls[0].keys() == {"malformed_arguments", "kind"}
    assert got.content[0]["input"] == {}
    with pytest.raises(StreamBrokenError):
        assembled(message({"type": "text", "text": "x", "more": json.loads(deeper)}))
    with pytest.raises(StreamBrokenError):
        MessageAssembly().take('{"type": "ping", "number": 1e400}')


def test_no_lone_surrogate_gets_into_the_session() -> None:
    assembly = MessageAssembly()
    events = message(stop_reason="refusal")
    events[0]["message"]["model"] = "m\ud800"
    events[-2]["delta"]["stop_details"] = {"explanation": "No\udfff."}
    for event in events:
        assembly.take(json.dumps(event))
    ended = Abstained("refusal", assembly.message().detail, None)
    state = SessionState("s", "q", "p").after(None, Done(), ended, usage=assembly.usage)
    assert load_state(dump_state(state)) == state
    assert (ended.detail, assembly.usage.model) == ("No?.", "m?")


def test_a_message_without_counts_is_a_call_and_a_count_that_cannot_be_is_none() -> None:
    assembly = MessageAssembly()
    for event in message(text("x")):
        assembly.take(json.dumps({**event, "usage": None, "message": {"usage": {}}}))
    assert (assembly.usage.calls, assembly.usage.tokens) == (1, 0)
    assembly.take(json.dumps(started(input_tokens=10**400)))
    assert assembly.usage.input_tokens == 0


def test_a_reply_that_never_ends_is_not_kept_in_memory() -> None:
    assembly = MessageAssembly()
    piece = json.dumps({"type": "ping", "padding": "x" * (MAX_MESSAGE_CHARACTERS // 2)})
    assembly.take(piece)
    with pytest.raises(StreamBrokenError, match="too long"):
        assembly.take(piece)


def test_halves_of_a_character_in_two_events_are_put_together_and_a_lone_one_is_replaced() -> None:
    delta = {"type": "content_block_delta", "index": 0}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": text("")},
        {**delta, "delta": {"type": "text_delta", "text": "\ud83d"}},
        {**delta, "delta": {"type": "text_delta", "text": "\ude00 and \ud83d"}},
    ]
    assert assembled([started(), *events, *message()[-2:]]).text == "😀 and \ufffd"


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=3), st.integers(1, 7))
def test_where_a_stream_is_cut_into_pieces_does_not_matter(
    words: str, arguments: dict[str, str], size: int
) -> None:
    blocks = [text(words), tool_use("search", arguments)]
    events = [event for index, block in enumerate(blocks) for event in block_events(index, block)]
    pieces: list[dict[str, Any]] = []
    for event in events:
        if event["type"] != "content_block_delta":
            pieces.append(event)
            continue
        key = "text" if event["delta"]["type"] == "text_delta" else "partial_json"
        whole = event["delta"][key]
        for start in range(0, len(whole), size):
            delta = {**event["delta"], key: whole[start : start + size]}
            pieces.append({**event, "delta": delta})
    end = message()[-2:]
    assert assembled([*pieces, *end]) == assembled([*events, *end])
    assert assembled([*events, *end]).tool_calls == ({**arguments, "kind": "search"},)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "message_delta", "error"]
)
KEYS = st.sampled_from(
    "index delta content_block type text message usage error input stop_reason name id".split()
)


@given(st.lists(st.dictionaries(KEYS, JSON | KINDS, max_size=5), max_size=4), st.data())
def test_no_event_does_more_than_break_the_stream(
    events: list[dict[str, Any]], data: st.DataObject
) -> None:
    assembly = MessageAssembly()
    for event in events:
        with contextlib.suppress(StreamBrokenError, StreamedError):
            assembly.take(json.dumps({**event, "type": data.draw(KINDS)}))
    with contextlib.suppress(StreamBrokenError):
        json.dumps(assembly.message().content)


@pytest.mark.parametrize("data", ["", "{", "null", "[]", '{"type": NaN}', "[" * 100_000, "{}"])
def test_data_that_is_no_event_breaks_the_stream(data: str) -> None:
    with pytest.raises(StreamBrokenError, match="malformed"):
        MessageAssembly().take(data)
