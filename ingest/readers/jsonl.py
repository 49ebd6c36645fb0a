"""JSON lines: one object a line, read line by line, so that a file may be of any size."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import NoReturn

import orjson

from ingest.documents import Reject, SourceDocument
from ingest.readers.encoding import (
    UnreadableEncodingError,
    byte_order_mark,
    find_encoding,
    is_known,
)
from ingest.readers.fields import document_of
from ingest.readers.settings import ReaderSettings

_SAMPLE_BYTES = 64 * 1024
_SKIP_BYTES = 1024 * 1024
_NO_OBJECT = "a line is one object in braces"


def read_jsonl(
    stream: io.BufferedReader, name: str, settings: ReaderSettings
) -> Iterator[SourceDocument | Reject]:
    """Yield each line's document in order, or a reject that names its line; blank lines are none.

    Args:
        stream: read from where it stands to its end and left open; a mark of UTF-8, 16 or 32 is
            understood. Lines that are no UTF-8 are read in the encoding that the first of them,
            and what follows it, shows.
        name: the file's, for places.
    """
    marked = byte_order_mark(stream.peek(4)[:4])
    named = None if marked else settings.encoding
    if named and not is_known(named):
        wrong = f"{named} is no encoding known here; name another"
        yield Reject(name, "unreadable_encoding", wrong)
        return
    if named and not marked and "\n".encode(named) != b"\n":
        marked = (named, 0)
    if marked and marked[0] != "utf-8":
        yield from _read_wide(stream, name, settings, marked)
        return
    if marked:
        stream.read(marked[1])
    limit, tenant = settings.max_line_bytes, settings.tenant
    loads = orjson.loads
    encoding = None
    number = 0
    while line := stream.readline(limit + 1):
        number += 1
        place = f"{name}:{number}"
        if len(line) > limit and not line.endswith(b"\n"):
            _skip_line(stream)
            yield _too_long(place, limit)
            continue
        if named:
            try:
                line = line.decode(named).encode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                wrong = f"the line is no valid {named}; name its encoding, or none"
                yield Reject(place, "unreadable_encoding", wrong)
                continue
        try:
            fields: object = loads(line)
        except orjson.JSONDecodeError:
            if line.isspace():
                continue
            try:
                text, encoding = _text_of(line, encoding, stream)
            except UnreadableEncodingError as failure:
                yield Reject(place, "unreadable_encoding", f"the line: {failure}")
                continue
            fields = _leniently(text, place)
        if isinstance(fields, dict):
            yield document_of(fields, tenant=tenant, place=place)
        else:
            yield fields if isinstance(fields, Reject) else _malformed(place, _NO_OBJECT)


def _text_of(
    line: bytes, encoding: str | None, stream: io.BufferedReader
) -> tuple[str, str | None]:
    """Return the line as text, and the encoding that this file's lines outside UTF-8 have."""
    try:
        return line.decode(), encoding
    except UnicodeDecodeError:
        pass
    if encoding is None:
        # What follows in the buffer is of the same file and tells more than one line.
        ahead = stream.peek(_SAMPLE_BYTES)[:_SAMPLE_BYTES]
        encoding = find_encoding(line + ahead[: ahead.rfind(b"\n") + 1])
    try:
        return line.decode(encoding), encoding
    except (UnicodeDecodeError, LookupError):
        raise UnreadableEncodingError(f"it is no UTF-8 and no {encoding}") from None


def _leniently(text: str, place: str) -> object:
    """Parse what the fast parser refuses and the standard library can read: lone surrogates."""
    try:
        return json.loads(text, strict=False, parse_constant=_no_constant)
    except RecursionError:
        return _malformed(place, "it is nested too deeply")
    except json.JSONDecodeError as failure:
        return _malformed(place, f"{failure.msg} at character {failure.pos + 1}")
    except ValueError as failure:
        return _malformed(place, str(failure))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _malformed(place: str, detail: str) -> Reject:
    return Reject(place, "malformed_json", f"the line is not read as JSON: {detail}; correct it")


def _too_long(place: str, limit: int) -> Reject:
    return Reject(
        place,
        "line_too_long",
        f"the line is longer than {limit} bytes; split the document or raise the limit",
    )


def _skip_line(stream: io.BufferedReader) -> None:
    while (rest := stream.readline(_SKIP_BYTES)) and not rest.endswith(b"\n"):
        pass


def _read_wide(
    stream: io.BufferedReader, name: str, settings: ReaderSettings, marked: tuple[str, int]
) -> Iterator[SourceDocument | Reject]:
    """Read lines of UTF-16 or UTF-32, whose line ends are more than one byte."""
    encoding, mark_bytes = marked
    stream.read(mark_bytes)
    # Lone surrogates pass here, as they do in escapes: they are replaced and counted later.
    lines = io.TextIOWrapper(stream, encoding=encoding, errors="surrogatepass", newline="\n")
    try:
        yield from _wide_lines(lines, name, settings)
    finally:
        lines.detach()


def _wide_lines(
    lines: io.TextIOWrapper, name: str, settings: ReaderSettings
) -> Iterator[SourceDocument | Reject]:
    limit = max(1, settings.max_line_bytes // 4)
    number = 0
    while True:
        number += 1
        place = f"{name}:{number}"
        try:
            line = lines.readline(limit + 1)
        except UnicodeDecodeError:
            yield Reject(
                place,
                "unreadable_encoding",
                f"it is no valid {lines.encoding} from here on; save it as UTF-8 and try again",
            )
            return
        if not line:
            return
        if len(line) > limit and not line.endswith("\n"):
            while (rest := lines.readline(limit)) and not rest.endswith("\n"):
                pass
            yield _too_long(place, settings.max_line_bytes)
            continue
        if line.isspace():
            continue
        fields = _leniently(line, place)
        if isinstance(fields, dict):
            yield document_of(fields, tenant=settings.tenant, place=place)
        elif isinstance(fields, Reject):
            yield fields
        else:
            yield _malformed(place, _NO_OBJECT)
