"""Distinct documents, counted exactly: page by page through their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from logicalrag.engines.elastic.answers import Answer, total
from logicalrag.engines.elastic.compiler import Conditions, Part, select
from logicalrag.engines.elastic.counting import View, count_search, counts_of, counts_searches
from logicalrag.engines.elastic.fields import Fields, Query
from logicalrag.engines.elastic.reading import Reading, Search
from logicalrag.query.nodes import Node

PAGE = 10_000
# A server gives at most 65,536 buckets, those inside others counted.
_BUCKETS = 60_000


def page_search(fields: Fields, query: Query, size: int = PAGE, after: str | None = None) -> Search:
    """Return the search for the first keys of a query's documents, or for those after a key."""
    return Search(_page_body(fields, query, size, after))


def distinct(reading: Reading, query: Query, first: Answer) -> int:
    """Return how many documents have a match.

    Args:
        first: the answer to `page_search`.
    """
    return sum(len(keys) for keys in _pages(reading, query, PAGE, first))


def holding_all(reading: Reading, view: View, trees: Sequence[Node]) -> int:
    """Return how many documents of a view have a match of each of 1 to 32 trees."""
    fields = reading.fields
    queries = [view.query(fields, tree) for tree in trees]
    counts = counts_of(view, reading.ask(*counts_searches(view, queries)))
    rarest, *others = sorted(range(len(queries)), key=counts.__getitem__)
    if counts[rarest] == 0:
        return 0
    if fields.document is None:  # one passage has to fulfil all
        (answer,) = reading.ask(count_search(select(view.conditions, Conditions(queries))))
        return total(answer)
    size = min(PAGE, _BUCKETS // len(queries))
    return sum(
        _held_by_all(reading, view, keys, [queries[at] for at in others]) if others else len(keys)
        for keys in _pages(reading, queries[rarest], size)
    )


def _pages(
    reading: Reading, query: Query, size: int, first: Answer | None = None
) -> Iterator[list[str]]:
    answer = first or reading.ask(page_search(reading.fields, query, size))[0]
    while True:
        keys = [str(bucket["key"]["document"]) for bucket in _buckets(answer)]
        yield keys
        if len(keys) < size:
            return
        answer = reading.ask(page_search(reading.fields, query, size, keys[-1]))[0]


def _held_by_all(reading: Reading, view: View, keys: Sequence[str], queries: Sequence[Part]) -> int:
    """Return how many of these documents have a match of each query."""
    fields = reading.fields
    if not keys:
        return 0
    within: Query = {"terms": {fields.document: list(keys)}}
    query = {"bool": {"filter": [select(view.conditions), within]}}
    body = _page_body(fields, query, len(keys))
    body["aggs"]["documents"]["aggs"] = {"trees": {"filters": {"filters": list(queries)}}}
    (answer,) = reading.ask(Search(body))
    return sum(
        all(tree["doc_count"] for tree in bucket["trees"]["buckets"]) for bucket in _buckets(answer)
    )


def _page_body(fields: Fields, query: Query, size: int, after: str | None = None) -> Query:
    pages: Query = {
        "size": size,
        "sources": [{"document": {"terms": {"field": fields.document}}}],
    }
    if after is not None:
        pages["after"] = {"document": after}
    return {
        "size": 0,
        "track_total_hits": False,
        "query": query,
        "aggs": {"documents": {"composite": pages}},
    }


def _buckets(answer: Answer) -> Sequence[Query]:
    buckets: Sequence[Query] = answer["aggregations"]["documents"]["buckets"]
    return buckets
