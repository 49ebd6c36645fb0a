"""The embedded index in one process: order, visibility, tenants, threads, damage, words."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from logicalrag.engines.embedded.admission import Admission
from logicalrag.engines.embedded.engine import MAX_LEVELS, EmbeddedEngine
from logicalrag.engines.embedded.folder import DESCRIPTOR, commit_stamp, tenant_folder
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import Visibility
from logicalrag.query.nodes import And, Boosted, Node, Not, Or, Phrase, Word
from tests.integration.embedded_documents import EVERYONE, GUARD_SECONDS, document, store, texts


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedEngine:
    """Return an engine over a thousand passages of four texts, in several segments."""
    path = tmp_path_factory.mktemp("ties")
    with EmbeddedWriter(path) as writer:
        for number in range(600):
            kind = ("same", "same same", "same other")[number % 50 and min(number % 7, 2)]
            writer.put(document(f"d{number}", kind), replaces=0)
            if number % 100 == 99:
                writer.commit()
        # Ids that agree in their first 16 digits, which the index orders by.
        for number in range(400):
            (passage,) = document(f"x{number}", "alike")
            shared = f"{'7' * 16}{(number * 37) % 400:08}"
            writer.put([passage._replace(id=shared)], replaces=0)
        writer.commit()
    return EmbeddedEngine(path)


def test_a_commit_while_the_reader_reloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generations: list[str] = []
    with EmbeddedWriter(tmp_path) as writer, EmbeddedEngine(tmp_path) as engine:

        def commit() -> None:
            number = len(generations)
            writer.put(document(f"d{number}", "common"), replaces=0)
            generations.append(writer.commit())

        def commit_then_read(folder: Path) -> int:
            if len(generations) < 3:  # between the reader's searcher and its name
                commit()
            return commit_stamp(folder)

        commit()
        monkeypatch.setattr("logicalrag.engines.embedded.reader.commit_stamp", commit_then_read)
        result = engine.search(Word(("common",)), EVERYONE)
        assert (result.count.hits, result.generation) == (3, generations[2])


class TestOrder:
    """Exactly by (−score, passage id), at any cut."""

    @pytest.mark.parametrize(
        "tree",
        [
            Word(("same",)),
            Word(("same",), boost="0"),
            Not(Word(("nowhere",))),
            Not(Word(("other",))),
            Or((Word(("other",)), Not(Word(("same",))))),
            Word(("alike",)),
            Boosted(Or((Word(("same",)), Word(("alike",)))), "0"),
        ],
        ids=repr,
    )
    def test_every_cut(self, tied: EmbeddedEngine, tree: Node) -> None:
        whole = tied.search(tree, EVERYONE, limit=1000).hits
        assert len(whole) == tied.count([tree], EVERYONE).counts[0].hits
        order = [(-hit.score, hit.passage.id) for hit in whole]
        assert order == sorted(order)
        assert len({hit.passage.id for hit in whole}) == len(whole)
        for limit in (1, 2, 5, 11, 99, 250, 399, 599):
            assert tied.search(tree, EVERYONE, limit=limit).hits == whole[:limit]


class TestReading:
    """Passages by id, where ids agree in what the index looks them up by."""

    def test_only_those_asked_for(self, tied: EmbeddedEngine) -> None:
        alike = [f"{'7' * 16}{number:08}" for number in (399, 0, 17)]
        read = tied.read([*alike, "7" * 24, "7" * 16], EVERYONE)
        assert [passage.id for passage in read] == alike
        assert tied.read(["7" * 24], EVERYONE, neighbours=5) == ()

    def test_beside_hidden_ones(self, tied: EmbeddedEngine) -> None:
        (passage,) = tied.read([f"{'7' * 16}{17:08}"], EVERYONE)
        caller = Visibility(hidden_documents=frozenset({passage.document_id}))
        assert tied.read([passage.id], caller) == ()


@pytest.mark.parametrize("rare", [1, 5, 30])
def test_documents_that_hold_a_rare_and_a_common_word(tmp_path: Path, rare: int) -> None:
    """Few documents are looked up among the hits of the common word; many are not."""
    # The smallest keys: the first begin with a zero.
    names = sorted((f"d{at}" for at in range(200)), key=lambda name: document_key("default", name))
    documents = [
        document(name, "common other", "rare" if at < rare else "x")
        for at, name in enumerate(names)
    ]
    store(tmp_path, *documents, document("only rare", "rare"))
    with EmbeddedEngine(tmp_path) as engine:
        words: list[Node] = [Word(("rare",)), Word(("common",)), Word(("other",))]
        assert engine.documents_holding(words, EVERYONE) == rare
        assert engine.documents_holding(words[::-1], EVERYONE) == rare
        hidden = Visibility(hidden_documents=frozenset({names[0]}))
        assert engine.documents_holding(words, hidden) == rare - 1


class TestAccess:
    """Access lists, and what must not be concluded from them."""

    def test_sixty_four_groups(self, tmp_path: Path) -> None:
        names = [f"group {number}" for number in range(64)]
        store(
            tmp_path,
            document("all", "common all", access=tuple(names)),
            document("last", "common last", access=("group 63",)),
            document("other", "common other", access=("group 64",)),
            document("star", "common star", access=("*",)),
            document("open", "common open"),
        )
        with EmbeddedEngine(tmp_path) as engine:
            caller = Visibility(groups=frozenset(names))
            assert texts(engine, "common", caller) == {"common all", "common last", "common open"}
            assert engine.search(Not(Word(("open",))), caller).count.fraction == 2 / 3
            assert texts(engine, "common", Visibility(groups=frozenset({"*"}))) == {
                "common star",
                "common open",
            }

    def test_removed_passages_do_not_open_others(self, tmp_path: Path) -> None:
        # The dead postings of open passages must not stand in for closed ones.
        store(tmp_path, *[document(f"d{number}", "common") for number in range(40)])
        with EmbeddedWriter(tmp_path) as writer, EmbeddedEngine(tmp_path) as engine:
            for number in range(25):
                access = ("closed",) if number < 10 else None
                writer.put(document(f"d{number}", "common", access=access), replaces=1)
            writer.commit()
            result = engine.search(Word(("common",)), EVERYONE, limit=100)
            assert (result.count.hits, result.visible, len(result.hits)) == (30, 30, 30)
            assert {hit.passage.access for hit in result.hits} == {None}


class TestTenants:
    """Each tenant is an index of its own, written through one writer."""

    def test_interleaved_changes_in_one_commit(self, tmp_path: Path) -> None:
        tenants = [Visibility(tenant=name) for name in ("a", "b", "c")]
        with EmbeddedWriter(tmp_path) as writer, EmbeddedEngine(tmp_path) as engine:
            for number in range(6):
                for caller in tenants:
                    text = f"common {caller.tenant} {number}"
                    writer.put(document(f"d{number}", text, tenant=caller.tenant), replaces=0)
            writer.remove("b", "d0", claimed=1)
            writer.put(document("d1", "common b changed", tenant="b"), replaces=1)
            assert all(engine.stats(caller).passages == 0 for caller in tenants)
            generations = writer.commit().split("+")
            assert generations == [engine.stats(caller).generation for caller in tenants]
            assert texts(engine, "common", tenants[0]) == {f"common a {n}" for n in range(6)}
            assert texts(engine, "common", tenants[1]) == {
                "common b changed",
                *(f"common b {n}" for n in range(2, 6)),
            }
            assert engine.stats(EVERYONE).passages == 0

    def test_rollback_forgets_every_tenant(self, tmp_path: Path) -> None:
        with EmbeddedWriter(tmp_path) as writer, EmbeddedEngine(tmp_path) as engine:
            for tenant in ("a", "b"):
                writer.put(document("d", "common", tenant=tenant), replaces=0)
            writer.rollback()
            writer.commit()
            assert [engine.stats(Visibility(tenant=name)).passages for name in "ab"] == [0, 0]

    def test_scores_do_not_know_other_tenants(self, tmp_path: Path) -> None:
        mine = document("d", "common rare")
        store(tmp_path / "alone", mine)
        store(tmp_path / "beside", mine, *[document(f"o{n}", "rare", tenant="o") for n in range(9)])
        tree = Or((Word(("common",)), Word(("rare",))))
        with EmbeddedEngine(tmp_path / "alone") as alone:
            expected = alone.search(tree, EVERYONE).hits
        with EmbeddedEngine(tmp_path / "beside") as beside:
            assert beside.search(tree, EVERYONE).hits == expected


class TestThreads:
    """Many threads, one engine."""

    def test_sixteen_threads_beside_a_writer(self, tmp_path: Path) -> None:
        store(tmp_path, *[document(f"d{number}", "common old") for number in range(50)])
        trees: list[Node] = [Word(("common",)), Word(("old",)), Word(("new",))]
        stop = threading.Event()

        def ask(engine: EmbeddedEngine) -> int:
            asked = 0
            while not stop.is_set() or not asked:
                counted = engine.count(trees, EVERYONE)
                common, old, new = (count.hits for count in counted.counts)
                assert common == counted.visible == old + new == 50
                found = engine.search(trees[2], EVERYONE, limit=100)
                assert len(found.hits) == found.count.hits >= new
                asked += 1
            return asked

        with EmbeddedEngine(tmp_path) as engine, ThreadPoolExecutor(16) as pool:
            asking = [pool.submit(ask, engine) for _ in range(16)]
            try:
                with EmbeddedWriter(tmp_path) as writer:
                    for number in range(0, 50, 5):
                        for each in range(number, number + 5):
                            writer.put(document(f"d{each}", "common new"), replaces=1)
                        writer.commit()
            finally:
                stop.set()
            assert all(each.result(GUARD_SECONDS) > 0 for each in asking)
            assert engine.count(trees, EVERYONE).counts[2].hits == 50

    @pytest.mark.parametrize("stack_kilobytes", [128, 256, 8192])
    def test_the_deepest_trees_in_a_thread_with_a_small_stack(
        self, tmp_path: Path, stack_kilobytes: int
    ) -> None:
        held = ("a b c", "b c", "a c", "a", "b", "c", "a b") * 20
        store(tmp_path, *[document(f"d{at}", text) for at, text in enumerate(held)])
        deep: Node = Phrase(("a", "b"))
        for level in range(23):
            word = Word((("a", "b", "c")[level % 3],), boost="2")
            kinds: tuple[Node, ...] = (
                Not(deep),
                And((word, deep)),
                Or((word, deep)),
                Boosted(deep, "3"),
            )
            deep = kinds[level % 4]
        wide = Or((*(Word((f"w{number}",)) for number in range(511)), Word(("c",))))
        found: list[tuple[int, int]] = []

        def ask() -> None:
            with EmbeddedEngine(tmp_path) as engine:
                counts = engine.count([deep, Not(deep), wide], EVERYONE).counts
                found.append((counts[0].hits + counts[1].hits, counts[2].hits))
                engine.search(deep, EVERYONE, clause_counts=True)
                engine.documents_holding([deep, wide], EVERYONE)

        usual = threading.stack_size(stack_kilobytes * 1024)
        try:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join(GUARD_SECONDS)
            assert threading.stack_size() == stack_kilobytes * 1024
        finally:
            threading.stack_size(usual)
        assert found == [(140, 80)]

    def test_what_no_engine_can_execute_is_refused(self, tmp_path: Path) -> None:
        store(tmp_path, document("d", "a b"))
        tree: Node = Word(("a",))
        for _ in range(MAX_LEVELS):
            tree = Not(tree)
        with EmbeddedEngine(tmp_path) as engine:
            with pytest.raises(ValueError, match="at most 100 levels, not 101"):
                engine.search(tree, EVERYONE)
            with pytest.raises(ValueError, match="limit must be 0 to 1000, not 1001"):
                engine.search(Word(("a",)), EVERYONE, limit=1001)
            with pytest.raises(ValueError, match="at most 32 trees, not 33"):
                engine.count([Word(("a",))] * 33, EVERYONE)
            with pytest.raises(ValueError, match="1 to 32 trees, not 0"):
                engine.documents_holding([], EVERYONE)
            with pytest.raises(ValueError, match="neighbours must be 0 to 5, not 6"):
                engine.read(["x"], EVERYONE, neighbours=6)

    @pytest.mark.parametrize("places", [1, 3])
    def test_places_are_given_in_the_order_of_asking(self, places: int) -> None:
        admission = Admission(places)
        entered: list[int] = []
        threads: list[threading.Thread] = []

        def enter(number: int) -> None:
            with admission:
                entered.append(number)

        with ExitStack() as held:
            for _ in range(places):
                held.enter_context(admission)
            for number in range(8):
                thread = threading.Thread(target=enter, args=(number,))
                thread.start()
                threads.append(thread)
                wait_until(lambda: len(admission._waiting) == len(threads))
            assert entered == []
        for thread in threads:
            thread.join(GUARD_SECONDS)
        assert sorted(entered) == list(range(8))
        if places == 1:
            assert entered == list(range(8))
        with ExitStack() as free:  # every place is free again
            for _ in range(places):
                free.enter_context(admission)


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for a condition of another thread."""
    tick = threading.Event()
    for _ in range(GUARD_SECONDS * 1000):
        if holds():
            return
        tick.wait(0.001)
    pytest.fail("the condition never held")


