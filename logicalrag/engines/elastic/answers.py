"""Several searches in one request, and why an answer that lacks a shard is no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import (
    ClusterError,
    ShardsFailedError,
    described,
    error_of,
)
from logicalrag.engines.elastic.fields import Query

Answer = Mapping[str, Any]
Lines = Sequence[tuple[Query | bytes, Query | bytes]]
"""Header and body of each search, as they are or already JSON."""

# One after the other: what comes later in the list sees at least what came earlier.
_PARAMETERS = {"max_concurrent_searches": "1"}
_WHOLE = {"allow_partial_search_results": False}


def header(index: Query, **more: str) -> bytes:
    """Return a search's header line, which demands that every shard answers.

    Args:
        index: holds ``index``.
        more: ``preference``, ``search_type``.
    """
    return orjson.dumps({**index, **_WHOLE, **more})


def answers_of(cluster: Cluster, searches: Lines, *, doing: str) -> list[Answer]:
    """Return the answer of each search, in order; run anew as a whole where a part failed.

    Args:
        searches: at least one; they run one after the other.
        doing: what is asked for, in error messages.

    Raises:
        ClusterError: of the kind of the first part that failed, after the last attempt.
    """
    body = b"\n".join(part if isinstance(part, bytes) else _line(part) for part in _flat(searches))
    most = cluster.address.attempts
    for attempt in range(1, most + 1):
        try:
            status, answer = cluster.send(
                "POST", "/_msearch", body + b"\n", parameters=_PARAMETERS, lines=True
            )
            if status >= 400:
                raise error_of(status, answer, doing)
            return _checked(answer, len(searches), doing)
        except ClusterError as error:
            if not error.retryable or attempt == most:
                raise
        cluster.wait(attempt)
    raise AssertionError("unreachable")


def total(answer: Answer) -> int:
    """Return how many passages a search found, which it was told to count."""
    found = answer["hits"]["total"]
    if found["relation"] != "eq":
        raise ClusterError("The cluster did not count all hits; is something between us and it?")
    return int(found["value"])


def _line(part: Query) -> bytes:
    return orjson.dumps({**part, **_WHOLE} if "index" in part else part)


def _flat(searches: Lines) -> Sequence[Query | bytes]:
    return [part for search in searches for part in search]


def _checked(answer: Any, expected: int, doing: str) -> list[Answer]:
    answers = answer.get("responses") if isinstance(answer, dict) else None
    if not isinstance(answers, list) or len(answers) != expected:
        raise ClusterError(f"The cluster's answer to {doing} has not the parts that were asked for")
    for each in answers:
        if "error" in each:
            raise _error(each, doing)
        if each.get("timed_out", True) or each.get("_shards", {}).get("failed", 1):
            raise ShardsFailedError(
                f"Some shards did not answer {doing}, or not in time; "
                "try again when the cluster's health is green.",
                True,
            )
    return answers


def _error(answer: Answer, doing: str) -> ClusterError:
    status = int(answer.get("status", 500))
    kind, reason = described(answer)
    if status >= 500 and kind == "search_phase_execution_exception":
        return ShardsFailedError(
            f"The shards could not finish {doing} ({reason or kind}); "
            "try again when the cluster's health is green.",
            True,
            status,
            kind,
        )
    return error_of(status, answer, doing)
