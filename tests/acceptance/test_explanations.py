"""why-not, doctor and config, as a user meets them."""

from __future__ import annotations

import json
import re
import socket
import threading
from pathlib import Path

import pytest

from bootstrap.settings import Settings
from tests.acceptance.conftest import Command
from tests.integration.messages_server import serving

KEY = "sk-test-0123456789"


@pytest.fixture
def indexed(logicalrag: Command, tmp_path: Path) -> Command:
    lines = [
        {"id": "ottone", "title": "Ottone in villa", "metadata": {"year": 1713},
         "text": "Ottone in villa is an opera by Vivaldi. It was first performed in Vicenza."},
        {"id": "alcina", "title": "Alcina", "text": "Alcina is an opera by Handel."},
        {"id": "debts", "title": "Debts", "text": "Vivaldi's debts.", "access": ["hr"]},
        {"id": "empty", "title": "Empty", "text": " "},
    ]  # fmt: skip
    (tmp_path / "fields.toml").write_text('[fields]\nyear = "number"\n')
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, lines)))
    ran = logicalrag("ingest", "d.jsonl", "--metadata", "fields.toml")
    assert (ran.code, "3 added" in ran.out) == (1, True), "one has no text"
    return logicalrag


def test_why_not_names_the_clauses_that_exclude_a_document(indexed: Command) -> None:
    ran = indexed("why-not", "ottone", "opera AND london AND (handel OR rome) NOT vivaldi")
    assert ran.code == 0
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert lines == [
        "read as opera AND london AND (handel OR rome) AND NOT vivaldi",
        "ottone: none of its 1 passage matches.",
        "Nearest: passage 1 of 1, 1 of 4 clauses:",
        "✓ opera",
        "✗ london no passages",
        "✗ handel OR rome no passages",
        "handel: no passages",
        "rome: no passages",
        "✗ NOT vivaldi what it excludes is there:",
        "vivaldi: 1 passage",
    ]


def test_why_not_has_a_shape_for_programs(indexed: Command) -> None:
    ran = indexed("why-not", "ottone", "opera london", "--default-operator", "AND", "--json")
    report = ran.json
    assert set(report) == {
        "document_id", "state", "canonical", "passages", "hits", "rank", "nearest", "clauses",
        "filters",
    }  # fmt: skip
    assert (report["state"], report["canonical"]) == ("excluded", "opera AND london")
    assert report["nearest"]["title"] == "Ottone in villa"
    assert report["clauses"][1] == {
        "canonical": "london", "negated": False, "passages": 0, "fulfilled": False, "parts": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("document", "arguments", "state", "said"),
    [
        ("ottone", ("vicenza",), "matches", "it matches, in 1 passage; the best has rank 1."),
        ("ottone", ("opera", "--filter", "year>1720"), "filtered", "no passage fulfils year>1720."),
        ("nowhere", ("opera",), "not_found", "there is no such document, or not for you."),
        ("debts", ("opera",), "not_found", "there is no such document, or not for you."),
        ("debts", ("opera", "--group", "hr"), "excluded", "none of its 1 passage matches."),
        ("ottone", ("opera", "--tenant", "t"), "not_found", "there is no such document"),
        ("empty", ("opera",), "failed", "it could not be indexed; ingest it again to see why."),
        ("alcina", ("handel",), "deleted", "it was deleted."),
    ],
)
def test_why_not_says_what_became_of_a_document(
    indexed: Command, document: str, arguments: tuple[str, ...], state: str, said: str
) -> None:
    assert indexed("delete", "alcina").code == 0
    ran = indexed("why-not", document, *arguments)
    assert ran.code == 0
    assert f"{document}: " in ran.out
    assert said in ran.out
    assert indexed("why-not", document, *arguments, "--json").json["state"] == state


def test_a_document_that_may_not_be_seen_is_told_of_like_none(indexed: Command) -> None:
    def about(document: str) -> str:
        ran = indexed("why-not", document, "vivaldi AND money", "--json")
        return ran.out.replace(document, "X")

    assert about("debts") == about("nowhere")


def test_why_not_takes_a_bad_expression_for_bad_input(indexed: Command) -> None:
    ran = indexed("why-not", "ottone", "opera AND")
    assert (ran.code, ran.out) == (2, "")
    assert "missing_operand" in ran.err
    ran = indexed("why-not", "ottone", "opera AND", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "missing_operand")
    assert indexed("why-not", "ottone").code == 2


