"""Which of two versions of a document counts: one pure decision for puts, one for deletions.

Source: the design's definitions (identity, content hash, version, deleting).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ingest.ledger import Record

FIRST_VERSION = 1

PutOutcome = Literal["added", "changed", "unchanged", "renewed", "outdated", "conflict"]
DeleteOutcome = Literal["deleted", "unchanged", "outdated", "conflict", "unknown"]


@dataclass(frozen=True, slots=True)
class PutDecision:
    """What becomes of a document that arrives.

    Args:
        outcome: ``added`` and ``changed`` are written; ``renewed`` has a newer version and the
            same content, so only its version is written down; ``unchanged`` and ``outdated``
            need nothing; ``conflict`` is a reject.
        version: what the document's record is to say; for a conflict, what it says.
    """

    outcome: PutOutcome
    version: int


@dataclass(frozen=True, slots=True)
class DeleteDecision:
    """What becomes of a deletion: only ``deleted`` is carried out, at `version`."""

    outcome: DeleteOutcome
    version: int


_FIRST = PutDecision("added", FIRST_VERSION)


def decide_put(record: Record | None, version: int | None, content_hash: bytes) -> PutDecision:
    """Decide on a document against its record.

    Args:
        record: None where the document was never seen.
        version: the producer's; None takes the next, and the same content is then a duplicate.
        content_hash: of what arrived.
    """
    if record is None or record.state == "failed":
        return _FIRST if version is None else PutDecision("added", version)
    known = record.version
    same = not record.tombstone and record.content_hash == content_hash
    # Nothing is certain of what a killed run claimed, or of what was taken over from an index
    # without its hash: it is written again, at its own version.
    unknown = not record.content_hash and not record.tombstone
    open_claim = record.state == "claimed" or unknown
    written: PutOutcome = "added" if record.tombstone or record.passages == 0 else "changed"
    if version is None:
        if not same:
            return PutDecision(written, known + 1)
        return PutDecision(written if open_claim else "unchanged", known)
    if version < known:
        return PutDecision("outdated", known)
    if version == known:
        if not same and not unknown:
            return PutDecision("conflict", known)
        return PutDecision(written if open_claim else "unchanged", known)
    return PutDecision("renewed" if same and not open_claim else written, version)


def decide_delete(record: Record | None, version: int | None) -> DeleteDecision:
    """Decide on a deletion against the document's record.

    A deletion with a version leaves a tombstone even for a document never seen, so that an older
    put that arrives later is refused; one without a version is of no use there.
    """
    if record is None or record.state == "failed":
        if version is None:
            return DeleteDecision("unknown", 0)
        return DeleteDecision("deleted", version)
    known = record.version
    unfinished = record.state == "claimed" and record.tombstone
    if version is None or version == known:
        if record.tombstone:
            return DeleteDecision("deleted" if unfinished else "unchanged", known)
        if version is None:
            return DeleteDecision("deleted", known + 1)
        return DeleteDecision("conflict", known)
    if version < known:
        return DeleteDecision("outdated", known)
    return DeleteDecision("deleted", version)
