"""`requirements.lock` belongs to `pyproject.toml`, and pins everything by hash."""

from __future__ import annotations

import tomllib

import regex
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.source_tree import ROOT


def _locked() -> list[str]:
    """Return one text for each locked package, its hashes included."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return regex.findall(r"(?m)^\S.*(?:\n\s+--hash=\S+.*)*", "\n".join(lines))


def test_every_requirement_is_locked_within_its_bounds() -> None:
    locked = {}
    for entry in _locked():
        requirement = Requirement(entry.split("\\")[0].strip())
        [pin] = requirement.specifier
        assert pin.operator == "=="
        locked[canonicalize_name(requirement.name)] = pin.version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        Requirement(line)
        for line in (
            *project["project"]["dependencies"],
            *project["project"]["optional-dependencies"]["dev"],
            *project["build-system"]["requires"],
        )
    ]
    unmet = [
        str(requirement)
        for requirement in wanted
        if locked.get(canonicalize_name(requirement.name)) is None
        or not requirement.specifier.contains(locked[canonicalize_name(requirement.name)])
    ]
    assert unmet == [], "run: make lock"


def test_every_locked_package_has_hashes_and_no_address() -> None:
    entries = _locked()
    assert len(entries) > 30
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert [entry for entry in entries if "://" in entry or entry.startswith("-")] == []
