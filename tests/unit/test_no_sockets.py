"""The guard of this tier works."""

from __future__ import annotations

import socket

import pytest
from pytest_socket import SocketBlockedError


# The guard warns as well as raises, and warnings are errors here.
@pytest.mark.filterwarnings("ignore:A test tried to use socket")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX])
def test_a_unit_test_cannot_open_a_socket(family: socket.AddressFamily) -> None:
    with pytest.raises(SocketBlockedError):
        socket.socket(family)
