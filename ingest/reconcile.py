"""Ledger and index compared, and either repaired, after one was restored from an older copy.

What an older index lacks nobody here has: it is marked as claimed, so that certificates say
``pending`` and the next ingest of the same documents writes them again. What an older ledger does
not know is taken over from the index, with an unknown content, so that the next put counts as a
change. A document that an older ledger has and a newer index has deleted cannot be told from one
that an older index lacks: it is reported as that, and nothing brings it back by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

from ingest.ledger import Claim, Ledger, Record
from ingest.versions import FIRST_VERSION
from logicalrag.engines.errors import EngineError
from logicalrag.engines.inventory import Holding, Inventory
from logicalrag.engines.protocol import IndexWriter

DifferenceKind = Literal["unknown", "ledger_older", "index_older", "orphans"]
_BATCH = 1_000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Difference:
    """One document in which ledger and index differ.

    Args:
        kind: ``unknown`` to the ledger; ``ledger_older`` than what the index holds;
            ``index_older``, or without passages that the ledger has as stored; ``orphans`` are
            passages that no stored version has.
        tenant, document_id: which one.
        waits: whether it is pending after the repair: to be ingested again.
    """

    kind: DifferenceKind
    tenant: str
    document_id: str
    waits: bool


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """What was compared and repaired, or would be.

    Args:
        documents: of the ledger, compared.
        unknown, ledger_older, index_older, orphans: differing documents of each kind.
        waiting: those of them that are pending now: ingest them again.
        changed_meanwhile: differing ones that somebody else was writing; run it again.
        differences: the first of them, as many as were asked for.
    """

    documents: int = 0
    unknown: int = 0
    ledger_older: int = 0
    index_older: int = 0
    orphans: int = 0
    waiting: int = 0
    changed_meanwhile: int = 0
    differences: tuple[Difference, ...] = ()


class _Repair(NamedTuple):
    """What makes one document agree.

    Args:
        claim: what the ledger is to say; None where it is right.
        is_stored: whether the claim is marked at once.
        removes: passages below this number are removed from the index, of which the first `keeps`
            are written again; 0 for none.
        version: at which that is done.
    """

    difference: Difference
    holding: Holding | None
    claim: Claim | None = None
    is_stored: bool = False
    removes: int = 0
    keeps: int = 0
    version: int = 0


def reconcile(
    ledger: Ledger,
    inventory: Inventory,
    writer: IndexWriter,
    *,
    dry_run: bool = False,
    max_listed: int = 1_000,
    progress: Callable[[int], None] = lambda _: None,
) -> ReconcileReport:
    """Compare every document of a ledger and its index, and repair what differs.

    Safe while others write: what they claimed since is left to them. A second run right after
    finds nothing new; what waits is pending until it is ingested.

    Args:
        ledger, inventory, writer: of one index.
        dry_run: only report; nothing is written.
        max_listed: how many differences the report names; all are counted.
        progress: told how many documents have been compared, of ledger and index together.

    Raises:
        EngineError, LedgerError: one of them cannot be read or written; run it again.
    """
    run = _Run(ledger, inventory, writer, dry_run, max_listed)
    done = 0
    try:
        for some in _batches(ledger.records()):
            held = inventory.held([record.key for record, _ in some])
            found = [_compared(record, at, held.get(record.key)) for record, at in some]
            run.carry_out([each for each in found if each is not None])
            run.counts["documents"] += len(some)
            done += len(some)
            progress(done)
        for holdings in _batches(inventory.documents()):
            known = ledger.look_up([each.key for each in holdings])
            run.carry_out([_adopted(each, None) for each in holdings if each.key not in known])
            done += len(holdings)
            progress(done)
    except BaseException:
        writer.rollback()
        raise
    return ReconcileReport(**run.counts, differences=tuple(run.listed))


def _compared(record: Record, written: int, holding: Holding | None) -> _Repair | None:
    """Return what makes a document agree; None where it does.

    Args:
        written: the version that its passages should have.
        holding: None where the index has nothing of it.
    """
    if holding is None:
        return _reopened(record, None) if record.state == "stored" else None
    if record.state == "failed" or _newest(holding, record.version) > record.version:
        return _adopted(holding, record)
    if record.state == "claimed":
        # The next ingest writes it; it only has to know how far to remove.
        return _reopened(record, holding) if holding.end > record.claimed else None
    if record.state == "deleted":
        difference = _difference("orphans", holding, waits=False)
        return _Repair(difference, holding, removes=holding.end, version=record.version)
    right = record.passages > 0 and all(
        holding.versions.get(number, -1) in (None, written) for number in range(record.passages)
    )
    if right and holding.end == record.passages:
        return None
    if right and _newest(holding, written) <= written:
        return _Repair(
            _difference("orphans", holding, waits=False),
            holding,
            removes=holding.end,
            keeps=record.passages,
            version=written,
        )
    return _reopened(record, holding)


def _adopted(holding: Holding, before: Record | None) -> _Repair:
    """Return the repair of a ledger that is behind what the index holds of a document."""
    version = _newest(holding, FIRST_VERSION)
    passages = len(holding.versions)
    # Of one version and without a gap; else nobody knows what the newest version has.
    whole = holding.end == passages and len(set(holding.versions.values())) == 1
    kind: DifferenceKind = "unknown" if before is None else "ledger_older"
    claim = Claim(
        key=holding.key,
        document_id=holding.document_id,
        tenant=holding.tenant,
        version=version,
        content_hash=b"",
        passages=passages,
        claimed=max(holding.end, before.claimed if before else 0),
        tombstone=False,
        before=before,
    )
    return _Repair(_difference(kind, holding, waits=not whole), holding, claim, whole)


def _reopened(record: Record, holding: Holding | None) -> _Repair:
    """Return the repair that has a document written again by its next ingest."""
    end = 0 if holding is None else holding.end
    claim = Claim(
        key=record.key,
        document_id=record.document_id,
        tenant=record.tenant,
        version=record.version,
        content_hash=record.content_hash,
        passages=record.passages if record.state == "stored" else 0,
        claimed=max(record.claimed, end),
        tombstone=record.tombstone,
        before=record,
    )
    return _Repair(_difference("index_older", record, waits=True), holding, claim)


def _newest(holding: Holding, otherwise: int) -> int:
    """Return the highest version of a document's passages, `otherwise` where none is known."""
    known = [version for version in holding.versions.values() if version is not None]
    return max(known, default=otherwise)


