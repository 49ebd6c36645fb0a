"""The catalog of a collection: what it was made as, and which tenants it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args
from uuid import uuid4

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.connection import Cluster, Method
from logicalrag.engines.cluster.errors import AbsentError, ClusterError
from logicalrag.engines.elastic.layout import FORMAT, Layout
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import tenant_key
from logicalrag.engines.metadata import MetadataSchema

MAX_SHARDS = 1024
MAX_REPLICAS = 32

_COLLECTION = "collection"
_SHARED = "shared"
_TENANTS_A_PAGE = 1000
_UNINDEXED = {"type": "keyword", "index": False, "doc_values": False}
_MAPPING: Mapping[str, Any] = {
    "dynamic": "strict",
    "properties": {
        "kind": {"type": "keyword"},
        "tenant": _UNINDEXED,
        "group": {"type": "keyword"},
        "published": {"type": "keyword"},
        "made": {"type": "keyword"},
        "description": {"type": "object", "enabled": False},
        "lease": {"type": "object", "enabled": False},
    },
}


@dataclass(frozen=True, slots=True)
class Description:
    """What a collection was made as.

    Args:
        analysis: of the text of new tenants.
        schema: the declared fields.
        shards: primaries of a new tenant's index, 1 to 1,024.
        replicas: copies of each, 0 to 32.
        shared: all tenants in one group of indices.
    """

    analysis: Analysis
    schema: MetadataSchema
    shards: int
    replicas: int
    shared: bool

    @property
    def layout(self) -> Layout:
        """How documents of new tenants look."""
        return Layout(self.analysis, self.schema)


class NoCollectionError(EngineError):
    """The collection has not been made."""


class Catalog:
    """The catalog index of one collection. Safe to use from several threads and processes.

    Ask for the description before anything is written: a write to no catalog would make one.
    """

    def __init__(self, cluster: Cluster, names: Names) -> None:
        self._cluster = cluster
        self._names = names
        self._description: Description | None = None

    def create(self, wanted: Description) -> None:
        """Make the catalog with this description, unless it is there.

        Raises:
            EngineError: another description holds here.
        """
        try:
            self._cluster.call(
                "PUT",
                f"/{self._names.catalog}",
                {
                    "settings": {
                        "number_of_shards": 1,
                        "number_of_replicas": wanted.replicas,
                        "refresh_interval": "-1",
                    },
                    "mappings": _MAPPING,
                },
                doing="making the catalog",
            )
        except ClusterError as error:
            if error.kind != "resource_already_exists_exception":
                raise
        self.put_new(_COLLECTION, _collection(wanted))
        self._description = None
        found = self.description()
        if found != wanted:
            raise EngineError(
                f"The collection {self._names.prefix!r} is there already and differs in "
                f"{_differences(found, wanted)}; use it as it is, change it with: logicalrag index "
                "rebuild, or choose another prefix in the setting elastic_index"
            )

    def description(self) -> Description:
        """Return what the collection was made as; read once.

        Raises:
            EngineError: there is none, it is of another format, or its tenants are kept the other
                way (apart or together).
        """
        if self._description is not None:
            return self._description
        held = self.get(_COLLECTION)
        if held is None:
            raise self._no_collection()
        found = _description(self._names.catalog, held.get("description"))
        if found.shared != self._names.shared:
            kept = "together" if found.shared else "apart"
            raise EngineError(
                f"The collection {self._names.prefix!r} keeps tenants {kept}; "
                f"set elastic_tenants to {kept}, or choose another prefix in elastic_index"
            )
        self._description = found
        return found

    def redescribe(self, description: Description) -> None:
        """Replace the description; other processes see it when they start."""
        self._description = None
        self._call(
            "PUT", f"_doc/{_COLLECTION}", _collection(description), parameters={"refresh": "true"}
        )

    def register(self, tenant: str) -> None:
        """Note that a tenant has indices; a second time changes nothing."""
        self.put_new(
            self._tenant_id(tenant),
            {
                "kind": "tenant",
                "tenant": _SHARED if self._names.shared else tenant,
                "group": self._names.group(tenant),
                # Dropped and made anew, it is another: equal numbers are not equal content.
                "made": uuid4().hex,
            },
        )

    def forget(self, tenant: str) -> None:
        """Note that a tenant has no indices; an unknown one is fine."""
        try:
            self._call("DELETE", f"_doc/{self._tenant_id(tenant)}", parameters={"refresh": "true"})
        except AbsentError:
            return

    def has(self, tenant: str) -> bool:
        """Return whether a tenant is registered; together, whether any is."""
        return self.get(self._tenant_id(tenant)) is not None

    def tenants(self) -> Iterator[str]:
        """Yield the registered tenants in the order of their groups' names."""
        body: dict[str, Any] = {
            "query": {"term": {"kind": "tenant"}},
            "sort": ["group"],
            "size": _TENANTS_A_PAGE,
            "track_total_hits": False,
        }
        while True:
            found = self._call(
                "POST", "_search", body, parameters={"allow_partial_search_results": "false"}
            )
            hits = found["hits"]["hits"]
            yield from (hit["_source"]["tenant"] for hit in hits)
            if len(hits) < _TENANTS_A_PAGE:
                return
            body["search_after"] = hits[-1]["sort"]

    def get(self, document: str) -> Mapping[str, Any] | None:
        """Return the source of a document as it is now; None where there is none."""
        found = self.get_whole(document)
        return found and found["_source"]

    def get_whole(self, document: str) -> Mapping[str, Any] | None:
        """Return a document as it is now with ``_seq_no`` and ``_primary_term``, or None."""
        try:
            found: Mapping[str, Any] = self._call("GET", f"_doc/{document}")
        except AbsentError:
            return None
        return found

    def put_new(self, document: str, source: Mapping[str, Any]) -> bool:
        """Store a document unless it is there, at once visible; return whether it was not."""
        try:
            self._call("PUT", f"_create/{document}", source, parameters={"refresh": "true"})
        except ClusterError as error:
            if error.status == 409:
                return False
            raise
        return True

    def replace(self, document: str, source: Mapping[str, Any], seen: Mapping[str, Any]) -> bool:
        """Store a document if it is still as `seen` by `get_whole`; return whether it was."""
        condition = {
            "if_seq_no": str(seen["_seq_no"]),
            "if_primary_term": str(seen["_primary_term"]),
        }
        try:
            self._call("PUT", f"_doc/{document}", source, parameters=condition)
        except ClusterError as error:
            if error.status == 409:
                return False
            raise
        return True

    def _call(
        self,
        method: Method,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        parameters: Mapping[str, str] | None = None,
    ) -> Any:
        """Raise AbsentError only for a document."""
        try:
            return self._cluster.call(
                method,
                f"/{self._names.catalog}/{path}",
                body,
                doing="the catalog",
                parameters=parameters,
            )
        except AbsentError as error:
            if error.kind == "":
                raise
            raise self._no_collection() from None

    def _tenant_id(self, tenant: str) -> str:
        return _SHARED if self._names.shared else tenant_key(tenant)

    def _no_collection(self) -> NoCollectionError:
        return NoCollectionError(
            f"There is no collection {self._names.prefix!r} in the cluster; make it with: "
            "logicalrag index create"
        )


