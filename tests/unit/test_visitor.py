"""Walking, rebuilding and measuring trees."""

from __future__ import annotations

import pytest
from hypothesis import given

from logicalrag.query import shape
from logicalrag.query.checks import check_limits
from logicalrag.query.errors import ExpressionError
from logicalrag.query.limits import Limits
from logicalrag.query.nodes import And, Boosted, Leaf, Node, Not, Or, Span, Word
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import (
    children_of,
    clause_count,
    depth,
    leaves,
    map_leaves,
    positive_leaves,
)
from tests.unit.tree_strategies import trees

A, B, C, D = (Word((name,)) for name in "abcd")


def names(found: object) -> str:
    assert hasattr(found, "__iter__")
    return "".join(leaf.tokens[0] for leaf in found)


def test_leaves_come_from_left_to_right() -> None:
    tree = parse("a AND (b OR NOT (c AND NOT d^2))^3").tree
    assert names(leaves(tree)) == "abcd"


def test_positive_leaves_stand_under_an_even_number_of_nots() -> None:
    tree = parse("a AND (b OR NOT (c AND NOT d^2))^3 NOT e").tree
    assert names(positive_leaves(tree)) == "abd"


def test_depth_and_clause_count() -> None:
    tree = parse("a AND (b OR NOT (c AND NOT d^2))^3").tree
    # And, Boosted, Or, Not, And, Not, leaf
    assert depth(tree) == 7
    assert clause_count(tree) == 4
    assert depth(A) == clause_count(A) == 1


def test_mapping_copies_and_keeps_the_promised_shape() -> None:
    tree = parse("(a OR b) AND NOT c AND (d)^2").tree
    before = canonical(tree)

    def change(leaf: Leaf, is_positive: bool) -> Node:
        if not is_positive:
            return Not(leaf)
        if leaf.tokens == ("a",):
            return Or((leaf, Word(("x",))))
        if leaf.tokens == ("d",):
            return And((leaf, Word(("y",))))
        return leaf

    assert canonical(map_leaves(tree, change)) == "(a OR x OR b) AND c AND d^2 AND y"
    assert canonical(tree) == before


@given(trees(max_leaves=20))
def test_mapping_nothing_changes_nothing(tree: Node) -> None:
    signs: list[tuple[Leaf, bool]] = []

    def same(leaf: Leaf, is_positive: bool) -> Node:
        signs.append((leaf, is_positive))
        return leaf

    assert map_leaves(tree, same) == tree
    assert [leaf for leaf, _ in signs] == list(leaves(tree))
    assert [leaf for leaf, is_positive in signs if is_positive] == list(positive_leaves(tree))


@given(trees(max_leaves=20))
def test_measures_agree_with_their_definitions(tree: Node) -> None:
    def levels(node: Node) -> int:
        return 1 + max(map(levels, children_of(node)), default=0)

    assert depth(tree) == levels(tree)
    assert clause_count(tree) == len(list(leaves(tree)))


def test_constructors_keep_the_shape() -> None:
    assert shape.conjunction([A]) == A
    assert shape.conjunction([A, And((B, C))]) == And((A, B, C))
    assert shape.disjunction([Or((A, B)), C]) == Or((A, B, C))
    assert shape.negation(Not(A)) == A
    assert shape.boosted(A, "2") == Word(("a",), None, "2")
    assert shape.boosted(shape.boosted(A, "2"), "3") == Boosted(Word(("a",), None, "2"), "3")
    for build in (shape.conjunction, shape.disjunction):
        with pytest.raises(ValueError, match="at least one"):
            build([])


def test_limits_are_checked_on_trees() -> None:
    wide = Or(tuple(Word(("a",), span=Span(n, n + 1)) for n in range(513)))
    with pytest.raises(ExpressionError) as caught:
        check_limits(wide)
    assert (caught.value.code, caught.value.position) == ("too_many_clauses", 512)
    check_limits(Or(wide.children[:512]))

    deep: Node = A
    for _ in range(12):
        deep = Not(And((deep, B)))
    with pytest.raises(ExpressionError) as caught:
        check_limits(deep, "source")
    assert (caught.value.code, caught.value.position) == ("too_deep", 0)
    assert caught.value.source == "source"
    check_limits(deep.child if isinstance(deep, Not) else deep)
    with pytest.raises(ExpressionError, match="has 2 levels"):
        check_limits(Not(A), limits=Limits(levels=1))


def test_everything_is_safe_on_thousands_of_levels() -> None:
    tree: Node = A
    for _ in range(5_000):
        tree = Boosted(Not(tree), "2")
    assert depth(tree) == 10_001
    assert clause_count(tree) == 1
    assert names(positive_leaves(tree)) == "a"
    assert depth(map_leaves(tree, lambda leaf, _: leaf)) == 10_001
