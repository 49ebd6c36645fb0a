"""Compiling to Query DSL: sets as specified, scores that only positive clauses make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.engines.elastic.compiler import (
    Conditions,
    compile_scored,
    compile_unscored,
    conjunct_conditions,
    is_scored,
    select,
)
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.elastic.own_fields import OwnFields
from logicalrag.query.nodes import FIELDS, And, Boosted, Leaf, Node, Not, Or, Phrase, Word
from logicalrag.query.parser import parse
from logicalrag.query.visitor import fold
from tests.unit.query_dsl import depth, score
from tests.unit.semantics import Document, hits
from tests.unit.tree_strategies import VOCABULARY, documents, trees

LAYOUT = Layout("english")
FIELDS_OF_OURS = OwnFields(LAYOUT)
ALPHA, BETA = Word(("alpha",)), Word(("beta",))
SEEN = Conditions([{"terms": {"access": ["*"]}}], [{"terms": {"document": ["hidden"]}}])


def indexed(document: Document, access: str = "*", key: str = "d") -> dict[str, list[str]]:
    """Return the index fields of a document."""
    title, content = list(document.title), list(document.content)
    return {
        "title_exact": title,
        "content_exact": content,
        "title_words": [LAYOUT.stem(each) for each in title],
        "content_words": [LAYOUT.stem(each) for each in content],
        "access": [access],
        "document": [key],
    }


def expected_score(tree: Node, document: Document) -> float:
    """Return the sum of the places of a matching document's leaves, boosted, without negations."""

    def matching(node: Node) -> bool:
        return bool(hits(node, [document], LAYOUT.stem))

    def leaf_score(leaf: Leaf) -> float:
        found = 0
        for name in FIELDS if leaf.field is None else (leaf.field,):
            held = document.title if name == "title" else document.content
            form = LAYOUT.stem if isinstance(leaf, Word) else str
            wanted = [form(token) for token in leaf.tokens]
            forms = [form(token) for token in held]
            places = sum(forms[at : at + len(wanted)] == wanted for at in range(len(forms)))
            found = max(found, places)
        return found * float(leaf.boost or 1)

    # Each part with its tree, so that what does not match can be left out.
    def total(children: tuple[Node, ...], scores: list[float]) -> float:
        return sum(each for child, each in zip(children, scores, strict=True) if matching(child))

    return fold(
        tree,
        leaf=leaf_score,
        conjunction=lambda node, scores: total(node.children, list(scores)),
        disjunction=lambda node, scores: total(node.children, list(scores)),
        negation=lambda _, __: 0.0,
        boosted=lambda node, inner: inner * float(node.boost),
    )


@given(trees(), documents)
def test_hits_and_scores(tree: Node, held: list[Document]) -> None:
    wanted = hits(tree, held, LAYOUT.stem)
    scored = compile_scored(FIELDS_OF_OURS, tree, SEEN)
    unscored = compile_unscored(FIELDS_OF_OURS, tree, SEEN)
    for number, document in enumerate(held):
        got = score(scored, indexed(document))
        assert (got is not None) == (number in wanted)
        assert (score(unscored, indexed(document)) is not None) == (number in wanted)
        if got is not None:
            assert got == pytest.approx(expected_score(tree, document))
            assert is_scored(tree) or got == 0.0


@given(trees(), documents)
def test_conditions_hold_for_every_tree(tree: Node, held: list[Document]) -> None:
    for query in (
        compile_scored(FIELDS_OF_OURS, tree, SEEN),
        compile_unscored(FIELDS_OF_OURS, tree, SEEN),
    ):
        for document in held:
            assert score(query, indexed(document, access="red")) is None
            assert score(query, indexed(document, key="hidden")) is None


@given(st.lists(trees(max_leaves=4), min_size=2, max_size=4), documents)
def test_conjuncts_select_their_intersection(children: list[Node], held: list[Document]) -> None:
    wanted = frozenset.intersection(*(hits(child, held, LAYOUT.stem) for child in children))
    query = select(*conjunct_conditions(FIELDS_OF_OURS, children))
    found = {at for at, each in enumerate(held) if score(query, indexed(each)) is not None}
    assert found == wanted


def test_an_unscored_query_has_filters_only() -> None:
    query = compile_unscored(FIELDS_OF_OURS, And((ALPHA, Not(BETA), Boosted(ALPHA, "3"))), SEEN)
    assert query["bool"].keys() == {"filter", "must_not"}


