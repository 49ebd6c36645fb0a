"""Fixtures of tests that need servers."""

from __future__ import annotations

from tests.servers.elasticsearch_fixtures import (
    breakable_elasticsearch,
    elasticsearch,
    secured_elasticsearch,
)

__all__ = ["breakable_elasticsearch", "elasticsearch", "secured_elasticsearch"]
