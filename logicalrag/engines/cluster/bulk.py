"""A stream of bulk writes: bounded in memory, several requests at once, each item accounted for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from logicalrag.engines.cluster.bulk_batch import (
    BulkSettings,
    Carrier,
    Failed,
    Item,
    Outcome,
    Stopped,
    alias_gone,
    too_large,
)
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import ClusterError
from logicalrag.engines.cluster.pace import Pace

__all__ = ["BulkReport", "BulkSettings", "BulkStream", "Failed", "Item"]


@dataclass(frozen=True, slots=True)
class BulkReport:
    """What became of the items since the last report.

    Args:
        ok: how many were stored or deleted.
        stale: how many were older than what is stored, which stays.
        absent: how many deletions found nothing.
        failed: those refused for good; the others are as if they had come alone.
    """

    ok: int
    stale: int
    absent: int
    failed: tuple[Failed, ...]


class BulkStream:
    """Sends items as they come, from one thread.

    At most `in_flight` + 1 requests' worth of items is in memory: `add` waits for the cluster.
    A request is repeated where it may not have been carried out, so items need external versions
    (``external_gte``). Items of equal tags are carried out in the order added: they are never in
    two requests at once. A request goes to ``/_bulk`` with ``require_alias``.

    Args:
        cluster: where to.
        settings: bounds.
        on_misdirected: gets the items whose alias is gone, in the order added, and adds them again
            as they should be; called within `add` and `flush`. None: they fail.
        clock: seconds; for tests.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: BulkSettings | None = None,
        on_misdirected: Callable[[Sequence[Item]], None] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings = settings or BulkSettings()
        self._pace = Pace(settings.in_flight, settings.size_bytes)
        self._carrier = Carrier(cluster, settings, self._pace, clock)
        self._on_misdirected = on_misdirected
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._buffer: list[Item] = []
        self._size = 0
        self._flying: dict[Future[Outcome], frozenset[Hashable]] = {}
        self._done = Outcome()
        self._error: BaseException | None = None

    def add(self, item: Item) -> None:
        """Take an item; send a request if one is full, once there is room for it.

        Raises:
            BlockedError: an index was blocked until the budget's end. What was not stored is
                forgotten here: whoever claimed it writes it again.
            ClusterError: another refusal of a whole request. After either, `discard` comes first.
        """
        size = len(item.body)
        if size > self._settings.item_bytes:
            self._done.failed.append(too_large(item))
            return
        if self._buffer and (
            self._size + size > self._pace.size_bytes or len(self._buffer) >= self._settings.items
        ):
            self._submit()
        self._buffer.append(item)
        self._size += size

    def flush(self) -> BulkReport:
        """Send what is left, wait for all answers, and return what became of all since the last.

        Raises:
            ClusterError: as for `add`.
        """
        self._check()
        while self._buffer or self._flying:
            if self._buffer:
                self._submit()
            else:
                self._collect()
        done, self._done = self._done, Outcome()
        return BulkReport(done.ok, done.stale, done.absent, tuple(done.failed))

    def discard(self) -> None:
        """Forget what is not sent, and wait for what is; then the stream is as new."""
        self._buffer, self._size = [], 0
        if self._flying:
            self._carrier.stop.set()
            if self._process == os.getpid():
                wait(self._flying)
            self._flying.clear()
        self._carrier.stop.clear()
        self._done, self._error = Outcome(), None

    def close(self) -> None:
        """`discard`, and end the threads. Idempotent."""
        self.discard()
        pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.shutdown()

    def _submit(self) -> None:
        self._check()
        items = self._take()
        tags = frozenset([item.tag for item in items])
        while len(self._flying) >= self._settings.in_flight or any(
            not tags.isdisjoint(others) for others in self._flying.values()
        ):
            self._collect()
            if self._buffer:  # misdirected, so added before these
                items = [*self._take(), *items]
                tags = frozenset([item.tag for item in items])
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._settings.in_flight, "bulk")
        self._flying[self._pool.submit(self._carrier.carry, items)] = tags

    def _take(self) -> list[Item]:
        items, self._buffer, self._size = self._buffer, [], 0
        return items

    def _collect(self) -> None:
        """Wait for a request to end and take its outcome."""
        self._check()
        finished, _ = wait(self._flying, return_when=FIRST_COMPLETED)
        for future in finished:
            del self._flying[future]
        for future in finished:
            error = future.exception()
            if error is None:
                self._add_up(future.result())
            elif not isinstance(error, Stopped):
                self._fail(error)
        self._check()

    def _add_up(self, outcome: Outcome) -> None:
        done = self._done
        done.ok += outcome.ok
        done.stale += outcome.stale
        done.absent += outcome.absent
        done.failed += outcome.failed
        if not outcome.misdirected:
            return
        if self._on_misdirected is None:
            done.failed += [alias_gone(item) for item in outcome.misdirected]
            return
        try:
            self._on_misdirected(outcome.misdirected)
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._carrier.stop.set()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._process != os.getpid():
            raise ClusterError("This writer was opened by another process; open one in each.")
