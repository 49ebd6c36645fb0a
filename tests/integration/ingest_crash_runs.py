"""Runs one job of ingestion and deletion again and again, killed at one write after another.

A process of its own: it imports once and forks for every run, so that each kill is a real SIGKILL
of a real writer and costs a tenth of a second. It prints one JSON line per killed run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

from ingest.batching import Bounds
from ingest.chunking import ChunkSettings
from ingest.deletion import Deletion, delete
from ingest.documents import SourceDocument
from ingest.pipeline import IngestSettings, ingest
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.embedded.writer import _TenantWriter as TenantWriter
from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import Passage, Visibility

Dump = dict[str, list[tuple[str, int, str, int, int]]]

SETTINGS = IngestSettings(
    chunking=ChunkSettings(size=6),
    claim_bounds=Bounds(documents=3, passages=100, bytes=10_000, seconds=60.0),
    commit_bounds=Bounds(documents=4, passages=12, bytes=10_000, seconds=60.0),
)
TENANTS = ("default", "other")
MOST_PASSAGES = 12


def _text(name: str, sentences: int) -> str:
    return " ".join(f"{name} says sentence {number} here." for number in range(sentences))


def _document(name: str, sentences: int, tenant: str = "default") -> SourceDocument:
    return SourceDocument(name, f"Title of {name}", _text(name, sentences), tenant=tenant)


# What is there before the job, and what the job sends: unchanged, grown, shrunk, new, twice in one
# batch, twice in two, of two tenants with the same id, and one without text.
BEFORE = [
    *(_document(f"same{number}", 2) for number in range(4)),
    *(_document(f"grown{number}", 1) for number in range(3)),
    *(_document(f"shrunk{number}", 9) for number in range(4)),
    *(_document(f"gone{number}", 5) for number in range(5)),
    _document("shrunk0", 7, "other"),
]
JOB = [
    _document("shrunk0", 2),
    _document("same0", 2),
    _document("grown0", 10),
    _document("same1", 2),
    _document("new0", 3),
    _document("new0", 1),
    _document("shrunk1", 1),
    SourceDocument("blank", "", " \n"),
    _document("grown1", 4),
    _document("new1", 8),
    _document("shrunk0", 1, "other"),
    _document("shrunk2", 3),
    _document("same2", 2),
    _document("new2", 2),
    _document("grown2", 2),
    _document("shrunk3", 8),
    _document("new1", 2),
    _document("same3", 2),
    _document("new3", 6, "other"),
]
DELETED = ["gone0", "gone3", "same1", "gone4"]
IDS = sorted({each.id for each in (*BEFORE, *JOB)})


def prepare(folder: Path) -> None:
    """Make the index and the ledger that the job starts from."""
    with EmbeddedWriter(folder) as writer, SqliteLedger(folder / "ledger.sqlite") as ledger:
        ingest(BEFORE, writer, ledger, SETTINGS)


def job(name: str, folder: Path, checkpoint: Callable[[str], None]) -> None:
    """Do what the command does: the first run into an empty folder, or changes and deletions."""
    # One commit of the index is one of each tenant's: a kill may fall between two of them.
    commit = TenantWriter.commit

    def watched(writer: TenantWriter) -> int:
        checkpoint("tenant commit: before")
        stamp = commit(writer)
        checkpoint("tenant commit: after")
        return stamp

    with (
        patch.object(TenantWriter, "commit", watched),
        EmbeddedWriter(folder) as writer,
        SqliteLedger(folder / "ledger.sqlite", checkpoint=checkpoint) as ledger,
    ):
        if name == "first":
            ingest(BEFORE, writer, ledger, SETTINGS, checkpoint=checkpoint)
            return
        ingest(JOB, writer, ledger, SETTINGS, checkpoint=checkpoint)
        deletions = [Deletion(name) for name in DELETED]
        delete(
            deletions,
            writer,
            ledger,
            commit_bounds=SETTINGS.commit_bounds,
            checkpoint=checkpoint,
        )


def dump(folder: Path) -> Dump:
    """Return every stored passage by tenant; raise where the index holds one besides."""
    stored: Dump = {}
    with EmbeddedEngine(folder) as engine:
        for tenant in TENANTS:
            visibility = Visibility(tenant=tenant)
            wanted = [
                passage_id(tenant, name, number) for name in IDS for number in range(MOST_PASSAGES)
            ]
            found = engine.read(wanted, visibility)
            if len(found) != engine.stats(visibility).passages:
                raise AssertionError(f"orphans: {engine.stats(visibility)}, {len(found)} known")
            stored[tenant] = [_shape(passage) for passage in found]
    return stored


def _shape(passage: Passage) -> tuple[str, int, str, int, int]:
    return (passage.document_id, passage.number, passage.text, passage.start, passage.end)


def states(folder: Path) -> dict[str, int]:
    """Return the ledger's counts by state, over all tenants."""
    counted: Counter[str] = Counter()
    with SqliteLedger(folder / "ledger.sqlite") as ledger:
        for tenant in TENANTS:
            counted.update(ledger.counts(tenant))
    return dict(counted)


class Killer:
    """Counts the checkpoints and kills its own process at one of them."""

    def __init__(self, at: int | None) -> None:
        self.names: list[str] = []
        self._at = at

    def __call__(self, name: str) -> None:
        if len(self.names) == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.names.append(name)


def _forked(run: Callable[[], object], answer: Path) -> tuple[int, object]:
    """Run in a fork; return its wait status and what it answered, None where it was killed."""
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            answer.write_text(json.dumps(run()))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status, json.loads(answer.read_text()) if answer.exists() else None


def main(scratch: Path) -> None:
    """Print each job's undisturbed outcome, then one line per killed and repeated run of it."""
    base, trial, answer = scratch / "base", scratch / "trial", scratch / "answer.json"
    for name in ("first", "second"):
        base.mkdir(exist_ok=True)
        if name == "second":
            _forked(partial(prepare, base), answer)
        _kill_everywhere(name, base, trial, answer)


def _kill_everywhere(name: str, base: Path, trial: Path, answer: Path) -> None:
    def fresh() -> None:
        shutil.rmtree(trial, ignore_errors=True)
        shutil.copytree(base, trial)

    def run(at: int | None) -> list[str]:
        killer = Killer(at)
        job(name, trial, killer)
        return killer.names

    def held() -> object:
        # A first run that was killed before its first commit has made no index yet.
        return dump(trial) if (trial / "index.json").exists() else {}

    def outcome() -> list[object]:
        return [dump(trial), states(trial)]

    def say(**line: object) -> None:
        sys.stdout.write(json.dumps({"job": name, **line}) + "\n")

    fresh()
    _, points = _forked(partial(run, None), answer)
    _, expected = _forked(outcome, answer)
    say(points=points, outcome=expected)
    if not isinstance(points, list):
        raise TypeError("the undisturbed run did not end")
    for at, point in enumerate(points):
        fresh()
        status, _ = _forked(partial(run, at), answer)
        if at % 5 == 0:  # and the repair is killed too, at its own middle
            _forked(partial(run, len(points) // 3), answer)
        _, between = _forked(held, answer)
        repeated, _ = _forked(partial(run, None), answer)
        _, after = _forked(outcome, answer)
        say(
            at=at,
            name=point,
            signal=os.WTERMSIG(status),
            repeated=repeated,
            between=between,
            outcome=after,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
