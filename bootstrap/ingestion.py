"""The embedded product, to write: index and ledger of one folder, and how documents get in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bootstrap.embedded import LEDGER_NAME, disagreement, require_index
from bootstrap.settings import Settings, read_text
from ingest.chunking import ChunkSettings
from ingest.ledger import Ledger
from ingest.pipeline import IngestSettings
from ingest.readers.settings import ReaderSettings
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataSchema, parse_schema
from logicalrag.engines.protocol import IndexWriter

ANALYSIS_VERSION = 2  # of how text is analysed; another one makes every document count as changed


@contextmanager
def open_writer(settings: Settings, *, create: bool) -> Iterator[tuple[IndexWriter, Ledger]]:
    """Open index and ledger for writing; with `create`, make the folder where it is absent.

    Raises:
        IndexLockedError: another process writes, and went on for longer than we wait.
        EngineError: the folder cannot be made or read, there is no index to write to, index and
            ledger do not belong together, or the index has another analysis or other fields than
            the settings ask for.
        SettingsError: the file of declared fields cannot be read.
        MetadataError: it declares none.
    """
    schema = declared_fields(settings)
    if not create:
        require_index(settings.index)
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
        _require_agreement(settings, ledger)
        yield writer, ledger


def declared_fields(settings: Settings) -> MetadataSchema | None:
    """Return the fields that the settings' file declares; None without a file.

    Raises:
        SettingsError: the file cannot be read.
        MetadataError: it declares none.
    """
    if settings.metadata is None:
        return None
    return parse_schema(read_text(settings.metadata, "schema file"), str(settings.metadata))


def ingest_settings(settings: Settings) -> IngestSettings:
    """Return how documents are cut and written into the settings' index, which there is."""
    with EmbeddedEngine(settings.index) as engine:
        analysis, schema = engine.analysis, engine.metadata_schema
    return IngestSettings(
        chunking=ChunkSettings(
            mode=settings.chunk_mode,
            size=settings.chunk_size,
            overlap=settings.chunk_overlap,
            unit=settings.chunk_unit,
        ),
        analysis=f"{analysis}/{ANALYSIS_VERSION}",
        metadata=schema,
    )


def reader_settings(settings: Settings) -> ReaderSettings:
    """Return how sources are read."""
    return ReaderSettings(tenant=settings.tenant, encoding=settings.encoding)


def _require_agreement(settings: Settings, ledger: Ledger) -> None:
    """Refuse to write where one of index and ledger was removed or restored without the other."""
    with EmbeddedEngine(settings.index) as engine:
        problem = disagreement(engine, ledger, settings)
    if problem is not None:
        raise EngineError(problem)
