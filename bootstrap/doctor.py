"""What is set up, reachable and missing, and how to mend it."""

from __future__ import annotations

import re
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from importlib import metadata
from typing import Literal

from bootstrap.embedded import (
    LEDGER_NAME,
    disagreement,
    open_engine,
    open_ledger,
    pending_documents,
)
from bootstrap.ingestion import declared_fields
from bootstrap.settings import PREFIX, Settings, SettingsError
from bootstrap.synonyms import SynonymFile
from ingest.ledger import LedgerError
from logicalrag.engines.embedded.folder import DESCRIPTOR
from logicalrag.engines.embedded.lock import lock_holder
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataError
from logicalrag.engines.protocol import Visibility

MIN_PYTHON = (3, 11)
ANSWER_SECONDS = 3.0
_GIB = 2**30
_PINNED = re.compile(r"^([\w.-]+)\s*(?:==([\w.]+))?[^;]*(;.*)?$")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at.

    Args:
        name: of what, in a word or two.
        status: ``ok``, ``warn`` (works, or is not set up yet), ``fail`` (does not work).
        message: what was found, without any secret.
        fix: what to do; empty where nothing is, or where the message says it.
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    message: str
    fix: str = ""


def diagnose(settings: Settings) -> Iterator[Check]:
    """Yield one check after another as they are made; writes nothing.

    The one that may take time asks the model's server whether it answers, for at most
    `ANSWER_SECONDS` twice.
    """
    checks: dict[str, Callable[[Settings], Iterator[Check]]] = {
        "python": _python,
        "packages": _packages,
        "index": _index,
        "lock": _lock,
        "disk": _disk,
        "fields": _fields,
        "synonyms": _synonyms,
        "planner": _planner,
    }
    for name, check in checks.items():
        try:
            yield from check(settings)
        except (EngineError, LedgerError, SettingsError, MetadataError, OSError) as error:
            yield Check(name, "fail", str(error))


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


def _index(settings: Settings) -> Iterator[Check]:
    folder = settings.index
    if folder.exists() and not folder.is_dir():
        yield Check("index", "fail", f"{folder} is no folder", "name another folder")
        return
    if not (folder / LEDGER_NAME).exists():
        if (folder / DESCRIPTOR).exists():
            missing = f"the index in {folder} has lost its ledger"
            yield Check("index", "fail", missing, "restore both from one backup, or ingest anew")
            return
        again = f"logicalrag ingest FOLDER --index {folder}"
        yield Check("index", "warn", f"there is none in {folder}", again)
        return
    with open_engine(settings) as engine, open_ledger(settings) as ledger:
        held = engine.stats(Visibility(settings.tenant))
        fields = ", ".join(engine.metadata_schema.fields) or "none"
        yield Check(
            "index",
            "ok",
            f"{held.documents} documents and {held.passages} passages of tenant "
            f"{settings.tenant} in {folder}; analysis {engine.analysis}, fields: {fields}",
        )
        problem = disagreement(engine, ledger, settings)
        if problem is None:
            counts = ledger.counts(settings.tenant)
            states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "empty"
            yield Check("ledger", "ok", states)
        else:
            yield Check("ledger", "fail", problem)
        if pending := pending_documents(ledger, settings.tenant):
            yield Check(
                "pending",
                "warn",
                f"{pending} documents are accepted and not searchable",
                "run the interrupted ingest again",
            )
        else:
            yield Check("pending", "ok", "no document waits")


def _lock(settings: Settings) -> Iterator[Check]:
    holder = lock_holder(settings.index)
    if holder is None:
        yield Check("lock", "ok", "nobody writes the index")
    else:
        yield Check("lock", "warn", f"written by {holder}", "wait for it to end, or stop it")


def _disk(settings: Settings) -> Iterator[Check]:
    folder = settings.index.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    said = f"{free / _GIB:.1f} GiB free at {folder}"
    if free < _GIB:
        yield Check("disk", "warn", said, "make room: an index needs space beside it to be merged")
    else:
        yield Check("disk", "ok", said)


def _fields(settings: Settings) -> Iterator[Check]:
    declared = declared_fields(settings)
    if declared is None:
        return
    if (settings.index / LEDGER_NAME).exists():
        with open_engine(settings) as engine:
            if engine.metadata_schema != declared:
                yield Check(
                    "fields",
                    "fail",
                    f"{settings.metadata} declares other fields than the index has",
                    "ingest into a new folder, or leave the file out",
                )
                return
    yield Check("fields", "ok", f"{settings.metadata}: {', '.join(declared.fields)}")


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
