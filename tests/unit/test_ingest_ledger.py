"""The ledger: claims are compare-and-set, what is marked stays marked, files are checked."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.ledger import Claim, Failure, Ledger, LedgerError, Record
from ingest.sqlite_ledger import APPLICATION_ID, SqliteLedger
from logicalrag.engines.identity import document_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    with SqliteLedger(path) as opened:
        yield opened


def _claim(
    name: str,
    version: int = 1,
    *,
    before: Record | None = None,
    passages: int = 2,
    digest: bytes = b"h",
    tombstone: bool = False,
) -> Claim:
    claimed = passages if before is None else max(passages, before.claimed)
    return Claim(
        key=document_key("t", name),
        document_id=name,
        tenant="t",
        version=version,
        content_hash=b"" if tombstone else digest,
        passages=passages,
        claimed=claimed,
        tombstone=tombstone,
        before=before,
    )


def _record(ledger: Ledger, name: str) -> Record:
    key = document_key("t", name)
    return ledger.look_up([key])[key]


def test_it_is_a_ledger(ledger: SqliteLedger) -> None:
    assert isinstance(ledger, Ledger)
    assert ledger.is_empty()


def test_a_claim_becomes_stored_and_outlives_the_process(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        claim = _claim("a b/ü", 7, passages=3)
        assert ledger.claim([claim]) == frozenset()
        assert _record(ledger, "a b/ü") == Record(
            claim.key, "a b/ü", "t", 7, b"h", 0, 3, "claimed", False
        )
        ledger.stored([claim])
    with SqliteLedger(path) as ledger:
        assert not ledger.is_empty()
        assert _record(ledger, "a b/ü") == Record(
            claim.key, "a b/ü", "t", 7, b"h", 3, 3, "stored", False
        )


def test_a_shorter_version_keeps_the_largest_number_ever_claimed(ledger: SqliteLedger) -> None:
    first = _claim("a", 1, passages=9)
    ledger.claim([first])
    ledger.stored([first])
    second = _claim("a", 2, before=_record(ledger, "a"), passages=2)
    assert ledger.claim([second]) == frozenset()
    between = _record(ledger, "a")
    assert (between.state, between.passages, between.claimed) == ("claimed", 9, 9)
    ledger.stored([second])
    after = _record(ledger, "a")
    assert (after.state, after.passages, after.claimed, after.version) == ("stored", 2, 9, 2)


def test_a_deletion_leaves_a_tombstone(ledger: SqliteLedger) -> None:
    first = _claim("a", 1)
    ledger.claim([first])
    ledger.stored([first])
    gone = _claim("a", 2, before=_record(ledger, "a"), passages=0, tombstone=True)
    ledger.claim([gone])
    assert [each.tombstone for each in ledger.pending()] == [True]
    ledger.stored([gone])
    record = _record(ledger, "a")
    assert (record.state, record.passages, record.claimed) == ("deleted", 0, 2)
    assert list(ledger.pending()) == []


def test_who_was_slower_loses_and_changes_nothing(path: Path) -> None:
    with SqliteLedger(path) as one, SqliteLedger(path) as other:
        assert one.claim([_claim("a", 1), _claim("b", 1)]) == frozenset()
        lost = other.claim([_claim("a", 5, digest=b"x"), _claim("c", 1)])
        assert lost == {document_key("t", "a")}
        assert _record(one, "a").version == 1
        assert _record(one, "c").state == "claimed"

        before = _record(one, "a")
        assert one.claim([_claim("a", 2, before=before)]) == frozenset()
        assert other.claim([_claim("a", 3, before=before)]) == {document_key("t", "a")}
        assert other.renew([_claim("a", 4, before=before)]) == {document_key("t", "a")}
        assert _record(one, "a").version == 2


def test_what_was_claimed_anew_is_not_marked(path: Path) -> None:
    with SqliteLedger(path) as one, SqliteLedger(path) as other:
        first, second = _claim("a", 1), _claim("b", 1)
        one.claim([first, second])
        newer = _claim("a", 2, before=_record(other, "a"), digest=b"new")
        assert other.claim([newer]) == frozenset()
        one.stored([first, second])
        assert _record(one, "a").state == "claimed"
        assert _record(one, "b").state == "stored"
        other.stored([newer])
        assert _record(one, "a").state == "stored"


def test_claims_can_be_marked_in_parts(ledger: SqliteLedger) -> None:
    claims = [_claim(name) for name in "abc"]
    ledger.claim(claims)
    ledger.stored(claims[:1])
    assert sorted(each.document_id for each in ledger.pending()) == ["b", "c"]
    assert ledger.passages("t") == claims[0].passages
    ledger.stored(claims[1:])
    assert list(ledger.pending()) == []
    assert ledger.passages("t") == sum(claim.passages for claim in claims)
    assert (ledger.passages("other"), ledger.counts("other")) == (0, {})
    assert ledger.counts("t") == {"stored": 3}


def test_another_run_can_mark_what_a_killed_one_claimed(path: Path) -> None:
    with SqliteLedger(path) as killed:
        killed.claim([_claim("a"), _claim("b")])
    with SqliteLedger(path) as repair:
        again = [_claim(each.document_id, before=each) for each in repair.pending()]
        assert repair.claim(again) == frozenset()
        repair.stored(again)
        assert repair.counts("t") == {"stored": 2}


def test_renewing_changes_the_version_alone(ledger: SqliteLedger) -> None:
    first = _claim("a", 1)
    ledger.claim([first])
    ledger.stored([first])
    before = _record(ledger, "a")
    assert ledger.renew([_claim("a", 9, before=before)]) == frozenset()
    assert _record(ledger, "a") == before._replace(version=9)


def test_a_failure_never_hides_what_is_stored(ledger: SqliteLedger) -> None:
    stored = _claim("a")
    ledger.claim([stored])
    ledger.stored([stored])
    failures = [
        Failure(document_key("t", name), name, "t", reason)
        for name, reason in (("a", "no_text"), ("b", "no_text"), ("b", "document_too_large"))
    ]
    ledger.failed(failures)
    assert ledger.counts("t") == {"stored": 1, "failed": 1}
    failed = _record(ledger, "b")
    assert (failed.state, failed.claimed) == ("failed", 0)
    assert ledger.claim([_claim("b", before=failed)]) == frozenset()
    assert _record(ledger, "b").state == "claimed"


def test_many_keys_are_looked_up_at_once(ledger: SqliteLedger) -> None:
    claims = [_claim(str(number)) for number in range(1_200)]
    ledger.claim(claims)
    wanted = [claim.key for claim in claims] + ["absent"]
    assert set(ledger.look_up(wanted)) == {claim.key for claim in claims}


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


def test_what_a_killed_run_claimed_is_pending_until_another_run_stores_it(path: Path) -> None:
    with SqliteLedger(path) as killed:
        killed.claim([_claim("a"), _claim("b", passages=3)])
    with SqliteLedger(path) as ledger:
        assert {record.document_id for record in ledger.pending()} == {"a", "b"}
        assert ledger.counts("t") == {"claimed": 2}
        assert ledger.passages("t") == 0
        again = _claim("a", before=_record(ledger, "a"))
        assert ledger.claim([again]) == frozenset()
        ledger.stored([again])
        assert [record.document_id for record in ledger.pending()] == ["b"]
        assert ledger.counts("t") == {"claimed": 1, "stored": 1}
        assert ledger.passages("t") == 2
        last = _claim("b", before=_record(ledger, "b"))
        assert ledger.claim([last]) == frozenset()
        ledger.stored([last])
        assert ledger.counts("t") == {"stored": 2}
        # Nothing is left open, so that nobody looks for it at every record.
        assert ledger._database.execute("SELECT count(*) FROM open_claims").fetchone() == (0,)


def test_a_claim_keeps_what_is_stored_until_it_is_closed(ledger: SqliteLedger) -> None:
    first = _claim("a", passages=5)
    ledger.claim([first])
    ledger.stored([first])
    shorter = _claim("a", 2, before=_record(ledger, "a"), passages=1, digest=b"i")
    ledger.claim([shorter])
    assert _record(ledger, "a")._replace(content_hash=b"") == Record(
        first.key, "a", "t", 2, b"", 5, 5, "claimed", False
    )
    once_more = _claim("a", 3, before=_record(ledger, "a"), passages=2, digest=b"j")
    ledger.claim([once_more])
    assert (_record(ledger, "a").passages, _record(ledger, "a").state) == (5, "claimed")
    ledger.stored([once_more])
    assert (_record(ledger, "a").passages, _record(ledger, "a").state) == (2, "stored")


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
