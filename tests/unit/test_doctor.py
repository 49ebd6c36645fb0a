"""What doctor finds, in folders that are healthy, half made and damaged. No server is asked."""

from __future__ import annotations

import importlib.metadata
import shutil
from pathlib import Path
from typing import Any

import pytest

from bootstrap import doctor
from bootstrap.checks import Check
from bootstrap.doctor import diagnose
from bootstrap.ingestion import ingest_settings
from bootstrap.opening import open_writer
from bootstrap.settings import Settings
from ingest.documents import SourceDocument
from ingest.hashing import HASH_BYTES
from ingest.ledger import Claim
from ingest.pipeline import ingest
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.identity import document_key

KEY = "sk-test-0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an index of one document, in the tenant `default`."""
    settings = Settings(index=tmp_path / "index", analysis="standard")
    with open_writer(settings, create=True) as (writer, ledger):
        document = SourceDocument("a", "Alcina", "An opera by Handel.")
        ingest([document], writer, ledger, ingest_settings(settings))
    return settings.index


def checks(**given: Any) -> dict[str, Check]:
    return {check.name: check for check in diagnose(Settings(**given))}


def test_a_healthy_index_has_nothing_to_mend(folder: Path) -> None:
    found = checks(index=folder)
    assert {name: check.status for name, check in found.items()} == dict.fromkeys(
        ("python", "packages", "index", "ledger", "pending", "lock", "disk", "planner"), "ok"
    )
    assert all(check.fix == "" for check in found.values())
    assert "1 documents and 1 passages" in found["index"].message
    assert "analysis standard, fields: none" in found["index"].message
    assert "offline" in found["planner"].message


def test_an_index_that_is_not_there_yet_is_no_failure(tmp_path: Path) -> None:
    index = checks(index=tmp_path / "none")["index"]
    assert (index.status, index.fix) == (
        "warn",
        f"logicalrag ingest FOLDER --index {tmp_path / 'none'}",
    )


def test_an_index_that_is_a_file_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    index = checks(index=tmp_path / "file")["index"]
    assert (index.status, index.fix) == ("fail", "name another folder")


def test_index_and_ledger_that_do_not_belong_together_are_a_failure(folder: Path) -> None:
    for tenant in (path for path in folder.iterdir() if path.is_dir()):
        shutil.rmtree(tenant)
    ledger = checks(index=folder)["ledger"]
    assert ledger.status == "fail"
    assert "the index holds 0 passages and the ledger knows of 1" in ledger.message


def test_a_damaged_index_is_a_failure_and_the_rest_goes_on(folder: Path) -> None:
    (folder / "index.json").write_text("{")
    found = checks(index=folder)
    assert found["index"].status == "fail"
    assert "index.json is damaged" in found["index"].message
    assert found["planner"].status == "ok"


def test_an_index_without_its_ledger_is_a_failure(folder: Path) -> None:
    for file in folder.glob("ledger.sqlite*"):
        file.unlink()
    index = checks(index=folder)["index"]
    assert (index.status, index.message) == ("fail", f"the index in {folder} has lost its ledger")


def test_a_foreign_ledger_is_a_failure(folder: Path) -> None:
    for file in folder.glob("ledger.sqlite*"):
        file.unlink()
    (folder / "ledger.sqlite").write_text("no database at all, but long enough to be read as one")
    assert checks(index=folder)["index"].status == "fail"


def test_pending_documents_are_counted_for_the_tenant_alone(folder: Path) -> None:
    with SqliteLedger(folder / "ledger.sqlite") as ledger:
        ledger.claim(
            [
                Claim(
                    document_key(tenant, "b"), "b", tenant, 0, bytes(HASH_BYTES), 1, 1, False, None
                )
                for tenant in ("default", "other")
            ]
        )
    pending = checks(index=folder)["pending"]
    assert (pending.status, pending.fix) == ("warn", "run the interrupted ingest again")
    assert pending.message.startswith("1 documents")


def test_who_writes_is_named(folder: Path) -> None:
    with open_writer(Settings(index=folder), create=False):
        lock = checks(index=folder)["lock"]
    assert lock.status == "warn"
    assert "written by process" in lock.message
    assert checks(index=folder)["lock"].status == "ok"


def test_little_room_is_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(folder)._replace(free=2**29)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    disk = checks(index=folder)["disk"]
    assert (disk.status, disk.message[:12]) == ("warn", "0.5 GiB free")


@pytest.mark.parametrize(
    ("schema", "status", "said"),
    [
        ('[fields]\nyear = "number"\n', "fail", "declares other fields than the index has"),
        ("[fields]\nyear = 3\n", "fail", "the kinds are keyword, number, date"),
        (None, "fail", "cannot be read"),
    ],
)
def test_declared_fields_are_compared_with_the_index(
    folder: Path, tmp_path: Path, schema: str | None, status: str, said: str
) -> None:
    path = tmp_path / "schema.toml"
    if schema is not None:
        path.write_text(schema)
    fields = checks(index=folder, metadata=path)["fields"]
    assert fields.status == status
    assert said in fields.message


def test_fields_for_an_index_that_is_not_there_yet_are_read(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text('[fields]\nyear = "number"\n')
    assert checks(index=tmp_path / "none", metadata=path)["fields"].status == "ok"


def test_the_synonym_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    path.write_text("lease, rental\nship => boat\n")
    found = checks(index=tmp_path, synonyms=path)["synonyms"]
    assert (found.status, found.message) == ("ok", f"{path}: 2 lines")
    path.write_text("alone\n")
    assert checks(index=tmp_path, synonyms=path)["synonyms"].status == "fail"


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every server answer; return the addresses asked."""
    asked: list[str] = []

    def answer(address: str) -> Check:
        asked.append(address)
        return Check("server", "ok", f"{address} answers")

    monkeypatch.setattr(doctor, "_answer", answer)
    return asked


def test_a_model_needs_a_key_a_server_and_better_a_price(
    tmp_path: Path, answering: list[str]
) -> None:
    given: dict[str, Any] = {"index": tmp_path, "planner": "anthropic"}
    assert checks(**given)["planner"].status == "fail"
    assert "ANTHROPIC_API_KEY" in checks(**given)["planner"].message
    found = checks(**given, api_key=KEY)
    assert (found["planner"].status, found["prices"].status) == ("ok", "ok")
    assert answering[-1] == "https://api.anthropic.com"
    own = checks(**given, base_url="http://localhost:1", model="mine")
    assert (own["planner"].status, own["prices"].status) == ("ok", "warn")
    assert answering[-1] == "http://localhost:1"
    assert KEY not in repr(found)


def test_packages_that_are_missing_or_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    required = [
        "tantivy==0.0.1",
        "no-such-package>=2",
        "regex>=2024.9.11",
        'ruff-of-nobody>=1; extra == "dev"',
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: required)
    packages = checks(index=tmp_path)["packages"]
    assert (packages.status, packages.fix) == ("fail", "install logicalrag again")
    assert packages.message.startswith("tantivy is ")
    assert packages.message.endswith(" and must be 0.0.1; no-such-package is missing")