def test_doctor_says_what_is_set_up(indexed: Command) -> None:
    ran = indexed("doctor")
    assert ran.code == 0
    states = dict(re.findall(r"(?m)^(?P<status>\w+) +(?P<name>\w+)", ran.out))
    assert states == {"ok": "planner"}, "every line is ok; the planner's is the last"
    report = indexed("doctor", "--json").json
    assert report["ok"] is True
    assert {tuple(check) for check in report["checks"]} == {("name", "status", "message", "fix")}
    assert [check["name"] for check in report["checks"]] == [
        "python", "packages", "index", "ledger", "pending", "lock", "disk", "planner",
    ]  # fmt: skip


def test_doctor_before_the_first_ingest_says_how_to_begin(logicalrag: Command) -> None:
    ran = logicalrag("doctor")
    assert ran.code == 0
    assert "logicalrag ingest FOLDER --index .logicalrag" in ran.out


def test_doctor_asks_the_models_server_and_shows_no_key(indexed: Command) -> None:
    env = {"LOGICALRAG_PLANNER": "anthropic", "LOGICALRAG_API_KEY": KEY}
    with serving() as server:
        there = indexed("doctor", "--base-url", server.base_url, "--json", env=env)
        assert server.requests == [], "nothing is asked of the model"
    gone = indexed("doctor", "--base-url", server.base_url, env=env)
    assert there.code == 0
    checks = {check["name"]: check for check in there.json["checks"]}
    assert (checks["server"]["status"], checks["planner"]["status"]) == ("ok", "ok")
    assert gone.code == 1
    assert f"{server.base_url} does not answer" in gone.out
    assert KEY not in there.out + there.err + gone.out + gone.err


def test_doctor_survives_a_server_of_another_kind(indexed: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-somebody\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        ran = indexed("doctor", "--planner", "anthropic", "--base-url", address)
        thread.join()
    assert ran.code == 1
    assert f"{address} does not answer: SSH-2.0-somebody" in ran.out
    assert "Traceback" not in ran.err


def test_why_not_and_search_refuse_bad_filters_as_json(indexed: Command) -> None:
    for command in (("search", "x"), ("why-not", "ottone", "x")):
        ran = indexed(*command, "--filter", "yeer=1", "--json")
        assert ran.code == 2
        assert ran.json["error"]["code"] == "unknown_metadata_field"


def test_doctor_fails_where_something_does_not_work(indexed: Command, tmp_path: Path) -> None:
    (tmp_path / ".logicalrag" / "index.json").write_text("{")
    (tmp_path / "terms.txt").write_text("alone\n")
    ran = indexed("doctor", "--synonyms", "terms.txt")
    assert ran.code == 1
    assert "index.json is damaged" in ran.out
    assert "terms.txt:1: " in ran.out
    assert "Traceback" not in ran.err


def test_config_shows_every_setting_and_where_it_came_from(logicalrag: Command) -> None:
    env = {"LOGICALRAG_API_KEY": KEY, "LOGICALRAG_RESULTS": "7", "LOGICALRAG_GROUPS": "hr,board"}
    ran = logicalrag("config", "--planner", "anthropic", "--no-cache", "--json", env=env)
    assert ran.code == 0
    assert set(ran.json) == set(Settings.model_fields)
    assert ran.json["planner"] == {"value": "anthropic", "origin": "option"}
    assert ran.json["expression_cache"] == {"value": False, "origin": "option"}
    assert ran.json["results"] == {"value": 7, "origin": "environment"}
    assert ran.json["groups"] == {"value": ["board", "hr"], "origin": "environment"}
    assert ran.json["index"] == {"value": ".logicalrag", "origin": "default"}
    assert ran.json["api_key"] == {"value": "*" * 10, "origin": "environment"}
    text = logicalrag("config", env=env)
    lines = {line.split()[0]: line.split()[1:] for line in text.out.splitlines()}
    assert lines["groups"] == ["board,hr", "environment"]
    assert lines["metadata"] == ["none", "default"]
    assert KEY not in ran.out + text.out


def test_config_refuses_bad_settings(logicalrag: Command) -> None:
    ran = logicalrag("config", env={"LOGICALRAG_RESULTS": "0"})
    assert ran.code == 2
    assert "LOGICALRAG_RESULTS" in ran.err
