"""What a run of ingestion did: the counts at its end, and on the way."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.documents import Reject


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The counts of one run; each document, line or file that arrived is in exactly one.

    Args:
        added: documents new to the index, or back after a deletion.
        changed: documents whose earlier version was replaced.
        unchanged: the same content as stored, or already deleted; nothing was written.
        outdated: an older version than the one known; nothing was written.
        failed: not indexed; `rejects` says why.
        deleted: documents removed.
        sanitised: of all documents, those in which characters were replaced or removed.
        passages: written by this run.
        pending: documents that an interrupted run left unfinished and this one did not meet.
        rejects: the first of the failures, in order; bounded by the settings.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    outdated: int = 0
    failed: int = 0
    deleted: int = 0
    sanitised: int = 0
    passages: int = 0
    pending: int = 0
    rejects: tuple[Reject, ...] = ()

    @property
    def documents(self) -> int:
        """All that arrived."""
        return (
            self.added + self.changed + self.unchanged + self.outdated + self.failed + self.deleted
        )

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return self.failed == 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: documents met, of them failed, passages written, and the last place."""

    documents: int
    failed: int
    passages: int
    place: str
