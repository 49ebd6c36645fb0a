"""E-mail: the message as a document, and each attachment of a known kind as one of its own.

Source: RFC 5322 (messages), RFC 2045-2049 (MIME). The standard library parses, by its older policy
``compat32``: the newer one takes minutes for a header of 64 KB, and fails on some malformed ones.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import PurePosixPath

from ingest.documents import MAX_TITLE_BYTES, Reject, SourceDocument
from ingest.readers.encoding import UnreadableEncodingError, decode
from ingest.readers.settings import ReaderSettings
from ingest.readers.source import Items, ReadMember, RefusedError, Source
from ingest.sanitising import sanitised

_MAX_HEADER_CODE_POINTS = 64 * 1024
_WITH_PARAMETERS = ("content-disposition", "content-type")
# Of these two the parser reads the parameters, in time quadratic in their length.
_LONG_HEADER = re.compile(
    rb"(?i)(?:^|[\r\n])content-(?:type|disposition):(?:[^\r\n]|(?:\r\n?|\n)[ \t]){8192}"
)
_MAX_TITLE_CODE_POINTS = MAX_TITLE_BYTES // 4
# A header may be a line of three bytes, and takes 150 bytes of memory.
_MAX_LINES = 5_000_000
# The parser looks in each line for the ends of all the parts that it is in.
_MAX_COMPARISONS = 200_000_000
_BOUNDARY = re.compile(rb"(?i)boundary")
_MAX_PARTS = 10_000
_MAX_DEPTH = 50
# A type for attachments without a name.
_SUFFIXES = {
    "application/epub+zip": ".epub",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/zip": ".zip",
    "message/rfc822": ".eml",
    "text/csv": ".csv",
    "text/markdown": ".md",
    "text/tab-separated-values": ".tsv",
}


def read_mail(
    source: Source, data: bytes, settings: ReaderSettings, read_member: ReadMember
) -> Items:
    """Yield the document of a message, then those of its attachments, as ``mail.eml/a.pdf``.

    The subject is the title. The text is the plain body, or the HTML one where there is no
    other, below lines that say from whom, to whom and when. The metadata has ``from``, ``to``
    and ``cc`` (lists of addresses in small letters), ``date`` (ISO 8601, UTC) and ``message_id``,
    each where the message has it.

    A body that cannot be read is a reject, and its attachments are read all the same.

    Raises:
        RefusedError: it is no message, or has more than 10,000 parts or 5,000,000 lines.
    """
    if _LONG_HEADER.search(data):
        raise RefusedError("damaged_file", "one of its headers is too long; check what it is")
    lines = max(data.count(b"\n"), data.count(b"\r"))
    boundaries = sum(1 for _ in _BOUNDARY.finditer(data))
    if lines > _MAX_LINES or lines * boundaries > _MAX_COMPARISONS:
        raise RefusedError("unsafe_archive", "it has too many lines or parts; split it")
    try:
        message = message_from_bytes(data)
        bodies, attachments = _parted(message)
    except RecursionError:
        raise _too_deep() from None
    headers = _Headers(message)
    if not headers.raw:
        raise RefusedError("damaged_file", "it is no e-mail: it has no headers; check what it is")
    try:
        texts = [_text_of(part, settings) for part in bodies]
    except RefusedError as refused:
        yield Reject(source.place, refused.reason, refused.message, source.identity)
    except UnreadableEncodingError as failure:
        yield Reject(source.place, "unreadable_encoding", str(failure), source.identity)
    else:
        yield SourceDocument(
            source.identity,
            headers.text("subject")[:_MAX_TITLE_CODE_POINTS] or source.stem,
            "\n\n".join(filter(None, (headers.shown(), *texts))),
            metadata=headers.metadata(),
            tenant=settings.tenant,
            place=source.place,
        )
    known: set[str] = set()
    for number, part in enumerate(attachments, start=1):
        name = _name_of(part, number)
        if name in known:
            path = PurePosixPath(name)
            name = f"{path.stem} ({number}){path.suffix}"
        known.add(name)
        inner = source.member(name, str(number))
        content = _content_of(part)
        if content is None:
            yield Reject(inner.place, "damaged_file", "its encoding is broken; send it again")
        elif len(content) > settings.max_file_bytes:
            limit = settings.max_file_bytes
            wrong = f"it is larger than {limit} bytes; split it or raise the limit"
            yield Reject(inner.place, "document_too_large", wrong)
        else:
            yield from read_member(inner, io.BufferedReader(io.BytesIO(content)))


class _Headers:
    """A message's headers: the first of each name, decoded, whatever it holds."""

    def __init__(self, message: Message) -> None:
        self.raw: dict[str, str] = {}
        for name, value in message.raw_items():
            self.raw.setdefault(name.lower(), str(value)[:_MAX_HEADER_CODE_POINTS])

    def text(self, name: str) -> str:
        """Return a header as one line; empty where it is absent."""
        return _decoded(self.raw.get(name, ""))

    def addresses(self, name: str) -> list[str]:
        try:
            found = getaddresses([self.text(name)])
        except RecursionError:  # comments in comments
            return []
        return [address.lower() for _, address in found if address]

    def date(self) -> str:
        try:
            sent = parsedate_to_datetime(self.text("date"))
            return sent.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except (ValueError, TypeError, IndexError, OverflowError):
            return ""

    def metadata(self) -> dict[str, object]:
        found: dict[str, object] = {name: self.addresses(name) for name in ("from", "to", "cc")}
        found["date"] = self.date()
        found["message_id"] = self.text("message-id").strip("<>")
        return {name: value for name, value in found.items() if value}

    def shown(self) -> str:
        lines = {name.title(): self.text(name) for name in ("from", "to", "cc", "date")}
        return "\n".join(f"{name}: {value}" for name, value in lines.items() if value)


