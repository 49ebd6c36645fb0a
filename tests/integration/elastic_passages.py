"""Documents for rebuild tests: their passages, what an index holds, and a model of it."""

from __future__ import annotations

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.point_in_time import PointInTime
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.layout import passage_of
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import Passage

Model = dict[str, tuple[int, Passage]]
"""Version and passage by id."""


def passages_of(
    document: str,
    texts: list[str],
    *,
    tenant: str = "a",
    access: tuple[str, ...] | None = None,
) -> list[Passage]:
    """Return a document's passages, one for each text."""
    return [
        Passage(
            passage_id(tenant, document, number),
            document,
            number,
            f"Title of {document}",
            text,
            0,
            len(text),
            tenant,
            access,
        )
        for number, text in enumerate(texts)
    ]


def held(cluster: Cluster, index: str) -> Model:
    """Return what an index or alias holds, and that it holds no passage twice."""
    found: Model = {}
    with PointInTime(cluster, index, doing="a test") as state:
        for hits in state.pages(
            {"version": True}, ["_shard_doc"], 1000, "_id,_version,_routing,_source"
        ):
            for hit in hits:
                assert hit["_id"] not in found
                found[hit["_id"]] = (hit["_version"], passage_of(hit["_source"]))
    return found


class Versioned:
    """One writer's documents and what an index that lost none and revived none holds of them.

    Args:
        writer: writes them.
        name: part of each document's id, so that no two writers share one.
    """

    def __init__(self, writer: ElasticWriter, name: str, tenant: str = "a") -> None:
        self.model: Model = {}
        self._writer = writer
        self._name = name
        self._tenant = tenant
        self._versions: dict[str, int] = {}
        self._claimed: dict[str, int] = {}

    def put(self, number: int, texts: list[str], access: tuple[str, ...] | None = None) -> None:
        """Put a document of this number, over what it was."""
        document, version = self._next(number)
        claimed = self._claimed.get(document, 0)
        passages = passages_of(document, texts, tenant=self._tenant, access=access)
        self._writer.put(passages, replaces=claimed, version=version)
        self._claimed[document] = max(claimed, len(texts))
        self._forget(document)
        self.model |= {passage.id: (version, passage) for passage in passages}

    def remove(self, number: int) -> None:
        """Remove a document of this number."""
        document, version = self._next(number)
        claimed = self._claimed.get(document, 0)
        self._writer.remove(self._tenant, document, claimed=claimed, version=version)
        self._forget(document)

    def _next(self, number: int) -> tuple[str, int]:
        document = f"{self._name}-{number}"
        self._versions[document] = self._versions.get(document, 0) + 1
        return document, self._versions[document]

    def _forget(self, document: str) -> None:
        for number in range(self._claimed.get(document, 0)):
            self.model.pop(passage_id(self._tenant, document, number), None)


def roles(collection: Collection, tenant: str = "a") -> list[tuple[int, str]]:
    """Return number and role of each index."""
    return [(index.number, index.role) for index in collection.indices(tenant)]
