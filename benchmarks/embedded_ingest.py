"""`embedded-ingest`: the whole command over 100,000 passages, beside a bare tantivy-py loop."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.corpora import PASSAGES, write_passages
from benchmarks.harness import Ratio, Report, median_pairs

ROUNDS = 3
MAX_PRIVATE_MB = 600
# Private memory after a third of the run against that at its end: flat, but for noise.
MAX_GROWTH = 1.15
_SAMPLE_SECONDS = 0.05


def run() -> Report:
    """Measure both, in turn, each in a process of its own."""
    memory: list[list[int]] = []
    cpu: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        passages = Path(folder) / "passages.jsonl"
        write_passages(passages)

        def ours() -> float:
            with tempfile.TemporaryDirectory() as index:
                seconds, samples = _whole_command(passages, Path(index))
            memory.append(samples)
            return PASSAGES / seconds

        def theirs() -> float:
            with tempfile.TemporaryDirectory() as index:
                bare = _bare_loop(passages, Path(index), "simple")
            cpu.append(bare["cpu_seconds"])
            return PASSAGES / bare["seconds"]

        our_rate, bare_rate, ratio = median_pairs(ours, theirs, ROUNDS)
        with tempfile.TemporaryDirectory() as index:
            same_words = PASSAGES / _bare_loop(passages, Path(index), "rule")["seconds"]
    peak = max(max(samples) for samples in memory)
    growth = max(_growth(samples) for samples in memory)
    return Report(
        "embedded-ingest",
        {
            "rate / bare tantivy loop": Ratio(ratio, 0.5, "at_least"),
            "peak private memory (MB)": Ratio(peak / 1e6, MAX_PRIVATE_MB, "at_most"),
            "memory at the end / after a third": Ratio(growth, MAX_GROWTH, "at_most"),
        },
        {
            "bare loop (passages a second)": round(bare_rate),
            "bare loop (CPU microseconds a passage)": round(1e6 * min(cpu) / PASSAGES, 1),
            "bare loop with our token rule (passages a second, one run)": round(same_words),
            "ours (passages a second)": round(our_rate),
        },
        f"Median of {ROUNDS} pairs over {PASSAGES} passages (2wikimultihopqa copied with unique "
        "ids). Ours: `logicalrag ingest --chunk-mode passage` into a new folder, the whole process "
        "from start to exit, ledger included. Bare: first document to merged commit, reading and "
        "parsing left out; with tantivy's simple tokenizer, and for comparison with our token rule "
        "as its regular expression. Memory: private pages of our process, sampled from the kernel.",
    )


def _whole_command(passages: Path, index: Path) -> tuple[float, list[int]]:
    """Return seconds of the whole process and samples of its private bytes."""
    samples: list[int] = []
    options = ["--index", str(index), "--chunk-mode", "passage"]
    began = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "cli", "ingest", str(passages), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        while True:
            try:
                process.wait(_SAMPLE_SECONDS)
                break
            except subprocess.TimeoutExpired:
                samples.append(_private_bytes(process.pid))
        seconds = time.perf_counter() - began
    if process.returncode != 0:
        sys.exit("error: logicalrag ingest failed")
    return seconds, [sample for sample in samples if sample]


def _private_bytes(pid: int) -> int:
    """Return the private pages of a process in bytes; 0 where it has just ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return 1024 * sum(
        int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_")
    )


def _growth(samples: list[int]) -> float:
    third = len(samples) // 3
    return max(samples[2 * third :]) / max(samples[third : 2 * third])


def _bare_loop(passages: Path, index: Path, tokenizer: str) -> dict[str, float]:
    done = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "benchmarks.bare_tantivy", str(passages), str(index), tokenizer],
        capture_output=True,
        text=True,
        check=True,
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured
