"""The lines of a bulk request that put a passage or remove it, as bytes.

All are of external versions ``external_gte`` (Elasticsearch's reference, "Index API: versioning"),
so that repeating one changes nothing and an older one never replaces a newer. A document's passages
share its key as routing, so they live on one shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import orjson

from logicalrag.engines.elastic.layout import Layout, passage_of
from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import Passage

MAX_VERSION = 2**63 - 1


def puts(
    alias: str, key: str, version: int, ids: Sequence[str], sources: Sequence[bytes]
) -> list[bytes]:
    """Return the actions that store a document's passages.

    Args:
        alias: what to write through.
        key: the document's.
        version: 0 to `MAX_VERSION`.
        ids, sources: of the passages, in the same order.
    """
    head = _head("index", alias, key, version)
    return [
        b'%b%b"}}\n%b\n' % (head, id_.encode(), source)
        for id_, source in zip(ids, sources, strict=True)
    ]


def removals(
    alias: str, key: str, version: int, tenant: str, document_id: str, numbers: range
) -> list[bytes]:
    """Return the actions that remove a document's passages of these numbers."""
    head = _head("delete", alias, key, version)
    ids = (passage_id(tenant, document_id, number) for number in numbers)
    return [b'%b%b"}}\n' % (head, id_.encode()) for id_ in ids]


def alias_of(action: bytes) -> str:
    """Return the alias that an action of this module goes through."""
    start = _alias_start(action)
    return action[start : action.index(b'"', start)].decode()


def readdressed(action: bytes, alias: str, before: Layout, now: Layout) -> bytes:
    """Return an action as it goes through another alias.

    Args:
        before, now: the layouts of the indices behind the aliases.

    Raises:
        MetadataError: the passage does not fit the fields declared now.
    """
    start = _alias_start(action)
    end = action.index(b'"', start)
    if before != now and action.startswith(b'{"index"'):
        line = action.index(b"\n") + 1
        source = now.encoded(passage_of(orjson.loads(action[line:])))
        return b"".join((action[:start], alias.encode(), action[end:line], source, b"\n"))
    return b"".join((action[:start], alias.encode(), action[end:]))


def _head(kind: Literal["index", "delete"], alias: str, key: str, version: int) -> bytes:
    return (
        f'{{"{kind}":{{"_index":"{alias}","version_type":"external_gte","version":{version},'
        f'"routing":"{key}","_id":"'
    ).encode()


def _alias_start(action: bytes) -> int:
    return action.index(b'"_index":"') + len(b'"_index":"')


def encoded_passages(layout: Layout, passages: Sequence[Passage]) -> list[bytes]:
    """Return the documents of passages as JSON.

    Raises:
        MetadataError: a value does not fit the declared fields.
        ValueError: a lone surrogate; names the passage.
    """
    encoded = []
    for passage in passages:
        try:
            encoded.append(layout.encoded(passage))
        except (UnicodeEncodeError, orjson.JSONEncodeError) as error:
            raise ValueError(
                f"passage {passage.number} of document {passage.document_id!r} holds "
                "a lone surrogate, which no index can store; replace it before indexing"
            ) from error
    return encoded
