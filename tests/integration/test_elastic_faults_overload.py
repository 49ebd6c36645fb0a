"""A cluster that takes much less than is sent: refusals (429) delay and lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from ingest.report import IngestReport
from logicalrag.engines.cluster.errors import ClusterBusyError, ShardsFailedError
from tests.integration.elastic_corpus import Corpus
from tests.integration.elastic_deployment import Deployment, assert_holds, deployed
from tests.integration.elastic_questions import questions
from tests.integration.elastic_searchers import Searchers
from tests.servers.elasticsearch import Cluster
from tests.servers.elasticsearch_fixtures import server_or_skip

NARROW = {
    "thread_pool.write.size": 1,
    "thread_pool.write.queue_size": 2,
    "thread_pool.search.size": 1,
    "thread_pool.search.queue_size": 8,
    # Of one request as well: what a writer sends by default is refused whole.
    "indexing_pressure.memory.limit": "1mb",
}
WRITERS = 4


@pytest.fixture(scope="module")
def narrow() -> Iterator[Cluster]:
    """Yield a node of our own with short queues and little memory for writes."""
    with server_or_skip(lambda: Cluster.start(1, settings=NARROW)) as cluster:
        yield cluster


@pytest.fixture
def deployment(narrow: Cluster) -> Iterator[Deployment]:
    """Yield an empty collection."""
    with deployed(narrow, replicas=0) as deployment:
        yield deployment


def _rejected(cluster: Cluster, pool: str) -> int:
    [node] = cluster.request("GET", "/_nodes/stats/thread_pool").body["nodes"].values()
    count: int = node["thread_pool"][pool]["rejected"]
    return count


def _refused_for_memory(cluster: Cluster) -> int:
    [node] = cluster.request("GET", "/_nodes/stats/indexing_pressure").body["nodes"].values()
    total = node["indexing_pressure"]["memory"]["total"]
    count: int = total["coordinating_rejections"] + total["primary_rejections"]
    return count


def test_writers_that_are_refused_lose_nothing(narrow: Cluster, deployment: Deployment) -> None:
    corpora = [Corpus(500, passages=10, tenant=f"tenant{number}") for number in range(WRITERS)]

    def load(corpus: Corpus) -> IngestReport:
        own = Deployment(narrow.urls, deployment.names)
        try:
            return own.ingest(corpus)
        finally:
            own.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        reports = list(pool.map(load, corpora))
    # What is pending are others' claims, which stand open meanwhile.
    whole = IngestReport(added=500, passages=5_000)
    assert [replace(report, pending=0) for report in reports] == [whole] * WRITERS
    assert _refused_for_memory(narrow) > 0
    assert _rejected(narrow, "write") > 0
    for corpus in corpora:
        assert_holds(narrow, deployment, corpus)


def test_searches_that_are_refused_are_errors_or_right(
    narrow: Cluster, deployment: Deployment
) -> None:
    corpus = Corpus(300, passages=10)
    deployment.ingest(corpus)
    asked = questions(deployment.engine, corpus)
    before = _rejected(narrow, "search")
    with Searchers(asked, threads=16) as searchers:
        searchers.wait_for_right_answers(200)
    assert _rejected(narrow, "search") > before
    assert searchers.wrong == []
    assert searchers.strange == []
    kinds = {type(error) for error in searchers.errors}
    assert kinds <= {ClusterBusyError, ShardsFailedError}
    for ask, right in asked.items():
        assert ask() == right
