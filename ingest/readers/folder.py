"""Paths into documents: folders, patterns, single files and standard input, in a set order."""

from __future__ import annotations

import glob
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Protocol

from ingest.documents import Reject, Skipped, SourceDocument
from ingest.readers.delimited import read_delimited
from ingest.readers.encoding import UnreadableEncodingError, byte_order_mark, decode
from ingest.readers.fields import id_problem
from ingest.readers.jsonl import read_jsonl
from ingest.readers.settings import ReaderSettings
from ingest.readers.text import text_document
from ingest.sanitising import sanitised

STANDARD_INPUT = "-"
_BUFFER_BYTES = 1024 * 1024
_KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".csv": "csv",
    ".tsv": "tsv",
}

OnSkip = Callable[[Skipped], None]


class DocumentReader(Protocol):
    """Makes one document of one file's text."""

    def __call__(
        self, text: str, *, identity: str, stem: str, tenant: str, place: str
    ) -> SourceDocument:
        """Return the document; `stem` is its title where the text has none."""
        ...


def read_paths(
    paths: Iterable[str],
    settings: ReaderSettings,
    *,
    standard_input: io.BufferedReader | None = None,
    on_skip: OnSkip = lambda _: None,
) -> Iterator[SourceDocument | Reject]:
    """Yield the documents of all `paths` in order; a folder's files by name, then its subfolders.

    Args:
        paths: folders (read recursively), files, patterns with ``*``, ``?``, ``[`` or ``**``,
            and ``-`` for standard input, which is JSONL where it begins with ``{``, else text.
        standard_input: what ``-`` reads.
        on_skip: told of each file or folder that is passed over: hidden ones, unknown suffixes,
            symbolic links to folders (they may lead in circles), and what is no regular file.

    The id of a text, Markdown or HTML document is its path relative to the folder given (or to
    the part of a pattern before its first wildcard), with ``/``; of a single file, its name.
    Two files of one run with the same id are one document and a reject, never a silent loss.
    """
    seen: dict[str, str] = {}
    for path in paths:
        if path == STANDARD_INPUT:
            if standard_input is not None:
                yield from _read_standard_input(standard_input, settings)
            continue
        if os.path.isdir(path):
            files = _walk(path, path, on_skip)
        elif not os.path.lexists(path) and glob.has_magic(path):
            files = _matches(path, on_skip)
        else:
            files = iter([(path, os.path.basename(path))])
        found = False
        for file, relative in files:
            found = True
            if not relative:
                yield Reject(
                    printable(file),
                    "unreadable_file",
                    "the folder cannot be read; check its rights",
                )
                continue
            kind = _KINDS.get(Path(file).suffix.lower())
            if kind is None and not Path(file).suffix:
                kind = "text"  # only a file that was named reaches here without a suffix
            yield from _read_file(file, relative, kind, settings, seen)
        if not found and not os.path.isdir(path):
            yield Reject(
                path, "no_such_file", "no file matches this pattern; check it, and quote it"
            )


def _walk(top: str, base: str, on_skip: OnSkip) -> Iterator[tuple[str, str]]:
    """Yield (path, path relative to `base`) of the files to read below `top`."""

    def unreadable(failure: OSError) -> None:
        failures.append(failure)

    failures: list[OSError] = []
    for folder, subfolders, names in os.walk(top, onerror=unreadable):
        for failure in failures:
            yield str(failure.filename), ""
        failures.clear()
        subfolders.sort()
        for name in list(subfolders):
            path = os.path.join(folder, name)
            if name.startswith("."):
                on_skip(Skipped(printable(path), "hidden"))
            elif os.path.islink(path):
                on_skip(Skipped(printable(path), "symbolic link to a folder"))
            else:
                continue
            subfolders.remove(name)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if _wanted(path, on_skip):
                yield path, os.path.relpath(path, base)
    for failure in failures:
        yield str(failure.filename), ""


def _matches(pattern: str, on_skip: OnSkip) -> Iterator[tuple[str, str]]:
    parts = Path(pattern).parts
    fixed = 0
    while fixed < len(parts) and not glob.has_magic(parts[fixed]):
        fixed += 1
    base = os.path.join(*parts[:fixed]) if fixed else "."
    for path in sorted(glob.iglob(pattern, recursive=True)):
        if os.path.isfile(path) and _wanted(path, on_skip):
            yield path, os.path.relpath(path, base)


