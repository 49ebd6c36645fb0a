"""Pytest fixtures: the Elasticsearch that a session's tests share, and one to break.

Import them into the `conftest.py` of a tier. Clusters are kept in this module, so tiers share them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from tests.servers.availability import ServerError
from tests.servers.elasticsearch import Cluster
from tests.servers.elasticsearch_server import ADDRESS, Server, named_server

_clusters: dict[tuple[int, bool], Cluster] = {}
# A fixture that several tiers import is set up in each; the last to end stops the cluster.
_users: Counter[tuple[int, bool]] = Counter()
T = TypeVar("T")


def server_or_skip(get: Callable[[], T]) -> T:
    """Return what `get` returns; where no server can be had, skip the test, but in CI fail it."""
    try:
        return get()
    except ServerError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def _cluster(nodes: int, security: bool) -> Cluster:
    key = nodes, security
    if key not in _clusters:
        _clusters[key] = Cluster.start(nodes, security)
    _users[key] += 1
    return _clusters[key]


def _stop(key: tuple[int, bool]) -> None:
    _users[key] -= 1
    if key in _clusters and _users[key] <= 0:
        _clusters.pop(key).stop()


@pytest.fixture(scope="session")
def elasticsearch() -> Iterator[Server]:
    """A server without security: the one of the settings, else our own cluster of three nodes.

    Every test makes indices of its own names and removes them.
    """
    yield server_or_skip(lambda: named_server(os.environ) or _cluster(3, False))
    _stop((3, False))


@pytest.fixture(scope="session")
def secured_elasticsearch() -> Iterator[Cluster]:
    """Our own node with HTTPS, a superuser, roles and API keys."""
    yield server_or_skip(lambda: _cluster(1, True))
    _stop((1, True))


@pytest.fixture
def breakable_elasticsearch(elasticsearch: Server) -> Iterator[Cluster]:
    """The shared three nodes, to be killed, paused or restarted; made whole after the test."""
    if not isinstance(elasticsearch, Cluster):
        pytest.skip(f"breaks nodes, so never those that {ADDRESS} names")
    yield elasticsearch
    elasticsearch.heal()
