"""Ports of 127.0.0.1 for servers."""

from __future__ import annotations

import contextlib
import secrets
import socket

# Below what Linux gives to outgoing connections, so that none takes a port before its server does.
LOWEST, HIGHEST = 20_000, 32_767


def is_listened_on(port: int) -> bool:
    """Return whether a server on 127.0.0.1 takes connections at the port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    """Return so many different ports that no server on 127.0.0.1 listens on."""
    with contextlib.ExitStack() as held:
        found: list[int] = []
        while len(found) < count:
            port = LOWEST + secrets.randbelow(HIGHEST - LOWEST + 1)
            listener = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", port))
                found.append(port)
        return found
