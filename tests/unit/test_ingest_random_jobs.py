"""Random sequences of puts and deletions, against a model of the definitions and against kills."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.batching import Bounds
from ingest.deletion import Deletion, delete
from ingest.pipeline import ingest
from ingest.report import IngestReport
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.identity import document_key
from logicalrag.engines.reference import ReferenceEngine
from tests.unit.ingest_jobs import NAMES, SMALL, TEXTS, counts_of, document, stored

Put = tuple[str, int | None, str]
VERSIONS = st.none() | st.integers(0, 4)
PUTS = st.lists(st.tuples(st.sampled_from(NAMES), VERSIONS, st.sampled_from(TEXTS)), max_size=8)
DELETIONS = st.lists(st.tuples(st.sampled_from(NAMES), VERSIONS), max_size=3)
JOBS = st.lists(st.tuples(PUTS, DELETIONS), max_size=4)
BOUNDS = st.sampled_from([Bounds(1, 50, 10_000, 60), Bounds(3, 4, 10_000, 60), SMALL.commit_bounds])


class Model:
    """What the definitions say, document by document: version, and text or None once deleted."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, str | None]] = {}
        self.counts: dict[str, int] = {}

    def _count(self, outcome: str) -> None:
        self.counts[outcome] = self.counts.get(outcome, 0) + 1

    def put(self, name: str, version: int | None, text: str) -> None:
        if name not in self.known:
            self.known[name] = (1 if version is None else version, text)
            return self._count("added")
        at, held = self.known[name]
        if version is None:
            version = at if held == text else at + 1
        if version < at:
            return self._count("outdated")
        if version == at:
            return self._count("unchanged" if held == text else "failed")
        self.known[name] = (version, text)
        if held is None:
            return self._count("added")
        return self._count("unchanged" if held == text else "changed")

    def delete(self, name: str, version: int | None) -> None:
        if name not in self.known:
            if version is None:
                return self._count("failed")
            self.known[name] = (version, None)
            return self._count("deleted")
        at, held = self.known[name]
        if version is None:
            version = at if held is None else at + 1
        if version < at:
            return self._count("outdated")
        if version == at:
            return self._count("unchanged" if held is None else "failed")
        self.known[name] = (version, None)
        return self._count("deleted")

    @property
    def stored(self) -> dict[str, str]:
        return {name: text for name, (_, text) in self.known.items() if text is not None}


def _sum(reports: Sequence[IngestReport]) -> dict[str, int]:
    total: dict[str, int] = {}
    for report in reports:
        for name, count in counts_of(report).items():
            if name not in ("passages", "pending"):
                total[name] = total.get(name, 0) + count
    return total


@given(JOBS, BOUNDS, BOUNDS)
@settings(deadline=None, max_examples=40)
def test_any_sequence_of_puts_and_deletions_ends_as_the_definitions_say(
    jobs: list[tuple[list[Put], list[tuple[str, int | None]]]], claims: Bounds, commits: Bounds
) -> None:
    model, engine = Model(), ReferenceEngine()
    chosen = dataclasses.replace(SMALL, claim_bounds=claims, commit_bounds=commits)
    with tempfile.TemporaryDirectory() as folder, SqliteLedger(Path(folder) / "l") as ledger:
        reports: list[IngestReport] = []
        for puts, deletions in jobs:
            sent = [document(name, text, version) for name, version, text in puts]
            reports.append(ingest(sent, engine, ledger, chosen))
            gone = [Deletion(name, version=version) for name, version in deletions]
            reports.append(delete(gone, engine, ledger, commit_bounds=commits))
            for name, version, text in puts:
                model.put(name, version, text)
            for name, version in deletions:
                model.delete(name, version)
            assert stored(engine, NAMES) == model.stored
        assert _sum(reports) == model.counts
        records = ledger.look_up([document_key("default", name) for name in NAMES])
        assert {each.document_id: each.version for each in records.values()} == {
            name: version for name, (version, _) in model.known.items()
        }
        for record in records.values():
            assert record.state == ("deleted" if record.tombstone else "stored")


class KilledError(Exception):
    pass


@given(
    st.lists(st.tuples(PUTS, DELETIONS), min_size=1, max_size=3),
    st.booleans(),
    st.lists(st.integers(0, 60), max_size=4),
    BOUNDS,
)
@settings(deadline=None, max_examples=25)
def test_any_job_interrupted_anywhere_and_repeated_ends_the_same(
    jobs: list[tuple[list[Put], list[tuple[str, int | None]]]],
    versioned: bool,
    interruptions: list[int],
    commits: Bounds,
) -> None:
    chosen = dataclasses.replace(SMALL, commit_bounds=commits)

    def run(engine: ReferenceEngine, path: Path, number: int, stop_at: int | None) -> None:
        steps = itertools.count()

        def checkpoint(_: str) -> None:
            if next(steps) == stop_at:
                raise KilledError

        puts, deletions = jobs[number]
        # Versions all given or none: what the ledger assigns depends on how often it is asked.
        sent = [
            document(name, text, (version or 0) + 5 * number if versioned else None)
            for name, version, text in puts
        ]
        gone = [
            Deletion(name, version=(version or 0) + 5 * number if versioned else None)
            for name, version in deletions
        ]
        with SqliteLedger(path, checkpoint=checkpoint) as ledger:
            ingest(sent, engine, ledger, chosen, checkpoint=checkpoint)
            delete(gone, engine, ledger, commit_bounds=commits, checkpoint=checkpoint)

    ends: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for disturbed in (False, True):
            engine, path = ReferenceEngine(), Path(folder) / str(disturbed)
            for number in range(len(jobs)):
                for stop_at in interruptions if disturbed else []:
                    try:
                        run(engine, path, number, stop_at)
                    except KilledError:
                        engine.rollback()
                run(engine, path, number, None)
            ends.append(stored(engine, NAMES))
    assert ends[0] == ends[1]
