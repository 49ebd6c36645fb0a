"""One suite, every engine: a test that takes `index` or `new_index` runs once for each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.conformance.elastic_indices import ElasticIndices
from tests.conformance.indices import INDICES, Index, NewIndex, ReferenceIndex
from tests.conformance.ledgers import cluster_of
from tests.servers.elasticsearch_fixtures import elasticsearch
from tests.servers.elasticsearch_server import Server

__all__ = ["elasticsearch"]


@pytest.fixture(scope="session")
def elastic_session(elasticsearch: Server) -> Iterator[ElasticIndices]:
    """Return the collections in the session's Elasticsearch."""
    with cluster_of(elasticsearch) as cluster:
        indices = ElasticIndices(cluster)
        yield indices
        indices.close()


@pytest.fixture
def elastic_indices(elastic_session: ElasticIndices) -> Iterator[ElasticIndices]:
    """Return what makes collections for one test."""
    yield elastic_session
    elastic_session.clear()


@pytest.fixture(params=list(INDICES))
def new_index(request: pytest.FixtureRequest) -> NewIndex:
    """Return what makes another empty index of the engine under test."""
    return INDICES[request.param](request)


@pytest.fixture
def index(new_index: NewIndex) -> Index:
    """Return an empty index of the engine under test."""
    return new_index()


@pytest.fixture(params=[name for name in INDICES if name != "reference"])
def new_compared(request: pytest.FixtureRequest) -> NewIndex:
    """Return what makes an empty index of each engine that has to answer as the oracle does."""
    return INDICES[request.param](request)


@pytest.fixture
def compared(new_compared: NewIndex) -> Index:
    """Return an empty index of each engine that has to answer as the oracle does."""
    return new_compared()


@pytest.fixture
def new_oracle(request: pytest.FixtureRequest) -> NewIndex:
    """Return what makes a reference index that scores as the engine under test."""
    parameters = request.node.callspec.params.values() if hasattr(request.node, "callspec") else ()
    return partial(ReferenceIndex, empty_fields="elastic" not in parameters)


@pytest.fixture
def oracle(new_oracle: NewIndex) -> Index:
    """Return an empty reference index."""
    return new_oracle()
