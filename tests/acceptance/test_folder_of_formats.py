"""A folder of PDF, DOCX, CSV and HTML files, asked: what is cited says where it stands."""

from __future__ import annotations

from pathlib import Path

import docx
import pytest

from tests.acceptance.conftest import Command
from tests.unit.ingest_files import pdf


@pytest.fixture
def asked(logicalrag: Command, tmp_path: Path) -> Command:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "harbour.pdf").write_bytes(
        pdf(
            [
                ["The harbour of Lindvik was surveyed twice."],
                ["The harbour of Lindvik was dredged by Tora Holm in 1987."],
            ],
            title="Harbour of Lindvik",
        )
    )
    (folder / "scan.pdf").write_bytes(pdf([[]]))
    made = docx.Document()
    made.core_properties.title = "Lease of Vestgate"
    made.add_heading("Parties", level=1)
    made.add_paragraph("The lease of Vestgate was signed by Ingrid Solberg on 3 March 2021.")
    made.save(str(folder / "lease.docx"))
    (folder / "staff.csv").write_text(
        "name,role,city\nAda Brekke,auditor,Oslo\nNils Rud,geologist,Tromso\n"
    )
    (folder / "page.html").write_text(
        "<html><head><title>Kvalnes mill</title></head><body><p>The Kvalnes mill was built by "
        "Peder Lund in 1902.</p></body></html>"
    )
    ran = logicalrag("ingest", "papers")
    assert ran.code == 1  # the scan alone
    assert "4 added" in ran.out
    assert "1 failed" in ran.out
    assert "scan.pdf: no_text:" in " ".join(ran.err.split())
    return logicalrag


@pytest.mark.parametrize(
    ("question", "answer", "document", "location"),
    [
        ("Who dredged the harbour of Lindvik?", "Tora Holm", "harbour.pdf", "pages 1-2"),
        ("Who signed the lease of Vestgate?", "Ingrid Solberg", "lease.docx", "Parties"),
        ("Which role does Nils Rud have?", "geologist", "staff.csv", "row 3"),
        ("Who built the Kvalnes mill?", "Peder Lund", "page.html", ""),
    ],
)
def test_each_kind_is_answered_from_and_cited(
    asked: Command, question: str, answer: str, document: str, location: str
) -> None:
    ran = asked("ask", question, "--json")
    assert ran.code == 0, ran.out
    report = ran.json
    assert answer in report["answer"]
    cited = {(each["document_id"], each["location"]) for each in report["citations"]}
    assert (document, location) in cited
    shown = asked("ask", question)
    assert not location or f"({document}, {location})" in " ".join(shown.out.split())


def test_what_is_in_none_of_them_is_an_abstention(asked: Command) -> None:
    ran = asked("ask", "Who painted the lighthouse of Skrova?", "--json")
    assert (ran.code, ran.json["outcome"], ran.json["citations"]) == (3, "abstained", [])
