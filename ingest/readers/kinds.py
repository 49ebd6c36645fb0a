"""Which kind of file a name says it is."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal

Kind = Literal[
    "jsonl", "text", "markdown", "html", "csv", "tsv", "pdf", "word", "ebook", "mail", "mbox", "zip"
]
KINDS: dict[str, Kind] = {
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
    ".pdf": "pdf",
    ".docx": "word",
    ".epub": "ebook",
    ".eml": "mail",
    ".mbox": "mbox",
    ".zip": "zip",
}
GZIP = ".gz"


def kind_of(name: PurePath) -> Kind | None:
    """Return the kind that a name's suffix stands for, below ``.gz`` too; None for others."""
    return KINDS.get(inner_name(name).suffix.lower())


def is_hidden(name: str) -> bool:
    """Return whether one part of a path is of a file or folder that people do not mean.

    Its name begins with a full stop, or with what Word marks a file by that it has open.
    """
    return name.startswith("~$") or (name.startswith(".") and name.strip(".") != "")


def is_gzip(name: PurePath) -> bool:
    """Return whether the name ends in ``.gz``."""
    return name.suffix.lower() == GZIP


def inner_name(name: PurePath) -> PurePath:
    """Return the name without ``.gz``."""
    return name.with_suffix("") if is_gzip(name) else name
