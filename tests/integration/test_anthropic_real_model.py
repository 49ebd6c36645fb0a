"""A question put to a real, small model behind a real server of the Messages API.

The model is far too weak to search well. A grammar makes it write valid actions about the right
subject, so that this shows the protocol (streaming, text actions, results, usage), not answers.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from logicalrag.agent.actions import Search
from logicalrag.agent.limits import Limits
from logicalrag.agent.outcome import Answered
from logicalrag.agent.planners.model_driven.planner import AnthropicPlanner
from logicalrag.agent.planners.model_driven.settings import ModelSettings
from logicalrag.agent.report import session_report
from logicalrag.agent.session import run, start
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from tests.unit.sessions import cite, engine_over

PYTHON = os.environ.get("MODEL_SERVER_PYTHON")
SERVER = Path(__file__).with_name("model_server_process.py")

pytestmark = pytest.mark.skipif(PYTHON is None, reason="needs a real model: make test-model")


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


WORDS = {"type": "string", "minLength": 3, "maxLength": 60}
SEARCH = _object(
    kind={"const": "search"},
    expression={"type": "string", "pattern": "^Ottone( [a-z]{2,12}){0,3}$"},
    evidence_needed=WORDS,
)
ANSWER = _object(
    kind={"const": "answer"},
    text=WORDS,
    cited={"type": "array", "items": {"const": cite("ottone")}, "minItems": 1, "maxItems": 1},
)


@contextmanager
def model_planner(schema: dict[str, Any]) -> Iterator[AnthropicPlanner]:
    """Start the server, whose every reply fits `schema`, and yield a planner that asks it."""
    command = [str(PYTHON), str(SERVER), json.dumps(schema)]
    with subprocess.Popen(  # noqa: S603 - the command is written here
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            yield AnthropicPlanner(
                ModelSettings(
                    model="smollm2",
                    base_url=address,
                    temperature=0.0,
                    max_output_tokens=300,
                    request_seconds=500,
                    prompt="no-operators",
                )
            )
        finally:
            server.stdin.close()


def test_a_real_model_searches_answers_and_is_accounted_for() -> None:
    tools = Tools(engine_over())
    with model_planner(SEARCH) as searching, model_planner(ANSWER) as answering:
        state = start(
            "Where was Ottone in villa first performed?",
            searching,
            limits=Limits(searching_turns=2, turns=3),
        )
        state = step(state, tools, searching)
        [first] = state.turns
        assert isinstance(first.action, Search)
        assert first.action.expression.startswith("Ottone")
        state = run(state, tools, answering)
    assert isinstance(state.outcome, Answered)
    report = session_report(state)
    assert [turn["action"] for turn in report["trace"]] == ["search", "answer"]
    assert [citation["document_id"] for citation in report["citations"]] == ["ottone"]
    for turn in report["trace"]:
        assert turn["usage"]["calls"] == 1
        assert turn["usage"]["input_tokens"] > 0
        assert turn["usage"]["output_tokens"] > 10
        assert turn["usage"]["seconds"] > 0
    assert report["usage"]["cost"] is None
