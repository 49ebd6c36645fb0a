"""Recorded expressions: how they are read, and how far two indices' answers are apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from logicalrag.agent.actions import Abstain, Count, Search
from logicalrag.agent.report import session_report
from logicalrag.engines.elastic.replay import (
    MAX_EXPRESSIONS,
    ExpressionFileError,
    Replayed,
    compared,
    drift_of,
    read_expressions,
)
from tests.unit.sessions import session


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "expressions.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_lines_are_expressions_each_once_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, '\ufeff# recorded\nb AND c\r\n\n  "a b"  \nb AND c\n')
    assert read_expressions(path) == ("b AND c", '"a b"')


def test_of_a_report_what_was_searched_and_counted_is_taken_but_not_what_was_refused(
    tmp_path: Path,
) -> None:
    state = session(
        [
            Search("ottone AND vivaldi", evidence_needed="the place"),
            Search("(unclosed"),
            Count(("handel", "vivaldi OR")),
            Search("ottone AND vivaldi", evidence_needed="the place"),
            Abstain("insufficient_evidence"),
        ]
    )
    report = {"id": 1, "question": "?", **session_report(state)}
    path = written(tmp_path, json.dumps(report) + "\nalpha\n")
    assert read_expressions(path) == ("ottone AND vivaldi", "handel", "alpha")


def test_an_empty_file_has_none(tmp_path: Path) -> None:
    assert read_expressions(written(tmp_path, "")) == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("alpha\n(beta\n", r"expressions\.txt:2: "),
        ("{", ":1: the line is no report .* it is no JSON object"),
        ('{"trace": 3}', ":1: .* it has no trace"),
        ("{}", ":1: .* it has no trace"),
        ('{"trace": [3]}', ":1: .* a bad turn"),
        ('{"trace": [{"counts": 3}]}', ":1: .* a bad turn"),
        ('{"trace": [{"counts": ["a"]}]}', ":1: .* a bad turn"),
        ('{"trace": [{"expression": 3}]}', ":1: .* an expression is no text"),
        ('{"trace": [{"expression": "(a"}]}', ":1: "),
        (b"\xff\xfe", "cannot be read: it is no UTF-8 text"),
        ("\n".join(f"word{n}" for n in range(MAX_EXPRESSIONS + 1)), "more than 10,000 expressions"),
    ],
)
def test_what_is_no_expression_is_said_with_its_line(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    with pytest.raises(ExpressionFileError, match=said):
        read_expressions(written(tmp_path, content))


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ExpressionFileError, match="cannot be read: No such file"):
        read_expressions(tmp_path / "none")


def answer(hits: int, ids: range) -> dict[str, Any]:
    found = [{"_id": f"{each:024}"} for each in ids]
    return {"hits": {"total": {"value": hits, "relation": "eq"}, "hits": found}}


@pytest.mark.parametrize(
    ("before", "after", "drift", "is_changed"),
    [
        ((30, range(20)), (30, range(20)), 0.0, False),
        ((0, range(0)), (0, range(0)), 0.0, False),
        ((30, range(20)), (31, range(20)), 1.0, True),
        # The old first ten are not in the new twenty, the new first ten are in the old twenty.
        ((30, range(20)), (30, range(10, 30)), 0.5, True),
        ((40, range(20)), (40, range(20, 40)), 1.0, True),
        ((30, range(20)), (30, range(5, 25)), 0.25, True),
        ((30, range(20)), (30, range(19, -1, -1)), 0.0, True),
        ((3, range(3)), (3, range(2, -1, -1)), 0.0, True),
    ],
)
def test_drift(
    before: tuple[int, range], after: tuple[int, range], drift: float, is_changed: bool
) -> None:
    found = compared("a", answer(*before), answer(*after))
    assert (found.drift, found.is_changed) == (drift, is_changed)


def test_the_drift_of_several_is_their_mean() -> None:
    def drifting(drift: float) -> Replayed:
        return Replayed("a", 1, 1, (), (), drift)

    assert drift_of(()) == 0.0
    assert drift_of([drifting(1.0), drifting(0.0), drifting(0.5), drifting(0.5)]) == 0.5
