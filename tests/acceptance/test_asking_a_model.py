"""Asking with a language model, played by a server on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Command, Ran
from tests.integration.messages_server import Answer, MessagesServer, serving
from tests.message_events import message, tool_use

KEY = "sk-test-0123456789"
QUESTION = "Where was Ottone in villa first performed?"
PRICES = "[mine]\ninput = 1.0\ncached = 0.1\ncache_write = 2.0\noutput = 10.0\n"


@pytest.fixture
def indexed(logicalrag: Command, tmp_path: Path) -> Command:
    line = {"id": "ottone", "title": "Ottone in villa", "text": "It was first given in Vicenza."}
    (tmp_path / "d.jsonl").write_text(json.dumps(line))
    (tmp_path / "prices.toml").write_text(PRICES)
    assert logicalrag("ingest", "d.jsonl").code == 0
    return logicalrag


def says(name: str, arguments: dict[str, Any], **usage: int) -> Answer:
    return Answer(message(tool_use(name, arguments), stop_reason="tool_use", **usage))


def answers(indexed: Command) -> list[Answer]:
    """Return the replies of a model that searches once and answers."""
    found = indexed("search", "vicenza", "--json").json["results"][0]["id"]
    return [
        says("search", {"expression": "ottone AND villa", "evidence_needed": "the place"}),
        says("answer", {"text": "In Vicenza.", "cited": [found]}, cache_read_input_tokens=400),
    ]


def ask(indexed: Command, server: MessagesServer, *options: str) -> Ran:
    return indexed(
        "ask", QUESTION, "--planner", "anthropic", "--base-url", server.base_url, *options,
        env={"LOGICALRAG_API_KEY": KEY, "LOGICALRAG_PRICES": "prices.toml"},
    )  # fmt: skip


def test_an_answer_ends_with_what_it_cost(indexed: Command) -> None:
    with serving(*answers(indexed)) as server:
        ran = ask(indexed, server, "--model", "mine")
    assert ran.code == 0, ran.err
    assert "A: In Vicenza." in ran.out
    # 2 x 100 tokens read anew, 400 from the cache, 2 x 20 written.
    assert "usage: 2 model calls, 600 tokens read (400 from the cache), 40 written, " in ran.out
    assert ran.out.splitlines()[-1].endswith(" s, $0.0006"), "0.0002 + 0.00004 + 0.0004"
    sent = server.headers[0]
    assert KEY in sent.get("x-api-key", sent.get("authorization", ""))
    assert KEY not in ran.out + ran.err


def test_usage_and_cost_are_in_the_report(indexed: Command) -> None:
    with serving(*answers(indexed)) as server:
        report = ask(indexed, server, "--model", "mine", "--json").json
    assert report["planner"] == "anthropic"
    usage = report["usage"]
    assert (usage["calls"], usage["input_tokens"], usage["cached_tokens"]) == (2, 200, 400)
    assert usage["output_tokens"] == 40
    assert usage["cost"] == pytest.approx(0.00064)


def test_an_unknown_price_is_said_to_be_unknown(indexed: Command) -> None:
    with serving(*answers(indexed)) as server:
        ran = ask(indexed, server, "--model", "nobodys")
    assert ran.code == 0
    assert ran.out.rstrip().endswith("price unknown")


def test_a_limit_on_cost_needs_a_price(indexed: Command) -> None:
    with serving() as server:
        ran = ask(indexed, server, "--model", "nobodys", "--max-cost", "1")
        assert server.requests == []
    assert (ran.code, ran.out) == (2, "")
    assert "A limit on cost needs the price" in ran.err


@pytest.mark.parametrize(
    ("option", "value", "limit"),
    [("--max-tokens", "100", "tokens"), ("--max-cost", "0.0001", "cost")],
)
def test_a_limit_that_is_reached_has_its_exit_code(
    indexed: Command, option: str, value: str, limit: str
) -> None:
    with serving(*answers(indexed)) as server:
        ran = ask(indexed, server, "--model", "mine", option, value)
        assert len(server.requests) == 1
    assert ran.code == 4
    assert f"the limit on {limit} was reached" in ran.out
    assert "usage: 1 model call, 100 tokens read, 20 written, " in ran.out


def test_a_reply_that_outlasts_the_session_is_a_limit_reached(indexed: Command) -> None:
    with serving(*answers(indexed)) as server:
        ran = ask(indexed, server, "--max-seconds", "0.000001")
    assert ran.code == 4
    assert "the limit on seconds was reached" in ran.out


def test_what_led_to_an_answer_is_tried_first_the_next_time(indexed: Command) -> None:
    search, answer = answers(indexed)
    with serving(search, answer, answer, search, answer) as server:
        assert ask(indexed, server).code == 0
        second = ask(indexed, server, "--json").json
        assert (second["outcome"], second["usage"]["calls"]) == ("answered", 1)
        assert second["trace"][0]["expression"] == "ottone AND villa"
        third = ask(indexed, server, "--no-cache", "--json").json
        assert (third["outcome"], third["usage"]["calls"]) == ("answered", 2)


def test_the_prompt_is_chosen(indexed: Command) -> None:
    prompts = {}
    for variant in ("full", "syntax-only", "no-operators"):
        with serving(*answers(indexed)) as server:
            ask(indexed, server, "--prompt", variant, "--no-cache")
        prompts[variant] = json.dumps(server.requests[0]["system"])
    assert len(set(prompts.values())) == 3


def test_a_refused_key_is_a_failure_that_does_not_show_it(indexed: Command) -> None:
    body = {"type": "error", "error": {"type": "authentication_error", "message": f"bad {KEY}"}}
    with serving(Answer(status=401, body=body)) as server:
        ran = ask(indexed, server)
        assert len(server.requests) == 1, "a refused key is not tried again"
    assert ran.code == 1
    assert KEY not in ran.out + ran.err


def test_the_provider_is_not_asked_without_a_key(indexed: Command) -> None:
    ran = indexed("ask", QUESTION, "--planner", "anthropic")
    assert (ran.code, ran.out) == (2, "")
    assert "set LOGICALRAG_API_KEY or ANTHROPIC_API_KEY" in ran.err
