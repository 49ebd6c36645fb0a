"""What the engine has to know of an index and its fields: of ours, or of one that others fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import Passage, Visibility
from logicalrag.query.nodes import Field, Leaf

Query = dict[str, Any]
"""One query of the Query DSL, ready for JSON."""


EMPTY = "empty"
"""The generation without passages."""


@dataclass(frozen=True, slots=True)
class State:
    """What is visible of a tenant, and what was last committed.

    Args:
        generation: 24 characters of ``0-9a-f``, or `EMPTY`.
        published: the generation of the last commit; None where others fill the index.
        made: tells the tenant's indices from those of one that was dropped; empty as above.
        indices: that hold what is visible, sorted.
    """

    generation: str
    published: str | None
    made: str
    indices: tuple[str, ...]

    @property
    def is_settled(self) -> bool:
        """Whether no commit is half visible."""
        return self.published is None or self.published == self.generation


class Fields(Protocol):
    """How expressions, callers and passages look in one index.

    No text of a caller makes a method fail or match more: what JSON or the index cannot hold
    matches nothing.
    """

    @property
    def analysis(self) -> Analysis:
        """How its text is analysed, or what comes closest to it."""
        ...

    @property
    def metadata_schema(self) -> MetadataSchema:
        """Its declared fields."""
        ...

    @property
    def source(self) -> Sequence[str] | bool:
        """What to ask for as ``_source`` so that `passage` can be called."""
        ...

    @property
    def tie_break(self) -> list[Query]:
        """Sort clauses that put passages of equal score in one order; by passage id in ours."""
        ...

    @property
    def unmatched(self) -> list[Query]:
        """A query for each text field that no passage matches.

        Beside a phrase it makes every shard tell its statistics of the field: by itself a shard
        that holds none of the phrase's words tells nothing, and scores would depend on shards.
        """
        ...

    @property
    def document(self) -> str | None:
        """The keyword field that tells documents apart, one value a passage.

        None where each passage is a document of its own: then there are as many as passages.
        """
        ...

    @property
    def number(self) -> str | None:
        """The integer field of a passage's number; None where an index has one passage each."""
        ...

    @property
    def firsts(self) -> Query | None:
        """The query of exactly one passage of each document; None where there is no such query."""
        ...

    def leaf(self, leaf: Leaf, field: Field) -> Query:
        """Return the query of a word or phrase in one field, its boost left aside."""
        ...

    def visible(self, visibility: Visibility) -> tuple[list[Query], list[Query]]:
        """Return what must hold and what must not hold of a passage that this caller may see."""
        ...

    def owned(self, tenant: str) -> list[Query]:
        """Return what must hold of a passage of this tenant, whoever may see it."""
        ...

    def ids(self, passage_ids: Sequence[str]) -> Query:
        """Return the query of the passages with these ids."""
        ...

    def of_document(self, tenant: str, document_id: str) -> Query:
        """Return the query of all passages of a document, by its producer's id."""
        ...

    def metadata(self, name: str) -> str:
        """Return the index field of a declared field: a keyword, a number or a date."""
        ...

    def exact(self, field: Field) -> str:
        """Return the index field whose terms are whole words, for words that are spelt alike."""
        ...

    def passage(self, hit: Mapping[str, Any]) -> Passage:
        """Return the passage of a search's hit.

        Raises:
            EngineError: the hit is no passage, as where others fill the index.
        """
        ...


class IndexSource(Protocol):
    """Where an engine's tenants have their passages."""

    @property
    def analysis(self) -> Analysis:
        """How text is analysed.

        Raises:
            EngineError: there is no such collection or index.
        """
        ...

    @property
    def metadata_schema(self) -> MetadataSchema:
        """The declared fields, of all indices.

        Raises:
            EngineError: there is no such collection or index.
        """
        ...

    @property
    def is_shared(self) -> bool:
        """Whether tenants share an index: then neither scores nor sizes are told, only order."""
        ...

    def index(self, tenant: str) -> str:
        """Return the alias or index that a tenant's searches go to."""
        ...

    def fields(self, state: State) -> Fields:
        """Return the fields of the indices that a state names; asked for with every call.

        Where it names none nothing is visible, and any fields do.
        """
        ...

    def state_search(self, tenant: str) -> tuple[Query, Query]:
        """Return header and body of the search that `generation.state_of` reads.

        The header needs no more than its ``index``.
        """
        ...

    def is_known(self, tenant: str) -> bool:
        """Return whether a tenant has an index; asked where it cannot be found.

        Of an unknown tenant nothing is found; a known one without an index is an error.
        """
        ...
