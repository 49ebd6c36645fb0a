"""Rules of the house that no linter holds, and that the linter's contracts cover what exists."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import regex

from tests.source_tree import (
    PRODUCT_PACKAGES,
    ROOT,
    Module,
    imported_names,
    is_within,
    product_modules,
    repository_files,
)

MAX_LINES = 500
ENVIRONMENT_READER = "bootstrap.settings"
ENGINES = ("reference", "embedded", "elastic")
# What only bootstrap may choose from; everything else sees the module `protocol` beside them.
CONCRETE = (
    "logicalrag.agent.planners",
    "logicalrag.agent.sqlite_expressions",
    "ingest.elastic_ledger",
    "ingest.sqlite_ledger",
)
# Who may import a package that marks a tier. A package that is not named here is free.
HOMES = {
    "tantivy": ("logicalrag.engines.embedded",),
    "elasticsearch": ("logicalrag.engines.cluster",),
    "elastic_transport": ("logicalrag.engines.cluster",),
    "Stemmer": ("logicalrag.engines",),
    "anthropic": ("logicalrag.agent.planners.model_driven",),
    "httpx2": ("logicalrag.agent.planners.model_driven",),
    "docx": ("ingest.readers",),
    "pypdfium2": ("ingest.readers",),
    "celery": ("workers", "bootstrap"),
    "kombu": ("ingest.consumer", "bootstrap"),
    "fastapi": ("api",),
    "starlette": ("api",),
    "prometheus_client": ("logicalrag.observability",),
    "typer": ("cli",),
    "rich": ("cli",),
}
VAGUE_NAME = regex.compile(
    r"(?i)(?:^|_)(?:utils?|helpers?|managers?)(?:_|$)|(?:Util|Helper|Manager)s?$"
)
HEADING = regex.compile(r"(?m)^## `([^`]+)/`: .+\?$")


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _contract(identity: str) -> dict[str, Any]:
    contracts = _pyproject()["tool"]["importlinter"]["contracts"]
    [found] = [contract for contract in contracts if contract["id"] == identity]
    return dict(found)


def _python_files() -> list[Path]:
    return [path for path in repository_files() if path.suffix == ".py"]


def _package_folders() -> set[str]:
    return {
        path.parent.relative_to(ROOT).as_posix()
        for path in _python_files()
        if path.name == "__init__.py"
    }


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- who imports whom ---------------------------------------------------------------------------


def _engine_of(name: str) -> str | None:
    """Return the concrete engine that owns the module; ``reference_x`` is ``reference``'s."""
    prefix = "logicalrag.engines."
    if not name.startswith(prefix):
        return None
    first = name.removeprefix(prefix).split(".")[0]
    return next((engine for engine in ENGINES if first.split("_")[0] == engine), None)


def _concrete_owner(name: str) -> str | None:
    engine = _engine_of(name)
    if engine is not None:
        return f"logicalrag.engines.{engine}"
    return next(
        (
            package
            for package in CONCRETE
            if is_within(name, package) and not is_within(name, f"{package}.protocol")
        ),
        None,
    )


def _choices_outside_bootstrap(module: Module) -> set[str]:
    if is_within(module.name, "bootstrap"):
        return set()
    return {
        name
        for name in imported_names(module)
        if _concrete_owner(name) not in (None, _concrete_owner(module.name))
    }


def _strangers(module: Module, allowed: frozenset[str]) -> set[str]:
    """Return what `module` imports outside the standard library, `allowed` and its own package."""
    package = ".".join(module.name.split(".")[:2])
    return {
        name
        for name in imported_names(module)
        if name.split(".")[0] not in sys.stdlib_module_names | allowed
        and not is_within(name, package)
        and not is_within(package, name)
    }


def _homeless_imports(module: Module) -> set[str]:
    return {
        name
        for name in imported_names(module)
        if (homes := HOMES.get(name.split(".")[0])) is not None
        and not any(is_within(module.name, home) for home in homes)
    }


def _module(name: str, source: str) -> Module:
    return Module(name, Path(name.replace(".", "/") + ".py"), ast.parse(source))


def test_only_bootstrap_chooses() -> None:
    found = {module.name: _choices_outside_bootstrap(module) for module in product_modules()}
    assert {name: choices for name, choices in found.items() if choices} == {}


