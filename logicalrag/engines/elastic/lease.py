"""Who may change a tenant's indices now: one process, until it says so or is no longer heard of.

The lease is a document of the catalog that its holder writes again every few seconds. No clocks are
compared: whoever wants it watches that document, and takes it over by compare-and-set once it has
not changed for a while. What the holder has under way stands in it too, so that whoever comes next
knows what a process that was killed has left. It is not what keeps a paused process from doing
harm: epochs do (names.py), and a number is given to one index only.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from logicalrag.engines.cluster.errors import ClusterError
from logicalrag.engines.elastic.catalog import Catalog
from logicalrag.engines.errors import EngineError

STALE_SECONDS = 30.0
_BEATS = 5
_POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Work:
    """What is under way at a tenant's indices.

    Args:
        holder: who works on it now, as that process describes itself; empty: nobody.
        token: tells this holding from every other.
        index: the index that is being made or waits to be swapped; empty: none.
        is_filled: it waits for the swap.
        is_blocked: writes may be blocked for a moment.
        number: the highest that an index was given.
    """

    holder: str = ""
    token: str = ""
    index: str = ""
    is_filled: bool = False
    is_blocked: bool = False
    number: int = 0


class LeaseLostError(EngineError):
    """Another process has taken the work over, since this one was not heard of for too long."""


class Lease:
    """The lease of one group, held from entering to leaving; a thread keeps it.

    Args:
        catalog: where it is kept.
        group: of indices.
        stale_seconds: without a sign of its holder until it is taken over, at least 0.5; the same
            for everybody.
        sleep: waits; for tests.
        clock: seconds; for tests.

    Raises:
        EngineError: on entering: somebody holds it and is alive.
    """

    def __init__(
        self,
        catalog: Catalog,
        group: str,
        *,
        stale_seconds: float = STALE_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog = catalog
        self._group = group
        self._document = f"lease-{group}"
        self._stale_seconds = stale_seconds
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._beat = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._is_lost = False
        self.work = Work()
        """What is under way, as last told."""
        self.predecessor = ""
        """Whose work was taken over."""

    def __enter__(self) -> Lease:
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        holder = f"process {os.getpid()} on {socket.gethostname()} since {now}"
        token = secrets.token_hex(8)
        watched: Mapping[str, Any] | None = None
        since = self._clock()
        while True:
            seen = self._catalog.get_whole(self._document)
            if seen is None:
                self._catalog.put_new(self._document, self._source(Work()))
                continue
            work = work_of(seen)
            if work.token == token:
                break
            if work.holder and watched is not None and _stamp(seen) != _stamp(watched):
                raise EngineError(
                    f"These indices are being worked on by {work.holder}; wait for it to end, "
                    "or stop it, and run the command again",
                    True,
                )
            is_stale = watched is not None and self._clock() - since >= self._stale_seconds
            if not work.holder or is_stale:
                self.predecessor = work.holder
                # Looked at again in any case: a repeated request is refused by its first attempt.
                taken = replace(work, holder=holder, token=token)
                self._catalog.replace(self._document, self._source(taken), seen)
                continue
            if watched is None:
                watched, since = seen, self._clock()
            self._sleep(_POLL_SECONDS)
        self.work = work
        self._beat.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._beat.join()
        try:
            self.tell(holder="", token="")
        except (ClusterError, LeaseLostError):
            return  # it will be stale

    def tell(self, **changes: Any) -> None:
        """Write down what is under way; without changes, make sure that the lease is still ours.

        Args:
            changes: fields of `Work`.

        Raises:
            LeaseLostError: it is not.
        """
        with self._lock:
            work = replace(self.work, **changes)
            seen = self._catalog.get_whole(self._document)
            if self._is_lost or seen is None or work_of(seen).token != self.work.token:
                self._is_lost = True
                raise LeaseLostError(
                    f"This work on the indices {self._group} was paused for so long that another "
                    "process took it over; nothing more is done"
                )
            if not self._catalog.replace(self._document, self._source(work), seen):
                # A retried request meets its own first attempt.
                again = self._catalog.get_whole(self._document)
                if again is None or work_of(again) != work:
                    self._is_lost = True
                    raise LeaseLostError(f"Another process took over the indices {self._group}")
            self.work = work

    def _keep(self) -> None:
        while not self._ended.wait(self._stale_seconds / _BEATS):
            try:
                self.tell()
            except LeaseLostError:
                return
            except ClusterError:
                continue  # it answers again, or the next step fails

    def _source(self, work: Work) -> dict[str, Any]:
        return {"kind": "lease", "group": self._group, "lease": asdict(work)}


def read_work(catalog: Catalog, group: str) -> Work:
    """Return what is under way at a group's indices."""
    seen = catalog.get_whole(f"lease-{group}")
    return Work() if seen is None else work_of(seen)


def work_of(document: Mapping[str, Any]) -> Work:
    """Return what a lease's document tells.

    Raises:
        EngineError: it is none that this version knows.
    """
    try:
        return Work(**document["_source"]["lease"])
    except (KeyError, TypeError):
        raise EngineError(
            "The catalog's note of a rebuild is of another version; end that rebuild with the "
            "version that began it"
        ) from None


def _stamp(document: Mapping[str, Any]) -> tuple[Any, Any]:
    return document["_seq_no"], document["_primary_term"]
