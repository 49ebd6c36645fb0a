"""Paths into documents: folders, patterns, single files and standard input, in a set order."""

from __future__ import annotations

import glob
import io
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from ingest.documents import Reject, Skipped, SourceDocument
from ingest.readers.dispatch import Dispatch
from ingest.readers.encoding import byte_order_mark
from ingest.readers.kinds import Kind, is_hidden, kind_of
from ingest.readers.settings import ReaderSettings
from ingest.readers.source import OnSkip, Source
from ingest.sanitising import sanitised

STANDARD_INPUT = "-"
_BUFFER_BYTES = 1024 * 1024


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

    The id of a document that has none of its own (lines of JSONL and rows of some tables do) is
    its path relative to the folder given (or to the part of a pattern before its first
    wildcard), with ``/``; of a single file, its name; in an archive or mail, below the name of
    that, as ``papers.zip/a.pdf``.
    Two files of one run with the same id are one document and a reject, never a silent loss.
    """
    with Dispatch(settings, on_skip) as dispatch:
        for path in paths:
            if path == STANDARD_INPUT:
                if standard_input is not None:
                    yield from _read_standard_input(standard_input, dispatch)
            else:
                yield from _read_path(path, dispatch, on_skip)


def _read_path(path: str, dispatch: Dispatch, on_skip: OnSkip) -> Iterator[SourceDocument | Reject]:
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
        # Only a file that was named reaches here without a suffix.
        kind: Kind | None = None if Path(file).suffix else "text"
        yield from _read_file(file, relative, kind, dispatch)
    if not found and not os.path.isdir(path):
        yield Reject(path, "no_such_file", "no file matches this pattern; check it, and quote it")


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
            if is_hidden(name):
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
    if is_hidden(os.path.basename(path)):
        on_skip(Skipped(printable(path), "hidden"))
    elif kind_of(Path(path)) is None:
        on_skip(Skipped(printable(path), "unknown suffix"))
    elif os.path.exists(path) and not os.path.isfile(path):
        on_skip(Skipped(printable(path), "not a regular file"))
    else:
        return True
    return False


def _read_file(
    file: str, relative: str, kind: Kind | None, dispatch: Dispatch
) -> Iterator[SourceDocument | Reject]:
    place = printable(file)
    name = PurePosixPath(*Path(relative).parts)
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            yield Reject(place, "unreadable_file", "it is no regular file; name a file or a folder")
            return
        buffered: io.BufferedReader = io.BufferedReader(io.FileIO(file), _BUFFER_BYTES)
        with buffered as stream:
            yield from dispatch.read(Source(name, place, os.path.realpath(file)), stream, kind)
    except FileNotFoundError:
        yield Reject(place, "no_such_file", "there is no such file; check the path")
    except OSError as failure:
        wrong = failure.strerror or type(failure).__name__
        yield Reject(place, "unreadable_file", f"it cannot be read ({wrong}); check its rights")


def _read_standard_input(
    stream: io.BufferedReader, dispatch: Dispatch
) -> Iterator[SourceDocument | Reject]:
    head = stream.peek(4096)
    mark = byte_order_mark(head)
    begins = head[mark[1] :] if mark else head
    is_jsonl = begins.replace(b"\0", b"").lstrip()[:1] == b"{"
    source = Source(PurePosixPath("stdin"), "standard input", STANDARD_INPUT)
    yield from dispatch.read(source, stream, "jsonl" if is_jsonl else "text")


def printable(name: str) -> str:
    """Return a path as text that can be stored: bytes of its name that are no UTF-8 as U+FFFD."""
    return sanitised(name)
