"""The embedded product, to read: index, ledger and synonyms of one folder, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from bootstrap.settings import Settings
from bootstrap.synonyms import synonyms
from ingest.ledger import Ledger
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.agent.tools import Tools
from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import SearchEngine, Visibility

LEDGER_NAME = "ledger.sqlite"


@contextmanager
def open_engine(settings: Settings) -> Iterator[SearchEngine]:
    """Open the index for searching.

    Raises:
        EngineError: there is no index in the folder.
    """
    require_index(settings.index)
    with EmbeddedEngine(settings.index) as engine:
        yield engine


@contextmanager
def open_ledger(settings: Settings) -> Iterator[Ledger]:
    """Open the ledger alone, to look at it.

    Raises:
        EngineError: there is no index in the folder.
    """
    require_index(settings.index)
    with SqliteLedger(settings.index / LEDGER_NAME) as ledger:
        yield ledger


@contextmanager
def open_tools(settings: Settings, warn: Callable[[str], None]) -> Iterator[Tools]:
    """Open the index for searching, with the ledger's pending documents and the synonyms.

    `warn` takes a sentence about what goes on all the same.

    Raises:
        EngineError: there is no index in the folder.
        SettingsError: the synonym file cannot be used.
    """
    table = synonyms(settings.synonyms, warn)
    with open_engine(settings) as engine, open_ledger(settings) as ledger:
        yield Tools(
            engine, pending=lambda: pending_documents(ledger, settings.tenant), synonyms=table
        )


def document_state(
    settings: Settings, document_id: str
) -> Literal["not_found", "pending", "deleted", "failed"]:
    """Return what the ledger knows of a document that no caller finds in the index.

    Of a document that has passages stored, and so is hidden from this caller, nothing is told.

    Raises:
        EngineError: there is no index in the folder.
    """
    key = document_key(settings.tenant, document_id)
    with open_ledger(settings) as ledger:
        record = ledger.look_up([key]).get(key)
    if record is None or record.passages or record.state == "stored":
        return "not_found"
    return "pending" if record.state == "claimed" else record.state


def pending_documents(ledger: Ledger, tenant: str) -> int:
    """Count the tenant's documents that are claimed and not yet searchable."""
    return sum(record.tenant == tenant for record in ledger.pending())


def disagreement(engine: SearchEngine, ledger: Ledger, settings: Settings) -> str | None:
    """Return a sentence where index and ledger do not belong together; None where they do.

    Documents that a killed run left pending may be in the index already or not; with some, the
    two cannot be compared, and the next run settles it.
    """
    if pending_documents(ledger, settings.tenant):
        return None
    indexed = engine.stats(Visibility(settings.tenant)).passages
    known = ledger.passages(settings.tenant)
    if indexed == known:
        return None
    return (
        f"Index and ledger in {settings.index} do not belong together: the index holds "
        f"{indexed} passages and the ledger knows of {known}. Restore both from one backup, or "
        "ingest the documents into a new folder."
    )


def require_index(folder: Path) -> None:
    """Refuse a folder without an index.

    Raises:
        EngineError: there is none.
    """
    if not (folder / LEDGER_NAME).exists():
        raise EngineError(
            f"There is no index in {folder}; make one with: "
            f"logicalrag ingest FOLDER --index {folder}"
        )
