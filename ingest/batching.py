"""How much is gathered before it is written: bounds, and the meter that says when they are met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a batch ends: at the first of these that is reached.

    Args:
        documents: at least 1.
        passages: at least 1.
        bytes: of UTF-8 text, at least 1.
        seconds: since the first document of the batch; looked at when the next one arrives.
    """

    documents: int
    passages: int
    bytes: int
    seconds: float

    def __post_init__(self) -> None:
        if min(self.documents, self.passages, self.bytes) < 1 or self.seconds <= 0:
            raise ValueError("every bound of a batch is at least 1, and its seconds over 0")


# One look-up and one claim in the ledger, each with a sync of its own; at most half a commit, so
# that the index has work while more is read.
CLAIM_BOUNDS = Bounds(documents=4_000, passages=10_000, bytes=16 * MIB, seconds=2.0)
# One commit of the index: it costs tens of milliseconds whatever it holds, and what is gathered
# for it is what a killed run has to write again.
COMMIT_BOUNDS = Bounds(documents=100_000, passages=100_000, bytes=128 * MIB, seconds=30.0)


_FIRST_DOCUMENTS = 500


def first_of(bounds: Bounds) -> Bounds:
    """Return the bounds of a run's first batch: less, so that the index has work at once."""
    return replace(bounds, documents=min(bounds.documents, _FIRST_DOCUMENTS))


class Meter:
    """Measures one batch against its bounds.

    Args:
        bounds: where the batch ends.
        clock: seconds that never go back.
    """

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = monotonic) -> None:
        self._most_documents = bounds.documents
        self._most_passages = bounds.passages
        self._most_bytes = bounds.bytes
        self._most_seconds = bounds.seconds
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Begin the next batch."""
        self.full = False
        self._documents = 0
        self._passages = 0
        self._bytes = 0
        self._began = 0.0

    def add(self, passages: int, size_bytes: int) -> None:
        """Count one document, and set `full` where a bound is reached."""
        now = self._clock()
        if not self._documents:
            self._began = now
        self._documents += 1
        self._passages += passages
        self._bytes += size_bytes
        self.full = (
            self._documents >= self._most_documents
            or self._passages >= self._most_passages
            or self._bytes >= self._most_bytes
            or now - self._began >= self._most_seconds
        )
