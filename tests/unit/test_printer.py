"""The canonical text: what it looks like, and that it means the tree it was printed from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.query.nodes import And, Boosted, Node, Not, Or, Phrase, Word
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import depth
from tests.unit.tree_strategies import AWKWARD, VOCABULARY, accepted_texts, trees

A, B, C = Word(("a",)), Word(("b",)), Word(("c",))


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        ("Alpha", "alpha"),
        ("a b NOT c", "(a OR b) AND NOT c"),
        ("NOT c a b", "(a OR b) AND NOT c"),
        ("a OR b AND c", "a OR (b AND c)"),
        ("((a)) && !b", "a AND NOT b"),
        ("a OR (b OR (c OR d))", "a OR b OR c OR d"),
        ("ADR-016", "adr-016"),
        ("“To be, or not to be!”", '"to be or not to be"'),
        ("(NOT a) b", "NOT a OR b"),
        ("NOT (a b)", "NOT (a OR b)"),
        ("a^2.50 OR (b c)^.3", "a^2.50 OR (b OR c)^.3"),
        ("((a b)^2)^3", "((a OR b)^2)^3"),
        ("(a)^2", "a^2"),
        ("(a^2)^3", "(a^2)^3"),
        ("NOT (NOT a)^2", "NOT (NOT a)^2"),
        ("title:a AND title:b", "title:(a AND b)"),
        ("title:a OR (title:b AND c)", "title:a OR (title:b AND c)"),
        ("(title:a OR title:b) AND c", "title:(a OR b) AND c"),
        ("NOT title:(a b^2)", "NOT title:(a OR b^2)"),
        ('title:("a b" NOT c)^3', 'title:("a b" AND NOT c)^3'),
        ("\\AND OR \\not", "and OR not"),
        ("第一文", "第-一-文"),
    ],
)
def test_what_is_printed(expression: str, printed: str) -> None:
    assert canonical(parse(expression).tree) == printed


@given(trees(AWKWARD) | trees(VOCABULARY, max_leaves=40))
def test_parsing_the_printed_form_gives_the_same_tree(tree: Node) -> None:
    printed = canonical(tree)
    assert parse(printed, "OR", canonical=True).tree == tree
    # The operators are explicit, so the default makes no difference.
    assert parse(printed, "AND", canonical=True).tree == tree


@given(accepted_texts, st.sampled_from(("OR", "AND")))
def test_the_canonical_form_of_any_expression_is_a_fixed_point(
    text: str, default_operator: str
) -> None:
    tree = parse(text, default_operator).tree
    printed = canonical(tree)
    again = parse(printed, "OR", canonical=True).tree
    assert again == tree
    assert canonical(again) == printed


def test_no_limit_applies_to_canonical_text() -> None:
    tree: Node = Or(tuple(Word((f"word{number}",)) for number in range(2_000)))
    tree = And((tree, tree))
    for _ in range(80):
        tree = Boosted(tree, "2")
    printed = canonical(tree)
    assert len(printed) > 10_000
    assert parse(printed, canonical=True).tree == tree


def test_five_thousand_levels_are_printed_and_read() -> None:
    tree: Node = A
    for level in range(2_500):
        tree = And((B, Or((tree, C)))) if level % 2 else Not(Or((tree, C)))
    printed = canonical(tree)
    again = parse(printed, canonical=True).tree
    assert depth(again) == depth(tree) > 5_000
    assert canonical(again) == printed


def test_a_quote_prints_its_tokens_side_by_side() -> None:
    assert canonical(Not(Phrase(("a", "b"), "content", "3"))) == 'NOT content:"a b"^3'
