"""Order and scores: BM25, boosts, ties by id; none of it changes what is found."""

from __future__ import annotations

import math

import pytest

from logicalrag.engines.protocol import SearchEngine
from logicalrag.engines.reference_bm25 import stored_length
from logicalrag.query.nodes import And, Boosted, Node, Not, Or, Phrase, Word
from tests.conformance.documents import EVERYONE, Document, serving, titled
from tests.conformance.indices import Index

EQUAL = [Document(f"equal {number}", ("same words here", "and there")) for number in range(12)]


def word(text: str, boost: str | None = None) -> Word:
    """Return an unfielded word."""
    return Word((text,), boost=boost)


def order(engine: SearchEngine, tree: Node, limit: int = 100) -> list[str]:
    """Return the document ids found, best first."""
    return [hit.passage.document_id for hit in engine.search(tree, EVERYONE, limit=limit).hits]


@pytest.mark.parametrize(
    "tree",
    [
        word("same"),
        Or((word("same"), word("here"), word("absent"))),
        And((word("same"), Phrase(("words", "here")), Word(("word",), "content"))),
        Not(word("absent")),
        word("same", "0"),
    ],
)
def test_ties_are_broken_by_passage_id(index: Index, tree: Node) -> None:
    ids = sorted(passage.id for each in EQUAL for passage in each.passages())
    firsts = sorted(each.passages()[0].id for each in EQUAL)
    expected = ids if isinstance(tree, Not) else firsts
    with serving(index, EQUAL) as engine:
        for limit in (1, 3, 11, 12, 1000):
            hits = engine.search(tree, EVERYONE, limit=limit).hits
            assert len({hit.score for hit in hits}) == 1
            assert [hit.passage.id for hit in hits] == expected[:limit]


# Found by trial: the passage ids of each pair begin with the same 8 characters.
NEARLY_EQUAL_IDS = ((10178, 35724), (150552, 153149), (36277, 164893), (166352, 217014))


@pytest.mark.parametrize("backwards", [False, True])
def test_ties_are_broken_by_the_whole_id(index: Index, backwards: bool) -> None:
    documents = [Document(f"d{number}", ("same",)) for pair in NEARLY_EQUAL_IDS for number in pair]
    documents.sort(key=lambda each: each.passages()[0].id, reverse=backwards)
    ids = sorted(document.passages()[0].id for document in documents)
    assert [id_[:8] for id_ in ids[::2]] == [id_[:8] for id_ in ids[1::2]]
    with serving(index, documents) as engine:
        for tree in (word("same"), word("same", "0"), Not(word("absent"))):
            for limit in (*range(1, 9), 100):
                hits = engine.search(tree, EVERYONE, limit=limit).hits
                assert [hit.passage.id for hit in hits] == ids[:limit]


def test_ties_do_not_depend_on_the_order_of_writing(index: Index, oracle: Index) -> None:
    documents = [*EQUAL, *titled(other="same same words", more="same")]
    tree = Or((word("same"), word("words")))
    with index.writer() as writer:
        for document in reversed(documents):
            writer.put(document.passages(), replaces=0)
            writer.commit()
    with index.engine() as engine, serving(oracle, documents) as reference:
        assert order(engine, tree) == order(reference, tree)


@pytest.mark.parametrize("limit", [0, 1, 5, 1000])
def test_limit(index: Index, limit: int) -> None:
    with serving(index, EQUAL) as engine:
        for tree in (word("same"), word("absent"), Not(word("same"))):
            result = engine.search(
                tree, EVERYONE, limit=limit, documents=True, clause_counts=True, leave_one_out=True
            )
            assert len(result.hits) == min(limit, result.count.hits)
            assert result.count.hits == (0 if tree == word("absent") else 12)
            assert result.documents == result.count.hits


@pytest.mark.parametrize("boost", ["0", "0.0", ".0", "0.0000001", "1000", "1", "007.50"])
def test_a_boost_changes_no_hits(index: Index, boost: str) -> None:
    documents = titled(a="alpha beta", b="alpha", c="beta gamma", d="gamma")
    with serving(index, documents) as engine:
        assert sorted(order(engine, word("alpha", boost))) == ["a", "b"]
        boosted = Or((word("alpha", boost), word("beta")))
        assert sorted(order(engine, boosted)) == ["a", "b", "c"]
        assert sorted(order(engine, Boosted(boosted, boost))) == ["a", "b", "c"]
        assert order(engine, Not(word("alpha", boost))) == order(engine, Not(word("alpha")))
        assert order(engine, And((word("alpha", boost), word("beta")))) == ["a"]


def test_a_zero_boost_scores_nothing(index: Index) -> None:
    with serving(index, titled(a="alpha", b="beta beta", c="gamma")) as engine:
        tree = Or((word("alpha", "0"), word("beta")))
        hits = engine.search(tree, EVERYONE).hits
        assert [hit.passage.document_id for hit in hits] == ["b", "a"]
        assert hits[0].score > 0.0
        assert hits[1].score == 0.0
        assert [hit.score for hit in engine.search(Boosted(tree, "0"), EVERYONE).hits] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        (Not(word("alpha")), ["c", "d"]),
        (And((Not(word("alpha")), Not(word("gamma")))), ["d"]),
        (Or((Not(word("alpha")), Not(word("beta")))), ["b", "c", "d"]),
        (Not(And((word("alpha"), word("beta")))), ["b", "c", "d"]),
        (Not(Or((Not(word("alpha")), word("beta")))), ["b"]),
        (Not(Boosted(Or((word("alpha"), word("gamma"))), "2")), ["d"]),
        (Boosted(Not(word("alpha")), "3"), ["c", "d"]),
        (And((Or((Not(word("alpha")), Not(word("gamma")))), Not(word("delta")))), ["a", "b", "c"]),
        (And((Not(word("alpha")), Not(word("gamma")), Not(word("delta")))), []),
    ],
)
def test_negations_only(index: Index, tree: Node, found: list[str]) -> None:
    documents = titled(a="alpha beta", b="alpha", c="gamma beta", d="delta")
    with serving(index, documents) as engine:
        result = engine.search(tree, EVERYONE, limit=10)
        assert sorted(hit.passage.document_id for hit in result.hits) == found
        assert {hit.score for hit in result.hits} <= {0.0}
        assert result.count.hits == len(found)
        assert result.count.fraction == len(found) / 4


