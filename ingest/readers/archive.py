"""Zip archives: each member of a known kind is a document of its own."""

from __future__ import annotations

import io
import stat
import zipfile
from typing import Literal

from ingest.documents import Reject, Skipped
from ingest.readers.kinds import is_hidden
from ingest.readers.settings import ReaderSettings
from ingest.readers.source import Items, OnSkip, ReadMember, RefusedError, Source
from ingest.readers.unpacking import open_member, open_zip

_UNIX = 3
_RESOURCE_FORKS = "__MACOSX"


def read_archive(
    source: Source,
    stream: io.BufferedIOBase,
    settings: ReaderSettings,
    read_member: ReadMember,
    on_skip: OnSkip,
) -> Items:
    """Yield the documents of an archive's members by name; nothing is written to disk.

    Hidden members and links are passed over; what is wrong with one is its own reject.

    Raises:
        RefusedError: the archive as a whole is damaged or over a bound.
    """
    archive = open_zip(stream, settings, settings.max_archive_bytes)
    for number, member in sorted(
        enumerate(archive.infolist()), key=lambda each: (each[1].filename, each[0])
    ):
        if member.filename.endswith("/"):
            continue
        inner = source.member(member.filename, str(number), of_archive=True)
        if (why := _unwanted(member)) is not None:
            on_skip(Skipped(inner.place, why))
            continue
        try:
            with open_member(archive, member, settings) as content:
                yield from read_member(inner, content)
        except RefusedError as refused:
            yield Reject(inner.place, refused.reason, refused.message)


def _unwanted(member: zipfile.ZipInfo) -> Literal["hidden", "not a regular file"] | None:
    parts = member.filename.replace("\\", "/").split("/")
    if any(part == _RESOURCE_FORKS or is_hidden(part) for part in parts):
        return "hidden"
    mode = member.external_attr >> 16
    if member.create_system == _UNIX and mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "not a regular file"
    return None
