"""Ledger and index agree again after either, or both, were set back to older copies."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.deletion import Deletion, delete
from ingest.ledger import Claim
from ingest.pipeline import ingest
from ingest.reconcile import Difference, ReconcileReport, reconcile
from ingest.sqlite_ledger import SqliteLedger
from ingest.versions import PutDecision, decide_put
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import document_key
from logicalrag.engines.inventory import Holding, Inventory
from logicalrag.engines.protocol import IndexWriter, Passage, Refusal
from tests.unit.ingest_jobs import NAMES, SMALL, document


class Shelf:
    """An index that keeps versions as external ones are kept; every write counts at once."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[int, tuple[int, Passage]]] = {}
        self.deleted: dict[tuple[str, int], int] = {}
        self.writes = 0
        self.refuses: tuple[Refusal, ...] = ()

    def copy(self) -> dict[str, dict[int, tuple[int, Passage]]]:
        return {key: dict(held) for key, held in self.stored.items()}

    def put(self, passages: Sequence[Passage], *, replaces: int, version: int = 0) -> None:
        first = passages[0]
        key = document_key(first.tenant, first.document_id)
        held = self.stored.setdefault(key, {})
        for each in passages:
            if version >= self._version(key, each.number):
                held[each.number] = version, each
        self._remove(key, range(len(passages), replaces), version)

    def remove(self, tenant: str, document_id: str, *, claimed: int, version: int = 0) -> None:
        self._remove(document_key(tenant, document_id), range(claimed), version)

    def commit(self) -> str:
        self.writes += 1
        return ""

    def refused(self) -> tuple[Refusal, ...]:
        return self.refuses

    def rollback(self) -> None:
        self.writes += 1

    def close(self) -> None:
        pass

    def documents(self) -> Iterator[Holding]:
        yield from self.held(list(self.stored)).values()

    def held(self, keys: Sequence[str]) -> dict[str, Holding]:
        found: dict[str, Holding] = {}
        for key in keys:
            if held := self.stored.get(key):
                _, passage = next(iter(held.values()))
                versions = {number: version for number, (version, _) in sorted(held.items())}
                found[key] = Holding(key, passage.tenant, passage.document_id, versions)
        return found

    def passages(self, key: str) -> tuple[Passage, ...]:
        return tuple(passage for _, (_, passage) in sorted(self.stored[key].items()))

    def _version(self, key: str, number: int) -> int:
        held = self.stored.get(key, {}).get(number)
        return self.deleted.get((key, number), -1) if held is None else held[0]

    def _remove(self, key: str, numbers: range, version: int) -> None:
        for number in numbers:
            if version >= self._version(key, number):
                self.stored.get(key, {}).pop(number, None)
                self.deleted[key, number] = version


class Operation(NamedTuple):
    """A put of `sentences` sentences, or with none a deletion, at a version of its own."""

    name: str
    version: int
    sentences: int

    @property
    def text(self) -> str:
        """The text; of two operations never the same."""
        return "".join(f"Say {self.name} {each}x{self.version}. " for each in range(self.sentences))


def _carry_out(operations: Sequence[Operation], shelf: Shelf, ledger: SqliteLedger) -> None:
    for each in operations:
        if each.sentences:
            ingest([document(each.name, each.text, each.version)], shelf, ledger, SMALL)
        else:
            delete([Deletion(each.name, version=each.version)], shelf, ledger)


@st.composite
def _operations(draw: st.DrawFn) -> list[Operation]:
    names = draw(st.lists(st.sampled_from(NAMES), max_size=14))
    return [
        Operation(name, version, draw(st.integers(0, 4)))
        for version, name in enumerate(names, start=1)
    ]


def _texts(shelf: Shelf) -> dict[str, list[str]]:
    return {
        each.document_id: [passage.text for passage in shelf.passages(each.key)]
        for each in shelf.documents()
    }


@given(_operations(), st.integers(0, 14), st.integers(0, 14), st.booleans())
@settings(deadline=None, max_examples=60)
def test_after_any_restore_both_agree_and_what_is_sent_again_completes_them(
    operations: list[Operation], of_ledger: int, of_index: int, dry_first: bool
) -> None:
    alone = Shelf()
    with tempfile.TemporaryDirectory() as folder:
        path, older = Path(folder) / "ledger", Path(folder) / "older"
        with SqliteLedger(Path(folder) / "alone") as ledger:
            _carry_out(operations, alone, ledger)
        shelf, restored = Shelf(), Shelf()
        for done in range(len(operations) + 1):
            if done == min(of_ledger, len(operations)):
                with SqliteLedger(path):
                    pass
                shutil.copy(path, older)
            if done == min(of_index, len(operations)):
                restored.stored = shelf.copy()
            with SqliteLedger(path) as ledger:
                _carry_out(operations[done : done + 1], shelf, ledger)
        with SqliteLedger(older) as ledger:
            _reconcile_and_check(ledger, restored, dry_first)
            _carry_out(operations, restored, ledger)
            assert _texts(restored) == _texts(alone)
            assert list(ledger.pending()) == []
            assert reconcile(ledger, restored, restored).differences == ()


def _reconcile_and_check(ledger: SqliteLedger, shelf: Shelf, dry_first: bool) -> None:
    if dry_first:
        before = shelf.copy(), list(ledger.records()), shelf.writes
        dry = reconcile(ledger, shelf, shelf, dry_run=True)
        assert (shelf.stored, list(ledger.records()), shelf.writes) == before
        assert reconcile(ledger, shelf, shelf) == dry
    report = reconcile(ledger, shelf, shelf)
    if dry_first:
        assert report == ReconcileReport(documents=report.documents)
    held = {each.key: each for each in shelf.documents()}
    for record, _ in ledger.records():
        holding = held.pop(record.key, None)
        if record.state == "stored":
            assert holding is not None
            assert holding.versions == dict.fromkeys(range(record.passages), record.version)
        elif record.state == "deleted":
            assert holding is None
        elif holding is not None:
            assert holding.end <= record.claimed
    assert held == {}
    if not dry_first:
        assert ledger.counts("default").get("claimed", 0) == report.waiting


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    with SqliteLedger(tmp_path / "ledger") as opened:
        yield opened


def test_a_shelf_is_an_inventory_and_a_writer() -> None:
    assert isinstance(Shelf(), Inventory)
    assert isinstance(Shelf(), IndexWriter)


def test_an_index_without_versions_is_compared_by_numbers(ledger: SqliteLedger) -> None:
    shelf = Shelf()
    _carry_out([Operation("a", 3, 2), Operation("b", 1, 2), Operation("c", 1, 1)], shelf, ledger)
    real = shelf.held

    def unversioned(keys: Sequence[str]) -> dict[str, Holding]:
        return {
            key: each._replace(versions=dict.fromkeys(each.versions))
            for key, each in real(keys).items()
        }

    shelf.held = unversioned  # type: ignore[method-assign]
    assert reconcile(ledger, shelf, shelf).differences == ()
    del shelf.stored[document_key("default", "b")][1]
    kept = shelf.stored.pop(document_key("default", "c"))
    shelf.stored[document_key("default", "d")] = {
        number: (version, passage._replace(document_id="d"))
        for number, (version, passage) in kept.items()
    }
    report = reconcile(ledger, shelf, shelf)
    assert report == ReconcileReport(
        documents=3,
        unknown=1,
        index_older=2,
        waiting=2,
        differences=(
            Difference("index_older", "default", "b", True),
            Difference("index_older", "default", "c", True),
            Difference("unknown", "default", "d", False),
        ),
    )
    assert ledger.look_up([document_key("default", "d")]).popitem()[1].version == 1


def test_a_failed_document_that_the_index_holds_is_taken_over(
    ledger: SqliteLedger, tmp_path: Path
) -> None:
    shelf = Shelf()
    _carry_out([Operation("a", 4, 2)], shelf, ledger)
    with SqliteLedger(tmp_path / "older") as older:
        ingest([document("a", " ")], shelf, older, SMALL)
        assert older.counts("default") == {"failed": 1}
        report = reconcile(older, shelf, shelf)
        assert (report.ledger_older, report.waiting) == (1, 0)
        assert older.counts("default") == {"stored": 1}


def test_a_claim_that_is_open_learns_how_far_to_remove(ledger: SqliteLedger) -> None:
    shelf = Shelf()
    key = document_key("default", "a")
    ledger.claim([Claim(key, "a", "default", 1, b"", 0, 0, True, None)])
    _carry_out([Operation("b", 1, 3)], shelf, ledger)
    orphans = shelf.stored.pop(document_key("default", "b"))
    shelf.stored[key] = {number: (1, each) for number, (_, each) in orphans.items()}
    ledger.claim([Claim(key, "a", "default", 1, b"", 0, 0, True, ledger.look_up([key])[key])])
    assert reconcile(ledger, shelf, shelf).index_older == 2
    assert ledger.look_up([key])[key].claimed == 3
    delete([], shelf, ledger)
    assert shelf.held([key]) == {}
    assert ledger.counts("default") == {"deleted": 1, "claimed": 1}


def test_what_the_index_refuses_is_an_error(ledger: SqliteLedger) -> None:
    shelf = Shelf()
    _carry_out([Operation("a", 1, 3)], shelf, ledger)
    stored = shelf.copy()
    _carry_out([Operation("a", 2, 0)], shelf, ledger)
    shelf.stored = stored
    shelf.refuses = (Refusal("default", "a", "too long"),)
    with pytest.raises(EngineError, match="cannot hold document 'a'"):
        reconcile(ledger, shelf, shelf)


@pytest.mark.parametrize(
    ("version", "outcome", "becomes"),
    [(None, "changed", 5), (3, "outdated", 4), (4, "changed", 4), (5, "changed", 5)],
)
def test_an_unknown_content_is_always_a_change(
    ledger: SqliteLedger, version: int | None, outcome: str, becomes: int
) -> None:
    key = document_key("default", "a")
    claim = Claim(key, "a", "default", 4, b"", 2, 2, False, None)
    ledger.claim([claim])
    ledger.stored([claim])
    decision = decide_put(ledger.look_up([key])[key], version, b"content")
    assert decision == PutDecision(outcome, becomes)  # type: ignore[arg-type]
