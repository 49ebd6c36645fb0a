"""Fixtures of tests that need servers."""

from __future__ import annotations

from tests.servers.elasticsearch_fixtures import (
    breakable_elasticsearch,
    elasticsearch,
    secured_elasticsearch,
)
from tests.servers.toxiproxy_fixtures import toxiproxy

__all__ = ["breakable_elasticsearch", "elasticsearch", "secured_elasticsearch", "toxiproxy"]
