"""Kept expressions: both stores alike, the key, which searches are kept, and damaged files."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Reply, Search
from logicalrag.agent.expressions import (
    ExpressionStore,
    MemoryExpressions,
    expression_key,
    searches_that_answered,
)
from logicalrag.agent.session import start
from logicalrag.agent.sqlite_expressions import (
    APPLICATION_ID,
    MAX_ENTRY_BYTES,
    SqliteExpressions,
)
from logicalrag.agent.state import SessionState
from logicalrag.engines.protocol import Visibility
from tests.unit.sessions import cite, session

SEARCHES = (
    Search("ottone AND title:villa^2", "AND", 3, "the place", ("year>=1700", "kind=a"), "-year"),
    Search('"17 May" \ud800', evidence_needed="«the» date"),
)


def _never(sentence: str) -> None:
    raise AssertionError(sentence)


# --- stores -------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "sqlite"])
def new_store(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[int], ExpressionStore]]:
    """Return what makes a store that keeps so many questions."""
    opened: list[SqliteExpressions] = []

    def make(questions: int) -> ExpressionStore:
        if request.param == "memory":
            return MemoryExpressions(questions)
        opened.append(SqliteExpressions(tmp_path / "e.sqlite", _never, questions=questions))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


def test_what_was_put_last_is_what_is_kept(new_store: Callable[[int], ExpressionStore]) -> None:
    store = new_store(10)
    assert store.get("a") == ()
    store.put("a", SEARCHES[:1])
    store.put("b", SEARCHES)
    store.put("a", SEARCHES[1:])
    assert (store.get("a"), store.get("b"), store.get("c")) == (SEARCHES[1:], SEARCHES, ())


def test_the_longest_unused_is_forgotten_first(
    new_store: Callable[[int], ExpressionStore],
) -> None:
    store = new_store(3)
    for key in "abc":
        store.put(key, SEARCHES)
    assert store.get("a") == SEARCHES  # now b is the longest unused
    store.put("d", SEARCHES)
    store.put("c", SEARCHES)
    store.put("e", SEARCHES)
    assert [key for key in "abcde" if store.get(key)] == ["c", "d", "e"]


def test_threads_share_a_store(new_store: Callable[[int], ExpressionStore]) -> None:
    store = new_store(50)
    wrong: list[str] = []

    def work(name: str) -> None:
        for number in range(10):
            key = f"{name}{number}"
            kept = (Search(key),)
            store.put(key, kept)
            if store.get(key) != kept:
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- the file -----------------------------------------------------------------------------------


def test_a_file_is_kept_and_shared(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    with SqliteExpressions(path, _never) as first, SqliteExpressions(path, _never) as second:
        first.put("a", SEARCHES)
        assert second.get("a") == SEARCHES
    with SqliteExpressions(path, _never) as third:
        assert third.get("a") == SEARCHES


def _entry(text: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        SqliteExpressions(path, _never).close()
        with sqlite3.connect(path) as database:
            database.execute("INSERT INTO questions VALUES ('a', 1, ?)", (text,))
        database.close()

    return damage


def _foreign(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE questions (x)")
    database.close()


def _newer(path: Path) -> None:
    SqliteExpressions(path, _never).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()


def _stamped_only(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute("PRAGMA user_version = 1")
    database.close()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: path.write_bytes(b"no database at all" * 100), "file is not a database"),
        (lambda path: path.mkdir(), "unable to open database file"),
        (_entry('[{"expression": 3}]'), "an entry is damaged"),
        (_entry('[{"expression": "a"}'), "an entry is damaged"),
        (_entry("[" * 100_000), "an entry is damaged"),
        (_foreign, "it was written by another program or version"),
        (_newer, "it was written by another program or version"),
        (_stamped_only, "no such table: questions"),
    ],
)
def test_a_damaged_file_gives_one_warning_and_nothing_else(
    damage: Callable[[Path], object], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "e.sqlite"
    damage(path)
    warnings: list[str] = []
    with SqliteExpressions(path, warnings.append) as store:
        for _ in range(2):
            assert store.get("a") == ()
            store.put("a", SEARCHES)
        assert store.get("a") == ()
    assert warnings == [
        f"The expression cache {path} is not used ({problem}); make the file writable, "
        "delete it to get a new one, or switch the setting expression_cache off."
    ]


def test_a_file_damaged_while_open_fails_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    warnings: list[str] = []
    with SqliteExpressions(path, warnings.append) as store:
        store.put("a", SEARCHES)
        with sqlite3.connect(path) as database:
            database.execute("DROP TABLE questions")
        database.close()
        store.put("b", SEARCHES)
        assert store.get("a") == ()
    assert len(warnings) == 1


def test_a_file_that_another_process_holds_fails_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    warnings: list[str] = []
    with SqliteExpressions(path, warnings.append, busy_seconds=0) as store:
        other = sqlite3.connect(path)
        other.execute("BEGIN EXCLUSIVE")
        assert store.get("a") == ()
        store.put("a", SEARCHES)
        other.close()
    assert len(warnings) == 1
    assert "(database is locked)" in warnings[0]


def test_an_entry_over_the_bound_is_not_kept(tmp_path: Path) -> None:
    with SqliteExpressions(tmp_path / "e.sqlite", _never) as store:
        store.put("a", (Search("x", evidence_needed="y" * MAX_ENTRY_BYTES),))
        assert store.get("a") == ()


# --- key ----------------------------------------------------------------------------------------


def _state(question: str = "Who wrote it?", **visibility: object) -> SessionState:
    return SessionState("id", question, "p", Visibility(**visibility))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question", ["who  wrote it", " Who\twrote\u3000it ?!", "WHO WROTE IT…", "who wrote it."]
)
def test_the_same_question_has_one_key(question: str) -> None:
    assert expression_key(_state(question), "p", "1") == expression_key(_state(), "p", "1")


def test_accents_are_compared_in_one_form() -> None:
    composed, decomposed = _state("caf\u00e9"), _state("CAFE\u0301")
    assert expression_key(composed, "p", "1") == expression_key(decomposed, "p", "1")


def test_whatever_decides_what_may_be_seen_or_asked_is_in_the_key() -> None:
    keys = [
        expression_key(_state(), "p", "1"),
        expression_key(_state(), "q", "1"),
        expression_key(_state(), "p", "2"),
        expression_key(_state("Who wrote C++?"), "p", "1"),
        expression_key(_state("Who wrote C?"), "p", "1"),
        expression_key(_state("\ud800"), "p", "1"),
        expression_key(_state(tenant="t"), "p", "1"),
        expression_key(_state(groups=frozenset({"a"})), "p", "1"),
        expression_key(_state(groups=frozenset({"a", "b"})), "p", "1"),
        expression_key(_state(groups=frozenset({"a,b"})), "p", "1"),
        expression_key(_state(hidden_documents=frozenset({"a"})), "p", "1"),
        expression_key(replace(_state(), fields={"year": "number"}), "p", "1"),
        expression_key(replace(_state(), fields={"year": "date"}), "p", "1"),
        expression_key(replace(_state(), filters=("year>1",)), "p", "1"),
        expression_key(replace(_state(), sort="year"), "p", "1"),
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 40 for key in keys)


@given(st.frozensets(st.text(max_size=3)), st.frozensets(st.text(max_size=3)))
def test_groups_and_hidden_documents_are_sets(a: frozenset[str], b: frozenset[str]) -> None:
    def key(groups: frozenset[str], hidden: frozenset[str]) -> str:
        return expression_key(_state(groups=groups, hidden_documents=hidden), "p", "1")

    assert (key(a, b) == key(b, a)) == (a == b)
    assert key(a, b) == key(frozenset(sorted(a, reverse=True)), frozenset(sorted(b)))


# --- which searches -----------------------------------------------------------------------------


def test_the_searches_that_showed_what_is_cited_are_kept_in_order() -> None:
    ended = session(
        [
            Search("nowhere", evidence_needed="the place"),
            Search("villa", max_results=3),
            Count(("handel",), evidence_needed="the composers"),
            Search("alcina"),  # shown, not cited
            Search("ottone"),  # its passage was shown before
            Read((cite("alcina"),)),
            Search("orlando", "AND"),
            Answer("In Vicenza and Venice.", (cite("orlando"), cite("ottone"))),
        ]
    )
    assert searches_that_answered(ended) == (
        Search("villa", "OR", 3, "the place"),
        Search("orlando", "AND", 5, "the composers"),
    )


def test_without_an_answer_nothing_is_kept() -> None:
    abstained = session([Search("villa", evidence_needed="x"), Abstain("no")])
    assert searches_that_answered(abstained) == ()
    running = start("q", _Named())
    assert searches_that_answered(running) == ()


class _Named:
    name = "p"

    def propose(self, state: SessionState) -> Reply:  # pragma: no cover
        raise AssertionError(state)
