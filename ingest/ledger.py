"""What the ledger knows of each document, and what every ledger does.

A document is claimed before its passages are written and marked stored after the index has
committed them: whatever is left claimed by a run that was killed is written again, with the same
passage ids, so that nothing is doubled. The ledger never lowers `claimed`: every passage that may
ever have been written has a number below it.

Records and claims are named tuples: they are made by the hundred thousand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

DocumentState = Literal["claimed", "stored", "failed", "deleted"]


class Record(NamedTuple):
    """One document's line in the ledger.

    Args:
        key: `logicalrag.engines.identity.document_key` of tenant and document id.
        document_id: the producer's id, as given.
        tenant: the owner.
        version: of the content claimed last; at least 0.
        content_hash: of the content claimed last; empty for a deletion.
        passages: how many are stored; 0 while none ever was.
        claimed: one more than the largest passage number ever claimed.
        state: ``claimed`` until the index holds what was claimed, then ``stored`` or ``deleted``;
            ``failed`` where no version was ever fit to be stored.
        tombstone: whether what was claimed last is the deletion.
    """

    key: str
    document_id: str
    tenant: str
    version: int
    content_hash: bytes
    passages: int
    claimed: int
    state: DocumentState
    tombstone: bool


class Claim(NamedTuple):
    """One document that is about to be written: what its record will say.

    Args:
        key, document_id, tenant, version, content_hash, tombstone: as in `Record`.
        passages: how many will be stored; 0 for a deletion.
        claimed: at least `passages`, and at least what the record says.
        before: the record that the decision was taken on; None where there was none.
    """

    key: str
    document_id: str
    tenant: str
    version: int
    content_hash: bytes
    passages: int
    claimed: int
    tombstone: bool
    before: Record | None


def is_same_claim(one: Claim | Record, other: Claim | Record) -> bool:
    """Return whether two are of the same version and content of one document."""
    return (
        one.version == other.version
        and one.content_hash == other.content_hash
        and one.tombstone == other.tombstone
    )


class Failure(NamedTuple):
    """A document that could not be indexed, as it is written down: `reason` is its code."""

    key: str
    document_id: str
    tenant: str
    reason: str


@runtime_checkable
class Ledger(Protocol):
    """Keeps one record per document; every call is one transaction, durable when it returns."""

    def is_empty(self) -> bool:
        """Return whether no document has a record."""
        ...

    def look_up(self, keys: Sequence[str]) -> Mapping[str, Record]:
        """Return the records of those of `keys` that have one."""
        ...

    def claim(self, claims: Sequence[Claim]) -> frozenset[str]:
        """Claim documents, each if its record is still `before`; return the keys that lost.

        `claims` hold a key at most once. What lost is unchanged: look it up and decide again.
        """
        ...

    def renew(self, claims: Sequence[Claim]) -> frozenset[str]:
        """Raise the version of stored documents whose content is the same; return who lost."""
        ...

    def stored(self, claims: Sequence[Claim]) -> None:
        """Mark claims as stored (or deleted), each unless it has been claimed anew since."""
        ...

    def failed(self, failures: Sequence[Failure]) -> None:
        """Write down failures of documents of which nothing is stored or claimed."""
        ...

    def pending(self) -> Iterator[Record]:
        """Yield the records that are claimed and not stored, in no certain order."""
        ...

    def records(self) -> Iterator[tuple[Record, int]]:
        """Yield every record with the version that its passages were written at, in any order.

        That is the record's version, or a lower one where the version alone was raised since and
        the index keeps versions. What is written meanwhile may be seen or not.
        """
        ...

    def counts(self, tenant: str) -> Mapping[DocumentState, int]:
        """Return how many of a tenant's documents are in each state; absent where none is."""
        ...

    def passages(self, tenant: str) -> int:
        """Return how many passages the tenant's stored documents have."""
        ...

    def close(self) -> None:
        """Release the ledger. Idempotent."""
        ...


class LedgerError(RuntimeError):
    """The ledger cannot be used.

    Args:
        path: its file.
        detail: one sentence that says what is wrong and what to do.
    """

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(path, detail)
        self.path = path
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.detail} (ledger: {self.path})"