def _collection(description: Description) -> dict[str, Any]:
    held = {
        "format": FORMAT,
        "analysis": description.analysis,
        "fields": dict(description.schema.fields),
        "shards": description.shards,
        "replicas": description.replicas,
        "shared": description.shared,
    }
    return {"kind": _COLLECTION, "description": held}


def _description(catalog: str, held: Any) -> Description:
    try:
        if held["format"] != FORMAT or held["analysis"] not in get_args(Analysis):
            raise KeyError
        schema = MetadataSchema(dict(held["fields"]))
        return Description(
            held["analysis"],
            schema,
            int(held["shards"]),
            int(held["replicas"]),
            bool(held["shared"]),
        )
    except (KeyError, TypeError, ValueError):
        raise EngineError(
            f"The catalog {catalog} is none that this version can read (format {FORMAT}); use the "
            "version that made it, or another prefix in the setting elastic_index"
        ) from None


def _differences(found: Description, wanted: Description) -> str:
    pairs = [
        ("analysis", found.analysis, wanted.analysis),
        ("fields", dict(found.schema.fields), dict(wanted.schema.fields)),
        ("shards", found.shards, wanted.shards),
        ("replicas", found.replicas, wanted.replicas),
    ]
    return ", ".join(
        f"{name} ({there} there, {asked} asked for)"
        for name, there, asked in pairs
        if there != asked
    )
