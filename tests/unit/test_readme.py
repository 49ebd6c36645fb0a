"""Links between the documents."""

from __future__ import annotations

from pathlib import Path

import regex

from tests.source_tree import ROOT


def test_links_of_the_documents_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = {
        f"{document.relative_to(ROOT)}: {target}"
        for document in documents
        for target in _local_targets(document)
        if not (document.parent / target).exists()
    }
    assert len(documents) > 5
    assert broken == set()


def _local_targets(document: Path) -> list[str]:
    text = document.read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in regex.findall(r"\]\(([^)\s]+)\)", text)]
    return [target for target in targets if target and "://" not in target]
