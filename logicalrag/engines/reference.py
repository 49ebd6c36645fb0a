"""The reference engine: naive set evaluation over a few passages in memory.

The oracle of the conformance suite, and the fake for tests and examples. Every search looks at
every passage; nothing is clever, so that its answers can be checked against the specification by
reading. Meant for hundreds of passages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType

from logicalrag.engines.analysis import Analysis, stemmer
from logicalrag.engines.conditions import check_filters, check_metadata, check_sort, fulfils
from logicalrag.engines.metadata import Filter, MetadataSchema, Sort, kind_of
from logicalrag.engines.protocol import (
    MAX_LEFT_OUT,
    MAX_LIMIT,
    MAX_NEIGHBOURS,
    MAX_TREES,
    ClauseCount,
    Count,
    CountResult,
    Hit,
    IndexStats,
    NearWord,
    Passage,
    Refusal,
    SearchResult,
    ValueCount,
    Visibility,
)
from logicalrag.engines.reference_bm25 import field_statistics, idf, score
from logicalrag.engines.reference_metadata import in_order, value_counts
from logicalrag.engines.reference_tokens import tokenize
from logicalrag.engines.spelling import similarity
from logicalrag.query.nodes import FIELDS, And, Boosted, Field, Leaf, Node, Not, Or, Phrase, Word
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import leaves


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A passage with the words of its fields: as they are, and as words are compared."""

    passage: Passage
    exact: Mapping[Field, tuple[str, ...]]
    stems: Mapping[Field, tuple[str, ...]]
    stem: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What one commit made visible: passages by id, never changed afterwards."""

    passages: Mapping[str, _Indexed]
    number: int

    @property
    def generation(self) -> str:
        return str(self.number)


class ReferenceEngine:
    """A search engine and its writer in one object, in memory; `close` keeps what is committed.

    Searches may run in several threads beside one thread that writes. Implements `SearchEngine`
    and `IndexWriter`.

    Args:
        analysis: of the text.
        schema: the declared metadata.
        empty_fields: whether a passage counts for the statistics of a field it has no token in.
    """

    def __init__(
        self,
        *,
        analysis: Analysis = "english",
        schema: MetadataSchema | None = None,
        empty_fields: bool = True,
    ) -> None:
        self._analysis = analysis
        self._schema = schema or MetadataSchema({})
        self._stem = stemmer(analysis)
        self._empty_fields = empty_fields
        self._committed = _Snapshot({}, 0)
        self._staged: dict[str, _Indexed] | None = None

    def __enter__(self) -> ReferenceEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- SearchEngine

    @property
    def analysis(self) -> Analysis:
        """How text is analysed."""
        return self._analysis

    @property
    def metadata_schema(self) -> MetadataSchema:
        """The declared fields."""
        return self._schema

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

        Raises:
            MetadataError: a filter or the order does not fit the schema.
            ValueError: `limit` is out of bounds.
        """
        _check(0 <= limit <= MAX_LIMIT, f"limit must be 0 to {MAX_LIMIT}, not {limit}")
        check_sort(sort, self._schema)
        snapshot = self._committed
        visible = [
            each
            for each in self._visible(snapshot, visibility, filters)
            if within is None or each.passage.document_id == within
        ]
        matching = [each for each in visible if matches(tree, each)]
        if sort is None:
            scores = _Scorer(_of_tenant(snapshot, visibility.tenant), self._empty_fields)
            hits = [Hit(each.passage, scores.of(tree, each)) for each in matching]
            hits.sort(key=lambda hit: (-hit.score, hit.passage.id))
        else:
            hits = [Hit(each, 0.0) for each in in_order((one.passage for one in matching), sort)]

        def counted(part: Node) -> ClauseCount:
            return ClauseCount(canonical(part), _count(part, visible))

        def without(left_out: Node, rest: tuple[Node, ...]) -> ClauseCount:
            remaining = rest[0] if len(rest) == 1 else And(rest)
            return ClauseCount(canonical(left_out), _count(remaining, visible))

        relaxed: tuple[ClauseCount, ...] = ()
        if leave_one_out and not matching and isinstance(tree, And):
            conjuncts = tree.children
            relaxed = tuple(
                without(conjuncts[at], conjuncts[:at] + conjuncts[at + 1 :])
                for at in range(min(len(conjuncts), MAX_LEFT_OUT))
            )
        return SearchResult(
            count=_count(tree, visible),
            hits=tuple(hits[:limit]),
            visible=len(visible),
            generation=snapshot.generation,
            documents=len({each.passage.document_id for each in matching}) if documents else None,
            clause_counts=tuple(map(counted, _distinct_leaves(tree))) if clause_counts else (),
            leave_one_out=relaxed,
        )

    def count(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> CountResult:
        """Count the hits of each tree; see `SearchEngine.count`.

        Raises:
            MetadataError: a filter does not fit the schema.
            ValueError: there are too many trees.
        """
        _check(len(trees) <= MAX_TREES, f"at most {MAX_TREES} trees, not {len(trees)}")
        snapshot = self._committed
        visible = self._visible(snapshot, visibility, filters)
        counts = tuple(_count(tree, visible) for tree in trees)
        return CountResult(counts, len(visible), snapshot.generation)

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
            MetadataError: the field or a filter does not fit the schema.
            ValueError: `limit` is out of bounds.
        """
        _check(1 <= limit <= MAX_LIMIT, f"limit must be 1 to {MAX_LIMIT}, not {limit}")
        kind_of(field, self._schema)
        visible = self._visible(self._committed, visibility, filters)
        held = [each.passage.metadata for each in visible if tree is None or matches(tree, each)]
        return tuple(value_counts(held, field)[:limit])

    def read(
        self, passage_ids: Sequence[str], visibility: Visibility, *, neighbours: int = 0
    ) -> tuple[Passage, ...]:
        """Return passages and their neighbours; see `SearchEngine.read`.

        Raises:
            ValueError: `neighbours` is out of bounds.
        """
        _check(
            0 <= neighbours <= MAX_NEIGHBOURS,
            f"neighbours must be 0 to {MAX_NEIGHBOURS}, not {neighbours}",
        )
        visible = [each.passage for each in self._visible(self._committed, visibility)]
        found: dict[str, Passage] = {}
        for asked in passage_ids:
            for centre in (passage for passage in visible if passage.id == asked):
                around = [
                    passage
                    for passage in visible
                    if passage.document_id == centre.document_id
                    and abs(passage.number - centre.number) <= neighbours
                ]
                for passage in sorted(around, key=lambda each: each.number):
                    found.setdefault(passage.id, passage)
        return tuple(found.values())

    def nearest_words(
        self,
        word: str,
        visibility: Visibility,
        *,
        field: Field | None = None,
        limit: int = 5,
    ) -> tuple[NearWord, ...]:
        """Return words spelt alike; see `SearchEngine.nearest_words`."""
        fields = FIELDS if field is None else (field,)
        hits: dict[str, int] = {}
        for each in self._visible(self._committed, visibility):
            for held in {token for name in fields for token in each.exact[name]}:
                hits[held] = hits.get(held, 0) + 1
        alike = ((similarity(word, held), NearWord(held, hits[held])) for held in hits)
        near = [(similar, found) for similar, found in alike if similar is not None]
        near.sort(key=lambda pair: (-pair[0], -pair[1].hits, pair[1].word))
        return tuple(found for _, found in near[:limit])

    def documents_holding(
        self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
    ) -> int:
        """Count documents that hold every tree; see `SearchEngine.documents_holding`.

        Raises:
            MetadataError: a filter does not fit the schema.
            ValueError: there are no trees or too many.
        """
        _check(1 <= len(trees) <= MAX_TREES, f"1 to {MAX_TREES} trees, not {len(trees)}")
        visible = self._visible(self._committed, visibility, filters)
        holding = [
            {each.passage.document_id for each in visible if matches(tree, each)} for tree in trees
        ]
        return len(set.intersection(*holding))

    def stats(self, visibility: Visibility) -> IndexStats:
        """Return what the tenant's index holds; see `SearchEngine.stats`."""
        snapshot = self._committed
        owned = _of_tenant(snapshot, visibility.tenant)
        documents = {each.passage.document_id for each in owned}
        return IndexStats(len(owned), len(documents), 0, snapshot.generation)

    # -- IndexWriter

    def put(
        self,
        passages: Sequence[Passage],
        *,
        replaces: int,
        version: int = 0,  # noqa: ARG002 - one writer at a time: the last one is the newest
    ) -> None:
        """Stage one document's passages; see `IndexWriter.put`.

        Raises:
            MetadataError: a passage's metadata do not fit the schema.
            ValueError: there are no passages, or they are not one document's, numbered from 0.
        """
        _check(bool(passages), "put needs at least one passage; use remove to delete a document")
        first = passages[0]
        for number, passage in enumerate(passages):
            _check(
                passage.number == number
                and passage.document_id == first.document_id
                and passage.tenant == first.tenant,
                f"put takes one document's passages numbered from 0, not number {passage.number} "
                f"of {passage.document_id!r} at {number}",
            )
            check_metadata(passage.metadata, self._schema)
        self.remove(first.tenant, first.document_id, claimed=replaces)
        for passage in passages:
            self._changes()[passage.id] = self._indexed(passage)

    def remove(
        self,
        tenant: str,
        document_id: str,
        *,
        claimed: int,
        version: int = 0,  # noqa: ARG002 - as for `put`
    ) -> None:
        """Stage the removal of a document's passages; see `IndexWriter.remove`."""
        staged = self._changes()
        doomed = [
            key
            for key, each in staged.items()
            if each.passage.tenant == tenant
            and each.passage.document_id == document_id
            and each.passage.number < claimed
        ]
        for key in doomed:
            del staged[key]

    def commit(self) -> str:
        """Show what is staged; see `IndexWriter.commit`."""
        if self._staged is not None:
            self._committed = _Snapshot(self._staged, self._committed.number + 1)
            self._staged = None
        return self._committed.generation

    def refused(self) -> tuple[Refusal, ...]:
        """Return nothing: what cannot be stored, `put` raises."""
        return ()

    def rollback(self) -> None:
        """Forget what is staged; see `IndexWriter.rollback`."""
        self._staged = None

    def close(self) -> None:
        """Forget what is staged; see `IndexWriter.close`."""
        self.rollback()

    def _changes(self) -> dict[str, _Indexed]:
        if self._staged is None:
            self._staged = dict(self._committed.passages)
        return self._staged

    def _indexed(self, passage: Passage) -> _Indexed:
        title, content = tuple(tokenize(passage.title)), tuple(tokenize(passage.text))
        return _Indexed(
            passage,
            exact={"title": title, "content": content},
            stems={
                "title": tuple(map(self._stem, title)),
                "content": tuple(map(self._stem, content)),
            },
            stem=self._stem,
        )

    def _visible(
        self, snapshot: _Snapshot, visibility: Visibility, filters: Sequence[Filter] = ()
    ) -> list[_Indexed]:
        check_filters(filters, self._schema)
        return [
            each
            for each in _of_tenant(snapshot, visibility.tenant)
            if _sees(visibility, each.passage)
            and all(fulfils(each.passage, condition, self._schema) for condition in filters)
        ]


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _of_tenant(snapshot: _Snapshot, tenant: str) -> list[_Indexed]:
    return [each for each in snapshot.passages.values() if each.passage.tenant == tenant]


def _sees(visibility: Visibility, passage: Passage) -> bool:
    return passage.document_id not in visibility.hidden_documents and (
        passage.access is None or bool(visibility.groups.intersection(passage.access))
    )


# -- what matches


def matches(tree: Node, indexed: _Indexed) -> bool:
    """Return whether a passage belongs to the candidate set of `tree`."""
    match tree:
        case Word() | Phrase():
            return any(_frequency(tree, indexed, name) > 0 for name in _fields(tree))
        case And():
            return all(matches(child, indexed) for child in tree.children)
        case Or():
            return any(matches(child, indexed) for child in tree.children)
        case Not():
            return not matches(tree.child, indexed)
        case Boosted():
            return matches(tree.child, indexed)


def _frequency(leaf: Leaf, indexed: _Indexed, name: Field) -> int:
    """Return at how many places of the field the leaf's tokens follow each other."""
    wanted, held = _wanted(leaf, indexed), _words(leaf, indexed)[name]
    if wanted[0] not in held:
        return 0
    return sum(held[at : at + len(wanted)] == wanted for at in range(len(held)))


def _wanted(leaf: Leaf, indexed: _Indexed) -> tuple[str, ...]:
    return tuple(map(indexed.stem, leaf.tokens)) if isinstance(leaf, Word) else leaf.tokens


def _words(leaf: Leaf, indexed: _Indexed) -> Mapping[Field, tuple[str, ...]]:
    return indexed.stems if isinstance(leaf, Word) else indexed.exact


def _fields(leaf: Leaf) -> tuple[Field, ...]:
    return FIELDS if leaf.field is None else (leaf.field,)


def _count(tree: Node, visible: Sequence[_Indexed]) -> Count:
    hits = sum(matches(tree, each) for each in visible)
    return Count(hits, "eq", hits / len(visible) if visible else 0.0)


def _distinct_leaves(tree: Node) -> Iterable[Leaf]:
    return dict.fromkeys(leaves(tree))


# -- how well


class _Scorer:
    """BM25 over the passages of one tenant, whoever may see them."""

    def __init__(self, passages: Sequence[_Indexed], empty_fields: bool) -> None:
        self._passages = passages
        self._fields = {
            name: field_statistics([len(each.exact[name]) for each in passages], empty_fields)
            for name in FIELDS
        }
        self._idfs: dict[tuple[Leaf, Field], list[float]] = {}

    def of(self, tree: Node, indexed: _Indexed) -> float:
        """Return the score of a passage that matches `tree`."""
        match tree:
            case Word() | Phrase():
                return _factor(tree.boost) * max(
                    self._of_field(tree, indexed, name) for name in _fields(tree)
                )
            case And() | Or():
                return sum(
                    self.of(child, indexed) for child in tree.children if matches(child, indexed)
                )
            case Not():
                return 0.0
            case Boosted():
                return _factor(tree.boost) * self.of(tree.child, indexed)

    def _of_field(self, leaf: Leaf, indexed: _Indexed, name: Field) -> float:
        frequency = _frequency(leaf, indexed, name)
        if frequency == 0:
            return 0.0
        length = len(indexed.exact[name])
        return score(frequency, length, self._idfs_of(leaf, name, indexed), self._fields[name])

    def _idfs_of(self, leaf: Leaf, name: Field, indexed: _Indexed) -> list[float]:
        if (leaf, name) not in self._idfs:
            fields = [_words(leaf, each)[name] for each in self._passages]
            self._idfs[leaf, name] = [
                idf(self._fields[name].passages, sum(term in held for held in fields))
                for term in _wanted(leaf, indexed)
            ]
        return self._idfs[leaf, name]


def _factor(boost: str | None) -> float:
    return 1.0 if boost is None else float(boost)
