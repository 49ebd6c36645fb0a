"""One file to read, wherever it lies: on disk, in an archive, in a mail."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from ingest.documents import ReasonCode, Reject, Skipped, SourceDocument
from ingest.readers.kinds import inner_name
from ingest.readers.settings import ReaderSettings
from ingest.sanitising import sanitised

Items = Iterator[SourceDocument | Reject]
OnSkip = Callable[[Skipped], None]


class RefusedError(Exception):
    """A file that is not read, or not read on.

    Args:
        reason: one of `ReasonCode`.
        message: one sentence that says what is wrong and what to do.
        document_id: the document's where it is known, else empty.
    """

    def __init__(self, reason: ReasonCode, message: str, document_id: str = "") -> None:
        super().__init__(reason, message, document_id)
        self.reason: ReasonCode = reason
        self.message = message
        self.document_id = document_id

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Source:
    """Where a file lies.

    Args:
        name: relative to the folder given; within a container, below the container's name. The
            id of a document that has none of its own.
        place: for messages.
        origin: differs between any two files.
        containers: archives and mails that it lies in.
        archives: of these, archives.
    """

    name: PurePosixPath
    place: str
    origin: str
    containers: int = 0
    archives: int = 0

    @property
    def identity(self) -> str:
        """The id of the document that the file is."""
        return sanitised(str(self.name))

    @property
    def stem(self) -> str:
        """The title of a document that has none of its own."""
        return sanitised(inner_name(self.name).stem)

    def member(self, name: str, origin: str, *, of_archive: bool = False) -> Source:
        """Return the file `name` in this one; `origin` tells it from its like-named neighbours.

        The name becomes a relative path that stays below this file's, whatever it holds.
        """
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        below = PurePosixPath(*parts or ["unnamed"])
        return Source(
            self.name / below,
            f"{self.place}/{sanitised(str(below))}",
            f"{self.origin}/{origin}",
            self.containers + 1,
            self.archives + of_archive,
        )


class ReadMember(Protocol):
    """Reads a file that a container holds; nothing is raised for what is wrong with it."""

    def __call__(self, source: Source, stream: io.BufferedReader) -> Items:
        """Yield its documents; a file of unknown kind is passed over."""
        ...


def read_all(stream: io.BufferedReader, limit: int) -> bytes:
    """Return the rest of `stream`.

    Raises:
        RefusedError: it is longer than `limit` bytes.
    """
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise _too_large(limit)
    return data


def seekable(stream: io.BufferedReader, settings: ReaderSettings, limit: int) -> io.BufferedIOBase:
    """Return what can be read in any order: a file on disk as it is, else a bounded copy.

    Args:
        limit: bytes that a file on disk may have.

    Raises:
        RefusedError: it is longer than its bound.
    """
    if isinstance(stream.raw, io.FileIO):
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        if size > limit:
            raise _too_large(limit)
        return stream
    return io.BytesIO(read_all(stream, settings.max_file_bytes))


def _too_large(limit: int) -> RefusedError:
    return RefusedError(
        "document_too_large", f"it is larger than {limit} bytes; split it or raise the limit"
    )
