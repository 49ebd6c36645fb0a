"""How many bulk requests are under way at once and how large they are, after what came back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

LEAST_BYTES = 64_000
# Successes in a row after which more is tried: a doubling each second or so at full speed.
RECOVERY = 8


class Pace:
    """Less after a refusal, more again after successes. Safe to use from several threads.

    Args:
        in_flight: requests at once at most, from 1.
        size_bytes: of one request at most; `LEAST_BYTES` or fewer stay as they are.
    """

    def __init__(self, in_flight: int, size_bytes: int) -> None:
        self._condition = threading.Condition()
        self._most, self._largest = in_flight, size_bytes
        self._least = min(LEAST_BYTES, size_bytes)
        self._running = self._successes = 0
        self.allowed = in_flight
        self.size_bytes = size_bytes

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until one more request may be under way."""
        with self._condition:
            self._condition.wait_for(lambda: self._running < self.allowed)
            self._running += 1
        try:
            yield
        finally:
            with self._condition:
                self._running -= 1
                self._condition.notify_all()

    def slower(self) -> None:
        """Halve the size, and let fewer requests run at once: the cluster was too busy."""
        with self._condition:
            self._successes = 0
            self.allowed = max(1, self.allowed - 1)
            self.size_bytes = max(self._least, self.size_bytes // 2)

    def smaller(self, refused_bytes: int) -> None:
        """Stay below a size that was refused as too large."""
        with self._condition:
            self._largest = max(self._least, min(self._largest, refused_bytes // 2))
            self.size_bytes = min(self.size_bytes, self._largest)

    def succeeded(self) -> None:
        """Take note of a request that went well."""
        with self._condition:
            self._successes += 1
            if self._successes >= RECOVERY:
                self._successes = 0
                self.allowed = min(self._most, self.allowed + 1)
                self.size_bytes = min(self._largest, self.size_bytes * 2)
                self._condition.notify_all()
