"""DOCX and EPUB: text in reading order, headings as parts, and packages that lie."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from docx import Document
from docx.document import Document as WordDocument
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from ingest.documents import SourceDocument
from ingest.readers.settings import MIB, ReaderSettings
from tests.unit.ingest_files import CONTAINER, epub, read, reasons, zipped

BOMB = '<!DOCTYPE x [<!ENTITY a "lol lol lol lol lol">'
for name, after in pairwise("abcdefghij"):
    BOMB += f'<!ENTITY {after} "' + f"&{name};" * 10 + '">'
BOMB += "]>"


def _docx(fill: Callable[[WordDocument], object]) -> bytes:
    document = Document()
    fill(document)
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()


def _replaced(package: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """Return the package with `old` as `new` in one of its members."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        members: dict[str, bytes | str] = {each: archive.read(each) for each in archive.namelist()}
    content = members[name]
    assert isinstance(content, bytes)
    assert old in content
    members[name] = content.replace(old, new)
    return zipped(members)


def _one(folder: Path, name: str, data: bytes) -> SourceDocument:
    [document], rejects, skipped = read(folder, {name: data})
    assert (rejects, skipped) == ([], [])
    return document


class TestWord:
    def test_the_body_in_order_with_headings_as_parts(self, tmp_path: Path) -> None:
        def fill(document: WordDocument) -> None:
            document.core_properties.title = " The  report "
            document.add_paragraph("Before any heading.")
            document.add_heading("Intro", 1)
            paragraph = document.add_paragraph("One ")
            paragraph.add_run("bo").bold = True
            paragraph.add_run("ld\tword\nnext line")
            table = document.add_table(2, 2)
            for number, word in enumerate(("a b", "c", "e", "f")):
                table.cell(number // 2, number % 2).text = word
            table.cell(0, 1).add_paragraph("d")
            document.add_heading("End", 2)
            document.add_paragraph("Last.")
            document.sections[0].header.paragraphs[0].text = "Confidential"

        document = _one(tmp_path, "r.docx", _docx(fill))
        assert document.title == "The report"
        text = document.text
        assert text == (
            "Before any heading.\n\nIntro\n\nOne bold\tword\nnext line\n\n"
            "a b\tc d\ne\tf\n\nEnd\n\nLast.\n\nConfidential"
        )
        assert document.parts == (
            (text.index("Intro"), "Intro"),
            (text.index("End"), "End"),
            (text.index("Confidential"), "header"),
        )

    def test_without_a_title_the_first_heading_or_the_name_is_it(self, tmp_path: Path) -> None:
        made = _docx(lambda document: document.add_heading("Heading", 1))
        assert _one(tmp_path, "r.docx", made).title == "Heading"

        def fill(document: WordDocument) -> None:
            document.add_paragraph("words")
            document.sections[0].footer.paragraphs[0].text = "Page"

        assert _one(tmp_path, "r.docx", _docx(fill)).title == "r"

    def test_content_controls_count_and_deletions_do_not(self, tmp_path: Path) -> None:
        def fill(document: WordDocument) -> None:
            control = OxmlElement("w:sdt")
            content = OxmlElement("w:sdtContent")
            control.append(content)
            paragraph = document.add_paragraph("In a control.")._p
            paragraph.addprevious(control)
            content.append(paragraph)
            deleted = OxmlElement("w:moveFrom")
            other = document.add_paragraph("Kept.")._p
            other.addprevious(deleted)
            deleted.append(document.add_paragraph("Moved away.")._p)
            tabs = OxmlElement("w:tabs")
            tab = OxmlElement("w:tab")
            tab.set(qn("w:val"), "left")
            tabs.append(tab)
            other.get_or_add_pPr().append(tabs)

        assert _one(tmp_path, "r.docx", _docx(fill)).text == "In a control.\n\nKept."

    def test_an_empty_document_has_no_text(self, tmp_path: Path) -> None:
        assert _one(tmp_path, "r.docx", _docx(lambda _: None)).text == ""

    def test_hostile_and_damaged_packages_are_refused(self, tmp_path: Path) -> None:
        whole = _docx(lambda document: document.add_paragraph("words"))
        main = "word/document.xml"
        files = {
            "a.docx": whole[:-200],
            "b.docx": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500,
            "c.docx": zipped({"x.xml": "<x/>"}),
            "d.docx": _replaced(whole, main, b"</w:body>", b""),
            "e.docx": _replaced(whole, main, b"<w:body>", b"<w:body>" + b" " * (12 * MIB)),
            "f.docx": _replaced(whole, main, b"<w:body>", b"<w:body>" + b"<w:x>" * 9_000),
            "g.docx": _replaced(whole, "_rels/.rels", b">", b">" + b" " * (9 * MIB)),
            "h.docx": whole,
        }
        documents, rejects, _ = read(tmp_path, files)
        assert [each.id for each in documents] == ["h.docx"]
        assert reasons(rejects, tmp_path) == [
            ("a.docx", "damaged_file"),
            ("b.docx", "encrypted_file"),
            ("c.docx", "damaged_file"),
            ("d.docx", "damaged_file"),
            ("e.docx", "unsafe_archive"),
            ("f.docx", "damaged_file"),
            ("g.docx", "unsafe_archive"),
        ]

    def test_entities_are_not_expanded(self, tmp_path: Path) -> None:
        secret = tmp_path.parent / "secret.txt"
        secret.write_text("secret")
        whole = _docx(lambda document: document.add_paragraph("words"))
        outside = f'<!DOCTYPE x [<!ENTITY o SYSTEM "{secret.as_uri()}">]>'
        main = "word/document.xml"
        files: dict[str, bytes] = {}
        for name, entities, entity in (("a", BOMB, b"&j;"), ("b", outside, b"&o;")):
            made = _replaced(whole, main, b"<w:t>", b"<w:t>some<!-- no --> " + entity)
            made = _replaced(made, main, b"<w:document ", f"{entities}<w:document ".encode())
            files[f"{name}.docx"] = made
        documents, rejects, _ = read(tmp_path, files)
        assert [each.text for each in documents] == ["some words"]
        assert reasons(rejects, tmp_path) == [("a.docx", "damaged_file")]

    def test_the_text_and_the_parts_are_bounded(self, tmp_path: Path) -> None:
        made = _docx(lambda document: document.add_paragraph("word " * 30_000))
        _, rejects, _ = read(tmp_path, {"a.docx": made}, ReaderSettings(max_file_bytes=100_000))
        assert reasons(rejects, tmp_path) == [("a.docx", "document_too_large")]
        _, rejects, _ = read(tmp_path, {}, ReaderSettings(max_package_bytes=len(made)))
        assert reasons(rejects, tmp_path) == [("a.docx", "unsafe_archive")]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_xml_is_bounded_whatever_its_part_is_called(
        self, tmp_path: Path, encoding: str
    ) -> None:
        package = zipfile.ZipFile(io.BytesIO(_docx(lambda document: document.add_paragraph("x"))))
        members = {name: package.read(name) for name in package.namelist()}
        main = members.pop("word/document.xml").decode().replace("UTF-8", encoding.upper())
        for name in ("[Content_Types].xml", "_rels/.rels"):
            members[name] = members[name].replace(b"word/document.xml", b"word/document.png")
        members["word/_rels/document.png.rels"] = members.pop("word/_rels/document.xml.rels")
        limit = 2 * sum(map(len, (main, *members.values())))  # UTF-16 doubles them at most
        for paragraphs, refused in ((0, []), (limit // 6, [("a.docx", "document_too_large")])):
            text = main.replace("<w:body>", "<w:body>" + "<w:p/>" * paragraphs)
            made = zipped({**members, "word/document.png": text.encode(encoding)})
            _, rejects, _ = read(tmp_path, {"a.docx": made}, ReaderSettings(max_file_bytes=limit))
            assert reasons(rejects, tmp_path) == refused


class TestBook:
    def test_chapters_are_parts_in_the_order_of_the_spine(self, tmp_path: Path) -> None:
        chapters = {
            "z%20one.xhtml": "<html><head><title>Book</title></head><body>"
            "<h2>Chapter <i>One</i></h2><p>First.</p></body></html>",
            "empty.xhtml": "<html><body><img src='x'/></body></html>",
            "a.xhtml": "<html><body><p>Second &amp; last.</p></body></html>",
        }
        made = epub(chapters, title="The Book")
        made = zipped(
            {
                each.filename.replace("z%20one", "z one"): zipfile.ZipFile(io.BytesIO(made)).read(
                    each
                )
                for each in zipfile.ZipFile(io.BytesIO(made)).infolist()
            }
        )
        document = _one(tmp_path, "b.epub", made)
        assert document.title == "The Book"
        assert document.text == "Chapter One\n\nFirst.\n\nSecond & last."
        assert document.parts == ((0, "Chapter One"), (21, "section 3"))

    def test_hostile_and_damaged_books_are_refused(self, tmp_path: Path) -> None:
        page = "<p>words</p>"
        locked = (
            '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
            '<e:CipherReference URI="OEBPS/c.xhtml"/></encryption>'
        )
        fonts = locked.replace("c.xhtml", "font.otf")
        entities = BOMB + "<x>&j;</x>"
        whole = epub({"c.xhtml": page})
        files = {
            "a.epub": whole[:300],
            "b.epub": zipped({"META-INF/container.xml": "<x"}),
            "c.epub": zipped({"META-INF/container.xml": CONTAINER}),
            "d.epub": epub({"c.xhtml": page}, more={"META-INF/encryption.xml": locked}),
            "e.epub": epub({"c.xhtml": page}, more={"META-INF/encryption.xml": fonts}),
            "f.epub": epub({"../../../etc/passwd": page}),
            "g.epub": epub({"c.xhtml": page, "d.xhtml": "0" * (12 * MIB)}),
            "h.epub": zipped({}),
            "i.epub": epub({"c.xhtml": page}, more={"META-INF/encryption.xml": entities}),
        }
        documents, rejects, _ = read(tmp_path, files)
        assert [(each.id, each.text) for each in documents] == [("e.epub", "words")]
        assert reasons(rejects, tmp_path) == [
            ("a.epub", "damaged_file"),
            ("b.epub", "damaged_file"),
            ("c.epub", "damaged_file"),
            ("d.epub", "encrypted_file"),
            ("f.epub", "damaged_file"),
            ("g.epub", "unsafe_archive"),
            ("h.epub", "damaged_file"),
            ("i.epub", "damaged_file"),
        ]

    def test_a_chapter_is_read_once_however_often_the_spine_names_it(self, tmp_path: Path) -> None:
        reference = b'<itemref idref="c0"/>'
        made = _replaced(epub({"c.xhtml": "words"}), "OEBPS/book.opf", reference, reference * 9)
        assert _one(tmp_path, "b.epub", made).text == "words"

    def test_the_text_is_bounded(self, tmp_path: Path) -> None:
        chapters = {f"{n}.xhtml": f"<p>{n}{'word ' * 20}</p>" for n in range(20)}
        _, rejects, _ = read(
            tmp_path, {"a.epub": epub(chapters)}, ReaderSettings(max_file_bytes=2_000)
        )
        assert reasons(rejects, tmp_path) == [("a.epub", "document_too_large")]
