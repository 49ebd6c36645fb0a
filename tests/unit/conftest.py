"""Unit tests open no sockets: whatever needs one belongs to another tier."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_sockets(socket_disabled: None) -> None:
    """Make every attempt to open a socket fail the test that makes it."""
