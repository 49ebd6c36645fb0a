"""Compiling to tantivy: sets as specified, scores that only positive clauses make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import tantivy
from hypothesis import given, settings
from hypothesis import strategies as st

from logicalrag.engines.embedded.clauses import any_of, conjunction
from logicalrag.engines.embedded.compiler import (
    compile_scored,
    compile_unscored,
    conjunct_clauses,
    outline,
)
from logicalrag.engines.embedded.schema import (
    SOURCE,
    Layout,
    build_documents,
    create_index,
    decode,
    key_of,
    passage_number,
)
from logicalrag.engines.identity import OPEN_TO_ALL, group_term, passage_id
from logicalrag.engines.metadata import MetadataError, MetadataSchema, Value
from logicalrag.engines.protocol import Passage
from logicalrag.query.nodes import And, Boosted, Field, Node, Not, Or, Phrase, Word

WORDS = ("operation", "operations", "opera", "vivaldi", "the", "v2", "14")
TEXTS: tuple[tuple[str, str], ...] = tuple(
    (title, text)
    for title in ("", "Opera", "The operation")
    for text in ("", "operations of the opera", "Vivaldi v2 14", "the 14 operations", "opera opera")
)


def passage(number: int, title: str, text: str) -> Passage:
    """Return the only passage of a document named after its number."""
    name = f"d{number}"
    return Passage(passage_id("default", name, 0), name, 0, title, text, 0, len(text))


class Documents:
    """A tantivy index in memory over `TEXTS`, in two segments."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        self.passages = [passage(number, *pair) for number, pair in enumerate(texts)]
        self.layout = Layout()
        index = create_index(None, self.layout)
        writer = index.writer(15_000_000, 1)
        for at, each in enumerate(self.passages):
            for document in build_documents(self.layout, key_of(each), [each]):
                writer.add_document(document)
            if at == len(self.passages) // 2:
                writer.commit()
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self.searcher = index.searcher()

    def scores(self, query: tantivy.Query) -> dict[str, float]:
        """Return the score of each matching document by its id."""
        found = self.searcher.search(query, 1000).hits
        return {decode(self.searcher.doc(at), "default").document_id: score for score, at in found}

    def hits(self, tree: Node) -> set[str]:
        """Return the matching documents' ids."""
        return set(self.scores(compile_scored(self.layout, tree)))


@pytest.fixture(scope="module")
def documents() -> Documents:
    """Return the index over `TEXTS`."""
    return Documents(TEXTS)


def expected(tree: Node) -> set[str]:
    """Return the ids of the documents that match, by the specification."""
    return {f"d{number}" for number, each in enumerate(TEXTS) if holds(tree, *each)}


FIELDS: tuple[Field | None, ...] = (None, "title", "content")
tokens = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple)
boosts = st.sampled_from([None, "0", ".5", "2", "1000"])
leaf_trees = st.builds(Word, tokens, st.sampled_from(FIELDS), boosts) | st.builds(
    Phrase, tokens, st.sampled_from(FIELDS), boosts
)


