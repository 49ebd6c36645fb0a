"""What doctor looks at where the index is in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

from bootstrap.checks import Check
from bootstrap.elastic import names_of, open_cluster, open_index
from bootstrap.opening import declared_fields
from bootstrap.settings import PREFIX, Settings
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import ClusterDeniedError, ClusterError
from logicalrag.engines.elastic.catalog import NoCollectionError
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.protocol import Visibility

ANSWER_SECONDS = 3.0
SUPPORTED = ("8", "9")
_HEALTH: Mapping[str, tuple[Literal["ok", "warn", "fail"], str]] = {
    "green": ("ok", ""),
    "yellow": ("warn", "a node is missing, or elastic_replicas asks for more than there are"),
    "red": ("fail", "some data is not there: start the nodes that are missing"),
}
# What each of deploy/elasticsearch/roles may do, by what shows it.
_RIGHTS: Mapping[str, tuple[str, ...]] = {
    "read": ("read", "view_index_metadata"),
    "write": ("index", "delete"),
    "manage": ("manage",),
}


def _cluster(settings: Settings) -> Iterator[Check]:
    with open_cluster(_quick(settings)) as cluster:
        try:
            health = cluster.call("GET", "/_cluster/health", doing="asking how the cluster is")
        except ClusterDeniedError as error:
            if error.status == 401:
                yield Check("cluster", "fail", error.message)
                return
            yield Check("cluster", "ok", f"{_hosts(settings)} answers; this user may not ask more")
        else:
            status, fix = _HEALTH.get(health["status"], ("fail", ""))
            nodes = health["number_of_nodes"]
            found = f"{health['status']}, {nodes} nodes at {_hosts(settings)}"
            yield Check("cluster", status, found, fix)
        yield from _version(cluster)
        yield _secure(settings)


def _version(cluster: Cluster) -> Iterator[Check]:
    try:
        told = cluster.call(
            "GET",
            "/_nodes/_all/http",
            doing="asking for versions",
            parameters={"filter_path": "nodes.*.version"},
        )
    except ClusterDeniedError:
        return
    versions = sorted({node["version"] for node in told.get("nodes", {}).values()})
    if all(version.split(".")[0] in SUPPORTED for version in versions):
        yield Check("version", "ok", f"Elasticsearch {', '.join(versions)}")
    else:
        known = " and ".join(SUPPORTED)
        found = f"Elasticsearch {', '.join(versions)}, and this program knows {known}"
        yield Check("version", "fail", found, "use a server of one of these")


def _secure(settings: Settings) -> Check:
    is_named = settings.elastic_api_key is not None or settings.elastic_user is not None
    plain = [host for host in settings.elastic_hosts if host.startswith("http:")]
    if not plain:
        return Check("security", "ok", "https" + (", as a named user" if is_named else ""))
    if all(_is_here(host) for host in plain):
        return Check("security", "ok", "no https, on this machine")
    sent = "passages and passwords" if is_named else "passages"
    return Check(
        "security",
        "warn",
        f"{sent} travel unencrypted to {', '.join(plain)}",
        f"use https, with its authority in {PREFIX}ELASTIC_CA_FILE",
    )


def _is_here(host: str) -> bool:
    name = urlsplit(host).hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _index(settings: Settings) -> Iterator[Check]:
    if settings.attached is None:
        try:
            yield from _collection(_quick(settings))
        except NoCollectionError as error:
            yield Check("index", "warn", error.message, "")
            return
    with open_index(_quick(settings)) as index:
        held = index.engine.stats(Visibility(settings.tenant))
        fields = ", ".join(index.engine.metadata_schema.fields) or "none"
        attached = ", attached" if index.ledger is None else ""
        yield Check(
            "index",
            "ok",
            f"{held.documents} documents and {held.passages} passages of tenant "
            f"{settings.tenant} in {index.place}{attached}; analysis {index.engine.analysis}, "
            f"fields: {fields}",
        )
        if index.ledger is None:
            return
        if pending := index.pending(settings.tenant):
            yield Check(
                "pending",
                "warn",
                f"{pending} documents are accepted and not searchable",
                "if no ingest runs, run the interrupted one again",
            )
        else:
            yield Check("pending", "ok", "no document waits")
        differ = index.disagreement(settings.tenant)
        # A writer that commits meanwhile makes them differ for a moment.
        if differ and differ == index.disagreement(settings.tenant):
            yield Check(
                "ledger",
                "fail",
                f"the index holds {differ[0]} passages and the ledger knows of {differ[1]}",
                "logicalrag reconcile",
            )
        else:
            counts = index.states(settings.tenant)
            states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "empty"
            yield Check("ledger", "ok", states)


def _collection(settings: Settings) -> Iterator[Check]:
    with open_cluster(settings) as cluster:
        collection = Collection(cluster, names_of(settings))
        described = collection.description()
        kept = "together" if described.shared else "apart"
        yield Check(
            "catalog",
            "ok",
            f"collection {settings.elastic_index}: tenants {kept}, {described.shards} shards, "
            f"{described.replicas} replicas",
        )
        if collection.has_tenant(settings.tenant):
            yield from _aliases(collection, settings.tenant)
        else:
            yield Check(
                "aliases",
                "warn",
                f"tenant {settings.tenant} has no index",
                f"logicalrag ingest FOLDER --tenant {settings.tenant}",
            )
        yield from _rights(cluster, settings)


def _aliases(collection: Collection, tenant: str) -> Iterator[Check]:
    alias = collection.names.read_alias(tenant)
    serving = collection.serving(tenant)
    if len(serving) == 1:
        yield Check("aliases", "ok", f"{alias} leads to {serving[0]}")
    else:
        yield Check(
            "aliases",
            "fail",
            f"{alias} leads to {len(serving)} indices",
            "restore the index from a snapshot; see logicalrag index list",
        )


def _rights(cluster: Cluster, settings: Settings) -> Iterator[Check]:
    pattern = f"{settings.elastic_index}-*"
    asked = sorted({each for rights in _RIGHTS.values() for each in rights})
    try:
        told = cluster.call(
            "POST",
            "/_security/user/_has_privileges",
            {"index": [{"names": [pattern], "privileges": asked}]},
            doing="asking for rights",
        )
    except ClusterDeniedError:
        return
    except ClusterError:
        yield Check("rights", "ok", "the cluster asks for none")
        return
    held: Mapping[str, Any] = told["index"][pattern]
    may = [right for right, needed in _RIGHTS.items() if all(held[each] for each in needed)]
    if "read" in may:
        yield Check("rights", "ok", f"{told['username']} may {', '.join(may)} {pattern}")
    else:
        yield Check(
            "rights",
            "fail",
            f"{told['username']} may not read {pattern}",
            "give it one of the roles in deploy/elasticsearch/roles",
        )


def _fields(settings: Settings) -> Iterator[Check]:
    declared = declared_fields(settings)
    if declared is None:
        return
    with open_cluster(_quick(settings)) as cluster:
        try:
            held = Collection(cluster, names_of(settings)).description().schema
        except NoCollectionError:
            held = declared
    if dict(held.fields) == dict(declared.fields):
        yield Check("fields", "ok", f"{settings.metadata}: {', '.join(declared.fields)}")
    else:
        yield Check(
            "fields",
            "fail",
            f"{settings.metadata} declares other fields than the collection has",
            f"name another prefix in {PREFIX}ELASTIC_INDEX, or leave the file out",
        )


def _quick(settings: Settings) -> Settings:
    """Return the settings with little patience: somebody waits, and nothing is lost."""
    seconds = min(settings.elastic_seconds, ANSWER_SECONDS)
    return settings.model_copy(update={"elastic_seconds": seconds, "elastic_attempts": 1})


def _hosts(settings: Settings) -> str:
    return ", ".join(settings.elastic_hosts)


CHECKS: Mapping[str, Callable[[Settings], Iterator[Check]]] = {
    "cluster": _cluster,
    "index": _index,
    "fields": _fields,
}
