"""The ledger as an index of the cluster, for any number of writers.

One small write per document: a claim names its claimant, and stands open until the claimant's own
document is removed. A batch of claims has one claimant, so a commit is marked by removing a few
documents, and a claim that is sent again after a time-out knows its own first success.

Decisions rest on realtime reads and compare-and-set alone; searches only list and count.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ingest.elastic_documents import (
    ENDS,
    TASK_LIMIT_SECONDS,
    Counted,
    LedgerIndex,
    chunks,
    count,
    used_claimants,
)
from ingest.elastic_records import (
    Held,
    claimant_id,
    claimed_source,
    close_claimant,
    closed_source,
    failed_source,
    held_of,
    open_claimant,
    removal,
    renewed_source,
    write,
)
from ingest.ledger import Claim, DocumentState, Failure, Record, is_same_claim
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.point_in_time import PointInTime
from logicalrag.engines.identity import tenant_key

_HELD = 10_000  # records kept with their sequence numbers, between looking up and claiming
_PAGE = 1_000
_TERMS = 10_000  # of one query
_DOCUMENTS = {"exists": {"field": "state"}}
_CLAIMING, _MARKING = "a claim in the ledger", "marking in the ledger"


def _no_checkpoint(_: str) -> None:
    pass


class ElasticLedger:
    """A `Ledger` in an index, which `create` makes. One thread at a time.

    Args:
        cluster: where it is; stays the caller's.
        index: its name; lower-case.
        replicas: copies of the index that `create` makes, 0 to 32.
        checkpoint: called before and after each write with its name, for crash tests.
        task_limit_seconds: no claim takes longer; the index is made for an hour.

    Raises:
        AbsentError: from every call: there is no ledger; names the command that makes it.
        ClusterError: from every call: the cluster does not do it.
        LedgerError: from every call: the ledger is of another format.
    """

    def __init__(
        self,
        cluster: Cluster,
        index: str,
        *,
        replicas: int = 1,
        checkpoint: Callable[[str], None] = _no_checkpoint,
        task_limit_seconds: float = TASK_LIMIT_SECONDS,
    ) -> None:
        self._index = LedgerIndex(cluster, index, replicas)
        self._checkpoint = checkpoint
        self._task_limit = task_limit_seconds
        self._held: dict[str, Held] = {}
        # Our open claimants, with what each is still to store.
        self._outstanding: dict[str, dict[str, Claim]] = {}
        self._claimant_of: dict[str, str] = {}
        self._known_closed: set[str] = set()
        self._next_sweep = 0.0

    def create(self) -> None:
        """Make the index, unless it is there.

        Raises:
            LedgerError: it is there in another format.
        """
        self._index.create()

    def is_empty(self) -> bool:
        """Return whether no document has a record."""
        body = {"query": _DOCUMENTS, "size": 0, "track_total_hits": 1}
        found = self._index.look(lambda view: view.search(body, "hits.total.value"))
        return bool(found["hits"]["total"]["value"] == 0)

    def look_up(self, keys: Sequence[str]) -> dict[str, Record]:
        """Return the records of those of `keys` that have one."""
        found = self._read(keys)
        if len(self._held) + len(found) > _HELD:
            self._held.clear()
        self._held.update(found)
        return {key: held.record for key, held in found.items()}

    def claim(self, claims: Sequence[Claim]) -> frozenset[str]:
        """Claim documents, each if its record is still what was decided on; return who lost."""
        before = self._still(claims)
        ours = [each for each in claims if each.before is None or each.key in before]
        if not ours:
            return frozenset(each.key for each in claims)
        claimant = secrets.token_hex(8)
        self._checkpoint("ledger claim: before")
        self._open(claimant)
        self._checkpoint("ledger claim: before commit")
        writes = {
            each.key: write(each.key, claimed_source(each, claimant), before.get(each.key))
            for each in ours
        }
        # Where this raises, some of it may be claimed: the claimant stays open, and nobody's.
        refused = self._index.write(writes, _CLAIMING)
        self._checkpoint("ledger claim: after commit")
        now = self._read(refused)
        lost = {key for key in refused if key not in now or now[key].claimant != claimant}
        won = {each.key: each for each in ours if each.key not in lost}
        for key in won:
            self._held.pop(key, None)
            self._give_up(key)
        if won:
            self._outstanding[claimant] = won
            self._claimant_of.update(dict.fromkeys(won, claimant))
        else:
            self._close([claimant])
        return frozenset(each.key for each in claims if each.key not in won)

    def renew(self, claims: Sequence[Claim]) -> frozenset[str]:
        """Raise the version of stored documents whose content is the same; return who lost."""
        before = self._still(claims)
        sources = {
            each.key: renewed_source(before[each.key], each.version)
            for each in claims
            if each.key in before
        }
        self._checkpoint("ledger renew: before commit")
        writes = {key: write(key, source, before[key]) for key, source in sources.items()}
        refused = self._index.write(writes, "raising versions in the ledger")
        self._checkpoint("ledger renew: after commit")
        now = self._read(refused)
        lost = {each.key for each in claims} - sources.keys()
        # A request that was sent again meets its own first success.
        lost |= {key for key in refused if key not in now or now[key].source != sources[key]}
        for each in claims:
            claimant = self._claimant_of.get(each.key)
            if claimant is not None and each.key not in lost:
                self._outstanding[claimant][each.key] = each
        return frozenset(lost)

    def stored(self, claims: Sequence[Claim]) -> None:
        """Mark claims as stored (or deleted), each unless it has been claimed anew since."""
        given = {each.key: each for each in claims}
        whole = [
            claimant
            for claimant, awaited in self._outstanding.items()
            if all(
                key in given and is_same_claim(given[key], claim) for key, claim in awaited.items()
            )
        ]
        done = {key for claimant in whole for key in self._outstanding[claimant]}
        self._checkpoint("ledger stored: before commit")
        # What another process claimed since has another claimant, and stays open.
        self._close(whole)
        for claimant in whole:
            del self._outstanding[claimant]
        for key in done:
            del self._claimant_of[key]
        self._close_apart({key: claim for key, claim in given.items() if key not in done})
        self._checkpoint("ledger stored: after commit")
        self._sweep()

    def failed(self, failures: Sequence[Failure]) -> None:
        """Write down failures of documents of which nothing is stored or claimed."""
        doing = "noting failures in the ledger"
        sources = {each.key: failed_source(each) for each in failures}
        self._checkpoint("ledger failed: before commit")
        writes = {key: write(key, source, None) for key, source in sources.items()}
        known = self._index.write(writes, doing)
        again = {
            key: write(key, sources[key], held)
            for key, held in self._read(known).items()
            if held.record.state == "failed" and held.source != sources[key]
        }
        # What changes a record in between knows more than that an attempt failed.
        self._index.write(again, doing)
        self._checkpoint("ledger failed: after commit")

    def pending(self) -> Iterator[Record]:
        """Yield the records that are claimed and not stored, in no certain order.

        They are those of the moment at which the first is asked for.
        """
        with self._index.view() as view:
            for some in chunks(_open_claimants(view), _TERMS):
                body = {"query": {"terms": {"claimant": some}}}
                for hits in view.pages(body, ["_shard_doc"], _PAGE, "_id,_source"):
                    for hit in hits:
                        yield held_of(hit["_id"], hit["_source"], is_open=True).record

    def records(self) -> Iterator[tuple[Record, int]]:
        """Yield every record, with the version that its content was claimed at, in any order."""
        with self._index.view() as view:
            open_now = set(_open_claimants(view))
            body = {"query": _DOCUMENTS}
            for hits in view.pages(body, ["_shard_doc"], _PAGE, "_id,_source"):
                for hit in hits:
                    source = hit["_source"]
                    is_open = source["claimant"] in open_now
                    yield held_of(hit["_id"], source, is_open=is_open).record, source["written"]

    def forget(self, tenant: str | None = None) -> None:
        """Remove the records of a tenant whose indices are gone, or all of them; none is pending.

        Whoever writes meanwhile claims its documents anew.
        """
        self._held.clear()
        query = _DOCUMENTS if tenant is None else {"term": {"owner": tenant_key(tenant)}}
        with self._index.view() as view:
            for hits in view.pages({"query": query}, ["_shard_doc"], _PAGE, "_id"):
                keys = [hit["_id"] for hit in hits]
                self._index.write({key: removal(key) for key in keys}, "forgetting a tenant")

    def counts(self, tenant: str) -> dict[DocumentState, int]:
        """Return how many of a tenant's documents are in each state; absent where none is."""
        every, waiting = self._counted(tenant)
        counts: dict[DocumentState, int] = {
            state: every[state].documents - waiting[state].documents for state in ENDS
        }
        counts["claimed"] = sum(each.documents for each in waiting.values())
        return {state: number for state, number in counts.items() if number}

    def passages(self, tenant: str) -> int:
        """Return how many passages the tenant's stored documents have."""
        every, waiting = self._counted(tenant)
        return every["stored"].passages - waiting["stored"].passages

    def close(self) -> None:
        """Forget what was looked up; the cluster's connections are the caller's. Idempotent."""
        self._held.clear()

    def _read(self, keys: Iterable[str]) -> dict[str, Held]:
        """Return the records that these keys have at this moment."""
        found = self._index.documents(list(keys))
        claimants = {doc["_source"]["claimant"] for doc in found.values()}
        open_now = self._which_open(claimants)
        return {
            key: held_of(
                key,
                doc["_source"],
                is_open=doc["_source"]["claimant"] in open_now,
                seen=(doc["_seq_no"], doc["_primary_term"]),
            )
            for key, doc in found.items()
        }

    def _still(self, claims: Sequence[Claim]) -> dict[str, Held]:
        """Return the records of those claims whose record is still the one decided on."""
        decided = {each.key: each.before for each in claims if each.before is not None}
        held = {
            key: self._held[key]
            for key, before in decided.items()
            if key in self._held and _is_same(self._held[key].record, before)
        }
        # What was seen open may have been closed since, without a change of its own.
        unsure = {each.claimant for each in held.values() if each.is_open}
        closed = unsure - self._which_open(unsure)
        held = {
            key: each
            for key, each in held.items()
            if not each.is_open or each.claimant not in closed
        }
        held.update(self._read(key for key in decided if key not in held))
        return {key: each for key, each in held.items() if _is_same(each.record, decided[key])}

    def _close_apart(self, claims: Mapping[str, Claim]) -> None:
        """Mark single documents of claimants that stay open."""
        for _ in range(self._index.attempts):
            before = {
                key: held
                for key, held in self._read(claims).items()
                if held.is_open and is_same_claim(held.record, claims[key])
            }
            writes = {key: write(key, closed_source(held), held) for key, held in before.items()}
            changed = set(self._index.write(writes, _MARKING))
            for key in before.keys() - changed:
                self._give_up(key)
            claims = {key: claims[key] for key in changed}
            if not claims:
                return

    def _open(self, claimant: str) -> None:
        # Acknowledged by all copies before the first claim: no reader sees that without this.
        self._index.write({claimant: open_claimant(claimant, int(time.time()))}, _CLAIMING)

    def _close(self, claimants: Collection[str]) -> None:
        self._index.write({each: close_claimant(each) for each in claimants}, _MARKING)

    def _give_up(self, key: str) -> None:
        """Take a key from the claimant of ours that claimed it before."""
        claimant = self._claimant_of.pop(key, None)
        if claimant is not None:
            self._outstanding[claimant].pop(key)

    def _which_open(self, claimants: set[str | None]) -> set[str | None]:
        """Return those of these claimants that are open; one that was closed stays so."""
        open_now: set[str | None] = {each for each in claimants if each in self._outstanding}
        unsure = [
            each
            for each in claimants
            if each is not None and each not in self._known_closed and each not in open_now
        ]
        if unsure:
            found = self._index.documents([claimant_id(each) for each in unsure], source=False)
            open_now.update(each for each in unsure if claimant_id(each) in found)
            if len(self._known_closed) > _HELD:
                self._known_closed.clear()
            self._known_closed.update(each for each in unsure if each not in open_now)
        return open_now

    def _sweep(self) -> None:
        """Now and then remove old claimants whose documents were all claimed by others since."""
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + self._task_limit
        oldest = int(time.time() - self._task_limit)

        def unused(view: PointInTime) -> list[str]:
            old = _open_claimants(view, oldest)
            used = used_claimants(view, old)
            return [each for each in old if each not in used and each not in self._outstanding]

        self._close(self._index.look(unused))

    def _counted(
        self, tenant: str
    ) -> tuple[dict[DocumentState, Counted], dict[DocumentState, Counted]]:
        """Count a tenant's documents by what they become: all, and those that are claimed."""
        return self._index.look(
            lambda view: (count(view, tenant), count(view, tenant, _open_claimants(view)))
        )


def _open_claimants(view: PointInTime, until: int | None = None) -> list[str]:
    """Return the open claimants: all, or those that were opened until then (Unix seconds)."""
    filters: list[dict[str, Any]] = [{"term": {"kind": "claimant"}}]
    if until is not None:
        filters.append({"range": {"since": {"lte": until}}})
    body = {"query": {"bool": {"filter": filters}}, "_source": False}
    prefix = claimant_id("")
    pages = view.pages(body, ["_shard_doc"], _PAGE, "_id")
    return [hit["_id"].removeprefix(prefix) for hits in pages for hit in hits]


def _is_same(one: Record, other: Record) -> bool:
    return is_same_claim(one, other) and one.state == other.state
