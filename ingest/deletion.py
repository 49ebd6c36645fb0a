"""Documents out of an index, by id, in the same order of versions as documents in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ingest.batching import COMMIT_BOUNDS, Bounds
from ingest.commits import Checkpoint, OpenCommit, no_checkpoint
from ingest.documents import Reject
from ingest.ledger import Claim, Ledger
from ingest.report import IngestReport
from ingest.versions import decide_delete
from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import DEFAULT_TENANT, IndexWriter

_BATCH_DOCUMENTS = 1_000


@dataclass(frozen=True, slots=True)
class Deletion:
    """One document that is to go.

    Args:
        document_id: the producer's id.
        tenant: the owner.
        version: the producer's integer; None takes the next.
    """

    document_id: str
    tenant: str = DEFAULT_TENANT
    version: int | None = None


def delete(
    deletions: Iterable[Deletion],
    writer: IndexWriter,
    ledger: Ledger,
    *,
    commit_bounds: Bounds = COMMIT_BOUNDS,
    checkpoint: Checkpoint = no_checkpoint,
) -> IngestReport:
    """Remove documents and leave a tombstone of each; return the counts.

    A document deleted before counts as unchanged; an id that no document has is a reject. The
    tombstone keeps the version, so that an older put that arrives later changes nothing.

    Raises:
        EngineError, LedgerError: the index or the ledger cannot be written; run it again.
    """
    open_commit = OpenCommit(writer, ledger, commit_bounds, checkpoint)
    counts: Counter[str] = Counter()
    rejects: list[Reject] = []
    try:
        open_commit.finish_deletions()
        batch: dict[str, Deletion] = {}
        for deletion in deletions:
            key = document_key(deletion.tenant, deletion.document_id)
            if key in batch or len(batch) == _BATCH_DOCUMENTS:
                _carry_out(batch, ledger, open_commit, counts, rejects, checkpoint)
            batch[key] = deletion
        _carry_out(batch, ledger, open_commit, counts, rejects, checkpoint)
        open_commit.commit()
    except BaseException:
        writer.rollback()
        raise
    pending = sum(1 for _ in ledger.pending())
    return IngestReport(**counts, failed=len(rejects), pending=pending, rejects=tuple(rejects))


def _carry_out(
    batch: dict[str, Deletion],
    ledger: Ledger,
    open_commit: OpenCommit,
    counts: Counter[str],
    rejects: list[Reject],
    checkpoint: Checkpoint,
) -> None:
    """Decide on, claim and remove a batch, which is emptied."""
    while batch:
        records = ledger.look_up(list(batch))
        claims: dict[str, Claim] = {}
        for key, deletion in batch.items():
            before = records.get(key)
            view = before and open_commit.view(before)
            decision = decide_delete(view, deletion.version)
            if decision.outcome == "deleted":
                claims[key] = Claim(
                    key=key,
                    document_id=deletion.document_id,
                    tenant=deletion.tenant,
                    version=decision.version,
                    content_hash=b"",
                    passages=0,
                    claimed=before.claimed if before else 0,
                    tombstone=True,
                    before=before,
                )
            elif decision.outcome in ("unknown", "conflict"):
                rejects.append(_reject(deletion, decision.outcome == "unknown"))
            else:
                counts[decision.outcome] += 1
        lost: frozenset[str] = frozenset()
        if claims:
            checkpoint("ledger claim: before")
            lost = ledger.claim(list(claims.values()))
        for key, claim in claims.items():
            if key not in lost:
                open_commit.remove(claim)
                counts["deleted"] += 1
        if open_commit.full:
            open_commit.commit()
        for key in set(batch) - lost:
            del batch[key]


def _reject(deletion: Deletion, unknown: bool) -> Reject:
    identity = deletion.document_id
    if unknown:
        wrong = f'no document has the id "{identity}"; check it'
        return Reject(identity, "unknown_document", wrong, identity)
    wrong = f"version {deletion.version} is the stored one's; delete with a higher version"
    return Reject(identity, "version_conflict", wrong, identity)