def _wanted(path: str, on_skip: OnSkip) -> bool:
    if os.path.basename(path).startswith("."):
        on_skip(Skipped(printable(path), "hidden"))
    elif Path(path).suffix.lower() not in _KINDS:
        on_skip(Skipped(printable(path), "unknown suffix"))
    elif os.path.exists(path) and not os.path.isfile(path):
        on_skip(Skipped(printable(path), "not a regular file"))
    else:
        return True
    return False


def _read_file(
    file: str, relative: str, kind: str | None, settings: ReaderSettings, seen: dict[str, str]
) -> Iterator[SourceDocument | Reject]:
    place = printable(file)
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode):
            yield Reject(place, "unreadable_file", "it is no regular file; name a file or a folder")
            return
        if kind is None:
            known = " ".join(_KINDS)
            yield Reject(place, "unsupported_type", f"it is none of {known}; convert it to one")
            return
        buffered: io.BufferedReader = io.BufferedReader(io.FileIO(file), _BUFFER_BYTES)
        with buffered as stream:
            if kind == "jsonl":
                yield from _never_none(read_jsonl(stream, place, settings), place)
                return
            data = stream.read(settings.max_file_bytes + 1)
    except FileNotFoundError:
        yield Reject(place, "no_such_file", "there is no such file; check the path")
        return
    except OSError as failure:
        wrong = failure.strerror or type(failure).__name__
        yield Reject(place, "unreadable_file", f"it cannot be read ({wrong}); check its rights")
        return
    if len(data) > settings.max_file_bytes:
        yield _too_large(place, settings)
        return
    name = PurePosixPath(*Path(relative).parts)
    yield from _parse(data, kind, place, name, settings, seen, origin=os.path.realpath(file))


def _never_none(
    items: Iterable[SourceDocument | Reject], place: str
) -> Iterator[SourceDocument | Reject]:
    """Yield `items`, or a reject where there are none: an empty file is no success."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        yield Reject(place, "no_text", "the file holds no document")


def _parse(
    data: bytes,
    kind: str,
    place: str,
    relative: PurePosixPath,
    settings: ReaderSettings,
    seen: dict[str, str],
    *,
    origin: str,
) -> Iterator[SourceDocument | Reject]:
    try:
        declared = _declared_encoding(data) if kind == "html" else None
        text = decode(data, named=settings.encoding, declared=declared)
    except UnreadableEncodingError as failure:
        yield Reject(place, "unreadable_encoding", str(failure))
        return
    if kind in ("csv", "tsv"):
        delimiter = "," if kind == "csv" else "\t"
        rows = read_delimited(text, place, settings, delimiter=delimiter)
        yield from _never_none(rows, place)
        return
    identity = printable(str(relative))
    if (wrong := id_problem(identity)) is not None:
        yield Reject(place, "bad_id", f"its path is its id: {wrong}")
        return
    if (other := seen.setdefault(identity, origin)) != origin:
        yield Reject(
            place,
            "duplicate_id",
            f'"{identity}" is the id of {printable(other)} too; ingest a folder that holds both',
            identity,
        )
        return
    stem = printable(relative.stem)
    document_of = _document_reader(kind)
    yield document_of(text, identity=identity, stem=stem, tenant=settings.tenant, place=place)


# The parsers take a tenth of a second to import: only who has such files waits for them.


def _declared_encoding(data: bytes) -> str | None:
    from ingest.readers.webpage import declared_encoding

    return declared_encoding(data)


def _document_reader(kind: str) -> DocumentReader:
    if kind == "html":
        from ingest.readers.webpage import html_document

        return html_document
    if kind == "markdown":
        from ingest.readers.markdown import markdown_document

        return markdown_document
    return text_document


def _read_standard_input(
    stream: io.BufferedReader, settings: ReaderSettings
) -> Iterator[SourceDocument | Reject]:
    place = "standard input"
    head = stream.peek(4096)
    mark = byte_order_mark(head)
    begins = head[mark[1] :] if mark else head
    if begins.replace(b"\0", b"").lstrip()[:1] == b"{":
        yield from read_jsonl(stream, place, settings)
        return
    data = stream.read(settings.max_file_bytes + 1)
    if len(data) > settings.max_file_bytes:
        yield _too_large(place, settings)
        return
    yield from _parse(data, "text", place, PurePosixPath("stdin"), settings, {}, origin="-")


def _too_large(place: str, settings: ReaderSettings) -> Reject:
    return Reject(
        place,
        "document_too_large",
        f"it is larger than {settings.max_file_bytes} bytes; split it or raise the limit",
    )


def printable(name: str) -> str:
    """Return a path as text that can be stored: bytes of its name that are no UTF-8 as U+FFFD."""
    return sanitised(name)
