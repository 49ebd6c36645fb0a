"""Synonyms from the command line: shown in the canonical form, and read without reindexing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import SECONDS, Command, environment


@pytest.fixture
def indexed(logicalrag: Command, tmp_path: Path) -> Command:
    lines = [
        {"id": "a", "title": "Flat", "text": "The tenancy of the flat was signed by Anna Berg."},
        {"id": "b", "title": "Office", "text": "The lease of the office ends in May."},
    ]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert logicalrag("ingest", "d.jsonl").code == 0
    (tmp_path / "terms.txt").write_text("lease, tenancy  # of a home\n")
    return logicalrag


def test_words_find_their_synonyms_and_quotes_do_not(indexed: Command) -> None:
    plain = indexed("search", "lease", "--json").json
    expanded = indexed("search", "lease", "--synonyms", "terms.txt", "--json").json
    assert (plain["hits"], expanded["hits"]) == (1, 2)
    assert expanded["canonical"] == "lease OR tenancy"
    quoted = indexed("search", '"lease" NOT flat', "--synonyms", "terms.txt", "--json").json
    assert (quoted["hits"], quoted["canonical"]) == (1, '"lease" AND NOT flat')


def test_a_changed_file_counts_without_reindexing(indexed: Command, tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("lease => letting\n")
    env = {"LOGICALRAG_SYNONYMS": "terms.txt"}
    assert indexed("search", "lease", "--json", env=env).json["canonical"] == "lease OR letting"


def test_a_session_searches_with_synonyms(indexed: Command, tmp_path: Path) -> None:
    actions = [
        {"kind": "search", "expression": "lease AND flat", "evidence_needed": "who signed"},
        {"kind": "abstain", "reason": "no"},
    ]
    (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, actions)))
    scripted = ("ask", "?", "--planner", "scripted", "--script", "script.jsonl", "--json")
    assert indexed(*scripted).json["trace"][0]["hits"] == 0
    first = indexed(*scripted, "--synonyms", "terms.txt").json["trace"][0]
    assert (first["hits"], first["canonical"]) == (1, "(lease OR tenancy) AND flat")


@pytest.mark.parametrize("command", [("search", "x"), ("ask", "x?"), ("why-not", "a", "x")])
@pytest.mark.parametrize(
    ("content", "said"), [(b"alone\n", "terms.txt:1: "), (b"\xff", "no UTF-8"), (None, "cannot be")]
)
def test_a_broken_file_ends_the_command_with_one_sentence(
    indexed: Command, tmp_path: Path, command: tuple[str, ...], content: bytes | None, said: str
) -> None:
    (tmp_path / "terms.txt").unlink()
    if content is not None:
        (tmp_path / "terms.txt").write_bytes(content)
    ran = indexed(*command, "--synonyms", "terms.txt")
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_file_that_changes_or_breaks_while_a_batch_runs(indexed: Command, tmp_path: Path) -> None:
    terms = tmp_path / "terms.txt"
    assert indexed("search", "lease", "--synonyms", "terms.txt").code == 0
    with subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "cli", "search", "--batch", "-", "--synonyms", str(terms)],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment({"PYTHONPATH": str(Path(__file__).parents[2])}),
    ) as running:
        given, printed = running.stdin, running.stdout
        assert given is not None
        assert printed is not None

        def canonical() -> str:
            given.write('{"expression": "lease"}\n')
            given.flush()
            return str(json.loads(printed.readline())["canonical"])

        def replace(text: str) -> None:
            (tmp_path / "new.txt").write_text(text)
            (tmp_path / "new.txt").replace(terms)

        assert canonical() == "lease OR tenancy"
        replace("lease, letting\n")
        assert canonical() == "lease OR letting"
        replace("alone\n")
        assert canonical() == "lease OR letting"
        assert canonical() == "lease OR letting"
        _, warned = running.communicate(timeout=SECONDS)
    assert running.returncode == 0
    assert warned.count("warning: ") == 1
    assert "terms.txt:1: " in warned
