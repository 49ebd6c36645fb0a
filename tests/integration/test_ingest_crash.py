"""A run that is killed at any write and run again ends as if it had never been disturbed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.source_tree import ROOT

GUARD_SECONDS = 500
LEAST_POINTS = 50


@pytest.fixture(scope="module")
def jobs() -> dict[str, list[dict[str, Any]]]:
    """By job: a line for the undisturbed run, then one for each write at which one was killed."""
    # A killed process leaves the same files in memory as on a disk, and hundreds of syncs are free.
    memory = Path("/dev/shm")  # noqa: S108  # only the parent of a folder of its own
    parent = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent) as scratch:
        # S603: the command is this interpreter and a module of the tests.
        ended = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "tests.integration.ingest_crash_runs", scratch],
            cwd=Path(ROOT),
            capture_output=True,
            text=True,
            timeout=GUARD_SECONDS,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr[-2000:]
    found: dict[str, list[dict[str, Any]]] = {"first": [], "second": []}
    for line in map(json.loads, ended.stdout.splitlines()):
        found[line["job"]].append(line)
    return found


@pytest.fixture(params=["first", "second"])
def runs(request: pytest.FixtureRequest, jobs: dict[str, list[dict[str, Any]]]) -> Any:
    """The lines of one job."""
    return jobs[request.param]


def test_the_undisturbed_run_ends_as_worked_out_by_hand(
    jobs: dict[str, list[dict[str, Any]]],
) -> None:
    stored, states = jobs["second"][0]["outcome"]
    held: dict[str, dict[str, int]] = {}
    for tenant, passages in stored.items():
        for document, *_ in passages:
            sizes = held.setdefault(tenant, {})
            sizes[document] = sizes.get(document, 0) + 1
    # One sentence counts 5 tokens and a chunk 6: as many passages as sentences.
    assert held == {
        "default": {
            "same0": 2,
            "same2": 2,
            "same3": 2,
            "grown0": 10,
            "grown1": 4,
            "grown2": 2,
            "shrunk0": 2,
            "shrunk1": 1,
            "shrunk2": 3,
            "shrunk3": 8,
            "gone1": 5,
            "gone2": 5,
            "new0": 1,
            "new1": 2,
            "new2": 2,
        },
        "other": {"shrunk0": 1, "new3": 6},
    }
    assert states == {"stored": 17, "deleted": 4, "failed": 1}


def test_there_are_enough_points_of_every_kind(jobs: dict[str, list[dict[str, Any]]]) -> None:
    for killed in jobs.values():
        assert len(killed[0]["points"]) >= LEAST_POINTS
        assert len(killed) == 1 + len(killed[0]["points"])
    points = jobs["second"][0]["points"]
    # Kills fall between two tenants' parts of one commit, too.
    assert ("tenant commit: after", "tenant commit: before") in pairwise(points)
    assert set(points) >= {
        "ledger claim: before",
        "ledger claim: before commit",
        "ledger claim: after commit",
        "index put: before",
        "index put: after",
        "index remove: before",
        "index remove: after",
        "index commit: before",
        "tenant commit: before",
        "tenant commit: after",
        "index commit: after",
        "ledger stored: before commit",
        "ledger stored: after commit",
    }


def test_every_killed_run_repeated_ends_equal_passage_for_passage(
    runs: list[dict[str, Any]],
) -> None:
    expected = runs[0]["outcome"]
    for run in runs[1:]:
        where = f"killed at {run['at']} ({run['name']})"
        assert run["signal"] == signal.SIGKILL, where
        assert run["repeated"] == 0, where
        assert run["outcome"] == expected, where


def test_a_killed_run_leaves_whole_versions_only(runs: list[dict[str, Any]]) -> None:
    for run in runs[1:]:
        for tenant, passages in run["between"].items():
            by_document: dict[str, list[tuple[int, int, int, str]]] = {}
            for document, number, text, start, end in passages:
                by_document.setdefault(document, []).append((number, start, end, text))
            for document, parts in by_document.items():
                where = f"{tenant}/{document} after {run['name']} ({run['at']})"
                assert [part[0] for part in parts] == list(range(len(parts))), where
                joined = "".join(part[3] for part in parts)
                said = [f"{document} says sentence {i} here." for i in range(len(parts))]
                assert joined == " ".join(said), where