def _grown(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(children, min_size=2, max_size=3).map(tuple)
    return (
        st.builds(And, several)
        | st.builds(Or, several)
        | st.builds(Not, children)
        | st.builds(Boosted, children, st.sampled_from(["0", "3", "1000"]))
    )


trees: st.SearchStrategy[Node] = st.recursive(leaf_trees, _grown, max_leaves=8)


def plain(text: str) -> list[str]:
    """Return the words of `TEXTS`' simple English."""
    return text.lower().split()


STEMS = {"operation": "oper", "operations": "oper"}  # by hand


def holds(tree: Node, title: str, text: str) -> bool:
    """Return whether a passage matches, by the specification's words alone."""
    if isinstance(tree, And):
        return all(holds(child, title, text) for child in tree.children)
    if isinstance(tree, Or):
        return any(holds(child, title, text) for child in tree.children)
    if isinstance(tree, Not):
        return not holds(tree.child, title, text)
    if isinstance(tree, Boosted):
        return holds(tree.child, title, text)
    wanted = list(tree.tokens)
    fields = {"title": plain(title), "content": plain(text)}
    if isinstance(tree, Word):
        wanted = [STEMS.get(word, word) for word in wanted]
        fields = {name: [STEMS.get(word, word) for word in held] for name, held in fields.items()}
    return any(
        held[at : at + len(wanted)] == wanted
        for name, held in fields.items()
        if tree.field in (None, name)
        for at in range(len(held))
    )


@settings(max_examples=300, deadline=None)
@given(trees)
def test_hits_are_the_specified_sets(documents: Documents, tree: Node) -> None:
    wanted = expected(tree)
    scored = documents.scores(compile_scored(documents.layout, tree))
    unscored = documents.searcher.search(compile_unscored(documents.layout, tree), 1000)
    assert set(scored) == wanted
    assert len(unscored.hits) == len(wanted)
    assert all(math.isfinite(score) and score >= 0 for score in scored.values())
    if not outline(tree).is_scored:
        assert set(scored.values()) <= {0.0}


@settings(max_examples=100, deadline=None)
@given(trees)
def test_filters_change_no_score(documents: Documents, tree: Node) -> None:
    open_to_all = tantivy.Occur.Must, any_of(documents.layout.schema, "access", [OPEN_TO_ALL])
    nobody = tantivy.Occur.MustNot, any_of(documents.layout.schema, "access", [group_term("x")])
    bare = documents.scores(compile_scored(documents.layout, tree))
    within = documents.scores(compile_scored(documents.layout, tree, [open_to_all, nobody]))
    assert within == pytest.approx(bare, rel=1e-6)


def test_conjuncts_one_by_one(documents: Documents) -> None:
    children: tuple[Node, ...] = (Word(("opera",)), Not(Word(("vivaldi",))), Word(("nowhere",)))
    clauses = conjunct_clauses(documents.layout, children)
    without_last = conjunction(clauses[:2])
    assert set(documents.scores(without_last)) == documents.hits(And(children[:2]))
    only_not = conjunction(clauses[1:2])
    assert set(documents.scores(only_not)) == documents.hits(children[1])


class TestScores:
    """What an expression's parts do to a score."""

    def score(self, documents: Documents, tree: Node, document: str = "d6") -> float:
        """Return the score of document d6: titled Opera, "operations of the opera"."""
        return documents.scores(compile_scored(documents.layout, tree))[document]

    def test_an_unfielded_leaf_is_the_better_field(self, documents: Documents) -> None:
        by_field = [
            self.score(documents, Word(("opera",), field)) for field in ("title", "content")
        ]
        assert self.score(documents, Word(("opera",))) == max(by_field)
        assert min(by_field) < max(by_field)

    @pytest.mark.parametrize("kind", [And, Or])
    def test_children_add_up(self, documents: Documents, kind: type[And] | type[Or]) -> None:
        one, other = Word(("opera",)), Phrase(("the",))
        assert self.score(documents, kind((one, other))) == pytest.approx(
            self.score(documents, one) + self.score(documents, other), rel=1e-6
        )

    def test_not_adds_nothing(self, documents: Documents) -> None:
        one, absent = Word(("opera",)), Not(Word(("vivaldi",)))
        alone = self.score(documents, one)
        assert self.score(documents, And((one, absent))) == pytest.approx(alone)
        assert self.score(documents, Or((one, absent))) == pytest.approx(alone)
        assert self.score(documents, absent) == 0.0

    def test_boosts_multiply_down(self, documents: Documents) -> None:
        one, other = Word(("opera",)), Word(("the",), boost="3")
        boosted = Boosted(Boosted(Or((one, other)), "2"), ".5")
        assert self.score(documents, boosted) == pytest.approx(
            self.score(documents, Or((one, other))), rel=1e-6
        )
        assert self.score(documents, Word(("opera",), boost="2.5")) == pytest.approx(
            2.5 * self.score(documents, one), rel=1e-6
        )

    def test_boost_zero_keeps_the_hits(self, documents: Documents) -> None:
        plain_hits = documents.hits(Word(("opera",)))
        assert plain_hits == documents.hits(Word(("opera",), boost="0"))
        assert plain_hits == documents.hits(Boosted(Word(("opera",)), "0.0"))
        assert self.score(documents, Word(("opera",), boost="0")) == 0.0

    @pytest.mark.parametrize("inner", [None, "0", "1000", ".000000000001"])
    @pytest.mark.parametrize("outer", ["1000", ".000000000001"])
    def test_no_chain_of_boosts_leaves_the_numbers(
        self, documents: Documents, inner: str | None, outer: str
    ) -> None:
        tree: Node = Or((Word(("opera",), boost=inner), Word(("the",))))
        for _ in range(22):
            tree = Boosted(tree, outer)
        scores = documents.scores(compile_scored(documents.layout, tree))
        assert set(scores) == documents.hits(Or((Word(("opera",)), Word(("the",)))))
        assert all(math.isfinite(score) for score in scores.values())
        assert outline(tree).is_scored is (outer == "1000")


@pytest.mark.parametrize(
    ("tree", "scored"),
    [
        (Word(("a",)), True),
        (Word(("a",), boost="0"), False),
        (Word(("a",), boost="0.00"), False),
        (Not(Word(("a",))), False),
        (And((Not(Word(("a",))), Not(Word(("b",))))), False),
        (And((Not(Word(("a",))), Word(("b",)))), True),
        (Or((Not(Word(("a",))), Word(("b",), boost="0"))), False),
        (Not(Not(Word(("a",)))), False),
        (Boosted(Or((Word(("a",)), Word(("b",)))), "0"), False),
        (Boosted(Or((Word(("a",)), Word(("b",)))), "2"), True),
    ],
)
def test_which_trees_are_scored(tree: Node, scored: bool) -> None:
    assert outline(tree).is_scored is scored


def id_texts(alphabet: str = "09af") -> st.SearchStrategy[str]:
    """Return a strategy of what may be 24 hexadecimal digits, with beginnings in common."""
    return st.text(alphabet, min_size=24, max_size=24)


@given(id_texts(), id_texts())
def test_the_order_of_ids_is_never_against_them(one: str, other: str) -> None:
    first, second = passage_number(one), passage_number(other)
    assert first is not None
    assert second is not None
    assert (first < second) == (one[:16] < other[:16])
    assert (first == second) == (one[:16] == other[:16])


@given(st.text(max_size=26) | id_texts("0aA gx_+é\udc80"))
def test_only_ids_have_a_number(text: str) -> None:
    is_id = len(text) == 24 and set(text) <= set("0123456789abcdef")
    assert (passage_number(text) is not None) == is_id


def test_the_order_of_ids_tells_them_apart() -> None:
    numbers = {passage_id("default", "d", at): at for at in range(2000)}
    assert len({passage_number(each) for each in numbers}) == len(numbers)


@pytest.mark.parametrize("group", ["*", "", "a b", "\ud800", "x" * 100_000])
def test_no_group_is_the_mark_of_open_passages(group: str) -> None:
    term = group_term(group)
    assert term != OPEN_TO_ALL
    assert len(term) == 32


class TestDocuments:
    """How passages become documents and come back."""

    KEY = "0123456789abcdef01234567"
    LAYOUT = Layout("english", MetadataSchema({"kind": "keyword", "year": "number"}))
    PLAIN = Passage(KEY, "d/é", 7, " Title\n", "Te\x00xt \U0001f600", 3, 11, "t")

    def stored(self, passage: Passage) -> tantivy.Document:
        """Return the passage's document."""
        return build_documents(self.LAYOUT, self.KEY, [passage])[0]

    @pytest.mark.parametrize("access", [None, (), ("a",), ("*", "", "a b")])
    @pytest.mark.parametrize(
        "more",
        [
            {},
            {"location": "page 12"},
            {"metadata": {"kind": ("é", ""), "year": (2020.0, -0.5)}},
            {"location": "é\n", "metadata": {"year": (1e300,)}},
        ],
    )
    def test_a_passage_comes_back(
        self, access: tuple[str, ...] | None, more: dict[str, Any]
    ) -> None:
        passage = self.PLAIN._replace(access=access, **more)
        assert decode(self.stored(passage), "t") == passage

    def test_a_passage_without_location_and_metadata_stores_nothing_for_them(self) -> None:
        plain = self.stored(self.PLAIN).get_first(SOURCE)
        assert plain is not None
        assert plain.endswith(b",3,11,null]")

    @pytest.mark.parametrize("where", ["document_id", "title", "text", "location", "group", "kind"])
    def test_a_lone_surrogate_names_its_passage(self, where: str) -> None:
        bad = "d\udc80"
        changes: dict[str, dict[str, Any]] = {
            "group": {"access": (bad,)},
            "kind": {"metadata": {"kind": (bad,)}},
        }
        broken = self.PLAIN._replace(**changes.get(where, {where: bad}))
        with pytest.raises(ValueError, match=r"passage 7 of document 'd.*lone surrogate"):
            self.stored(broken)

    @pytest.mark.parametrize("id_", ["", "i" * 24, "A" * 24, "0" * 23, "0" * 25, "0" * 23 + "\n"])
    def test_an_id_that_no_identity_made_is_refused(self, id_: str) -> None:
        with pytest.raises(
            ValueError, match=r"passage 7 of document 'd/é' has the id .*passage_id"
        ):
            self.stored(self.PLAIN._replace(id=id_))

    @pytest.mark.parametrize(
        ("metadata", "code"),
        [
            ({"colour": ("red",)}, "unknown_metadata_field"),
            ({"kind": (1.0,)}, "bad_value"),
            ({"kind": ("é" * 257,)}, "bad_value"),
            ({"year": ("2020",)}, "bad_value"),
            ({"year": (float("nan"),)}, "bad_value"),
            ({"year": (1.0, float("inf"))}, "bad_value"),
        ],
    )
    def test_metadata_that_do_not_fit_are_refused(
        self, metadata: dict[str, tuple[Value, ...]], code: str
    ) -> None:
        with pytest.raises(MetadataError) as caught:
            self.stored(self.PLAIN._replace(metadata=metadata))
        assert caught.value.code == code
