"""An index's generation: a value made from its visible content, the same in every process.

Every change of a passage gets a sequence number in its shard. Index name, count, smallest, largest
and sum of the visible ones tell one content from the next; the search that asks for them is
answered from the shards' request caches until something new becomes visible. The generation that a
writer published after its refresh stands in the catalog: another one means that a commit is
half visible.

Each shard numbers for itself: a passage that goes from one shard, and later one that comes to
another with its number, leave all that is asked for as it was. So each commit also marks the
catalog's document anew, and its mark is hashed with the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from secrets import token_hex
from typing import Any

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.answers import answers_of
from logicalrag.engines.elastic.fields import EMPTY, Query, State
from logicalrag.engines.elastic.layout import TENANT
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.identity import group_term, tenant_key

PUBLISHED, MADE = "published", "made"
_SHARED_KEY = "shared"
_INDICES = 1000
_PUBLISHES = 10
_DIGEST_BYTES = 12
# Parts what marks the tenant's indices from what marks the commit.
_COMMIT = "."


def catalog_key(names: Names, tenant: str) -> str:
    """Return the id of the catalog's document that tells a tenant's last commit."""
    return _SHARED_KEY if names.shared else tenant_key(tenant)


def state_search(names: Names, tenant: str) -> tuple[Query, Query]:
    """Return header and body of the search for a tenant's state; `state_of` reads the answer.

    In a shared group it is the state of all its tenants.
    """
    held: Query = {"exists": {"field": TENANT}}
    if not names.shared:
        held = {"term": {TENANT: group_term(tenant)}}
    elsewhere: Query = {"term": {"_index": names.catalog}}
    header: Query = {"index": [names.read_alias(tenant), names.catalog]}
    commit: Query = {"ids": {"values": [catalog_key(names, tenant)]}}
    return header, state_body({"bool": {"filter": [held], "must_not": [elsewhere]}}, commit)


def state_body(passages: Query, commit: Query | None = None) -> Query:
    """Return the body of a search for the state of some passages.

    Args:
        passages: whose changes count.
        commit: the query of the document whose `PUBLISHED` is the last commit's generation.
    """
    numbers = {"stats": {"field": "_seq_no"}}
    indices = {"terms": {"field": "_index", "size": _INDICES}, "aggs": {"numbers": numbers}}
    parts: Query = {"passages": {"filter": passages, "aggs": {"indices": indices}}}
    either = [passages]
    if commit is not None:
        told = {name: {"terms": {"field": name, "size": 1}} for name in (PUBLISHED, MADE)}
        parts["commit"] = {"filter": commit, "aggs": told}
        either.append(commit)
    query = {"bool": {"filter": [{"bool": {"should": either}}]}}
    return {"size": 0, "track_total_hits": False, "query": query, "aggs": parts}


def state_of(answer: Mapping[str, Any]) -> State:
    """Return the state that the answer to a state search tells."""
    parts = answer["aggregations"]
    commit = parts.get("commit")
    published = None if commit is None else _first(commit[PUBLISHED]) or EMPTY
    mark = _first(commit[MADE]) if commit else ""
    indices = tuple(sorted(str(each["key"]) for each in _buckets(answer)))
    return State(_generation(answer, mark), published, _made(mark), indices)


def publish(cluster: Cluster, names: Names, tenant: str) -> str:
    """Publish what is visible of a tenant as committed, and return its generation.

    To be called after the refresh that followed a change; the generation is a new one then.
    Writers that publish at once repeat it until one of them finds nothing newer.

    Raises:
        ClusterError: the state cannot be read or the catalog not written.
    """
    search = state_search(names, tenant)
    path = f"/{names.catalog}/_update/{catalog_key(names, tenant)}"
    for attempt in range(_PUBLISHES):
        (answer,) = answers_of(cluster, [search], doing="a commit")
        state = state_of(answer)
        if state.is_settled and (attempt or state.generation == EMPTY):
            break
        mark = f"{state.made}{_COMMIT}{token_hex(8)}"
        told = {MADE: mark, PUBLISHED: _generation(answer, mark)}
        cluster.call(
            "POST",
            path,
            {"doc": told},
            doing="a commit",
            parameters={"refresh": "true", "retry_on_conflict": "10"},
        )
    return state.generation


def _made(mark: str) -> str:
    return mark.partition(_COMMIT)[0]


def _generation(answer: Mapping[str, Any], mark: str) -> str:
    buckets = sorted(_buckets(answer), key=lambda each: str(each["key"]))
    if not buckets:
        return EMPTY
    told = [mark]
    for each in buckets:
        numbers = each["numbers"]
        told.append(f"{each['key']} {[numbers[name] for name in ('count', 'min', 'max', 'sum')]}")
    return blake2b("\n".join(told).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _buckets(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    buckets: Sequence[Mapping[str, Any]] = answer["aggregations"]["passages"]["indices"]["buckets"]
    return buckets


def _first(aggregation: Mapping[str, Any]) -> str:
    buckets: Sequence[Mapping[str, Any]] = aggregation["buckets"]
    return str(buckets[0]["key"]) if buckets else ""