def test_scores_are_bm25(index: Index) -> None:
    """Worked by hand: N = 4 passages, k1 = 1.2, b = 0.75, with the factor k1 + 1."""
    documents = titled(a="alpha alpha beta", b="alpha", c="gamma gamma gamma", d="gamma")
    alpha_idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    beta_idf = math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    norm = {"a": 1.2 * (0.25 + 0.75 * 3 / 2), "b": 1.2 * (0.25 + 0.75 * 1 / 2)}
    with serving(index, documents) as engine:
        scores = {
            hit.passage.document_id: hit.score
            for hit in engine.search(word("alpha"), EVERYONE).hits
        }
        assert scores == pytest.approx(
            {
                "a": 2.2 * alpha_idf * 2 / (2 + norm["a"]),
                "b": 2.2 * alpha_idf * 1 / (1 + norm["b"]),
            },
            rel=1e-5,
        )
        (phrase,) = engine.search(Phrase(("alpha", "beta"), boost="2.5"), EVERYONE).hits
        assert phrase.score == pytest.approx(
            2.5 * 2.2 * (alpha_idf + beta_idf) / (1 + norm["a"]), rel=1e-5
        )


def test_an_unfielded_clause_takes_the_better_field(index: Index) -> None:
    documents = [
        Document("both", ("alpha beta gamma delta",), "alpha"),
        Document("title", ("beta gamma delta epsilon",), "alpha"),
        Document("content", ("alpha beta gamma delta",), "zeta"),
    ]
    with serving(index, documents) as engine:

        def scores(field: Word) -> dict[str, float]:
            hits = engine.search(field, EVERYONE).hits
            return {hit.passage.document_id: hit.score for hit in hits}

        title = scores(Word(("alpha",), "title"))
        content = scores(Word(("alpha",), "content"))
        either = scores(Word(("alpha",)))
        assert set(either) == {"both", "title", "content"}
        for found, score in either.items():
            assert score == pytest.approx(max(title.get(found, 0), content.get(found, 0)), rel=1e-6)


def test_scores_add_up(index: Index) -> None:
    documents = titled(a="alpha beta gamma", b="beta alpha alpha", c="gamma")
    with serving(index, documents) as engine:

        def score(tree: Node) -> float:
            hits = engine.search(tree, EVERYONE).hits
            return next(hit.score for hit in hits if hit.passage.document_id == "a")

        alpha, beta, gamma = score(word("alpha")), score(word("beta")), score(word("gamma"))
        both = And((word("alpha"), word("beta")))
        assert score(both) == pytest.approx(alpha + beta, rel=1e-5)
        assert score(Or((word("alpha"), word("gamma"), word("absent")))) == pytest.approx(
            alpha + gamma, rel=1e-5
        )
        assert score(And((word("alpha"), Not(word("absent"))))) == pytest.approx(alpha, rel=1e-5)
        assert score(Or((Boosted(both, "3"), word("gamma", ".5")))) == pytest.approx(
            3 * (alpha + beta) + 0.5 * gamma, rel=1e-5
        )
        assert score(And((Or((word("alpha"), Not(word("beta")))), word("gamma")))) == pytest.approx(
            alpha + gamma, rel=1e-5
        )


@pytest.mark.parametrize(
    ("length", "stored"),
    [
        *[(0, 0), (23, 23), (40, 40), (41, 40), (42, 42), (55, 54), (56, 56), (59, 56), (95, 88)],
        *[(263, 248), (264, 264), (599, 536), (1_000, 984), (4_000, 3_864), (65_559, 61_464)],
        *[(65_560, 65_560), (2**31 - 1, 2_013_265_944)],
    ],
)
def test_stored_lengths(length: int, stored: int) -> None:
    """Expected values: the table of field lengths in tantivy's ``fieldnorm/code.rs``."""
    assert stored_length(length) == stored


def test_long_fields_score_as_their_stored_length(index: Index, oracle: Index) -> None:
    documents = [
        Document(f"d{length}", ("alpha " + "filler " * (length - 1),))
        for length in (1, 23, 24, 39, 40, 41, 42, 47, 48, 63, 100, 555, 1000, 4321)
    ]
    with serving(index, documents) as engine, serving(oracle, documents) as reference:
        got = engine.search(word("alpha"), EVERYONE, limit=100).hits
        wanted = reference.search(word("alpha"), EVERYONE, limit=100).hits
        assert [hit.passage.document_id for hit in got] == [
            hit.passage.document_id for hit in wanted
        ]
        assert [hit.score for hit in got] == pytest.approx([hit.score for hit in wanted], rel=1e-5)
