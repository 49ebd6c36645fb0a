"""A folder of every kind of file through readers and pipeline: found, located, or refused."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from docx import Document

from ingest.documents import Skipped
from ingest.pipeline import IngestSettings, ingest
from ingest.readers.folder import read_paths
from ingest.readers.settings import ReaderSettings
from ingest.report import IngestReport
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import Visibility
from logicalrag.engines.reference import ReferenceEngine
from logicalrag.query.parser import parse
from tests.unit.ingest_files import epub, pdf, zipped
from tests.unit.ingest_jobs import counts_of

SCHEMA = MetadataSchema({"from": "keyword", "date": "date", "year": "number"})


def _docx() -> bytes:
    document = Document()
    document.add_heading("Methods", 1)
    document.add_paragraph("Weighing heron eggs.")
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()


def _mail() -> bytes:
    message = EmailMessage()
    message["From"] = "Ada <ada@x.org>"
    message["Date"] = "Mon, 30 Nov 2026 21:22:42 +0000"
    message["Subject"] = "Heron report"
    message.set_content("See the heron report attached.")
    message.add_attachment(
        pdf([["Title page."], ["Of the heron."]]), "application", "pdf", filename="r.pdf"
    )
    return message.as_bytes()


FILES = {
    "a.pdf": pdf([["Cover."], ["A heron stood."], ["Nothing."]]),
    "b.docx": _docx(),
    "c.csv": b"bird,place\nstork,Ulm\nheron,Bonn\n",
    "d.csv": b"id,text,year\nd1,a heron,2020\nd2,a stork,soon\n",
    "e.epub": epub({"1.xhtml": "<h1>Dawn</h1><p>No birds.</p>", "2.xhtml": "<h1>Dusk</h1>heron"}),
    "f.eml": _mail(),
    "g.jsonl.gz": gzip.compress(b'{"id": "g1", "text": "heron in JSON"}\n'),
    "h.zip": zipped({"x/h.html": "<p>heron page", "y.zip": "no"}),
    "i.mbox": b"From a\nSubject: Box\n\nheron in a box\n",
    "j.txt": b"heron in a text",
    "scan.pdf": pdf([[], []]),
    "empty.txt": b"",
    "photo.jpg": b"\xff\xd8",
}


@pytest.fixture
def engine() -> ReferenceEngine:
    return ReferenceEngine(schema=SCHEMA)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    with SqliteLedger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def test_every_kind_is_found_where_it_stands_and_the_rest_is_told(
    tmp_path: Path, engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    skipped: list[Skipped] = []

    def run() -> IngestReport:
        source = read_paths([str(folder)], ReaderSettings(), on_skip=skipped.append)
        return ingest(source, engine, ledger, IngestSettings(metadata=SCHEMA))

    report = run()
    result = engine.search(parse("heron").tree, Visibility(), limit=100)
    found = {(hit.passage.document_id, hit.passage.location) for hit in result.hits}
    assert found == {
        ("a.pdf", "pages 1-3"),
        ("b.docx", "Methods"),
        ("c.csv", "row 3"),
        ("d1", ""),
        ("e.epub", "Dawn – Dusk"),
        ("f.eml", ""),
        ("f.eml/r.pdf", "pages 1-2"),
        ("g1", ""),
        ("h.zip/x/h.html", ""),
        ("i.mbox/1.eml", ""),
        ("j.txt", ""),
    }
    values = {hit.passage.document_id: dict(hit.passage.metadata) for hit in result.hits}
    assert values["d1"] == {"year": (2020.0,)}
    assert values["f.eml"] == {"from": ("ada@x.org",), "date": ("2026-11-30T21:22:42Z",)}
    told = [(each.place.removeprefix(f"{folder}/"), each.reason) for each in report.rejects]
    assert told == [
        ("d.csv:3", "bad_metadata"),
        ("empty.txt", "no_text"),
        ("h.zip/y.zip", "nested_too_deeply"),
        ("scan.pdf", "no_text"),
    ]
    assert [Path(each.place).name for each in skipped] == ["photo.jpg"]
    again = counts_of(run())
    assert again == {"unchanged": len(found), "failed": len(told)}


def test_a_row_that_is_inserted_or_removed_leaves_no_orphan(
    tmp_path: Path, engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    table = tmp_path / "t.csv"
    for rows in (["a", "b", "c"], ["new", "a", "b", "c"], ["c"]):
        table.write_text("\n".join(["name", *rows]))
        ingest(read_paths([str(table)], ReaderSettings()), engine, ledger)
        result = engine.search(parse("name").tree, Visibility(), limit=100)
        found = sorted((hit.passage.location, hit.passage.text.split()[1]) for hit in result.hits)
        assert found == [(f"row {number}", name) for number, name in enumerate(rows, start=2)]
