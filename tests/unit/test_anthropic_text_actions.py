"""Actions written into the text of a reply."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.agent.actions import ActionError, Reply, parse_reply
from logicalrag.agent.planners.model_driven import text_actions
from logicalrag.agent.planners.model_driven.text_actions import actions_in

SEARCH = {"kind": "search", "expression": 'title:"{Ottone}" AND \\(villa\\)', "max_results": 3}


def test_nothing_is_taken_from_inside_an_action_that_cannot_be_read() -> None:
    inner = '{"kind": "abstain", "reason": "x"}'
    assert actions_in('{"kind": "answer", "text": "He said "' + inner + '", "cited": []}') == ()
    assert actions_in("In {braces} first: " + inner) != ()


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(SEARCH),
        f"I search.\n```json\n{json.dumps(SEARCH, indent=2)}\n```\nThen I see.",
        f"The set {{a, b}} is no action: {json.dumps(SEARCH)} {{",
        json.dumps({"action": "search", **{k: SEARCH[k] for k in SEARCH if k != "kind"}}),
        json.dumps({"name": "search", "input": {**SEARCH, "kind": "x"}}),
        json.dumps({"tool": "search", "arguments": SEARCH}),
        json.dumps({"thought": "…", "action": "search", "input": SEARCH}),
    ],
)
def test_each_way_to_write_an_action_is_taken(written: str) -> None:
    [action] = actions_in(written)
    assert {key: action[key] for key in SEARCH} == SEARCH


def test_line_breaks_inside_a_text_may_stand_as_they_are() -> None:
    assert actions_in('{"kind": "answer", "text": "a\nb\t", "cited": []}')[0]["text"] == "a\nb\t"


def test_two_objects_are_two_actions_and_none_is_executed() -> None:
    actions = actions_in(f"{json.dumps(SEARCH)}\n{json.dumps(SEARCH)}")
    with pytest.raises(ActionError) as raised:
        parse_reply(Reply(actions))
    assert raised.value.code == "multiple_actions"


@pytest.mark.parametrize(
    "written",
    [
        "",
        "I abstain.",
        '{"kind": "search", "expression": "cut',
        '{"expression": "no name"}',
        '{"name": "Vivaldi", "born": 1678}',
        '{"kind": 3}',
        '["search"]',
        '{"result": {"kind": "abstain", "reason": "inside another object"}}',
    ],
)
def test_what_is_no_action_is_none(written: str) -> None:
    assert actions_in(written) == ()


@pytest.mark.parametrize(
    "unit", ["{", '{"a":', '{"a":[', '{"', "{}", '{"a":1e999999}', "{" + "1" * 5000]
)
def test_hostile_text_is_read_without_an_error(unit: str) -> None:
    assert actions_in(unit * 20_000) == ()


@given(st.text(), st.text(), st.text())
def test_the_text_inside_is_untouched(before: str, inside: str, after: str) -> None:
    action: dict[str, Any] = {"kind": "answer", "text": inside, "cited": [inside]}
    prose = before.replace("{", ""), after.replace("{", "")
    written = f"{prose[0]}```\n{json.dumps(action, ensure_ascii=False)}\n```{prose[1]}"
    assert actions_in(written) == (action,)


def test_a_hostile_text_is_given_up_before_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each opening would read to the end of the text in vain."""
    monkeypatch.setattr(text_actions, "MAX_WASTED_CHARACTERS", 1000)
    written = '{"a":[' + "1," * 200
    assert actions_in(f"{written} {json.dumps(SEARCH)}") == (SEARCH,)
    assert actions_in(f"{written * 10} {json.dumps(SEARCH)}") == ()
