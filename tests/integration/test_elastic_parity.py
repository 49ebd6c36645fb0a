"""The embedded engine and Elasticsearch find the same passages, whatever is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.cluster.errors import ClusterError, ShardsFailedError
from logicalrag.engines.elastic.engine import ElasticEngine
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names, index_name
from logicalrag.engines.elastic.own_source import OwnSource
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.protocol import (
    DEFAULT_TENANT,
    IndexWriter,
    Passage,
    SearchEngine,
    SearchResult,
    Visibility,
)
from logicalrag.engines.reference import ReferenceEngine
from logicalrag.query.errors import ExpressionError
from logicalrag.query.nodes import Node, Not, Word
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from tests.conformance.documents import EVERYONE, Document, read_corpus, store
from tests.conformance.elastic_indices import ElasticIndex, ElasticIndices
from tests.conformance.expressions import Expressions
from tests.conformance.indices import EmbeddedIndex
from tests.conformance.ledgers import cluster_of
from tests.conformance.random_documents import seeded
from tests.conformance.test_limits import DOCUMENTS, LARGEST
from tests.conformance.test_spec_cases import source
from tests.servers.elasticsearch_server import Server

RANDOM_EXPRESSIONS = 500
ALL = 1_000


@dataclass(frozen=True)
class Pair:
    """Two engines over the same passages."""

    embedded: SearchEngine
    elastic: SearchEngine


@pytest.fixture(scope="module")
def indices(elasticsearch: Server) -> Iterator[ElasticIndices]:
    """Return collections that are deleted after the module."""
    with cluster_of(elasticsearch) as cluster:
        made = ElasticIndices(cluster)
        yield made
        made.close()


def pair(indices: ElasticIndices, folder: Path, documents: list[Document]) -> Pair:
    """Store documents in both and open them."""
    embedded = EmbeddedIndex(folder, "english", None)
    elastic = ElasticIndex(indices, "english", None)
    for index in (embedded, elastic):
        store(index, documents)
    return Pair(embedded.engine().__enter__(), elastic.engine().__enter__())


def by_id(result: SearchResult) -> dict[str, Passage]:
    """Return the passages found by their ids."""
    return {hit.passage.id: hit.passage for hit in result.hits}


def differing(engines: Pair, trees: list[Node]) -> list[str]:
    """Return the expressions whose hits, counts or documents differ between the engines."""
    found: list[str] = []
    for tree in trees:
        results = [
            engine.search(
                tree, EVERYONE, limit=ALL, documents=True, clause_counts=True, leave_one_out=True
            )
            for engine in (engines.embedded, engines.elastic)
        ]
        told = [
            (
                result.count,
                result.visible,
                result.documents,
                result.clause_counts,
                result.leave_one_out,
                # The best of more hits than fit may be others where scores are nearly equal.
                by_id(result) if result.count.hits <= ALL else None,
            )
            for result in results
        ]
        if told[0] != told[1]:
            found.append(canonical(tree))
    return found


def test_every_case_of_the_specification(
    indices: ElasticIndices, tmp_path: Path, shared: Path
) -> None:
    engines = pair(indices, tmp_path, read_corpus(shared / "spec" / "t16-corpus.jsonl"))
    trees: list[Node] = []
    for line in (shared / "spec" / "expressions.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        try:
            trees.append(parse(source(case), case.get("default_operator", "OR")).tree)
        except ExpressionError:
            assert "error" in case, case
    assert len(trees) >= 50
    assert differing(engines, trees) == []


def test_random_expressions_over_real_passages(
    indices: ElasticIndices, tmp_path: Path, shared: Path
) -> None:
    documents = read_corpus(shared / "data" / "hotpotqa" / "corpus.jsonl")
    engines = pair(indices, tmp_path, documents)
    passages = [passage for document in documents for passage in document.passages()]
    expressions = Expressions(seeded(5), passages, engines.embedded)
    trees = [expressions.draw() for _ in range(RANDOM_EXPRESSIONS)]
    assert differing(engines, trees) == []


def test_the_largest_expressions(indices: ElasticIndices, tmp_path: Path) -> None:
    engines = pair(indices, tmp_path, DOCUMENTS)
    assert differing(engines, [parse(text, "OR").tree for text in LARGEST.values()]) == []


def test_totals_do_not_stop_at_ten_thousand(indices: ElasticIndices) -> None:
    documents = [Document(f"d{at}", tuple(["common"] * 1_000)) for at in range(12)]
    index = ElasticIndex(indices, "english", None)
    store(index, [*documents, Document("other", ("else",))])
    with index.engine() as engine:
        common = Word(("common",))
        result = engine.search(common, EVERYONE, documents=True, clause_counts=True)
        assert (result.count.hits, result.visible, result.documents) == (12_000, 12_001, 12)
        assert result.clause_counts[0].count == result.count
        assert engine.count([common, Not(common)], EVERYONE).counts[0].hits == 12_000


def test_more_documents_than_a_page_are_counted(indices: ElasticIndices) -> None:
    index = ElasticIndex(indices, "english", None)
    with index.writer() as writer:
        fill(writer, 12_000)
    with index.engine() as engine:
        even, every = Word(("even",)), Word(("common",))
        assert engine.search(every, EVERYONE, documents=True).documents == 12_000
        assert engine.documents_holding([every], EVERYONE) == 12_000
        assert engine.documents_holding([every, even], EVERYONE) == 6_000
        assert engine.stats(EVERYONE).documents == 12_000


def fill(writer: IndexWriter, count: int) -> None:
    """Write documents of one short passage, every second of them even."""
    for at in range(count):
        word = "odd" if at % 2 else "even"
        writer.put(Document(f"d{at}", (f"common {word}",)).passages(), replaces=0)
    writer.commit()


def lose(collection: Collection, tenant: str) -> str:
    """Put shards that no node may hold behind a tenant's read alias; return their index."""
    index = index_name(collection.names.group(tenant), 9)
    body = {
        "settings": {"index.routing.allocation.include._name": "nobody", "number_of_shards": 3},
        "aliases": {collection.names.read_alias(tenant): {}},
    }
    now = {"wait_for_active_shards": "0"}
    collection.cluster.call("PUT", f"/{index}", body, doing="losing shards", parameters=now)
    return index


