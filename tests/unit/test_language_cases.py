"""Every case of the specification, over its sixteen documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from logicalrag.engines.analysis import stem
from logicalrag.query.errors import ExpressionError
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from logicalrag.query.simplify import simplify
from logicalrag.query.tokens import tokenize
from tests.unit.semantics import Document, hits

_FEWEST_CASES = 90


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _expression(case: dict[str, Any]) -> str:
    if "expression_repeat" in case:
        first, times, middle, last, last_times = case["expression_repeat"]
        return str(first * times + middle + last * last_times)
    if "expression_join" in case:
        text, separator, times = case["expression_join"]
        return str(separator.join([text] * times))
    return str(case["expression"])


@pytest.fixture(scope="module")
def cases(shared: Path) -> list[dict[str, Any]]:
    return _lines(shared / "spec" / "expressions.jsonl")


@pytest.fixture(scope="module")
def corpus(shared: Path) -> list[dict[str, Any]]:
    return _lines(shared / "spec" / "t16-corpus.jsonl")


@pytest.fixture(scope="module")
def documents(corpus: list[dict[str, Any]]) -> list[Document]:
    return [Document(tuple(tokenize(d["title"])), tuple(tokenize(d["text"]))) for d in corpus]


def test_repeated_and_joined_expressions_are_spelled_out() -> None:
    assert _expression({"expression_repeat": ["(", 2, "a", ")", 2]}) == "((a))"
    assert _expression({"expression_join": ["a", " OR ", 3]}) == "a OR a OR a"


def test_the_cases_are_all_there(cases: list[dict[str, Any]]) -> None:
    assert len(cases) >= _FEWEST_CASES
    assert sum("error" in case for case in cases) > 30


def test_every_error_has_its_code_and_place(cases: list[dict[str, Any]]) -> None:
    wrong = []
    for case in cases:
        if "error" not in case:
            continue
        with pytest.raises(ExpressionError) as caught:
            parse(_expression(case), case.get("default_operator", "OR"))
        error = caught.value
        position = case.get("position", error.position)
        if (error.code, error.position) != (case["error"], position):
            wrong.append((case, error.as_data()))
    assert wrong == []


def test_every_expression_has_exactly_its_hits(
    cases: list[dict[str, Any]], corpus: list[dict[str, Any]], documents: list[Document]
) -> None:
    wrong = []
    for case in cases:
        if "error" in case:
            continue
        parsed = parse(_expression(case), case["default_operator"])
        found = sorted(corpus[number]["id"] for number in hits(parsed.tree, documents, stem))
        if (found, len(found)) != (case["ids"], case["hits"]):
            wrong.append((case, found))
        assert hits(simplify(parsed.tree), documents, stem) == hits(parsed.tree, documents, stem)
        assert parse(canonical(parsed.tree), canonical=True).tree == parsed.tree
    assert wrong == []


def test_every_notice_is_given(cases: list[dict[str, Any]]) -> None:
    checked = 0
    for case in cases:
        if "notice" in case:
            notices = parse(_expression(case), case["default_operator"]).notices
            assert case["notice"] in [notice.code for notice in notices], case
            checked += 1
    assert checked >= 4
