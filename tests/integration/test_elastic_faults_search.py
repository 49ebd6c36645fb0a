"""Searches of a real cluster that is broken meanwhile: right, or an error that says so."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from logicalrag.agent.outcome import Abstained, Failed
from logicalrag.agent.state import SessionState
from logicalrag.engines.cluster.errors import ShardsFailedError
from logicalrag.engines.errors import EngineError
from tests.integration.elastic_corpus import Corpus
from tests.integration.elastic_deployment import (
    Deployment,
    assert_holds,
    deployed,
    loading,
    master_of,
)
from tests.integration.elastic_questions import questions, session
from tests.integration.elastic_searchers import Searchers
from tests.servers.elasticsearch import Cluster
from tests.servers.elasticsearch_server import Server

CORPUS = Corpus(300, passages=10)
STALL_SECONDS = 5.0


@pytest.fixture(scope="module")
def loaded(elasticsearch: Server) -> Iterator[Deployment]:
    """Yield a collection that holds `CORPUS`, each shard on two nodes."""
    if not isinstance(elasticsearch, Cluster):
        pytest.skip("breaks nodes")
    with deployed(elasticsearch, seconds=10) as deployment:
        deployment.ingest(CORPUS)
        yield deployment


def _assert_right_or_told(searchers: Searchers) -> None:
    assert searchers.wrong == []
    assert searchers.strange == []
    assert [error for error in searchers.errors if not error.retryable] == []


def test_the_master_killed_and_back(breakable_elasticsearch: Cluster, loaded: Deployment) -> None:
    with Searchers(questions(loaded.engine, CORPUS)) as searchers:
        searchers.wait_for_right_answers()
        breakable_elasticsearch.kill_node(master_of(breakable_elasticsearch))
        searchers.wait_for_right_answers()  # the other two hold every shard
        breakable_elasticsearch.heal()
        searchers.wait_for_right_answers()
    _assert_right_or_told(searchers)


def test_a_node_that_stalls(breakable_elasticsearch: Cluster, loaded: Deployment) -> None:
    with Searchers(questions(loaded.engine, CORPUS)) as searchers:
        searchers.wait_for_right_answers()
        breakable_elasticsearch.pause_node(1)
        threading.Event().wait(STALL_SECONDS)  # the fault itself
        breakable_elasticsearch.resume_node(1)
        searchers.wait_for_right_answers()
    _assert_right_or_told(searchers)


def test_a_restart_of_all_nodes_during_a_load_and_searches(
    breakable_elasticsearch: Cluster, loaded: Deployment
) -> None:
    cluster = breakable_elasticsearch
    corpus = Corpus(3_000, passages=10, tenant="loading")
    with (
        Searchers(questions(loaded.engine, CORPUS)) as searchers,
        loading(loaded, corpus, 10_000) as load,
    ):
        cluster.restart()
        searchers.wait_for_right_answers()
        failure = load.exception()
    _assert_right_or_told(searchers)
    assert searchers.errors  # it was away for longer than a call waits
    # A load may give up, but says so, and the next run makes it good.
    if failure is not None:
        assert isinstance(failure, EngineError)
        assert failure.retryable
    cluster.heal()
    again = loaded.ingest(corpus)
    assert (again.added + again.changed + again.unchanged, again.pending) == (corpus.documents, 0)
    assert_holds(cluster, loaded, corpus)


def test_shards_without_a_copy_are_an_error_not_a_zero(breakable_elasticsearch: Cluster) -> None:
    cluster = breakable_elasticsearch
    with deployed(cluster, replicas=0, seconds=5, attempts=2) as deployment:
        try:
            deployment.ingest(CORPUS)
            asked = questions(deployment.engine, CORPUS)
            victim = _node_with_a_shard(cluster, deployment)

            # All searches are done when the shards are lost: it is no certificate all the same.
            late = session(
                deployment.tools, lambda turn: cluster.kill_node(victim) if turn == 2 else None
            )
            _assert_failed(late, turns=2)
            _assert_failed(session(deployment.tools), turns=0)
            for ask in asked:
                with pytest.raises(ShardsFailedError):
                    ask()
        finally:
            cluster.heal()
        for ask, right in asked.items():
            assert ask() == right
        _assert_certified(session(deployment.tools))


def _assert_failed(state: SessionState, turns: int) -> None:
    assert isinstance(state.outcome, Failed)
    assert state.outcome.code == "engine_error"
    assert len(state.turns) == turns


def _node_with_a_shard(cluster: Cluster, deployment: Deployment) -> int:
    index = f"{deployment.names.group('default')}-v*"
    shards = cluster.request("GET", f"/_cat/shards/{index}?format=json&h=node").body
    return max(int(shard["node"].removeprefix("node-")) for shard in shards)


def _assert_certified(state: SessionState) -> None:
    assert isinstance(state.outcome, Abstained)
    certificate = state.outcome.certificate
    assert certificate is not None
    assert certificate.visible == CORPUS.documents * CORPUS.passages
    assert [each.hits for each in certificate.expressions] == [0] * 4
    assert [each.documents for each in certificate.expressions] == [CORPUS.documents] * 4
