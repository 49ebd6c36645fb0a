"""`offline-planner`: evidence found, answers and refusals over real multi-hop questions.

Everything goes through the command line, as a user would: ``ingest`` of a data set's passages,
``ask --batch`` of its questions, and again with each question's gold passages hidden.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import data_folder
from benchmarks.harness import Ratio, Report

MAX_SHOWN = 10
MAX_ANSWER_CHARACTERS = 400
TARGETS = {
    "hotpotqa": {"gold_shown": 0.95, "balance": 0.79, "gold_in_answer": 0.50},
    "musique": {"gold_shown": 0.78, "balance": 0.79, "gold_in_answer": 0.25},
}


@dataclass(frozen=True, slots=True)
class Measures:
    """Shares over one set of questions, each 0 to 1; `most_shown` passages, `longest` characters.

    `correct_of_answered` is the share of answers that hold a gold string, among those given with
    the gold present.
    """

    gold_shown: float
    answered_present: float
    abstained_hidden: float
    gold_in_answer: float
    correct_of_answered: float
    certified_hidden: float
    most_shown: int
    longest: int
    searching_turns: float

    @property
    def balance(self) -> float:
        """Half of: answered with the gold present, plus abstained with all gold hidden."""
        return (self.answered_present + self.abstained_hidden) / 2


def measure(questions: Path, corpus: Path) -> Measures:
    """Ingest `corpus` in passage mode, ask every question twice and return the measures."""
    asked = [json.loads(line) for line in questions.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        _command("ingest", str(corpus), "--index", str(index), "--chunk-mode", "passage")
        present = _ask(asked, index, hide=False)
        hidden = _ask(asked, index, hide=True)
    shown = [_shown(report) for report in present]
    found = [
        len(set(question["gold_ids"]) & documents) / len(set(question["gold_ids"]))
        for question, documents in zip(asked, shown, strict=True)
    ]
    answers = [report["answer"] or "" for report in present]
    held = [
        any(gold.casefold() in answer.casefold() for gold in question["answers"])
        for question, answer in zip(asked, answers, strict=True)
    ]
    answered = sum(report["outcome"] == "answered" for report in present)
    refused = [report for report in hidden if report["outcome"] == "abstained"]
    return Measures(
        gold_shown=sum(found) / len(asked),
        answered_present=answered / len(asked),
        abstained_hidden=len(refused) / len(asked),
        gold_in_answer=sum(held) / len(asked),
        correct_of_answered=sum(held) / max(1, answered),
        certified_hidden=sum(report["certificate"] is not None for report in refused) / len(asked),
        most_shown=max(map(len, shown)),
        longest=max(map(len, answers)),
        searching_turns=sum(r["usage"]["searching_turns"] for r in present) / len(asked),
    )


def run() -> Report:
    """Measure both data sets."""
    ratios: dict[str, Ratio] = {}
    reference: dict[str, float | str] = {}
    for name, targets in TARGETS.items():
        folder = data_folder() / name
        measures = measure(folder / "questions.jsonl", folder / "corpus.jsonl")
        for metric, target in targets.items():
            ratios[f"{name} {metric}"] = Ratio(getattr(measures, metric), target, "at_least")
        ratios[f"{name} most passages shown"] = Ratio(measures.most_shown, MAX_SHOWN, "at_most")
        ratios[f"{name} longest answer (characters)"] = Ratio(
            measures.longest, MAX_ANSWER_CHARACTERS, "at_most"
        )
        reference |= {
            f"{name} answered with the gold present": measures.answered_present,
            f"{name} abstained with all gold hidden": measures.abstained_hidden,
            f"{name} of these with a certificate": measures.certified_hidden,
            f"{name} gold string in answers given": round(measures.correct_of_answered, 3),
            f"{name} searching turns a question": measures.searching_turns,
        }
    return Report(
        "offline-planner",
        ratios,
        reference,
        "logicalrag ingest --chunk-mode passage, then ask --batch over 50 questions a set, once "
        "as they are and once with every gold document in exclude_ids; gold_shown is the mean "
        "share of a question's gold passages among those shown, balance the mean of answering "
        "with the gold present and abstaining with all of it hidden, gold_in_answer the share of "
        "all questions whose answer holds a gold string, case apart.",
    )


def _ask(asked: list[dict[str, Any]], index: Path, *, hide: bool) -> list[dict[str, Any]]:
    lines = [
        json.dumps(
            {
                "id": question["id"],
                "question": question["question"],
                "exclude_ids": question["gold_ids"] if hide else [],
            }
        )
        for question in asked
    ]
    printed = _command("ask", "--batch", "-", "--index", str(index), given="\n".join(lines))
    return [json.loads(line) for line in printed.splitlines()]


def _shown(report: dict[str, Any]) -> set[str]:
    return {document for turn in report["trace"] for document in turn["shown"]}


def _command(*arguments: str, given: str = "") -> str:
    done = subprocess.run(  # noqa: S603 - our own command, on our own files
        [sys.executable, "-m", "cli", *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"error: logicalrag {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
