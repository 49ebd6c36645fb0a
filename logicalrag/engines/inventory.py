"""What an index holds, document by document: for comparing it with what should be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from logicalrag.engines.protocol import Passage


class Holding(NamedTuple):
    """One document as an index holds it.

    Args:
        key: `identity.document_key` of tenant and document id.
        tenant, document_id: as they were put.
        versions: from the number of each passage that is there to the version that it was put at;
            None where the index keeps no versions. At least one, in the order of numbers.
    """

    key: str
    tenant: str
    document_id: str
    versions: Mapping[int, int | None]

    @property
    def end(self) -> int:
        """One more than the largest number."""
        return max(self.versions) + 1


@runtime_checkable
class Inventory(Protocol):
    """Lists one index, committed or not. Never less than there is: a failed shard is an error."""

    def documents(self) -> Iterator[Holding]:
        """Yield every document of every tenant once, in any order and in bounded memory.

        Raises:
            EngineError: the index cannot be read.
        """
        ...

    def held(self, keys: Sequence[str]) -> Mapping[str, Holding]:
        """Return those of these documents of which there is a passage."""
        ...

    def passages(self, key: str) -> tuple[Passage, ...]:
        """Return a document's passages by number."""
        ...
