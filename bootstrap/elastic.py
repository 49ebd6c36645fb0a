"""The product in an Elasticsearch cluster: index and ledger, to read and to write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NoReturn

from bootstrap.indices import OpenIndex
from bootstrap.settings import Settings, SettingsError, read_text
from ingest.elastic_ledger import ElasticLedger
from ingest.ledger import Ledger
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.cluster.errors import ClusterDeniedError
from logicalrag.engines.elastic.attached import AttachedSource
from logicalrag.engines.elastic.attached_map import parse_field_map
from logicalrag.engines.elastic.catalog import Description, NoCollectionError
from logicalrag.engines.elastic.engine import ElasticEngine
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.own_source import OwnSource
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import IndexWriter

# A load that has begun waits some 20 s for a cluster that is away, and does not end for a moment.
_WRITERS_ATTEMPTS = 12


@contextmanager
def open_cluster(settings: Settings, least_attempts: int = 1) -> Iterator[Cluster]:
    """Open connections to the cluster that the settings name; nothing is asked yet.

    Args:
        least_attempts: for one call, whatever the settings say.

    Raises:
        ClusterError: the certificate authority cannot be used.
    """
    key, password = settings.elastic_api_key, settings.elastic_password
    address = Address(
        settings.elastic_hosts,
        settings.elastic_ca_file,
        None if key is None else key.get_secret_value(),
        settings.elastic_user,
        None if password is None else password.get_secret_value(),
        settings.elastic_seconds,
        max(settings.elastic_attempts, least_attempts),
    )
    with Cluster(address) as cluster:
        yield cluster


def names_of(settings: Settings) -> Names:
    """Return how the settings' indices are called."""
    return Names(settings.elastic_index, settings.elastic_tenants == "together")


@contextmanager
def open_index(settings: Settings) -> Iterator[OpenIndex]:
    """Open the collection for searching, with its ledger, or the attached index alone.

    Raises:
        EngineError: there is none, or the cluster does not answer as it must.
        SettingsError, FieldMapError: the field map of an attached index cannot be used.
    """
    with open_cluster(settings) as cluster:
        if settings.attached is not None:
            text = read_text(settings.attached, "field map")
            field_map = parse_field_map(text, str(settings.attached))
            engine = ElasticEngine(cluster, AttachedSource(cluster, field_map))
            yield OpenIndex(field_map.index, engine, None, lambda _: 0)
            return
        names = names_of(settings)
        with closing(open_ledger(cluster, settings)) as ledger:
            yield OpenIndex(
                names.read_alias(settings.tenant),
                ElasticEngine(cluster, OwnSource(cluster, Collection(cluster, names))),
                ledger,
                lambda tenant: ledger.counts(tenant).get("claimed", 0),
            )


@contextmanager
def open_writer(
    settings: Settings, schema: MetadataSchema | None, *, create: bool
) -> Iterator[tuple[IndexWriter, Ledger]]:
    """Open collection and ledger for writing; with `create`, make them where they are absent.

    Any number of writers may do so at once.

    Args:
        schema: the declared fields; None for those that the collection has.

    Raises:
        EngineError: there is no collection and this user may make none, it has another analysis
            or other fields, or the cluster does not answer as it must.
        SettingsError: the settings name an attached index.
    """
    if settings.attached is not None:
        raise SettingsError(
            f"The index that {settings.attached} names is attached: others fill it, and it is only "
            "read here; leave the setting attached out to write into the collection."
        )
    with open_cluster(settings) as cluster:
        collection = Collection(cluster, names_of(settings))
        try:
            _require(collection.description(), settings, schema)
        except NoCollectionError:
            if not create:
                raise
            try:
                create_collection(collection, settings, schema)
            except ClusterDeniedError:
                raise EngineError(
                    f"There is no collection {settings.elastic_index} in the cluster, and this "
                    "user may not make one; ask an admin to run: logicalrag index create"
                ) from None
        with (
            open_cluster(settings, _WRITERS_ATTEMPTS) as patient,
            closing(open_ledger(patient, settings)) as ledger,
            closing(ElasticWriter(patient, collection.names)) as writer,
        ):
            yield writer, ledger


def open_ledger(cluster: Cluster, settings: Settings) -> ElasticLedger:
    """Return the collection's ledger; nothing is asked yet."""
    return ElasticLedger(cluster, names_of(settings).ledger, replicas=settings.elastic_replicas)


def create_collection(
    collection: Collection, settings: Settings, schema: MetadataSchema | None
) -> None:
    """Make ledger and catalog as the settings have them; the same again changes nothing.

    Raises:
        EngineError: there is another one.
    """
    # The ledger first: where there is a catalog there is a ledger.
    open_ledger(collection.cluster, settings).create()
    collection.create(
        analysis=settings.analysis or "english",
        schema=schema,
        shards=settings.elastic_shards,
        replicas=settings.elastic_replicas,
    )


def _require(held: Description, settings: Settings, schema: MetadataSchema | None) -> None:
    """Refuse another analysis or other fields than the collection has."""
    if settings.analysis not in (None, held.analysis):
        _refuse(settings, f"the analysis {held.analysis}", f"the analysis {settings.analysis}")
    if schema not in (None, held.schema):
        _refuse(settings, _fields_text(held.schema), _fields_text(schema))


def _refuse(settings: Settings, held: str, wanted: str) -> NoReturn:
    raise EngineError(
        f"The collection {settings.elastic_index} was made with {held}; for {wanted} choose "
        "another prefix in the setting elastic_index"
    )


def _fields_text(schema: MetadataSchema | None) -> str:
    fields = ", ".join(f"{name} ({kind})" for name, kind in schema.fields.items()) if schema else ""
    return f"the fields {fields}" if fields else "no declared fields"
