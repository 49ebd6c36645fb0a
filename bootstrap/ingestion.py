"""How documents are read, cut and written, as the settings have it."""

from __future__ import annotations

from bootstrap.opening import open_index
from bootstrap.settings import Settings
from ingest.chunking import ChunkSettings
from ingest.pipeline import IngestSettings
from ingest.readers.settings import ReaderSettings

ANALYSIS_VERSION = 2  # of how text is analysed; another one makes every document count as changed


def ingest_settings(settings: Settings) -> IngestSettings:
    """Return how documents are cut and written into the settings' index, which there is.

    Raises:
        EngineError: as `open_index`.
    """
    with open_index(settings) as index:
        analysis, schema = index.engine.analysis, index.engine.metadata_schema
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
