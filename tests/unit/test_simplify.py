"""Simplified trees: smaller, settled, and with the same hits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from logicalrag.query.nodes import And, Node, Not, Or, Word
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from logicalrag.query.simplify import simplify
from logicalrag.query.visitor import children_of, clause_count, depth
from tests.unit.semantics import Document, hits
from tests.unit.tree_strategies import documents, trees


def size(node: Node) -> int:
    return 1 + sum(size(child) for child in children_of(node))


@pytest.mark.parametrize(
    ("expression", "simpler"),
    [
        ("a", "a"),
        ("a^2 OR (b c)^3", "a OR b OR c"),
        ("a OR a OR b", "a OR b"),
        ("a^2 OR a", "a"),
        ('a OR "a" OR title:a', 'a OR "a" OR title:a'),
        ("(a AND b) OR (b AND a)", "a AND b"),
        ("a AND (a OR b)", "a"),
        ("a OR (b AND a)", "a"),
        ("(a OR b OR c) AND (c OR a)", "c OR a"),
        ("b AND (a OR b^2 OR c) AND d", "b AND d"),
        ("NOT (NOT a)^2", "a"),
        ("NOT a AND NOT b", "NOT (a OR b)"),
        ("NOT a OR NOT b OR NOT c", "NOT (a AND b AND c)"),
        ("c AND NOT a AND NOT b", "c AND NOT a AND NOT b"),
        ("NOT (a OR b)", "NOT (a OR b)"),
        ("NOT (NOT a OR b)", "a AND NOT b"),
        ("NOT (NOT a AND NOT b)", "a OR b"),
        ("NOT (a AND b AND NOT c)", "NOT (a AND b AND NOT c)"),
        ("x OR (a AND NOT a)", "x"),
        ("x AND (a OR NOT a)", "x"),
        ("x AND a AND NOT a", "a AND NOT a"),
        ("x OR NOT a OR a", "a OR NOT a"),
        ("(x AND a AND NOT a) OR (b AND NOT b)", "a AND NOT a"),
        ("NOT (a AND NOT a)", "a OR NOT a"),
        ("x OR NOT (a OR NOT a)", "x"),
        ("(a OR (b AND (b OR c))) AND (a OR b)", "a OR b"),
    ],
)
def test_what_becomes_simpler(expression: str, simpler: str) -> None:
    tree = parse(expression).tree
    assert canonical(simplify(tree)) == simpler


@settings(max_examples=300)
@given(trees(max_leaves=20), documents)
def test_a_simplified_tree_has_the_same_hits(tree: Node, some: list[Document]) -> None:
    assert hits(simplify(tree), some) == hits(tree, some)


@settings(max_examples=300)
@given(trees(("alpha", "beta"), max_leaves=20))
def test_it_is_never_larger_and_settles_at_once(tree: Node) -> None:
    simpler = simplify(tree)
    assert size(simpler) <= size(tree)
    assert depth(simpler) <= depth(tree)
    assert clause_count(simpler) <= clause_count(tree)
    assert simplify(simpler) == simpler
    # And it keeps the promised shape, which the printed form restores.
    assert parse(canonical(simpler), canonical=True).tree == simpler


def test_wide_and_deep_trees_are_simplified() -> None:
    wide = Or(tuple(And((Word((str(n),)), Word((str(n + 1),)))) for n in range(2_000)))
    assert clause_count(simplify(wide)) == 4_000
    deep: Node = Word(("a",))
    for level in range(2_500):
        other = Word((str(level),))
        deep = And((other, Or((deep, Word(("z",)))))) if level % 2 else Not(Or((deep, other)))
    assert depth(deep) > 4_000
    assert depth(simplify(deep)) <= depth(deep)
