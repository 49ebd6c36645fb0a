"""What a collection's serving indices hold: `Inventory` over a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.point_in_time import PointInTime
from logicalrag.engines.elastic.layout import DOCUMENT, NUMBER, PASSAGE, passage_of
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.inventory import Holding
from logicalrag.engines.protocol import Passage

_DOING = "a look at what the index holds"
_PAGE = 5_000
_PASSAGES_A_PAGE = 500  # with their texts
_KEYS = 1_000
_IDENTITY = [f"{PASSAGE}.tenant", f"{PASSAGE}.document_id"]
_ALL: dict[str, Any] = {"match_all": {}}


class ElasticInventory:
    """Lists the passages of all tenants of a collection, by what its read aliases lead to.

    A tenant without an alias has no passages here. Implements `Inventory`.

    Args:
        cluster: where the collection is.
        names: of the collection.
    """

    def __init__(self, cluster: Cluster, names: Names) -> None:
        self._cluster = cluster
        self._index = f"{names.prefix}-*-read"

    def documents(self) -> Iterator[Holding]:
        """Yield every document once, by key; see `Inventory.documents`."""
        return _holdings(self._hits(_ALL, _IDENTITY, _PAGE))

    def held(self, keys: Sequence[str]) -> dict[str, Holding]:
        """Return those of these documents that there are; see `Inventory.held`."""
        found: dict[str, Holding] = {}
        for start in range(0, len(keys), _KEYS):
            query = {"terms": {DOCUMENT: keys[start : start + _KEYS]}}
            for each in _holdings(self._hits(query, _IDENTITY, _PAGE)):
                found[each.key] = each
        return found

    def passages(self, key: str) -> tuple[Passage, ...]:
        """Return a document's passages by number; see `Inventory.passages`."""
        hits = self._hits({"term": {DOCUMENT: key}}, [PASSAGE], _PASSAGES_A_PAGE)
        return tuple(passage_of(hit["_source"]) for hit in hits)

    def _hits(self, query: dict[str, Any], source: list[str], size: int) -> Iterator[Any]:
        body = {"query": {"bool": {"filter": [query]}}, "version": True, "_source": source}
        with PointInTime(self._cluster, self._index, doing=_DOING) as view:
            for hits in view.pages(body, [DOCUMENT, NUMBER], size, "_version,_source"):
                yield from hits


def _holdings(hits: Iterable[Any]) -> Iterator[Holding]:
    for key, theirs in groupby(hits, lambda hit: hit["sort"][0]):
        versions: dict[int, int | None] = {}
        for hit in theirs:
            held = hit["_source"][PASSAGE]
            versions[int(hit["sort"][1])] = hit["_version"]
        yield Holding(str(key), held["tenant"], held["document_id"], versions)
