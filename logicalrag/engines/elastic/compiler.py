"""Trees to Query DSL, as data: the same hits as the specification's sets, BM25 for their order.

A leaf without a field is the better of its fields; AND and OR add up; a boost multiplies onto the
leaves; NOT and filters select and add nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import orjson

from logicalrag.engines.elastic.fields import Fields, Query
from logicalrag.query.nodes import FIELDS, And, Boosted, Leaf, Node, Not, Or, Phrase, Word

# Nested boosts multiply; beyond these a 32-bit score would be infinite, or zero but not a tie.
_MAX_FACTOR = 1e30
_MIN_FACTOR = 1e-30

Part = Query | orjson.Fragment
"""A query, also one that is JSON already."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What selects passages beside a tree and never scores.

    Args:
        must: queries that hold.
        must_not: queries that do not.
    """

    must: Sequence[Part] = field(default_factory=list)
    must_not: Sequence[Part] = field(default_factory=list)


NOTHING = Conditions()
_Factor = TypeVar("_Factor", float, float | None)


def is_scored(tree: Node) -> bool:
    """Return whether hits of a tree can have different scores; else all scores are 0."""
    pending: list[tuple[Node, float]] = [(tree, 1.0)]
    while pending:
        node, factor = pending.pop()
        if isinstance(node, Word | Phrase):
            if _times(factor, node.boost) > 0.0:
                return True
        elif isinstance(node, And | Or):
            pending.extend((child, factor) for child in node.children)
        elif isinstance(node, Boosted):
            pending.append((node.child, _times(factor, node.boost)))
    return False


def compile_scored(fields: Fields, tree: Node, within: Conditions) -> Query:
    """Return the query of `tree` within conditions, with BM25 scores.

    Args:
        fields: of the index that the query is for.
        tree: any tree of the parser's shape.
        within: adds nothing to a score.
    """
    factor = 1.0
    while isinstance(tree, Boosted):
        factor = _times(factor, tree.boost)
        tree = tree.child
    held, excluded = _conjuncts(fields, tree, factor)
    query = _conjunction(held, excluded, within)
    query["bool"]["should"] = fields.unmatched
    return query


def compile_unscored(fields: Fields, tree: Node | None, within: Conditions = NOTHING) -> Query:
    """Return the query of `tree` (None: of everything) within conditions, all in filters."""
    while isinstance(tree, Boosted):
        tree = tree.child
    held, excluded = ([], []) if tree is None else _conjuncts(fields, tree, None)
    return select(Conditions(held, excluded), within)


def conjunct_conditions(fields: Fields, children: Sequence[Node]) -> list[Conditions]:
    """Return what selects the passages of each conjunct of a conjunction, in order."""
    return [Conditions(*_parted(fields, [child], None)) for child in children]


def select(*conditions: Conditions) -> Query:
    """Return the query of the passages that meet all conditions, all in filters."""
    joined = Conditions(
        [query for each in conditions for query in each.must],
        [query for each in conditions for query in each.must_not],
    )
    return _conjunction([], [], joined)


# `factor` is what a leaf's score is multiplied by; None where scores are not asked for.


def _conjuncts(fields: Fields, tree: Node, factor: float | None) -> tuple[list[Part], list[Part]]:
    return _parted(fields, tree.children if isinstance(tree, And) else (tree,), factor)


def _parted(
    fields: Fields, children: Sequence[Node], factor: float | None
) -> tuple[list[Part], list[Part]]:
    """Return the queries of the conjuncts that hold, and of those that do not."""
    held: list[Part] = []
    excluded: list[Part] = []
    for child in children:
        if isinstance(child, Not):
            excluded.append(_compile(fields, child.child, None))
        else:
            held.append(_compile(fields, child, factor))
    return held, excluded


def _conjunction(held: list[Part], excluded: list[Part], within: Conditions = NOTHING) -> Query:
    parts: Query = {}
    if held:
        parts["must"] = held
    if within.must:
        parts["filter"] = within.must
    elif not held:  # exclusions alone match nothing
        parts["filter"] = [{"match_all": {}}]
    if excluded or within.must_not:
        parts["must_not"] = [*excluded, *within.must_not]
    return {"bool": parts}


def _compile(fields: Fields, node: Node, factor: float | None) -> Part:
    match node:
        case Word() | Phrase():
            return _leaf(fields, node, factor)
        case And() | Not():
            return _conjunction(*_conjuncts(fields, node, factor))
        case Or():
            return _disjunction([_compile(fields, child, factor) for child in node.children])
        case Boosted():
            return _compile(fields, node.child, _times(factor, node.boost))


def _disjunction(alternatives: Sequence[Part]) -> Query:
    return {"bool": {"should": alternatives, "minimum_should_match": 1}}


def _leaf(fields: Fields, leaf: Leaf, factor: float | None) -> Query:
    names = FIELDS if leaf.field is None else (leaf.field,)
    queries = [fields.leaf(leaf, name) for name in names]
    factor = _times(factor, leaf.boost)
    if len(queries) == 1 and factor in (None, 1.0):
        return queries[0]
    if factor is None:
        return _disjunction(queries)
    return {"dis_max": {"queries": queries, "boost": factor}}


def _times(factor: _Factor, boost: str | None) -> _Factor:
    if boost is None or not factor:
        return factor
    product = factor * float(boost)
    return min(product, _MAX_FACTOR) if product >= _MIN_FACTOR else 0.0
