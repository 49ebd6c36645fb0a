"""Metadata: filters, orders and counts by value, on every engine and against plain Python."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from logicalrag.engines.metadata import (
    Filter,
    MetadataError,
    MetadataSchema,
    Operator,
    Sort,
    Value,
)
from logicalrag.engines.protocol import SearchEngine, ValueCount, Visibility
from logicalrag.query.nodes import And, Node, Not, Word
from tests.conformance.documents import EVERYONE, Document, serving, store
from tests.conformance.indices import Index, NewIndex

LIBRARY = MetadataSchema({"kind": "keyword", "year": "number", "published": "date"})
COMMON = Word(("common",))


def document(name: str, *, text: str = "common", **values: Value | tuple[Value, ...]) -> Document:
    """Return a document of one passage with these values."""
    held = {
        field: value if isinstance(value, tuple) else (value,) for field, value in values.items()
    }
    return Document(name, (text,), metadata=(held,))


BOOKS = [
    document("old", kind="book", year=1999.0, published="1999-05-17T00:00:00Z"),
    document("new", kind="book", year=2020.0, published="2020-02-29T12:30:00Z"),
    document("map", kind="map", year=2020.0, published="2020-03-01T00:00:00Z"),
    document("both", kind=("map", "book"), year=(1980.0, 2024.0)),
    document("bare"),
]


@pytest.fixture
def library(new_index: NewIndex) -> Index:
    """Return an empty index with the fields of `LIBRARY`."""
    return new_index(schema=LIBRARY)


def found(engine: SearchEngine, *filters: Filter, tree: Node = COMMON) -> set[str]:
    """Return the documents found within filters."""
    result = engine.search(tree, EVERYONE, limit=1000, filters=filters)
    assert result.count.hits == len(result.hits)
    return {hit.passage.document_id for hit in result.hits}


def is_(field: str, *values: Value) -> Filter:
    """Return the filter that one of `values` is there."""
    return Filter(field, "=", values)


class TestFilters:
    """Which passages fulfil a filter, by hand."""

    @pytest.mark.parametrize(
        ("field", "operator", "values", "expected"),
        [
            ("kind", "=", ("book",), "old new both"),
            ("kind", "=", ("Book",), ""),
            ("kind", "=", ("map", "atlas"), "map both"),
            ("kind", "!=", ("map",), "old new bare"),
            ("kind", "!=", ("map", "book"), "bare"),
            ("year", "=", (2020.0,), "new map"),
            ("year", "=", (1980.0, 1999.0), "both old"),
            ("year", "!=", (2020.0,), "old both bare"),
            ("year", "<", (2020.0,), "old both"),
            ("year", "<=", (2020.0,), "old new map both"),
            ("year", ">", (2020.0,), "both"),
            ("year", ">=", (2020.0,), "new map both"),
            ("published", "=", ("2020",), "new map"),
            ("published", "=", ("2020-02",), "new"),
            ("published", "=", ("2020-02-29",), "new"),
            ("published", "=", ("2020-02-29T12:30:00Z",), "new"),
            ("published", "=", ("2020-02-29T12:30:01Z",), ""),
            ("published", "=", ("1999", "2020-03"), "old map"),
            ("published", "!=", ("2020",), "old both bare"),
            ("published", "<", ("2020-03-01T00:00:00Z",), "old new"),
            ("published", "<=", ("2020-03-01T00:00:00Z",), "old new map"),
            ("published", ">", ("2020-02-29T12:30:00Z",), "map"),
            ("published", ">=", ("2020-02-29T12:30:00Z",), "new map"),
        ],
    )
    def test_one(
        self,
        library: Index,
        field: str,
        operator: Operator,
        values: tuple[Value, ...],
        expected: str,
    ) -> None:
        with serving(library, BOOKS) as engine:
            assert found(engine, Filter(field, operator, values)) == set(expected.split())

    def test_several_all_hold(self, library: Index) -> None:
        with serving(library, BOOKS) as engine:
            assert found(engine, is_("kind", "book"), Filter("year", ">", (2000.0,))) == {
                "new",
                "both",
            }
            # One value of `both` is above 2000 and another below.
            years = [Filter("year", "<", (2000.0,)), Filter("year", ">", (2000.0,))]
            assert found(engine, *years) == {"both"}
            assert found(engine, is_("kind", "map"), Filter("kind", "!=", ("map",))) == set()

    def test_counts_are_of_what_fulfils_them(self, library: Index) -> None:
        recent = Filter("year", ">=", (2020.0,))  # new, map, both
        nowhere = Word(("nowhere",))
        documents = [*BOOKS, document("other", text="other", year=2030.0)]
        with serving(library, documents) as engine:
            tree = And((COMMON, nowhere))
            result = engine.search(
                tree, EVERYONE, clause_counts=True, leave_one_out=True, filters=[recent]
            )
            assert (result.visible, result.count.hits) == (4, 0)
            parts = [(each.canonical, each.count.hits) for each in result.clause_counts]
            assert parts == [("common", 3), ("nowhere", 0)]
            left_out = [(each.canonical, each.count.hits) for each in result.leave_one_out]
            assert left_out == [("common", 0), ("nowhere", 3)]
            assert result.leave_one_out[1].count.fraction == 3 / 4
            counted = engine.count([COMMON, Not(COMMON), nowhere], EVERYONE, filters=[recent])
            assert [count.hits for count in counted.counts] == [3, 1, 0]
            assert [count.fraction for count in counted.counts] == [3 / 4, 1 / 4, 0.0]
            assert (counted.visible, counted.generation) == (4, result.generation)
            assert engine.documents_holding([COMMON], EVERYONE, filters=[recent]) == 3
            assert engine.count([COMMON], EVERYONE).visible == 6

    def test_they_change_no_score(self, library: Index) -> None:
        documents = [replace(each, texts=(f"common {'x ' * n}",)) for n, each in enumerate(BOOKS)]
        with serving(library, documents) as engine:
            scores = {hit.passage.id: hit.score for hit in engine.search(COMMON, EVERYONE).hits}
            filters = [Filter("kind", "!=", ("map",)), Filter("year", "<", (2030.0,))]
            hits = engine.search(COMMON, EVERYONE, filters=filters).hits
            assert len(hits) == 2
            for hit in hits:
                assert hit.score == pytest.approx(scores[hit.passage.id], rel=1e-6)

    def test_the_largest_legal_ones(self, library: Index) -> None:
        values = tuple(f"v{number}" for number in range(63))
        with serving(library, BOOKS) as engine:
            assert found(engine, *[is_("kind", "map", *values)] * 32) == {"map", "both"}

    @pytest.mark.parametrize("value", ["", "\ud800", "\x00", "*", "x" * 512, '"'])
    def test_no_keyword_fails(self, library: Index, value: str) -> None:
        with serving(library, BOOKS) as engine:
            assert found(engine, is_("kind", value)) == set()
            assert found(engine, Filter("kind", "!=", (value,))) == {each.id for each in BOOKS}

    @pytest.mark.parametrize(
        ("condition", "code"),
        [
            (is_("colour", "red"), "unknown_metadata_field"),
            (is_("", "red"), "unknown_metadata_field"),
            (is_("year", "2020"), "bad_filter"),
            (is_("year", float("nan")), "bad_filter"),
            (Filter("year", "<", (float("inf"),)), "bad_filter"),
            (is_("kind", 1.0), "bad_filter"),
            (is_("kind", "x" * 513), "bad_filter"),
            (is_("kind"), "bad_filter"),
            (is_("kind", *map(str, range(65))), "bad_filter"),
            (Filter("kind", "<", ("a",)), "bad_filter"),
            (Filter("year", ">", (1.0, 2.0)), "bad_filter"),
            (Filter("year", "~", (1.0,)), "bad_filter"),  # type: ignore[arg-type]
            (Filter("published", ">", ("2020",)), "bad_filter"),
            (is_("published", "2020-13"), "bad_filter"),
            (is_("published", "2023-02-29"), "bad_filter"),
            (is_("published", "0000"), "bad_filter"),
            (Filter("published", "<", ("2024-02-30T00:00:00Z",)), "bad_filter"),
            (Filter("published", "<", ("2024-02-01T24:00:00Z",)), "bad_filter"),
            (Filter("published", "<", ("2024-02-01T00:00:60Z",)), "bad_filter"),
            (is_("published", "last year"), "bad_filter"),
            (is_("published", "２０２０"), "bad_filter"),
            (is_("published", 2020.0), "bad_filter"),
        ],
        ids=str,
    )
    def test_what_does_not_fit_is_refused(
        self, library: Index, condition: Filter, code: str
    ) -> None:
        with serving(library, BOOKS) as engine:
            for call in (
                lambda: engine.search(COMMON, EVERYONE, filters=[condition]),
                lambda: engine.count([COMMON], EVERYONE, filters=[condition]),
                lambda: engine.values("kind", None, EVERYONE, filters=[condition]),
                lambda: engine.documents_holding([COMMON], EVERYONE, filters=[condition]),
            ):
                with pytest.raises(MetadataError) as caught:
                    call()
                assert caught.value.code == code

    def test_too_many_are_refused(self, library: Index) -> None:
        with serving(library, BOOKS) as engine, pytest.raises(MetadataError, match="at most 32"):
            engine.count([COMMON], EVERYONE, filters=[is_("kind", "map")] * 33)

    def test_an_index_without_fields_has_none(self, index: Index) -> None:
        with serving(index, [Document("d", ("common",))]) as engine:
            assert dict(engine.metadata_schema.fields) == {}
            with pytest.raises(MetadataError, match="kind"):
                engine.count([COMMON], EVERYONE, filters=[is_("kind", "map")])


def test_filtered_counts_beside_a_writer_are_of_one_commit(library: Index) -> None:
    store(library, BOOKS)
    trees: list[Node] = [COMMON, Not(COMMON), Not(Word(("nowhere",)))]
    done = threading.Event()

    def counted(engine: SearchEngine) -> set[int]:
        seen: set[int] = set()
        while not done.is_set() or not seen:
            result = engine.count(trees, EVERYONE, filters=[is_("kind", "book")])
            common, other, everything = (count.hits for count in result.counts)
            assert common + other == everything == result.visible
            seen.add(everything)
        return seen

    with library.engine() as engine, library.writer() as writer, ThreadPoolExecutor(2) as pool:
        running = [pool.submit(counted, engine) for _ in range(2)]
        try:
            for number in range(10):
                for text in ("common", "other"):
                    passages = document(f"{text} {number}", text=text, kind="book").passages()
                    writer.put(passages, replaces=0)
                writer.commit()
        finally:
            done.set()
        assert all(each.result() <= set(range(3, 24, 2)) for each in running)
        assert engine.count(trees, EVERYONE, filters=[is_("kind", "book")]).visible == 23


class TestSorting:
    """Orders by a field: values, then passages without one, ties by passage id."""

    @pytest.mark.parametrize(
        ("sort", "expected"),
        [
            (Sort("year"), "both (new map) old bare"),
            (Sort("year", descending=False), "both old (new map) bare"),
            (Sort("published"), "map new old (both bare)"),
            (Sort("published", descending=False), "old new map (both bare)"),
        ],
    )
    def test_by_hand(self, library: Index, sort: Sort, expected: str) -> None:
        order: list[str] = []
        ids = {each.id: each.passages()[0].id for each in BOOKS}
        for part in expected.replace(" (", "|(").replace(") ", ")|").split("|"):
            names = part.strip("()").split()
            order += sorted(names, key=ids.__getitem__) if part.startswith("(") else names
        with serving(library, BOOKS) as engine:
            for limit in range(7):
                hits = engine.search(COMMON, EVERYONE, limit=limit, sort=sort).hits
                assert [hit.passage.document_id for hit in hits] == order[:limit]
                assert {hit.score for hit in hits} <= {0.0}

    def test_many_ties_at_every_cut(self, library: Index) -> None:
        documents = [document(f"d{n}", year=float(n % 3)) for n in range(300)]
        documents += [document(f"bare{n}") for n in range(100)]

        def place(each: Document) -> tuple[float, str]:
            (year,) = each.metadata[0].get("year", (-1.0,))
            return (-float(year), each.passages()[0].id)

        order = [each.id for each in sorted(documents, key=place)]
        with serving(library, documents) as engine:
            for limit in (1, 50, 99, 100, 101, 250, 301, 399, 400, 1000):
                hits = engine.search(COMMON, EVERYONE, limit=limit, sort=Sort("year")).hits
                assert [hit.passage.document_id for hit in hits] == order[:limit]

    @pytest.mark.parametrize(
        ("sort", "code"),
        [(Sort("kind"), "bad_sort"), (Sort("colour"), "unknown_metadata_field")],
    )
    def test_what_has_no_order_is_refused(self, library: Index, sort: Sort, code: str) -> None:
        with serving(library, BOOKS) as engine:
            for limit in (0, 5):
                with pytest.raises(MetadataError) as caught:
                    engine.search(COMMON, EVERYONE, limit=limit, sort=sort)
                assert caught.value.code == code


class TestValues:
    """Counts by value: exact, of what is visible only."""

    def test_by_hand(self, library: Index) -> None:
        documents = [*BOOKS, document("twice", text="other", kind=("book", "book"), year=-0.0)]
        with serving(library, documents) as engine:
            assert engine.values("kind", None, EVERYONE) == (
                ValueCount("book", 4),
                ValueCount("map", 2),
            )
            assert engine.values("kind", COMMON, EVERYONE, limit=1) == (ValueCount("book", 3),)
            assert engine.values("kind", Word(("nowhere",)), EVERYONE) == ()
            assert engine.values("year", None, EVERYONE) == (
                ValueCount(2020.0, 2),
                *[ValueCount(year, 1) for year in (0.0, 1980.0, 1999.0, 2024.0)],
            )
            assert engine.values("published", None, EVERYONE, filters=[is_("kind", "book")]) == (
                ValueCount("1999-05-17T00:00:00Z", 1),
                ValueCount("2020-02-29T12:30:00Z", 1),
            )

    def test_any_number_of_them(self, library: Index) -> None:
        counts = {f"v{n:04}": 1 + n % 3 for n in range(1500)}
        documents = [
            document(f"{value} {n}", kind=value)
            for value, count in counts.items()
            for n in range(count)
        ]
        order = sorted(counts, key=lambda value: (-counts[value], value))
        expected = [ValueCount(value, counts[value]) for value in order]
        with serving(library, documents) as engine:
            for limit in (1, 10, 999, 1000):
                assert list(engine.values("kind", None, EVERYONE, limit=limit)) == expected[:limit]

    def test_what_is_replaced_or_removed_counts_no_more(self, library: Index) -> None:
        store(library, BOOKS)
        with library.writer() as writer:
            writer.put(document("new", kind="film").passages(), replaces=1)
            writer.remove("default", "map", claimed=1)
            writer.commit()
        with library.engine() as engine:
            assert engine.values("kind", None, EVERYONE) == (
                ValueCount("book", 2),
                ValueCount("film", 1),
                ValueCount("map", 1),
            )
            assert engine.values("year", None, EVERYONE, filters=[is_("year", 2020.0)]) == ()

    def test_bounds(self, library: Index) -> None:
        with serving(library, BOOKS) as engine:
            for limit in (0, 1001):
                with pytest.raises(ValueError, match="limit"):
                    engine.values("kind", None, EVERYONE, limit=limit)
            for tree in (None, COMMON):
                with pytest.raises(MetadataError) as caught:
                    engine.values("colour", tree, EVERYONE)
                assert caught.value.code == "unknown_metadata_field"


class TestWithin:
    """A search within one document."""

    DOCUMENTS = (
        Document("long", ("common one", "common two", "other three")),
        Document("closed", ("common",), access=("red",)),
        Document("long", ("common theirs",), tenant="theirs"),
    )

    def test_it_sees_that_document_alone(self, index: Index) -> None:
        with serving(index, self.DOCUMENTS) as engine:
            result = engine.search(COMMON, EVERYONE, within="long", clause_counts=True)
            assert {hit.passage.text for hit in result.hits} == {"common one", "common two"}
            assert (result.visible, result.count.fraction) == (3, 2 / 3)
            assert result.clause_counts[0].count.hits == 2
            complement = engine.search(Not(COMMON), EVERYONE, within="long")
            assert [hit.passage.text for hit in complement.hits] == ["other three"]

    @pytest.mark.parametrize("name", ["closed", "absent", "", "\ud800", "lon"])
    def test_what_is_not_visible_is_not_there(self, index: Index, name: str) -> None:
        with serving(index, self.DOCUMENTS) as engine:
            result = engine.search(Not(Word(("nowhere",))), EVERYONE, within=name)
            assert (result.visible, result.count.hits) == (0, 0)


class TestVisibility:
    """No filter, order or value tells of what the caller may not see."""

    OPEN = document("open", kind="open", year=1.0)
    CLOSED = replace(document("closed", kind="closed", year=2.0), access=("red",))
    HIDDEN = document("hidden", kind="hidden", year=3.0)
    THEIRS = replace(document("open", kind="theirs", year=4.0), tenant="theirs")
    CALLER = Visibility(hidden_documents=frozenset({"hidden"}))

    @pytest.fixture
    def engine(self, library: Index) -> Iterator[SearchEngine]:
        """Return an engine over the four documents."""
        with serving(library, [self.OPEN, self.CLOSED, self.HIDDEN, self.THEIRS]) as engine:
            yield engine

    def test_values(self, engine: SearchEngine) -> None:
        for tree in (None, COMMON):
            assert engine.values("kind", tree, self.CALLER) == (ValueCount("open", 1),)
            assert engine.values("year", tree, self.CALLER) == (ValueCount(1.0, 1),)
            theirs = Visibility(tenant="theirs")
            assert engine.values("kind", tree, theirs) == (ValueCount("theirs", 1),)
            assert engine.values("kind", tree, Visibility(tenant="nobody's")) == ()

    def test_filters(self, engine: SearchEngine) -> None:
        for kind in ("closed", "hidden", "theirs"):
            result = engine.search(COMMON, self.CALLER, filters=[is_("kind", kind)])
            assert (result.visible, result.count.hits, result.count.fraction) == (0, 0, 0.0)
        others = Filter("kind", "!=", ("open",))
        assert engine.count([COMMON], self.CALLER, filters=[others]).visible == 0
        red = replace(self.CALLER, groups=frozenset({"red"}))
        assert engine.count([COMMON], red, filters=[others]).visible == 1
        assert engine.documents_holding([COMMON], red, filters=[others]) == 1

    def test_orders(self, engine: SearchEngine) -> None:
        hits = engine.search(COMMON, self.CALLER, sort=Sort("year")).hits
        assert [hit.passage.document_id for hit in hits] == ["open"]


class TestPassages:
    """Locations and metadata come back as they were put."""

    DOCUMENT = Document(
        "d",
        ("common a", "common b", "common c"),
        metadata=(
            {"kind": ("é", "b"), "year": (2020.0,)},
            {},
            {"published": ("2020-02-29T12:30:00Z",)},
        ),
        locations=("page 1", "rows 3-9"),
    )

    def test_they_come_back(self, library: Index) -> None:
        passages = self.DOCUMENT.passages()
        with serving(library, [self.DOCUMENT]) as engine:
            assert list(engine.read([each.id for each in passages], EVERYONE)) == passages
            hits = engine.search(COMMON, EVERYONE).hits
            assert sorted(hit.passage.number for hit in hits) == [0, 1, 2]
            for hit in hits:
                assert hit.passage == passages[hit.passage.number]
            around = engine.read([passages[1].id], EVERYONE, neighbours=1)
            assert [each.location for each in around] == ["page 1", "rows 3-9", ""]

    def test_what_does_not_fit_changes_nothing(self, library: Index) -> None:
        store(library, BOOKS)
        with library.writer() as writer:
            for values in ({"colour": "red"}, {"kind": 1.0}, {"year": "x"}, {"published": "2020"}):
                bad = document("old", **values)
                with pytest.raises(MetadataError):
                    writer.put(bad.passages(), replaces=1)
            writer.commit()
        with library.engine() as engine:
            assert found(engine) == {each.id for each in BOOKS}

    def test_the_schema_is_told(self, library: Index) -> None:
        with serving(library, []) as engine:
            assert dict(engine.metadata_schema.fields) == dict(LIBRARY.fields)
