"""The ledger in one SQLite file, for one machine.

Durability: write-ahead log with ``synchronous=FULL``. A killed process loses nothing in any mode;
but after a power cut NORMAL may lose a claim whose passages the index had already synced, and the
next, shorter version would then leave passages behind that nothing knows of. One sync per batch
of thousands of documents costs nothing that can be measured.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import fspath
from pathlib import Path
from types import TracebackType

from ingest.ledger import Claim, DocumentState, Failure, LedgerError, Record, is_same_claim

SCHEMA_VERSION = 2
APPLICATION_ID = 0x4C52_4C47  # "LRLG"
_LOOK_UP_KEYS = 500  # SQLite allows 32,766 variables; more than this is no faster
# Keys are hashes, so every batch touches the whole index of keys: it should fit in the cache.
_CACHE_KIB = 16 * 1024
_CHECKPOINT_PAGES = 4_000
_STATES: tuple[DocumentState, ...] = ("claimed", "stored", "deleted", "failed")
_CLAIMED, _STORED = 0, 1  # places in `_STATES`, as the statements below have them
# A record stands as claimed while its claimant is among the open ones, and as `state` says
# otherwise; `planned` passages count from then on. So a whole commit is marked by removing one row.
_SCHEMA = """
CREATE TABLE documents (
    key TEXT NOT NULL UNIQUE,
    document_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    passages INTEGER NOT NULL,
    planned INTEGER NOT NULL,
    claimed INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
    tombstone INTEGER NOT NULL,
    claimant INTEGER,
    reason TEXT
) STRICT;
CREATE TABLE open_claims (claimant INTEGER PRIMARY KEY) STRICT;
CREATE VIEW records AS
SELECT key, document_id, tenant, version, content_hash, claimed, tombstone,
    iif(claimant IN open_claims, passages, planned) AS passages,
    iif(claimant IN open_claims, 0, state) AS state
FROM documents;
"""
_SELECT = """
SELECT key, document_id, tenant, version, content_hash, passages, claimed, state, tombstone
FROM records WHERE
"""
_OPEN = "INSERT OR IGNORE INTO open_claims VALUES (?)"
_ANY_OPEN = "SELECT 1 FROM open_claims"
_INSERT_NEW = """
INSERT INTO documents (key, document_id, tenant, version, content_hash, passages, planned, claimed,
    state, tombstone, claimant)
VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, 1 + ?8, ?8, ?9)
ON CONFLICT (key) DO NOTHING
"""
_CLAIM_AGAIN = """
UPDATE documents SET version = ?1, content_hash = ?2,
    passages = iif(claimant IN open_claims, passages, planned), planned = ?3,
    claimed = max(claimed, ?4), state = 1 + ?5, tombstone = ?5, claimant = ?6, reason = NULL
WHERE key = ?7 AND version = ?8 AND content_hash = ?9
    AND iif(claimant IN open_claims, 0, state) = ?10 AND tombstone = ?11
"""
_RENEW = """
UPDATE documents SET version = ?
WHERE key = ? AND version = ? AND content_hash = ?
    AND iif(claimant IN open_claims, 0, state) = ? AND tombstone = ?
"""
_CLOSE_ALL = "DELETE FROM open_claims WHERE claimant = ?"
_CLOSE_ONE = """
UPDATE documents SET claimant = NULL
WHERE key = ? AND version = ? AND content_hash = ? AND tombstone = ? AND claimant IN open_claims
"""
# Of claimants whose documents were all claimed by others since.
_FORGET_EMPTY = """
DELETE FROM open_claims WHERE claimant NOT IN (SELECT claimant FROM documents WHERE claimant > 0)
"""
_FAIL = """
INSERT INTO documents (key, document_id, tenant, version, content_hash, passages, planned, claimed,
    state, tombstone, reason)
