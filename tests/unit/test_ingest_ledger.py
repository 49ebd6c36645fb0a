"""The ledger in a file: what other ledgers have not, from syncing to locks and foreign files."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path

import pytest

from ingest.ledger import Claim, Ledger, LedgerError, Record
from ingest.sqlite_ledger import APPLICATION_ID, SqliteLedger
from logicalrag.engines.identity import document_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def _claim(name: str, *, before: Record | None = None) -> Claim:
    return Claim(document_key("t", name), name, "t", 1, b"h", 2, 2, False, before)


def _record(ledger: Ledger, name: str) -> Record:
    key = document_key("t", name)
    return ledger.look_up([key])[key]


def test_a_failed_transaction_leaves_nothing(path: Path) -> None:
    def fail(name: str) -> None:
        if "before commit" in name:
            raise KeyboardInterrupt

    with SqliteLedger(path, checkpoint=fail) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.claim([_claim("a")])
        assert ledger.is_empty()


def test_commits_are_synced_to_the_disk(path: Path) -> None:
    SqliteLedger(path).close()
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    database.close()
    with SqliteLedger(path) as ledger:
        assert ledger._database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_nothing_is_left_open_so_that_nobody_looks_for_it_at_every_record(path: Path) -> None:
    with SqliteLedger(path) as killed:
        killed.claim([_claim("a")])
    with SqliteLedger(path) as ledger:
        again = _claim("a", before=_record(ledger, "a"))
        assert ledger.claim([again]) == frozenset()
        ledger.stored([again])
        assert ledger._database.execute("SELECT count(*) FROM open_claims").fetchone() == (0,)


def test_another_schema_and_another_database_are_refused(path: Path, tmp_path: Path) -> None:
    SqliteLedger(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(LedgerError, match="has schema 99 and this program reads 2") as refused:
        SqliteLedger(path)
    again = pickle.loads(pickle.dumps(refused.value))  # noqa: S301  # its own bytes
    assert (again.path, again.detail) == (str(path), refused.value.detail)
    assert str(again).endswith(f"(ledger: {path})")

    foreign = tmp_path / "foreign.sqlite"
    database = sqlite3.connect(foreign)
    database.execute("CREATE TABLE notes (text TEXT)")
    database.close()
    with pytest.raises(LedgerError, match="another program's database"):
        SqliteLedger(foreign)
    rubbish = tmp_path / "rubbish.sqlite"
    rubbish.write_bytes(b"no database at all, but long enough to look" * 100)
    with pytest.raises(LedgerError, match="this file is no ledger"):
        SqliteLedger(rubbish)
    with pytest.raises(LedgerError, match="check its folder and rights"):
        SqliteLedger(tmp_path / "absent" / "ledger.sqlite")
    assert APPLICATION_ID != 0


def test_a_ledger_in_use_is_named_as_such(path: Path) -> None:
    with SqliteLedger(path), SqliteLedger(path, busy_seconds=0.01) as second:
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="another process is writing the ledger"):
            second.claim([_claim("a")])
        database.close()
        assert second.claim([_claim("a")]) == frozenset()


def test_who_only_looks_does_not_wait_for_a_writer(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        ledger.claim([_claim("a")])
    writing = sqlite3.connect(path, isolation_level=None)
    writing.execute("BEGIN IMMEDIATE")
    with SqliteLedger(path, busy_seconds=0) as looking:
        assert [each.document_id for each in looking.pending()] == ["a"]
    writing.close()
