"""Collections on a real cluster for the suite: made when needed, and shared where only read.

Making an index takes the cluster a second. Tests that begin with the same documents get the same
collection; one that writes to it takes it away from the others.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.engine import ElasticEngine
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.own_source import OwnSource
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import IndexWriter, SearchEngine

SHARDS, REPLICAS = 3, 1
_KEPT = 6


class ElasticIndices:
    """Makes collections of prefixes of their own and deletes them.

    Args:
        cluster: where.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._kept: dict[str, str] = {}
        self._owned: list[str] = []

    def make(self, analysis: Analysis, schema: MetadataSchema | None) -> str:
        """Make a collection; return its prefix."""
        prefix = self.reserve()
        collection = Collection(self.cluster, Names(prefix))
        collection.create(analysis=analysis, schema=schema, shards=SHARDS, replicas=REPLICAS)
        return prefix

    def reserve(self) -> str:
        """Return a prefix whose indices are deleted after the test."""
        self._owned.append(f"t{secrets.token_hex(8)}")
        return self._owned[-1]

    def kept(self, content: str) -> str | None:
        """Return the prefix of a collection with this content, if one is kept."""
        return self._kept.get(content)

    def keep(self, content: str, prefix: str) -> None:
        """Keep a collection beyond the test that made it; forget the oldest."""
        self._owned.remove(prefix)
        self._kept[content] = prefix
        if len(self._kept) > _KEPT:
            self._owned.append(self._kept.pop(next(iter(self._kept))))

    def take(self, content: str) -> None:
        """Give a kept collection to the test that runs."""
        self._owned.append(self._kept.pop(content))

    def clear(self) -> None:
        """Delete what a test has made."""
        patterns = ",".join(f"{prefix}-*" for prefix in self._owned)
        self._owned.clear()
        if patterns:
            names = self.cluster.call("GET", f"/{patterns}/_alias", doing="listing indices")
            self.cluster.call("DELETE", f"/{','.join(names)}", doing="deleting indices")

    def close(self) -> None:
        """Delete everything."""
        for content in list(self._kept):
            self.take(content)
        self.clear()


class ElasticIndex:
    """A collection of three shards and one replica; implements `indices.Index`."""

    def __init__(
        self, indices: ElasticIndices, analysis: Analysis, schema: MetadataSchema | None
    ) -> None:
        self._indices, self._analysis, self._schema = indices, analysis, schema
        self._prefix: str | None = None
        self._content: str | None = None

    def writer(self) -> AbstractContextManager[IndexWriter]:
        """Open a writer."""
        if self._content is not None:
            self._indices.take(self._content)
            self._content = None
        return ElasticWriter(self._indices.cluster, self.names())

    def engine(self) -> AbstractContextManager[SearchEngine]:
        """Open an engine."""
        cluster = self._indices.cluster
        source = OwnSource(cluster, Collection(cluster, self.names()))
        return nullcontext(ElasticEngine(cluster, source))

    def begin(self, content: str, store: Callable[[], None]) -> None:
        """Hold some content from before, or what `store` writes."""
        if self._prefix is not None:
            store()
            return
        content = f"{self._analysis} {self._schema} {content}"
        self._prefix = self._indices.kept(content)
        if self._prefix is None:
            store()
            self._indices.keep(content, self._made())
        self._content = content

    def _made(self) -> str:
        if self._prefix is None:
            self._prefix = self._indices.make(self._analysis, self._schema)
        return self._prefix

    def names(self) -> Names:
        """Return the names of the collection."""
        return Names(self._made())
