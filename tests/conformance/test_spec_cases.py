"""The specification's machine-readable cases: exact ids on every engine, errors before any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from logicalrag.engines.protocol import SearchEngine, SearchResult
from logicalrag.query.errors import ExpressionError
from logicalrag.query.parser import parse
from tests.conformance.documents import EVERYONE, read_corpus, serving
from tests.conformance.indices import NewIndex

Case = dict[str, Any]


@pytest.fixture(scope="module")
def cases(shared: Path) -> list[Case]:
    """Return every case of the specification."""
    lines = (shared / "spec" / "expressions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


# No case depends on stems: both analyses give the same answers.
@pytest.fixture(params=["english", "standard"])
def engine(
    request: pytest.FixtureRequest, new_index: NewIndex, shared: Path
) -> Iterator[SearchEngine]:
    """Return an engine over T16, of each analysis."""
    index = new_index(analysis=request.param)
    with serving(index, read_corpus(shared / "spec" / "t16-corpus.jsonl")) as opened:
        yield opened


def source(case: Case) -> str:
    """Return the expression of a case, spelt out."""
    if "expression_repeat" in case:
        before, times, middle, after, times_after = case["expression_repeat"]
        return str(before * times + middle + after * times_after)
    if "expression_join" in case:
        text, separator, times = case["expression_join"]
        return str(separator.join([text] * times))
    return str(case["expression"])


def execute(engine: SearchEngine, case: Case) -> tuple[SearchResult, list[str]]:
    """Parse and search as every caller does; return the result and the codes of the notices."""
    parsed = parse(source(case), case.get("default_operator", "OR"))
    result = engine.search(parsed.tree, EVERYONE, limit=1000, documents=True)
    return result, [notice.code for notice in parsed.notices]


def test_there_are_cases_of_both_kinds(cases: list[Case]) -> None:
    assert sum("ids" in case for case in cases) >= 50
    assert sum("error" in case for case in cases) >= 35


def test_answers(engine: SearchEngine, cases: list[Case]) -> None:
    wrong: list[tuple[str, object, object]] = []
    for case in (case for case in cases if "ids" in case):
        result, notices = execute(engine, case)
        got = sorted(hit.passage.document_id for hit in result.hits)
        if got != case["ids"]:
            wrong.append((source(case), got, case["ids"]))
        assert result.count.hits == result.documents == len(got) == case["hits"], case
        assert result.count.relation == "eq"
        assert result.count.fraction == case["hits"] / 16
        assert (result.visible, case.get("notice")) == (16, case.get("notice"))
        if "notice" in case:
            assert case["notice"] in notices, case
    assert wrong == []


def test_counts_in_batches(engine: SearchEngine, cases: list[Case]) -> None:
    accepted = [case for case in cases if "ids" in case]
    for start in range(0, len(accepted), 32):
        batch = accepted[start : start + 32]
        trees = [parse(source(case), case["default_operator"]).tree for case in batch]
        result = engine.count(trees, EVERYONE)
        assert [count.hits for count in result.counts] == [case["hits"] for case in batch]


def test_no_engine_is_called_for_an_error(cases: list[Case]) -> None:
    engine = create_autospec(SearchEngine, instance=True)
    for case in (case for case in cases if "error" in case):
        with pytest.raises(ExpressionError) as raised:
            execute(engine, case)
        assert raised.value.code == case["error"], source(case)[:80]
        if "position" in case:
            assert raised.value.position == case["position"], source(case)[:80]
    assert engine.mock_calls == []
