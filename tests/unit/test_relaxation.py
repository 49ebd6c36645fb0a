"""`weaker_than`: right whenever it says yes, and it says yes to every kind of relaxation."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logicalrag.engines.analysis import stem as porter2
from logicalrag.query import shape
from logicalrag.query.nodes import FIELDS, And, Boosted, Leaf, Node, Not, Or, Phrase, Word
from logicalrag.query.parser import parse
from logicalrag.query.relaxation import weaker_than
from logicalrag.query.simplify import simplify
from tests.unit.semantics import Document, hits, toy_stem
from tests.unit.tree_strategies import VOCABULARY, documents, leaves, trees

# Pairs are costly to draw, which on a busy machine is no fault of theirs.
GENEROUS = settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])

WEAKER = [
    # equal, reordered, boosted
    ("a", "a"),
    ("a AND b", "b AND a"),
    ("a^2", "a"),
    ("(a OR b)^3 AND c", "c AND (b^2 OR a)"),
    # a dropped conjunct, an added disjunct
    ("a", "a AND b"),
    ("a AND c", "a AND b AND c"),
    ("a OR b", "a"),
    ("(a OR x OR (b AND c)) AND d", "(a OR (b AND c AND e)) AND d AND f"),
    # quotes and words
    ('"b c"', '"a b c d"'),
    ('"b"', '"a b"'),
    ("a", '"a b"'),
    ("a AND b", '"a b"'),
    ("a-b", '"a b"'),
    ("b-c", '"a b c"'),
    ("a", "a-b"),
    ("b AND a", "a-b"),
    # fields
    ("a", "title:a"),
    ('"a b"', 'content:"a b"'),
    ("a OR b", "title:a OR content:b"),
    ("title:a AND title:b", 'title:"a b c"'),
    ("title:a OR content:a", "a"),
    ('title:"a b" OR content:"a b"', '"a b"'),
    ("NOT a", "NOT title:a AND NOT content:a"),
    # exclusions
    ("a", "a NOT b"),
    ('a NOT "b c"', "a NOT b"),
    ('a NOT "b c"', "a NOT b-c"),
    ("a NOT (b AND c)", "a NOT b"),
    ("a NOT b", "a NOT (b OR c)"),
    ("a NOT title:b", "a NOT b"),
    ("NOT (a AND b)", "NOT a OR NOT b"),
    ("NOT (a OR b)", "NOT a AND NOT b"),
    ("NOT (a AND NOT (b OR x))", "NOT (a AND NOT b)"),
    ("a NOT (b NOT c)", "a NOT b"),
    # several at once, and by cases
    ("(beta OR x) NOT (c AND d)", 'title:"alpha beta"^2 NOT c'),
    ("(a AND b) OR (a AND c)", "a AND (b OR c)"),
    ("a AND (b OR c)", "(a AND b) OR (a AND c)"),
    ("(a OR b) AND (a OR c)", "a OR (b AND c)"),
    ("a OR (b AND c)", "(a OR b) AND (a OR c)"),
    ("c", "a AND (NOT a OR c)"),
    # nothing implies everything, everything follows from anything
    ("x", "a AND NOT a"),
    ("x", '"a b" AND NOT a'),
    ("a OR NOT a", "x"),
    ('a OR NOT "a b"', "x"),
]
NOT_WEAKER = [
    ("a AND b", "a"),
    ("a", "a OR b"),
    ('"a b"', "a AND b"),
    ('"a b"', "a-b"),
    ('"a"', "a"),
    ("a-b", "a AND b"),
    ('"a c"', '"a b c"'),
    ('"b a"', '"a b"'),
    ('"a b"', '"a" AND "b"'),
    ("title:a", "a"),
    ("title:a", "content:a"),
    ("title:a AND content:a", "a"),
    ("a-b", "title:a AND content:b"),
    ("a NOT b", "a"),
    ("a NOT b", 'a NOT "b c"'),
    ("a NOT b", "a NOT title:b"),
    ("a NOT (b OR c)", "a NOT b"),
    ("NOT a", "a"),
    ("a", "NOT a"),
    ("a", "b"),
    ("operation", "operations"),
]


@pytest.mark.parametrize(("a", "b"), WEAKER)
def test_relaxations_are_recognised(a: str, b: str) -> None:
    assert weaker_than(parse(a).tree, parse(b).tree)
    assert weaker_than(parse(a).tree, parse(b).tree, porter2)


@pytest.mark.parametrize(("a", "b"), NOT_WEAKER)
def test_others_are_not(a: str, b: str) -> None:
    assert not weaker_than(parse(a).tree, parse(b).tree)


@pytest.mark.parametrize(
    ("a", "b", "is_weaker"),
    [
        ("operation", "operations", True),
        ("operation", '"operations"', True),
        ("operation AND theatre", '"operations theatre"', True),
        ('"operation"', '"operations"', False),
        ('"operation"', "operation", False),
        ("a NOT operations", "a NOT operation", True),
        ('a NOT "operations"', "a NOT operation", True),
        ("operas", "cars", False),
    ],
)
def test_words_compare_by_their_stems_where_there_is_a_stemmer(
    a: str, b: str, is_weaker: bool
) -> None:
    assert weaker_than(parse(a).tree, parse(b).tree, porter2) is is_weaker


@st.composite
def relaxed(draw: st.DrawFn, tree: Node, is_weaker: bool = True) -> Node:
    """Return a relaxation of `tree`, or (not `is_weaker`) a tree that it is a relaxation of.

    Built from the kinds that the specification of `weaker_than` names, at any depth; NOT turns
    one direction into the other.
    """
    if isinstance(tree, Word | Phrase):
        return draw(relaxed_leaf(tree) if is_weaker else tightened_leaf(tree))
    if isinstance(tree, Not):
        return shape.negation(draw(relaxed(tree.child, not is_weaker)))
    if isinstance(tree, Boosted):
        inner = draw(relaxed(tree.child, is_weaker))
        return shape.boosted(inner, "3") if draw(st.booleans()) else inner
    children = list(tree.children)
    loses = isinstance(tree, And) == is_weaker
    change = draw(st.sampled_from(("keep", "members", "order")))
    if change == "order":
        children = draw(st.permutations(children))
    elif change == "members" and loses:
        count = draw(st.integers(1, len(children)))
        children = draw(st.permutations(children))[:count]
    elif change == "members":
        children.insert(draw(st.integers(0, len(children))), draw(trees(max_leaves=3)))
    changed = [draw(relaxed(child, is_weaker)) for child in children]
    join = shape.conjunction if isinstance(tree, And) else shape.disjunction
    return join(changed)


@st.composite
def relaxed_leaf(draw: st.DrawFn, leaf: Leaf) -> Node:
    kind = draw(st.sampled_from(("same", "field", "word", "part", "open", "or", "boost")))
    field = None if kind == "field" else leaf.field
    if kind == "word":
        return Word(leaf.tokens, field)
    if kind == "part":
        start = draw(st.integers(0, len(leaf.tokens) - 1))
        end = draw(st.integers(start + 1, len(leaf.tokens)))
        return type(leaf)(leaf.tokens[start:end], field)
    if kind == "open":
        return shape.conjunction([Word((token,), field) for token in leaf.tokens])
    if kind == "or":
        return shape.disjunction([leaf, draw(trees(max_leaves=2))])
    return type(leaf)(leaf.tokens, field, "2" if kind == "boost" else None)


@st.composite
def tightened_leaf(draw: st.DrawFn, leaf: Leaf) -> Node:
    kind = draw(st.sampled_from(("same", "field", "quote", "longer", "and")))
    if kind == "field" and leaf.field is None:
        return type(leaf)(leaf.tokens, draw(st.sampled_from(FIELDS)))
    if kind == "quote":
        return Phrase(leaf.tokens, leaf.field)
    if kind == "longer":
        more = draw(st.sampled_from(VOCABULARY))
        return type(leaf)((*leaf.tokens, more), leaf.field)
    if kind == "and":
        return shape.conjunction([leaf, draw(trees(max_leaves=2))])
    return leaf


@st.composite
def relaxed_pairs(draw: st.DrawFn) -> tuple[Node, Node]:
    """Return (relaxation, original), a few steps apart."""
    original = draw(trees(max_leaves=10))
    relaxation = original
    for _ in range(draw(st.integers(1, 2))):
        relaxation = draw(relaxed(relaxation))
    return relaxation, original


@GENEROUS
@given(relaxed_pairs(), documents)
def test_every_derived_relaxation_is_recognised_and_is_one(
    pair: tuple[Node, Node], some: list[Document]
) -> None:
    a, b = pair
    assert weaker_than(a, b)
    assert weaker_than(a, b, toy_stem)
    assert hits(b, some) <= hits(a, some)


@settings(max_examples=300)
@given(
    trees(("alpha", "alphas", "beta"), max_leaves=5),
    trees(("alpha", "alphas", "beta"), max_leaves=5),
    documents,
)
def test_what_is_recognised_among_unrelated_trees_holds(
    a: Node, b: Node, some: list[Document]
) -> None:
    for stem in (None, toy_stem):
        if weaker_than(a, b, stem):
            assert hits(b, some) <= hits(a, some)


@GENEROUS
@given(relaxed_pairs(), documents)
def test_the_other_direction_is_claimed_only_where_it_holds(
    pair: tuple[Node, Node], some: list[Document]
) -> None:
    a, b = pair
    if weaker_than(b, a, toy_stem):
        assert hits(a, some) == hits(b, some)


@given(trees(max_leaves=25))
def test_every_tree_is_weaker_than_itself_and_its_simpler_form(tree: Node) -> None:
    assert weaker_than(tree, tree)
    simpler = simplify(tree)
    assert weaker_than(tree, simpler)
    assert weaker_than(simpler, tree)


@given(leaves(), leaves())
def test_leaves_imply_each_other_exactly_when_no_document_tells_them_apart(
    a: Leaf, b: Leaf
) -> None:
    # The smallest hits of b decide it: its own words alone, in each field it may stand in.
    smallest = [
        Document(b.tokens, ()) if field == "title" else Document((), b.tokens)
        for field in FIELDS
        if b.field in (None, field)
    ]
    if isinstance(b, Word):
        # Every inflection the stems allow, so that only what holds for all of them counts.
        smallest += [
            Document(
                tuple(f"{toy_stem(t)}{'s' * plural}" for t in d.title),
                tuple(f"{toy_stem(t)}{'s' * plural}" for t in d.content),
            )
            for d in list(smallest)
            for plural in (0, 1)
        ]
    expected = hits(b, smallest, toy_stem) <= hits(a, smallest, toy_stem)
    assert weaker_than(a, b, toy_stem) is expected


@pytest.mark.parametrize("seed", range(4))
def test_hopeless_pairs_are_given_up_in_bounded_time(seed: int) -> None:
    def grid(first: int, other: int) -> Node:
        return And(
            tuple(
                Or(tuple(Word((f"w{(n * first + m * other) % 97}",)) for m in range(4)))
                for n in range(120)
            )
        )

    a, b = grid(3 + seed, 5), grid(7, 11 + seed)
    begin = time.process_time()
    weaker_than(a, b)
    weaker_than(Not(a), Not(b))
    weaker_than(Not(a), b)
    weaker_than(Or((a, Not(b))), And((b, Or((a, Word(("z",)))))))
    assert time.process_time() - begin < 30


def test_trees_of_any_depth_are_compared() -> None:
    deep: Node = Word(("a",))
    for level in range(2_500):
        other = Word((str(level),))
        deep = And((other, Or((deep, Word(("z",)))))) if level % 2 else Not(Or((deep, other)))
    assert weaker_than(deep, deep)
    assert not weaker_than(Word(("b",)), deep)


def test_a_relaxation_is_found_at_the_deepest_legal_level() -> None:
    def nested(innermost: Node) -> Node:
        tree = innermost
        for level in range(22):
            other = Word((f"w{level}",))
            tree = And((tree, other)) if level % 2 else Or((tree, other))
        return tree

    strict = nested(Phrase(("a", "b"), "title"))
    assert weaker_than(nested(Word(("b",))), strict)
    assert not weaker_than(strict, nested(Word(("b",))))
