"""The import contracts hold on the tree as it is, and each fails the build when it is broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.source_tree import PRODUCT_PACKAGES, ROOT

# Where a line is added, the line, and the contract that it breaks.
VIOLATIONS = [
    ("logicalrag/query/bad.py", "import logicalrag.engines.protocol", "library"),
    ("logicalrag/engines/bad.py", "def f(): from logicalrag.agent import actions", "library"),
    ("logicalrag/stray/__init__.py", "", "library"),
    ("logicalrag/agent/bad.py", "import bootstrap", "tiers"),
    ("logicalrag/agent/bad.py", "import ingest", "tiers"),
    ("bootstrap/bad.py", "import cli", "tiers"),
    ("api/__init__.py", "import workers.tasks", "tiers"),
    ("contracts/__init__.py", "import ingest", "tiers"),
    ("logicalrag/engines/embedded/bad.py", "import logicalrag.engines.reference", "engines-apart"),
    ("logicalrag/engines/elastic/__init__.py", "from ..embedded import bad", "engines-apart"),
    ("logicalrag/engines/identity.py", "import logicalrag.engines.embedded", "engines-apart"),
    ("cli/bad.py", "import logicalrag.engines.embedded", "choosing"),
    ("cli/bad.py", "from logicalrag.agent.planners import scripted", "choosing"),
    ("ingest/bad.py", "from ingest.sqlite_ledger import SqliteLedger", "choosing"),
    ("logicalrag/query/bad.py", "import pydantic", "query-alone"),
    ("logicalrag/engines/bad.py", "import celery", "no-queue-no-web"),
    ("logicalrag/agent/bad.py", "from prometheus_client import Counter", "no-queue-no-web"),
    ("cli/bad.py", "from tests import conftest", "no-tests-in-product"),
]
# Packages of later tiers: a violation that needs one makes it, and puts it under contract.
LATER = ("api", "workers", "contracts")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the product and its contracts, ready to be spoilt."""
    for package in PRODUCT_PACKAGES:
        if (ROOT / package).is_dir():
            shutil.copytree(
                ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
            )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def _broken_contracts(tree: Path) -> list[str]:
    """Run the linter in `tree` and return the names of the contracts that it reports as broken."""
    linter = Path(sys.executable).with_name("lint-imports")
    finished = subprocess.run(  # noqa: S603 - the command is written here
        [linter, "--no-cache", "pyproject.toml"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Contracts: " in finished.stdout, finished.stdout + finished.stderr
    verdicts = (line.partition(" BROKEN") for line in finished.stdout.splitlines())
    broken = [name for name, verdict, _ in verdicts if verdict]
    assert bool(broken) is (finished.returncode != 0), finished.stdout
    return broken


def _contract_name(identity: str) -> str:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [name] = [
        contract["name"]
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["id"] == identity
    ]
    return str(name)


def test_the_tree_keeps_every_contract(tree: Path) -> None:
    assert _broken_contracts(tree) == []


def test_every_contract_has_a_violation_below() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["id"] for contract in settings["tool"]["importlinter"]["contracts"]}
    assert contracts == {contract for _, _, contract in VIOLATIONS}


@pytest.mark.parametrize(("place", "line", "contract"), VIOLATIONS)
def test_the_linter_fails_on(tree: Path, place: str, line: str, contract: str) -> None:
    missing = [name for name in LATER if not (tree / name).is_dir() and name in f"{place} {line}"]
    for name in missing:
        (tree / name).mkdir()
        (tree / name / "__init__.py").touch()
        (tree / name / "tasks.py").touch()
    if missing:
        settings = (tree / "pyproject.toml").read_text(encoding="utf-8")
        listed = ", ".join(f'"{name}"' for name in missing)
        changed = settings.replace("root_packages = [", f"root_packages = [{listed}, ")
        assert changed != settings
        (tree / "pyproject.toml").write_text(changed, encoding="utf-8")
    file = tree / place
    file.parent.mkdir(exist_ok=True)
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"\n{line}\n")
    assert _contract_name(contract) in _broken_contracts(tree)
