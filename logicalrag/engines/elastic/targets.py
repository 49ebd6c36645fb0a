"""Where a tenant's writes go: to the index that is searched and, during a rebuild, the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import AbsentError
from logicalrag.engines.elastic.layout import Layout, layout_of
from logicalrag.engines.elastic.names import Names, next_alias, write_alias


@dataclass(frozen=True, slots=True)
class Target:
    """One index that takes writes.

    Args:
        alias: what to write through; gone as soon as writers have to look again.
        index: what is behind it.
        layout: how its documents look.
    """

    alias: str
    index: str
    layout: Layout


@dataclass(frozen=True, slots=True)
class Targets:
    """Where writers of one epoch write.

    Args:
        epoch: rises with each beginning and end of a rebuild.
        current: the index that is searched.
        beside: the one that a rebuild fills; None while there is none.
    """

    epoch: int
    current: Target
    beside: Target | None


def read_targets(cluster: Cluster, names: Names, tenant: str) -> Targets:
    """Return where the writes of a tenant go now, as the elected master knows it.

    Raises:
        AbsentError: the tenant has no index that takes writes.
        EngineError: an index of another format.
        ClusterError: the cluster cannot be asked.
    """
    group = names.group(tenant)
    found = cluster.call(
        "GET",
        f"/{write_alias(group, 0)[:-1]}*,{next_alias(group, 0)[:-1]}*",
        doing="reading where to write",
        parameters={
            "features": "aliases,mappings",
            "filter_path": "*.aliases,*.mappings._meta",
            "allow_no_indices": "true",
        },
    )
    holders: dict[str, str] = {
        alias: index for index, held in (found or {}).items() for alias in held.get("aliases", ())
    }
    epoch = max((_epoch(alias, group) for alias in holders), default=0)
    if not epoch:
        raise AbsentError(
            f"The tenant {tenant[:60]!r} has no index that takes writes; "
            "make it with: logicalrag index create"
        )

    def target(alias: str) -> Target:
        index = holders[alias]
        return Target(alias, index, layout_of(index, _meta(found[index])))

    beside = next_alias(group, epoch)
    return Targets(
        epoch,
        target(write_alias(group, epoch)),
        target(beside) if beside in holders else None,
    )


def _epoch(alias: str, group: str) -> int:
    number = alias.removeprefix(write_alias(group, 0)[:-1])
    return int(number) if number != alias and number.isascii() and number.isdigit() else 0


def _meta(index: Mapping[str, Any]) -> Mapping[str, Any] | None:
    mappings: Mapping[str, Any] = index.get("mappings", {})
    return mappings.get("_meta")
