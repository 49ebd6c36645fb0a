"""Which values a declared field has among some passages, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import nsmallest
from typing import Any

from logicalrag.engines.elastic.answers import Answer
from logicalrag.engines.elastic.fields import Query
from logicalrag.engines.elastic.layout import DATE_FORMAT
from logicalrag.engines.elastic.reading import Reading, Search
from logicalrag.engines.metadata import FieldKind, Value, kind_of
from logicalrag.engines.protocol import ValueCount

# Of a field with fewer values one search is exact: every shard tells all of them.
_OF_A_SHARD = 10_000
_PAGE = 10_000


def most_frequent(reading: Reading, field: str, query: Query, limit: int) -> tuple[ValueCount, ...]:
    """Return at most `limit` values among a query's hits, by (−hits, value).

    Linear in the number of distinct values.
    """
    name = reading.fields.metadata(field)
    kind = kind_of(field, reading.fields.metadata_schema)
    order = [{"_count": "desc"}, {"_key": "asc"}]
    terms = {"field": name, "size": limit, "shard_size": _OF_A_SHARD, "order": order}
    if kind == "date":
        terms["format"] = DATE_FORMAT
    (answer,) = reading.ask(_search(query, {"terms": terms}))
    found = answer["aggregations"]["values"]
    if found["doc_count_error_upper_bound"]:
        every = _every(reading, name, kind, query)
        return tuple(nsmallest(limit, every, key=lambda each: (-each.hits, each.value)))
    return tuple(
        ValueCount(_value(kind, bucket.get("key_as_string", bucket["key"])), bucket["doc_count"])
        for bucket in found["buckets"]
    )


def _every(reading: Reading, name: str, kind: FieldKind, query: Query) -> Iterator[ValueCount]:
    source: dict[str, Any] = {"field": name}
    if kind == "date":
        source["format"] = DATE_FORMAT
    pages: Query = {"size": _PAGE, "sources": [{"value": {"terms": source}}]}
    while True:
        (answer,) = reading.ask(_search(query, {"composite": pages}))
        buckets = _buckets(answer)
        for bucket in buckets:
            yield ValueCount(_value(kind, bucket["key"]["value"]), bucket["doc_count"])
        if len(buckets) < _PAGE:
            return
        pages["after"] = buckets[-1]["key"]


def _search(query: Query, values: Query) -> Search:
    return Search(
        {"size": 0, "track_total_hits": False, "query": query, "aggs": {"values": values}}
    )


def _buckets(answer: Answer) -> list[Mapping[str, Any]]:
    buckets: list[Mapping[str, Any]] = answer["aggregations"]["values"]["buckets"]
    return buckets


def _value(kind: FieldKind, key: object) -> Value:
    return float(str(key)) if kind == "number" else str(key)
