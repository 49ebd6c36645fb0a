"""Claimed documents on their way into the index, and the order of writes that survives a kill."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingest.batching import Bounds, Meter
from ingest.ledger import Claim, DocumentState, Ledger, Record
from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import IndexWriter, Passage

Checkpoint = Callable[[str], None]


def no_checkpoint(_: str) -> None:
    """Do nothing: what runs between writes outside of crash tests."""


class OpenCommit:
    """Writes claimed documents to the index and tells the ledger once they are committed.

    The ledger's claim comes first, then the index's commit, then the ledger's mark: a run that
    is killed between any two leaves documents claimed, never one that is marked and not there.

    Args:
        writer: the index.
        ledger: where the documents were claimed.
        bounds: when to commit.
        checkpoint: called before and after each write with its name.
    """

    def __init__(
        self, writer: IndexWriter, ledger: Ledger, bounds: Bounds, checkpoint: Checkpoint
    ) -> None:
        self._writer = writer
        self._ledger = ledger
        self._checkpoint = checkpoint
        self._claims: dict[str, Claim] = {}
        self._meter = Meter(bounds)

    def view(self, record: Record) -> Record:
        """Return `record` as it will be after the commit that is open now."""
        claim = self._claims.get(record.key)
        if claim is None or claim.version != record.version:
            return record
        state: DocumentState = "deleted" if claim.tombstone else "stored"
        return record._replace(state=state, passages=claim.passages)

    def put(self, claim: Claim, passages: Sequence[Passage], size_bytes: int) -> None:
        """Write a claimed document's passages over those of its earlier versions.

        Raises:
            ValueError: the index cannot hold this document; nothing of it was changed, and it
                stays claimed.
        """
        self._checkpoint("index put: before")
        replaced = 0 if claim.before is None else claim.before.claimed
        self._writer.put(passages, replaces=replaced, version=claim.version)
        self._checkpoint("index put: after")
        self._claims[claim.key] = claim
        self._meter.add(len(passages), size_bytes)

    def remove(self, claim: Claim) -> None:
        """Remove a document whose deletion is claimed."""
        self._checkpoint("index remove: before")
        self._writer.remove(
            claim.tenant, claim.document_id, claimed=claim.claimed, version=claim.version
        )
        self._checkpoint("index remove: after")
        self._claims[claim.key] = claim
        self._meter.add(claim.claimed, 0)

    def renewed(self, claim: Claim) -> None:
        """Take note that a document's version was raised while its passages are on their way."""
        if (open_claim := self._claims.get(claim.key)) is not None:
            self._claims[claim.key] = open_claim._replace(version=claim.version)

    @property
    def full(self) -> bool:
        """Whether enough is gathered to be worth a commit."""
        return self._meter.full

    def commit(self) -> list[tuple[Claim, str]]:
        """Make what was put and removed durable, then say so in the ledger.

        Returns:
            The claims that the index refused, each with the reason; they stay claimed.
        """
        if not self._claims:
            return []
        self._checkpoint("index commit: before")
        self._writer.commit()
        self._checkpoint("index commit: after")
        refused: list[tuple[Claim, str]] = []
        for tenant, document_id, reason in self._writer.refused():
            claim = self._claims.pop(document_key(tenant, document_id), None)
            if claim is not None:
                refused.append((claim, reason))
        self._ledger.stored(list(self._claims.values()))
        self._checkpoint("ledger stored: after")
        self._claims.clear()
        self._meter.reset()
        return refused

    def finish_deletions(self) -> None:
        """Carry out the deletions that a killed run claimed and did not finish."""
        unfinished = [record for record in self._ledger.pending() if record.tombstone]
        for record in unfinished:
            self.remove(
                Claim(
                    key=record.key,
                    document_id=record.document_id,
                    tenant=record.tenant,
                    version=record.version,
                    content_hash=record.content_hash,
                    passages=0,
                    claimed=record.claimed,
                    tombstone=True,
                    before=record,
                )
            )
            if self.full:
                self.commit()
        self.commit()
