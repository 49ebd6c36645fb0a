"""A collection: its catalog, and each tenant's versioned indices behind their aliases."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import AbsentError, ClusterDeniedError, ClusterError
from logicalrag.engines.elastic.aliases import read_aliases
from logicalrag.engines.elastic.catalog import MAX_REPLICAS, MAX_SHARDS, Catalog, Description
from logicalrag.engines.elastic.layout import Layout, layout_of
from logicalrag.engines.elastic.names import (
    Names,
    index_name,
    index_number,
    next_alias,
    write_alias,
)
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataSchema

Role = Literal["serving", "beside", "old", "unfinished"]
# Longer than any task may run, so that a deletion outlives every older write of its document.
GC_DELETES = "1h"
_FIRST_EPOCHS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Index:
    """One index of a tenant's group.

    Args:
        name, number: the number is part of the name and rises with each rebuild.
        role: ``serving`` is searched; ``beside`` is filled by a rebuild; ``old`` served before;
            ``unfinished`` is a rebuild's that has not begun to be filled, or died.
        layout: how its documents look; None where this version cannot read them.
        documents: passages that searches can see; None where its shards do not answer.
        size_bytes: on disk, with its replicas; None as above.
        shards, replicas: as it is set up.
        health: ``green``, ``yellow`` or ``red``.
        aliases: that lead to it, sorted.
        blocked: it refuses writes.
    """

    name: str
    number: int
    role: Role
    layout: Layout | None
    documents: int | None
    size_bytes: int | None
    shards: int
    replicas: int
    health: str
    aliases: tuple[str, ...]
    blocked: bool


class Collection:
    """The indices of one prefix. Safe to use from several threads and processes.

    Args:
        cluster: where they are.
        names: how they are called.
    """

    def __init__(self, cluster: Cluster, names: Names) -> None:
        self.cluster = cluster
        self.names = names
        self.catalog = Catalog(cluster, names)

    def create(
        self,
        *,
        analysis: Analysis = "english",
        schema: MetadataSchema | None = None,
        shards: int = 3,
        replicas: int = 1,
    ) -> None:
        """Make the catalog; a collection of the same description is left as it is.

        Args:
            analysis, schema: of every tenant's index.
            shards: 1 to 1,024. replicas: 0 to 32; also the catalog's.

        Raises:
            EngineError: another description holds here, or a number is out of bounds.
        """
        check_numbers(shards, replicas)
        self.catalog.create(
            Description(analysis, schema or MetadataSchema({}), shards, replicas, self.names.shared)
        )

    def description(self) -> Description:
        """Return what the collection was made as; read once.

        Raises:
            EngineError: there is none, it is of another format, or its tenants are kept the other
                way (apart or together).
        """
        return self.catalog.description()

    def ensure_tenant(self, tenant: str) -> None:
        """Make the tenant's first index with its aliases and register it, unless it is there.

        Several processes may do so at once; what one left half done the next completes.

        Raises:
            EngineError: there is no collection, whoever asks may not make indices, or the indices
                of a registered tenant are gone.
        """
        described = self.description()
        try:
            tenant.encode()
        except UnicodeEncodeError:
            raise EngineError(
                f"The tenant {shown(tenant)} holds half a character; name it in valid Unicode"
            ) from None
        known = self.has_tenant(tenant)
        there = self.aliases(tenant)
        read = self.names.read_alias(tenant)
        if not any(read in aliases for aliases in there.values()):
            if known:
                raise EngineError(
                    f"The indices of tenant {shown(tenant)} are gone; restore them from a "
                    "snapshot, or ingest anew after: logicalrag index drop --force "
                    f"--tenant {shown(tenant)}"
                )
            self._make_first(tenant, described, 1 + max(map(index_number, there), default=0))
        if not known:
            self.catalog.register(tenant)

    def has_tenant(self, tenant: str) -> bool:
        """Return whether the tenant has been registered; together, whether any has.

        Raises:
            EngineError: there is no collection.
        """
        return self.catalog.has(tenant)

    def tenants(self) -> Iterator[str]:
        """Return the registered tenants in the order of their groups' names.

        Together there is one group, whose tenants are not kept: one name stands for all.
        """
        self.description()
        return self.catalog.tenants()

    def indices(self, tenant: str) -> tuple[Index, ...]:
        """Return the tenant's indices by number; none for an unknown tenant.

        Raises:
            EngineError: there is no collection.
        """
        self.description()
        group = self.names.group(tenant)
        pattern = f"{group}-v*"
        found = self.cluster.call("GET", f"/{pattern}", doing="listing indices")
        if not found:
            return ()
        sizes = self.cluster.call(
            "GET", f"/{pattern}/_stats/docs,store", doing="measuring indices"
        )["indices"]
        health = self.cluster.call(
            "GET",
            f"/_cluster/health/{pattern}",
            doing="asking how indices are",
            parameters={"level": "indices"},
        )["indices"]
        serving = max(
            (
                index_number(name)
                for name, held in found.items()
                if self.names.read_alias(tenant) in held["aliases"]
            ),
            default=0,
        )
        read, beside = self.names.read_alias(tenant), next_alias(group, 0)[:-1]

        def role(name: str, aliases: tuple[str, ...]) -> Role:
            if read in aliases:
                return "serving"
            if any(alias.startswith(beside) for alias in aliases):
                return "beside"
            return "old" if index_number(name) < serving else "unfinished"

        listed = []
        for name in sorted(filter(index_number, found), key=index_number):
            held, measured = found[name], sizes.get(name)
            aliases = tuple(sorted(held["aliases"]))
            settings = held["settings"]["index"]
            listed.append(
                Index(
                    name=name,
                    number=index_number(name),
                    role=role(name, aliases),
                    layout=_layout(name, held["mappings"].get("_meta")),
                    documents=measured and measured["primaries"]["docs"]["count"],
                    size_bytes=measured and measured["total"]["store"]["size_in_bytes"],
                    shards=int(settings["number_of_shards"]),
                    replicas=int(settings["number_of_replicas"]),
                    health=health.get(name, {}).get("status", "red"),
                    aliases=aliases,
                    blocked=any(
                        str(value) == "true" for value in settings.get("blocks", {}).values()
                    ),
                )
            )
        return tuple(listed)

    def drop(
        self, tenant: str, index: str | None = None, *, force: bool = False
    ) -> tuple[str, ...]:
        """Delete one of the tenant's indices, or the tenant with all of them.

        Args:
            index: its name; None: the tenant, which needs `force`.
            force: also the index that is searched, and with it the tenant.

        Returns:
            The names of the deleted indices, by number.

        Raises:
            EngineError: there is no such index or tenant, or it is in use and not forced.
        """
        there = self.indices(tenant)
        doomed = [each for each in there if index in (None, each.name)]
        if index is not None and not doomed:
            names = ", ".join(each.name for each in there) or "none"
            raise EngineError(
                f"Tenant {shown(tenant)} has no index {index[:80]!r}; its indices: {names}"
            )
        if not doomed and not self.has_tenant(tenant):
            raise EngineError(f"There is no tenant {shown(tenant)}; see: logicalrag index list")
        if index is not None and doomed[0].role in ("beside", "unfinished"):
            raise EngineError(
                f"The index {index} belongs to a rebuild; to give that up: "
                f"logicalrag index swap --abandon --tenant {shown(tenant)}"
            )
        takes_tenant = index is None or doomed[0].role == "serving"
        if takes_tenant and not force:
            what = "the tenant's searches" if index is None else f"searches (index {index})"
            raise EngineError(f"This deletes what {what} need; to do it all the same, add --force")
        if takes_tenant:
            # The tenant first: one that is unknown reads as empty, a known one without as broken.
            self.catalog.forget(tenant)
        for each in doomed:
            self.delete_index(each.name)
        return tuple(each.name for each in doomed)

    # What the rest of this package needs of the catalog and of indices.

    def serving(self, tenant: str) -> tuple[str, ...]:
        """Return the indices behind the tenant's read alias: one, or none for an unknown tenant."""
        read = self.names.read_alias(tenant)
        return tuple(name for name, aliases in self.aliases(tenant).items() if read in aliases)

    def aliases(self, tenant: str) -> dict[str, frozenset[str]]:
        """Return the aliases of each index of the tenant's group."""
        return dict(read_aliases(self.cluster, self.names.group(tenant)))

    def make_index(
        self,
        name: str,
        layout: Layout,
        settings: Mapping[str, Any],
        aliases: tuple[str, ...] = (),
    ) -> bool:
        """Make an index; return False where it was there."""
        body = {
            "settings": {"refresh_interval": "-1", "gc_deletes": GC_DELETES, **settings},
            "mappings": layout.mapping(),
            "aliases": {alias: {} for alias in aliases},
        }
        return self._make(name, body, "making an index")

    def delete_index(self, name: str) -> None:
        """Delete an index; one that is gone is fine."""
        try:
            self.cluster.call("DELETE", f"/{name}", doing="deleting an index")
        except AbsentError:
            return

    def follow(self, tenant: str, analysis: Analysis) -> None:
        """Let the description take the analysis of the only tenant's index; of several it stays."""
        others = [each for each in self.tenants() if not self.names.shared and each != tenant]
        now = self.description()
        if not others and now.analysis != analysis:
            self.catalog.redescribe(replace(now, analysis=analysis))

    def _make_first(self, tenant: str, described: Description, number: int) -> None:
        group = self.names.group(tenant)
        name = index_name(group, number)
        read = self.names.read_alias(tenant)
        settings = {
            "number_of_shards": described.shards,
            "number_of_replicas": described.replicas,
        }
        # Not 1: whoever wrote to a tenant that was dropped must not go on in the one made anew.
        epoch = 1 + secrets.randbelow(_FIRST_EPOCHS)
        try:
            made = self.make_index(
                name, described.layout, settings, (read, write_alias(group, epoch))
            )
        except ClusterDeniedError:
            raise EngineError(
                f"Tenant {shown(tenant)} has no index and this user may not make one; "
                f"ask an admin to run: logicalrag index create --tenant {shown(tenant)}"
            ) from None
        if made and self.serving(tenant) != (name,):
            # We were paused and another process went further in the meantime.
            self.delete_index(name)

    def _make(self, name: str, body: Mapping[str, Any], doing: str) -> bool:
        try:
            self.cluster.call("PUT", f"/{name}", body, doing=doing)
        except ClusterError as error:
            if error.kind == "resource_already_exists_exception":
                return False
            raise
        return True


def _layout(index: str, meta: Mapping[str, Any] | None) -> Layout | None:
    try:
        return layout_of(index, meta)
    except EngineError:
        return None


def check_numbers(shards: int, replicas: int) -> None:
    """Check bounds.

    Raises:
        EngineError: a number is out of its bounds.
    """
    if not 1 <= shards <= MAX_SHARDS:
        raise EngineError(f"An index has 1 to {MAX_SHARDS:,} shards, not {shards}")
    if not 0 <= replicas <= MAX_REPLICAS:
        raise EngineError(f"An index has 0 to {MAX_REPLICAS} replicas, not {replicas}")


def shown(tenant: str) -> str:
    """Return a tenant's name for a sentence, shortened."""
    return repr(tenant if len(tenant) <= 60 else tenant[:59] + "…")
