"""What an opened index is, wherever it is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ingest.ledger import DocumentState, Ledger, LedgerError
from logicalrag.engines.errors import EngineError
from logicalrag.engines.protocol import SearchEngine, Visibility


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An index that can be searched.

    Args:
        place: where it is, in messages.
        engine: executes expressions.
        ledger: what is known of its documents; None where others fill the index.
        waiting: counts a tenant's documents that are claimed and not yet searchable.
    """

    place: str
    engine: SearchEngine
    ledger: Ledger | None
    waiting: Callable[[str], int]

    def pending(self, tenant: str) -> int:
        """Count a tenant's documents that are claimed and not yet searchable.

        Raises:
            EngineError: the ledger cannot be read.
        """
        try:
            return self.waiting(tenant)
        except LedgerError as error:
            raise EngineError(str(error)) from None

    def states(self, tenant: str) -> Mapping[DocumentState, int]:
        """Return how many of a tenant's documents are in each state; nothing without a ledger.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        return {} if self.ledger is None else self.ledger.counts(tenant)

    def disagreement(self, tenant: str) -> tuple[int, int] | None:
        """Return the passages that index and ledger hold where those are not the same number.

        Documents that a killed run left pending may be in the index already or not; with some, the
        two cannot be compared, and the next run settles it.
        """
        if self.ledger is None or self.pending(tenant):
            return None
        known = self.ledger.passages(tenant)
        indexed = self.engine.stats(Visibility(tenant)).passages
        return None if indexed == known else (indexed, known)
