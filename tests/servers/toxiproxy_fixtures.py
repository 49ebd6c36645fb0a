"""Pytest fixture: proxies that break connections. Import it into the `conftest.py` of a tier."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.elasticsearch_fixtures import server_or_skip
from tests.servers.toxiproxy import Toxiproxy


@pytest.fixture(scope="session")
def toxiproxy() -> Iterator[Toxiproxy]:
    """Toxiproxy; every test makes proxies of its own."""
    with server_or_skip(Toxiproxy) as server:
        yield server
