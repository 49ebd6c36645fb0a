"""The reference of the settings is the one that the code gives."""

from __future__ import annotations

import regex

from bootstrap.settings import Settings
from cli.settings_page import settings_page
from tests.source_tree import ROOT


def test_the_page_is_the_one_that_the_code_gives() -> None:
    kept = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert kept == settings_page(), "run: python -m cli.settings_page > docs/settings.md"


def test_every_setting_has_one_row_with_all_its_cells() -> None:
    rows = {row[0]: row[1:] for row in _rows()}
    assert list(rows) == list(Settings.model_fields)
    assert rows["thinking_budget"][:3] == [
        "integer, ≥ 1024, ≤ 1000000", "none", "`LOGICALRAG_THINKING_BUDGET`",
    ]  # fmt: skip
    assert rows["planner"][:4] == [
        "`offline`, `anthropic`, `scripted`", "`offline`", "`LOGICALRAG_PLANNER`", "`--planner`",
    ]  # fmt: skip
    assert rows["api_key"][:4] == [
        "secret", "none", "`LOGICALRAG_API_KEY`, else `ANTHROPIC_API_KEY`", "",
    ]  # fmt: skip
    assert rows["expression_cache"][3] == "`--cache` `--no-cache`"
    assert rows["groups"][3] == "`--group`"
    assert all(meaning.endswith(".") for *_, meaning in rows.values())


def _rows() -> list[list[str]]:
    found = regex.findall(r"(?m)^\| `(\w+)` \|(.*)\|$", settings_page())
    return [[name, *(cell.strip() for cell in regex.split(r"(?<!\\)\|", rest))]
            for name, rest in found]  # fmt: skip
