"""Opens the index that the settings name: in a folder, or in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol

from bootstrap import embedded
from bootstrap.indices import OpenIndex
from bootstrap.settings import PREFIX, Settings, SettingsError, read_text
from bootstrap.synonyms import synonyms
from ingest.ledger import Ledger
from logicalrag.agent.tools import Tools
from logicalrag.engines.identity import document_key
from logicalrag.engines.metadata import MetadataSchema, parse_schema
from logicalrag.engines.protocol import IndexWriter

_CLUSTER_PACKAGES = ("elasticsearch", "elastic_transport")


class _Product(Protocol):
    def open_index(self, settings: Settings) -> AbstractContextManager[OpenIndex]: ...

    def open_writer(
        self, settings: Settings, schema: MetadataSchema | None, *, create: bool
    ) -> AbstractContextManager[tuple[IndexWriter, Ledger]]: ...


@contextmanager
def open_index(settings: Settings) -> Iterator[OpenIndex]:
    """Open the index for searching, with its ledger.

    Raises:
        EngineError: there is none, or the cluster does not answer as it must.
        SettingsError: the settings ask for what is not installed, or name a file that is unfit.
    """
    with _product(settings).open_index(settings) as index:
        yield index


@contextmanager
def open_tools(settings: Settings, warn: Callable[[str], None]) -> Iterator[Tools]:
    """Open the index for searching, with its pending documents and the synonyms.

    `warn` takes a sentence about what goes on all the same.

    Raises:
        EngineError: as `open_index`.
        SettingsError: as `open_index`, or the synonym file cannot be used.
    """
    table = synonyms(settings.synonyms, warn)
    with open_index(settings) as index:
        yield Tools(index.engine, pending=lambda: index.pending(settings.tenant), synonyms=table)


@contextmanager
def open_writer(settings: Settings, *, create: bool) -> Iterator[tuple[IndexWriter, Ledger]]:
    """Open index and ledger for writing; with `create`, make them where they are absent.

    Raises:
        IndexLockedError: another process writes the folder, and went on for longer than we wait.
        EngineError: there is no index and none may be made, index and ledger do not belong
            together, or the index has another analysis or other fields than the settings ask for.
        SettingsError: the file of declared fields cannot be read, or the index is attached.
        MetadataError: the file declares none.
    """
    schema = declared_fields(settings)
    with _product(settings).open_writer(settings, schema, create=create) as opened:
        yield opened


def declared_fields(settings: Settings) -> MetadataSchema | None:
    """Return the fields that the settings' file declares; None without a file.

    Raises:
        SettingsError: the file cannot be read.
        MetadataError: it declares none.
    """
    if settings.metadata is None:
        return None
    return parse_schema(read_text(settings.metadata, "schema file"), str(settings.metadata))


def document_state(
    settings: Settings, document_id: str
) -> Literal["not_found", "pending", "deleted", "failed"]:
    """Return what the ledger knows of a document that no caller finds in the index.

    Of a document that has passages stored, and so is hidden from this caller, nothing is told.

    Raises:
        EngineError, LedgerError, SettingsError: as `open_index`.
    """
    key = document_key(settings.tenant, document_id)
    with open_index(settings) as index:
        record = index.ledger.look_up([key]).get(key) if index.ledger else None
    if record is None or record.passages or record.state == "stored":
        return "not_found"
    return "pending" if record.state == "claimed" else record.state


def _product(settings: Settings) -> _Product:
    if settings.engine == "embedded":
        return embedded
    with cluster_package():
        from bootstrap import elastic
    return elastic


@contextmanager
def cluster_package() -> Iterator[None]:
    """Guard an import of what talks to a cluster.

    Raises:
        SettingsError: the packages that it needs are not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in _CLUSTER_PACKAGES:
            raise
        raise SettingsError(
            "The engine elastic needs a package that is not installed; install it with: "
            "pip install 'logicalrag[elastic]'"
        ) from None


def require_cluster(settings: Settings, command: str) -> None:
    """Refuse what only a cluster has.

    Raises:
        SettingsError: the index is in a folder.
    """
    if settings.engine == "embedded":
        raise SettingsError(
            f"logicalrag {command} is for an Elasticsearch cluster, and the setting engine is "
            f"embedded; add --engine elastic, or set {PREFIX}ENGINE=elastic."
        )
