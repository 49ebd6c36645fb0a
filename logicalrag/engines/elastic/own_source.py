"""Where a collection's tenants have their passages."""

from __future__ import annotations

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.fields import Query, State
from logicalrag.engines.elastic.generation import state_search
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.layout import layout_of
from logicalrag.engines.elastic.own_fields import OwnFields
from logicalrag.engines.elastic.recent import Recent
from logicalrag.engines.metadata import MetadataSchema

_INDICES = 1024


class OwnSource:
    """The indices of a collection. Implements `IndexSource`.

    Args:
        cluster: where they are.
        collection: of these indices.
    """

    def __init__(self, cluster: Cluster, collection: Collection) -> None:
        self._cluster = cluster
        self._collection = collection
        self._fields: Recent[tuple[str, str], OwnFields] = Recent(_INDICES)

    @property
    def analysis(self) -> Analysis:
        """How the collection's text is analysed."""
        return self._collection.description().analysis

    @property
    def metadata_schema(self) -> MetadataSchema:
        """The collection's declared fields."""
        return self._collection.description().schema

    @property
    def is_shared(self) -> bool:
        """Whether all tenants are together."""
        return self._collection.names.shared

    def index(self, tenant: str) -> str:
        """Return the tenant's read alias."""
        return self._collection.names.read_alias(tenant)

    def fields(self, state: State) -> OwnFields:
        """Return the fields of an index: a rebuild may have changed the analysis."""
        if not state.indices:
            return OwnFields(self._collection.description().layout)
        index = state.indices[0]
        known = self._fields.get((state.made, index))
        if known is not None:
            return known
        found = self._cluster.call("GET", f"/{index}/_mapping", doing="a search")
        meta = found[index]["mappings"].get("_meta")
        return self._fields.put((state.made, index), OwnFields(layout_of(index, meta)))

    def state_search(self, tenant: str) -> tuple[Query, Query]:
        """Return the search for what is visible of the tenant and what was committed."""
        return state_search(self._collection.names, tenant)

    def is_known(self, tenant: str) -> bool:
        """Return whether the tenant is in the catalog."""
        return self._collection.has_tenant(tenant)
