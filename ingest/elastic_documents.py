"""The documents of a ledger's index: realtime reads, conditional writes, searches of one state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ingest.elastic_records import FORMAT, MAPPING
from ingest.ledger import DocumentState, LedgerError
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import ClusterError, error_of
from logicalrag.engines.cluster.point_in_time import PointInTime
from logicalrag.engines.identity import tenant_key

# Longer than any task may run: that long a removed claimant refuses to be made again by a request
# that was under way, and that old a claimant without documents is one that nobody will use.
TASK_LIMIT_SECONDS = 3600
ENDS: tuple[DocumentState, ...] = ("stored", "deleted", "failed")
_BULK_BYTES = 1_500_000
_KEYS_A_READ = 2_000
_TERMS = 10_000  # of one query
_ITEMS = "errors,items.*.status,items.*.error.type,items.*.error.reason"
_READ = "docs._id,docs.found,docs._seq_no,docs._primary_term,docs._source,docs.error"
_LOOK = "a look at the ledger"
T = TypeVar("T")


class Counted(NamedTuple):
    """Documents, and the passages that they have or will have."""

    documents: int
    passages: int


class LedgerIndex:
    """One ledger's index. It is written through an alias, so that no write makes an index.

    Args:
        cluster: where it is.
        name: of the index.
        replicas: copies of the index that `create` makes.
    """

    def __init__(self, cluster: Cluster, name: str, replicas: int) -> None:
        self._cluster = cluster
        self._name = name
        # ``require_alias`` does not hold for deletions; one with an external version makes an index
        # of a missing name, unless that has a capital.
        self._alias = f"{name}-Write"
        self._replicas = replicas
        self._is_checked = False

    @property
    def attempts(self) -> int:
        """How often a call that may be repeated is made."""
        return self._cluster.address.attempts

    def create(self) -> None:
        """Make index and alias, unless they are there."""
        body = {
            # One shard: a claim is a few hundred bytes, and counting asks one copy.
            "settings": {
                "number_of_shards": 1,
                "number_of_replicas": self._replicas,
                "refresh_interval": "-1",
                "gc_deletes": f"{TASK_LIMIT_SECONDS}s",
            },
            "mappings": MAPPING,
            "aliases": {self._alias: {}},
        }
        try:
            self._cluster.call("PUT", f"/{self._name}", body, doing="making the ledger")
        except ClusterError as error:
            if error.kind != "resource_already_exists_exception":
                raise
        self._check()

    def documents(self, ids: Sequence[str], *, source: bool = True) -> dict[str, Any]:
        """Return those of these documents that there are, as they are at this moment."""
        self._ready()
        found: dict[str, Any] = {}
        parameters = {"filter_path": _READ, "_source": "true" if source else "false"}
        for some in chunks(ids, _KEYS_A_READ):
            answer = self._cluster.call(
                "POST",
                f"/{self._name}/_mget",
                {"ids": some},
                doing=_LOOK,
                parameters=parameters,
            )
            for doc in _parts(answer, "docs", len(some), _LOOK):
                if "error" in doc:
                    absent = doc["error"].get("type") == "index_not_found_exception"
                    raise error_of(404 if absent else 503, doc, _LOOK)
                if doc["found"]:
                    found[doc["_id"]] = doc
        return found

    def write(self, writes: Mapping[str, bytes], doing: str) -> list[str]:
        """Carry out writes in order; return the names of those whose condition did not hold.

        What the cluster was too busy for is sent again, and only that.

        Args:
            writes: from any name to its lines of a bulk request.
            doing: what they are for, in error messages.
        """
        self._ready()
        refused: list[str] = []
        for some in _requests(writes):
            self._request(some, doing, refused)
        return refused

    def look(self, read: Callable[[PointInTime], T]) -> T:
        """Return what `read` finds in one state of the ledger; it may be called again."""
        for attempt in range(1, self.attempts):
            try:
                with self.view() as view:
                    return read(view)
            except ClusterError as error:
                if not error.retryable:
                    raise
            self._cluster.wait(attempt)
        with self.view() as view:
            return read(view)

    def view(self) -> PointInTime:
        """Return the state in which the ledger is when this is entered."""
        self._ready()
        return PointInTime(self._cluster, self._name, doing=_LOOK)

    def _ready(self) -> None:
        if not self._is_checked:
            self._check()

    def _check(self) -> None:
        found = self._cluster.call(
            "GET",
            f"/{self._name}/_mapping",
            doing="the ledger",
            parameters={"filter_path": "*.mappings._meta"},
        )
        formats = [held["mappings"]["_meta"].get("format") for held in (found or {}).values()]
        if formats != [FORMAT]:
            raise LedgerError(
                self._name,
                f"this is no ledger that this program can read (format {FORMAT}); use the program "
                "that made it, or another prefix in the setting elastic_index",
            )
        self._is_checked = True

    def _request(self, writes: dict[str, bytes], doing: str, refused: list[str]) -> None:
        parameters = {"require_alias": "true", "filter_path": _ITEMS}
        for attempt in range(1, self.attempts + 1):
            answer = self._cluster.call(
                "POST",
                f"/{self._alias}/_bulk",
                b"".join(writes.values()),
                doing=doing,
                parameters=parameters,
                lines=True,
            )
            answers = _parts(answer, "items", len(writes), doing)
            items = [next(iter(each.values())) for each in answers]
            failure: ClusterError | None = None
            again: dict[str, bytes] = {}
            for (name, line), item in zip(writes.items(), items, strict=True):
                status = item["status"]
                if status == 409:
                    refused.append(name)
                elif "error" in item:
                    is_gone = item["error"].get("type") == "invalid_index_name_exception"
                    failure = error_of(404 if is_gone else status, item, doing)
                    if not failure.retryable:
                        raise failure
                    again[name] = line
            if failure is None:
                return
            if attempt == self.attempts:
                raise failure
            writes = again
            self._cluster.wait(attempt)


def count(
    view: PointInTime, tenant: str, claimants: Sequence[str] | None = None
) -> dict[DocumentState, Counted]:
    """Count a tenant's documents by what they are once nothing is open: those of some claimants.

    Args:
        claimants: None for all documents.
    """
    owner = {"term": {"owner": tenant_key(tenant)}}
    if claimants is None:
        return _by_state(view, [owner])
    total = dict.fromkeys(ENDS, Counted(0, 0))
    for some in chunks(claimants, _TERMS):
        found = _by_state(view, [owner, {"terms": {"claimant": some}}])
        for state in ENDS:
            before, more = total[state], found[state]
            total[state] = Counted(
                before.documents + more.documents, before.passages + more.passages
            )
    return total


def used_claimants(view: PointInTime, claimants: Sequence[str]) -> set[str]:
    """Return those of these claimants that some document names."""
    used: set[str] = set()
    for some in chunks(claimants, _TERMS):
        body = {
            "query": {"terms": {"claimant": some}},
            "size": 0,
            "track_total_hits": False,
            "aggs": {"used": {"terms": {"field": "claimant", "size": len(some)}}},
        }
        used.update(each["key"] for each in _buckets(view, body, "used"))
    return used


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items in order, `size` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _parts(answer: Any, name: str, count: int, doing: str) -> list[Any]:
    """Return an answer's parts, of which there must be one for each thing asked."""
    parts: list[Any] = answer.get(name, []) if isinstance(answer, dict) else []
    if len(parts) != count:
        raise ClusterError(
            f"The cluster answered {len(parts)} of {count} parts of {doing}; look for a proxy in "
            "between that changes answers."
        )
    return parts


def _by_state(view: PointInTime, filters: list[Any]) -> dict[DocumentState, Counted]:
    states = {
        "terms": {"field": "state", "size": len(ENDS)},
        "aggs": {"passages": {"sum": {"field": "planned"}}},
    }
    body = {
        "query": {"bool": {"filter": filters}},
        "size": 0,
        "track_total_hits": False,
        "aggs": {"states": states},
    }
    found = {
        each["key"]: Counted(each["doc_count"], int(each["passages"]["value"]))
        for each in _buckets(view, body, "states")
    }
    return {state: found.get(state, Counted(0, 0)) for state in ENDS}


def _buckets(view: PointInTime, body: Mapping[str, Any], name: str) -> list[Any]:
    answer = view.search(body, f"aggregations.{name}.buckets")
    buckets: list[Any] = answer.get("aggregations", {}).get(name, {}).get("buckets", [])
    return buckets


def _requests(writes: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    some: dict[str, bytes] = {}
    size = 0
    for name, line in writes.items():
        if some and size + len(line) > _BULK_BYTES:
            yield some
            some, size = {}, 0
        some[name] = line
        size += len(line)
    if some:
        yield some
