"""Writers: what is replaced leaves no orphan, and only a commit shows anything."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from logicalrag.engines.protocol import IndexStats, Passage, SearchEngine
from logicalrag.query.nodes import Word
from tests.conformance.documents import EVERYONE, Document, serving, store, titled
from tests.conformance.indices import Index


def document(size: int, word: str = "first") -> Document:
    """Return document "d" of `size` passages that all hold `word` and their number."""
    return Document("d", tuple(f"{word} part{number}" for number in range(size)), "Title")


def texts(engine: SearchEngine, word: str) -> list[str]:
    """Return the texts of all passages that hold a word, in document order."""
    hits = engine.search(Word((word,)), EVERYONE, limit=1000).hits
    return [
        hit.passage.text
        for hit in sorted(hits, key=lambda hit: (hit.passage.document_id, hit.passage.number))
    ]


def sizes(stats: IndexStats) -> tuple[int, int]:
    """Return passages and documents."""
    return stats.passages, stats.documents


@pytest.mark.parametrize(("before", "after"), [(5, 2), (2, 5), (3, 3), (1, 40), (40, 1)])
def test_a_replaced_document_leaves_no_orphan(index: Index, before: int, after: int) -> None:
    other = Document("other", ("first bystander", "part0"))
    store(index, [document(before), other])
    with index.writer() as writer:
        writer.put(document(after, "second").passages(), replaces=before)
        writer.commit()
    with index.engine() as engine:
        assert texts(engine, "first") == ["first bystander"]
        assert texts(engine, "second") == list(document(after, "second").texts)
        assert sizes(engine.stats(EVERYONE)) == (after + 2, 2)
        ids = [passage.id for passage in document(max(before, after)).passages()]
        assert len(engine.read(ids, EVERYONE)) == after
        assert len(engine.read(ids[:1], EVERYONE, neighbours=5)) == min(after, 6)


def test_replaces_may_claim_more_than_there_is(index: Index) -> None:
    store(index, [document(2)])
    with index.writer() as writer:
        writer.put(document(1, "second").passages(), replaces=100)
        writer.put(Document("new", ("second new",)).passages(), replaces=7)
        writer.remove("default", "never stored", claimed=9)
        writer.commit()
    with index.engine() as engine:
        assert texts(engine, "first") == []
        assert texts(engine, "second") == ["second part0", "second new"]


def test_a_document_put_twice_before_one_commit(index: Index) -> None:
    with index.writer() as writer:
        writer.put(document(4).passages(), replaces=0)
        writer.put(document(2, "second").passages(), replaces=4)
        writer.commit()
    with index.engine() as engine:
        assert texts(engine, "first") == []
        assert texts(engine, "second") == ["second part0", "second part1"]
        assert sizes(engine.stats(EVERYONE)) == (2, 1)


def test_put_after_remove_and_remove_after_put_before_one_commit(index: Index) -> None:
    store(index, [document(3)])
    with index.writer() as writer:
        writer.remove("default", "d", claimed=3)
        writer.put(document(2, "second").passages(), replaces=0)
        writer.put(Document("gone", ("second gone",)).passages(), replaces=0)
        writer.remove("default", "gone", claimed=1)
        writer.commit()
    with index.engine() as engine:
        assert texts(engine, "first") == []
        assert texts(engine, "second") == ["second part0", "second part1"]


def test_remove(index: Index) -> None:
    store(index, [document(3), Document("other", ("first other",))])
    with index.writer() as writer:
        writer.remove("default", "d", claimed=3)
        writer.commit()
    with index.engine() as engine:
        assert texts(engine, "first") == ["first other"]
        assert sizes(engine.stats(EVERYONE)) == (1, 1)
        assert engine.read([document(1).passages()[0].id], EVERYONE) == ()
        assert engine.search(Word(("part2",)), EVERYONE).visible == 1


def test_removing_the_last_document_leaves_an_empty_index(index: Index) -> None:
    store(index, [document(3)])
    with index.writer() as writer:
        writer.remove("default", "d", claimed=3)
        writer.commit()
    with index.engine() as engine:
        result = engine.search(Word(("first",)), EVERYONE, documents=True, clause_counts=True)
        assert (result.count.hits, result.count.fraction, result.visible) == (0, 0.0, 0)
        assert (result.documents, result.hits) == (0, ())
        assert engine.nearest_words("firs", EVERYONE) == ()
        assert sizes(engine.stats(EVERYONE)) == (0, 0)


def test_an_index_never_written_to_answers(index: Index) -> None:
    store(index, [])
    with index.engine() as engine:
        result = engine.search(Word(("first",)), EVERYONE)
        assert (result.count.hits, result.count.fraction, result.visible) == (0, 0.0, 0)
        assert sizes(engine.stats(EVERYONE)) == (0, 0)


def test_nothing_is_visible_before_commit(index: Index) -> None:
    store(index, [document(2)])
    with index.engine() as engine, index.writer() as writer:
        before = engine.stats(EVERYONE)
        writer.put(document(1, "second").passages(), replaces=2)
        writer.put(Document("new", ("second new",)).passages(), replaces=0)
        assert texts(engine, "first") == ["first part0", "first part1"]
        assert texts(engine, "second") == []
        after = engine.stats(EVERYONE)
        assert (sizes(after), after.generation) == (sizes(before), before.generation)
        writer.commit()
        assert texts(engine, "first") == []
        assert texts(engine, "second") == ["second part0", "second new"]


def test_an_engine_opened_before_follows_every_commit(index: Index) -> None:
    store(index, [])
    with index.engine() as engine, index.writer() as writer:
        for number in range(5):
            writer.put(Document(f"d{number}", ("again",)).passages(), replaces=0)
            generation = writer.commit()
            result = engine.search(Word(("again",)), EVERYONE)
            assert (result.count.hits, result.visible) == (number + 1, number + 1)
            assert result.generation == generation


def test_rollback_forgets_and_the_writer_goes_on(index: Index) -> None:
    store(index, [document(2)])
    with index.writer() as writer:
        writer.put(document(1, "second").passages(), replaces=2)
        writer.remove("default", "d", claimed=2)
        writer.rollback()
        writer.put(Document("new", ("first new",)).passages(), replaces=0)
        writer.commit()
    with index.engine() as engine:
        assert texts(engine, "first") == ["first part0", "first part1", "first new"]
        assert texts(engine, "second") == []


def test_closing_without_commit_forgets(index: Index) -> None:
    store(index, [document(1)])
    with index.writer() as writer:
        writer.put(document(1, "second").passages(), replaces=1)
    with index.engine() as engine:
        assert texts(engine, "first") == ["first part0"]
        assert texts(engine, "second") == []


def test_close_twice(index: Index) -> None:
    store(index, [document(1)])
    with index.writer() as writer:
        writer.close()
        writer.close()
    with index.writer() as again:
        again.put(document(2, "second").passages(), replaces=1)
        again.commit()
    with index.engine() as engine:
        assert texts(engine, "second") == ["second part0", "second part1"]


def test_the_generation_changes_with_what_is_searchable(index: Index) -> None:
    seen: list[str] = []
    with index.writer() as writer:
        writer.put(document(2).passages(), replaces=0)
        seen.append(writer.commit())
        writer.put(document(2, "second").passages(), replaces=2)
        seen.append(writer.commit())
        writer.put(replace(document(2, "second"), access=("red",)).passages(), replaces=2)
        seen.append(writer.commit())
        writer.remove("default", "d", claimed=2)
        seen.append(writer.commit())
        assert len(set(seen)) == len(seen)
    with index.engine() as engine:
        tree = Word(("second",))
        assert engine.search(tree, EVERYONE).generation == seen[-1]
        assert engine.count([tree], EVERYONE).generation == seen[-1]
        assert engine.stats(EVERYONE).generation == seen[-1]


def test_a_generation_stays_while_nothing_changes(index: Index) -> None:
    store(index, [document(2)])
    with index.engine() as one, index.engine() as other:
        tree = Word(("first",))
        generations = {
            engine.search(tree, EVERYONE).generation for engine in (one, other) for _ in range(3)
        }
        assert len(generations) == 1


def test_searches_beside_a_writer_see_one_commit_each(index: Index) -> None:
    """Every answer belongs to one generation, whatever is committed meanwhile."""
    commits = 12
    store(index, [])
    by_generation: dict[str, set[int]] = {}
    done = threading.Event()

    def search(engine: SearchEngine) -> int:
        searches = 0
        while not done.is_set() or searches == 0:
            result = engine.search(Word(("again",)), EVERYONE, limit=1000, documents=True)
            assert result.count.hits == result.visible == result.documents == len(result.hits)
            counted = engine.count([Word(("again",)), Word(("absent",))], EVERYONE)
            assert (counted.counts[0].hits, counted.counts[1].hits) == (counted.visible, 0)
            for generation, visible in (
                (result.generation, result.visible),
                (counted.generation, counted.visible),
            ):
                by_generation.setdefault(generation, set()).add(visible)
            searches += 1
        return searches

    with index.engine() as engine, index.writer() as writer, ThreadPoolExecutor(4) as pool:
        running = [pool.submit(search, engine) for _ in range(4)]
        try:
            for number in range(commits):
                for part in range(5):
                    writer.put(Document(f"d{number}-{part}", ("again",)).passages(), replaces=0)
                writer.commit()
        finally:
            done.set()
        assert all(each.result() > 0 for each in running)
        assert engine.search(Word(("again",)), EVERYONE).count.hits == commits * 5
    assert all(len(seen) == 1 for seen in by_generation.values())
    assert all(visible % 5 == 0 for seen in by_generation.values() for visible in seen)


@pytest.mark.parametrize(
    "passages",
    [
        [],
        [*document(1).passages(), *Document("other", ("x",)).passages()],
        document(2).passages()[1:],
        document(2).passages()[::-1],
        [*document(1).passages(), *replace(document(2), tenant="theirs").passages()[1:]],
    ],
    ids=["none", "two documents", "not from 0", "reversed", "two tenants"],
)
def test_put_takes_one_documents_passages(index: Index, passages: list[Passage]) -> None:
    with index.writer() as writer:
        with pytest.raises(ValueError, match="put"):
            writer.put(passages, replaces=0)
        writer.commit()
    with index.engine() as engine:
        assert sizes(engine.stats(EVERYONE)) == (0, 0)


def test_every_field_of_a_passage_comes_back(index: Index) -> None:
    stored = [
        Document("plain", ("one\n\n  two\ttabs ", "\r\nthree\u2028four"), "  Title \n"),
        Document("access", ("five e\u0301 \u00ad soft",), "", access=("a", "b c")),
        Document("nobody", ("six",), "Six", access=()),
    ]
    visible = [passage for each in stored[:2] for passage in each.passages()]
    everyone = replace(EVERYONE, groups=frozenset({"a"}))
    with serving(index, stored) as engine:
        assert list(engine.read([each.id for each in visible], everyone)) == visible
        found = engine.search(Word(("two",)), everyone).hits
        assert [hit.passage for hit in found] == visible[:1]


class TestReading:
    """`read`: which passages, in which order."""

    @pytest.fixture
    def ids(self) -> list[str]:
        return [passage.id for passage in document(9).passages()]

    @pytest.mark.parametrize(
        ("asked", "neighbours", "expected"),
        [
            ([4], 0, [4]),
            ([7, 2], 0, [7, 2]),
            ([4, 4, 4], 0, [4]),
            ([4], 1, [3, 4, 5]),
            ([0], 2, [0, 1, 2]),
            ([8], 5, [3, 4, 5, 6, 7, 8]),
            ([6, 1], 1, [5, 6, 7, 0, 1, 2]),
            ([4, 5], 1, [3, 4, 5, 6]),
            ([], 3, []),
        ],
    )
    def test_order(
        self,
        index: Index,
        ids: list[str],
        asked: list[int],
        neighbours: int,
        expected: list[int],
    ) -> None:
        with serving(index, [document(9), *titled(other="first part4")]) as engine:
            read = engine.read([ids[at] for at in asked], EVERYONE, neighbours=neighbours)
            assert [passage.number for passage in read] == expected
            assert {passage.document_id for passage in read} <= {"d"}

    @pytest.mark.parametrize(
        "unknown", ["", "x", "a" * 24, "ü", '"', "a b", "\x00", "x" * 100_000, "\ud800"]
    )
    def test_unknown_ids_are_left_out(self, index: Index, ids: list[str], unknown: str) -> None:
        with serving(index, [document(9)]) as engine:
            read = engine.read([unknown, ids[1], unknown], EVERYONE)
            assert [passage.number for passage in read] == [1]
