"""A broken network between the product and its cluster: cut, slow, half open, torn answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingest.report import IngestReport, Progress
from logicalrag.agent.outcome import Abstained, Failed
from logicalrag.engines.cluster.errors import ClusterUnreachableError
from tests.integration.elastic_corpus import Corpus
from tests.integration.elastic_deployment import Deployment, assert_holds, deployed
from tests.integration.elastic_questions import questions, session
from tests.integration.elastic_searchers import Searchers
from tests.servers.elasticsearch_server import Server
from tests.servers.toxiproxy import Proxy, Toxiproxy, proxies

CORPUS = Corpus(200, passages=10)
CUT_SECONDS = 2.0
Break = Callable[[Proxy], None]
BREAKS: dict[str, Break] = {
    "cut": lambda proxy: proxy.cut(),
    "reset": lambda proxy: proxy.reset(),
    "request torn": lambda proxy: proxy.cut_after(100, "upstream"),
    "bulk torn": lambda proxy: proxy.cut_after(100_000, "upstream"),
    "request lost": lambda proxy: proxy.swallow("upstream"),
    "answer torn": lambda proxy: proxy.cut_after(60),
    "answer lost": lambda proxy: proxy.swallow(),
}
# What a search meets as well.
SMALL = [kind for kind in BREAKS if kind != "bulk torn"]


@pytest.fixture(scope="module")
def all_links(elasticsearch: Server, toxiproxy: Toxiproxy) -> Iterator[list[Proxy]]:
    """Yield a proxy before each node."""
    found = proxies(toxiproxy, elasticsearch.urls)
    yield found
    for link in found:
        link.cut()


@pytest.fixture(scope="module")
def deployment(elasticsearch: Server, all_links: list[Proxy]) -> Iterator[Deployment]:
    """Yield a collection that holds `CORPUS` and is reached through the proxies only."""
    urls = [link.url for link in all_links]
    with deployed(elasticsearch, urls, seconds=3, attempts=9) as deployment:
        deployment.ingest(CORPUS)
        yield deployment


@pytest.fixture
def links(all_links: list[Proxy]) -> Iterator[list[Proxy]]:
    """Yield the proxies, to be broken; mended in the end."""
    yield all_links
    _mend(all_links)


def _mend(links: list[Proxy]) -> None:
    for link in links:
        link.mend()


@pytest.mark.parametrize("kind", BREAKS)
def test_a_load_outlasts_a_broken_network(
    elasticsearch: Server, links: list[Proxy], deployment: Deployment, kind: str
) -> None:
    corpus = Corpus(1_000, passages=10, tenant=kind)
    broken = threading.Event()

    def watch(progress: Progress) -> None:
        if progress.passages >= 5_000 and not broken.is_set():
            for link in links:
                BREAKS[kind](link)
            broken.set()

    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(deployment.ingest, corpus, watch)
        load.add_done_callback(lambda _: broken.set())
        broken.wait()
        threading.Event().wait(CUT_SECONDS)  # the fault itself
        assert not load.done()
        _mend(links)
        assert load.result() == IngestReport(added=1_000, passages=10_000)
    assert_holds(elasticsearch, deployment, corpus)


@pytest.mark.parametrize("kind", SMALL)
def test_searches_over_a_broken_network_are_errors_until_it_is_mended(
    links: list[Proxy], deployment: Deployment, kind: str
) -> None:
    impatient = Deployment([link.url for link in links], deployment.names, seconds=1, attempts=1)
    asked = questions(deployment.engine, CORPUS)
    for link in links:
        BREAKS[kind](link)
    for ask in questions(impatient.engine, CORPUS, "unknown"):
        with pytest.raises(ClusterUnreachableError) as raised:
            ask()
        assert raised.value.retryable
    state = session(impatient.tools)
    assert isinstance(state.outcome, Failed)
    assert state.outcome.code == "engine_error"
    impatient.close()
    _mend(links)
    for ask, right in asked.items():
        assert ask() == right
    assert isinstance(session(deployment.tools).outcome, Abstained)


@pytest.mark.parametrize("kind", SMALL)
def test_one_broken_link_of_three_costs_no_answer(
    links: list[Proxy], deployment: Deployment, kind: str
) -> None:
    with Searchers(questions(deployment.engine, CORPUS), threads=2) as searchers:
        searchers.wait_for_right_answers(12)
        BREAKS[kind](links[1])
        searchers.wait_for_right_answers(30)
    assert searchers.wrong == []
    assert searchers.strange == []
    assert searchers.errors == []


def test_a_slow_network_is_only_slow(
    elasticsearch: Server, links: list[Proxy], deployment: Deployment
) -> None:
    corpus = Corpus(100, passages=10, tenant="slow")
    for link in links:
        link.delay(100, jitter=50)
        link.throttle(2_000)
    assert deployment.ingest(corpus) == IngestReport(added=100, passages=1_000)
    for ask, right in questions(deployment.engine, CORPUS).items():
        assert ask() == right
    assert_holds(elasticsearch, deployment, corpus)
