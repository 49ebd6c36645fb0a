"""CSV and TSV: the first row names the columns, each further row is one document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from ingest.documents import Reject, SourceDocument
from ingest.readers.fields import document_of
from ingest.readers.settings import ReaderSettings

_MAX_FIELD_CODE_POINTS = 2**31 - 1


def read_delimited(
    text: str, name: str, settings: ReaderSettings, *, delimiter: str
) -> Iterator[SourceDocument | Reject]:
    """Yield each row's document in order, or a reject that names the line it ends on.

    The columns ``id`` and ``text`` are needed, ``title`` and ``tenant`` are known; all others
    become metadata.
    """
    csv.field_size_limit(_MAX_FIELD_CODE_POINTS)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        try:
            row = next(rows, None)
        except csv.Error as failure:
            place = f"{name}:{rows.line_num}"
            yield Reject(place, "malformed_row", f"the row is not read: {failure}; correct it")
            continue
        if row is None:
            return
        if not row:
            continue
        if not header:
            header = [column.strip() for column in row]
            if not {"id", "text"} <= set(header):
                yield Reject(
                    name, "malformed_row", 'the first row has no "id" and "text"; name the columns'
                )
                return
            continue
        place = f"{name}:{rows.line_num}"
        if len(row) != len(header):
            yield Reject(
                place,
                "malformed_row",
                f"the row has {len(row)} fields where the first has {len(header)}; correct it",
            )
            continue
        yield document_of(_fields(header, row), tenant=settings.tenant, place=place)


def _fields(header: list[str], row: list[str]) -> dict[str, object]:
    named = dict(zip(header, row, strict=True))
    fields: dict[str, object] = {"id": named.pop("id"), "text": named.pop("text")}
    fields["title"] = named.pop("title", "")
    if tenant := named.pop("tenant", ""):
        fields["tenant"] = tenant
    if named:
        fields["metadata"] = named
    return fields
