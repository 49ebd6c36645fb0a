"""The command as a user runs it: in a process of its own, in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers.elasticsearch_fixtures import elasticsearch

__all__ = ["elasticsearch"]

SECONDS = 120  # a guard against hanging, far above what any command here takes


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Command = Callable[..., Ran]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a user who has set nothing of ours, and `extra`."""
    ours = ("LOGICALRAG", "ANTHROPIC")
    kept = {n: value for n, value in os.environ.items() if not any(each in n for each in ours)}
    return {**kept, "COLUMNS": "100", "NO_COLOR": "1", **(extra or {})}


@pytest.fixture
def logicalrag(tmp_path: Path) -> Command:
    """Return a function that runs the command in `tmp_path` and returns what it left."""

    def run(*arguments: str, given: str | bytes = "", env: Mapping[str, str] | None = None) -> Ran:
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "cli", *arguments],
            cwd=tmp_path,
            input=given if isinstance(given, bytes) else given.encode(),
            capture_output=True,
            check=False,
            timeout=SECONDS,
            env=environment({**(env or {}), "PYTHONPATH": str(Path(__file__).parents[2])}),
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of mixed files: text, Markdown, HTML, JSONL, and one that is damaged."""
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "decision.md").write_text(
        "# ADR-016 Workspaces\n\nWorkspaces are cached. The error ERR_CONN_RESET is retried "
        "three times.\n"
    )
    (notes / "deep" / "page.html").write_text(
        "<html><head><title>Ottone in villa</title></head><body><p>Ottone in villa is an opera by "
        "Antonio Vivaldi.</p><p>It was first performed in Vicenza on 17 May 1713.</p>"
        "<script>ignored()</script></body></html>"
    )
    (notes / "plain.txt").write_bytes("Café orders close at 10:30.".encode("latin-1"))
    (notes / "lines.jsonl").write_text(
        '{"id": "a", "title": "Alcina", "text": "Alcina is an opera by Handel."}\n'
        "{broken\n"
        '{"id": "b", "title": "Empty", "text": "  "}\n'
        '{"id": "c", "title": "Orlando", "text": "Orlando furioso is an opera by Vivaldi."}\n'
    )
    return notes