def test_everything() -> None:
    assert compile_unscored(FIELDS_OF_OURS, None, SEEN)["bool"] == {
        "filter": SEEN.must,
        "must_not": SEEN.must_not,
    }
    assert select() == {"bool": {"filter": [{"match_all": {}}]}}


@pytest.mark.parametrize(
    ("leaf", "query"),
    [
        (Word(("operations",), "title"), {"term": {"title_words": "oper"}}),
        (Phrase(("operations",), "content"), {"term": {"content_exact": "operations"}}),
        (Word(("adr", "016"), "content"), {"match_phrase": {"content_words": "adr 016"}}),
        (
            Phrase(("to", "be"), "title", "2.5"),
            {
                "dis_max": {
                    "queries": [{"match_phrase": {"title_exact": "to be"}}],
                    "boost": 2.5,
                }
            },
        ),
        (
            Word(("alpha",)),
            {
                "dis_max": {
                    "queries": [
                        {"term": {"title_words": "alpha"}},
                        {"term": {"content_words": "alpha"}},
                    ],
                    "boost": 1.0,
                }
            },
        ),
    ],
)
def test_leaves(leaf: Leaf, query: dict[str, object]) -> None:
    assert compile_scored(FIELDS_OF_OURS, leaf, Conditions())["bool"]["must"] == [query]


def test_without_stems_words_are_looked_up_as_they_are() -> None:
    fields = OwnFields(Layout("standard"))
    assert fields.leaf(Word(("operations",)), "title") == {"term": {"title_exact": "operations"}}
    assert fields.unmatched == [{"term": {"title_exact": " "}}, {"term": {"content_exact": " "}}]


@pytest.mark.parametrize("tokens", [("a\ud800",), ("a", "\udfff")])
def test_what_json_cannot_hold_matches_nothing(tokens: tuple[str, ...]) -> None:
    for leaf in (Word(tokens), Phrase(tokens)):
        query = compile_scored(FIELDS_OF_OURS, leaf, Conditions())
        assert score(query, indexed(Document(VOCABULARY, VOCABULARY))) is None


@pytest.mark.parametrize(
    ("boosts", "factor"),
    [
        (("1000",) * 15, 1e30),
        (("0.001",) * 9, pytest.approx(1e-27)),
        (("0.0001",) * 9, 0.0),
        (("1000", "0", "1000"), 0.0),
    ],
)
def test_nested_boosts_stay_within_what_a_score_can_be(
    boosts: tuple[str, ...], factor: float
) -> None:
    tree: Node = Or((ALPHA, BETA))
    for boost in boosts:
        tree = Boosted(tree, boost)
    (either,) = compile_scored(FIELDS_OF_OURS, tree, Conditions())["bool"]["must"]
    assert [each["dis_max"]["boost"] for each in either["bool"]["should"]] == [factor, factor]


@pytest.mark.parametrize(
    ("tree", "scored"),
    [
        (ALPHA, True),
        (Not(ALPHA), False),
        (Word(("alpha",), boost="0"), False),
        (Boosted(Or((ALPHA, Not(BETA))), "0"), False),
        (Or((Word(("alpha",), boost="0"), BETA)), True),
        (And((Not(ALPHA), Not(BETA))), False),
        (And((Not(ALPHA), BETA)), True),
    ],
)
def test_what_can_have_different_scores(tree: Node, scored: bool) -> None:
    assert is_scored(tree) == scored


@pytest.mark.parametrize("kinds", ["&|", "|&", "&!", "|!", "&^", "!|!&", "|^&^", "&|!^"])
def test_the_deepest_legal_expressions_fit_the_servers_parser(kinds: str) -> None:
    """It takes 30 levels (`indices.query.bool.max_nested_depth`)."""
    text = '"alpha beta"'
    for level in range(23):
        before, after = {
            "&": ("(", ") AND beta"),
            "|": ("(", ") OR beta"),
            "!": ("NOT (", ")"),
            "^": ("(", ")^2"),
        }[kinds[level % len(kinds)]]
        text = before + text + after
    tree = parse(text, "OR").tree
    for query in (
        compile_scored(FIELDS_OF_OURS, tree, SEEN),
        compile_unscored(FIELDS_OF_OURS, tree, SEEN),
    ):
        assert depth(query) <= 29  # the one left is for a leaf of another's index
