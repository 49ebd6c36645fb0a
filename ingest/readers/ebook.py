"""E-books (EPUB): the chapters of the spine in reading order, each through the HTML reader.

Source: EPUB 3.3 (W3C), which says of EPUB 2 what is needed here too.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]  # ships no types

from ingest.documents import SourceDocument
from ingest.locations import label_of
from ingest.readers.encoding import decode
from ingest.readers.parts import PartedText
from ingest.readers.settings import ReaderSettings
from ingest.readers.source import RefusedError, Source, read_all
from ingest.readers.unpacking import open_member, open_package
from ingest.readers.webpage import chapter_of_html, declared_encoding

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_PAGES = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml"))


def ebook_document(
    source: Source, stream: io.BufferedIOBase, settings: ReaderSettings
) -> SourceDocument:
    """Return the document of an EPUB file.

    Its parts are the chapters, labelled with their first headings, else ``section 3`` by their
    place in the book. The title is that of its metadata, else the file's name.

    Raises:
        RefusedError: it is encrypted, damaged or over a bound.
        UnreadableEncodingError: a chapter's encoding cannot be told.
    """
    with open_package(stream, settings, settings.max_members) as package:
        book = _Book(package, settings)
        text = PartedText(settings.max_file_bytes)
        for number, name in enumerate(book.chapters, start=1):
            data = book.content(name)
            markup = decode(data, declared=declared_encoding(data))
            heading, chapter = chapter_of_html(markup)
            text.add(chapter, label_of(heading) or f"section {number}")
    return SourceDocument(
        source.identity,
        book.title or source.stem,
        str(text),
        tenant=settings.tenant,
        place=source.place,
        parts=text.parts,
    )


class _Book:
    """What the package says of itself: the title, and the chapters' names in reading order."""

    def __init__(self, package: zipfile.ZipFile, settings: ReaderSettings) -> None:
        self._package = package
        self._settings = settings
        self._names = frozenset(package.namelist())
        container = self._xml(_CONTAINER)
        root = container.find(".//{*}rootfile")
        opf = "" if root is None else unquote(root.get("full-path", ""))
        description = self._xml(opf)
        title = description.find(".//{http://purl.org/dc/elements/1.1/}title")
        self.title = "" if title is None else label_of("".join(title.itertext()))
        items = {item.get("id"): item for item in description.iterfind(".//{*}manifest/{*}item")}
        spine = (
            items.get(each.get("idref")) for each in description.iterfind(".//{*}spine/{*}itemref")
        )
        folder = posixpath.dirname(opf)
        # Each once, whatever the spine says: a short one may name a long chapter without end.
        self.chapters = dict.fromkeys(
            posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
            for item in spine
            if item is not None and item.get("media-type") in _PAGES
        )
        if self._encrypted() & self.chapters.keys():
            raise RefusedError(
                "encrypted_file", "its chapters are encrypted; get a copy without copy protection"
            )

    def content(self, name: str) -> bytes:
        if name not in self._names:
            raise _damaged(f"it has no file {label_of(name)!r}")
        with open_member(self._package, self._package.getinfo(name), self._settings) as content:
            return read_all(content, self._settings.max_file_bytes)

    def _xml(self, name: str) -> etree._Element:
        # Neither entities nor anything outside the file; libxml2 bounds depth and size.
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        try:
            return etree.fromstring(self.content(name), parser)
        except etree.LxmlError as failure:
            raise _damaged(str(failure)) from None

    def _encrypted(self) -> set[str]:
        if _ENCRYPTION not in self._names:
            return set()
        references = self._xml(_ENCRYPTION).iterfind(".//{*}CipherReference")
        return {unquote(each.get("URI", "")) for each in references}


def _damaged(detail: str) -> RefusedError:
    return RefusedError("damaged_file", f"it is not read as an EPUB file ({detail}); get it anew")