def _decoded(header: str) -> str:
    """Return a header as a reader sees it: one line, its encoded words decoded."""
    header = _unescaped(header)
    with suppress(MessageError, ValueError, LookupError):  # such a header is shown as it is
        header = str(make_header(decode_header(header)))
    return " ".join(header.split())


def _unescaped(header: str) -> str:
    """Return a header with its bytes outside ASCII, which the parser escapes, as text."""
    if header.isascii():
        return header
    try:
        return decode(header.encode("utf-8", "surrogateescape"))
    except (UnreadableEncodingError, UnicodeEncodeError):
        return sanitised(header)


def _parted(message: Message) -> tuple[list[Message], list[Message]]:
    """Return the parts that are the body, each the best of its alternatives, and the others."""
    bodies: list[Message] = []
    attachments: list[Message] = []
    stack: list[tuple[Message, int]] = [(message, 0)]
    met = 0
    while stack:
        part, depth = stack.pop()
        met += 1
        if met > _MAX_PARTS:
            raise RefusedError("unsafe_archive", f"it has more than {_MAX_PARTS} parts; split it")
        if depth > _MAX_DEPTH:
            raise _too_deep()
        for name, value in list(part.raw_items()):
            if name.lower() in _WITH_PARAMETERS and not str(value).isascii():
                # Else its parameters, a file's name among them, are lost where they are read.
                part.replace_header(name, _unescaped(str(value)))
        kind = part.get_content_type()
        if kind != "message/rfc822" and part.is_multipart():
            children = list(_children(part))
            if kind == "multipart/alternative" and children:
                children = [_best(children)]
            stack.extend((child, depth + 1) for child in reversed(children))
        elif kind in ("text/plain", "text/html") and not _is_attached(part):
            bodies.append(part)
        else:
            attachments.append(part)
    return bodies, attachments


def _children(part: Message) -> Iterator[Message]:
    payload = part.get_payload()
    if isinstance(payload, list):
        yield from (child for child in payload if isinstance(child, Message))


def _best(alternatives: list[Message]) -> Message:
    """Return the plain text if it says anything, else the richest, which is the last."""
    for part in alternatives:
        if part.get_content_type() == "text/plain" and (_content_of(part) or b"").strip():
            return part
    return alternatives[-1]


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_file_name(part))


def _file_name(part: Message) -> str:
    try:
        return _decoded(part.get_filename() or "")
    except (ValueError, LookupError):
        return ""


def _name_of(part: Message, number: int) -> str:
    name = _file_name(part).replace("\\", "/").rsplit("/", 1)[-1].strip()
    return name or f"attachment-{number}{_SUFFIXES.get(part.get_content_type(), '')}"


def _content_of(part: Message) -> bytes | None:
    """Return what a part holds, or None where it cannot be decoded."""
    try:
        if part.get_content_type() == "message/rfc822" and part.is_multipart():
            return b"".join(each.as_bytes() for each in _children(part))
        content = part.get_payload(decode=True)
    except (ValueError, LookupError, AttributeError, TypeError, AssertionError, RecursionError):
        # The standard library fails in all these ways on what is malformed.
        return None
    return content if isinstance(content, bytes) else None


def _text_of(part: Message, settings: ReaderSettings) -> str:
    content = _content_of(part)
    if content is None:
        raise RefusedError("damaged_file", "a body's encoding is broken; get a whole copy of it")
    declared = part.get_content_charset()
    if len(content) > settings.max_file_bytes:
        limit = settings.max_file_bytes
        raise RefusedError(
            "document_too_large", f"its body is larger than {limit} bytes; raise the limit"
        )
    if part.get_content_type() == "text/plain":
        text = decode(content, declared=declared or settings.encoding)
        return text.replace("\r\n", "\n").replace("\r", "\n").strip()
    from ingest.readers.webpage import declared_encoding, text_of_html

    declared = declared or declared_encoding(content)
    return text_of_html(decode(content, declared=declared or settings.encoding))[1]


def _too_deep() -> RefusedError:
    return RefusedError(
        "nested_too_deeply", "its parts lie too deeply within each other; unpack it"
    )
