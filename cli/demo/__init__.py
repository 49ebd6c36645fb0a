"""`logicalrag demo`: the bundled articles, indexed and asked about."""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from bootstrap.ingestion import ingest_settings, reader_settings
from bootstrap.opening import open_writer
from bootstrap.sessions import open_session
from bootstrap.settings import read_settings
from cli import options
from cli.ask import EXIT_CODES
from cli.console import EXIT_FAILED, out
from cli.trace import show_last_turn, show_outcome, show_question
from ingest.pipeline import ingest
from ingest.readers.folder import read_paths

DEMO_INDEX = Path(".logicalrag-demo")
DEMO_TENANT = "demo"
EXAMPLES = """
Examples:

  logicalrag demo

  logicalrag demo --all
"""
# One question of each kind: one hop, several hops, negation, comparison, unanswerable.
_SHOWN_KINDS = ("one-hop", "multi-hop", "negation", "comparison", "unanswerable")


def demo(
    index: Annotated[
        Path, typer.Option("--index", metavar="DIR", help="Folder of the demo's index.")
    ] = DEMO_INDEX,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    every: Annotated[bool, typer.Option("--all", help="Ask every question.")] = False,
) -> None:
    """Index the bundled articles and ask questions about them, every search on view."""
    settings = read_settings(
        index=index,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
    )
    place, where = str(index), f"--index {index}"
    if settings.engine == "elastic":
        # Beside what else the collection holds.
        settings = settings.model_copy(update={"tenant": DEMO_TENANT})
        given = (
            ("--engine", engine),
            ("--elastic-hosts", elastic_hosts),
            ("--elastic-index", elastic_index),
            ("--tenant", DEMO_TENANT),
        )
        place = f"{settings.elastic_index}, tenant {DEMO_TENANT}"
        where = " ".join(f"{option} {value}" for option, value in given if value)
    corpus = files("cli.demo") / "corpus.jsonl"
    with (
        as_file(corpus) as path,
        open_writer(settings, create=True) as (writer, ledger),
    ):
        report = ingest(
            read_paths([str(path)], reader_settings(settings)),
            writer,
            ledger,
            ingest_settings(settings),
        )
    out.print(
        f"{report.documents} articles in {place}: {report.added} added, "
        f"{report.unchanged} unchanged.\n"
    )
    lines = (files("cli.demo") / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    if not every:
        kinds = {question["kind"]: question for question in reversed(questions)}
        questions = [kinds[kind] for kind in _SHOWN_KINDS]
    failed = False
    with open_session(settings) as session:
        for question in questions:
            show_question(question["question"], session.planner_label)
            state = session.ask(question["question"], on_turn=show_last_turn)
            show_outcome(state)
            out.print()
            failed |= state.outcome is None or EXIT_CODES[state.outcome.kind] == EXIT_FAILED
    out.print("Next, ask your own:", markup=False)
    command = _command_as_called()
    out.print(f'  {command} ask {where} "Who completed Turandot?"', markup=False)
    out.print(f"  {command} search {where} 'vivaldi AND opera' --explain", markup=False)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def _command_as_called() -> str:
    """Return the command as the reader can type it: by its path where it is not on PATH."""
    called = Path(sys.argv[0])
    if called.name == "logicalrag" and shutil.which("logicalrag") is None:
        return os.path.relpath(called)
    return "logicalrag"
