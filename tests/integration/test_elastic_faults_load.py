"""Loads into a real cluster that is broken meanwhile: nothing is lost and nothing doubled."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ingest.report import IngestReport
from logicalrag.engines.cluster.bulk import BulkSettings
from logicalrag.engines.cluster.errors import BlockedError
from tests.integration.elastic_corpus import Corpus, held_in
from tests.integration.elastic_deployment import (
    Deployment,
    assert_holds,
    at_passages,
    block_writes,
    deployed,
    loading,
    master_of,
)
from tests.servers.elasticsearch import Cluster

STALL_SECONDS = 5.0
BLOCK_SECONDS = 3.0


@pytest.fixture
def deployment(breakable_elasticsearch: Cluster) -> Iterator[Deployment]:
    """Yield an empty collection; its cluster is whole again before it is removed."""
    with deployed(breakable_elasticsearch) as deployment:
        try:
            yield deployment
        finally:
            breakable_elasticsearch.heal()


def _whole(corpus: Corpus) -> IngestReport:
    return IngestReport(added=corpus.documents, passages=corpus.documents * corpus.passages)


def test_the_master_killed_in_the_middle_of_100000_passages(
    breakable_elasticsearch: Cluster, deployment: Deployment
) -> None:
    cluster = breakable_elasticsearch
    corpus = Corpus(10_000, passages=10)
    master = master_of(cluster)
    report = deployment.ingest(corpus, at_passages(40_000, lambda: cluster.kill_node(master)))

    assert report == _whole(corpus)
    cluster.wait_for("yellow", nodes=2, seconds=240)
    assert_holds(cluster, deployment, corpus, node=(master + 1) % 3)
    cluster.heal()
    assert_holds(cluster, deployment, corpus, node=master)
    # All is known: the same load again writes nothing.
    again = deployment.ingest(corpus)
    assert again == IngestReport(unchanged=corpus.documents)


def test_new_versions_while_a_node_is_killed(
    breakable_elasticsearch: Cluster, deployment: Deployment
) -> None:
    cluster = breakable_elasticsearch
    # Fewer passages than before in each document: what is left over is removed, not forgotten.
    before, after = Corpus(1_500, passages=6), Corpus(1_500, passages=4, edition=2)
    deployment.ingest(before)
    victim = (master_of(cluster) + 1) % 3
    report = deployment.ingest(after, at_passages(2_000, lambda: cluster.kill_node(victim)))
    assert report == IngestReport(changed=1_500, passages=6_000)
    cluster.heal()
    assert_holds(cluster, deployment, after)


def test_a_node_that_stalls_during_a_load(
    breakable_elasticsearch: Cluster, deployment: Deployment
) -> None:
    cluster = breakable_elasticsearch
    corpus = Corpus(3_000, passages=10)
    with loading(deployment, corpus, 10_000) as load:
        cluster.pause_node(1)
        threading.Event().wait(STALL_SECONDS)  # the fault itself
        assert not load.done()
        cluster.resume_node(1)
        assert load.result() == _whole(corpus)
    cluster.heal()
    assert_holds(cluster, deployment, corpus)


# --- the read-only block of a full disk ---------------------------------------------------------


def test_a_block_that_is_lifted_only_delays(
    breakable_elasticsearch: Cluster, deployment: Deployment
) -> None:
    cluster = breakable_elasticsearch
    corpus = Corpus(2_000, passages=10)
    with loading(deployment, corpus, 5_000) as load:
        block_writes(cluster, deployment, on=True)
        threading.Event().wait(BLOCK_SECONDS)  # the fault itself
        assert not load.done()
        block_writes(cluster, deployment, on=False)
        assert load.result() == _whole(corpus)
    assert_holds(cluster, deployment, corpus)


def test_a_block_that_stays_is_an_error_and_the_next_run_finishes(
    breakable_elasticsearch: Cluster, deployment: Deployment
) -> None:
    cluster = breakable_elasticsearch
    before, after = Corpus(200, passages=10), Corpus(400, passages=10, edition=2)
    deployment.ingest(before)
    block_writes(cluster, deployment, on=True)
    with pytest.raises(BlockedError, match="refused writes for 3 s") as raised:
        deployment.ingest(after, bulk=BulkSettings(budget_seconds=BLOCK_SECONDS))
    assert raised.value.retryable
    # What was there is there, and all that was accepted waits.
    assert held_in(cluster, deployment.names.read_alias("default")) == before.held()
    assert deployment.pending() == after.documents
    block_writes(cluster, deployment, on=False)
    report = deployment.ingest(after)
    assert (report.documents, report.failed, report.pending) == (after.documents, 0, 0)
    assert_holds(cluster, deployment, after)