VALUES (?, ?, ?, 0, x'', 0, 0, 0, 3, 0, ?)
ON CONFLICT (key) DO UPDATE SET reason = excluded.reason WHERE state = 3
"""


def _no_checkpoint(_: str) -> None:
    pass


class SqliteLedger:
    """A `Ledger` in the file `path`, made where it is absent. One thread at a time.

    Args:
        path: the file; its folder exists.
        checkpoint: called before and after each write with its name, for crash tests.
        busy_seconds: how long to wait for another process that writes.

    Raises:
        LedgerError: the file is no ledger, or of a newer schema.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        checkpoint: Callable[[str], None] = _no_checkpoint,
        busy_seconds: float = 10.0,
    ) -> None:
        self._path = fspath(path)
        self._checkpoint = checkpoint
        self._claimant = _new_claimant()
        self._outstanding: dict[str, Claim] = {}
        try:
            self._database = sqlite3.connect(self._path, timeout=busy_seconds, isolation_level=None)
        except sqlite3.Error as failure:
            raise self._error(failure) from None
        try:
            self._open()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> SqliteLedger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def is_empty(self) -> bool:
        """Return whether no document has a record."""
        with self._guard():
            return self._database.execute("SELECT 1 FROM documents LIMIT 1").fetchone() is None

    def look_up(self, keys: Sequence[str]) -> dict[str, Record]:
        """Return the records of those of `keys` that have one."""
        found: dict[str, Record] = {}
        with self._guard():
            for start in range(0, len(keys), _LOOK_UP_KEYS):
                some = keys[start : start + _LOOK_UP_KEYS]
                marks = ",".join("?" * len(some))
                rows = self._database.execute(f"{_SELECT} key IN ({marks})", some)
                found.update((row[0], _record(row)) for row in rows)
        return found

    def claim(self, claims: Sequence[Claim]) -> frozenset[str]:
        """Claim documents, each if its record is still what was decided on; return who lost."""
        with self._transaction("claim"):
            self._database.execute(_OPEN, (self._claimant,))
            lost = self._insert_new([each for each in claims if each.before is None])
            for each in claims:
                before = each.before
                if before is None:
                    continue
                given = (
                    each.version,
                    each.content_hash,
                    each.passages,
                    each.claimed,
                    each.tombstone,
                    self._claimant,
                )
                if not self._database.execute(_CLAIM_AGAIN, (*given, *_match(before))).rowcount:
                    lost.add(each.key)
        self._outstanding.update((each.key, each) for each in claims if each.key not in lost)
        return frozenset(lost)

    def renew(self, claims: Sequence[Claim]) -> frozenset[str]:
        """Raise the version of stored documents whose content is the same; return who lost."""
        lost: set[str] = set()
        with self._transaction("renew"):
            for each in claims:
                before = each.before
                if (
                    before is None
                    or not self._database.execute(_RENEW, (each.version, *_match(before))).rowcount
                ):
                    lost.add(each.key)
        for each in claims:
            if each.key in self._outstanding and each.key not in lost:
                self._outstanding[each.key] = each
        return frozenset(lost)

    def stored(self, claims: Sequence[Claim]) -> None:
        """Mark claims as stored (or deleted), each unless it has been claimed anew since."""
        with self._transaction("stored"):
            ours = [each.key for each in claims if self._is_latest(each)]
            all_of_ours = len(ours) == len(claims) == len(self._outstanding)
            if all_of_ours:
                # What another process claimed since has another claimant, and stays open.
                self._database.execute(_CLOSE_ALL, (self._claimant,))
                if self._database.execute(_ANY_OPEN).fetchone() is not None:
                    self._database.execute(_FORGET_EMPTY)
            else:
                self._database.executemany(
                    _CLOSE_ONE,
                    [
                        (each.key, each.version, each.content_hash, each.tombstone)
                        for each in claims
                    ],
                )
        for key in ours:
            del self._outstanding[key]
        if all_of_ours:
            self._claimant = _new_claimant()

    def failed(self, failures: Sequence[Failure]) -> None:
        """Write down failures of documents of which nothing is stored or claimed."""
        with self._transaction("failed"):
            self._database.executemany(
                _FAIL,
                [(each.key, each.document_id, each.tenant, each.reason) for each in failures],
            )

    def pending(self) -> Iterator[Record]:
        """Yield the records that are claimed and not stored, in no certain order."""
        with self._guard():
            if self._database.execute(_ANY_OPEN).fetchone() is None:
                return  # without a look at every record
            rows = self._database.execute(f"{_SELECT} state = {_CLAIMED}")
            while some := rows.fetchmany(1_000):
                yield from map(_record, some)

    def records(self) -> Iterator[tuple[Record, int]]:
        """Yield every record and its version, by key."""
        after = ""
        while True:
            with self._guard():
                query = f"{_SELECT} key > ? ORDER BY key LIMIT {_LOOK_UP_KEYS}"
                found = [_record(row) for row in self._database.execute(query, (after,))]
            if not found:
                return
            yield from ((record, record.version) for record in found)
            after = found[-1].key

    def counts(self, tenant: str) -> dict[DocumentState, int]:
        """Return how many of a tenant's documents are in each state; absent where none is."""
        count = "SELECT state, count(*) FROM records WHERE tenant = ? GROUP BY state"
        with self._guard():
            rows = self._database.execute(count, (tenant,))
            return {_STATES[state]: number for state, number in rows}

    def passages(self, tenant: str) -> int:
        """Return how many passages the tenant's stored documents have."""
        total = "SELECT coalesce(sum(passages), 0) FROM records WHERE tenant = ? AND state = ?"
        with self._guard():
            (number,) = self._database.execute(total, (tenant, _STORED)).fetchone()
            return int(number)

    def close(self) -> None:
        """Release the file. Idempotent."""
        self._database.close()

    def _open(self) -> None:
        with self._guard():
            execute = self._database.execute
            execute("PRAGMA journal_mode = WAL")
            execute("PRAGMA synchronous = FULL")
            execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            if self._stamp() == (SCHEMA_VERSION, APPLICATION_ID):
                return  # who only looks takes no writer's lock
            execute("BEGIN IMMEDIATE")
            self._create_or_refuse()
            execute("COMMIT")

    def _stamp(self) -> tuple[int, int]:
        """Return the file's schema version and the program it belongs to; zeros for a new one."""
        execute = self._database.execute
        (version,) = execute("PRAGMA user_version").fetchone()
        (application,) = execute("PRAGMA application_id").fetchone()
        return version, application

    def _create_or_refuse(self) -> None:
        version, application = self._stamp()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if (version, application, tables) == (0, 0, 0):
            for statement in _SCHEMA.strip().removesuffix(";").split(";\n"):
                self._database.execute(statement)
            self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif application != APPLICATION_ID:
            raise LedgerError(
                self._path, "this file is another program's database; name another folder"
            )
        elif version != SCHEMA_VERSION:
            raise LedgerError(
                self._path,
                f"the ledger has schema {version} and this program reads {SCHEMA_VERSION}; "
                "use the program that wrote it, or ingest the documents into a new folder",
            )

    def _insert_new(self, claims: Sequence[Claim]) -> set[str]:
        """Insert records that should not exist yet; return the keys of those that do."""
        if not claims:
            return set()
        execute = self._database.execute
        execute("SAVEPOINT new")
        inserted = self._database.executemany(_INSERT_NEW, self._rows(claims)).rowcount
        if inserted == len(claims):
            execute("RELEASE new")
            return set()
        # Rare: another process, or an optimistic caller. Only now is it worth asking which.
        execute("ROLLBACK TO new")
        execute("RELEASE new")
        known = set(self.look_up([each.key for each in claims]))
        self._database.executemany(
            _INSERT_NEW, self._rows([each for each in claims if each.key not in known])
        )
        return known

    def _is_latest(self, claim: Claim) -> bool:
        """Return whether this is what we claimed last of its document, and have not marked."""
        latest = self._outstanding.get(claim.key)
        return latest is not None and is_same_claim(latest, claim)

    def _rows(self, claims: Sequence[Claim]) -> list[tuple[object, ...]]:
        claimant = self._claimant
        return [
            (
                each.key,
                each.document_id,
                each.tenant,
                each.version,
                each.content_hash,
                each.passages,
                each.claimed,
                each.tombstone,
                claimant,
            )
            for each in claims
        ]

    @contextmanager
    def _transaction(self, name: str) -> Iterator[None]:
        with self._guard():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._checkpoint(f"ledger {name}: before commit")
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        self._checkpoint(f"ledger {name}: after commit")

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as failure:
            raise self._error(failure) from failure

    def _error(self, failure: sqlite3.Error) -> LedgerError:
        name = getattr(failure, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            detail = "another process is writing the ledger; wait for it to end and run this again"
        elif name.startswith("SQLITE_NOTADB"):
            detail = "this file is no ledger; name another folder"
        elif name.startswith("SQLITE_FULL"):
            detail = "the disk is full; make room and run the same command again"
        else:
            detail = f"the ledger cannot be used: {failure}; check its folder and rights"
        return LedgerError(self._path, detail)


def _new_claimant() -> int:
    return secrets.randbits(62) + 1


def _match(before: Record) -> tuple[str, int, bytes, int, bool]:
    return (
        before.key,
        before.version,
        before.content_hash,
        _STATES.index(before.state),
        before.tombstone,
    )


def _record(row: tuple[str, str, str, int, bytes, int, int, int, int]) -> Record:
    return Record(*row[:7], state=_STATES[row[7]], tombstone=bool(row[8]))
