"""What every reader is told."""

from __future__ import annotations

from dataclasses import dataclass

from logicalrag.engines.protocol import DEFAULT_TENANT

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """How sources are read.

    Args:
        tenant: the owner of documents that name none.
        encoding: a Python codec name for files without a byte-order mark; None finds it out.
        max_line_bytes: a longer line of JSONL is a reject; at least 1.
        max_file_bytes: a larger text, Markdown, HTML or CSV file is a reject; at least 1.
    """

    tenant: str = DEFAULT_TENANT
    encoding: str | None = None
    max_line_bytes: int = 64 * MIB
    max_file_bytes: int = 50 * MIB
