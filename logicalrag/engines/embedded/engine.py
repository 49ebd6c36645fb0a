"""The embedded engine's reading side: `SearchEngine` over an index folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tantivy import Occur, Query

from logicalrag.engines.embedded.admission import Admission, usable_cores
from logicalrag.engines.embedded.compiler import (
    Clause,
    compile_scored,
    compile_unscored,
    conjunct_clauses,
    conjunction,
    outline,
)
from logicalrag.engines.embedded.folder import size_bytes, tenant_folder
from logicalrag.engines.embedded.ranking import best
from logicalrag.engines.embedded.reader import FolderReader
from logicalrag.engines.embedded.schema import DOCUMENT_HASH, DOCUMENT_KEY, NUMBER, PASSAGE_ID
from logicalrag.engines.embedded.schema import key_of as document_key_of
from logicalrag.engines.embedded.snapshot import Snapshot, View, any_of, count_of
from logicalrag.engines.embedded.stack import SHALLOW_LEVELS, on_large_stack
from logicalrag.engines.errors import EngineError
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
    Visibility,
)
from logicalrag.query.nodes import And, Field, Node, Phrase
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import leaves

# Legal expressions have at most 24; this is what is safe to build and run.
MAX_LEVELS = 100

# Up to so many documents, the next expression is searched within them only.
_MAX_NARROWED = 1024

_SURROGATE = re.compile("[\ud800-\udfff]")

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

    def search(
        self,
        tree: Node,
        visibility: Visibility,
        *,
        limit: int = 5,
        documents: bool = False,
        clause_counts: bool = False,
        leave_one_out: bool = False,
    ) -> SearchResult:
        """Execute `tree`; see `SearchEngine.search`.

        Distinct `documents` cost time linear in the hits.

        Raises:
            EngineError: the index cannot be read.
            ValueError: `limit` or the tree's depth is out of bounds.
        """
        _check(0 <= limit <= MAX_LIMIT, f"limit must be 0 to {MAX_LIMIT}, not {limit}")
        shape = outline(tree)

        def run(snapshot: Snapshot, view: View) -> SearchResult:
            schema, filters = snapshot.schema, view.filters
            compiled = compile_scored if shape.is_scored else compile_unscored
            query = compiled(schema, tree, filters)
            total, hits = best(snapshot, query, limit, shape.is_scored)
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

        return self._call(visibility, run, shape.levels)

    def count(self, trees: Sequence[Node], visibility: Visibility) -> CountResult:
        """Count the hits of each tree; see `SearchEngine.count`.

        Raises:
            EngineError: the index cannot be read.
            ValueError: there are too many trees, or one is too deep.
        """
        _check(len(trees) <= MAX_TREES, f"at most {MAX_TREES} trees, not {len(trees)}")

        def run(snapshot: Snapshot, view: View) -> CountResult:
            counts = tuple(
                snapshot.counted(compile_unscored(snapshot.schema, tree, view.filters), view)
                for tree in trees
            )
            return CountResult(counts, view.visible, snapshot.generation)

        return self._call(visibility, run, _levels(trees))

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
        # A lone surrogate stands in no stored id, and tantivy cannot be asked for one.
        wanted = [id_ for id_ in dict.fromkeys(passage_ids) if not _SURROGATE.search(id_)]
        if not wanted:
            return ()

        def run(snapshot: Snapshot, view: View) -> tuple[Passage, ...]:
            query = _within(view, any_of(snapshot.schema, PASSAGE_ID, wanted))
            stored = {each.id: each for each in snapshot.passages(query, len(wanted))}
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
                return snapshot.hits(compile_unscored(snapshot.schema, leaf, view.filters))

            return tuple(snapshot.vocabulary.nearest(word, field, limit, hits_of))

        return self._call(visibility, run)

    def documents_holding(self, trees: Sequence[Node], visibility: Visibility) -> int:
        """Count the documents that hold every tree; see `SearchEngine.documents_holding`.

        Linear in the hits of the rarest expression, and of the others where it is not rare.

        Raises:
            EngineError: the index cannot be read.
            ValueError: there are no trees or too many, or one is too deep.
        """
        _check(1 <= len(trees) <= MAX_TREES, f"1 to {MAX_TREES} trees, not {len(trees)}")

        def run(snapshot: Snapshot, view: View) -> int:
            queries = [compile_unscored(snapshot.schema, tree, view.filters) for tree in trees]
            return len(_holding_all(snapshot, queries))

        return self._call(visibility, run, _levels(trees))

    def stats(self, visibility: Visibility) -> IndexStats:
        """Return sizes of the caller's tenant; see `SearchEngine.stats`.

        Raises:
            EngineError: the index cannot be read.
        """

        def run(snapshot: Snapshot, _: View) -> IndexStats:
            # Every document has exactly one passage of number 0.
            first = Query.term_query(snapshot.schema, NUMBER, 0)
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
    ) -> _Result:
        _check(levels <= MAX_LEVELS, f"a tree may have at most {MAX_LEVELS} levels, not {levels}")

        def admitted() -> _Result:
            snapshot = self._reader.snapshot(visibility.tenant)
            return run(snapshot, snapshot.view(visibility))

        try:
            with self._admission:
                return on_large_stack(admitted) if levels > SHALLOW_LEVELS else admitted()
        except EngineError:
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
    query = compile_unscored(snapshot.schema, tree, view.filters)
    return len(snapshot.document_hashes(query, hits))


def _clause_counts(snapshot: Snapshot, view: View, tree: Node) -> tuple[ClauseCount, ...]:
    counted: list[ClauseCount] = []
    for leaf in dict.fromkeys(leaves(tree)):
        query = compile_unscored(snapshot.schema, leaf, view.filters)
        counted.append(ClauseCount(canonical(leaf), snapshot.counted(query, view)))
    return tuple(counted)


def _leave_one_out(
    snapshot: Snapshot, view: View, conjuncts: Sequence[Node]
) -> tuple[ClauseCount, ...]:
    clauses: list[Clause] = conjunct_clauses(snapshot.schema, conjuncts)
    counted: list[ClauseCount] = []
    for at, left_out in enumerate(conjuncts[:MAX_LEFT_OUT]):
        query = conjunction(clauses[:at] + clauses[at + 1 :], view.filters)
        counted.append(ClauseCount(canonical(left_out), snapshot.counted(query, view)))
    return tuple(counted)


def _around(snapshot: Snapshot, view: View, centre: Passage, neighbours: int) -> list[Passage]:
    """Return the visible passages up to `neighbours` away from `centre`, itself among them."""
    schema = snapshot.schema
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
        if len(holding) <= _MAX_NARROWED:
            within = any_of(snapshot.schema, DOCUMENT_HASH, holding)
            query = conjunction([(Occur.Must, query), (Occur.Must, within)])
        holding &= snapshot.document_hashes(query, hits)
    return holding
