"""The reference engine's orders and counts by value: plain Python over the values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from logicalrag.engines.metadata import Sort, Value
from logicalrag.engines.protocol import Passage, ValueCount


def in_order(passages: Iterable[Passage], sort: Sort) -> list[Passage]:
    """Return passages by their largest value, or by their smallest where the order ascends."""

    def extreme(passage: Passage) -> Value:
        values: Sequence[Value] = passage.metadata[sort.field]
        return max(values) if sort.descending else min(values)

    by_id = sorted(passages, key=lambda each: each.id)
    valued = [each for each in by_id if each.metadata.get(sort.field)]
    valueless = [each for each in by_id if not each.metadata.get(sort.field)]
    return sorted(valued, key=extreme, reverse=sort.descending) + valueless


def value_counts(metadata: Iterable[Mapping[str, Sequence[Value]]], field: str) -> list[ValueCount]:
    """Return how many passages have each value, by (−hits, value)."""
    hits = Counter(value for each in metadata for value in set(each.get(field, ())))
    counted = sorted(hits.items(), key=lambda item: (-item[1], item[0]))
    return [ValueCount(value, count) for value, count in counted]
