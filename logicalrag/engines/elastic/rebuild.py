"""A tenant's index made anew beside the one that serves, from its passages, while writers write.

Beginning: the old index refuses writes for a moment, until those under way are done; one alias call
starts an epoch in which writers write both indices; then the old one's passages are copied, each
unless something newer is there. Swapping: the old index refuses writes again, what a writer has
brought to one index only is brought in line with the old one (the writer is refused there, looks
again and sends it to what serves then), and one alias call ends the epoch. Whatever fails before
that call leaves the old index serving. What a killed process leaves stands in its lease, and the
next command on the same tenant removes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.errors import ClusterError
from logicalrag.engines.elastic.copying import Copied
from logicalrag.engines.elastic.indices import (
    Collection,
    check_numbers,
    shown,
)
from logicalrag.engines.elastic.lease import read_work
from logicalrag.engines.elastic.names import index_number
from logicalrag.engines.elastic.rebuild_work import (
    Checkpoint,
    DriftError,
    Pace,
    Progress,
    Work,
    no_checkpoint,
    no_progress,
)
from logicalrag.engines.elastic.replay import Replayed, drift_of
from logicalrag.engines.errors import EngineError

__all__ = ["DriftError", "Pace", "RebuildReport", "abandon", "rebuild", "recover", "swap"]

PACE = Pace()


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a rebuild or a swap did.

    Args:
        tenant: whose index.
        old, new: names of the indices.
        is_swapped: the new one serves; else it waits for a swap.
        copied: what was copied; None for a swap alone.
        repaired: passages that a writer had brought to one of both only, and that were brought in
            line before the swap.
        passages: that the index now searched holds.
        replayed: the expressions on both, in the order given.
        drift: mean of their drifts, 0.0 to 1.0.
        dropped: indices that were deleted.
        found: sentences about what a killed process had left and what was done about it.
    """

    tenant: str
    old: str
    new: str
    is_swapped: bool
    copied: Copied | None
    repaired: int
    passages: int
    replayed: tuple[Replayed, ...]
    drift: float
    dropped: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def changed(self) -> tuple[Replayed, ...]:
        """The expressions whose count or first ten differ."""
        return tuple(each for each in self.replayed if each.is_changed)


def rebuild(
    collection: Collection,
    tenant: str,
    *,
    shards: int | None = None,
    replicas: int | None = None,
    analysis: Analysis | None = None,
    expressions: Sequence[str] = (),
    max_drift: float = 0.0,
    swap: bool = True,
    keep_old: bool = True,
    pace: Pace = PACE,
    progress: Progress = no_progress,
    checkpoint: Checkpoint = no_checkpoint,
) -> RebuildReport:
    """Fill a new index from the one that serves, compare, replay, and swap the two.

    Args:
        tenant: whose; of a shared collection, anyone's stands for all.
        shards, replicas, analysis: of the new index; None: as the old one's.
        expressions: recorded ones, to be replayed on both (`replay.read_expressions`).
        max_drift: 0.0 to 1.0; a larger mean drift of these refuses the swap.
        swap: False leaves the new index beside, filled by writers, until `swap` or `abandon`.
        keep_old: leave the old index, which takes no more writes, until it is dropped.
        progress: told how far it is.
        checkpoint: called with a step's name once it is done; for tests.

    Raises:
        DriftError: the replay drifts too much.
        EngineError: another process works on these indices, or anything failed. Then the old index
            serves as before and the new one is gone.
    """
    _check(max_drift)
    described = collection.description()
    check_numbers(
        described.shards if shards is None else shards,
        described.replicas if replicas is None else replicas,
    )
    with Work(collection, tenant, pace, progress, checkpoint) as work:
        if work.lease.work.is_filled:
            raise EngineError(
                f"The index {work.lease.work.index} is filled and waits: swap it or abandon it "
                "before another rebuild"
            )
        try:
            work.make(shards, replicas, analysis)
            copied = work.fill()
            if not swap:
                work.wait()
                return _report(collection, work, copied, is_swapped=False)
            work.exchange(tuple(expressions), max_drift)
        except BaseException as error:
            work.undo(error)
            raise
        if not keep_old:
            work.drop_old()
        return _report(collection, work, copied, is_swapped=True)


def swap(
    collection: Collection,
    tenant: str,
    *,
    expressions: Sequence[str] = (),
    max_drift: float = 0.0,
    keep_old: bool = True,
    pace: Pace = PACE,
    progress: Progress = no_progress,
    checkpoint: Checkpoint = no_checkpoint,
) -> RebuildReport:
    """Compare, replay and swap an index that ``rebuild(..., swap=False)`` has filled.

    Raises:
        DriftError: the replay drifts too much.
        EngineError: as for `rebuild`. After either the old index serves and the new one still
            waits beside it, for another swap or for `abandon`.
    """
    _check(max_drift)
    with Work(collection, tenant, pace, progress, checkpoint) as work:
        if not work.lease.work.is_filled:
            raise EngineError(
                " ".join(
                    (
                        *(f"{sentence}." for sentence in work.found),
                        f"No index of tenant {shown(tenant)} waits for a swap; fill one with: "
                        "logicalrag index rebuild --no-swap",
                    )
                )
            )
        try:
            work.exchange(tuple(expressions), max_drift)
        except BaseException as error:
            work.undo(error, keep_new=True)
            raise
        if not keep_old:
            work.drop_old()
        return _report(collection, work, None, is_swapped=True)


def abandon(collection: Collection, tenant: str, *, pace: Pace = PACE) -> tuple[str, ...]:
    """End a rebuild that waits for its swap or was killed; the old index serves as before.

    Returns:
        The names of the indices that were removed; none where there was no rebuild.

    Raises:
        EngineError: a live process works on these indices.
    """
    before = collection.aliases(tenant)
    with Work(collection, tenant, pace, no_progress, no_checkpoint) as work:
        work.clean()
        group = work.aliases.group()
        for name in group.indices:
            # One that nothing knows of, as after the catalog was restored from an older copy.
            if group.serving and index_number(name) > index_number(group.serving):
                collection.delete_index(name)
    return tuple(name for name in before if name not in collection.aliases(tenant))


def recover(collection: Collection, tenant: str, *, pace: Pace = PACE) -> tuple[str, ...]:
    """Remove what a killed rebuild or swap left, its write block first of all.

    Cheap where nothing is under way, so that every command that looks at indices can begin with it.

    Returns:
        Sentences about what was found and done; none where nothing was, or its process lives.
    """
    work = read_work(collection.catalog, collection.names.group(tenant))
    if not work.holder and (not work.index or work.is_filled) and not work.is_blocked:
        return ()
    try:
        with Work(collection, tenant, pace, no_progress, no_checkpoint) as entered:
            return tuple(entered.found)
    except EngineError as error:
        if error.retryable and not isinstance(error, ClusterError):
            return ()  # alive
        raise


def _report(
    collection: Collection, work: Work, copied: Copied | None, *, is_swapped: bool
) -> RebuildReport:
    passages = next(
        each.documents or 0 for each in collection.indices(work.tenant) if each.role == "serving"
    )
    return RebuildReport(
        work.tenant,
        work.old,
        work.new,
        is_swapped,
        copied,
        work.repaired,
        passages,
        work.replayed,
        drift_of(work.replayed),
        work.dropped,
        tuple(work.found),
    )


def _check(max_drift: float) -> None:
    if not 0.0 <= max_drift <= 1.0:
        raise EngineError(f"The bound of the drift is 0 to 1, not {max_drift:g}")
