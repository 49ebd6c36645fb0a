"""The Elasticsearch engine's reading side: `SearchEngine` over the indices of a cluster."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import ClusterDeniedError, ClusterError
from logicalrag.engines.conditions import check_filters, check_sort
from logicalrag.engines.elastic.answers import Answer, total
from logicalrag.engines.elastic.compiler import (
    Part,
    compile_scored,
    compile_unscored,
    conjunct_conditions,
    is_scored,
    select,
)
from logicalrag.engines.elastic.counting import (
    Views,
    count_of,
    count_search,
    counts_of,
    counts_searches,
)
from logicalrag.engines.elastic.documents import distinct, holding_all, page_search
from logicalrag.engines.elastic.fields import EMPTY, Fields, IndexSource, Query
from logicalrag.engines.elastic.nearest import nearest
from logicalrag.engines.elastic.passages import read_passages
from logicalrag.engines.elastic.reading import Reader, Reading, Search
from logicalrag.engines.elastic.values import most_frequent
from logicalrag.engines.metadata import Filter, MetadataError, MetadataSchema, Sort, kind_of
from logicalrag.engines.protocol import (
    MAX_LEFT_OUT,
    MAX_LIMIT,
    MAX_NEIGHBOURS,
    MAX_TREES,
    ClauseCount,
    CountResult,
    Hit,
    IndexStats,
    NearWord,
    Passage,
    SearchResult,
    ValueCount,
    Visibility,
)
from logicalrag.query.nodes import And, Field, Leaf, Node
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import depth, leaves

# A server parses queries of 30 levels. Around a tree stands one, and a leaf can be three.
MAX_LEVELS = 27

_Result = TypeVar("_Result")


class ElasticEngine:
    """Searches the indices of a cluster. Implements `SearchEngine`.

    Safe to call from any number of threads.

    Args:
        cluster: stays the caller's to close.
        source: whose indices they are.
        preference: engines with the same one see the same copies of the shards, so that their
            hits come in one order; not beginning with ``_``. None for one of its own.
    """

    def __init__(
        self, cluster: Cluster, source: IndexSource, *, preference: str | None = None
    ) -> None:
        preference = preference or secrets.token_hex(8)
        _check(not preference.startswith("_"), "a preference does not begin with '_'")
        self._cluster = cluster
        self._source = source
        self._reader = Reader(cluster, source, preference)
        self._views = Views()

    @property
    def analysis(self) -> Analysis:
        """How the index's text is analysed."""
        return self._source.analysis

    @property
    def metadata_schema(self) -> MetadataSchema:
        """The index's declared fields."""
        return self._source.metadata_schema

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
        """Execute `tree` in one request; see `SearchEngine.search`.

        Where tenants share an index, scores are 0: they order, but tell of others' passages.

        Raises:
            EngineError: the cluster did not answer in full.
            MetadataError: a filter or the order does not fit the schema.
            ValueError: `limit` or the tree's depth is out of bounds.
        """
        _check(0 <= limit <= MAX_LIMIT, f"limit must be 0 to {MAX_LIMIT}, not {limit}")
        check_sort(sort, self.metadata_schema)
        parts = _parts(tree, clause_counts, leave_one_out)
        scored = sort is None and is_scored(tree)
        tells_scores = scored and not self._source.is_shared

        def run(reading: Reading) -> SearchResult:
            fields = reading.fields
            view = self._views.of(reading, visibility, filters, within)
            pages = documents and fields.document is not None
            unscored = view.query(fields, tree) if pages or not scored else {}
            query = compile_scored(fields, tree, view.conditions) if scored else unscored
            searches = [Search(_page(fields, query, limit, scored, sort), scored)]
            if pages:
                searches.append(page_search(fields, unscored))
            counting = counts_searches(view, parts.queries(fields))
            if view.visible is None and not counting:
                searches.append(count_search(select(view.conditions)))
            answers = reading.ask(*searches, *counting)
            counts = counts_of(view, answers[len(searches) :])
            if view.visible is None:
                view.visible = total(answers[-1])
            hits, held = total(answers[0]), None
            if documents:
                held = distinct(reading, unscored, answers[1]) if pages and hits > 1 else hits
            found = _hits(fields, answers[0], tells_scores)
            return parts.result(hits, found, view.visible, reading.generation, held, counts)

        def empty() -> SearchResult:
            return parts.result(0, (), 0, EMPTY, 0 if documents else None, [0] * len(parts))

        return self._call(visibility, run, empty, [tree], filters)

    def count(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> CountResult:
        """Count the hits of each tree in one request; see `SearchEngine.count`.

        Raises:
            EngineError: the cluster did not answer in full.
            MetadataError: a filter does not fit the schema.
            ValueError: there are too many trees, or one is too deep.
        """
        _check(len(trees) <= MAX_TREES, f"at most {MAX_TREES} trees, not {len(trees)}")

        def run(reading: Reading) -> CountResult:
            view = self._views.of(reading, visibility, filters)
            queries = [compile_unscored(reading.fields, tree) for tree in trees]
            searches = counts_searches(view, queries) or [count_search(select(view.conditions))]
            answers = reading.ask(*searches)
            view.visible = total(answers[0])
            hits = counts_of(view, answers) if trees else []
            return _counted(hits, view.visible, reading.generation)

        return self._call(
            visibility, run, lambda: _counted([0] * len(trees), 0, EMPTY), trees, filters
        )

    def values(
        self,
        field: str,
        tree: Node | None,
        visibility: Visibility,
        *,
        filters: Sequence[Filter] = (),
        limit: int = 10,
    ) -> tuple[ValueCount, ...]:
        """Count the hits of each value of a field; see `SearchEngine.values`.

        Raises:
            EngineError: the cluster did not answer in full.
            MetadataError: the field or a filter does not fit the schema.
            ValueError: `limit` or the tree's depth is out of bounds.
        """
        _check(1 <= limit <= MAX_LIMIT, f"limit must be 1 to {MAX_LIMIT}, not {limit}")
        kind_of(field, self.metadata_schema)

        def run(reading: Reading) -> tuple[ValueCount, ...]:
            view = self._views.of(reading, visibility, filters)
            return most_frequent(reading, field, view.query(reading.fields, tree), limit)

        return self._call(visibility, run, tuple[ValueCount], [tree] if tree else [], filters)

    def read(
        self, passage_ids: Sequence[str], visibility: Visibility, *, neighbours: int = 0
    ) -> tuple[Passage, ...]:
        """Return passages and their neighbours; see `SearchEngine.read`.

        Raises:
            EngineError: the cluster did not answer in full.
            ValueError: `neighbours` is out of bounds.
        """
        _check(
            0 <= neighbours <= MAX_NEIGHBOURS,
            f"neighbours must be 0 to {MAX_NEIGHBOURS}, not {neighbours}",
        )
        if not passage_ids:
            return ()

        def run(reading: Reading) -> tuple[Passage, ...]:
            view = self._views.of(reading, visibility)
            return read_passages(reading, view, passage_ids, visibility.tenant, neighbours)

        return self._call(visibility, run, tuple[Passage])

    def nearest_words(
        self,
        word: str,
        visibility: Visibility,
        *,
        field: Field | None = None,
        limit: int = 5,
    ) -> tuple[NearWord, ...]:
        """Return words spelt alike; see `SearchEngine.nearest_words`.

        Raises:
            EngineError: the cluster did not answer in full.
        """

        def run(reading: Reading) -> tuple[NearWord, ...]:
            return nearest(reading, self._views.of(reading, visibility), word, field, limit)

        return self._call(visibility, run, tuple[NearWord])

    def documents_holding(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> int:
        """Count documents that hold every tree; see `SearchEngine.documents_holding`.

        Raises:
            EngineError: the cluster did not answer in full.
            MetadataError: a filter does not fit the schema.
            ValueError: there are no trees or too many, or one is too deep.
        """
        _check(1 <= len(trees) <= MAX_TREES, f"1 to {MAX_TREES} trees, not {len(trees)}")

        def run(reading: Reading) -> int:
            return holding_all(reading, self._views.of(reading, visibility, filters), trees)

        return self._call(visibility, run, int, trees, filters)

    def stats(self, visibility: Visibility) -> IndexStats:
        """Return sizes of the caller's tenant; see `SearchEngine.stats`.

        Bytes are 0 where tenants share an index, or this user may not ask for them.

        Raises:
            EngineError: the cluster did not answer in full.
        """

        def run(reading: Reading) -> IndexStats:
            fields = reading.fields
            owned: list[Part] = [*fields.owned(visibility.tenant)]
            passages: Query = {"bool": {"filter": owned}}
            if fields.firsts is None:
                counted, first = reading.ask(count_search(passages), page_search(fields, passages))
                documents = distinct(reading, passages, first)
            else:
                firsts = {"bool": {"filter": [*owned, fields.firsts]}}
                counted, first = reading.ask(count_search(passages), count_search(firsts))
                documents = total(first)
            size = self._size_bytes(visibility.tenant)
            return IndexStats(total(counted), documents, size, reading.generation)

        return self._call(visibility, run, lambda: IndexStats(0, 0, 0, EMPTY))

    def _size_bytes(self, tenant: str) -> int:
        if self._source.is_shared:
            return 0
        path = f"/{self._source.index(tenant)}/_stats/store"
        try:
            told = self._cluster.call("GET", path, doing="a size")
        except ClusterDeniedError:
            return 0
        return int(told["_all"]["primaries"]["store"]["size_in_bytes"])

    def _call(
        self,
        visibility: Visibility,
        run: Callable[[Reading], _Result],
        empty: Callable[[], _Result],
        trees: Sequence[Node] = (),
        filters: Sequence[Filter] = (),
    ) -> _Result:
        levels = max(map(depth, trees), default=1)
        _check(levels <= MAX_LEVELS, f"a tree may have at most {MAX_LEVELS} levels, not {levels}")
        check_filters(filters, self.metadata_schema)
        try:
            return self._reader.read(visibility.tenant, run, empty=empty)
        except MetadataError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ClusterError(
                f"The cluster's answer cannot be read ({type(error).__name__}: {error}); "
                "check that its version is 8.x or 9.x and that nothing in between changes answers"
            ) from error


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a tree that are counted beside it: its leaves, its conjuncts left out."""

    leaves: tuple[Leaf, ...]
    conjuncts: tuple[Node, ...]

    def __len__(self) -> int:
        return len(self.leaves) + min(len(self.conjuncts), MAX_LEFT_OUT)

    def queries(self, fields: Fields) -> list[Part]:
        """Return a query for each part, the leaves first."""
        each: list[Part] = [compile_unscored(fields, leaf) for leaf in self.leaves]
        conditions = conjunct_conditions(fields, self.conjuncts)
        for at in range(min(len(conditions), MAX_LEFT_OUT)):
            each.append(select(*conditions[:at], *conditions[at + 1 :]))
        return each

    def result(
        self,
        hits: int,
        found: tuple[Hit, ...],
        visible: int,
        generation: str,
        documents: int | None,
        counts: Sequence[int],
    ) -> SearchResult:
        """Return the result of a search whose parts have these counts."""
        told = [
            ClauseCount(canonical(part), count_of(count, visible))
            for part, count in zip((*self.leaves, *self.conjuncts), counts, strict=False)
        ]
        of_leaves = len(self.leaves)
        return SearchResult(
            count=count_of(hits, visible),
            hits=found,
            visible=visible,
            generation=generation,
            documents=documents,
            clause_counts=tuple(told[:of_leaves]),
            leave_one_out=() if hits else tuple(told[of_leaves:]),
        )


def _parts(tree: Node, clause_counts: bool, leave_one_out: bool) -> _Parts:
    return _Parts(
        tuple(dict.fromkeys(leaves(tree))) if clause_counts else (),
        tree.children if leave_one_out and isinstance(tree, And) else (),
    )


def _page(fields: Fields, query: Query, limit: int, scored: bool, sort: Sort | None) -> Query:
    order: list[Query] = fields.tie_break
    if sort is not None:
        # Of several values the one that counts is the order's best.
        way, best = ("desc", "max") if sort.descending else ("asc", "min")
        by = {"order": way, "mode": best, "missing": "_last"}
        if kind_of(sort.field, fields.metadata_schema) == "date":
            # The field's own format cannot write what stands for no value.
            by["format"] = "strict_date_optional_time_nanos"
        order = [{fields.metadata(sort.field): by}, *order]
    elif scored:
        order = [{"_score": "desc"}, *order]
    return {
        "size": limit,
        "track_total_hits": True,
        "_source": fields.source,
        "sort": order,
        "query": query,
    }


def _hits(fields: Fields, answer: Answer, tells_scores: bool) -> tuple[Hit, ...]:
    return tuple(
        Hit(fields.passage(hit), float(hit["_score"]) if tells_scores else 0.0)
        for hit in answer["hits"]["hits"]
    )


def _counted(hits: Sequence[int], visible: int, generation: str) -> CountResult:
    return CountResult(tuple(count_of(each, visible) for each in hits), visible, generation)


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
