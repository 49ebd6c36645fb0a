"""One process's work on a tenant's indices, step by step, and what undoes each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.bulk import BulkSettings
from logicalrag.engines.cluster.errors import ClusterError, ClusterUnreachableError
from logicalrag.engines.elastic.aliases import Aliases, Group, allow_writes, block_writes
from logicalrag.engines.elastic.comparing import differences
from logicalrag.engines.elastic.copying import Copied, copy_passages, remove_passages
from logicalrag.engines.elastic.generation import publish
from logicalrag.engines.elastic.indices import (
    GC_DELETES,
    Collection,
    Index,
    shown,
)
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.elastic.lease import STALE_SECONDS, Lease, LeaseLostError
from logicalrag.engines.elastic.names import index_name, index_number, next_alias
from logicalrag.engines.elastic.replay import Replayed, drift_of, replay
from logicalrag.engines.errors import EngineError

Progress = Callable[[str, int, int], None]
"""Told a step's name, how much of it is done and of how much; of 0 where that is not known."""
Checkpoint = Callable[[str], None]

# While an index is filled a deletion has to outlive the copying of what it deleted.
_GC_DELETES_FILLING = "30d"
_GREEN_SECONDS = 3_600.0
_POLL_SECONDS = 5
# While writers wait; their own patience is three minutes.
_CONFIRMED = 256
_IDS_A_COPY = 1_000


def no_progress(step: str, done: int, of: int) -> None:
    """Say nothing."""


def no_checkpoint(name: str) -> None:
    """Do nothing: what runs between steps outside of tests."""


