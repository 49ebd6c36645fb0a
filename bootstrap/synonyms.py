"""The synonym file of the settings: read at the start, and again whenever it has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from bootstrap.settings import SettingsError, read_text
from logicalrag.query.synonyms import EMPTY, SynonymsError, SynonymTable, parse_synonyms

_Stamp = tuple[int, int, int]


class SynonymFile:
    """Calling it returns the file's table as it is now. Safe to call from several threads.

    A file that breaks later leaves the last good table in force, and `warn` is told once of each
    state it was found in.

    Args:
        path: the file.
        warn: takes one sentence.

    Raises:
        SettingsError: the file cannot be read or is malformed.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self._path = path
        self._warn = warn
        self._lock = threading.Lock()
        self._stamp = self._look()
        self._table = self._read()

    def __call__(self) -> SynonymTable:
        with self._lock:
            stamp = self._look()
            if stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._table = self._read()
                except SettingsError as error:
                    self._warn(f"{error.message} The synonyms read before stay in force.")
            return self._table

    def _look(self) -> _Stamp | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _read(self) -> SynonymTable:
        try:
            return parse_synonyms(read_text(self._path, "synonym file"), str(self._path))
        except SynonymsError as error:
            raise SettingsError(str(error)) from None


def synonyms(path: Path | None, warn: Callable[[str], None]) -> Callable[[], SynonymTable]:
    """Return what gives the table of the file at `path` as it is now; without a file, none.

    Raises:
        SettingsError: the file cannot be read or is malformed.
    """
    return (lambda: EMPTY) if path is None else SynonymFile(path, warn)
