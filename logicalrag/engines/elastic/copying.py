"""The passages of one index into another, each at its version, while writers write both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logicalrag.engines.cluster.bulk import BulkSettings, BulkStream, Item
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.point_in_time import PointInTime
from logicalrag.engines.elastic.layout import Layout, passage_of
from logicalrag.engines.errors import EngineError

_WANTED = "_id,_version,_routing,_source"


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy did.

    Args:
        stored: passages that were copied.
        overtaken: passages that writers had written or removed there in the meantime.
    """

    stored: int
    overtaken: int


def copy_passages(
    cluster: Cluster,
    old: str,
    alias: str,
    layout: Layout,
    *,
    only: Sequence[str] | None = None,
    page: int = 1_000,
    settings: BulkSettings | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Copied:
    """Copy what `old` holds now into the index behind `alias`, each at its version.

    What is there at the same version or a higher one, or was removed at one, stays.

    Args:
        layout: of the index behind `alias`.
        only: ids of passages; None for all.
        page: passages read at once, 1 to 10,000.
        settings: bounds of the bulk requests.
        progress: told after each page how many passages have been read.

    Raises:
        EngineError: a passage cannot be read or stored, or the alias is gone.
    """
    read = 0
    wanted: dict[str, Any] = {"version": True}
    if only is not None:
        wanted["query"] = {"ids": {"values": list(only)}}
    with PointInTime(cluster, old, doing="copying an index") as state:
        stream = BulkStream(cluster, settings, _misdirected)
        try:
            for hits in state.pages(wanted, ["_shard_doc"], page, _WANTED):
                for hit in hits:
                    stream.add(Item(_action(alias, layout, hit), hit["_id"]))
                read += len(hits)
                progress(read)
            report = stream.flush()
        finally:
            stream.close()
    if report.failed:
        raise EngineError(
            f"{len(report.failed)} of {read} passages could not be copied; "
            f"{report.failed[0].id}: {report.failed[0].reason}"
        )
    return Copied(report.ok, report.stale)


def remove_passages(
    cluster: Cluster, alias: str, seen: Iterable[tuple[str, str, int]], settings: BulkSettings
) -> None:
    """Remove passages from the index behind `alias`, each unless a higher version is there.

    Args:
        seen: id, routing and version of each.

    Raises:
        EngineError: one cannot be removed, or the alias is gone.
    """
    stream = BulkStream(cluster, settings, _misdirected)
    try:
        for id_, key, version in seen:
            head = _head("delete", "external_gte", alias, key, version, id_)
            stream.add(Item(head, id_))
        report = stream.flush()
    finally:
        stream.close()
    if report.failed:
        raise EngineError(
            f"{len(report.failed)} passages could not be removed; "
            f"{report.failed[0].id}: {report.failed[0].reason}"
        )


def _action(alias: str, layout: Layout, hit: Mapping[str, Any]) -> bytes:
    try:
        id_, version, key = hit["_id"], int(hit["_version"]), hit["_routing"]
        source = layout.encoded(passage_of(hit["_source"]))
    except (KeyError, TypeError, ValueError) as error:
        raise EngineError(
            f"The passage {str(hit.get('_id'))[:80]!r} is not as it was put ({error!r:.200}); "
            "ingest its document again, then rebuild"
        ) from None
    # Not external_gte: of one version, what a writer has put or removed since is the newer.
    return b"".join((_head("index", "external", alias, key, version, id_), source, b"\n"))


def _head(kind: str, version_type: str, alias: str, key: str, version: int, id_: str) -> bytes:
    return (
        f'{{"{kind}":{{"_index":"{alias}","version_type":"{version_type}","version":{version},'
        f'"routing":"{key}","_id":"{id_}"}}}}\n'
    ).encode()


def _misdirected(_: Sequence[Item]) -> None:
    raise EngineError(
        "Another process has ended this rebuild, so that its index is no longer filled"
    )
