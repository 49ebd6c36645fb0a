"""How many calls run at once: more threads than cores make tantivy slower, not faster."""

from __future__ import annotations

import os
import threading
from collections import deque
from types import TracebackType


def usable_cores() -> int:
    """Return how many processor cores this process may use, at least 1."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class Admission:
    """Lets at most `places` threads in at once, first come, first served.

    A thread that leaves hands its place to the one that has waited longest: with
    `threading.Semaphore` the leaving thread mostly took it again, and others starved.

    Args:
        places: at least 1.
    """

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places
        self._waiting: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # an interrupt while waiting
            self._withdraw(turn)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        if self._waiting:
            self._waiting.popleft().release()
        else:
            self._free += 1

    def _withdraw(self, turn: threading.Lock) -> None:
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:  # the place was handed over already
                self._leave()
