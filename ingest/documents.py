"""What producers send: documents, and what could not be read of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from logicalrag.engines.protocol import DEFAULT_TENANT

ReasonCode = Literal[
    "bad_field",
    "bad_id",
    "bad_metadata",
    "damaged_file",
    "document_too_large",
    "duplicate_id",
    "encrypted_file",
    "line_too_long",
    "malformed_json",
    "malformed_row",
    "missing_id",
    "missing_text",
    "nested_too_deeply",
    "no_such_file",
    "no_text",
    "not_storable",
    "unknown_document",
    "unreadable_encoding",
    "unreadable_file",
    "unsafe_archive",
    "unsupported_type",
    "version_conflict",
    "wrong_tenant",
]

MAX_ID_BYTES = 8_192
MAX_TITLE_BYTES = 8_192
MAX_VERSION = 2**62
_NO_METADATA: Mapping[str, object] = MappingProxyType({})


class SourceDocument(NamedTuple):
    """One document as its producer sent it; a named tuple, as they come by the hundred thousand.

    Args:
        id: the producer's id, 1 to `MAX_ID_BYTES` bytes of UTF-8; unique within the tenant.
        title: at most `MAX_TITLE_BYTES`; may be empty.
        text: the whole text; passage offsets count its code points.
        metadata: anything JSON can say; part of the content hash.
        tenant: the owner.
        access: groups that may see it; None means all of the tenant, an empty tuple nobody.
        version: the producer's integer, 0 to `MAX_VERSION`; None lets the ledger assign the next.
        place: where it was read, for messages, as ``folder/file.jsonl:17``.
        parts: start code points, rising, and labels such as ``page 3`` or ``row 17``, from which
            each passage has its location; part of the content hash.
        parts_apart: whether no chunk may hold text of two parts, as with the rows of a table.
    """

    id: str
    title: str
    text: str
    metadata: Mapping[str, object] = _NO_METADATA
    tenant: str = DEFAULT_TENANT
    access: tuple[str, ...] | None = None
    version: int | None = None
    place: str = ""
    parts: tuple[tuple[int, str], ...] = ()
    parts_apart: bool = False


@dataclass(frozen=True, slots=True)
class Reject:
    """One document, line or file that was not indexed, and why.

    Args:
        place: where it stands, as ``notes/a.jsonl:17``.
        reason: one of `ReasonCode`.
        message: one sentence that says what is wrong and what to do.
        document_id: the document's id where it is known, else empty.
    """

    place: str
    reason: ReasonCode
    message: str
    document_id: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}: {self.message}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that was passed over on purpose: `place`, and why in a few words."""

    place: str
    why: Literal["hidden", "unknown suffix", "symbolic link to a folder", "not a regular file"]
