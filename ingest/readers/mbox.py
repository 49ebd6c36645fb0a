"""Mailboxes (mbox): one e-mail after the other, read as a stream of any size.

Source: RFC 4155 and the form that calls itself mboxrd, where ``>From`` at a line's beginning
stands for ``From``.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from email.parser import BytesHeaderParser

from ingest.documents import Reject
from ingest.readers.settings import ReaderSettings
from ingest.readers.source import Items, ReadMember, Source

_SEPARATOR = b"From "
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_MAX_NAME_CODE_POINTS = 200


def read_mbox(
    source: Source, stream: io.BufferedReader, settings: ReaderSettings, read_member: ReadMember
) -> Items:
    """Yield the documents of each message, as ``box.mbox/<its Message-ID>.eml``.

    A message without an id, or with that of an earlier one, is named by its number, from 1.
    """
    known: set[str] = set()
    limit = settings.max_file_bytes
    for number, message in enumerate(_messages(stream, limit), start=1):
        if message is None:
            wrong = f"the message is larger than {limit} bytes; split it or raise the limit"
            yield Reject(f"{source.place}:{number}", "document_too_large", wrong)
            continue
        name = _message_id(message)
        if not name or name in known:
            name = f"{name} {number}".strip()
        known.add(name)
        inner = source.member(f"{name}.eml", str(number))
        yield from read_member(inner, io.BufferedReader(io.BytesIO(message)))


def _messages(stream: io.BufferedReader, limit: int) -> Iterator[bytes | None]:
    """Yield each message, or None for one over the limit."""
    lines: list[bytes] = []
    size = 0
    begun = False
    blank_before = True
    at_line_start = True
    while True:
        line = stream.readline(limit)
        separates = at_line_start and blank_before and line.startswith(_SEPARATOR)
        if separates or not line:
            if begun:
                yield _QUOTED.sub(rb"\1", b"".join(lines)) if size <= limit else None
            if not line:
                return
            lines, size, begun = [], 0, True
        elif begun or line.strip():
            begun = True
            size += len(line)
            if size <= limit:
                lines.append(line)
            else:
                lines.clear()
        blank_before = at_line_start and line in (b"\n", b"\r\n")
        at_line_start = line.endswith(b"\n")


def _message_id(message: bytes) -> str:
    head = message[: 64 * 1024]
    value = BytesHeaderParser().parsebytes(head).get("message-id", "")
    name = "".join(str(value).split()).strip("<>").replace("/", "_").replace("\\", "_")
    return name[:_MAX_NAME_CODE_POINTS]
