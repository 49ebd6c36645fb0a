"""The command line as a user meets it: what it prints, and its exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.readers.kinds import GZIP, KINDS
from tests.acceptance.conftest import SECONDS, Command, environment

DOCUMENTS = 5  # that can be indexed, of the mixed folder


@pytest.fixture
def indexed(logicalrag: Command, folder: Path) -> Command:
    assert folder.is_dir()
    assert logicalrag("ingest", "notes").code == 1, "the folder holds two bad lines"
    return logicalrag


def test_a_mixed_folder_is_ingested_and_bad_lines_are_named(
    logicalrag: Command, folder: Path
) -> None:
    assert folder.is_dir()
    ran = logicalrag("ingest", "notes")
    assert ran.code == 1
    assert "5 added, 0 changed, 0 unchanged, 2 failed, 0 sanitised" in ran.out
    assert "notes/lines.jsonl:2: " in ran.err
    assert "notes/lines.jsonl:3: no_text" in ran.err
    again = logicalrag("ingest", "notes")
    assert "0 added, 0 changed, 5 unchanged, 2 failed" in again.out


def test_a_changed_file_replaces_its_passages(indexed: Command, folder: Path) -> None:
    (folder / "plain.txt").write_text("Tea orders close at noon.")
    ran = indexed("ingest", "notes/plain.txt", "--json")
    assert ran.code == 0
    assert (ran.json["changed"], ran.json["failed"]) == (1, 0)
    assert indexed("search", "café", "--json").json["hits"] == 0
    assert indexed("search", "tea AND noon", "--json").json["hits"] == 1


def test_search_gives_the_contracts_shape(indexed: Command) -> None:
    ran = indexed("search", "opera NOT handel", "--json", "-n", "1")
    assert ran.code == 0
    assert set(ran.json) == {"hits", "relation", "fraction", "canonical", "notices", "results"}
    assert (ran.json["hits"], ran.json["relation"]) == (2, "eq")
    assert ran.json["fraction"] == pytest.approx(2 / DOCUMENTS)
    assert ran.json["canonical"] == "opera AND NOT handel"
    (result,) = ran.json["results"]
    assert set(result) == {"id", "document_id", "title", "text", "score"}


@pytest.mark.parametrize(
    ("expression", "document"),
    [
        ("ERR_CONN_RESET", "decision.md"),
        ("ADR-016", "decision.md"),
        ('"10:30"', "plain.txt"),
        ("cafe", "plain.txt"),
        ('"17 May 1713"', "deep/page.html"),
        ('title:"Ottone in villa"', "deep/page.html"),
    ],
)
def test_names_codes_and_dates_find_their_document(
    indexed: Command, expression: str, document: str
) -> None:
    ran = indexed("search", expression, "--json")
    assert [result["document_id"] for result in ran.json["results"]] == [document]


def test_explain_shows_the_tree_the_canonical_form_and_clause_counts(indexed: Command) -> None:
    ran = indexed("search", "opera (handel OR vivaldi) NOT alcina", "--explain")
    assert ran.code == 0
    assert "read as" in ran.out
    assert "├── " in ran.out
    for count, clause in ((3, "opera"), (1, "handel"), (2, "vivaldi"), (1, "alcina")):
        assert f"{count:8}  {clause}" in ran.out


def test_results_and_citations_say_where_a_passage_stands(
    logicalrag: Command, tmp_path: Path
) -> None:
    (tmp_path / "operas.csv").write_text(
        "name,note\nAlcina,An opera by Handel\nOttone,An opera by Vivaldi given in Vicenza\n"
    )
    assert logicalrag("ingest", "operas.csv").code == 0
    ran = logicalrag("search", "vicenza", "--json")
    assert [result["location"] for result in ran.json["results"]] == ["row 3"]
    assert "operas.csv · row 3 · " in logicalrag("search", "vicenza").out
    question = "Which opera by Vivaldi was given in Vicenza?"
    assert "(operas.csv, row 3)" in logicalrag("ask", question).out
    asked = logicalrag("ask", question, "--json")
    assert [citation["location"] for citation in asked.json["citations"]] == ["row 3"]


def test_a_malformed_expression_exits_with_2_and_points_at_the_place(indexed: Command) -> None:
    ran = indexed("search", "opera AND")
    assert (ran.code, ran.out) == (2, "")
    assert "missing_operand" in ran.err
    assert ran.err.splitlines()[2].index("^") == ran.err.splitlines()[1].index("AND") + 3
    as_json = indexed("search", "opera AND", "--json")
    assert as_json.code == 2
    assert set(as_json.json["error"]) == {"code", "message", "position", "end", "hint"}


def test_a_batch_of_searches_answers_line_by_line(indexed: Command) -> None:
    asked = [
        {"expression": "opera vivaldi", "default_operator": "AND", "max_results": 1},
        {"expression": "foo:bar"},
        {"expression": "alcina"},
    ]
    ran = indexed("search", "--batch", "-", given="\n".join(map(json.dumps, asked)))
    assert ran.code == 0
    first, second, third = ran.lines
    assert (first["hits"], len(first["results"])) == (2, 1)
    assert second["error"]["code"] == "unknown_field"
    assert third["hits"] == 1


def test_a_bad_line_of_a_batch_is_an_error_in_its_place(indexed: Command, tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_bytes(
        b'\xef\xbb\xbf{"expression": "opera"}\n{"expression": 3}\nnot json\n\n'
        b'{"expression": "alcina"}\n{"expression": "opera", "default_operator": null}\n'
        b'{"expression": "opera", "exclude_ids": ["a", "c"]}\n'
    )
    ran = indexed("search", "--batch", "batch.jsonl")
    assert ran.code == 1
    assert [line.get("hits") for line in ran.lines] == [3, None, None, 1, None, 1]
    for number, line in ((2, ran.lines[1]), (3, ran.lines[2])):
        assert set(line["error"]) == {"code", "message", "position", "end", "hint"}
        assert line["error"]["code"] == "bad_line"
        assert f"batch.jsonl:{number}: " in line["error"]["message"]
    assert ran.lines[4]["error"]["code"] == "bad_default_operator"


def test_a_bad_line_of_questions_is_an_error_outcome_in_its_place(indexed: Command) -> None:
    given = '{"id": 7}\n{"id": 8, "question": " "}\n[]\n{"id": 9, "question": "Who wrote Alcina?"}'
    ran = indexed("ask", "--batch", "-", given=given)
    assert ran.code == 1
    assert [line["id"] for line in ran.lines] == [7, 8, None, 9]
    assert [line["outcome"] == "error" for line in ran.lines] == [True, True, True, False]
    assert ran.lines[0]["reason"] == "bad_line"
    assert set(ran.lines[0]) == set(ran.lines[3])


def _script(folder: Path, *actions: object) -> str:
    path = folder / "script.jsonl"
    path.write_text("\n".join(map(json.dumps, actions)))
    return str(path)


def test_a_scripted_session_answers_with_the_contracts_shape(
    indexed: Command, tmp_path: Path
) -> None:
    found = indexed("search", "vicenza", "--json").json["results"][0]
    script = _script(
        tmp_path,
        {"kind": "search", "expression": "vicenza", "evidence_needed": "place"},
        {"kind": "answer", "text": "In Vicenza, in 1714.", "cited": [found["id"]]},
    )
    ran = indexed("ask", "Where?", "--planner", "scripted", "--script", script, "--json")
    assert ran.code == 0
    assert (ran.json["outcome"], ran.json["planner"]) == ("answered", "scripted")
    assert ran.json["citations"][0]["document_id"] == "deep/page.html"
    assert [claim["text"] for claim in ran.json["unsupported"]] == ["1714"]
    assert ran.json["trace"][0]["shown"] == ["deep/page.html"]


def test_the_exit_code_says_how_a_session_ended(indexed: Command, tmp_path: Path) -> None:
    abstain = _script(tmp_path, {"kind": "abstain", "reason": "no"})
    ran = indexed("ask", "Where?", "--planner", "scripted", "--script", abstain)
    assert ran.code == 3
    assert "No answer" in ran.out
    search = {"kind": "search", "expression": "opera", "evidence_needed": "x"}
    endless = _script(tmp_path, *[search] * 3)
    limited = {"LOGICALRAG_SEARCHING_TURNS": "2"}
    ran = indexed("ask", "?", "--planner", "scripted", "--script", endless, env=limited)
    assert ran.code == 4
    ran = indexed("ask", "?", "--planner", "scripted", "--script", endless)
    assert ran.code == 1
    assert "The script ends after 3 replies." in ran.out


def test_deleted_documents_are_gone_and_unknown_ids_are_named(indexed: Command) -> None:
    ran = indexed("delete", "a", "nowhere")
    assert ran.code == 1
    assert "1 deleted" in ran.out
    assert "nowhere" in ran.err
    assert indexed("search", "alcina", "--json").json["hits"] == 0
    assert indexed("stats", "--json").json["documents"] == DOCUMENTS - 1


def test_stats_say_what_is_indexed(indexed: Command) -> None:
    held = indexed("stats", "--json").json
    assert (held["documents"], held["pending"]) == (DOCUMENTS, 0)
    assert held["ledger"]["stored"] == DOCUMENTS
    assert "documents" in indexed("stats").out


def test_standard_input_is_read(logicalrag: Command) -> None:
    line = json.dumps({"id": "x", "title": "T", "text": "a needle"})
    assert logicalrag("ingest", "-", given=line).code == 0
    assert logicalrag("search", "needle", "--json").json["hits"] == 1


def test_a_file_in_utf_16_is_read(logicalrag: Command, tmp_path: Path) -> None:
    (tmp_path / "wide.txt").write_bytes("Žižkov tower".encode("utf-16"))
    assert logicalrag("ingest", "wide.txt").code == 0
    assert logicalrag("search", "zizkov", "--json").json["hits"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("search", "opera"), 1, "There is no index in .logicalrag; make one with"),
        (("ask", "who?"), 1, "There is no index in"),
        (("stats",), 1, "There is no index in"),
        (("delete", "a"), 1, "There is no index in"),
        (("ingest", "nowhere"), 1, "nowhere"),
        (("ingest",), 2, "Missing argument"),
        (("search",), 2, "give one expression, or --batch FILE"),
        (("search", "a", "--batch", "b"), 2, "give one expression, or --batch FILE"),
        (("ask",), 2, "give one question, or --batch FILE"),
        (("ask", " "), 2, "the question is empty"),
        (("ask", "who?", "--planner", "oracle"), 2, "offline"),
        (("ask", "who?", "--planner", "scripted"), 2, "needs --script FILE"),
        (("ask", "who?", "--script", "x"), 2, "--script goes with --planner scripted"),
        (("ingest", ".", "--chunk-size", "0"), 2, "chunk_size"),
        (("ingest", ".", "--chunk-size", "5", "--chunk-overlap", "5"), 2, "must be under"),
        (("ingest", ".", "--encoding", "klingon"), 2, "klingon"),
        (("serve",), 2, "No such command"),
    ],
)
def test_mistakes_end_in_one_sentence_and_a_code(
    logicalrag: Command, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    ran = logicalrag(*arguments)
    assert ran.code == code
    assert sentence in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


def test_a_misspelt_setting_in_the_environment_is_named(logicalrag: Command) -> None:
    ran = logicalrag("stats", env={"LOGICALRAG_INDX": "x"})
    assert ran.code == 2
    assert "LOGICALRAG_INDX names no setting. Did you mean LOGICALRAG_INDEX?" in ran.err


def test_a_batch_file_that_is_not_there_is_named(indexed: Command) -> None:
    ran = indexed("search", "--batch", "nowhere.jsonl")
    assert ran.code == 2
    assert "cannot read nowhere.jsonl" in ran.err


def test_an_empty_folder_is_said_to_hold_nothing(logicalrag: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = logicalrag("ingest", "empty")
    assert ran.code == 2
    assert "nothing to index" in ran.err


COMMANDS = (
    "ingest", "delete", "search", "ask", "why-not", "stats",
    "index", "attach", "reconcile", "doctor", "config", "demo",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_every_command_with_examples(logicalrag: Command, command: str) -> None:
    ran = logicalrag(command, "--help")
    assert ran.code == 0
    assert f"logicalrag {command}" in ran.out


def test_help_lists_every_command_with_a_sentence(logicalrag: Command) -> None:
    ran = logicalrag("--help")
    assert ran.code == 0
    listed = re.findall(r"(?m)^│ ([a-z-]+) +[A-Z].*[a-z.:,]", ran.out)
    assert listed == list(COMMANDS)


def test_help_on_ingest_names_the_kinds_of_files(logicalrag: Command) -> None:
    shown = logicalrag("ingest", "--help").out
    for suffix in (*KINDS, GZIP):
        if suffix not in {".ndjson", ".text", ".markdown", ".htm", ".xhtml"}:  # other spellings
            assert suffix in shown


def test_a_misspelt_command_is_answered_with_the_one_meant(logicalrag: Command) -> None:
    ran = logicalrag("why_not", "a", "b")
    assert ran.code == 2
    assert "Did you mean 'why-not'?" in " ".join(ran.err.split())


def test_another_writer_is_named(logicalrag: Command, folder: Path, tmp_path: Path) -> None:
    from logicalrag.engines.embedded.writer import EmbeddedWriter

    assert folder.is_dir()
    (tmp_path / ".logicalrag").mkdir()
    with EmbeddedWriter(tmp_path / ".logicalrag"):
        ran = logicalrag("ingest", "notes", env={"LOGICALRAG_LOCK_WAIT_SECONDS": "0"})
    assert ran.code == 1
    assert "is being written by" in ran.err
    assert logicalrag("ingest", "notes").code == 1, "two bad lines, but the lock is free"


def test_no_document_can_steer_the_terminal_or_the_markup(
    logicalrag: Command, tmp_path: Path
) -> None:
    hostile = "[bold red]needle[/] \u009b31m \u202e [link=file:///etc/passwd]x[/link] \\["
    line = {"id": "a\u009b2J[red]b", "title": hostile, "text": f"{hostile} \x1b[2J needle"}
    (tmp_path / "hostile.jsonl").write_text(json.dumps(line))
    ingested = logicalrag("ingest", "hostile.jsonl")
    ran = logicalrag("search", "needle")
    for output in (ingested.out, ingested.err, ran.out, ran.err):
        assert not {"\x1b", "\u009b", "\u202e"} & set(output)
    assert "[bold red]needle[/]" in ran.out, "markup is shown, not obeyed"


def _many_documents(path: Path) -> None:
    with path.open("w") as file:
        for number in range(20_000):
            file.write(json.dumps({"id": str(number), "title": "T", "text": f"w{number} " * 20}))
            file.write("\n")


def test_an_interrupted_ingestion_says_so_and_goes_on(logicalrag: Command, tmp_path: Path) -> None:
    _many_documents(tmp_path / "many.jsonl")
    with subprocess.Popen(
        [sys.executable, "-m", "cli", "ingest", "many.jsonl"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"PYTHONPATH": str(Path(__file__).parents[2])}),
    ) as process:
        ledger = tmp_path / ".logicalrag" / "ledger.sqlite-wal"
        while process.poll() is None and not (ledger.exists() and ledger.stat().st_size > 10**5):
            pass  # until documents have been claimed
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert b"the same command goes on where this one stopped" in err
    ran = logicalrag("ingest", "many.jsonl", "--json")
    assert ran.code == 0
    assert ran.json["added"] + ran.json["unchanged"] == 20_000
    assert ran.json["pending"] == 0


def test_progress_is_a_live_line_on_a_terminal(tmp_path: Path) -> None:
    _many_documents(tmp_path / "many.jsonl")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "cli", "ingest", "many.jsonl"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment({"PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "xterm"}),
    ) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # the terminal's end, when the process has gone
            while chunk := os.read(ours, 65536):
                seen += chunk
        out, _ = process.communicate(timeout=SECONDS)
    os.close(ours)
    assert process.returncode == 0
    assert b"documents, " in seen
    assert b"\x1b[" in seen, "a line that is redrawn"
    assert b"20000 added" in out


def test_a_document_cannot_be_written_for_another_tenant(logicalrag: Command) -> None:
    line = {"id": "secret", "title": "", "text": "balance is 100", "version": 1}
    assert logicalrag("ingest", "-", "--tenant", "bank", given=json.dumps(line)).code == 0
    forged = {**line, "tenant": "bank", "text": "balance is 0", "version": 99}
    ran = logicalrag("ingest", "-", "--tenant", "guest", given=json.dumps(forged))
    assert ran.code == 1
    assert "wrong_tenant" in ran.err
    kept = logicalrag("search", "balance", "--tenant", "bank", "--json").json["results"]
    assert [result["text"] for result in kept] == ["balance is 100"]
    assert logicalrag("stats", "--tenant", "guest", "--json").json["ledger"] == {}


@pytest.mark.parametrize("lost", ["ledger.sqlite", "index"])
def test_an_index_and_a_ledger_that_do_not_belong_together_are_refused(
    indexed: Command, tmp_path: Path, lost: str
) -> None:
    for path in (tmp_path / ".logicalrag").iterdir():
        if lost == "index" and path.is_dir():
            shutil.rmtree(path)
        elif path.name.startswith(lost):
            path.unlink()
    ran = indexed("ingest", "notes/plain.txt")
    assert ran.code == 1
    assert "do not belong together" in ran.err
    assert "added" not in ran.out
