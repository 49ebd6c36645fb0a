"""Ledger or index of a cluster is restored from an older copy, and both are made to agree."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ingest.chunking import ChunkSettings
from ingest.deletion import Deletion, delete
from ingest.documents import SourceDocument
from ingest.elastic_ledger import ElasticLedger
from ingest.ledger import Record
from ingest.pipeline import IngestSettings, ingest
from ingest.reconcile import Difference, ReconcileReport, reconcile
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.elastic.actions import puts
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.inventory import ElasticInventory
from logicalrag.engines.elastic.layout import passage_of
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.targets import read_targets
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import document_key
from logicalrag.engines.inventory import Inventory
from tests.servers.elasticsearch_server import Server

SETTINGS = IngestSettings(chunking=ChunkSettings(size=3))


class Deployment:
    """An index and a ledger of their own, which can be copied and restored."""

    def __init__(self, server: Server) -> None:
        self.cluster = Cluster(Address(server.urls))
        self.names = Names(f"rc{secrets.token_hex(4)}", shared=True)
        Collection(self.cluster, self.names).create(shards=2, replicas=0)
        self.ledger = ElasticLedger(self.cluster, self.names.ledger, replicas=0)
        self.ledger.create()
        self.writer = ElasticWriter(self.cluster, self.names)
        self.inventory = ElasticInventory(self.cluster, self.names)

    def close(self) -> None:
        self.writer.close()
        found = self.cluster.call("GET", f"/{self.names.prefix}-*/_alias", doing="a test")
        self.cluster.call("DELETE", "/" + ",".join(found), doing="a test")
        self.cluster.close()

    def put(self, name: str, sentences: int, version: int | None = None, tenant: str = "t") -> None:
        text = "".join(f"One {name} {number}x{version}. " for number in range(sentences))
        self.put_text(name, text, version, tenant)

    def put_text(self, name: str, text: str, version: int | None, tenant: str = "t") -> None:
        document = SourceDocument(name, "", text, tenant=tenant, version=version)
        assert ingest([document], self.writer, self.ledger, SETTINGS).failed == 0

    def delete(self, name: str, version: int | None = None) -> None:
        assert delete([Deletion(name, "t", version)], self.writer, self.ledger).deleted == 1

    def record(self, name: str, tenant: str = "t") -> Record:
        key = document_key(tenant, name)
        return self.ledger.look_up([key])[key]

    def held(self) -> dict[tuple[str, str], dict[int, int | None]]:
        return {
            (each.tenant, each.document_id): dict(each.versions)
            for each in self.inventory.documents()
        }

    def reconcile(self, **rest: Any) -> ReconcileReport:
        return reconcile(self.ledger, self.inventory, self.writer, **rest)

    def copy_of_ledger(self) -> list[Any]:
        self.cluster.call("POST", f"/{self.names.ledger}/_refresh", doing="a test")
        return self._all(self.names.ledger)

    def restore_ledger(self, copy: Sequence[Any]) -> None:
        for hit in self.copy_of_ledger():
            path = f"/{self.names.ledger}/_doc/{hit['_id']}"
            self.cluster.call("DELETE", path, doing="a test")
        for hit in copy:
            path = f"/{self.names.ledger}/_doc/{hit['_id']}"
            self.cluster.call("PUT", path, hit["_source"], doing="a test")
        self.ledger = ElasticLedger(self.cluster, self.names.ledger)

    def copy_of_index(self) -> list[Any]:
        return self._all(self.names.read_alias("t"))

    def restore_index(self, copy: Sequence[Any]) -> None:
        """Make the index anew, as a snapshot does: also without tombstones of deletions."""
        collection = Collection(self.cluster, self.names)
        collection.drop("t", force=True)
        collection.ensure_tenant("t")
        target = read_targets(self.cluster, self.names, "t").current
        lines = b"".join(
            action
            for hit in copy
            for action in puts(
                target.alias,
                hit["_routing"],
                hit["_version"],
                [hit["_id"]],
                [target.layout.encoded(passage_of(hit["_source"]))],
            )
        )
        if lines:
            self.cluster.call("POST", "/_bulk", lines, doing="a test", lines=True)
        self.writer.close()
        self.writer = ElasticWriter(self.cluster, self.names)

    def _all(self, index: str) -> list[Any]:
        body = {"size": 10_000, "version": True}
        found: list[Any] = self.cluster.call("POST", f"/{index}/_search", body, doing="a test")[
            "hits"
        ]["hits"]
        return found


@pytest.fixture
def deployment(elasticsearch: Server) -> Iterator[Deployment]:
    with contextlib.closing(Deployment(elasticsearch)) as made:
        yield made


def _kinds(report: ReconcileReport) -> list[tuple[str, str, bool]]:
    return sorted((each.document_id, each.kind, each.waits) for each in report.differences)


def test_nothing_is_changed_where_both_agree(deployment: Deployment) -> None:
    assert isinstance(deployment.inventory, Inventory)
    assert deployment.reconcile() == ReconcileReport()
    deployment.put("a", 3)
    deployment.put("b", 2, 5)
    deployment.put_text("b", "".join(f"One b {number}x5. " for number in range(2)), 7)  # renewed
    deployment.put("shrunk", 5, 1)
    deployment.put("shrunk", 2, 2)
    deployment.put("gone", 3, 1)
    deployment.delete("gone", 2)
    deployment.put("a", 1, tenant="u")
    seen: list[int] = []
    assert deployment.reconcile(progress=seen.append) == ReconcileReport(documents=5)
    assert seen == [5, 9]
    assert deployment.record("b").version == 7
    assert deployment.held()["t", "b"] == {0: 5, 1: 5}


def test_an_older_ledger_takes_over_what_the_index_holds(deployment: Deployment) -> None:
    for name in ("grown", "shrunk", "gone", "same"):
        deployment.put(name, 3, 1)
    deployment.delete("gone", 2)
    copy = deployment.copy_of_ledger()
    deployment.put("grown", 5, 4)
    deployment.put("shrunk", 2, 5)
    deployment.put("gone", 2, 6)
    deployment.put("new", 2, 7)
    index = deployment.held()
    deployment.restore_ledger(copy)

    expected = [
        ("gone", "ledger_older", False),
        ("grown", "ledger_older", False),
        ("new", "unknown", False),
        ("shrunk", "ledger_older", False),
    ]
    dry = deployment.reconcile(dry_run=True)
    assert _kinds(dry) == expected
    assert deployment.record("grown").version == 1
    report = deployment.reconcile()
    assert report == dry
    assert (report.unknown, report.ledger_older, report.waiting) == (1, 3, 0)
    assert deployment.held() == index
    assert deployment.reconcile().differences == ()
    for name, version, passages, claimed in (
        ("grown", 4, 5, 5),
        ("shrunk", 5, 2, 3),
        ("gone", 6, 2, 3),
        ("new", 7, 2, 2),
        ("same", 1, 3, 3),
    ):
        record = deployment.record(name)
        assert (record.version, record.passages, record.claimed) == (version, passages, claimed)
        assert record.state == "stored"
    # The content is unknown: what is sent next is written, whether it is what is there or not.
    deployment.put("grown", 5, 4)
    deployment.put("shrunk", 1, 5)
    deployment.put("new", 1)
    assert deployment.record("new").version == 8
    assert deployment.held()["t", "shrunk"] == {0: 5}
    assert deployment.held()["t", "new"] == {0: 8}
    assert deployment.ledger.counts("t") == {"stored": 5}
    assert deployment.reconcile().differences == ()


def test_an_older_index_is_written_again_by_the_next_ingest(deployment: Deployment) -> None:
    deployment.put("changed", 5, 1)
    deployment.put("gone", 3, 1)
    deployment.put("same", 3, 1)
    copy = deployment.copy_of_index()
    deployment.put("changed", 3, 2)
    deployment.delete("gone", 2)
    deployment.put("new", 2, 1)
    right = deployment.held()
    deployment.restore_index(copy)
    assert deployment.held()["t", "changed"] == dict.fromkeys(range(5), 1)

    report = deployment.reconcile()
    assert _kinds(report) == [
        ("changed", "index_older", True),
        ("gone", "orphans", False),
        ("new", "index_older", True),
    ]
    assert report.waiting == 2
    assert deployment.ledger.counts("t") == {"claimed": 2, "stored": 1, "deleted": 1}
    assert ("t", "gone") not in deployment.held()
    assert deployment.reconcile().differences == ()
    deployment.put("changed", 3, 2)
    deployment.put("new", 2, 1)
    deployment.put("same", 3, 1)
    assert deployment.held() == right
    assert deployment.ledger.counts("t") == {"stored": 3, "deleted": 1}
    assert deployment.reconcile().differences == ()


def test_missing_passages_and_orphans_of_a_stored_document(deployment: Deployment) -> None:
    for name in ("holey", "beyond", "mixed"):
        deployment.put(name, 4, 1)
    older = deployment.copy_of_index()
    deployment.put("beyond", 2, 2)
    deployment.put("mixed", 4, 2)
    newer = deployment.copy_of_index()

    def of(copy: Sequence[Any], name: str, *numbers: int) -> list[Any]:
        held = [(hit["_source"]["passage"], hit) for hit in copy]
        return [
            hit
            for passage, hit in held
            if passage["document_id"] == name and passage["number"] in numbers
        ]

    deployment.restore_index(
        of(newer, "holey", 0, 2, 3)
        + of(newer, "beyond", 0, 1)
        + of(older, "beyond", 2, 3)
        + of(newer, "mixed", 0, 1)
        + of(older, "mixed", 2, 3)
    )
    report = deployment.reconcile()
    assert _kinds(report) == [
        ("beyond", "orphans", False),
        ("holey", "index_older", True),
        ("mixed", "index_older", True),
    ]
    assert deployment.held()["t", "beyond"] == {0: 2, 1: 2}
    texts = [each.text for each in deployment.inventory.passages(document_key("t", "beyond"))]
    assert texts == ["One beyond 0x2. ", "One beyond 1x2. "]
    deployment.put("holey", 4, 1)
    deployment.put("mixed", 4, 2)
    assert deployment.held()["t", "holey"] == dict.fromkeys(range(4), 1)
    assert deployment.held()["t", "mixed"] == dict.fromkeys(range(4), 2)
    assert deployment.reconcile().differences == ()


def test_an_unfinished_newer_version_is_no_version_to_take_over(deployment: Deployment) -> None:
    deployment.put("half", 4, 1)
    deployment.put("unknown", 4, 1)
    first, ledger = deployment.copy_of_index(), deployment.copy_of_ledger()
    deployment.put("half", 4, 3)
    second = deployment.copy_of_index()
    half = [hit for hit in second if hit["_version"] == 3 and hit["_source"]["passage"]["number"]]
    rest = [hit for hit in first if not hit["_source"]["passage"]["number"]]
    deployment.restore_index([*rest, *half])
    deployment.restore_ledger(
        [hit for hit in ledger if hit["_source"].get("document_id") == "half"]
    )
    report = deployment.reconcile(max_listed=1)
    assert (report.ledger_older, report.unknown, report.waiting) == (1, 1, 1)
    assert report.differences == (Difference("ledger_older", "t", "half", True),)
    assert deployment.ledger.counts("t") == {"claimed": 1, "stored": 1}
    deployment.put("half", 2, 3)
    assert deployment.held()["t", "half"] == {0: 3, 1: 3}


def test_what_others_write_meanwhile_is_left_to_them(deployment: Deployment) -> None:
    deployment.put("a", 3, 1)
    deployment.put("b", 3, 1)
    deployment.restore_index([])
    real = deployment.inventory.held

    def held_after_a_write(keys: Sequence[str]) -> Any:
        found = real(keys)
        other = ElasticLedger(deployment.cluster, deployment.names.ledger)
        text = SourceDocument("a", "", "Quite new.", tenant="t", version=9)
        with contextlib.closing(ElasticWriter(deployment.cluster, deployment.names)) as writer:
            ingest([text], writer, other, SETTINGS)
        return found

    deployment.inventory.held = held_after_a_write  # type: ignore[method-assign]
    report = deployment.reconcile()
    assert _kinds(report) == [("b", "index_older", True)]
    assert report.changed_meanwhile == 1
    assert (deployment.record("a").version, deployment.record("a").state) == (9, "stored")


def test_an_index_that_does_not_answer_lacks_nothing(deployment: Deployment) -> None:
    deployment.put("a", 3, 1)
    index = deployment.cluster.call(
        "GET", f"/_alias/{deployment.names.read_alias('t')}", doing="a test"
    )
    [name] = index
    deployment.cluster.call("POST", f"/{name}/_close", doing="a test")
    with pytest.raises(EngineError):
        deployment.reconcile()
    assert deployment.record("a").state == "stored"
