"""The alias switches of a rebuild: each one atomic call that only its own epoch allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import AbsentError, ClusterError
from logicalrag.engines.elastic.names import Names, index_number, next_alias, write_alias
from logicalrag.engines.errors import EngineError

Action = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Group:
    """Which index of a group does what now.

    Args:
        serving: the index that is searched; None where there is none.
        epoch: of its writers; 0 where nobody may write.
        beside: the index that these fill as well.
        indices: all there are, by number.
    """

    serving: str | None
    epoch: int
    beside: str | None
    indices: tuple[str, ...]


class Aliases:
    """The aliases of one tenant's group of indices."""

    def __init__(self, cluster: Cluster, names: Names, tenant: str) -> None:
        self._cluster = cluster
        self._group = names.group(tenant)
        self._read = names.read_alias(tenant)

    def group(self) -> Group:
        """Return what holds now, as the elected master knows it.

        Raises:
            EngineError: more than one index is behind an alias.
        """
        found = read_aliases(self._cluster, self._group)
        holders: dict[str, str] = {}
        for index, aliases in found.items():
            for alias in aliases:
                if holders.setdefault(alias, index) != index:
                    raise EngineError(
                        f"The alias {alias} leads to {holders[alias]} and {index}; remove it from "
                        "one of them"
                    )
        write = write_alias(self._group, 0)[:-1]
        epochs = (alias.removeprefix(write) for alias in holders if alias.startswith(write))
        epoch = max((int(each) for each in epochs if each.isdecimal()), default=0)
        return Group(
            holders.get(self._read),
            epoch,
            holders.get(next_alias(self._group, epoch)),
            tuple(sorted(found, key=index_number)),
        )

    def begin(self, seen: Group, new: str) -> None:
        """Let writers fill `new` as well."""
        self._switch(
            seen,
            [
                self._remove(seen.serving, write_alias(self._group, seen.epoch)),
                _add(seen.serving, write_alias(self._group, seen.epoch + 1)),
                _add(new, next_alias(self._group, seen.epoch + 1)),
            ],
            (seen.serving, seen.epoch + 1, new),
        )

    def finish(self, seen: Group) -> None:
        """Let the index beside be the one that is searched and written."""
        self._switch(
            seen,
            [
                self._remove(seen.serving, self._read),
                self._remove(seen.serving, write_alias(self._group, seen.epoch)),
                self._remove(seen.beside, next_alias(self._group, seen.epoch)),
                _add(seen.beside, self._read),
                _add(seen.beside, write_alias(self._group, seen.epoch + 1)),
            ],
            (seen.beside, seen.epoch + 1, None),
        )

    def cancel(self, seen: Group) -> None:
        """Let writers write only the index that is searched."""
        self._switch(
            seen,
            [
                self._remove(seen.serving, write_alias(self._group, seen.epoch)),
                self._remove(seen.beside, next_alias(self._group, seen.epoch)),
                _add(seen.serving, write_alias(self._group, seen.epoch + 1)),
            ],
            (seen.serving, seen.epoch + 1, None),
        )

    def _remove(self, index: str | None, alias: str) -> Action:
        # One that is missing fails the whole call, so that an epoch ends once.
        return {"remove": {"index": index, "alias": alias, "must_exist": True}}

    def _switch(
        self, seen: Group, actions: Sequence[Action], wanted: tuple[str | None, int, str | None]
    ) -> None:
        try:
            answer = self._cluster.call(
                "POST", "/_aliases", {"actions": actions}, doing="an alias switch"
            )
        except ClusterError as error:
            # It may have been carried out, and then an attempt repeated.
            now = self.group()
            if (now.serving, now.epoch, now.beside) == wanted:
                return
            if isinstance(error, AbsentError):
                raise EngineError(
                    f"The aliases of {self._group} were changed meanwhile (epoch {seen.epoch} is "
                    f"over, {now.epoch} holds)"
                ) from None
            raise
        if not answer.get("acknowledged"):
            raise ClusterError(
                "Not every node has taken the new aliases in time; try again when the cluster's "
                "health is green.",
                True,
            )


def read_aliases(cluster: Cluster, group: str) -> Mapping[str, frozenset[str]]:
    """Return the aliases of each index of a group, by index, as the elected master knows them."""
    found = cluster.call(
        "GET",
        f"/{group}-v*",
        doing="looking for indices",
        parameters={"features": "aliases"},
    )
    return {
        index: frozenset(held["aliases"])
        for index, held in sorted(found.items())
        if index_number(index)
    }


def block_writes(cluster: Cluster, index: str) -> None:
    """Refuse writes to an index from now on; returns when those under way are done.

    Source: Elasticsearch's reference, "Add index block API".

    Raises:
        ClusterError: some shard has not confirmed it.
    """
    answer = cluster.call("PUT", f"/{index}/_block/write", doing="blocking writes for a moment")
    if not (answer.get("acknowledged") and answer.get("shards_acknowledged")):
        raise ClusterError(
            f"Not every shard of {index} confirmed that its writes are done; try again when the "
            "cluster's health is green.",
            True,
        )


def allow_writes(cluster: Cluster, index: str) -> None:
    """Lift what `block_writes` did; an index that is gone or has no block is fine."""
    try:
        cluster.call(
            "PUT", f"/{index}/_settings", {"index.blocks.write": None}, doing="allowing writes"
        )
    except AbsentError:
        return


def _add(index: str | None, alias: str) -> Action:
    return {"add": {"index": index, "alias": alias}}
