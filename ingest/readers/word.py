"""Word (DOCX): paragraphs, tables, notes, headers and footers; each heading begins a part.

python-docx opens the package; its paragraphs leave out content controls, text boxes and notes, so
the text is taken from the XML below them. Source: ECMA-376 part 1, chapter 17.
"""

from __future__ import annotations

import io
import zipfile
from typing import IO, cast

from docx import Document
from docx.document import Document as WordDocument
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import OpcError
from docx.opc.part import Part
from docx.oxml.exceptions import InvalidXmlError
from docx.oxml.parser import parse_xml
from lxml import etree  # type: ignore[import-untyped]  # ships no types

from ingest.documents import SourceDocument
from ingest.locations import label_of
from ingest.readers.parts import PartedText
from ingest.readers.plain import PlainText
from ingest.readers.settings import MIB, ReaderSettings
from ingest.readers.source import RefusedError, Source
from ingest.readers.unpacking import damage_told, open_member, open_package

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
# Formats, what was deleted or moved away, readings beside characters, and the second form of a
# text box.
_UNSEEN = frozenset(
    (
        f"{_W}pPr",
        f"{_W}del",
        f"{_W}moveFrom",
        f"{_W}rt",
        "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
    )
)
_CHARACTERS = {f"{_W}tab": "\t", f"{_W}noBreakHyphen": "-"}
_BREAKS = frozenset((f"{_W}br", f"{_W}cr"))
_APPENDED = (
    (RELATIONSHIP_TYPE.FOOTNOTES, "footnotes"),
    (RELATIONSHIP_TYPE.ENDNOTES, "endnotes"),
    (RELATIONSHIP_TYPE.HEADER, "header"),
    (RELATIONSHIP_TYPE.FOOTER, "footer"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# python-docx compares each relation with each part.
_MAX_PARTS = 10_000
_MAX_RELATION_BYTES = 8 * MIB
_HEAD_BYTES = 64
_NOT_OF_XML = b"\0 \t\r\n\xef\xbb\xbf\xfe\xff"  # blanks, byte-order marks, halves of UTF-16
# What python-docx and lxml raise for parts that are missing or not what they should be.
_DAMAGES = (
    AssertionError,
    AttributeError,
    InvalidXmlError,
    OpcError,
    RecursionError,
    TypeError,
    etree.LxmlError,
)


def word_document(
    source: Source, stream: io.BufferedIOBase, settings: ReaderSettings
) -> SourceDocument:
    """Return the document of a DOCX file; its parts are labelled with their headings.

    The title is that of its properties, else its first heading, else the file's name. Cells are
    parted by tabs. Notes, headers and footers follow the body, each different one once.

    Raises:
        RefusedError: it is encrypted, damaged or over a bound.
    """
    if stream.read(len(_OLE)) == _OLE:
        raise RefusedError(
            "encrypted_file",
            "it is encrypted, or of Word before 2007; save it as .docx without a password",
        )
    stream.seek(0)
    with open_package(stream, settings, _MAX_PARTS) as package:
        relations = [each for each in package.infolist() if each.filename.endswith(".rels")]
        if sum(each.file_size for each in relations) > _MAX_RELATION_BYTES:
            raise RefusedError("unsafe_archive", "it has too many relations; save it anew")
        parts = [each for each in package.infolist() if _may_be_xml(package, each, settings)]
        if sum(each.file_size for each in parts) > settings.max_file_bytes:
            limit = settings.max_file_bytes
            wrong = f"its text and formats are over {limit} bytes; split it or raise the limit"
            raise RefusedError("document_too_large", wrong)
    stream.seek(0)
    text = PartedText(settings.max_file_bytes)
    with damage_told(*_DAMAGES):
        document = Document(cast("IO[bytes]", stream))
        _add(text, document.element.body, "", _heading_styles(document))
        title = _title(document) or text.first_label or source.stem
        seen: set[str] = set()
        for kind, label in _APPENDED:
            for part in _related(document, kind):
                before = PartedText(settings.max_file_bytes)
                _add(before, parse_xml(part.blob), label, frozenset())
                if (found := str(before)) not in seen:
                    seen.add(found)
                    text.add(found, label)
    return SourceDocument(
        source.identity,
        title,
        str(text),
        tenant=settings.tenant,
        place=source.place,
        parts=text.parts,
    )


def _may_be_xml(
    package: zipfile.ZipFile, member: zipfile.ZipInfo, settings: ReaderSettings
) -> bool:
    # Parsed, it takes 25 times its size; and whatever its name, the package may call it text.
    with open_member(package, member, settings) as content:
        head = content.read(_HEAD_BYTES).translate(None, _NOT_OF_XML)
    return not head or head.startswith((b"<", b"Lo\xa7\x94"))  # the latter is EBCDIC


def _title(document: WordDocument) -> str:
    # Without properties the library makes some up.
    if not any(
        each.reltype == RELATIONSHIP_TYPE.CORE_PROPERTIES
        for each in document.part.package.rels.values()
    ):
        return ""
    return label_of(document.core_properties.title)


def _heading_styles(document: WordDocument) -> frozenset[str]:
    return frozenset(
        style.style_id
        for style in document.styles
        if (style.name or "").lower().startswith(("heading ", "title"))
    )


def _related(document: WordDocument, kind: str) -> list[Part]:
    relations = document.part.rels.values()
    found = [each.target_part for each in relations if each.reltype == kind]
    return sorted(found, key=lambda part: str(part.partname))


def _add(text: PartedText, root: etree._Element, label: str, headings: frozenset[str]) -> None:
    """Add what a reader sees of `root`, a part to each heading outside of tables and boxes."""
    plain = PlainText()
    heading = PlainText()
    paragraphs = cells = 0
    is_heading = follows_in_cell = False
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        starts = event == "start"
        if tag in _UNSEEN:
            if starts:
                walk.skip_subtree()
        elif tag == f"{_W}p":
            if starts:
                paragraphs += 1
                is_heading = paragraphs == 1 and not cells and _style(element) in headings
                if is_heading:
                    text.add(str(plain), label)
                    plain, heading = PlainText(), PlainText()
                elif paragraphs > 1:
                    plain.end_paragraph()
                elif follows_in_cell:
                    plain.add(" ")
                continue
            paragraphs -= 1
            if is_heading and (line := label_of(str(heading))):
                label = line
            is_heading = False
            follows_in_cell = cells > 0
            if not cells:
                plain.end_paragraph()
        elif tag == f"{_W}tc":
            cells += 1 if starts else -1
            follows_in_cell = False
            if not starts:
                plain.add("\t")
        elif starts:
            continue
        elif tag in (f"{_W}t", _MATH_TEXT):
            # What is in it beside text is a comment or an entity, which is not resolved.
            said = "".join((element.text or "", *(inner.tail or "" for inner in element)))
            plain.add(said)
            if is_heading:
                heading.add(said)
        elif tag in _CHARACTERS:
            plain.add(_CHARACTERS[tag])
        elif tag in _BREAKS:
            plain.break_line()
        elif tag == f"{_W}tr":
            plain.end_line()
        elif tag == f"{_W}tbl":
            plain.end_paragraph()
    text.add(str(plain), label)


def _style(paragraph: etree._Element) -> str | None:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return None if style is None else style.get(f"{_W}val")
