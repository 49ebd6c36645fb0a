"""The synonym file: read again when it changes; broken later, the last good one stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bootstrap.settings import SettingsError
from bootstrap.synonyms import SynonymFile, synonyms
from logicalrag.engines.analysis import stem
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from logicalrag.query.synonyms import EMPTY, SynonymTable, expand


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "terms.txt"
    write(path, "lease, rental\n")
    return path


def write(path: Path, text: str) -> None:
    """Replace the file as an editor does, so that its stamp surely changes."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def expanded(table: SynonymTable, expression: str = "lease") -> str:
    return canonical(expand(parse(expression), table, stem).tree)


def test_without_a_file_there_are_none() -> None:
    assert synonyms(None, pytest.fail)() is EMPTY


def test_a_changed_file_counts_from_the_next_reading_on(path: Path) -> None:
    table = synonyms(path, pytest.fail)
    assert expanded(table()) == "lease OR rental"
    assert table() is table(), "a file that has not changed is not read again"
    write(path, "lease, tenancy\n")
    assert expanded(table()) == "lease OR tenancy"


@pytest.mark.parametrize("breaking", ["alone\n", "", None])
def test_a_file_that_breaks_leaves_the_last_good_one(path: Path, breaking: str | None) -> None:
    warnings: list[str] = []
    table = SynonymFile(path, warnings.append)
    if breaking is None:
        path.unlink()
    else:
        write(path, breaking)
    if breaking == "":
        assert expanded(table()) == "lease", "an empty file is a file without synonyms"
        assert warnings == []
        return
    assert [expanded(table()) for _ in range(3)] == ["lease OR rental"] * 3
    (warning,) = warnings
    assert str(path) in warning
    assert "stay in force" in warning
    write(path, "lease, tenancy\n")
    assert expanded(table()) == "lease OR tenancy"
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"lease\n", "terms.txt:1: "),
        (b"caf\xe9, bar\n", "is no UTF-8 text"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_broken_at_the_start_is_an_error(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "terms.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        synonyms(path, pytest.fail)
    assert said in caught.value.message


def test_a_change_between_looking_and_reading_is_seen_next_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SynonymFile(path, pytest.fail)
    write(path, "lease, tenancy\n")
    looked = os.stat(path)
    write(path, "lease, letting\n")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", lambda _self: looked)
        table()
    assert expanded(table()) == "lease OR letting"
