"""The indices of a collection in a cluster: what the index commands and `reconcile` do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bootstrap.elastic import create_collection, names_of, open_cluster, open_ledger, open_writer
from bootstrap.opening import declared_fields
from bootstrap.settings import Settings, SettingsError
from ingest.reconcile import ReconcileReport
from ingest.reconcile import reconcile as reconcile_index
from logicalrag.engines.analysis import Analysis
from logicalrag.engines.elastic import rebuild as rebuilding
from logicalrag.engines.elastic.indices import Collection, Index
from logicalrag.engines.elastic.inventory import ElasticInventory
from logicalrag.engines.elastic.rebuild import DriftError, RebuildReport
from logicalrag.engines.elastic.replay import ExpressionFileError, Replayed, read_expressions

__all__ = ["DriftError", "Index", "RebuildReport", "ReconcileReport", "Replayed"]

OnStep = Callable[[str, int, int], None]


class Listing(NamedTuple):
    """A tenant's indices, and sentences about what a killed command had left and what was done."""

    tenant: str
    indices: tuple[Index, ...]
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Swap:
    """How an old index is exchanged for a new one.

    Args:
        replay: file of recorded expressions that are searched on both; None for none.
        max_drift: 0.0 to 1.0; a larger mean drift of these refuses the swap.
        keep_old: leave the old index until it is dropped.
    """

    replay: Path | None = None
    max_drift: float = 0.0
    keep_old: bool = True

    def expressions(self) -> tuple[str, ...]:
        """Return the recorded expressions.

        Raises:
            SettingsError: the file cannot be used.
        """
        if self.replay is None:
            return ()
        try:
            return read_expressions(self.replay)
        except ExpressionFileError as error:
            raise SettingsError(str(error)) from None


@contextmanager
def open_collection(settings: Settings) -> Iterator[Collection]:
    """Open the settings' collection; nothing is asked yet.

    Raises:
        ClusterError: the certificate authority cannot be used.
    """
    with open_cluster(settings) as cluster:
        yield Collection(cluster, names_of(settings))


def create(settings: Settings) -> Listing:
    """Make the collection, its ledger and the tenant's index, as far as they are absent.

    Raises:
        EngineError: the collection is there with another description, or cannot be made.
        SettingsError, MetadataError: the file of declared fields cannot be used.
    """
    schema = declared_fields(settings)
    with open_collection(settings) as collection:
        create_collection(collection, settings, schema)
        collection.ensure_tenant(settings.tenant)
        return _listing(collection, settings.tenant)


def listed(settings: Settings, tenant: str | None) -> list[Listing]:
    """Return the indices of each tenant, or of one, in the order of their names.

    Raises:
        EngineError: there is no collection.
    """
    with open_collection(settings) as collection:
        tenants = [tenant] if tenant is not None else list(collection.tenants())
        return [_listing(collection, each) for each in tenants]


def drop(settings: Settings, index: str | None, *, force: bool) -> tuple[str, ...]:
    """Delete one of the tenant's indices, or the tenant with all of them; return their names.

    With the tenant goes what the ledger knows of it, so that its documents can be ingested anew.

    Raises:
        EngineError: as `Collection.drop`.
    """
    with open_collection(settings) as collection:
        collection.description()
        rebuilding.recover(collection, settings.tenant)
        ledger = open_ledger(collection.cluster, settings)
        whose = None if collection.names.shared else settings.tenant
        if force and index is None and not collection.has_tenant(settings.tenant):
            ledger.forget(whose)  # a run before was killed halfway
        dropped = collection.drop(settings.tenant, index, force=force)
        if not collection.has_tenant(settings.tenant):
            ledger.forget(whose)
        return dropped


def rebuild(
    settings: Settings,
    exchange: Swap | None,
    on_step: OnStep,
    *,
    shards: int | None = None,
    replicas: int | None = None,
    analysis: Analysis | None = None,
) -> RebuildReport:
    """Make the tenant's index anew from its passages; see `logicalrag.engines.elastic.rebuild`.

    Args:
        exchange: None to leave the new index beside, until `swap` or `abandon`.
        on_step: told how far it is.
        shards, replicas, analysis: of the new index; None: as the old one's.

    Raises:
        DriftError, EngineError: the old index serves as before and the new one is gone.
        SettingsError: the file of expressions cannot be used.
    """
    how = exchange or Swap()
    expressions = how.expressions()
    with open_collection(settings) as collection:
        return rebuilding.rebuild(
            collection,
            settings.tenant,
            shards=shards,
            replicas=replicas,
            analysis=analysis,
            expressions=expressions,
            max_drift=how.max_drift,
            swap=exchange is not None,
            keep_old=how.keep_old,
            progress=on_step,
        )


def swap(settings: Settings, how: Swap, on_step: OnStep) -> RebuildReport:
    """Exchange the tenant's index for the one that `rebuild` left beside it.

    Raises:
        DriftError, EngineError: the old index serves as before and the new one still waits.
        SettingsError: the file of expressions cannot be used.
    """
    expressions = how.expressions()
    with open_collection(settings) as collection:
        collection.description()
        return rebuilding.swap(
            collection,
            settings.tenant,
            expressions=expressions,
            max_drift=how.max_drift,
            keep_old=how.keep_old,
            progress=on_step,
        )


def abandon(settings: Settings) -> tuple[str, ...]:
    """Remove the index that `rebuild` left beside the tenant's; return the names removed.

    Raises:
        EngineError: a live process works on these indices.
    """
    with open_collection(settings) as collection:
        collection.description()
        return rebuilding.abandon(collection, settings.tenant)


def reconcile(
    settings: Settings, *, dry_run: bool, max_listed: int, on_step: OnStep
) -> ReconcileReport:
    """Compare the ledger with what the indices hold, of all tenants, and repair what differs.

    Args:
        dry_run: only report.
        max_listed: how many differences the report names.
        on_step: told how far it is.

    Raises:
        EngineError, LedgerError: one of them cannot be read or written; run it again.
    """
    with (
        open_writer(settings, None, create=False) as (writer, ledger),
        open_cluster(settings) as cluster,
    ):
        return reconcile_index(
            ledger,
            ElasticInventory(cluster, names_of(settings)),
            writer,
            dry_run=dry_run,
            max_listed=max_listed,
            progress=lambda done: on_step("comparing documents", done, 0),
        )


def _listing(collection: Collection, tenant: str) -> Listing:
    found = rebuilding.recover(collection, tenant)
    return Listing(tenant, collection.indices(tenant), found)
