"""Random filters: against plain Python over the metadata, and every engine as the oracle does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from logicalrag.engines.metadata import Filter, Sort
from logicalrag.engines.protocol import Passage, SearchEngine, ValueCount
from logicalrag.query.nodes import And, Node, Not, Or, Word
from tests.conformance.documents import EVERYONE, serving
from tests.conformance.expressions import Expressions
from tests.conformance.indices import NewIndex, ReferenceIndex
from tests.conformance.random_documents import random_documents, seeded
from tests.conformance.random_metadata import SCHEMA, keeps, random_filter, with_metadata


@pytest.mark.parametrize("seed", range(8))
def test_random_filters(new_compared: NewIndex, seed: int) -> None:
    """Filters by plain Python over the metadata; all else as the oracle."""
    random_ = seeded(seed)
    documents = [with_metadata(random_, each) for each in random_documents(random_, 15)]
    passages = {each.id: each for document in documents for each in document.passages()}
    compared, oracle = new_compared(schema=SCHEMA), ReferenceIndex(schema=SCHEMA)
    with serving(compared, documents) as engine, serving(oracle, documents) as reference:
        expressions = Expressions(random_, list(passages.values()), reference)
        kept_some = 0
        for _ in range(40):
            tree, other = expressions.draw(), expressions.draw()
            filters = [random_filter(random_) for _ in range(random_.choice((1, 1, 2, 3)))]
            kept = {
                id_
                for id_, passage in passages.items()
                if all(keeps(each, passage.metadata) for each in filters)
            }
            matching = {hit.passage.id for hit in reference.search(tree, EVERYONE, limit=1000).hits}
            for each in (engine, reference):
                result = each.search(tree, EVERYONE, limit=1000, filters=filters, documents=True)
                assert {hit.passage.id for hit in result.hits} == kept & matching, filters
                assert (result.count.hits, result.visible) == (len(kept & matching), len(kept))
                assert result.count.fraction == (len(kept & matching) / len(kept) if kept else 0.0)
                assert [hit.passage for hit in result.hits] == [
                    passages[hit.passage.id] for hit in result.hits
                ]
            kept_some += 0 < len(kept & matching) < len(matching)
            check_the_rest(engine, reference, [tree, other], filters)
            check_values(engine, [passages[id_] for id_ in kept & matching], tree, filters)
        assert kept_some >= 10


def check_the_rest(
    engine: SearchEngine, oracle: SearchEngine, trees: Sequence[Node], filters: Sequence[Filter]
) -> None:
    """Assert that both answer alike within filters: counts, orders, documents, one document."""

    def asked(of: SearchEngine) -> list[object]:
        counted = of.count(trees, EVERYONE, filters=filters)
        told: list[object] = [counted.counts, counted.visible]
        told.append(of.documents_holding(trees, EVERYONE, filters=filters))
        conjunction = And((trees[0], Word(("unfindable",))))
        relaxed = of.search(
            conjunction, EVERYONE, filters=filters, clause_counts=True, leave_one_out=True
        )
        told += [relaxed.clause_counts, relaxed.leave_one_out]
        for sort in (Sort("year"), Sort("published", descending=False), Sort("id", False)):
            for limit in (3, 1000):
                ordered = of.search(
                    trees[0], EVERYONE, limit=limit, filters=filters, sort=sort, within=None
                )
                told.append((ordered.count, ordered.hits))
        inside = of.search(trees[0], EVERYONE, filters=filters, within="doc 1", sort=Sort("id"))
        return [*told, inside.count, inside.visible, inside.hits]

    assert asked(engine) == asked(oracle), filters


def check_values(
    engine: SearchEngine, matching: Sequence[Passage], tree: Node, filters: Sequence[Filter]
) -> None:
    """Assert that every field's values are counted as in `matching`."""
    for field in SCHEMA.fields:
        hits = Counter(value for each in matching for value in set(each.metadata.get(field, ())))
        order = sorted(hits.items(), key=lambda item: (-item[1], item[0]))
        expected = [ValueCount(value, count) for value, count in order]
        told = engine.values(field, tree, EVERYONE, filters=filters, limit=1000)
        assert list(told) == expected
        assert engine.values(field, tree, EVERYONE, filters=filters, limit=2) == told[:2]


@pytest.mark.parametrize("seed", range(4))
def test_random_filters_after_many_commits(new_compared: NewIndex, seed: int) -> None:
    random_ = seeded(seed)
    documents = [with_metadata(random_, each) for each in random_documents(random_, 12)]
    compared, oracle = new_compared(schema=SCHEMA), ReferenceIndex(schema=SCHEMA)
    with compared.writer() as writer:
        for each in documents:
            older = with_metadata(random_, replace(each, texts=("older", "common", "text")))
            writer.put(older.passages(), replaces=0)
            if random_.random() < 0.5:
                writer.commit()
        for each in documents:
            writer.put(each.passages(), replaces=3)
            if random_.random() < 0.5:
                writer.commit()
        writer.commit()
    with compared.engine() as engine, serving(oracle, documents) as reference:
        passages = [passage for each in documents for passage in each.passages()]
        expressions = Expressions(random_, passages, reference)
        for _ in range(30):
            trees = [expressions.draw(), Or((expressions.draw(), Not(Word(("older",)))))]
            filters = [random_filter(random_)]
            check_the_rest(engine, reference, trees, filters)
            for field in SCHEMA.fields:
                told = [each.values(field, trees[1], EVERYONE) for each in (engine, reference)]
                assert told[0] == told[1]
