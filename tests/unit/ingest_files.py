"""Files of many kinds, made here byte by byte: what tests of readers are given."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ingest.documents import Reject, Skipped, SourceDocument
from ingest.readers.folder import read_paths
from ingest.readers.settings import ReaderSettings

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)


def pdf(pages: Iterable[Iterable[str]], *, title: str = "", encrypt: str = "") -> bytes:
    """Return a PDF with these lines of text on its pages; none makes a page without text.

    Args:
        encrypt: the body of an encryption dictionary, for a file no password of ours opens.
    """
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Title (" + title + ") >>"]
    objects.append(
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    )
    kids: list[int] = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        content = f"BT /F1 12 Tf 72 720 Td 14 TL {shown} ET"
        kids.append(len(objects) + 1)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 4 0 R >> >> /Contents {len(objects) + 2} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    references = " ".join(f"{kid} 0 R" for kid in kids)
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{references}] >>"
    trailer = f"/Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R"
    if encrypt:
        trailer += f" /Encrypt << {encrypt} >> /ID [<00> <00>]"
    out = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    return out + (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
        f"trailer << {trailer} >>\nstartxref\n{len(out)}\n%%EOF\n"
    ).encode("cp1252")


def zipped(members: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip file of these members, in this order."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def epub(
    chapters: Mapping[str, str], *, title: str = "", more: Mapping[str, str] | None = None
) -> bytes:
    """Return an EPUB file with these chapters, by file name, and `more` members."""
    items = "".join(
        f'<item id="c{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    members = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": opf}
    members |= {f"OEBPS/{name}": markup for name, markup in chapters.items()}
    return zipped({"mimetype": "application/epub+zip"} | members | dict(more or {}))


def read(
    folder: Path, files: Mapping[str, bytes], settings: ReaderSettings | None = None
) -> tuple[list[SourceDocument], list[Reject], list[Skipped]]:
    """Write `files` into `folder` and read it: documents, rejects (places relative), skips."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    skipped: list[Skipped] = []
    found = list(read_paths([str(folder)], settings or ReaderSettings(), on_skip=skipped.append))
    documents = [each for each in found if isinstance(each, SourceDocument)]
    rejects = [each for each in found if isinstance(each, Reject)]
    return documents, rejects, skipped


def reasons(rejects: Iterable[Reject], folder: Path) -> list[tuple[str, str]]:
    """Return each reject's place, relative to `folder`, and its reason."""
    return [(each.place.removeprefix(f"{folder}/"), each.reason) for each in rejects]
