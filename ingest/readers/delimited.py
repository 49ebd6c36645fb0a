"""CSV and TSV: the first row names the columns; the others are documents, or parts of one.

A table with the columns ``id`` and ``text`` is a list of documents. Any other is one document:
its rows have no identity that outlives an inserted row, and as documents of their own they would
stay behind when the table shrinks. Each row is a passage of its own, so that hits count rows, an
expression never finds its words in two different ones, and a citation names the row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from itertools import chain, count

from ingest.documents import Reject, SourceDocument
from ingest.readers.fields import document_of
from ingest.readers.parts import PartedText
from ingest.readers.settings import ReaderSettings
from ingest.readers.source import Items, RefusedError, Source

_MAX_FIELD_CODE_POINTS = 2**31 - 1
_OTHERS = (";", "\t", "|", ",")
_MAX_NAMES_CODE_POINTS = 100_000  # of the first line, to find what parts its names


def read_delimited(
    text: str,
    source: Source,
    settings: ReaderSettings,
    claim: Callable[[Source], None],
    *,
    delimiter: str,
) -> Items:
    """Yield the table's documents in order, and a reject that names the line for each bad row.

    With the columns ``id`` and ``text`` each row is a document: ``title`` and ``tenant`` are
    known, all others become metadata, and a row of another length is bad. Otherwise the table is
    one document, whose parts are labelled as a spreadsheet numbers its rows: the names are row 1,
    and blank ones count. A part reads ``name: cell; name: cell``, without blank ones; what
    stands beyond the last name is ``column 7``.

    Args:
        claim: called before the table becomes one document, to take the source's id.
        delimiter: between cells, where the first line has it; else the first of ``; tab | ,``
            that it has, as spreadsheets write semicolons where numbers have a decimal comma.

    Raises:
        RefusedError: the table has too many rows or too long a text, or `claim` refuses.
    """
    rows = _rows(text, source.place, settings, _delimiter(text, delimiter))
    header: list[str] = []
    for number, line, row in rows:
        if isinstance(row, Reject):
            yield row
        elif header:
            yield _document(header, row, f"{source.place}:{line}", settings)
        elif row:
            header = [column.strip() for column in row]
            if not {"id", "text"} <= set(header):
                claim(source)
                yield from _whole(header, rows, number, source, settings)
                return


def _delimiter(text: str, usual: str) -> str:
    names = text.lstrip()[:_MAX_NAMES_CODE_POINTS].partition("\n")[0]
    return next((each for each in (usual, *_OTHERS) if each in names), usual)


def _rows(
    text: str, place: str, settings: ReaderSettings, delimiter: str
) -> Iterator[tuple[int, int, list[str] | Reject]]:
    """Yield each row's number, from 1, the line it ends on, and its cells or what is wrong.

    Blank rows are counted and left out.
    """
    csv.field_size_limit(_MAX_FIELD_CODE_POINTS)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit = settings.max_cell_characters
    number = 0
    while True:
        number += 1
        try:
            row = next(rows, None)
        except csv.Error as failure:
            wrong = f"the row is not read: {failure}; correct it"
        else:
            if row is None:
                return
            if not row:
                continue
            if max(map(len, row)) <= limit:
                yield number, rows.line_num, row
                continue
            wrong = f"a cell is longer than {limit} characters; split it or raise the limit"
        line = rows.line_num
        yield number, line, Reject(f"{place}:{line}", "malformed_row", wrong)


def _document(
    header: list[str], row: list[str], place: str, settings: ReaderSettings
) -> SourceDocument | Reject:
    if len(row) != len(header):
        wrong = f"the row has {len(row)} fields where the first has {len(header)}; correct it"
        return Reject(place, "malformed_row", wrong)
    named = dict(zip(header, row, strict=True))
    fields: dict[str, object] = {"id": named.pop("id"), "text": named.pop("text")}
    fields["title"] = named.pop("title", "")
    if tenant := named.pop("tenant", ""):
        fields["tenant"] = tenant
    if named:
        fields["metadata"] = named
    return document_of(fields, tenant=settings.tenant, place=place)


def _whole(
    header: list[str],
    rows: Iterator[tuple[int, int, list[str] | Reject]],
    number: int,
    source: Source,
    settings: ReaderSettings,
) -> Items:
    text = PartedText(settings.max_file_bytes)
    last = number + settings.max_rows
    for number, _, row in rows:
        if isinstance(row, Reject):
            yield row
            continue
        if number > last:
            raise RefusedError(
                "document_too_large",
                f"it has more than {settings.max_rows} rows; split it, or name two columns id and "
                "text, so that each row is a document",
            )
        cells = [
            f"{name}: {cell}" if name else cell
            for cell, name in zip(map(str.strip, row), _names(header), strict=False)
            if cell
        ]
        if cells:
            text.add("; ".join(cells) + "\n\n", f"row {number}", separator="")
    yield SourceDocument(
        source.identity,
        source.stem,
        str(text),
        tenant=settings.tenant,
        place=source.place,
        parts=text.parts,
        parts_apart=True,
    )


def _names(header: list[str]) -> Iterator[str]:
    return chain(header, (f"column {number}" for number in count(len(header) + 1)))
