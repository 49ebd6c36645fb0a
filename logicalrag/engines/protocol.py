"""What every search engine offers and every index writer does; the same on all of them.

Counts are typed and never bare; visibility is an argument of every call; results are ordered by
(−score, passage id). `SearchEngine` reads, `IndexWriter` writes; `passages` of a document are
numbered from 0 and a passage's id is derived from (tenant, document id, number) alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.metadata import Filter, MetadataSchema, Sort, Value
from logicalrag.query.nodes import Field, Node

Relation = Literal["eq", "gte", "estimate"]
DEFAULT_TENANT = "default"

# Bounds of one call, the same on every engine.
MAX_LIMIT = 1000
MAX_TREES = 32
MAX_NEIGHBOURS = 5
MAX_LEFT_OUT = 16


@dataclass(frozen=True, slots=True)
class Visibility:
    """Who asks, and what is hidden from this call.

    Args:
        tenant: only this tenant's passages are visible.
        groups: the caller's groups; a passage with an access list needs one of them in it.
        hidden_documents: document ids that do not exist for this caller (at most 10,000).
    """

    tenant: str = DEFAULT_TENANT
    groups: frozenset[str] = frozenset()
    hidden_documents: frozenset[str] = frozenset()


_NO_METADATA: Mapping[str, tuple[Value, ...]] = MappingProxyType({})


class Passage(NamedTuple):
    """One indexed chunk of a document: the unit that is counted and cited.

    A named tuple, as they come by the hundred thousand.

    Args:
        id: fixed-length hash of tenant, document id and number (`identity.passage_id`).
        document_id: the producer's id, as given.
        number: position within the document, from 0.
        title: the document's title; may be empty.
        text: the chunk, with its source's characters untouched.
        start: code points of the document's text before the chunk.
        end: end of the chunk, exclusive; ``text == document_text[start:end]``.
        tenant: the owner.
        access: groups that may see it; None means all of the tenant, an empty tuple nobody.
        location: where in its source a person finds it, as ``page 12`` or ``rows 3-9``; may be
            empty.
        metadata: values of declared fields, each one or several; absent fields are left out.
    """

    id: str
    document_id: str
    number: int
    title: str
    text: str
    start: int
    end: int
    tenant: str = DEFAULT_TENANT
    access: tuple[str, ...] | None = None
    location: str = ""
    metadata: Mapping[str, tuple[Value, ...]] = _NO_METADATA


@dataclass(frozen=True, slots=True)
class Count:
    """A typed hit count: `hits` passages, how exact that is, and their share of what is visible.

    `fraction` is 0.0 where nothing is visible.
    """

    hits: int
    relation: Relation
    fraction: float


@dataclass(frozen=True, slots=True)
class ClauseCount:
    """The count of one part of an expression; `canonical` is the part's canonical text."""

    canonical: str
    count: Count


@dataclass(frozen=True, slots=True)
class Hit:
    """One match: the whole passage and its BM25 score."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What one search returns.

    Args:
        count: hits of the whole expression.
        hits: at most `limit` of them by (−score, passage id).
        visible: passages that this caller may see.
        generation: the index generation that all numbers here belong to.
        documents: distinct documents among the hits, where asked for.
        clause_counts: one per distinct leaf in source order, where asked for.
        leave_one_out: for a conjunction, one per top-level conjunct (at most 16) in source order:
            `canonical` names the conjunct left out, `count` is what remains without it. Given
            where asked for and the whole has no hits.
    """

    count: Count
    hits: tuple[Hit, ...]
    visible: int
    generation: str
    documents: int | None = None
    clause_counts: tuple[ClauseCount, ...] = ()
    leave_one_out: tuple[ClauseCount, ...] = ()


@dataclass(frozen=True, slots=True)
class CountResult:
    """Counts of several expressions at one generation, in the order asked."""

    counts: tuple[Count, ...]
    visible: int
    generation: str


@dataclass(frozen=True, slots=True)
class NearWord:
    """An indexed word close to one that has no hits, with the visible passages that hold it."""

    word: str
    hits: int


@dataclass(frozen=True, slots=True)
class ValueCount:
    """How many of the matching passages have `value` in a field."""

    value: Value
    hits: int


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What the tenant's index holds: passages, documents, bytes on disk (0 in memory)."""

    passages: int
    documents: int
    size_bytes: int
    generation: str


