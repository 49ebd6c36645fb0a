"""What every reader is told."""

from __future__ import annotations

from dataclasses import dataclass

from logicalrag.engines.protocol import DEFAULT_TENANT

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """How sources are read, and the bounds beyond which one is a reject; each at least 1.

    Args:
        tenant: the owner of documents that name none.
        encoding: a Python codec name for files without a byte-order mark; None finds it out.
        max_line_bytes: of one line of JSONL.
        max_file_bytes: of a text, Markdown, HTML or CSV file; of each file in an archive or mail,
            unpacked, JSONL apart; and, in code points, of the text of a PDF, DOCX or EPUB.
        max_package_bytes: of a PDF, DOCX or EPUB file or an e-mail with all it carries; and of
            what a DOCX or EPUB holds, unpacked.
        max_archive_bytes: of what a zip archive holds, unpacked.
        max_members: files in a zip archive, DOCX or EPUB.
        max_ratio: unpacked bytes to packed ones, beyond the first 10 MiB.
        max_pages: of a PDF.
        max_page_characters: code points of the text of one PDF page.
        max_pdf_seconds: for the text of one PDF.
        max_pdf_memory_bytes: of the process that reads PDFs.
        max_rows: of a table without the columns ``id`` and ``text``.
        max_cell_characters: code points of one cell of a table.
        max_nesting: archives and mails within each other; an archive in an archive is none.
    """

    tenant: str = DEFAULT_TENANT
    encoding: str | None = None
    max_line_bytes: int = 64 * MIB
    max_file_bytes: int = 50 * MIB
    max_package_bytes: int = 256 * MIB
    max_archive_bytes: int = 4096 * MIB
    max_members: int = 100_000
    max_ratio: int = 200
    max_pages: int = 10_000
    max_page_characters: int = 1_000_000
    max_pdf_seconds: float = 600.0
    max_pdf_memory_bytes: int = 2048 * MIB
    max_rows: int = 200_000
    max_cell_characters: int = 10_000_000
    max_nesting: int = 5
