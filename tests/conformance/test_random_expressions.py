"""Random expressions over random and real documents: every engine answers as the oracle does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from logicalrag.engines.protocol import SearchEngine, SearchResult
from logicalrag.query.nodes import FIELDS, Node
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from tests.conformance.documents import EVERYONE, Document, read_corpus, serving
from tests.conformance.expressions import Expressions, parts
from tests.conformance.indices import Index, NewIndex
from tests.conformance.random_documents import random_documents, seeded, without_exotic_letters

ALL = 1000
RANDOM_SEEDS = range(12)
TREES_PER_RANDOM_SET = 60
REAL_SEEDS = range(3)
TREES_PER_REAL_SET = 80
REAL_PASSAGES = 100
# Scores are 32-bit floats in some engines, added up in an order of their own.
RELATIVE = 1e-4
ORDER_RELATIVE = 1e-5


def real_documents(shared: Path, seed: int) -> list[Document]:
    """Return a sample of real passages, up to three to a document."""
    lines = read_corpus(shared / "data" / "hotpotqa" / "corpus.jsonl")
    random_ = seeded(seed)
    sample = random_.sample(lines, REAL_PASSAGES)
    made: list[Document] = []
    while sample:
        size = random_.randint(1, 3)
        taken, sample = sample[:size], sample[size:]
        made.append(
            Document(
                taken[0].id,
                tuple(without_exotic_letters(line.texts[0]) for line in taken),
                taken[0].title,
            )
        )
    return made


def ask(engine: SearchEngine, tree: Node, limit: int = ALL) -> SearchResult:
    """Search with everything on."""
    return engine.search(
        tree, EVERYONE, limit=limit, documents=True, clause_counts=True, leave_one_out=True
    )


def ids(result: SearchResult) -> list[str]:
    """Return the passage ids in the order given."""
    return [hit.passage.id for hit in result.hits]


def differing_part(engine: SearchEngine, oracle: SearchEngine, tree: Node) -> str:
    """Return the smallest part of a tree that has other hits than the oracle's, for the report."""
    for part in reversed(parts(tree)):
        got, wanted = ask(engine, part), ask(oracle, part)
        if set(ids(got)) != set(ids(wanted)):
            extra = [hit.passage for hit in got.hits if hit.passage.id not in ids(wanted)]
            missing = [hit.passage for hit in wanted.hits if hit.passage.id not in ids(got)]
            return f"{canonical(part)} — {part!r}\nextra {extra[:1]}\nmissing {missing[:1]}"
    return f"{canonical(tree)} — {tree!r}"


def check(engine: SearchEngine, oracle: SearchEngine, tree: Node) -> None:
    """Assert that both engines answer alike in everything that a search returns."""
    # As every caller does: through the text of the expression.
    assert parse(canonical(tree), "OR", canonical=True).tree == tree
    got, wanted = check_hits(engine, oracle, tree)
    check_order(got, wanted, tree)
    first = ask(engine, tree, limit=3)
    assert ids(first) == ids(got)[:3]
    assert first.count == got.count


def check_hits(
    engine: SearchEngine, oracle: SearchEngine, tree: Node
) -> tuple[SearchResult, SearchResult]:
    """Assert that both find and count the same; return what they said."""
    got, wanted = ask(engine, tree), ask(oracle, tree)
    assert set(ids(got)) == set(ids(wanted)), differing_part(engine, oracle, tree)
    assert len(got.hits) == len(set(ids(got))) == got.count.hits
    assert got.count == wanted.count
    assert (got.visible, got.documents) == (wanted.visible, wanted.documents)
    assert got.clause_counts == wanted.clause_counts
    assert got.leave_one_out == wanted.leave_one_out
    assert [hit.passage for hit in got.hits] == [by_id(wanted)[found] for found in ids(got)]
    return got, wanted


def by_id(result: SearchResult) -> dict[str, object]:
    """Return the passages of a result by their ids."""
    return {hit.passage.id: hit.passage for hit in result.hits}


def check_order(got: SearchResult, wanted: SearchResult, tree: Node) -> None:
    """Assert the engine's own order, its scores, and that no two hits are clearly swapped."""
    text = canonical(tree)
    scores = {hit.passage.id: hit.score for hit in wanted.hits}
    assert ids(got) == [
        hit.passage.id for hit in sorted(got.hits, key=lambda hit: (-hit.score, hit.passage.id))
    ], text
    for hit in got.hits:
        assert hit.score == pytest.approx(scores[hit.passage.id], rel=RELATIVE, abs=1e-6), text
    for higher, lower in pairwise(ids(got)):
        assert scores[higher] >= scores[lower] * (1 - ORDER_RELATIVE), text


@pytest.mark.parametrize("seed", RANDOM_SEEDS)
def test_random_documents(compared: Index, oracle: Index, seed: int) -> None:
    random_ = seeded(seed)
    documents = random_documents(random_, random_.randint(2, 15))
    with serving(compared, documents) as engine, serving(oracle, documents) as reference:
        passages = [passage for document in documents for passage in document.passages()]
        expressions = Expressions(random_, passages, reference)
        for _ in range(TREES_PER_RANDOM_SET):
            check(engine, reference, expressions.draw())


