"""The embedded product: index and ledger of one folder, to read and to write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bootstrap.indices import OpenIndex
from bootstrap.settings import Settings
from ingest.ledger import Ledger
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import IndexWriter

LEDGER_NAME = "ledger.sqlite"


@contextmanager
def open_index(settings: Settings) -> Iterator[OpenIndex]:
    """Open the folder's index for searching, with its ledger.

    Raises:
        EngineError: there is no index in the folder.
    """
    _require_index(settings.index)
    with (
        EmbeddedEngine(settings.index) as engine,
        SqliteLedger(settings.index / LEDGER_NAME) as ledger,
    ):
        yield OpenIndex(
            str(settings.index), engine, ledger, lambda tenant: _pending(ledger, tenant)
        )


@contextmanager
def open_writer(
    settings: Settings, schema: MetadataSchema | None, *, create: bool
) -> Iterator[tuple[IndexWriter, Ledger]]:
    """Open index and ledger for writing; with `create`, make the folder where it is absent.

    Args:
        schema: the declared fields; None for those that the index has.

    Raises:
        IndexLockedError: another process writes, and went on for longer than we wait.
        EngineError: the folder cannot be made or read, there is no index to write to, index and
            ledger do not belong together, or the index has another analysis or other fields.
    """
    if not create:
        _require_index(settings.index)
    try:
        settings.index.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(
            f"The index folder {settings.index} cannot be made: {error.strerror}; name another."
        ) from None
    with (
        EmbeddedWriter(
            settings.index,
            wait_seconds=settings.lock_wait_seconds,
            analysis=settings.analysis,
            schema=schema,
        ) as writer,
        SqliteLedger(settings.index / LEDGER_NAME) as ledger,
    ):
        _require_agreement(settings)
        yield writer, ledger


def disagreement(index: OpenIndex, tenant: str) -> str | None:
    """Return a sentence where index and ledger do not belong together; None where they do."""
    found = index.disagreement(tenant)
    if found is None:
        return None
    return (
        f"Index and ledger in {index.place} do not belong together: the index holds "
        f"{found[0]} passages and the ledger knows of {found[1]}. Restore both from one backup, or "
        "ingest the documents into a new folder."
    )


def _pending(ledger: Ledger, tenant: str) -> int:
    return sum(record.tenant == tenant for record in ledger.pending())


def _require_agreement(settings: Settings) -> None:
    """Refuse to write where one of index and ledger was removed or restored without the other."""
    with open_index(settings) as index:
        problem = disagreement(index, settings.tenant)
    if problem is not None:
        raise EngineError(problem)


def _require_index(folder: Path) -> None:
    if not (folder / LEDGER_NAME).exists():
        raise EngineError(
            f"There is no index in {folder}; make one with: "
            f"logicalrag ingest FOLDER --index {folder}"
        )
