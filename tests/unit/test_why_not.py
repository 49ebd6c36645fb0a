"""Why an expression does not find a document, against sets worked out apart from the engine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.engines import why_not as module
from logicalrag.engines.analysis import stem
from logicalrag.engines.identity import passage_id
from logicalrag.engines.metadata import Filter, MetadataError, MetadataSchema, Value
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage, Visibility
from logicalrag.engines.reference import ReferenceEngine
from logicalrag.engines.why_not import Part, WhyNot, why_not
from logicalrag.query.nodes import And, Boosted, Node, Not
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from tests.unit.semantics import Document, hits
from tests.unit.tree_strategies import documents, trees

SCHEMA = MetadataSchema({"year": "number", "kind": "keyword"})
TEXTS = (
    "Ottone in villa is an opera by Vivaldi.",
    "It was first performed in Vicenza, in 1713.",
    "Handel wrote operas too, and oratorios.",
)


def passages(
    name: str,
    texts: tuple[str, ...],
    titles: tuple[str, ...] | None = None,
    access: tuple[str, ...] | None = None,
    metadata: dict[str, tuple[Value, ...]] | None = None,
) -> list[Passage]:
    return [
        Passage(
            passage_id(DEFAULT_TENANT, name, number), name, number,
            titles[number] if titles else "Notes", text, 0, len(text), DEFAULT_TENANT, access,
            f"page {number + 1}", metadata or {},
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip


def engine_with(*documents: list[Passage]) -> ReferenceEngine:
    engine = ReferenceEngine(schema=SCHEMA)
    for document in documents:
        engine.put(document, replaces=0)
    engine.commit()
    return engine


@pytest.fixture
def engine() -> ReferenceEngine:
    return engine_with(
        passages("notes", TEXTS, metadata={"year": (1713.0,)}),
        passages("other", ("Alcina is an opera by Handel.",), metadata={"year": (1735.0,)}),
        passages("secret", ("Vivaldi's debts.",), access=("hr",)),
    )


def ask(engine: ReferenceEngine, expression: str, document: str = "notes") -> WhyNot:
    return why_not(engine, document, parse(expression).tree, Visibility())


def test_it_names_the_clauses_that_exclude_and_the_nearest_passage(engine: ReferenceEngine) -> None:
    found = ask(engine, "vivaldi AND opera AND vicenza AND london")
    assert found.passages == 3
    assert found.hits == 0
    assert found.nearest is not None
    assert (found.nearest.number, found.nearest.location) == (0, "page 1")
    assert [(each.canonical, each.fulfilled, each.passages) for each in found.clauses] == [
        ("vivaldi", True, 1), ("opera", True, 2), ("vicenza", False, 1), ("london", False, 0),
    ]  # fmt: skip


def test_it_names_what_a_negated_clause_excludes(engine: ReferenceEngine) -> None:
    found = ask(engine, "ottone NOT (villa OR london OR opera)")
    (first, second) = found.clauses
    assert (first.fulfilled, second.fulfilled, second.negated) == (True, False, True)
    assert second.parts == (Part("villa", 1), Part("opera", 2))
    assert ask(engine, "NOT notes").clauses[0].parts == (Part("notes", 3),)


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("london OR paris", (Part("london", 0), Part("paris", 0))),
        ("vivaldi AND (london OR vicenza)^2", (Part("london", 0), Part("vicenza", 1))),
        ("vivaldi-vicenza", (Part("vivaldi", 1), Part("vicenza", 1))),
        ('"opera vivaldi"', (Part('"opera"', 1), Part('"vivaldi"', 1))),
        ('title:"operas"', (Part("title:operas", 0), Part("operas", 2))),
        ("london", ()),
    ],
)
def test_a_clause_is_taken_apart(
    engine: ReferenceEngine, expression: str, parts: tuple[Part, ...]
) -> None:
    (clause,) = (each for each in ask(engine, expression).clauses if not each.fulfilled)
    assert clause.parts == parts


def test_a_document_that_matches_is_given_its_rank(engine: ReferenceEngine) -> None:
    found = ask(engine, "handel opera", "other")
    ranked = engine.search(parse("handel opera").tree, Visibility()).hits
    assert (found.hits, found.clauses) == (1, ())
    assert found.nearest == ranked[(found.rank or 0) - 1].passage
    assert found.nearest.document_id == "other"


def test_a_document_that_may_not_be_seen_is_like_none_at_all(engine: ReferenceEngine) -> None:
    tree = parse("debts AND london").tree
    nothing = WhyNot(0)
    hr = Visibility(groups=frozenset({"hr"}))
    hidden = Visibility(hidden_documents=frozenset({"notes"}))
    foreign = Visibility(tenant="other")
    assert why_not(engine, "nowhere", tree, Visibility()) == nothing
    assert why_not(engine, "secret", tree, Visibility()) == nothing
    assert why_not(engine, "notes", tree, hidden) == nothing
    assert why_not(engine, "notes", tree, foreign) == nothing
    filters = (Filter("year", "=", (1.0,)),)
    assert why_not(engine, "secret", tree, Visibility(), filters) == nothing
    assert why_not(engine, "secret", tree, hr).passages == 1


def test_filters_that_exclude_the_document_are_named(engine: ReferenceEngine) -> None:
    tree = parse("vivaldi").tree
    early, late = Filter("year", "<", (1720.0,)), Filter("year", ">", (1720.0,))
    found = why_not(engine, "notes", tree, Visibility(), (early, late))
    assert found == WhyNot(0, filters=(late,))
    assert why_not(engine, "notes", tree, Visibility(), (early,)).hits == 1
    with pytest.raises(MetadataError):
        why_not(engine, "notes", tree, Visibility(), (Filter("yeer", "=", (1.0,)),))


def _conjuncts(tree: Node) -> tuple[Node, ...]:
    while isinstance(tree, Boosted):
        tree = tree.child
    return tree.children if isinstance(tree, And) else (tree,)


@given(held=documents, tree=trees(), limit=st.sampled_from((1, 3, 1000)))
def test_the_nearest_passage_fulfils_what_the_sets_say(
    held: list[Document], tree: Node, limit: int
) -> None:
    engine = engine_with(
        passages(
            "d",
            tuple(" ".join(document.content) for document in held),
            tuple(" ".join(document.title) for document in held),
        )
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "MAX_LIMIT", limit)  # as of a document with very many passages
        found = why_not(engine, "d", tree, Visibility())
    matching = hits(tree, held, stem)
    assert (found.passages, found.hits) == (len(held), len(matching))
    if matching:
        assert found.nearest is not None
        assert found.nearest.number in matching
        return
    sets = [hits(conjunct, held, stem) for conjunct in _conjuncts(tree)]
    assert [clause.canonical for clause in found.clauses] == [
        canonical(conjunct) for conjunct in _conjuncts(tree)
    ]
    assert [clause.passages for clause in found.clauses] == [len(each) for each in sets]
    assert [clause.negated for clause in found.clauses] == [
        isinstance(conjunct, Not) for conjunct in _conjuncts(tree)
    ]
    if found.nearest is None:
        assert not any(sets)
        return
    number = found.nearest.number
    assert [clause.fulfilled for clause in found.clauses] == [number in each for each in sets]
    if limit == 1000:
        most = max(sum(n in each for each in sets) for n in range(len(held)))
        assert sum(clause.fulfilled for clause in found.clauses) == most
    else:
        kept = frozenset.intersection(*(each for each in sets if number in each))
        assert all(number in each or not kept & each for each in sets), "no further clause fits"
