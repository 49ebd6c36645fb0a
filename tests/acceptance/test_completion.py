"""Shell completion, in a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import SECONDS, environment

BASH = shutil.which("bash") or ""
pytestmark = pytest.mark.skipif(not BASH, reason="needs bash")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home whose bin/ holds the command, as an installation makes it."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "logicalrag"
    command.write_text(f"#!{sys.executable}\nfrom cli.main import run\nrun()\n")
    command.chmod(0o755)
    return tmp_path


def bash(home: Path, script: str, *options: str) -> list[str]:
    """Run a script and return the lines of its standard output."""
    done = subprocess.run(  # noqa: S603 - our own script
        [BASH, *options, "-c", script],
        cwd=home,
        input="",
        capture_output=True,
        check=True,
        timeout=SECONDS,
        text=True,
        env=environment(
            {
                "HOME": str(home),
                "PATH": f"{home / 'bin'}:/usr/bin:/bin",
                "PYTHONPATH": str(Path(__file__).parents[2]),
            }
        ),
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (("wh",), ["why-not"]),
        (("", ), ["ingest", "delete", "search", "ask", "why-not", "stats", "index", "attach",
                  "reconcile", "doctor", "config", "demo"]),
        (("index", ""), ["create", "list", "rebuild", "swap", "drop"]),
        (("search", "--eng"), ["--engine"]),
        (("ask", "--planner", ""), ["offline", "anthropic", "scripted"]),
        (("ask", "--prompt", "s"), ["syntax-only"]),
        (("ask", "--max-"), ["--max-cost", "--max-tokens", "--max-seconds"]),
        (("ingest", "--analysis", ""), ["english", "standard"]),
        (("ingest", "--chunk-mode", "p"), ["passage"]),
    ],
)  # fmt: skip
def test_words_are_completed(home: Path, words: tuple[str, ...], completed: list[str]) -> None:
    typed = " ".join(f"'{word}'" for word in words)
    script = f"""
        eval "$(logicalrag --show-completion)"
        COMP_WORDS=(logicalrag {typed})
        COMP_CWORD={len(words)}
        _logicalrag_completion logicalrag
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    assert bash(home, script) == completed


def test_completion_is_installed_for_the_next_shell(home: Path) -> None:
    assert "bash completion installed" in bash(home, "logicalrag --install-completion; true")[0]
    loaded = bash(home, "complete -p logicalrag", "--rcfile", str(home / ".bashrc"), "-i")
    assert loaded == ["complete -o default -F _logicalrag_completion logicalrag"]