@pytest.fixture
def collection(indices: ElasticIndices) -> Iterator[Collection]:
    """Return a collection in which one document is stored."""
    index = ElasticIndex(indices, "english", None)
    store(index, [Document("d", ("alpha",))])
    cluster = indices.cluster
    waits = Cluster(Address(cluster.address.hosts, attempts=2), sleep=lambda _: None)
    with waits:
        yield Collection(waits, index.names())


def test_shards_that_are_lost_are_an_error_and_come_back(collection: Collection) -> None:
    cluster = collection.cluster
    engine = ElasticEngine(cluster, OwnSource(cluster, collection))
    alpha = Word(("alpha",))
    assert engine.search(alpha, EVERYONE).count.hits == 1
    index = lose(collection, DEFAULT_TENANT)
    for each in (engine, ElasticEngine(cluster, OwnSource(cluster, collection))):
        with pytest.raises(ShardsFailedError) as raised:
            each.search(alpha, EVERYONE)
        assert raised.value.retryable
        with pytest.raises(ShardsFailedError):
            each.count([alpha], EVERYONE)
    cluster.call("DELETE", f"/{index}", doing="finding shards")
    assert engine.search(alpha, EVERYONE).count.hits == 1


def test_a_known_tenant_whose_alias_is_gone_is_an_error(collection: Collection) -> None:
    cluster = collection.cluster
    engine = ElasticEngine(cluster, OwnSource(cluster, collection))
    (index,) = collection.serving(DEFAULT_TENANT)
    alias = collection.names.read_alias(DEFAULT_TENANT)
    cluster.call("DELETE", f"/{index}/_alias/{alias}", doing="losing an alias")
    with pytest.raises(ClusterError, match="is gone from the cluster"):
        engine.search(Word(("alpha",)), EVERYONE)


def test_together_tenants_see_their_own_and_no_scores(indices: ElasticIndices) -> None:
    prefix = indices.reserve()
    names, cluster = Names(prefix, shared=True), indices.cluster
    collection = Collection(cluster, names)
    collection.create(shards=3, replicas=1)
    oracle = ReferenceEngine()
    documents = [
        Document("a", ("alpha beta", "beta"), tenant="one"),
        Document("b", ("alpha",), tenant="one", access=("red",)),
        Document("a", ("alpha alpha gamma",), tenant="two"),
    ]
    with ElasticWriter(cluster, names) as writer:
        for target in (writer, oracle):
            for document in documents:
                target.put(document.passages(), replaces=0)
            target.commit()
    engine = ElasticEngine(cluster, OwnSource(cluster, collection))
    for tenant in ("one", "two", "three"):
        for groups in (frozenset[str](), frozenset({"red"})):
            caller = Visibility(tenant, groups)
            for tree in (Word(("alpha",)), Not(Word(("gamma",)))):
                got, wanted = engine.search(tree, caller), oracle.search(tree, caller)
                assert (got.count, got.visible) == (wanted.count, wanted.visible)
                assert by_id(got) == by_id(wanted)
                assert {hit.score for hit in got.hits} <= {0.0}
            assert engine.stats(caller).size_bytes == 0
