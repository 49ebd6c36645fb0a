"""A cluster that answers what a test tells it to, and a tenant's index without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.connection import Address, Body, Cluster, Method
from logicalrag.engines.elastic.fields import Query, State
from logicalrag.engines.elastic.generation import state_search
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.own_fields import OwnFields
from logicalrag.engines.metadata import MetadataSchema

Lines = list[dict[str, Any]]
NO_INDEX = {
    "error": {"type": "index_not_found_exception", "reason": "no such index [logicalrag-x-read]"},
    "status": 404,
}
SHARD_FAILED = {
    "error": {"type": "search_phase_execution_exception", "reason": "all shards failed"},
    "status": 503,
}


class ScriptedCluster(Cluster):
    """Answers each search of a request by a function; notes requests and waits.

    Args:
        answer: takes a search's body, and whether it is the one for the state.
        attempts: as of `Address`.
    """

    def __init__(self, answer: Callable[[Query, bool], Mapping[str, Any]], attempts: int = 3):
        self.waits: list[float] = []
        super().__init__(
            Address(("http://localhost:9",), attempts=attempts), sleep=self.waits.append
        )
        self._answer = answer
        self.requests: list[Lines] = []

    def send(
        self,
        method: Method,
        path: str,
        body: Body = None,
        *,
        parameters: Mapping[str, str] | None = None,
        lines: bool = False,
        seconds: float | None = None,
    ) -> tuple[int, Any]:
        """Answer a ``_msearch``."""
        assert (method, path, lines, seconds) == ("POST", "/_msearch", True, None)
        assert parameters == {"max_concurrent_searches": "1"}
        assert isinstance(body, bytes)
        assert body.endswith(b"\n")
        parts = [orjson.loads(line) for line in body.splitlines()]
        self.requests.append(parts)
        return 200, {
            "responses": [
                self._answer(each, "passages" in each.get("aggs", ())) for each in parts[1::2]
            ]
        }


class ScriptedSource:
    """The tenants of a collection that no cluster holds. Implements `IndexSource`."""

    def __init__(self, known: bool = True, shared: bool = False) -> None:
        self.names = Names(shared=shared)
        self.known = known
        self.asked_for: list[State] = []

    @property
    def analysis(self) -> Analysis:
        """The default."""
        return "english"

    @property
    def metadata_schema(self) -> MetadataSchema:
        """One field."""
        return MetadataSchema({"year": "number"})

    @property
    def is_shared(self) -> bool:
        """As told."""
        return self.names.shared

    def index(self, tenant: str) -> str:
        """Return the read alias."""
        return self.names.read_alias(tenant)

    def fields(self, state: State) -> OwnFields:
        """Return fields; note for which state."""
        self.asked_for.append(state)
        return OwnFields(Layout("english", self.metadata_schema))

    def state_search(self, tenant: str) -> tuple[Query, Query]:
        """Return that of a collection."""
        return state_search(self.names, tenant)

    def is_known(self, tenant: str) -> bool:  # noqa: ARG002
        """As told."""
        return self.known


def state_answer(content: str, published: str = "", made: str = "made") -> dict[str, Any]:
    """Return the answer to a search for the state.

    Args:
        content: another text is another content; empty: no passages.
        published: the generation of the last commit.
        made: the mark that is hashed with the content.
    """
    numbers = {"count": 1.0, "min": 0.0, "max": 0.0, "sum": 0.0}
    return found(
        aggregations={
            "passages": {
                "indices": {"buckets": [{"key": content, "numbers": numbers}] if content else []}
            },
            "commit": {
                "published": {"buckets": [{"key": published}] if published else []},
                "made": {"buckets": [{"key": made}]},
            },
        }
    )


def found(total: int = 0, **more: Any) -> dict[str, Any]:
    """Return the answer of a search that all shards answered."""
    return {
        "timed_out": False,
        "_shards": {"total": 3, "successful": 3, "failed": 0},
        "hits": {"total": {"value": total, "relation": "eq"}, "hits": []},
    } | more
