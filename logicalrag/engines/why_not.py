"""Why an expression does not find a document: told from the engine's protocol alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from logicalrag.engines.metadata import Filter
from logicalrag.engines.protocol import MAX_LIMIT, Passage, SearchEngine, SearchResult, Visibility
from logicalrag.query.nodes import And, Boosted, Leaf, Node, Not, Or, Phrase, Word
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import positive_leaves


@dataclass(frozen=True, slots=True)
class Part:
    """Something looser than a clause: its canonical text, and the document's passages it hits."""

    canonical: str
    passages: int


@dataclass(frozen=True, slots=True)
class Clause:
    """One top-level conjunct.

    Args:
        canonical: its canonical text.
        negated: whether it is a NOT.
        passages: of the document, those that fulfil it.
        fulfilled: whether the nearest passage does.
        parts: where that does not: of a NOT, the leaves that hit it (without one, the document);
            of an OR, its alternatives; of words side by side, each word; of one word, it without
            its field or quotes.
    """

    canonical: str
    negated: bool
    passages: int
    fulfilled: bool
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class WhyNot:
    """How an expression fares on one document.

    Args:
        passages: of the document, those that the caller may see and that fulfil the filters; 0
            where nothing more is known of it than `filters`.
        filters: those of which no passage that the caller may see fulfils one.
        hits: the document's passages that match the whole expression.
        rank: of the best of these among all hits, from 1; None where there is none, or none among
            the first `MAX_LIMIT`.
        nearest: the best hit where the document matches; else the passage that fulfils the most
            clauses, of equals the one with most clauses that are no NOT, then the first; None
            where no passage fulfils any.
        clauses: in source order; empty where the document matches.
    """

    passages: int
    filters: tuple[Filter, ...] = ()
    hits: int = 0
    rank: int | None = None
    nearest: Passage | None = None
    clauses: tuple[Clause, ...] = ()


def why_not(
    engine: SearchEngine,
    document_id: str,
    tree: Node,
    visibility: Visibility,
    filters: Sequence[Filter] = (),
) -> WhyNot:
    """Return which clauses of `tree` exclude the document, and where it came nearest.

    A document that the caller may not see is like one that does not exist. Where a clause holds
    in more than `MAX_LIMIT` passages of the document, the passage given as nearest is one at
    which no further clause can be fulfilled, not always the one with the most.

    Raises:
        EngineError: the index cannot be read.
        MetadataError: a filter names no declared field, or one of another kind.
    """
    document = _Document(engine, document_id, visibility, tuple(filters))
    whole = document.search(tree, 1)
    if not whole.visible:
        return WhyNot(0, filters=document.excluding_filters(tree))
    if whole.hits:
        best = whole.hits[0].passage
        ranked = engine.search(tree, visibility, limit=MAX_LIMIT, filters=filters).hits
        ids = [hit.passage.id for hit in ranked]
        rank = ids.index(best.id) + 1 if best.id in ids else None
        return WhyNot(whole.visible, hits=whole.count.hits, rank=rank, nearest=best)
    conjuncts = _conjuncts(tree)
    nearest, fulfilled = document.nearest(conjuncts)
    clauses = tuple(
        Clause(
            canonical(conjunct),
            isinstance(conjunct, Not),
            document.search(conjunct, 0).count.hits,
            number in fulfilled,
            () if number in fulfilled else document.parts(conjunct, nearest),
        )
        for number, conjunct in enumerate(conjuncts)
    )
    return WhyNot(whole.visible, nearest=nearest, clauses=clauses)


class _Document(NamedTuple):
    engine: SearchEngine
    document_id: str
    visibility: Visibility
    filters: tuple[Filter, ...]

    def search(self, tree: Node, limit: int) -> SearchResult:
        return self.engine.search(
            tree, self.visibility, limit=limit, filters=self.filters, within=self.document_id
        )

    def excluding_filters(self, tree: Node) -> tuple[Filter, ...]:
        """Return the filters that leave no passage; all, where no single one does."""
        if not self._replace(filters=()).search(tree, 0).visible:
            return ()
        alone = [each for each in self.filters if not self._passes(each, tree)]
        return tuple(alone) or self.filters

    def _passes(self, condition: Filter, tree: Node) -> bool:
        return bool(self._replace(filters=(condition,)).search(tree, 0).visible)

    def nearest(self, conjuncts: Sequence[Node]) -> tuple[Passage | None, frozenset[int]]:
        """Return the passage nearest to matching, and the numbers of the conjuncts it fulfils."""
        found = [self.search(conjunct, MAX_LIMIT) for conjunct in conjuncts]
        if any(result.count.hits > MAX_LIMIT for result in found):
            return self._grown(conjuncts, [result.count.hits for result in found])
        passages: dict[str, Passage] = {}
        numbers: dict[str, set[int]] = {}
        for number, result in enumerate(found):
            for hit in result.hits:
                passages[hit.passage.id] = hit.passage
                numbers.setdefault(hit.passage.id, set()).add(number)
        if not passages:
            return None, frozenset()
        positive = {n for n, conjunct in enumerate(conjuncts) if not isinstance(conjunct, Not)}
        best = min(
            passages,
            key=lambda identity: (
                -len(numbers[identity]),
                -len(numbers[identity] & positive),
                passages[identity].number,
            ),
        )
        return passages[best], frozenset(numbers[best])

    def _grown(
        self, conjuncts: Sequence[Node], hits: Sequence[int]
    ) -> tuple[Passage | None, frozenset[int]]:
        """Add conjunct after conjunct, the rarest first, while some passage fulfils all of them."""
        kept: list[int] = []
        passage: Passage | None = None
        for number in sorted(range(len(conjuncts)), key=lambda number: hits[number]):
            tried = [conjuncts[each] for each in sorted([*kept, number])]
            tree = And(tuple(tried)) if len(tried) > 1 else tried[0]
            if hit := self.search(tree, 1).hits:
                kept.append(number)
                passage = hit[0].passage
        return passage, frozenset(kept)

    def parts(self, conjunct: Node, nearest: Passage | None) -> tuple[Part, ...]:
        """Return what a clause that is not fulfilled is made of; see `Clause.parts`."""
        if isinstance(conjunct, Not):
            looked_at: dict[str, Node] = {
                canonical(leaf): leaf for leaf in positive_leaves(conjunct.child)
            }
        else:
            looked_at = {canonical(node): node for node in _looser(conjunct)}
        parts = []
        for text, node in looked_at.items():
            found = self.search(node, MAX_LIMIT)
            hits_nearest = any(nearest in (None, hit.passage) for hit in found.hits)
            if hits_nearest or not isinstance(conjunct, Not):
                parts.append(Part(text, found.count.hits))
        return tuple(parts)


def _conjuncts(tree: Node) -> tuple[Node, ...]:
    tree = _unboosted(tree)
    return tree.children if isinstance(tree, And) else (tree,)


def _looser(node: Node) -> Sequence[Node]:
    node = _unboosted(node)
    if isinstance(node, Or):
        return node.children
    if not isinstance(node, Word | Phrase):
        return _conjuncts(node)
    if len(node.tokens) > 1:
        return [replace(node, tokens=(token,), written="") for token in node.tokens]
    loosened: list[Leaf] = []
    if isinstance(node, Phrase):
        loosened.append(Word(node.tokens, node.field, written=node.written))
    if node.field is not None:
        loosened.append(Word(node.tokens, written=node.written))
    return loosened


def _unboosted(node: Node) -> Node:
    while isinstance(node, Boosted):
        node = node.child
    return node
