"""Identities: every one begins with the tenant, length-prefixed, and is hashed to one length.

96 bits: at a billion passages a collision has a chance of about one in a hundred billion, and
whoever may choose ids of one tenant would need 2**96 tries to meet one of another.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

_DIGEST_BYTES = 12  # 24 hexadecimal digits

OPEN_TO_ALL = "*"
"""The access term of a passage without an access list; no group's term equals it."""


@lru_cache(maxsize=8_192)  # ingestion asks for a document's key more than once, soon after
def document_key(tenant: str, document_id: str) -> str:
    """Return the document's key: 24 characters of ``0-9a-f``, never shared by two tenants."""
    return _digest(b"document", tenant, document_id, "")


def passage_id(tenant: str, document_id: str, number: int) -> str:
    """Return the id of passage `number` (from 0): 24 characters of ``0-9a-f``."""
    return _digest(b"passage", tenant, document_id, str(number))


def tenant_key(tenant: str) -> str:
    """Return a name for the tenant that is safe in a path: 24 characters of ``0-9a-f``."""
    return _digest(b"tenant", tenant, "", "")


def group_term(group: str) -> str:
    """Return the term that stands for a group's name: of one length, and never `OPEN_TO_ALL`."""
    return blake2b(group.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _digest(purpose: bytes, tenant: str, document_id: str, number: str) -> str:
    # Lone surrogates can come in a message; they hash like any other text.
    owner = tenant.encode("utf-8", "surrogatepass")
    document = document_id.encode("utf-8", "surrogatepass")
    return blake2b(
        b"%d:%b%b%d:%b%b" % (len(owner), owner, purpose, len(document), document, number.encode()),
        digest_size=_DIGEST_BYTES,
    ).hexdigest()
