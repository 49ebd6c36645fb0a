"""`chunking`: documents into chunks by exact token counts, beside langchain and llama-index."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import orjson

from benchmarks.data import data_folder
from benchmarks.harness import Ratio, Report, measured_versions

SIZE = 512
ROUNDS = 3
PASSAGES_A_DOCUMENT = (10, 30, 100)
SEEN, NEW = ("hotpotqa", "musique"), ("2wikimultihopqa",)
ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / ".venv-competitors" / "bin" / "python"
REQUIREMENTS = "benchmarks/competitors/chunking.txt"
_CPU = "megabytes a CPU second"


def run() -> Report:
    """Measure all splitters in one process of the other libraries' environment."""
    if not PYTHON.is_file():
        sys.exit(
            "error: this benchmark needs the other libraries; make them with `python -m venv "
            f".venv-competitors && .venv-competitors/bin/pip install -r {REQUIREMENTS}`"
        )
    measured = _measured()
    runs: list[dict[str, dict[str, float]]] = measured["runs"]

    def median(name: str, figure: str = _CPU) -> float:
        return statistics.median(run[name][figure] for run in runs)

    def ratio(name: str) -> float:
        return statistics.median(run["exact"][_CPU] / run[name][_CPU] for run in runs)

    over = sum(run[name]["chunks over the limit"] for run in runs for name in ("exact", "default"))
    return Report(
        "chunking",
        {
            "exact cl100k tokens (MB a CPU second)": Ratio(median("exact"), 9, "at_least"),
            "exact / langchain recursive": Ratio(ratio("langchain"), 2, "at_least"),
            "exact / llama-index sentences": Ratio(ratio("llama-index"), 4, "at_least"),
            "chunks over the limit": Ratio(over, 0, "at_most"),
        },
        {
            **{f"{name} (MB a CPU second)": round(median(name), 2) for name in runs[0]},
            **{
                f"{name} (MB a second)": round(median(name, "megabytes a second"), 2)
                for name in runs[0]
            },
            **{f"{name} (chunks)": round(median(name, "chunks")) for name in runs[0]},
            **{f"{name} (mean tokens)": round(median(name, "mean tokens")) for name in runs[0]},
        },
        f"Median of {ROUNDS} rounds, all in turn in one process, chunks of at most {SIZE} tokens "
        f"without overlap; ratios round by round, by CPU time. Text: passages of {', '.join(NEW)}, "
        f"a third each joined by {', '.join(map(str, PASSAGES_A_DOCUMENT))}. `exact`: a counter "
        f"that has met {', '.join(SEEN)} and never the measured text; `cold`: one that has met "
        "none; `default`: the token rule, by its own tokens. Chunks are counted again one by one.",
        {**measured_versions(), **measured["versions"]},
    )


def _measured() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.json"
        path.write_text(json.dumps({"seen": _documents(SEEN), "new": _documents(NEW)}))
        done = subprocess.run(  # noqa: S603 - our own module
            [PYTHON, "-m", "benchmarks.competitors.chunking", path, str(SIZE), str(ROUNDS)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        sys.exit(f"error: the comparison failed; is {REQUIREMENTS} installed?\n{done.stderr}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _documents(names: tuple[str, ...]) -> list[str]:
    """Return the passages of data sets as documents, a third of them in each size."""
    passages: list[str] = []
    for name in names:
        lines = (data_folder() / name / "corpus.jsonl").read_bytes().splitlines()
        passages += [orjson.loads(line)["text"] for line in lines]
    documents: list[str] = []
    for turn, number in enumerate(PASSAGES_A_DOCUMENT):
        third = passages[turn :: len(PASSAGES_A_DOCUMENT)]
        documents += [
            "\n\n".join(third[start : start + number]) for start in range(0, len(third), number)
        ]
    return documents
