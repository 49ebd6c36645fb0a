"""The product's parts on one cluster and index prefix, wired as a command would wire them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from ingest.elastic_ledger import ElasticLedger
from ingest.pipeline import ingest
from ingest.report import IngestReport, Progress
from logicalrag.agent.tools import Tools
from logicalrag.engines.cluster.bulk import BulkSettings
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.elastic.engine import ElasticEngine
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.own_source import OwnSource
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.protocol import DEFAULT_TENANT
from tests.integration.elastic_corpus import SETTINGS, Corpus, copies_differ, held_in
from tests.servers.elasticsearch_server import Server


def _unwatched(_: Progress) -> None:
    return None


class Deployment:
    """One collection as a process sees it: engine, writers and ledger over one pool of connections.

    Args:
        urls: where the process finds the cluster.
        names: of the collection.
        seconds: for one request.
        attempts: for one call.
    """

    def __init__(
        self, urls: Sequence[str], names: Names, *, seconds: float = 20, attempts: int = 6
    ) -> None:
        self.names = names
        self.cluster = Cluster(Address(tuple(urls), seconds=seconds, attempts=attempts))
        self.collection = Collection(self.cluster, names)
        self.engine = ElasticEngine(self.cluster, OwnSource(self.cluster, self.collection))
        self.ledger = ElasticLedger(self.cluster, names.ledger)
        self.tools = Tools(self.engine, pending=self.pending)

    def create(self, shards: int = 3, replicas: int = 1) -> None:
        """Make the collection and its ledger."""
        self.collection.create(shards=shards, replicas=replicas)
        self.ledger.create()

    def pending(self) -> int:
        """Return how many documents are accepted and not yet searchable."""
        return self.ledger.counts(DEFAULT_TENANT).get("claimed", 0)

    def ingest(
        self,
        corpus: Corpus,
        progress: Callable[[Progress], None] = _unwatched,
        bulk: BulkSettings | None = None,
    ) -> IngestReport:
        """Bring a corpus into the index, as the command does."""
        writer = ElasticWriter(self.cluster, self.names, settings=bulk)
        try:
            return ingest(corpus.source(), writer, self.ledger, SETTINGS, progress)
        finally:
            writer.close()

    def close(self) -> None:
        """Close all connections."""
        self.cluster.close()


@contextmanager
def deployed(
    server: Server,
    urls: Sequence[str] | None = None,
    *,
    shards: int = 3,
    replicas: int = 1,
    seconds: float = 20,
    attempts: int = 6,
) -> Iterator[Deployment]:
    """Yield a new, empty collection of its own; its indices are removed in the end.

    Args:
        server: where it is.
        urls: how the product reaches it; None: as we do.
        shards, replicas: of every index.
        seconds, attempts: as for `Deployment`.
    """
    names = Names(f"faults_{secrets.token_hex(4)}")
    deployment = Deployment(urls or server.urls, names, seconds=seconds, attempts=attempts)
    try:
        deployment.create(shards, replicas)
        yield deployment
    finally:
        deployment.close()
        listed = server.request("GET", f"/_cat/indices/{names.prefix}-*?format=json&h=index")
        for index in listed.body:
            assert server.request("DELETE", f"/{index['index']}").status == 200


def at_passages(passages: int, do: Callable[[], object]) -> Callable[[Progress], None]:
    """Return what does something once, as soon as so many passages are on their way."""
    done: list[object] = []

    def watch(progress: Progress) -> None:
        if progress.passages >= passages and not done:
            done.append(do() or progress)

    return watch


@contextmanager
def loading(
    deployment: Deployment, corpus: Corpus, passages: int
) -> Iterator[Future[IngestReport]]:
    """Yield the load, which runs, once so many passages are on their way."""
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(deployment.ingest, corpus, at_passages(passages, begun.set))
        load.add_done_callback(lambda _: begun.set())
        begun.wait()
        yield load


def assert_holds(server: Server, deployment: Deployment, corpus: Corpus, node: int = 0) -> None:
    """Assert that index, its copies and ledger hold exactly this corpus, each passage once."""
    index = deployment.names.read_alias(corpus.tenant)
    expected = corpus.held()
    found = held_in(server, index, node)
    assert len(found) == len(expected)
    assert found == expected
    assert copies_differ(server, f"{deployment.names.group(corpus.tenant)}-v*", node) == []
    assert deployment.ledger.counts(corpus.tenant) == {"stored": corpus.documents}
    assert deployment.ledger.passages(corpus.tenant) == len(expected)
    assert [each for each in deployment.ledger.pending() if each.tenant == corpus.tenant] == []


def block_writes(server: Server, deployment: Deployment, *, on: bool) -> None:
    """Put on, or lift, the block that Elasticsearch puts on indices of a disk that is full."""
    setting = {"index.blocks.read_only_allow_delete": on or None}
    indices = f"{deployment.names.group(DEFAULT_TENANT)}-v*"
    assert server.request("PUT", f"/{indices}/_settings", setting).status == 200


def master_of(server: Server) -> int:
    """Return the number of the elected master among the server's nodes."""
    [master] = server.request("GET", "/_cat/master?format=json").body
    return int(master["node"].removeprefix("node-"))