@pytest.mark.parametrize("seed", range(4))
def test_random_documents_without_stems(
    new_compared: NewIndex, new_oracle: NewIndex, seed: int
) -> None:
    random_ = seeded(seed)
    documents = random_documents(random_, random_.randint(2, 15))
    compared, oracle = new_compared(analysis="standard"), new_oracle(analysis="standard")
    with serving(compared, documents) as engine, serving(oracle, documents) as reference:
        passages = [passage for document in documents for passage in document.passages()]
        expressions = Expressions(random_, passages, reference)
        for _ in range(TREES_PER_RANDOM_SET):
            check(engine, reference, expressions.draw())


@pytest.mark.parametrize("seed", REAL_SEEDS)
def test_real_documents(compared: Index, oracle: Index, shared: Path, seed: int) -> None:
    documents = real_documents(shared, seed)
    with serving(compared, documents) as engine, serving(oracle, documents) as reference:
        passages = [passage for document in documents for passage in document.passages()]
        expressions = Expressions(seeded(seed), passages, reference)
        for _ in range(TREES_PER_REAL_SET):
            check(engine, reference, expressions.draw())


@pytest.mark.parametrize("seed", range(6))
def test_after_many_commits(compared: Index, oracle: Index, seed: int) -> None:
    """Replaced and removed documents count no more; scores may remember them for a while."""
    random_ = seeded(seed)
    documents = {document.id: document for document in random_documents(random_, 12)}
    older = [replace(each, id=f"doc {n}") for n, each in enumerate(random_documents(random_, 15))]
    with compared.writer() as writer:
        for document in older:
            writer.put(document.passages(), replaces=0)
            writer.commit()
        for document in older:
            newer = documents.get(document.id)
            if newer is None:
                writer.remove(document.tenant, document.id, claimed=len(document.texts))
            else:
                writer.put(newer.passages(), replaces=len(document.texts))
            if random_.random() < 0.5:
                writer.commit()
        writer.commit()
    with compared.engine() as engine, serving(oracle, documents.values()) as reference:
        passages = [passage for each in documents.values() for passage in each.passages()]
        expressions = Expressions(random_, passages, reference)
        for _ in range(TREES_PER_RANDOM_SET):
            check_hits(engine, reference, expressions.draw())


@pytest.mark.parametrize("seed", range(4))
def test_nearest_words(compared: Index, oracle: Index, seed: int) -> None:
    documents = random_documents(seeded(seed), 15)
    misspelt = (
        "operaton",
        "xperation",
        "xperaton",
        "cafes",
        "universty",
        "stras",
        "東",
        "_",
        "err_con_reset",
        "199",
        "the",
    )
    with serving(compared, documents) as engine, serving(oracle, documents) as reference:
        for word in misspelt:
            for field in (None, *FIELDS):
                for limit in (1, 5, 100):
                    got = engine.nearest_words(word, EVERYONE, field=field, limit=limit)
                    assert got == reference.nearest_words(word, EVERYONE, field=field, limit=limit)


@pytest.mark.parametrize("seed", range(4))
def test_counting_many_trees_and_documents_that_hold_them(
    compared: Index, oracle: Index, shared: Path, seed: int
) -> None:
    documents = real_documents(shared, seed)
    with serving(compared, documents) as engine, serving(oracle, documents) as reference:
        passages = [passage for document in documents for passage in document.passages()]
        expressions = Expressions(seeded(seed), passages, reference)
        trees = [expressions.draw() for _ in range(32)]
        got, wanted = engine.count(trees, EVERYONE), reference.count(trees, EVERYONE)
        assert (got.counts, got.visible) == (wanted.counts, wanted.visible)
        for first, second in pairwise(trees):
            both = [first, second]
            assert engine.documents_holding(both, EVERYONE) == reference.documents_holding(
                both, EVERYONE
            ), [canonical(tree) for tree in both]


def test_the_expressions_are_worth_running(oracle: Index, shared: Path) -> None:
    """At least 60% have hits, none matches everything, and they are neither small nor alike."""
    hits: list[int] = []
    texts: set[str] = set()
    operators: list[int] = []
    sets = [random_documents(seeded(seed), 12) for seed in RANDOM_SEEDS]
    sets += [real_documents(shared, seed) for seed in REAL_SEEDS]
    for seed, documents in enumerate(sets):
        fresh = type(oracle)()
        with serving(fresh, documents) as reference:
            passages = [passage for document in documents for passage in document.passages()]
            expressions = Expressions(seeded(seed), passages, reference)
            for _ in range(40):
                tree = expressions.draw()
                result = reference.count([tree], EVERYONE)
                assert result.counts[0].hits < result.visible, canonical(tree)
                hits.append(result.counts[0].hits)
                texts.add(canonical(tree))
                operators.append(len(parts(tree)))
    assert sum(found > 0 for found in hits) >= 0.6 * len(hits)
    assert sum(found == 0 for found in hits) >= 0.02 * len(hits)
    assert len(texts) >= 0.9 * len(hits)
    assert max(operators) > 50
