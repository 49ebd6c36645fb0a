"""A command imports what it uses: what starts it stays short."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.source_tree import ROOT

READERS = ("ingest.pipeline", "ingest.readers", "bs4", "markdown_it", "docx", "pypdfium2")
PLANNERS = ("logicalrag.agent.planners.offline", "logicalrag.agent.planners.model_driven")
MODEL = ("anthropic", "httpx", "logicalrag.agent.planners.model_driven")


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        ("search", (*READERS, *PLANNERS, *MODEL, "rich.markdown")),
        ("stats", (*READERS, *PLANNERS, *MODEL)),
        ("why-not", (*READERS, *PLANNERS, *MODEL)),
        ("ask", (*READERS, *MODEL)),
        ("ingest", (*PLANNERS, *MODEL, "pypdfium2")),
        ("doctor", MODEL),
    ],
)
def test_a_command_leaves_out_what_it_does_not_use(command: str, absent: tuple[str, ...]) -> None:
    program = f"import sys, cli.main; cli.main.load({command!r}); print(*sys.modules)"
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "cli.main" in loaded
    assert loaded & set(absent) == set()