@runtime_checkable
class SearchEngine(Protocol):
    """Reads one index. Safe to call from several threads.

    `filters` narrow a call to passages that fulfil all of them, as its visibility does: hits,
    fractions and `visible` are of those.
    """

    @property
    def analysis(self) -> Analysis:
        """How the index's text is analysed; fixed when it was made."""
        ...

    @property
    def metadata_schema(self) -> MetadataSchema:
        """The index's declared fields."""
        ...

    def search(
        self,
        tree: Node,
        visibility: Visibility,
        *,
        limit: int = 5,
        documents: bool = False,
        clause_counts: bool = False,
        leave_one_out: bool = False,
        filters: Sequence[Filter] = (),
        sort: Sort | None = None,
        within: str | None = None,
    ) -> SearchResult:
        """Execute `tree` and return its exact count and the best `limit` (0 to 1,000) passages.

        Args:
            sort: order by a date or number instead of by score: of several values by the largest,
                or by the smallest where the order ascends; passages without a value last, ties by
                passage id. Scores are 0 then.
            within: the id of the only document to look at, as if it filtered; None for all.

        Raises:
            EngineError: the index cannot be read; never a zero in its place.
            MetadataError: a filter or sort names no declared field, or one of another kind.
        """
        ...

    def count(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> CountResult:
        """Count the hits of at most 32 trees at one generation; no passages are fetched."""
        ...

    def values(
        self,
        field: str,
        tree: Node | None,
        visibility: Visibility,
        *,
        filters: Sequence[Filter] = (),
        limit: int = 10,
    ) -> tuple[ValueCount, ...]:
        """Return the values of `field` among the hits of `tree` (None: all that is visible).

        At most `limit` (1 to 1,000) of them, by (−hits, value); only values with hits.

        Raises:
            MetadataError: the field is not declared.
        """
        ...

    def read(
        self, passage_ids: Sequence[str], visibility: Visibility, *, neighbours: int = 0
    ) -> tuple[Passage, ...]:
        """Return the visible ones of `passage_ids` in that order, each once.

        With `neighbours` n (0 to 5), each is preceded and followed by up to n passages of its
        document, in document order.
        """
        ...

    def nearest_words(
        self,
        word: str,
        visibility: Visibility,
        *,
        field: Field | None = None,
        limit: int = 5,
    ) -> tuple[NearWord, ...]:
        """Return indexed words spelt like `word`, best first, each with at least one visible hit.

        `word` is one token of the token rule. Those that are alike by `spelling.similarity`, by
        that, then hits, then word.
        """
        ...

    def documents_holding(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> int:
        """Count the visible documents in which each of 1 to 32 trees matches some passage.

        The passages may be different ones; a document with one passage for all counts too.
        """
        ...

    def stats(self, visibility: Visibility) -> IndexStats:
        """Return sizes of the caller's tenant, at the current generation."""
        ...


class Refusal(NamedTuple):
    """A document of which the index refused a passage, and why, in one sentence."""

    tenant: str
    document_id: str
    reason: str


@runtime_checkable
class IndexWriter(Protocol):
    """Writes one index; nothing is visible or durable before `commit`. One thread at a time."""

    def put(self, passages: Sequence[Passage], *, replaces: int, version: int = 0) -> None:
        """Store one document's passages, numbered 0 to n−1, all of one tenant and document.

        Args:
            passages: at least one.
            replaces: how many passages of this document may already be stored: numbers below it
                are removed first, so that none is doubled and none is left behind. 0 for a
                document never claimed before.
            version: of the document, at least 0. Where several writers write at once, what has a
                lower one than what is stored changes nothing.

        Raises:
            MetadataError: a value does not fit the declared fields; nothing is changed then.
        """
        ...

    def remove(self, tenant: str, document_id: str, *, claimed: int, version: int = 0) -> None:
        """Remove every passage of a document whose numbers are below `claimed`.

        `version` is the deletion's, as for `put`.
        """
        ...

    def commit(self) -> str:
        """Make everything put and removed durable and visible; return the new generation."""
        ...

    def refused(self) -> Sequence[Refusal]:
        """Return the documents that the last commit could not store, each once.

        What the index can tell before a commit, `put` raises instead.
        """
        ...

    def rollback(self) -> None:
        """Forget what was put and removed since the last commit.

        What a writer to a server has already sent stays; it is claimed, and is written again.
        """
        ...

    def close(self) -> None:
        """Release the index without committing. Idempotent."""
        ...
