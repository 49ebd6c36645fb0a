"""Who sees what: tenant, access list and hidden documents hold in every call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import SearchEngine, Visibility
from logicalrag.query.nodes import And, Node, Not, Or, Phrase, Word
from tests.conformance.documents import EVERYONE, Document, serving, store
from tests.conformance.indices import Index, NewIndex

COMMON = Word(("common",))
MINE = (
    Document("open", ("common open alpha", "second open"), "Open"),
    Document("nobody", ("common nobody alpha secretive", "second nobody"), "Nobody", access=()),
    Document("red", ("common red alpha crimson", "second red"), "Red", access=("red",)),
    Document("both", ("common both beta", "second both"), "Both", access=("red", "blue")),
    Document("blue", ("common blue beta", "second blue"), "Blue", access=("blue",)),
)
# Another tenant's documents: one id and some words are the same, some words are only there.
THEIRS = (
    Document("open", ("common open alpha alpha", "foreign second"), "Open", tenant="theirs"),
    Document("red", ("common crimson alpha",), "Red", tenant="theirs", access=("red",)),
    Document("their own", ("common common crimsom treasure",), "Treasure", tenant="theirs"),
)
CALLERS = {
    "no groups": (Visibility(), {"open"}),
    "red": (Visibility(groups=frozenset({"red"})), {"open", "red", "both"}),
    "blue": (Visibility(groups=frozenset({"blue"})), {"open", "both", "blue"}),
    "red and blue": (
        Visibility(groups=frozenset({"red", "blue"})),
        {"open", "red", "both", "blue"},
    ),
    "an unknown group": (Visibility(groups=frozenset({"green", ""})), {"open"}),
    "red without both": (
        Visibility(groups=frozenset({"red"}), hidden_documents=frozenset({"both", "absent"})),
        {"open", "red"},
    ),
    "all hidden": (Visibility(hidden_documents=frozenset({"open"})), set()),
    "another tenant": (Visibility(tenant="theirs"), {"open", "their own"}),
    "an unknown tenant": (Visibility(tenant="nobody's"), set()),
    "a tenant that is a prefix": (Visibility(tenant="their"), set()),
}


each_caller = pytest.mark.parametrize(
    ("visibility", "seen"), list(CALLERS.values()), ids=list(CALLERS)
)


def all_passages() -> list[str]:
    """Return the id of every stored passage, of both tenants."""
    return [passage.id for document in (*MINE, *THEIRS) for passage in document.passages()]


@each_caller
def test_search_and_count(index: Index, visibility: Visibility, seen: set[str]) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        result = engine.search(COMMON, visibility, limit=100, documents=True, clause_counts=True)
        assert {hit.passage.document_id for hit in result.hits} == seen
        assert {hit.passage.tenant for hit in result.hits} <= {visibility.tenant}
        assert result.count.hits == len(result.hits) == result.documents == len(seen)
        assert [part.count.hits for part in result.clause_counts] == [len(seen)]
        everything = engine.search(Not(Word(("nowhere",))), visibility, limit=100)
        assert {hit.passage.document_id for hit in everything.hits} == seen
        assert everything.visible == everything.count.hits == len(everything.hits)
        assert result.visible == everything.visible
        assert everything.count.fraction == (1.0 if seen else 0.0)
        counted = engine.count([COMMON, Not(COMMON)], visibility)
        assert counted.visible == everything.visible
        assert counted.counts[0] == result.count
        assert sum(count.hits for count in counted.counts) == counted.visible


@each_caller
def test_not_is_the_complement_in_what_is_visible(
    index: Index, visibility: Visibility, seen: set[str]
) -> None:
    trees: list[Node] = [Not(COMMON), Or((COMMON, Not(Word(("alpha",))))), Not(Word(("absent",)))]
    with serving(index, [*MINE, *THEIRS]) as engine:
        for tree in trees:
            for hit in engine.search(tree, visibility, limit=100).hits:
                assert hit.passage.document_id in seen
                assert hit.passage.tenant == visibility.tenant


@each_caller
def test_leave_one_out(index: Index, visibility: Visibility, seen: set[str]) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        tree = And((COMMON, Word(("nowhere",))))
        result = engine.search(tree, visibility, leave_one_out=True)
        assert result.count.hits == 0
        assert [(part.canonical, part.count.hits) for part in result.leave_one_out] == [
            ("common", 0),
            ("nowhere", len(seen)),
        ]


@each_caller
def test_read_and_neighbours(index: Index, visibility: Visibility, seen: set[str]) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        for neighbours in (0, 5):
            read = engine.read(all_passages(), visibility, neighbours=neighbours)
            assert {passage.document_id for passage in read} == seen
            assert {passage.tenant for passage in read} <= {visibility.tenant}
        expected = [
            passage
            for document in (*MINE, *THEIRS)
            for passage in document.passages()
            if document.tenant == visibility.tenant and document.id in seen
        ]
        assert list(engine.read(all_passages(), visibility)) == expected


@each_caller
def test_documents_holding(index: Index, visibility: Visibility, seen: set[str]) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        assert engine.documents_holding([COMMON], visibility) == len(seen)
        spread: list[Node] = [COMMON, Word(("second",))]
        if visibility.tenant != "theirs":
            assert engine.documents_holding(spread, visibility) == len(seen)
        assert engine.documents_holding([COMMON, Word(("nowhere",))], visibility) == 0


@pytest.mark.parametrize(
    ("visibility", "found"),
    [
        (Visibility(groups=frozenset({"red"})), [("crimson", 1)]),
        (Visibility(tenant="theirs"), [("crimsom", 1)]),
        (Visibility(tenant="theirs", groups=frozenset({"red"})), [("crimsom", 1), ("crimson", 1)]),
        (Visibility(), []),
        (Visibility(groups=frozenset({"blue"})), []),
        (Visibility(groups=frozenset({"red"}), hidden_documents=frozenset({"red"})), []),
    ],
)
def test_nearest_words(index: Index, visibility: Visibility, found: list[tuple[str, int]]) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        near = engine.nearest_words("crimsonn", visibility, limit=20)
        assert {(word.word, word.hits) for word in near if word.word.startswith("crims")} == set(
            found
        )
        assert all(word.word != "secretive" for word in near)
        assert engine.nearest_words("secretiv", visibility) == ()


def test_nearest_words_counts_what_is_visible(index: Index) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        for visibility, seen in CALLERS.values():
            hits = {word.word: word.hits for word in engine.nearest_words("commom", visibility)}
            assert hits.get("common", 0) == len(seen)


def test_stats_are_of_one_tenant(index: Index) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        mine = engine.stats(EVERYONE)
        theirs = engine.stats(Visibility(tenant="theirs"))
        none = engine.stats(Visibility(tenant="nobody's"))
        assert (mine.passages, mine.documents) == (10, 5)
        assert (theirs.passages, theirs.documents) == (4, 3)
        assert (none.passages, none.documents) == (0, 0)


def test_the_same_document_id_in_two_tenants(index: Index) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        mine, theirs = passage_id("default", "open", 0), passage_id("theirs", "open", 0)
        other = Visibility(tenant="theirs")
        assert [each.text for each in engine.read([mine, theirs], EVERYONE)] == [
            "common open alpha"
        ]
        assert [each.text for each in engine.read([mine, theirs], other)] == [
            "common open alpha alpha"
        ]


@pytest.mark.parametrize("count", [1, 10_000])
def test_up_to_ten_thousand_hidden_documents(index: Index, count: int) -> None:
    hidden = frozenset({"open", *(f"absent/{number}" for number in range(count - 1))})
    visibility = Visibility(groups=frozenset({"red"}), hidden_documents=hidden)
    with serving(index, [*MINE, *THEIRS]) as engine:
        result = engine.search(COMMON, visibility, limit=10)
        assert {hit.passage.document_id for hit in result.hits} == {"red", "both"}
        assert (result.count.hits, result.visible) == (2, 4)


@pytest.mark.parametrize("name", ["*", "\ud800", "\x00", "", "a b", "x" * 100_000])
def test_no_name_that_a_caller_gives_fails_or_opens_anything(index: Index, name: str) -> None:
    with serving(index, [*MINE, *THEIRS]) as engine:
        odd = frozenset({name})
        assert engine.search(COMMON, Visibility(groups=odd)).count.hits == 1
        assert engine.search(COMMON, Visibility(hidden_documents=odd)).count.hits == 1
        assert engine.search(COMMON, Visibility(tenant=name)).count.hits == 0
        assert engine.stats(Visibility(tenant=name)).passages == 0


def answers(engine: SearchEngine, visibility: Visibility) -> list[str]:
    """Return everything a caller can be told, byte for byte, without the generation."""
    trees: list[Node] = [
        COMMON,
        Phrase(("common", "open")),
        Not(Word(("alpha",))),
        And((COMMON, Word(("treasure",)))),
        Or((Word(("alpha",), boost="2"), Word(("crimson",)), Phrase(("beta",), "content"))),
        Word(("treasure",)),
        Word(("open",), "title"),
    ]
    told: list[object] = []
    for tree in trees:
        result = engine.search(
            tree, visibility, limit=50, documents=True, clause_counts=True, leave_one_out=True
        )
        told.append(replace(result, generation=""))
    told.append(replace(engine.count(trees, visibility), generation=""))
    told.append(engine.read(all_passages(), visibility, neighbours=1))
    for word in ("crimsonn", "treasur", "commom", "foreing"):
        told.append(engine.nearest_words(word, visibility, limit=20))
        told.append(engine.nearest_words(word, visibility, field="title", limit=20))
    told.append([engine.documents_holding([tree], visibility) for tree in trees])
    stats = engine.stats(visibility)
    told.append((stats.passages, stats.documents))
    return [repr(each) for each in told]


@pytest.mark.parametrize("groups", [frozenset[str](), frozenset({"red"}), frozenset({"blue"})])
def test_another_tenants_data_change_no_byte(new_index: NewIndex, groups: frozenset[str]) -> None:
    visibility = Visibility(groups=groups, hidden_documents=frozenset({"both"}))
    alone, beside = new_index(), new_index()
    with serving(alone, MINE) as engine:
        expected = answers(engine, visibility)
    with serving(beside, [*THEIRS, *MINE]) as engine:
        assert answers(engine, visibility) == expected
    with beside.writer() as writer:
        writer.remove("theirs", "open", claimed=2)
        writer.commit()
    with beside.engine() as engine:
        assert answers(engine, visibility) == expected


def test_withdrawn_access_denies_the_next_call(index: Index) -> None:
    red = Visibility(groups=frozenset({"red"}))
    document = Document("d", ("common text",), access=("red",))
    ids = [passage.id for passage in document.passages()]
    store(index, [document])
    with index.engine() as engine, index.writer() as writer:
        assert engine.search(COMMON, red).count.hits == 1
        assert len(engine.read(ids, red)) == 1
        writer.put(replace(document, access=("blue",)).passages(), replaces=1)
        writer.commit()
        assert engine.search(COMMON, red).count.hits == 0
        assert engine.count([COMMON], red).counts[0].hits == 0
        assert engine.read(ids, red) == ()
        assert engine.nearest_words("commom", red) == ()
        assert engine.documents_holding([COMMON], red) == 0


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "a/b",
        "../default",
        "ü",
        "a\x00b",
        "default ",
        "",
        "x" * 600,
        "DEFAULT",
        "*",
    ],
)
def test_tenant_and_group_names_are_any_text(index: Index, name: str) -> None:
    documents = [
        Document("d", ("common mine",), tenant=name, access=(name,)),
        Document("d", ("common default",)),
    ]
    with serving(index, documents) as engine:
        caller = Visibility(tenant=name, groups=frozenset({name}))
        assert [hit.passage.text for hit in engine.search(COMMON, caller).hits] == ["common mine"]
        assert engine.search(COMMON, Visibility(tenant=name)).count.hits == 0
        assert [hit.passage.text for hit in engine.search(COMMON, EVERYONE).hits] == [
            "common default"
        ]
