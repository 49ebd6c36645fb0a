"""What is set up, reachable and missing, and how to mend it."""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException
from importlib import metadata

from bootstrap import embedded_checks
from bootstrap.checks import Check
from bootstrap.opening import cluster_package
from bootstrap.settings import PREFIX, Settings, SettingsError
from bootstrap.synonyms import SynonymFile
from ingest.ledger import LedgerError
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataError

MIN_PYTHON = (3, 11)
ANSWER_SECONDS = 3.0
_PINNED = re.compile(r"^([\w.-]+)\s*(?:==([\w.]+))?[^;]*(;.*)?$")


def diagnose(settings: Settings) -> Iterator[Check]:
    """Yield one check after another as they are made; writes nothing.

    Those that may take time ask whether a server answers: the model's for at most
    `ANSWER_SECONDS` twice, each of the cluster's for that long at each of a few requests.
    """
    checks: dict[str, Callable[[Settings], Iterator[Check]]] = {
        "python": _python,
        "packages": _packages,
        **_product_checks(settings),
        "synonyms": _synonyms,
        "planner": _planner,
    }
    for name, check in checks.items():
        try:
            yield from check(settings)
        except (EngineError, LedgerError, SettingsError, MetadataError, OSError) as error:
            yield Check(name, "fail", str(error))


def _product_checks(settings: Settings) -> Mapping[str, Callable[[Settings], Iterator[Check]]]:
    if settings.engine == "embedded":
        return embedded_checks.CHECKS
    try:
        with cluster_package():
            from bootstrap import elastic_checks
    except SettingsError as error:
        missing = Check("cluster", "fail", error.message)
        return {"cluster": lambda _: iter((missing,))}
    return elastic_checks.CHECKS


def _python(_settings: Settings) -> Iterator[Check]:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= MIN_PYTHON:
        yield Check("python", "ok", found)
    else:
        needed = ".".join(map(str, MIN_PYTHON))
        yield Check("python", "fail", found, f"install Python {needed} or newer")


def _packages(_settings: Settings) -> Iterator[Check]:
    try:
        required = metadata.requires("logicalrag") or []
    except metadata.PackageNotFoundError:
        yield Check("packages", "warn", "logicalrag itself is not installed", "make setup")
        return
    wrong = []
    for line in required:
        found = _PINNED.match(line)
        if found is None or "extra" in (found[3] or ""):
            continue
        name, pinned = found[1], found[2]
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{name} is missing")
            continue
        if pinned is not None and installed != pinned:
            wrong.append(f"{name} is {installed} and must be {pinned}")
    if wrong:
        yield Check("packages", "fail", "; ".join(wrong), "install logicalrag again")
    else:
        yield Check("packages", "ok", f"logicalrag {metadata.version('logicalrag')}, all installed")


def _synonyms(settings: Settings) -> Iterator[Check]:
    if settings.synonyms is not None:
        rules = len(SynonymFile(settings.synonyms, lambda _: None)().rules)
        yield Check("synonyms", "ok", f"{settings.synonyms}: {rules} lines")


def _planner(settings: Settings) -> Iterator[Check]:
    if settings.planner != "anthropic":
        yield Check("planner", "ok", f"{settings.planner}, which needs no model")
        return
    from bootstrap.model import anthropic_planner  # its library is slow to import
    from logicalrag.agent.planners.model_driven.settings import ANTHROPIC_URL

    yield _answer(settings.base_url or ANTHROPIC_URL)
    planner = anthropic_planner(settings)
    key = "a key is set" if settings.api_key is not None else "no key, for a server of your own"
    yield Check("planner", "ok", f"anthropic, model {settings.model}; {key}")
    if planner.price_known:
        yield Check("prices", "ok", f"those of {settings.model} are known")
    else:
        yield Check(
            "prices",
            "warn",
            f"the price of {settings.model} is not known, so its cost cannot be told",
            f"name a table of prices in {PREFIX}PRICES",
        )


def _answer(address: str) -> Check:
    """Ask a server for anything; whatever it answers, it is there. No key is sent."""
    request = urllib.request.Request(address, method="HEAD")  # noqa: S310 - http(s), by the settings
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS):  # noqa: S310
            pass
    except urllib.error.HTTPError as answer:
        answer.close()
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        return Check(
            "server",
            "fail",
            f"{address} does not answer: {reason}",
            f"start it, or correct {PREFIX}BASE_URL",
        )
    return Check("server", "ok", f"{address} answers")
