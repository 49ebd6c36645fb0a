"""Which error an answer of a cluster stands for."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from logicalrag.engines.cluster.errors import (
    AbsentError,
    BlockedError,
    ClusterBusyError,
    ClusterDeniedError,
    ClusterError,
    ShardsFailedError,
    described,
    error_of,
)

BLOCK = {"type": "cluster_block_exception", "reason": "index [a] blocked by: […]"}


@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (400, {"type": "parsing_exception", "reason": "x"}, ClusterError, False),
        (401, {"type": "security_exception", "reason": "x"}, ClusterDeniedError, False),
        (401, None, ClusterDeniedError, False),
        (403, {"type": "security_exception", "reason": "x"}, ClusterDeniedError, False),
        (403, BLOCK, BlockedError, True),
        (429, BLOCK, BlockedError, True),
        (503, BLOCK, ClusterBusyError, True),
        (403, "a proxy's own", ClusterError, False),
        (404, {"type": "index_not_found_exception", "reason": "x"}, AbsentError, False),
        (409, {"type": "version_conflict_engine_exception"}, ClusterError, False),
        (429, {"type": "circuit_breaking_exception", "reason": "x"}, ClusterBusyError, True),
        (429, None, ClusterBusyError, True),
        (500, {"type": "node_closed_exception"}, ClusterError, True),
        (502, None, ShardsFailedError, True),
        (503, {"type": "search_phase_execution_exception"}, ShardsFailedError, True),
        (504, "<html>", ShardsFailedError, True),
    ],
)
def test_kind(status: int, error: Any, kind: type[ClusterError], retryable: bool) -> None:
    found = error_of(status, None if error is None else {"error": error}, "a search")
    assert type(found) is kind
    assert (found.retryable, found.status) == (retryable, status)
    assert "a search" in str(found)
    assert str(found).count(". ") == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": {"type": "t", "reason": "r"}}, ("t", "r")),
        ({"error": {"type": "t"}}, ("t", "")),
        ({"error": {"type": "t", "reason": None}}, ("t", "")),
        ({"error": "plain"}, ("", "plain")),
        ({"error": 7}, ("", "")),
        ({}, ("", "")),
        (None, ("", "")),
        ([], ("", "")),
        ("text", ("", "text")),
        ({"error": "x" * 1000}, ("", "x" * 300)),
        ({"error": {"type": "t", "reason": "x" * 1000}}, ("t", "x" * 300)),
    ],
)
def test_an_answer_of_any_shape_is_described(body: object, expected: tuple[str, str]) -> None:
    assert described(body) == expected


def test_no_text_of_a_document_gets_into_an_error() -> None:
    reason = (
        "[1:2] failed to parse field [x] of type [long] in document with id 'a'. "
        "Preview of field's value: 'the text'"
    )
    error = error_of(400, {"error": {"type": "document_parsing_exception", "reason": reason}}, "x")
    assert "the text" not in str(error)
    assert "failed to parse field [x]" in str(error)


def test_an_error_crosses_processes() -> None:
    error = error_of(429, {"error": BLOCK}, "a bulk write")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(again) is BlockedError
    assert vars(again) == vars(error)
