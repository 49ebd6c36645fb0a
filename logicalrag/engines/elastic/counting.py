"""Exact counts: what a caller sees, and how many of that fulfil each of several queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from logicalrag.engines.elastic.answers import Answer, total
from logicalrag.engines.elastic.compiler import Conditions, Part, compile_unscored, select
from logicalrag.engines.elastic.conditions import compile_filters
from logicalrag.engines.elastic.fields import Fields, Query
from logicalrag.engines.elastic.reading import Reading, Search
from logicalrag.engines.elastic.recent import Recent
from logicalrag.engines.metadata import Filter
from logicalrag.engines.protocol import Count, Visibility
from logicalrag.query.nodes import Node

_VIEWS = 256
# More in one search cost more than a second search does, and its query is bounded as well.
_COUNTS_A_SEARCH = 1024

_Caller = tuple[str, Visibility, tuple[Filter, ...], str | None]


@dataclass(slots=True)
class View:
    """What one caller sees at one generation, within the filters of a call.

    Args:
        conditions: leave only those passages.
        visible: how many these are; None where nobody has counted yet.
    """

    conditions: Conditions
    visible: int | None = None

    def query(self, fields: Fields, tree: Node | None = None) -> Query:
        """Return the unscored query of a tree's hits (None: everything) in this view."""
        return compile_unscored(fields, tree, self.conditions)


class Views:
    """Remembers views. Safe to share between threads."""

    def __init__(self) -> None:
        self._views: Recent[_Caller, View] = Recent(_VIEWS)

    def of(
        self,
        reading: Reading,
        visibility: Visibility,
        filters: Sequence[Filter] = (),
        within: str | None = None,
    ) -> View:
        """Return what a caller sees.

        Args:
            filters: checked ones.
            within: the id of the only document to look at; None for all.
        """
        caller = (reading.generation, visibility, tuple(filters), within)
        known = self._views.get(caller)
        if known is not None:
            return known
        fields = reading.fields
        seen, compiled = Conditions(*fields.visible(visibility)), compile_filters(fields, filters)
        must = [*seen.must, *compiled.must]
        if within is not None:
            must.append(fields.of_document(visibility.tenant, within))
        return self._views.put(
            caller, View(Conditions(_dumped(must), _dumped([*seen.must_not, *compiled.must_not])))
        )


def count_search(query: Query) -> Search:
    """Return the search that counts a query's hits; `answers.total` reads it."""
    return Search({"size": 0, "track_total_hits": True, "query": query})


def counts_searches(view: View, queries: Sequence[Part]) -> list[Search]:
    """Return the searches that count how many of a view fulfil each query, and how many it is."""
    seen = select(view.conditions)
    return [
        Search(
            {
                "size": 0,
                "track_total_hits": True,
                "query": seen,
                "aggs": {"counts": {"filters": {"filters": queries[at : at + _COUNTS_A_SEARCH]}}},
            }
        )
        for at in range(0, len(queries), _COUNTS_A_SEARCH)
    ]


def counts_of(view: View, answers: Sequence[Answer]) -> list[int]:
    """Return the counts that the answers to `counts_searches` tell; the view learns its own."""
    for answer in answers:
        view.visible = total(answer)
    return [
        int(bucket["doc_count"])
        for answer in answers
        for bucket in answer["aggregations"]["counts"]["buckets"]
    ]


def count_of(hits: int, visible: int) -> Count:
    """Return an exact count with its share of what is visible."""
    return Count(hits, "eq", hits / visible if visible else 0.0)


def _dumped(queries: Sequence[Part]) -> list[Part]:
    return [orjson.Fragment(orjson.dumps(query)) for query in queries]
