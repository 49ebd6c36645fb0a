"""Files of every kind into documents: each to its reader, and what one refuses into a reject.

A container's reader is handed `Dispatch.member`, so that what it holds is read as if it lay on
disk, a level deeper. Readers are imported by who meets such a file: their libraries take from
tens of milliseconds to a tenth of a second.
"""

from __future__ import annotations

import io
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from ingest.documents import Reject, Skipped, SourceDocument
from ingest.readers.delimited import read_delimited
from ingest.readers.encoding import UnreadableEncodingError, decode
from ingest.readers.fields import id_problem
from ingest.readers.jsonl import read_jsonl
from ingest.readers.kinds import KINDS, Kind, is_gzip, kind_of
from ingest.readers.settings import ReaderSettings
from ingest.readers.source import Items, OnSkip, RefusedError, Source, read_all, seekable
from ingest.readers.text import text_document
from ingest.sanitising import sanitised

if TYPE_CHECKING:
    from ingest.readers.pdf import PdfReader

_PACKED_KINDS = " ".join((*KINDS, "or one of them with .gz"))


class TextReader(Protocol):
    """Makes one document of one file's text."""

    def __call__(
        self, text: str, *, identity: str, stem: str, tenant: str, place: str
    ) -> SourceDocument:
        """Return the document; `stem` is its title where the text has none."""
        ...


class Dispatch:
    """Reads the files of one run; a context manager, which ends the process that reads PDFs.

    Args:
        settings: for every reader.
        on_skip: told of what containers hold and nobody reads.
    """

    def __init__(self, settings: ReaderSettings, on_skip: OnSkip) -> None:
        self._settings = settings
        self._on_skip = on_skip
        self._seen: dict[str, str] = {}
        self._pdf: PdfReader | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pdf is not None:
            self._pdf.close()

    def read(self, source: Source, stream: io.BufferedReader, kind: Kind | None) -> Items:
        """Yield the documents of one file, or rejects; a file without any is a reject too.

        Args:
            stream: at the file's beginning; a file on disk, or one that need not seek.
            kind: None takes what the name says.
        """
        kind = kind or kind_of(source.name)
        try:
            if kind is None:
                raise RefusedError(
                    "unsupported_type", f"it is none of {_PACKED_KINDS}; convert it to one"
                )
            if is_gzip(source.name):
                from ingest.readers.unpacking import unpacked_gzip

                if kind == "zip":
                    raise _too_deep()
                stream = unpacked_gzip(stream, self._settings)
            yield from self._documents(source, stream, kind)
        except RefusedError as refused:
            yield Reject(source.place, refused.reason, refused.message, refused.document_id)
        except UnreadableEncodingError as failure:
            yield Reject(source.place, "unreadable_encoding", str(failure))

    def member(self, source: Source, stream: io.BufferedReader) -> Items:
        """Yield the documents of a file in a container; see `ReadMember`."""
        kind = kind_of(source.name)
        if kind is None:
            self._on_skip(Skipped(source.place, "unknown suffix"))
        elif source.containers > self._settings.max_nesting or (kind == "zip" and source.archives):
            refused = _too_deep()
            yield Reject(source.place, refused.reason, refused.message)
        else:
            yield from self.read(source, stream, kind)

    def _documents(self, source: Source, stream: io.BufferedReader, kind: Kind) -> Items:
        settings, place = self._settings, source.place
        if kind == "jsonl":
            return _never_none(read_jsonl(stream, place, settings), place)
        if kind in ("csv", "tsv"):
            text = decode(read_all(stream, settings.max_file_bytes), named=settings.encoding)
            delimiter = "," if kind == "csv" else "\t"
            rows = read_delimited(text, source, settings, self._claim, delimiter=delimiter)
            return _never_none(rows, place)
        if kind == "mbox":
            from ingest.readers.mbox import read_mbox

            return _never_none(read_mbox(source, stream, settings, self.member), place)
        if kind == "zip":
            from ingest.readers.archive import read_archive

            content = seekable(stream, settings, settings.max_archive_bytes)
            members = read_archive(source, content, settings, self.member, self._on_skip)
            return _never_none(members, place)
        self._claim(source)
        if kind in ("mail", "pdf"):
            content = seekable(stream, settings, settings.max_package_bytes)
            if kind == "pdf":
                return self._pdf_reader().read(source, content)
            from ingest.readers.mail import read_mail

            return read_mail(source, content.read(), settings, self.member)
        return iter([self._document(source, stream, kind)])

    def _document(self, source: Source, stream: io.BufferedReader, kind: Kind) -> SourceDocument:
        settings = self._settings
        if kind in ("word", "ebook"):
            content = seekable(stream, settings, settings.max_package_bytes)
            if kind == "word":
                from ingest.readers.word import word_document

                return word_document(source, content, settings)
            from ingest.readers.ebook import ebook_document

            return ebook_document(source, content, settings)
        data = read_all(stream, settings.max_file_bytes)
        declared = None
        document_of: TextReader = text_document
        if kind == "html":
            from ingest.readers.webpage import declared_encoding, html_document

            declared, document_of = declared_encoding(data), html_document
        elif kind == "markdown":
            from ingest.readers.markdown import markdown_document

            document_of = markdown_document
        return document_of(
            decode(data, named=settings.encoding, declared=declared),
            identity=source.identity,
            stem=source.stem,
            tenant=settings.tenant,
            place=source.place,
        )

    def _claim(self, source: Source) -> None:
        """Take the source's name as the id of a document.

        Raises:
            RefusedError: it cannot be one, or another file of this run has taken it: two files
                are a document and a reject then, never a silent loss.
        """
        identity = source.identity
        if (wrong := id_problem(identity)) is not None:
            raise RefusedError("bad_id", f"its path is its id: {wrong}")
        if (other := self._seen.setdefault(identity, source.origin)) != source.origin:
            raise RefusedError(
                "duplicate_id",
                f'"{identity}" is the id of {sanitised(other)} too; '
                "ingest a folder that holds both",
                identity,
            )

    def _pdf_reader(self) -> PdfReader:
        if self._pdf is None:
            from ingest.readers.pdf import PdfReader

            self._pdf = PdfReader(self._settings)
        return self._pdf


def _never_none(items: Items, place: str) -> Items:
    """Yield `items`, or a reject where there are none: an empty file is no success."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        yield Reject(place, "no_text", "the file holds no document")


def _too_deep() -> RefusedError:
    return RefusedError(
        "nested_too_deeply", "it lies in too many archives or mails; unpack it yourself"
    )
