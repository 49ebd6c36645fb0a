"""Certificates and counts of a cluster that is written to meanwhile: of one state each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import pytest

from logicalrag.agent.outcome import Abstained, Certificate
from logicalrag.agent.state import SessionState
from logicalrag.engines.cluster.bulk import BulkSettings
from logicalrag.engines.cluster.errors import BlockedError
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.protocol import Passage, SearchEngine
from logicalrag.query.parser import parse
from tests.integration.elastic_corpus import Corpus, Held
from tests.integration.elastic_deployment import Deployment, block_writes, deployed
from tests.integration.elastic_questions import SOMEBODY, session
from tests.servers.elasticsearch_server import Server

# Each document holds every colour and every animal.
CORPUS = Corpus(40, passages=5)
ADDED, COMMITS = 3, 24
EDITIONS = [parse(f'"edition {number}"').tree for number in (1, 2)]
EITHER = parse('"edition 1" OR "edition 2"').tree


@pytest.fixture
def deployment(elasticsearch: Server) -> Iterator[Deployment]:
    """Yield a collection that holds `CORPUS`."""
    with deployed(elasticsearch) as deployment:
        deployment.ingest(CORPUS)
        yield deployment


@pytest.fixture
def writer(deployment: Deployment) -> Iterator[ElasticWriter]:
    """Yield a writer of the collection."""
    writer = ElasticWriter(deployment.cluster, deployment.names)
    yield writer
    writer.close()


def _put(writer: ElasticWriter, document: list[Held], version: int) -> None:
    passages = [
        Passage(each.id, each.document_id, each.number, "", each.text, each.start, each.end)
        for each in document
    ]
    writer.put(passages, replaces=len(passages), version=version)


def _certificate(state: SessionState) -> Certificate:
    assert isinstance(state.outcome, Abstained)
    assert state.outcome.certificate is not None
    return state.outcome.certificate


class _Interrupted:
    """An engine before one of whose calls something begins to happen beside it."""

    def __init__(self, engine: SearchEngine, at: int, begin: Callable[[], object]) -> None:
        self._engine = engine
        self._at = at
        self._begin = begin
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._engine, name)
        if not callable(attribute):
            return attribute

        def call(*arguments: object, **named: object) -> object:
            if self.calls == self._at:
                self._begin()
            self.calls += 1
            return attribute(*arguments, **named)

        return call


def test_a_certificate_is_of_one_state_wherever_a_commit_falls(
    deployment: Deployment, writer: ElasticWriter
) -> None:
    documents = CORPUS.documents
    published = {deployment.engine.stats(SOMEBODY).generation: documents}
    more = replace(CORPUS, documents=documents + 40 * ADDED).by_document()

    def commit() -> None:
        nonlocal documents
        for number in range(documents, documents + ADDED):
            _put(writer, more[number], 1)
        documents += ADDED
        published[writer.commit()] = documents

    seen: set[str] = set()
    at = 0
    with ThreadPoolExecutor(1) as pool:
        while True:
            commits: list[Future[None]] = []

            def begin(held: list[Future[None]] = commits) -> None:
                held.append(pool.submit(commit))

            engine = _Interrupted(deployment.engine, at, begin)
            tools = replace(deployment.tools, engine=cast("SearchEngine", engine))
            certificate = _certificate(session(tools))
            if not commits:  # all calls of a session have been tried
                break
            commits[0].result()
            # Between the shards' refreshes there may be states that nobody committed.
            known = published.get(certificate.generation, certificate.visible // CORPUS.passages)
            assert certificate.visible == known * CORPUS.passages
            assert {each.documents for each in certificate.expressions} == {known}
            assert {each.hits for each in certificate.expressions} == {0}
            seen.add(certificate.generation)
            at += 1
    assert at >= 5
    assert len(seen & published.keys()) > 1


def test_all_counts_of_a_call_are_of_one_state(
    elasticsearch: Server, deployment: Deployment, writer: ElasticWriter
) -> None:
    total = len(CORPUS.held())
    # By generation, how many passages are of the second edition.
    published = {deployment.engine.stats(SOMEBODY).generation: 0}
    answers: list[tuple[str, tuple[int, ...]]] = []
    ending = threading.Event()

    def count(own: Deployment) -> None:
        while not ending.is_set():
            counted = own.engine.count(EDITIONS, SOMEBODY)
            first, second = (each.hits for each in counted.counts)
            answers.append((counted.generation, (first, second, counted.visible)))
            found = own.engine.search(EITHER, SOMEBODY, limit=0, clause_counts=True)
            first, second = (part.count.hits for part in found.clause_counts)
            answers.append((found.generation, (first, second, found.visible)))
            answers.append((found.generation, (first, second, found.count.hits)))

    # One reader shares the writer's connections, the other is as in another process.
    other = Deployment(elasticsearch.urls, deployment.names)
    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(count, each) for each in (deployment, other)]
        try:
            after = CORPUS.next().by_document()
            for number in range(COMMITS):
                _put(writer, after[number], 2)
                published[writer.commit()] = (number + 1) * CORPUS.passages
        finally:
            ending.set()
        for reader in readers:
            reader.result()
    other.close()
    assert len(published) == COMMITS + 1
    assert len(answers) >= COMMITS
    assert [each for each in answers if sum(each[1][:2]) != total or each[1][2] != total] == []
    # A generation stands for one content: in every process, and that which was committed.
    told = [(g, second) for g, (_, second, _) in answers if second != published.get(g, second)]
    assert told == []
    contents = dict(answers)
    assert [each for each in answers if contents[each[0]] != each[1]] == []
    assert len(contents.keys() & published.keys()) > 1


def test_a_certificate_says_how_many_documents_wait(
    elasticsearch: Server, deployment: Deployment
) -> None:
    assert _certificate(session(deployment.tools)).pending == 0
    block_writes(elasticsearch, deployment, on=True)
    with pytest.raises(BlockedError):
        deployment.ingest(Corpus(100, passages=5), bulk=BulkSettings(budget_seconds=0.5))
    waiting = _certificate(session(deployment.tools))
    assert (waiting.pending, waiting.visible) == (60, len(CORPUS.held()))
    block_writes(elasticsearch, deployment, on=False)
    deployment.ingest(Corpus(100, passages=5))
    after = _certificate(session(deployment.tools))
    assert (after.pending, after.visible) == (0, 500)