class TestFolder:
    """What is no index, or a damaged one, is an error: never zero hits."""

    def test_no_index_says_how_to_make_one(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "absent"):
            with pytest.raises(EngineError, match=r"there is no index in .*`logicalrag ingest`"):
                EmbeddedEngine(path)

    def test_another_format(self, tmp_path: Path) -> None:
        (tmp_path / DESCRIPTOR).write_text(json.dumps({"format": 99, "identity": "x"}))
        with pytest.raises(EngineError, match="has format 99 and this version reads format 2"):
            EmbeddedEngine(tmp_path)

    def test_a_folder_removed_under_an_engine(self, tmp_path: Path) -> None:
        path = tmp_path / "index"
        store(path, document("d", "common"))
        with EmbeddedEngine(path) as engine:
            assert texts(engine, "common") == {"common"}
            shutil.rmtree(path)
            with pytest.raises(EngineError, match="there is no index"):
                engine.search(Word(("common",)), EVERYONE)

    def test_a_rebuilt_index_is_followed_and_has_another_generation(self, tmp_path: Path) -> None:
        path, other = tmp_path / "index", tmp_path / "other"
        first = store(path, document("d", "common old"))
        second = store(other, document("d", "common new"))
        with EmbeddedEngine(path) as engine:
            assert texts(engine, "common") == {"common old"}
            path.rename(tmp_path / "before")
            other.rename(path)
            assert texts(engine, "common") == {"common new"}
            assert engine.stats(EVERYONE).generation == second
        assert first != second

    @pytest.mark.parametrize("suffix", [".json", ".term", ".idx", ".store", ".fast"])
    @pytest.mark.parametrize("damage", ["empty", "cut", "absent"])
    def test_a_damaged_file_is_an_error(self, tmp_path: Path, suffix: str, damage: str) -> None:
        store(tmp_path, *[document(f"d{number}", f"common w{number}") for number in range(50)])
        damaged = [
            file
            for file in tenant_folder(tmp_path, "default").iterdir()
            if file.suffix == suffix and not file.name.startswith(".")
        ]
        assert damaged
        for file in damaged:
            content = file.read_bytes()
            if damage == "absent" and suffix != ".json":
                file.unlink()
            else:
                file.write_bytes(b"" if damage == "empty" else content[: len(content) // 2])
        with EmbeddedEngine(tmp_path) as engine, pytest.raises(EngineError):
            engine.search(Word(("common",)), EVERYONE)


class TestWriting:
    """What a writer refuses, and what it leaves untouched then."""

    def test_a_passage_that_cannot_be_stored_changes_nothing(self, tmp_path: Path) -> None:
        with EmbeddedWriter(tmp_path) as writer, EmbeddedEngine(tmp_path) as engine:
            writer.put(document("d", "common one", "common two"), replaces=0)
            writer.commit()
            with pytest.raises(ValueError, match="passage 1 of document 'd'"):
                writer.put(document("d", "common new", "bad \ud800"), replaces=2)
            writer.commit()
            assert texts(engine, "common") == {"common one", "common two"}

    def test_passages_must_be_one_document(self, tmp_path: Path) -> None:
        one, other = document("one", "a", "b"), document("other", "c", "d")
        with EmbeddedWriter(tmp_path) as writer:
            for passages in ([*one, *other], one[1:], [one[0], other[1]], [one[0], one[0]]):
                with pytest.raises(ValueError, match="one document's passages numbered from 0"):
                    writer.put(passages, replaces=0)
            with pytest.raises(ValueError, match="at least one passage"):
                writer.put([], replaces=0)

    def test_sizes(self, tmp_path: Path) -> None:
        store(tmp_path, document("a", "x", "y"), document("b", "z"))
        with EmbeddedEngine(tmp_path) as engine:
            stats = engine.stats(EVERYONE)
            assert (stats.passages, stats.documents) == (3, 2)
            folder = tenant_folder(tmp_path, "default")
            assert stats.size_bytes == sum(file.stat().st_size for file in folder.iterdir())
            assert engine.stats(Visibility(tenant="never seen")).size_bytes == 0


class TestNearestWords:
    """Suggestions, counted only as far as they must be."""

    def test_order_and_limits(self, tmp_path: Path) -> None:
        words = ["abcd"] * 3 + ["abce"] * 5 + ["abcf"] * 5 + ["abxy"] * 9 + ["abc"] + ["zzzz"]
        store(tmp_path, *[document(f"d{at}", word) for at, word in enumerate(words)])
        with EmbeddedEngine(tmp_path) as engine:
            near = engine.nearest_words("abcz", EVERYONE, limit=10)
            # 1 letter of 4: three words by hits and name, then 1 of 4 missing, then 2 of 4.
            assert [(word.word, word.hits) for word in near] == [
                ("abce", 5),
                ("abcf", 5),
                ("abcd", 3),
                ("abc", 1),
                ("abxy", 9),
            ]
            for limit in range(6):
                assert engine.nearest_words("abcz", EVERYONE, limit=limit) == near[:limit]
            assert engine.nearest_words("abcz", EVERYONE, field="title") == ()
            assert all(word.word != "abcd" for word in engine.nearest_words("abcd", EVERYONE))

    def test_hidden_passages_do_not_rank_a_word(self, tmp_path: Path) -> None:
        hidden = [document(f"h{at}", "abcz") for at in range(5)]
        store(tmp_path, *hidden, document("z", "abcz"), document("a", "abca"))
        caller = Visibility(hidden_documents=frozenset(f"h{at}" for at in range(5)))
        with EmbeddedEngine(tmp_path) as engine:
            for seen, words in ((EVERYONE, ["abcz", "abca"]), (caller, ["abca", "abcz"])):
                for limit in (1, 2):
                    near = engine.nearest_words("abcd", seen, limit=limit)
                    assert [word.word for word in near] == words[:limit]

    def test_hidden_words_are_not_told_and_take_no_place(self, tmp_path: Path) -> None:
        hidden = [document(f"h{at}", f"secre{letter}") for at, letter in enumerate("abcdefg")]
        closed = [document(f"c{at}", f"secre{at}", access=("x",)) for at in range(7)]
        store(tmp_path, *hidden, *closed, document("d", "secrez"))
        caller = Visibility(hidden_documents=frozenset(f"h{at}" for at in range(7)))
        with EmbeddedEngine(tmp_path) as engine:
            near = engine.nearest_words("secret", caller, limit=2)
            assert [(word.word, word.hits) for word in near] == [("secrez", 1)]
