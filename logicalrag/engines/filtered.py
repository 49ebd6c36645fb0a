"""An engine on which filters, and an order, hold for every call, reads included."""

from __future__ import annotations

from collections.abc import Sequence

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.conditions import fulfils
from logicalrag.engines.metadata import Filter, MetadataSchema, Sort
from logicalrag.engines.protocol import (
    MAX_TREES,
    CountResult,
    IndexStats,
    NearWord,
    Passage,
    SearchEngine,
    SearchResult,
    ValueCount,
    Visibility,
)
from logicalrag.query.nodes import Field, Node, Phrase


class FilteredEngine:
    """Shows of `engine` the passages that fulfil `filters`, and counts only those.

    Sizes (`stats`) are the whole tenant's.

    Args:
        engine: any engine.
        filters: hold in every call, besides the call's own.
        sort: the order of searches that name none.
    """

    def __init__(
        self, engine: SearchEngine, filters: Sequence[Filter], sort: Sort | None = None
    ) -> None:
        self._engine = engine
        self._filters = tuple(filters)
        self._sort = sort

    @property
    def analysis(self) -> Analysis:
        """How the index's text is analysed; fixed when it was made."""
        return self._engine.analysis

    @property
    def metadata_schema(self) -> MetadataSchema:
        """The index's declared fields."""
        return self._engine.metadata_schema

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
        """Execute `tree`; as `SearchEngine.search`."""
        return self._engine.search(
            tree,
            visibility,
            limit=limit,
            documents=documents,
            clause_counts=clause_counts,
            leave_one_out=leave_one_out,
            filters=(*self._filters, *filters),
            sort=sort or self._sort,
            within=within,
        )

    def count(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> CountResult:
        """Count the hits of at most 32 trees; as `SearchEngine.count`."""
        return self._engine.count(trees, visibility, filters=(*self._filters, *filters))

    def values(
        self,
        field: str,
        tree: Node | None,
        visibility: Visibility,
        *,
        filters: Sequence[Filter] = (),
        limit: int = 10,
    ) -> tuple[ValueCount, ...]:
        """Return the values of `field` among the hits; as `SearchEngine.values`."""
        return self._engine.values(
            field, tree, visibility, filters=(*self._filters, *filters), limit=limit
        )

    def read(
        self, passage_ids: Sequence[str], visibility: Visibility, *, neighbours: int = 0
    ) -> tuple[Passage, ...]:
        """Return those of the passages that fulfil the filters; as `SearchEngine.read`."""
        schema = self._engine.metadata_schema
        return tuple(
            passage
            for passage in self._engine.read(passage_ids, visibility, neighbours=neighbours)
            if all(fulfils(passage, condition, schema) for condition in self._filters)
        )

    def nearest_words(
        self,
        word: str,
        visibility: Visibility,
        *,
        field: Field | None = None,
        limit: int = 5,
    ) -> tuple[NearWord, ...]:
        """Return words spelt alike, in the engine's order, with their hits under the filters.

        Only the `MAX_TREES` nearest of the index are looked at.
        """
        near = self._engine.nearest_words(word, visibility, field=field, limit=MAX_TREES)
        counted = self.count([Phrase((each.word,), field) for each in near], visibility).counts
        held = [
            NearWord(each.word, count.hits)
            for each, count in zip(near, counted, strict=True)
            if count.hits
        ]
        return tuple(held[:limit])

    def documents_holding(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> int:
        """Count the documents that hold all trees; as `SearchEngine.documents_holding`."""
        return self._engine.documents_holding(trees, visibility, filters=(*self._filters, *filters))

    def stats(self, visibility: Visibility) -> IndexStats:
        """Return sizes of the caller's tenant, filters apart."""
        return self._engine.stats(visibility)