@pytest.mark.parametrize(
    ("name", "source", "caught"),
    [
        ("cli.main", "from logicalrag.engines.embedded.engine import X", True),
        ("cli.main", "from logicalrag.engines import reference", True),
        ("ingest.a", "def f():\n    import logicalrag.agent.planners.scripted", True),
        (
            "logicalrag.engines.embedded.a",
            "from logicalrag.engines.reference_tokens import t",
            True,
        ),
        ("logicalrag.engines.embedded.a", "from ..reference import t", True),
        ("logicalrag.engines.reference", "from logicalrag.engines.reference_bm25 import t", False),
        ("logicalrag.engines.embedded.a", "from .writer import t", False),
        ("logicalrag.agent.step", "from logicalrag.engines.protocol import SearchEngine", False),
        ("logicalrag.agent.step", "import logicalrag.agent.planners.protocol", False),
        ("bootstrap.engines", "from logicalrag.engines.embedded import engine", False),
    ],
)
def test_the_rule_of_choosing_bites(name: str, source: str, caught: bool) -> None:
    assert bool(_choices_outside_bootstrap(_module(name, source))) is caught


def test_query_imports_the_standard_library_and_regex_only() -> None:
    modules = [m for m in product_modules() if is_within(m.name, "logicalrag.query")]
    assert len(modules) > 1
    found = {m.name: _strangers(m, frozenset({"regex"})) for m in modules}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "caught"),
    [
        ("import regex, unicodedata", False),
        ("from logicalrag.query.nodes import Node", False),
        ("from .nodes import Node", False),
        ("import orjson", True),
        ("from logicalrag.engines import protocol", True),
        ("def f():\n    from ..engines.protocol import Count", True),
    ],
)
def test_the_rule_of_query_bites(source: str, caught: bool) -> None:
    module = _module("logicalrag.query.parser", source)
    assert bool(_strangers(module, frozenset({"regex"}))) is caught


def test_packages_that_mark_a_tier_stay_in_it() -> None:
    found = {module.name: _homeless_imports(module) for module in product_modules()}
    assert {name: names for name, names in found.items() if names} == {}


def test_the_rule_of_tiers_bites() -> None:
    assert _homeless_imports(_module("ingest.pipeline", "import kombu.pools")) == {"kombu.pools"}
    assert _homeless_imports(_module("ingest.consumer", "import kombu")) == set()


# --- the linter's contracts cover what exists ---------------------------------------------------


def test_every_product_package_is_under_contract() -> None:
    existing = {folder for folder in _package_folders() if folder in PRODUCT_PACKAGES}
    assert set(_pyproject()["tool"]["importlinter"]["root_packages"]) == existing
    listed = " ".join(_contract("tiers")["layers"])
    assert set(regex.findall(r"\w+", listed)) == set(PRODUCT_PACKAGES)
    assert set(_contract("no-tests-in-product")["source_modules"]) == existing


def test_every_product_package_is_installed_and_type_checked() -> None:
    tools = _pyproject()["tool"]
    existing = {folder for folder in _package_folders() if folder in PRODUCT_PACKAGES}
    assert set(tools["hatch"]["build"]["targets"]["wheel"]["packages"]) == existing
    assert existing <= set(tools["mypy"]["files"])


def test_everything_that_can_be_chosen_is_under_contract() -> None:
    modules = {module.name for module in product_modules()}
    engines = {name for name in modules if regex.fullmatch(r"logicalrag\.engines\.\w+", name)}
    packages = {
        name.removeprefix("logicalrag.engines.")
        for name in engines
        if (ROOT / name.replace(".", "/")).is_dir()
    }
    assert packages - {"cluster"} <= set(ENGINES)  # what engine and ledger of a cluster share
    ledgers = {name for name in modules if regex.fullmatch(r"ingest\.\w+_ledger", name)}
    assert ledgers <= set(CONCRETE)
    concrete = {name for name in engines if name.split(".")[-1] in ENGINES}
    concrete |= modules & set(CONCRETE)
    assert set(_contract("choosing")["protected_modules"]) == concrete


