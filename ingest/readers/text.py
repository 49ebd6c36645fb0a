"""Plain text: one file, one document."""

from __future__ import annotations

from ingest.documents import SourceDocument


def text_document(
    text: str, *, identity: str, stem: str, tenant: str, place: str
) -> SourceDocument:
    """Return the document of a plain text file; its title is the file's `stem`.

    Line ends become ``\\n``, as the other readers give them.
    """
    return SourceDocument(identity, stem, with_line_feeds(text), tenant=tenant, place=place)


def with_line_feeds(text: str) -> str:
    """Return `text` with CR LF and CR as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
