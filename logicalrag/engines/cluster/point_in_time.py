"""Several searches over one and the same state of an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import AbsentError, ClusterError, ShardsFailedError

_KEEP = "5m"
_ALWAYS = "pit_id,timed_out,_shards.failed"


class PointInTime:
    """What an index holds when this is entered; what is written later is not seen.

    Args:
        cluster: where it is.
        index: a name, alias or pattern; a pattern that matches none holds nothing.
        doing: what the searches are for, in error messages, as ``a look at the ledger``.
        refresh: make everything visible first that was written before.
    """

    def __init__(self, cluster: Cluster, index: str, *, doing: str, refresh: bool = True) -> None:
        self._cluster = cluster
        self._index = index
        self._doing = doing
        self._refresh = refresh
        self._id = ""

    def __enter__(self) -> PointInTime:
        # A closed index behind a pattern is an error, not one that holds nothing.
        parameters = {"expand_wildcards": "open,closed"}
        if self._refresh:
            self._checked(self._call("POST", f"/{self._index}/_refresh", parameters, None))
        parameters["keep_alive"] = _KEEP
        opened = self._call("POST", f"/{self._index}/_pit", parameters, None)
        self._checked(opened)
        self._id = str(opened["id"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._cluster.send("DELETE", "/_pit", {"id": self._id})
        except ClusterError:
            return  # the cluster forgets it after a while

    def search(self, body: Mapping[str, Any], wanted: str) -> Any:
        """Search, and return the answer.

        Args:
            body: the request.
            wanted: the parts of the answer that are needed, as ``filter_path`` names them.

        Raises:
            ShardsFailedError: not every shard answered in time, or the state is no longer kept.
        """
        request = {**body, "pit": {"id": self._id, "keep_alive": _KEEP}}
        parameters = {
            "filter_path": f"{_ALWAYS},{wanted}",
            "allow_partial_search_results": "false",
        }
        try:
            answer = self._call("POST", "/_search", parameters, request)
        except AbsentError as error:
            raise ShardsFailedError(
                f"The cluster no longer keeps the state for {self._doing}; run it again.",
                True,
                error.status,
                error.kind,
            ) from None
        self._checked(answer)
        self._id = answer.get("pit_id", self._id)
        return answer

    def pages(
        self, body: Mapping[str, Any], sort: Sequence[str], size: int, wanted: str
    ) -> Iterator[list[Any]]:
        """Yield all hits of a search in the order of `sort`, at most `size` at a time.

        Args:
            body: the request without `sort` and `size`.
            sort: fields that together tell any two hits apart; ``_shard_doc`` alone does.
            size: 1 to 10,000.
            wanted: the parts of each hit that are needed.
        """
        parts = [f"hits.hits.{part}" for part in (*wanted.split(","), "sort")]
        request = {**body, "sort": list(sort), "size": size, "track_total_hits": False}
        while True:
            hits = self.search(request, ",".join(parts)).get("hits", {}).get("hits", [])
            if hits:
                yield hits
            if len(hits) < size:
                return
            request["search_after"] = hits[-1]["sort"]

    def _call(
        self,
        method: Any,
        path: str,
        parameters: Mapping[str, str],
        body: Mapping[str, Any] | None,
    ) -> Any:
        return self._cluster.call(method, path, body, doing=self._doing, parameters=parameters)

    def _checked(self, answer: Any) -> None:
        failed = answer.get("_shards", {}).get("failed", 0)
        if failed or answer.get("timed_out"):
            raise ShardsFailedError(
                f"The cluster could not finish {self._doing} ({failed} shards failed); try again "
                "when its health is green.",
                True,
            )
