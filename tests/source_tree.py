"""The repository as its rules see it: files, modules and what they import. Reads, never imports."""

from __future__ import annotations

import ast
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Every package that is, or will be, part of the product.
PRODUCT_PACKAGES = ("logicalrag", "ingest", "contracts", "workers", "api", "bootstrap", "cli")


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file: dotted name (a package's own for ``__init__``), place and syntax tree."""

    name: str
    path: Path
    tree: ast.Module


def repository_files() -> list[Path]:
    """Return the files that are, or may be, committed: sorted, ignored ones left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        # S603: the command is the constant above.
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout  # noqa: S603
        found = {ROOT / os.fsdecode(name) for name in listed.split(b"\0") if name}
    except (FileNotFoundError, subprocess.CalledProcessError):
        # An unpacked archive, or a machine without git: what .gitignore names is left out here.
        found = {
            path
            for path in ROOT.rglob("*")
            if not any(
                part
                in {
                    ".git",
                    ".servers",
                    ".venv",
                    ".venv-model",
                    ".hypothesis",
                    ".logicalrag",
                    "dist",
                    "build",
                }
                or part.endswith(("_cache", "__pycache__", ".egg-info"))
                for part in path.relative_to(ROOT).parts
            )
        }
    return sorted(path for path in found if path.is_file())


def parse_module(path: Path, root: Path = ROOT) -> Module:
    """Return the module at `path`, named from `root` on."""
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path)))


def product_modules() -> list[Module]:
    """Return every module of the product, without tests and benchmarks."""
    return [
        parse_module(path)
        for path in repository_files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in PRODUCT_PACKAGES
    ]


def imported_names(module: Module) -> Iterator[str]:
    """Yield every dotted name that `module` may import, wherever the statement stands.

    ``from a import b`` yields ``a`` and ``a.b``: the text alone does not say which is a module.
    Names that only type checkers import count too: they bind as tightly.
    """
    package = module.name.split(".")
    if module.path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def is_within(name: str, package: str) -> bool:
    """Return whether the dotted `name` is `package` or lies inside it."""
    return name == package or name.startswith(package + ".")
