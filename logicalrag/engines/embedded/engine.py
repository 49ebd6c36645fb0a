"""The embedded engine's reading side: `SearchEngine` over an index folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tantivy import Occur, Query

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.conditions import check_filters, check_sort
from logicalrag.engines.embedded.admission import Admission, usable_cores
from logicalrag.engines.embedded.clauses import any_of, conjunction
from logicalrag.engines.embedded.compiler import (
    compile_scored,
    compile_unscored,
    conjunct_clauses,
    outline,
)
from logicalrag.engines.embedded.folder import size_bytes, tenant_folder
from logicalrag.engines.embedded.ranking import best
from logicalrag.engines.embedded.reader import FolderReader
from logicalrag.engines.embedded.schema import (
    DOCUMENT_KEY,
    NUMBER,
    PASSAGE_NUMBER,
    hashed_documents,
    passage_number,
)
from logicalrag.engines.embedded.schema import key_of as document_key_of
from logicalrag.engines.embedded.snapshot import Snapshot, View, count_of
from logicalrag.engines.embedded.stack import SHALLOW_LEVELS, on_large_stack
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import Filter, MetadataError, MetadataSchema, Sort, kind_of
from logicalrag.engines.protocol import (
    MAX_LEFT_OUT,
    MAX_LIMIT,
    MAX_NEIGHBOURS,
    MAX_TREES,
    ClauseCount,
    CountResult,
    IndexStats,
    NearWord,
    Passage,
    SearchResult,
    ValueCount,
    Visibility,
)
from logicalrag.query.nodes import And, Field, Node, Phrase
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import leaves

# Legal expressions have at most 24; this is what is safe to build and run.
MAX_LEVELS = 100

# Looking a document up costs as much as reading so many hits (measured).
_HITS_A_LOOK_UP = 20

_Result = TypeVar("_Result")


class EmbeddedEngine:
    """Searches the index in a folder, following its writer. Implements `SearchEngine`.

    Safe to call from any number of threads; as many run at once as there are cores.

    Args:
        path: the index folder.
        concurrency: how many calls may run at once; None for one on each usable core.

    Raises:
        EngineError: there is no index in the folder.
    """

    def __init__(self, path: Path, *, concurrency: int | None = None) -> None:
        self._path = path
        self._reader = FolderReader(path)
        self._admission = Admission(concurrency or usable_cores())

    def __enter__(self) -> EmbeddedEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the index's files as far as no running call needs them. Idempotent."""
        self._reader.close()

    @property
    def analysis(self) -> Analysis:
        """How the index's text is analysed."""
        return self._reader.layout.analysis

    @property
    def metadata_schema(self) -> MetadataSchema:
        """The index's declared fields."""
        return self._reader.layout.metadata

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
        """Execute `tree`; see `SearchEngine.search`.

        Distinct `documents` cost time linear in the hits, and so do many equal values to sort by.

        Raises:
            EngineError: the index cannot be read.
            MetadataError: a filter or the order does not fit the schema.
            ValueError: `limit` or the tree's depth is out of bounds.
        """
        _check(0 <= limit <= MAX_LIMIT, f"limit must be 0 to {MAX_LIMIT}, not {limit}")
        shape = outline(tree)

        def run(snapshot: Snapshot, view: View) -> SearchResult:
            check_sort(sort, snapshot.layout.metadata)
            scored = shape.is_scored and sort is None
            compiled = compile_scored if scored else compile_unscored
            query = compiled(snapshot.layout, tree, view.filters)
            total, hits = best(snapshot, query, limit, scored, sort)
            return SearchResult(
                count=count_of(total, view),
                hits=tuple(hits),
                visible=view.visible,
                generation=snapshot.generation,
                documents=_documents(snapshot, view, tree, total) if documents else None,
                clause_counts=_clause_counts(snapshot, view, tree) if clause_counts else (),
                leave_one_out=(
                    _leave_one_out(snapshot, view, tree.children)
                    if leave_one_out and not total and isinstance(tree, And)
                    else ()
                ),
            )

        return self._call(visibility, run, shape.levels, filters, within)

    def count(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> CountResult:
        """Count the hits of each tree; see `SearchEngine.count`.

        Raises:
            EngineError: the index cannot be read.
            MetadataError: a filter does not fit the schema.
            ValueError: there are too many trees, or one is too deep.
        """
        _check(len(trees) <= MAX_TREES, f"at most {MAX_TREES} trees, not {len(trees)}")

        def run(snapshot: Snapshot, view: View) -> CountResult:
            counts = tuple(
                snapshot.counted(compile_unscored(snapshot.layout, tree, view.filters), view)
                for tree in trees
            )
            return CountResult(counts, view.visible, snapshot.generation)

        return self._call(visibility, run, _levels(trees), filters)

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

        Linear in the number of distinct values and in the hits.

        Raises:
            EngineError: the index cannot be read.
            MetadataError: the field or a filter does not fit the schema.
            ValueError: `limit` or the tree's depth is out of bounds.
        """
        _check(1 <= limit <= MAX_LIMIT, f"limit must be 1 to {MAX_LIMIT}, not {limit}")

        def run(snapshot: Snapshot, view: View) -> tuple[ValueCount, ...]:
            kind_of(field, snapshot.layout.metadata)
            held = snapshot.layout.metadata_fields[field]
            if tree is None:
                query = conjunction(view.filters)
            else:
                query = compile_unscored(snapshot.layout, tree, view.filters)
            # Only with a query are removed passages left out of the counts.
            terms = snapshot.searcher.terms_with_prefix(held.terms, "", query)
            counted = (ValueCount(held.value(term), hits) for term, hits in terms)
            return tuple(nsmallest(limit, counted, key=lambda each: (-each.hits, each.value)))

        return self._call(visibility, run, _levels([tree] if tree else []), filters)

    def read(
        self, passage_ids: Sequence[str], visibility: Visibility, *, neighbours: int = 0
    ) -> tuple[Passage, ...]:
        """Return passages and their neighbours; see `SearchEngine.read`.

        Raises:
            EngineError: the index cannot be read.
            ValueError: `neighbours` is out of bounds.
        """
        _check(
            0 <= neighbours <= MAX_NEIGHBOURS,
            f"neighbours must be 0 to {MAX_NEIGHBOURS}, not {neighbours}",
        )
        wanted = {id_: passage_number(id_) for id_ in passage_ids}
        numbers = {number for number in wanted.values() if number is not None}
        if not numbers:
            return ()

        def run(snapshot: Snapshot, view: View) -> tuple[Passage, ...]:
            query = _within(view, any_of(snapshot.layout.schema, PASSAGE_NUMBER, numbers))
            stored = {each.id: each for each in snapshot.passages(query, len(numbers))}
            found: dict[str, Passage] = {}
            for centre in (stored[id_] for id_ in wanted if id_ in stored):
                around = _around(snapshot, view, centre, neighbours) if neighbours else (centre,)
                for passage in around:
                    found.setdefault(passage.id, passage)
            return tuple(found.values())

        return self._call(visibility, run)

    def nearest_words(
        self,
        word: str,
        visibility: Visibility,
        *,
        field: Field | None = None,
        limit: int = 5,
    ) -> tuple[NearWord, ...]:
        """Return words spelt alike; see `SearchEngine.nearest_words` and `Vocabulary.nearest`.

        Linear in the number of distinct words; the first call on a new commit reads them all.

        Raises:
            EngineError: the index cannot be read.
        """

        def run(snapshot: Snapshot, view: View) -> tuple[NearWord, ...]:
            def hits_of(held: str) -> int:
                leaf = Phrase((held,), field)
                return snapshot.hits(compile_unscored(snapshot.layout, leaf, view.filters))

            return tuple(snapshot.vocabulary.nearest(word, field, limit, hits_of))

        return self._call(visibility, run)

    def documents_holding(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> int:
        """Count the documents that hold every tree; see `SearchEngine.documents_holding`.

        Linear in the hits of the rarest expression, and of the others where it is not rare.

        Raises:
            EngineError: the index cannot be read.
            MetadataError: a filter does not fit the schema.
            ValueError: there are no trees or too many, or one is too deep.
        """
        _check(1 <= len(trees) <= MAX_TREES, f"1 to {MAX_TREES} trees, not {len(trees)}")

        def run(snapshot: Snapshot, view: View) -> int:
            queries = [compile_unscored(snapshot.layout, tree, view.filters) for tree in trees]
            return len(_holding_all(snapshot, queries))

        return self._call(visibility, run, _levels(trees), filters)

    def stats(self, visibility: Visibility) -> IndexStats:
        """Return sizes of the caller's tenant; see `SearchEngine.stats`.

        Raises:
            EngineError: the index cannot be read.
        """

        def run(snapshot: Snapshot, _: View) -> IndexStats:
            # Every document has exactly one passage of number 0.
            first = Query.term_query(snapshot.layout.schema, NUMBER, 0)
            return IndexStats(
                passages=snapshot.searcher.num_docs,
                documents=snapshot.hits(first),
                size_bytes=size_bytes(tenant_folder(self._path, visibility.tenant)),
                generation=snapshot.generation,
            )

        return self._call(visibility, run)

    def _call(
        self,
        visibility: Visibility,
        run: Callable[[Snapshot, View], _Result],
        levels: int = 1,
        filters: Sequence[Filter] = (),
        within: str | None = None,
    ) -> _Result:
        _check(levels <= MAX_LEVELS, f"a tree may have at most {MAX_LEVELS} levels, not {levels}")

        def admitted() -> _Result:
            snapshot = self._reader.snapshot(visibility.tenant)
            check_filters(filters, snapshot.layout.metadata)
            return run(snapshot, snapshot.view(visibility, filters, within))

        try:
            with self._admission:
                return on_large_stack(admitted) if levels > SHALLOW_LEVELS else admitted()
        except (EngineError, MetadataError):
            raise
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error
        except BaseException as error:
            # A panic in native code; its class is not an `Exception`, nor public.
            if type(error).__name__ == "PanicException":
                raise self._unreadable(error) from error
            raise

    def _unreadable(self, error: BaseException) -> EngineError:
        return EngineError(
            f"the index in {self._path} cannot be read ({error}); "
            "try again, and if it stays so ingest the documents into a new folder",
            retryable=isinstance(error, OSError),
        )


def _levels(trees: Iterable[Node]) -> int:
    return max((outline(tree).levels for tree in trees), default=1)


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _within(view: View, query: Query) -> Query:
    return conjunction([(Occur.Must, query)], view.filters)


def _documents(snapshot: Snapshot, view: View, tree: Node, hits: int) -> int:
    if hits < 2:
        return hits
    query = compile_unscored(snapshot.layout, tree, view.filters)
    return len(snapshot.document_hashes(query, hits))


def _clause_counts(snapshot: Snapshot, view: View, tree: Node) -> tuple[ClauseCount, ...]:
    counted: list[ClauseCount] = []
    for leaf in dict.fromkeys(leaves(tree)):
        query = compile_unscored(snapshot.layout, leaf, view.filters)
        counted.append(ClauseCount(canonical(leaf), snapshot.counted(query, view)))
    return tuple(counted)


def _leave_one_out(
    snapshot: Snapshot, view: View, conjuncts: Sequence[Node]
) -> tuple[ClauseCount, ...]:
    clauses = conjunct_clauses(snapshot.layout, conjuncts)
    counted: list[ClauseCount] = []
    for at, left_out in enumerate(conjuncts[:MAX_LEFT_OUT]):
        query = conjunction(clauses[:at] + clauses[at + 1 :], view.filters)
        counted.append(ClauseCount(canonical(left_out), snapshot.counted(query, view)))
    return tuple(counted)


def _around(snapshot: Snapshot, view: View, centre: Passage, neighbours: int) -> list[Passage]:
    """Return the visible passages up to `neighbours` away from `centre`, itself among them."""
    schema = snapshot.layout.schema
    numbers = range(max(0, centre.number - neighbours), centre.number + neighbours + 1)
    query = conjunction(
        [
            (Occur.Must, any_of(schema, DOCUMENT_KEY, [document_key_of(centre)])),
            (Occur.Must, any_of(schema, NUMBER, numbers)),
        ],
        view.filters,
    )
    return sorted(snapshot.passages(query, len(numbers)), key=lambda each: each.number)


def _holding_all(snapshot: Snapshot, queries: Sequence[Query]) -> set[int]:
    """Return the hashes of documents that have a match of each of `queries`, rarest first."""
    counted = sorted((snapshot.hits(query), at) for at, query in enumerate(queries))
    hits, rarest = counted[0]
    holding = snapshot.document_hashes(queries[rarest], hits)
    for hits, at in counted[1:]:
        if not holding:
            break
        query = queries[at]
        if len(holding) * _HITS_A_LOOK_UP < hits:
            within = hashed_documents(snapshot.layout.schema, holding)
            query = conjunction([(Occur.Must, query), (Occur.Must, within)])
        holding &= snapshot.document_hashes(query, hits)
    return holding
