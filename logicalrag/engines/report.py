"""A search's result in the shape that every interface gives it: a contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logicalrag.engines.protocol import ClauseCount, Hit, SearchResult
from logicalrag.query.errors import ExpressionError, Notice


def search_report(
    result: SearchResult, canonical: str, notices: Sequence[Notice]
) -> dict[str, Any]:
    """Return ``hits, relation, fraction, canonical, notices, results``, best result first.

    Each result is ``{id, document_id, title, text, score}``, with ``location`` and ``metadata``
    where it has them; clause and leave-one-out counts are added where the engine was asked for
    them.
    """
    report: dict[str, Any] = {
        "hits": result.count.hits,
        "relation": result.count.relation,
        "fraction": result.count.fraction,
        "canonical": canonical,
        "notices": [
            {
                "code": notice.code,
                "message": notice.message,
                "position": notice.position,
                "end": notice.end,
            }
            for notice in notices
        ],
        "results": [_hit(hit) for hit in result.hits],
    }
    if result.clause_counts:
        report["clauses"] = _counts(result.clause_counts)
    if result.leave_one_out:
        report["leave_one_out"] = _counts(result.leave_one_out)
    return report


def error_report(error: ExpressionError) -> dict[str, Any]:
    """Return ``{"error": {code, message, position, end, hint}}``."""
    return {"error": dict(error.as_data())}


def _hit(hit: Hit) -> dict[str, Any]:
    passage = hit.passage
    report: dict[str, Any] = {
        "id": passage.id,
        "document_id": passage.document_id,
        "title": passage.title,
        "text": passage.text,
        "score": hit.score,
    }
    if passage.location:
        report["location"] = passage.location
    if passage.metadata:
        report["metadata"] = {name: list(values) for name, values in passage.metadata.items()}
    return report


def _counts(counts: Sequence[ClauseCount]) -> list[dict[str, Any]]:
    return [
        {"canonical": part.canonical, "hits": part.count.hits, "fraction": part.count.fraction}
        for part in counts
    ]
