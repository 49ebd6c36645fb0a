"""Kept expressions in one SQLite file, for one machine."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from os import fspath
from pathlib import Path
from types import TracebackType

from pydantic import TypeAdapter

from logicalrag.agent.actions import Search
from logicalrag.agent.expressions import MAX_QUESTIONS

SCHEMA_VERSION = 1
APPLICATION_ID = 0x4C52_4558  # "LREX"
MAX_ENTRY_BYTES = 65_536
_SEARCHES: TypeAdapter[tuple[Search, ...]] = TypeAdapter(tuple[Search, ...])
# `used` orders the questions by their last use: a number given out once.
_SCHEMA = f"""
CREATE TABLE questions (key TEXT PRIMARY KEY, used INTEGER NOT NULL UNIQUE, searches TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""
_USE = """
UPDATE questions SET used = (SELECT max(used) + 1 FROM questions) WHERE key = ? RETURNING searches
"""
_PUT = """
INSERT OR REPLACE INTO questions (key, used, searches)
VALUES (?, (SELECT coalesce(max(used), 0) + 1 FROM questions), ?)
"""
_FORGET = """
DELETE FROM questions
WHERE used <= (SELECT used FROM questions ORDER BY used DESC LIMIT 1 OFFSET ?)
"""


class SqliteExpressions:
    """An `ExpressionStore` in the file `path`, made where it is absent.

    A file that cannot be used gives one warning and is left alone from then on: what is kept here
    saves work and is nothing that an answer may fail for.

    Args:
        path: the file; its folder exists.
        warn: takes one sentence.
        questions: how many keys are kept at most.
        busy_seconds: how long to wait for another process that writes.
    """

    def __init__(
        self,
        path: str | Path,
        warn: Callable[[str], None],
        *,
        questions: int = MAX_QUESTIONS,
        busy_seconds: float = 5.0,
    ) -> None:
        self._path = fspath(path)
        self._warn = warn
        self._questions = questions
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        try:
            self._database = sqlite3.connect(
                self._path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
            )
            self._open(self._database)
        except sqlite3.Error as failure:
            self._turn_off(str(failure))

    def __enter__(self) -> SqliteExpressions:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def get(self, key: str) -> tuple[Search, ...]:
        """Return what is kept for `key`; nothing where that cannot be read."""
        with self._lock:
            if self._database is None:
                return ()
            try:
                rows = self._database.execute(_USE, (key,)).fetchall()
                return _SEARCHES.validate_python(json.loads(rows[0][0])) if rows else ()
            except sqlite3.Error as failure:
                self._turn_off(str(failure))
            except (ValueError, RecursionError):
                self._turn_off("an entry is damaged")
            return ()

    def put(self, key: str, searches: tuple[Search, ...]) -> None:
        """Keep `searches` for `key`, unless they have more than `MAX_ENTRY_BYTES`."""
        # Not pydantic's own writer: an expression may hold lone surrogates, which it refuses.
        entry = json.dumps(_SEARCHES.dump_python(searches))
        with self._lock:
            if self._database is None or len(entry) > MAX_ENTRY_BYTES:
                return
            try:
                with self._database:
                    self._database.execute("BEGIN IMMEDIATE")
                    self._database.execute(_PUT, (key, entry))
                    self._database.execute(_FORGET, (self._questions,))
            except sqlite3.Error as failure:
                self._turn_off(str(failure))

    def close(self) -> None:
        """Release the file. Idempotent."""
        with self._lock:
            database, self._database = self._database, None
            if database is not None:
                database.close()

    def _open(self, database: sqlite3.Connection) -> None:
        if self._stamp(database) == (APPLICATION_ID, SCHEMA_VERSION):
            return  # the usual case takes no writer's lock
        with database:
            database.execute("BEGIN IMMEDIATE")
            stamp = self._stamp(database)
            (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if (*stamp, tables) == (0, 0, 0):
                for statement in _SCHEMA.strip().split(";\n"):
                    database.execute(statement)
            elif stamp != (APPLICATION_ID, SCHEMA_VERSION):
                raise sqlite3.DatabaseError("it was written by another program or version")

    @staticmethod
    def _stamp(database: sqlite3.Connection) -> tuple[int, int]:
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        return application, version

    def _turn_off(self, problem: str) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()
        self._warn(
            f"The expression cache {self._path} is not used ({problem}); make the file writable, "
            "delete it to get a new one, or switch the setting expression_cache off."
        )
