"""What README says of settings is what there is."""

from __future__ import annotations

from pathlib import Path

import regex

from bootstrap.settings import PREFIX, Settings
from tests.source_tree import ROOT


def _shown(default: object) -> str:
    if default is None or default == frozenset():
        return "none"
    return f"`{default}`"


def test_readme_lists_every_setting_with_its_default() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = regex.findall(rf"(?m)^\| `{PREFIX}(\w+)` \| (.+?) \| .+ \|$", text)
    assert dict(rows) == {
        name.upper(): _shown(field.default) for name, field in Settings.model_fields.items()
    }
    assert len(rows) == len(Settings.model_fields)


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