def test_every_dependency_is_forbidden_to_query() -> None:
    import_names = {
        "beautifulsoup4": "bs4",
        "markdown-it-py": "markdown_it",
        "PyStemmer": "Stemmer",
        "python-docx": "docx",
    }
    project = _pyproject()["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["elastic"]]
    # The client's connections are a package of their own, which it brings along.
    required = [regex.split(r"[^\w-]", line, maxsplit=1)[0] for line in lines]
    required.append("elastic_transport")
    imported = {import_names.get(name, name.replace("-", "_")) for name in required}
    assert imported - {"regex"} == set(_contract("query-alone")["forbidden_modules"])


# --- the environment ----------------------------------------------------------------------------


def _environment_reads(tree: ast.AST) -> Iterator[int]:
    """Yield the line of everything that reads or writes environment variables."""
    names = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names:
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module in {"os", "posix"}:
            if any(alias.name in names for alias in node.names):
                yield node.lineno
        elif isinstance(node, ast.keyword) and node.arg in {"envvar", "auto_envvar_prefix"}:
            yield node.lineno


def test_only_the_settings_read_the_environment() -> None:
    readers = {
        f"{_relative(module.path)}:{line}"
        for module in product_modules()
        if module.name != ENVIRONMENT_READER
        for line in _environment_reads(module.tree)
    }
    assert readers == set()


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.environ['X']",
        "import os as o\no.getenv('X')",
        "from os import environ as e",
        "typer.Option(envvar='X')",
    ],
)
def test_the_rule_of_the_environment_bites(source: str) -> None:
    assert list(_environment_reads(ast.parse(source)))


# --- files and names ----------------------------------------------------------------------------


def test_no_file_is_too_long() -> None:
    lines = {
        _relative(path): path.read_text(encoding="utf-8").count("\n")
        for path in repository_files()
        if path.suffix in {".py", ".sh"}
    }
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_names_say_what_a_thing_is() -> None:
    modules = {_relative(path) for path in _python_files() if VAGUE_NAME.search(path.stem)}
    folders = {name for name in _package_folders() if VAGUE_NAME.search(name.split("/")[-1])}
    classes = {
        f"{_relative(module.path)}:{node.name}"
        for module in product_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and VAGUE_NAME.search(node.name)
    }
    assert modules | folders | classes == set()


@pytest.mark.parametrize("name", ["utils", "query_utils", "helpers", "IndexManager", "helper"])
def test_the_rule_of_names_bites(name: str) -> None:
    assert VAGUE_NAME.search(name)


def test_no_module_is_named_like_the_library_it_wraps() -> None:
    libraries = {
        name.split(".")[0] for module in product_modules() for name in imported_names(module)
    } - set(PRODUCT_PACKAGES)
    clashes = {
        module.name for module in product_modules() if module.name.split(".")[-1] in libraries
    }
    assert clashes == set()


def test_every_heading_is_a_folder_and_every_package_has_one() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    headings = HEADING.findall(text)
    assert len(headings) == text.count("\n## "), "a heading is a folder, a colon and a question"
    assert [name for name in headings if not (ROOT / name).is_dir()] == []
    assert sorted(_package_folders() - {"tests"} - set(headings)) == []
    assert len(set(headings)) == len(headings)


# Written in pieces, so that this file does not hold what it looks for.
REGISTRY_HOSTS = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs"),
        ("crates", "io"),
        ("proxy", "golang"),
        ("repo", "maven"),
        ("repo1", "maven"),
        ("deb", "debian"),
    )
)
MACHINE_PATH = regex.compile(rb"(?<![\w.~-])/(?:work|root|home|Users)/\w")


def _machine_traces(content: bytes) -> list[str]:
    found = [host for host in REGISTRY_HOSTS if host.encode() in content]
    return found + [match.decode("utf-8", "replace") for match in MACHINE_PATH.findall(content)]


def test_no_file_names_a_registry_or_a_machines_folder() -> None:
    found = {_relative(path): _machine_traces(path.read_bytes()) for path in repository_files()}
    assert {name: traces for name, traces in found.items() if traces} == {}


def test_the_rule_of_machine_traces_bites() -> None:
    assert _machine_traces(b"index-url = https://%s/simple" % REGISTRY_HOSTS[0].encode())
    assert _machine_traces(b"see /%s/somebody/x" % b"home")
    assert not _machine_traces(b"see https://example.org/%s/x and ../shared/data" % b"home")