def _difference(kind: DifferenceKind, of: Record | Holding, *, waits: bool) -> Difference:
    return Difference(kind, of.tenant, of.document_id, waits)


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while some := list(islice(rest, _BATCH)):
        yield some


class _Run:
    def __init__(
        self,
        ledger: Ledger,
        inventory: Inventory,
        writer: IndexWriter,
        dry_run: bool,
        max_listed: int,
    ) -> None:
        self._ledger = ledger
        self._inventory = inventory
        self._writer = writer
        self._dry_run = dry_run
        self._max_listed = max_listed
        self.counts: Counter[str] = Counter()
        self.listed: list[Difference] = []

    def carry_out(self, repairs: list[_Repair]) -> None:
        """Repair documents, each if nobody changed its record since; count all of them."""
        lost: frozenset[str] = frozenset()
        claims = [each.claim for each in repairs if each.claim is not None]
        if claims and not self._dry_run:
            lost = self._ledger.claim(claims)
            self._ledger.stored(
                [
                    each.claim
                    for each in repairs
                    if each.claim is not None and each.is_stored and each.claim.key not in lost
                ]
            )
        self._clear([each for each in repairs if each.removes])
        for each in repairs:
            if each.claim is not None and each.claim.key in lost:
                self.counts["changed_meanwhile"] += 1
                continue
            self.counts[each.difference.kind] += 1
            self.counts["waiting"] += each.difference.waits
            if len(self.listed) < self._max_listed:
                self.listed.append(each.difference)

    def _clear(self, repairs: list[_Repair]) -> None:
        """Remove passages that no stored version has; others' newer ones win by their version."""
        if self._dry_run or not repairs:
            return
        for each in repairs:
            if each.holding is None:
                continue
            kept = self._inventory.passages(each.holding.key)[: each.keeps]
            if kept:
                self._writer.put(kept, replaces=each.removes, version=each.version)
            else:
                self._writer.remove(
                    each.holding.tenant,
                    each.holding.document_id,
                    claimed=each.removes,
                    version=each.version,
                )
        self._writer.commit()
        for _, document_id, reason in self._writer.refused():
            raise EngineError(f"The index cannot hold document {document_id[:60]!r} ({reason}).")