class DriftError(EngineError):
    """The new index answers recorded expressions too differently.

    Args:
        message: one sentence with the drift and its bound.
        replayed: what changed.
    """

    def __init__(self, message: str, replayed: tuple[Replayed, ...]) -> None:
        super().__init__(message)
        self.replayed = replayed

    def __reduce__(self) -> tuple[type[DriftError], tuple[str, tuple[Replayed, ...]]]:
        return (type(self), (self.message, self.replayed))


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a rebuild waits, and how it writes.

    Args:
        green_seconds: for the new index to be as green as the old one was.
        stale_seconds: without a sign of another process until its work is taken over; the same
            for everybody.
        page: passages read at once, 1 to 10,000.
        bulk: bounds of the bulk requests.
    """

    green_seconds: float = _GREEN_SECONDS
    stale_seconds: float = STALE_SECONDS
    page: int = 1_000
    bulk: BulkSettings = field(default_factory=BulkSettings)


class Work:
    """One process's work on a tenant's indices, under the lease; removes leftovers on entering."""

    def __init__(
        self,
        collection: Collection,
        tenant: str,
        pace: Pace,
        progress: Progress,
        checkpoint: Checkpoint,
    ) -> None:
        self._collection = collection
        self._cluster = collection.cluster
        self.tenant = tenant
        self._group_name = collection.names.group(tenant)
        self._pace = pace
        self._progress = progress
        self._checkpoint = checkpoint
        self.old = self.new = ""
        """The names of the two indices."""
        self.repaired = 0
        """Passages brought in line before the swap."""
        self.replayed: tuple[Replayed, ...] = ()
        self.dropped: tuple[str, ...] = ()
        self.aliases = Aliases(collection.cluster, collection.names, tenant)
        self.found: list[str] = []
        """Sentences about what a killed process had left."""
        self._is_swapped = False

    def __enter__(self) -> Work:
        self._collection.description()
        self.lease = Lease(
            self._collection.catalog, self._group_name, stale_seconds=self._pace.stale_seconds
        )
        self.lease.__enter__()
        try:
            self._recover()
        except BaseException:
            self.lease.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.lease.__exit__(None, None, None)

    def make(self, shards: int | None, replicas: int | None, analysis: Analysis | None) -> None:
        """Make the new index, empty and without replicas."""
        old = self._serving()
        layout = old.layout
        if layout is None:
            raise EngineError(
                f"The index {old.name} is of another version's format; rebuild it with that version"
            )
        if old.health == "red" or old.documents is None:
            raise EngineError(
                f"Shards of the index {old.name} are missing (health {old.health}); rebuild once "
                "its health is yellow or green"
            )
        if old.blocked:
            raise EngineError(
                f"The index {old.name} refuses writes (a block in its settings); lift that first"
            )
        group = self.aliases.group()
        numbers = [index_number(name) for name in group.indices]
        number = 1 + max(self.lease.work.number, *numbers)
        self.old, self.new = old.name, index_name(self._group_name, number)
        self._passages = old.documents
        self._wanted_health = "green" if old.health == "green" else "yellow"
        self._layouts = layout, Layout(analysis or layout.analysis, layout.metadata)
        self._replicas = old.replicas if replicas is None else replicas
        self._shards = old.shards if shards is None else shards
        self.lease.tell(index=self.new, number=number)
        self._checkpoint("noted")
        settings = {
            "number_of_shards": self._shards,
            "number_of_replicas": 0,
            "gc_deletes": _GC_DELETES_FILLING,
            # A shard that moves forgets what was deleted in it.
            "routing.rebalance.enable": "none",
        }
        if not self._collection.make_index(self.new, self._layouts[1], settings):
            raise EngineError(f"The index {self.new} was made by somebody else in the meantime")
        self._checkpoint("made")

    def fill(self) -> Copied:
        """Let writers write both indices and copy what was there before."""
        self._block(self.old)
        self.aliases.begin(self._group(), self.new)
        self._checkpoint("begun")
        allow_writes(self._cluster, self.old)
        self.lease.tell(is_blocked=False)
        self._checkpoint("writing both")

        def copied_so_far(read: int) -> None:
            self._progress("copying", read, max(read, self._passages))
            self._checkpoint("copying")

        copied = copy_passages(
            self._cluster,
            self.old,
            self._next(),
            self._layouts[1],
            page=self._pace.page,
            settings=self._pace.bulk,
            progress=copied_so_far,
        )
        self._refresh(self.new)
        self._checkpoint("copied")
        self.lease.tell()
        settings = {
            "index.number_of_replicas": self._replicas,
            "index.gc_deletes": GC_DELETES,
            "index.routing.rebalance.enable": None,
        }
        self._cluster.call("PUT", f"/{self.new}/_settings", settings, doing="restoring settings")
        self._wait_for_health()
        self._checkpoint("restored")
        return copied

    def wait(self) -> None:
        """Leave the filled index beside the old one."""
        self.lease.tell(is_filled=True)
        self._checkpoint("waiting")

    def exchange(self, expressions: tuple[str, ...], max_drift: float) -> None:
        """Compare both indices, replay, and let the new one serve."""
        self._recall()
        self._refresh(self.old, self.new)
        self._replay(expressions, max_drift)
        self._checkpoint("replayed")
        self._block(self.old)
        self._refresh(self.old, self.new)
        self._repair()
        self._checkpoint("compared")
        changed = [each.expression for each in self.replayed if each.is_changed]
        if changed and len(changed) <= _CONFIRMED:
            # What differed may have been a writer between the two searches.
            self._confirm(changed)
        self._check_drift(max_drift)
        self._block(self.new)
        self._refresh(self.new)
        self._checkpoint("at rest")
        self.lease.tell()
        self.aliases.finish(self._group())
        self._is_swapped = True
        self._checkpoint("swapped")
        self._complete()

    def undo(self, error: BaseException, *, keep_new: bool = False) -> None:
        """Clean up after an error; one after the swap finds the new index serving.

        Raises:
            EngineError: that failed too; the next command does it.
        """
        if isinstance(error, LeaseLostError):
            return  # whoever took over has done it
        try:
            if keep_new:
                self._leave_beside()
            else:
                self.clean()
        except LeaseLostError:
            return
        except EngineError as left:
            if isinstance(error, EngineError):
                raise EngineError(
                    f"{error.message.rstrip('.')}; what this left is removed by the next "
                    f"logicalrag index command ({left.message})",
                    True,
                ) from error
        if self._is_swapped and isinstance(error, EngineError):
            raise EngineError(
                f"The swap is done and {self.new} serves, but then: {error.message}",
                error.retryable,
            ) from error

    def clean(self) -> None:
        """End the epoch of a rebuild, lift blocks and remove its index; or complete its swap."""
        self.lease.tell()
        group, work = self.aliases.group(), self.lease.work
        if work.index and group.serving == work.index:
            self._complete()
            return
        if group.beside is not None:
            self.aliases.cancel(group)
        if group.serving is not None and work.is_blocked:
            allow_writes(self._cluster, group.serving)
        if work.index:
            self._collection.delete_index(work.index)
        self.lease.tell(index="", is_filled=False, is_blocked=False)

    def drop_old(self) -> None:
        """Delete the index that served before."""
        self._collection.delete_index(self.old)
        self.dropped = (self.old,)

    def _recover(self) -> None:
        """Remove what a process that is gone has left; a filled index goes on waiting."""
        work = self.lease.work
        if not work.index and not work.is_blocked:
            return
        who = self.lease.predecessor or "a process that could not clean up"
        swapped = work.index == self.aliases.group().serving
        if work.is_filled and not swapped:
            if work.is_blocked:
                self._leave_beside()
                self.found.append(
                    f"A swap by {who} did not end; writes are allowed again and {work.index} "
                    "still waits"
                )
            return
        self.clean()
        self.found.append(
            f"A swap to {work.index} by {who} was done and is now completed"
            if swapped
            else f"A rebuild by {who} did not end; its index {work.index} was removed and "
            "the old one serves"
        )

    def _leave_beside(self) -> None:
        group, work = self.aliases.group(), self.lease.work
        if group.serving == work.index:
            self._complete()
            return
        for index in (group.serving, work.index):
            if work.is_blocked and index is not None:
                allow_writes(self._cluster, index)
        self.lease.tell(is_blocked=False)

    def _complete(self) -> None:
        """After the swap: publish what is visible, allow writes, let go of the work."""
        new = self.lease.work.index
        publish(self._cluster, self._collection.names, self.tenant)
        allow_writes(self._cluster, new)
        self.lease.tell(index="", is_filled=False, is_blocked=False)
        serving = self._serving()
        if serving.layout is not None:
            self._collection.follow(self.tenant, serving.layout.analysis)
        self._checkpoint("completed")

    def _replay(self, expressions: tuple[str, ...], max_drift: float) -> None:
        def told(done: int) -> None:
            self._progress("replaying", done, len(expressions))

        self.replayed = replay(
            self._cluster,
            (self.old, self._layouts[0]),
            (self.new, self._layouts[1]),
            expressions,
            progress=told,
        )
        if len([each for each in self.replayed if each.is_changed]) > _CONFIRMED:
            self._check_drift(max_drift)

    def _confirm(self, expressions: Sequence[str]) -> None:
        again = replay(
            self._cluster,
            (self.old, self._layouts[0]),
            (self.new, self._layouts[1]),
            expressions,
        )
        confirmed = {each.expression: each for each in again}
        self.replayed = tuple(confirmed.get(each.expression, each) for each in self.replayed)

    def _check_drift(self, max_drift: float) -> None:
        drift = drift_of(self.replayed)
        if drift <= max_drift:
            return
        changed = tuple(each for each in self.replayed if each.is_changed)
        worst = max(changed, key=lambda each: each.drift)
        raise DriftError(
            f"The new index drifts by {drift:.4f}, more than {max_drift:g}: {len(changed)} of "
            f"{len(self.replayed)} expressions changed, as {worst.expression[:80]!r} with "
            f"{worst.old_hits} hits before and {worst.new_hits} after; allow it with a larger "
            "--max-drift, or keep the old index",
            changed,
        )

    def _repair(self) -> None:
        found = differences(self._cluster, self.old, self.new)
        stored = self._bring(found.missing)
        if found.extra:
            remove_passages(self._cluster, self._next(), found.extra, self._pace.bulk)
        self.repaired = stored + len(found.extra)
        if not found:
            return
        self._refresh(self.new)
        # What is missing still was removed by a writer that the old index keeps waiting.
        lost = self._bring(differences(self._cluster, self.old, self.new).missing)
        if lost:
            raise EngineError(
                f"{self.new} does not keep {lost} passages of {self.old} that were copied twice; "
                "look at the cluster's health and rebuild"
            )

    def _bring(self, ids: Sequence[str]) -> int:
        """Copy passages to the new index and return how many it took."""
        stored = 0
        for start in range(0, len(ids), _IDS_A_COPY):
            copied = copy_passages(
                self._cluster,
                self.old,
                self._next(),
                self._layouts[1],
                only=ids[start : start + _IDS_A_COPY],
                settings=self._pace.bulk,
            )
            stored += copied.stored
        return stored

    def _recall(self) -> None:
        """Learn which two indices are to be swapped."""
        group = self.aliases.group()
        if group.serving is None or group.beside != self.lease.work.index:
            raise EngineError(
                f"The aliases of {self._group_name} are not as the rebuild left them; end it with: "
                "logicalrag index swap --abandon"
            )
        self.old, self.new = group.serving, group.beside
        layouts = {each.name: each.layout for each in self._collection.indices(self.tenant)}
        old, new = layouts[self.old], layouts[self.new]
        if old is None or new is None:
            raise EngineError("An index is of another version's format; swap with that version")
        self._layouts = old, new

    def _serving(self) -> Index:
        indices = self._collection.indices(self.tenant)
        for each in indices:
            if each.role == "serving":
                return each
        raise EngineError(
            f"Tenant {shown(self.tenant)} has no index that serves; make it with: "
            "logicalrag index create"
        )

    def _group(self) -> Group:
        group = self.aliases.group()
        if group.serving != self.old or not group.epoch:
            raise EngineError(
                f"The aliases of {self._group_name} were changed by somebody else; look at: "
                "logicalrag index list"
            )
        return group

    def _next(self) -> str:
        return next_alias(self._group_name, self.aliases.group().epoch)

    def _block(self, index: str) -> None:
        self.lease.tell(is_blocked=True)
        self._checkpoint("about to block")
        block_writes(self._cluster, index)
        self._checkpoint("blocked")

    def _refresh(self, *indices: str) -> None:
        answer: Any = self._cluster.call(
            "POST", f"/{','.join(indices)}/_refresh", doing="making a rebuild visible"
        )
        if answer["_shards"]["failed"]:
            raise ClusterError(
                f"{answer['_shards']['failed']} shard copies could not be refreshed; try again "
                "when the cluster's health is green.",
                True,
            )

    def _wait_for_health(self) -> None:
        until = time.monotonic() + self._pace.green_seconds
        parameters = {
            "wait_for_status": self._wanted_health,
            "wait_for_no_initializing_shards": "true",
            "timeout": f"{_POLL_SECONDS}s",
        }
        found = "unknown"
        while True:
            try:
                status, answer = self._cluster.send(
                    "GET", f"/_cluster/health/{self.new}", parameters=parameters
                )
                if status == 200 and not answer["timed_out"]:
                    return
                found = str(answer.get("status", found)) if isinstance(answer, dict) else found
            except ClusterUnreachableError:
                self._cluster.wait(1)
            self._checkpoint("waiting for health")
            self.lease.tell()
            if time.monotonic() >= until:
                raise EngineError(
                    f"The new index is {found} and not {self._wanted_health} after "
                    f"{self._pace.green_seconds:g} s; add nodes or rebuild with fewer replicas"
                )
