"""Which passages two indices do not hold alike, found without reading what they do.

Ids are hexadecimal hashes, so that their first digits part an index into equal shares. Shares with
the same number of passages and the same sums of passage numbers and versions are taken as equal;
others are parted again, until they are small enough to be listed. Differences that cancel out
within a share are not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.answers import answers_of, header
from logicalrag.engines.elastic.layout import ID, NUMBER
from logicalrag.engines.errors import EngineError

MAX_DIFFERENCES = 100_000
_DIGITS = "0123456789abcdef"
_ID_DIGITS = 24
_TOGETHER = 256
_LISTED = 10_000
# Versions may be times, whose sum is beyond a double's digits: its last ones depend on the order in
# which shards are added up. What this hides of a share is a version a few milliseconds older.
_SUM_TOLERANCE = 1e-15
_Share = tuple[int, float, float]


@dataclass(slots=True)
class Differences:
    """What is visible in two indices and not alike.

    Args:
        missing: ids that only the first holds, or at a higher version.
        extra: id, routing and version of what only the second holds.
        ahead: ids that the second holds at a higher version.
    """

    missing: list[str] = field(default_factory=list)
    extra: list[tuple[str, str, int]] = field(default_factory=list)
    ahead: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.missing) + len(self.extra) + len(self.ahead)


def differences(cluster: Cluster, old: str, new: str) -> Differences:
    """Return what two indices of one collection do not hold alike, as far as it is visible.

    Raises:
        EngineError: they differ in more than 100,000 passages.
    """
    found = Differences()
    parted = ["".join(pair) for pair in product(_DIGITS, repeat=2)]
    while parted:
        narrower: list[str] = []
        for prefixes in _in_parts(parted, _TOGETHER):
            for prefix, size in _unequal(cluster, old, new, prefixes):
                if size <= _LISTED or len(prefix) == _ID_DIGITS:
                    _list(cluster, old, new, prefix, found)
                else:
                    narrower += [prefix + digit for digit in _DIGITS]
                if len(found) > MAX_DIFFERENCES:
                    raise EngineError(
                        f"The indices {old} and {new} differ in more than {MAX_DIFFERENCES:,} "
                        "passages; rebuild when fewer writers write"
                    )
        parted = narrower
    return found


def _unequal(
    cluster: Cluster, old: str, new: str, prefixes: Sequence[str]
) -> Iterator[tuple[str, int]]:
    body = {
        "size": 0,
        "track_total_hits": False,
        "aggs": {
            "shares": {
                "filters": {"filters": {each: {"prefix": {ID: each}} for each in prefixes}},
                "aggs": {
                    "numbers": {"sum": {"field": NUMBER}},
                    "versions": {"sum": {"field": "_version"}},
                },
            }
        },
    }
    lines = [(header({"index": index}), body) for index in (old, new)]
    before, after = (
        answer["aggregations"]["shares"]["buckets"]
        for answer in answers_of(cluster, lines, doing="comparing indices")
    )
    for prefix in prefixes:
        one, other = _share(before[prefix]), _share(after[prefix])
        if one[:2] != other[:2] or not math.isclose(one[2], other[2], rel_tol=_SUM_TOLERANCE):
            yield prefix, max(one[0], other[0])


def _share(bucket: Mapping[str, Any]) -> _Share:
    return bucket["doc_count"], bucket["numbers"]["value"], bucket["versions"]["value"]


def _list(cluster: Cluster, old: str, new: str, prefix: str, found: Differences) -> None:
    body = {
        "query": {"constant_score": {"filter": {"prefix": {ID: prefix}}}},
        "size": _LISTED,
        "sort": ["_doc"],
        "version": True,
        "_source": False,
        "track_total_hits": False,
    }
    lines = [(header({"index": index}), body) for index in (old, new)]
    before, after = (
        {hit["_id"]: (hit["_version"], hit["_routing"]) for hit in answer["hits"]["hits"]}
        for answer in answers_of(cluster, lines, doing="comparing indices")
    )
    for id_, (version, _) in before.items():
        held = after[id_][0] if id_ in after else -1
        if held < version:
            found.missing.append(id_)
        elif held > version:
            found.ahead.append(id_)
    found.extra += [
        (id_, key, version) for id_, (version, key) in after.items() if id_ not in before
    ]


def _in_parts(items: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    return (items[start : start + size] for start in range(0, len(items), size))
