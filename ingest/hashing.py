"""The content hash: what has to differ for a document to count as changed."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from hashlib import blake2b

import orjson

HASH_BYTES = 20
_LENGTHS = struct.Struct(">QQQQ")


class ContentHasher:
    """Hashes documents under one set of chunking settings and one analysis version.

    Args:
        chunking: the chunking settings' fingerprint (`ChunkSettings.fingerprint`).
        analysis: the version of the index's text analysis, as ``english/2``.
    """

    def __init__(self, chunking: str, analysis: str) -> None:
        parts = [part.encode() for part in (chunking, analysis)]
        self._base = blake2b(
            b"".join(len(part).to_bytes(8, "big") + part for part in parts),
            digest_size=HASH_BYTES,
        )

    def digest(
        self,
        title: bytes,
        text: bytes,
        metadata: Mapping[str, object],
        access: tuple[str, ...] | None,
        parts: object = None,
    ) -> bytes:
        """Return `HASH_BYTES` bytes over title and text (UTF-8), metadata, access list and parts.

        Every part is length-prefixed, or the last. The order of metadata keys and of groups says
        nothing; no access list and an empty one differ.
        """
        described = canonical_json(metadata) if metadata else b""
        groups = b"" if access is None else b"+" + canonical_json(sorted(set(access)))
        hashed = self._base.copy()
        lengths = _LENGTHS.pack(len(title), len(text), len(described), len(groups))
        hashed.update(b"".join((lengths, title, text, described, groups)))
        if parts is not None:
            hashed.update(canonical_json(parts))
        return hashed.digest()


def canonical_json(value: object) -> bytes:
    """Return one text for equal JSON values: keys sorted, no spaces, UTF-8."""
    if isinstance(value, Mapping):
        value = dict(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # integers over 64 bits, which the standard library writes
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode()
