"""Fixtures: a connection, a prefix of one's own that is cleaned up, and an empty collection."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from tests.servers.elasticsearch_server import Server


@pytest.fixture
def cluster(elasticsearch: Server) -> Iterator[Cluster]:
    """A connection to the shared cluster."""
    with Cluster(Address(elasticsearch.urls)) as connected:
        yield connected


@pytest.fixture
def prefix(elasticsearch: Server) -> Iterator[str]:
    """A prefix whose indices are removed after the test."""
    name = f"t{uuid4().hex[:10]}"
    yield name
    for index in elasticsearch.request("GET", f"/{name}-*").body:
        elasticsearch.request("DELETE", f"/{index}")


@pytest.fixture
def collection(cluster: Cluster, prefix: str) -> Collection:
    """A collection of two shards and one replica, without tenants."""
    made = Collection(cluster, Names(prefix))
    made.create(shards=2, replicas=1)
    return made
