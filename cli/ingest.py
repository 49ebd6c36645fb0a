"""`logicalrag ingest`: documents into the index."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import Progress as ProgressBar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from bootstrap.ingestion import ingest_settings, reader_settings
from bootstrap.opening import open_writer
from bootstrap.settings import read_settings
from cli import options
from cli.console import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    err,
    fail,
    one_line,
    out,
    print_json,
)
from ingest.documents import Reject, Skipped
from ingest.pipeline import ingest as ingest_documents
from ingest.readers.folder import STANDARD_INPUT, read_paths
from ingest.report import IngestReport, Progress

EXAMPLES = """
Reads .txt, .md, .html, .pdf, .docx, .epub, .eml, .mbox, .csv, .tsv and .jsonl, as .gz and in .zip
too; a line of JSONL is {"id": …, "title": …, "text": …, "metadata": {…}}.
Run again, it skips what has not changed; killed, it goes on where it was.

Examples:

  logicalrag ingest notes/ papers/*.md

  logicalrag ingest passages.jsonl --chunk-mode passage --index big/

  logicalrag ingest reports.jsonl --metadata fields.toml --index reports/

  zcat dump.jsonl.gz | logicalrag ingest -
"""
_NEW_OBJECTS = 50_000
_PLAIN_SECONDS = 5.0
_SHOWN_REJECTS = 20


def ingest(
    paths: Annotated[
        list[str], typer.Argument(help="Folders, files, patterns, or - for standard input.")
    ],
    index: options.Index = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    analysis: options.Analysis = None,
    metadata: options.Metadata = None,
    chunk_mode: options.ChunkMode = None,
    chunk_size: options.ChunkSize = None,
    chunk_overlap: options.ChunkOverlap = None,
    chunk_unit: options.ChunkUnit = None,
    encoding: options.Encoding = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
) -> None:
    """Index documents: add new ones, replace changed ones, skip the rest."""
    settings = read_settings(
        index=index,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        analysis=analysis,
        metadata=metadata,
        chunk_mode=chunk_mode,
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        chunk_unit=chunk_unit,
        encoding=encoding,
        tenant=tenant,
    )
    _collect_rarely()
    rejects = _Rejects()
    skipped: list[Skipped] = []
    try:
        with open_writer(settings, create=True) as (writer, ledger), _progress() as show:
            report = ingest_documents(
                read_paths(
                    paths,
                    reader_settings(settings),
                    standard_input=sys.stdin.buffer if STANDARD_INPUT in paths else None,  # type: ignore[arg-type]
                    on_skip=skipped.append,
                ),
                writer,
                ledger,
                ingest_settings(settings),
                show,
                on_reject=rejects.add,
            )
    except KeyboardInterrupt:
        err.print("interrupted; the same command goes on where this one stopped")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    rejects.finish(report.failed)
    _say_skipped(skipped)
    conclude(report, json)


def _collect_rarely() -> None:
    """Let the collector of cycles look at new objects rarely, and at those of now never.

    Hundreds of thousands of documents pass through, and next to none is part of a cycle: looking
    for them takes a seventh of the time.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)


class _Rejects:
    """Prints the first failures at once; the rest are counted only."""

    def __init__(self) -> None:
        self._printed = 0

    def add(self, reject: Reject) -> None:
        if self._printed < _SHOWN_REJECTS:
            err.print(f"[red]failed[/] {one_line(str(reject))}")
            self._printed += 1

    def finish(self, failed: int) -> None:
        if failed > self._printed:
            err.print(f"[red]failed[/] … and {failed - self._printed} more")


def _say_skipped(skipped: list[Skipped]) -> None:
    if skipped:
        names = ", ".join(skip.place for skip in skipped[:3])
        more = ", …" if len(skipped) > 3 else ""
        err.print(one_line(f"passed over {len(skipped)} files or folders: {names}{more}"))


def conclude(report: IngestReport, json: bool) -> None:
    """Print the counts of a run and end with the exit code that they call for."""
    if json:
        counts = asdict(report)
        counts["rejects"] = [asdict(reject) for reject in report.rejects]
        print_json(counts)
    else:
        counted = {
            "added": report.added,
            "changed": report.changed,
            "unchanged": report.unchanged,
            "failed": report.failed,
            "sanitised": report.sanitised,
        }
        rare = {
            "deleted": report.deleted,
            "outdated": report.outdated,
            "pending": report.pending,
        }
        counted |= {name: count for name, count in rare.items() if count}
        out.print(
            ", ".join(f"{count} {name}" for name, count in counted.items())
            + f"; {report.passages} passages written"
        )
    if not report.ok:
        raise typer.Exit(EXIT_FAILED)
    if report.documents == 0:
        fail("nothing to index: no document was found in what was given", EXIT_BAD_INPUT)


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """Yield what shows progress: a live line on a terminal, a plain line now and then in a pipe."""
    if err.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.completed} documents, {task.fields[passages]} passages"),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[place]}"),
        )
        with ProgressBar(*columns, console=err, transient=True) as bar:
            task = bar.add_task("", total=None, passages=0, place="")
            yield lambda now: bar.update(
                task, completed=now.documents, passages=now.passages, place=one_line(now.place)
            )
        return
    said = time.monotonic()

    def say(now: Progress) -> None:
        nonlocal said
        if time.monotonic() - said >= _PLAIN_SECONDS:
            said = time.monotonic()
            err.print(f"{now.documents} documents, {now.passages} passages", markup=False)

    yield say
