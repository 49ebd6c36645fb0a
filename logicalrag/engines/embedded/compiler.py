"""Trees to tantivy queries: the same hits as the specification's sets, BM25 for their order.

A leaf without a field is the better of its fields; AND and OR add up; a boost multiplies; NOT and
filters select and add nothing. Only one native call builds each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tantivy import Occur, Query

from logicalrag.engines.embedded.clauses import Clause, conjunction
from logicalrag.engines.embedded.schema import EXACT, Layout
from logicalrag.query.nodes import FIELDS, And, Boosted, Leaf, Node, Not, Or, Phrase, Word

# Nested boosts multiply; beyond these a 32-bit score would be infinite, or zero but not a tie.
_MAX_FACTOR = 1e30
_MIN_FACTOR = 1e-30

_MUST, _SHOULD, _MUST_NOT = Occur.Must, Occur.Should, Occur.MustNot


@dataclass(frozen=True, slots=True)
class Outline:
    """What is to be known of a tree before it is compiled.

    Args:
        levels: of the tree; every And, Or, Not, Boosted and the leaf are one each.
        is_scored: whether its hits can have different scores; else all scores are 0.
    """

    levels: int
    is_scored: bool


def outline(tree: Node) -> Outline:
    """Return the outline of a tree, however deep, in one walk."""
    levels = 0
    scored = False
    pending: list[tuple[Node, int, float]] = [(tree, 1, 1.0)]
    while pending:
        node, level, factor = pending.pop()
        levels = max(levels, level)
        if isinstance(node, Word | Phrase):
            scored = scored or _times(factor, node.boost) > 0.0
        elif isinstance(node, And | Or):
            for child in node.children:
                pending.append((child, level + 1, factor))
        elif isinstance(node, Not):
            pending.append((node.child, level + 1, 0.0))
        else:
            pending.append((node.child, level + 1, _times(factor, node.boost)))
    return Outline(levels, scored)


def compile_scored(layout: Layout, tree: Node, filters: Sequence[Clause] = ()) -> Query:
    """Return the query of `tree` within `filters`, with BM25 scores.

    Args:
        layout: of the index that the query is for.
        tree: any tree of the parser's shape.
        filters: clauses that add nothing to a score.
    """
    return _compile_within(layout, tree, filters, 1.0)


def compile_unscored(layout: Layout, tree: Node, filters: Sequence[Clause] = ()) -> Query:
    """Return the query of `tree` within `filters` for counting: its scores mean nothing."""
    return _compile_within(layout, tree, filters, 0.0)


def conjunct_clauses(layout: Layout, children: Sequence[Node]) -> list[Clause]:
    """Return one unscored clause for each conjunct of a conjunction, in order."""
    return [_conjunct(layout, child, 0.0) for child in children]


def _compile_within(layout: Layout, tree: Node, filters: Sequence[Clause], factor: float) -> Query:
    while isinstance(tree, Boosted):
        factor = _times(factor, tree.boost)
        tree = tree.child
    children = tree.children if isinstance(tree, And) else (tree,)
    return conjunction([_conjunct(layout, child, factor) for child in children], filters)


def _conjunct(layout: Layout, child: Node, factor: float) -> Clause:
    if isinstance(child, Not):
        return _MUST_NOT, _compile(layout, child.child, 0.0)
    return _MUST, _compile(layout, child, factor)


def _compile(layout: Layout, node: Node, factor: float) -> Query:
    match node:
        case Word() | Phrase():
            return _leaf(layout, node, factor)
        case And():
            return conjunction([_conjunct(layout, child, factor) for child in node.children])
        case Or():
            return Query.boolean_query(
                [(_SHOULD, _compile(layout, child, factor)) for child in node.children]
            )
        case Not():
            return conjunction([_conjunct(layout, node, factor)])
        case Boosted():
            return _compile(layout, node.child, _times(factor, node.boost))


def _leaf(layout: Layout, leaf: Leaf, factor: float) -> Query:
    if isinstance(leaf, Word):
        names, tokens = layout.words, [layout.stem(token) for token in leaf.tokens]
    else:
        names, tokens = EXACT, list(leaf.tokens)
    factor = _times(factor, leaf.boost)
    if leaf.field is not None:
        query = _in_field(layout, names[leaf.field], tokens, factor)
    else:
        query = Query.disjunction_max_query(
            [_in_field(layout, names[name], tokens, factor) for name in FIELDS]
        )
    if factor == 0.0:
        return Query.const_score_query(query, 0.0)
    return query if factor == 1.0 else Query.boost_query(query, factor)


def _in_field(layout: Layout, name: str, tokens: list[str], factor: float) -> Query:
    if len(tokens) == 1:
        return Query.term_query(
            layout.schema, name, tokens[0], "basic" if factor == 0.0 else "freq"
        )
    return Query.phrase_query(layout.schema, name, list(tokens))


def _times(factor: float, boost: str | None) -> float:
    if boost is None or factor == 0.0:
        return factor
    product = factor * float(boost)
    return min(product, _MAX_FACTOR) if product >= _MIN_FACTOR else 0.0
