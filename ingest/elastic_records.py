"""How records of the ledger look as documents of an index, and how those are written."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from ingest.ledger import Claim, Failure, Record
from logicalrag.engines.identity import tenant_key

FORMAT = 1
_KEPT = {"type": "keyword", "index": False, "doc_values": False}
_KEPT_NUMBER = {"type": "long", "index": False, "doc_values": False}
MAPPING: Mapping[str, Any] = {
    "dynamic": "strict",
    "_meta": {"format": FORMAT},
    "properties": {
        # Of a claimant: it is open while its document is there. `since` in Unix seconds.
        "kind": {"type": "keyword", "doc_values": False},
        "since": {"type": "long", "doc_values": False},
        # Of a document. It stands as claimed while its claimant is open and as `state` says
        # otherwise; `planned` passages count from then on.
        "document_id": _KEPT,
        "tenant": _KEPT,
        "owner": {"type": "keyword", "doc_values": False},
        "version": _KEPT_NUMBER,
        "written": _KEPT_NUMBER,
        "content_hash": {"type": "binary"},
        "passages": _KEPT_NUMBER,
        "planned": {"type": "integer", "index": False},
        "claimed": _KEPT_NUMBER,
        "state": {"type": "keyword"},
        "claimant": {"type": "keyword"},
        "reason": _KEPT,
    },
}
Source = dict[str, Any]


class Held(NamedTuple):
    """A record as a document holds it.

    Args:
        record: what it says.
        source: the document.
        is_open: whether its claimant is.
        seen: its sequence number and primary term, for compare-and-set.
    """

    record: Record
    source: Source
    is_open: bool
    seen: tuple[int, int]

    @property
    def claimant(self) -> str | None:
        """Who claimed it last; None where that is marked in the document itself."""
        claimant: str | None = self.source["claimant"]
        return claimant


def held_of(key: str, source: Source, *, is_open: bool, seen: tuple[int, int] = (0, 0)) -> Held:
    """Return what a document of the ledger says."""
    record = Record(
        key,
        source["document_id"],
        source["tenant"],
        source["version"],
        b64decode(source["content_hash"]),
        source["passages"] if is_open else source["planned"],
        source["claimed"],
        "claimed" if is_open else source["state"],
        source["state"] == "deleted",
    )
    return Held(record, source, is_open, seen)


def claimed_source(claim: Claim, claimant: str) -> Source:
    """Return the document of a claim."""
    before = claim.before
    return {
        "document_id": claim.document_id,
        "tenant": claim.tenant,
        "owner": tenant_key(claim.tenant),
        "version": claim.version,
        "written": claim.version,
        "content_hash": b64encode(claim.content_hash).decode(),
        "passages": before.passages if before else 0,
        "planned": claim.passages,
        "claimed": max(claim.claimed, before.claimed) if before else claim.claimed,
        "state": "deleted" if claim.tombstone else "stored",
        "claimant": claimant,
    }


def closed_source(held: Held) -> Source:
    """Return the document of a claim that is marked on its own."""
    return {**held.source, "claimant": None}


def renewed_source(held: Held, version: int) -> Source:
    """Return the document with another version of the same content."""
    return {**held.source, "version": version}


def failed_source(failure: Failure) -> Source:
    """Return the document of a failure."""
    return {
        "document_id": failure.document_id,
        "tenant": failure.tenant,
        "owner": tenant_key(failure.tenant),
        "version": 0,
        "written": 0,
        "content_hash": "",
        "passages": 0,
        "planned": 0,
        "claimed": 0,
        "state": "failed",
        "claimant": None,
        "reason": failure.reason,
    }


def write(key: str, source: Source, before: Held | None) -> bytes:
    """Return the lines of a bulk request that store a document if nothing changed.

    Args:
        before: what it replaces; None where there has to be nothing.
    """
    if before is None:
        action = b'{"create":{"_id":"%b"}}\n' % key.encode()
    else:
        action = b'{"index":{"_id":"%b","if_seq_no":%d,"if_primary_term":%d}}\n' % (
            key.encode(),
            *before.seen,
        )
    return action + orjson.dumps(source) + b"\n"


def removal(key: str) -> bytes:
    """Return the line of a bulk request that removes a document."""
    return b'{"delete":{"_id":"%b"}}\n' % key.encode()


def claimant_id(claimant: str) -> str:
    """Return the id of a claimant's document; no key of a document begins like it."""
    return f"claimant-{claimant}"


def open_claimant(claimant: str, since: int) -> bytes:
    """Return the lines of a bulk request that open a claimant, unless it was closed since."""
    action = {"index": {"_id": claimant_id(claimant), "version": 1, **_EXTERNAL}}
    return orjson.dumps(action) + b"\n" + orjson.dumps({"kind": "claimant", "since": since}) + b"\n"


def close_claimant(claimant: str) -> bytes:
    """Return the line of a bulk request that closes a claimant."""
    action = {"delete": {"_id": claimant_id(claimant), "version": 2, **_EXTERNAL}}
    return orjson.dumps(action) + b"\n"


_EXTERNAL = {"version_type": "external_gte"}
