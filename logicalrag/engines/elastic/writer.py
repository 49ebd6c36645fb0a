"""The Elasticsearch engine's writing side: `IndexWriter` over a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType

from logicalrag.engines.cluster.bulk import BulkReport, BulkSettings, BulkStream, Item
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import ClusterError, ShardsFailedError
from logicalrag.engines.elastic.actions import (
    MAX_VERSION,
    alias_of,
    encoded_passages,
    puts,
    readdressed,
    removals,
)
from logicalrag.engines.elastic.answers import answers_of
from logicalrag.engines.elastic.fields import EMPTY
from logicalrag.engines.elastic.generation import publish, state_of, state_search
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.targets import Target, Targets, read_targets
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import document_key, passage_id
from logicalrag.engines.metadata import MetadataError
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage, Refusal

# How often items may come back from an alias that is there by what the master says.
_REDIRECTIONS = 20

_Tag = tuple[str, str]  # tenant and document id


class ElasticWriter:
    """Writes a collection's indices; makes a tenant's index on its first write.

    Several writers may write at once, in whatever processes: the higher version of a document
    wins. While a rebuild runs, writes go to the index that is searched and to the next one. What
    is put is sent in the background before the commit, but becomes visible with a commit only:
    this one's or another writer's. Memory is bounded by the settings, for any number of tenants.
    Implements `IndexWriter`.

    After an error of the cluster what was not sent is lost here: `rollback` makes the writer
    usable again, and whoever claimed the documents writes them again.

    Args:
        cluster: where the collection is; stays open when the writer is closed.
        names: of the collection.
        settings: bounds of requests.
    """

    def __init__(
        self, cluster: Cluster, names: Names, *, settings: BulkSettings | None = None
    ) -> None:
        self._cluster, self._names = cluster, names
        self._collection = Collection(cluster, names)
        self._stream = BulkStream(cluster, settings, self._redirect)
        self._groups: dict[str, str] = {}
        self._targets: dict[str, Targets] = {}
        self._layouts: dict[str, Layout] = {}
        # Groups with changes since the last commit, each with one of its tenants.
        self._changed: dict[str, str] = {}
        self._redirections = 0
        self._refused: dict[_Tag, str] = {}
        self._last_refused: tuple[Refusal, ...] = ()
        self._generation: str | None = None
        self._closed = False

    def __enter__(self) -> ElasticWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def put(self, passages: Sequence[Passage], *, replaces: int, version: int = 0) -> None:
        """Store one document's passages; see `IndexWriter.put`.

        Raises:
            MetadataError: the metadata do not fit the index's schema.
            ValueError: there are no passages, they are not one document's passages numbered
                from 0, a version is out of bounds, or an id or text cannot be stored. Nothing of
                the document is changed then, nor for a MetadataError.
            BlockedError: the index was blocked for longer than the settings wait.
            EngineError: the index cannot be written.
        """
        if not passages:
            raise ValueError("put needs at least one passage; use remove to delete a document")
        _check_version(version)
        first = passages[0]
        tenant, document_id = first.tenant, first.document_id
        ids = _checked_ids(passages)
        key = document_key(tenant, document_id)
        targets = self._targets_of(tenant)
        sources = encoded_passages(targets.current.layout, passages)
        beside = sources
        if targets.beside is not None and targets.beside.layout != targets.current.layout:
            beside = encoded_passages(targets.beside.layout, passages)
        self._changed.setdefault(self._groups[tenant], tenant)
        tag = (tenant, document_id)
        gone = range(len(passages), replaces)
        self._put(targets.current, tag, key, version, ids, sources, gone)
        if targets.beside is not None:
            self._put(targets.beside, tag, key, version, ids, beside, gone)

    def remove(self, tenant: str, document_id: str, *, claimed: int, version: int = 0) -> None:
        """Remove every passage of a document; see `IndexWriter.remove`.

        Raises:
            ValueError: a version is out of bounds.
            BlockedError: the index was blocked for longer than the settings wait.
            EngineError: the index cannot be written.
        """
        _check_version(version)
        if claimed <= 0:
            return
        targets = self._targets_of(tenant)
        self._changed.setdefault(self._groups[tenant], tenant)
        key = document_key(tenant, document_id)
        tag = (tenant, document_id)
        for target in (targets.current, targets.beside):
            if target is not None:
                self._put(target, tag, key, version, (), (), range(claimed))

    def commit(self) -> str:
        """Make all changes durable and visible; see `IndexWriter.commit`.

        Returns:
            The new generation of the tenant that was changed, joined by ``+`` where there are
            several; where nothing was changed, what the last commit returned, or the default
            tenant's last one by anybody.

        Raises:
            BlockedError: the index was blocked for longer than the settings wait.
            EngineError: something could not be stored or made visible; never a silent success.
        """
        self._check_open()
        self._take_report(self._stream.flush())
        generations = []
        for tenant in list(self._changed.values()):
            self._refresh(tenant)
            generations.append(publish(self._cluster, self._names, tenant))
        self._changed.clear()
        self._redirections = 0
        self._last_refused = tuple(Refusal(*tag, reason) for tag, reason in self._refused.items())
        self._refused.clear()
        if generations:
            self._generation = "+".join(generations)
        elif self._generation is None:
            self._generation = self._published()
        return self._generation

    def refused(self) -> tuple[Refusal, ...]:
        """Return what the last commit could not store; see `IndexWriter.refused`."""
        return self._last_refused

    def rollback(self) -> None:
        """Forget what was not sent since the last commit; see `IndexWriter.rollback`."""
        self._check_open()
        self._stream.discard()
        # What failed may be that a tenant was dropped; its next write makes it anew.
        self._targets.clear()
        self._layouts.clear()
        self._changed.clear()
        self._refused.clear()
        self._redirections = 0

    def close(self) -> None:
        """Forget what was not sent and end the requests under way. Idempotent."""
        self._closed = True
        self._stream.close()

    def _put(
        self,
        target: Target,
        tag: _Tag,
        key: str,
        version: int,
        ids: Sequence[str],
        sources: Sequence[bytes],
        gone: range,
    ) -> None:
        add = self._stream.add
        for action in puts(target.alias, key, version, ids, sources):
            add(Item(action, tag))
        if gone:
            for action in removals(target.alias, key, version, *tag, gone):
                add(Item(action, tag))

    def _targets_of(self, tenant: str) -> Targets:
        self._check_open()
        group = self._groups.get(tenant)
        if group is None:
            _check_tenant(tenant)
            group = self._groups[tenant] = self._names.group(tenant)
        targets = self._targets.get(group)
        if targets is None:
            self._collection.ensure_tenant(tenant)
            targets = self._read_targets(tenant)
        return targets

    def _read_targets(self, tenant: str) -> Targets:
        targets = read_targets(self._cluster, self._names, tenant)
        self._targets[self._names.group(tenant)] = targets
        for target in (targets.current, targets.beside):
            if target is not None:
                self._layouts[target.alias] = target.layout
        return targets

    def _redirect(self, items: Sequence[Item]) -> None:
        """Send items whose alias is gone to what holds now.

        Each goes to all targets: what its twin did is not known, and doing it twice is harmless.
        """
        by_tenant: dict[str, list[Item]] = {}
        for item in items:
            tenant, _ = item.tag
            by_tenant.setdefault(tenant, []).append(item)
        for tenant, theirs in by_tenant.items():
            targets = self._look_again(tenant, {alias_of(item.body) for item in theirs})
            for item in theirs:
                before = self._layouts[alias_of(item.body)]
                for target in (targets.current, targets.beside):
                    if target is not None:
                        self._readdress(item, before, target)

    def _look_again(self, tenant: str, gone: Iterable[str]) -> Targets:
        targets = self._read_targets(tenant)
        if targets.current.alias in gone:
            # A node that is behind the master refuses what it does not know of yet.
            self._redirections += 1
            if self._redirections > _REDIRECTIONS:
                raise ClusterError(
                    f"The cluster has the alias {targets.current.alias} and refuses writes "
                    "through it; look at its health and run the same again.",
                    True,
                )
            self._cluster.wait(self._redirections)
        return targets

    def _readdress(self, item: Item, before: Layout, target: Target) -> None:
        try:
            body = readdressed(item.body, target.alias, before, target.layout)
        except MetadataError as error:
            self._refused.setdefault(item.tag, str(error))
            return
        self._stream.add(Item(body, item.tag))

    def _take_report(self, report: BulkReport) -> None:
        for tag, _, reason in report.failed:
            self._refused.setdefault(tag, reason)

    def _refresh(self, tenant: str) -> None:
        """Make what is stored visible. Primaries that are missing fail the search that follows."""
        path = f"/{self._names.read_alias(tenant)}/_refresh"
        for attempt in range(1, self._cluster.address.attempts + 1):
            shards = self._cluster.call("POST", path, doing="a commit")["_shards"]
            if shards["successful"] and not shards["failed"]:
                return
            self._cluster.wait(attempt)
        raise ShardsFailedError(
            f"{shards['failed']} of {shards['total']} shard copies could not make the commit "
            "visible; run the same again when the cluster's health is green.",
            True,
        )

    def _published(self) -> str:
        if not self._collection.has_tenant(DEFAULT_TENANT):
            return EMPTY
        search = state_search(self._names, DEFAULT_TENANT)
        (answer,) = answers_of(self._cluster, [search], doing="reading the last commit")
        return state_of(answer).published or EMPTY

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("this index writer is closed; open another one")


def _checked_ids(passages: Sequence[Passage]) -> list[str]:
    """Return the ids of passages that are one document's, numbered from 0.

    Raises:
        ValueError: they are not, or an id is not what `passage_id` makes.
    """
    tenant, document_id = passages[0].tenant, passages[0].document_id
    ids = []
    for number, passage in enumerate(passages):
        if passage.number != number or (
            passage.document_id != document_id or passage.tenant != tenant
        ):
            raise ValueError(
                f"put takes one document's passages numbered from 0; passage {number} of "
                f"document {document_id!r} is number {passage.number} of {passage.document_id!r}"
            )
        if passage.id != passage_id(tenant, document_id, number):
            raise ValueError(
                f"passage {number} of document {document_id!r} has the id {passage.id!r}; "
                "give it the one that identity.passage_id makes"
            )
        ids.append(passage.id)
    return ids


def _check_tenant(tenant: str) -> None:
    try:
        tenant.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the tenant {tenant!r} holds a lone surrogate; name it without") from None


def _check_version(version: int) -> None:
    if not 0 <= version <= MAX_VERSION:
        raise ValueError(f"a version is 0 to {MAX_VERSION}, not {version}")
