"""The ledgers under test: each opened any number of times on one state, as several processes do."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from ingest.elastic_ledger import ElasticLedger
from ingest.ledger import Ledger
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.cluster.connection import Address, Cluster
from tests.servers.elasticsearch_server import Server

LEDGERS = ("sqlite", "elastic")


class NewLedger(Protocol):
    """Opens the state under test once more."""

    def __call__(self, checkpoint: Callable[[str], None] = ...) -> Ledger:
        """Return a ledger that calls `checkpoint` before and after each write."""
        ...


def cluster_of(server: Server) -> Cluster:
    """Return connections to a test server."""
    credentials = server.credentials
    return Cluster(
        Address(
            server.urls,
            ca_file=server.ca_file,
            user=credentials.user if credentials else None,
            password=credentials.password if credentials else None,
        )
    )


def _nothing(_: str) -> None:
    pass


@pytest.fixture(params=LEDGERS)
def new_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewLedger]:
    """Return what opens an empty ledger, and again what has been written there."""
    with ExitStack() as opened:
        if request.param == "sqlite":

            def new(checkpoint: Callable[[str], None] = _nothing) -> Ledger:
                path = tmp_path / "ledger.sqlite"
                return opened.enter_context(SqliteLedger(path, checkpoint=checkpoint))
        else:
            cluster = opened.enter_context(cluster_of(request.getfixturevalue("elasticsearch")))
            name = f"ledger{secrets.token_hex(4)}"
            opened.callback(cluster.call, "DELETE", f"/{name}", doing="removing a test's ledger")
            ElasticLedger(cluster, name, replicas=0).create()

            def new(checkpoint: Callable[[str], None] = _nothing) -> Ledger:
                return ElasticLedger(cluster, name, checkpoint=checkpoint)

        yield new


@pytest.fixture
def ledger(new_ledger: NewLedger) -> Ledger:
    """Return an empty ledger of each kind."""
    return new_ledger()
