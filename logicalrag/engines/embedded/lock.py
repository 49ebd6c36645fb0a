"""One writer per index folder, in this process or any other on the machine, known by name."""

from __future__ import annotations

import fcntl
import os
import shlex
import socket
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from logicalrag.engines.errors import IndexLockedError

LOCK_FILE = "writer.lock"
_POLL_SECONDS = 0.05
_DESCRIPTION_SECONDS = 1.0
_MAX_DESCRIPTION_BYTES = 1000


class WriterLock:
    """Holds a folder's lock from construction to `release`.

    The kernel drops the lock with the process that held it, so that what a killed writer leaves
    behind is a description only.

    Args:
        folder: the index folder, which exists.
        wait_seconds: how long to wait for another writer to end.

    Raises:
        IndexLockedError: another writer still holds it; names that writer.
        OSError: the lock file cannot be opened.
    """

    def __init__(self, folder: Path, wait_seconds: float = 0) -> None:
        path = folder / LOCK_FILE
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        deadline = time.monotonic() + wait_seconds
        try:
            while not self._acquire():
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise IndexLockedError(str(path), self._holder())
                time.sleep(min(_POLL_SECONDS, remaining))
            self._describe(describe_process(sys.argv))
        except BaseException:
            os.close(self._file)
            self._file = -1
            raise

    def release(self) -> None:
        """Let another writer in. Idempotent."""
        if self._file >= 0:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1

    def _acquire(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _holder(self) -> str:
        # Who has just taken the lock writes its description a moment later.
        deadline = time.monotonic() + _DESCRIPTION_SECONDS
        while not (written := os.pread(self._file, _MAX_DESCRIPTION_BYTES, 0).strip()):
            if time.monotonic() > deadline:
                return "another process"
            time.sleep(_POLL_SECONDS)
        return written.decode("utf-8", "replace")

    def _describe(self, description: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, description.encode("utf-8", "replace")[:_MAX_DESCRIPTION_BYTES], 0)


def lock_holder(folder: Path) -> str | None:
    """Return who writes the index in `folder`, as it described itself; None where nobody does.

    Raises:
        OSError: the lock file cannot be read.
    """
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(file, _MAX_DESCRIPTION_BYTES, 0).decode("utf-8", "replace").strip()
    finally:
        os.close(file)
    return None


def describe_process(arguments: Sequence[str]) -> str:
    """Return this process as a user would look for it: pid, host, command and time, one line."""
    command = shlex.join([Path(arguments[0] or "python").name, *arguments[1:]])
    if len(command) > 200:
        command = command[:199] + "…"
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return f"process {os.getpid()} on {socket.gethostname()} ({command}) since {since}"
