"""One JSON object or table row into a document, every field checked."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.documents import MAX_ID_BYTES, MAX_VERSION, ReasonCode, Reject, SourceDocument
from ingest.sanitising import clean_utf8


def document_of(
    fields: Mapping[str, object], *, tenant: str, place: str
) -> SourceDocument | Reject:
    """Return the document that `fields` describe, or the reject that names what is wrong.

    `id` and `text` are required; an integer id is read as its digits. `title` (string),
    `metadata` (object), `access` (list of strings) and `version` (integer) may be absent or null,
    and so may `tenant`, which must be `tenant` otherwise. Other names are left alone.
    """

    def reject(reason: ReasonCode, message: str) -> Reject:
        return Reject(place, reason, message, identity if isinstance(identity, str) else "")

    get = fields.get
    identity = get("id")
    text = get("text")
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if identity is None or identity == "":
        return reject("missing_id", 'the document has no id; give it one as "id"')
    if not isinstance(identity, str):
        return reject("bad_id", '"id" is a string; write it in quotes')
    if (wrong := id_problem(identity)) is not None:
        return reject("bad_id", wrong)
    if text is None:
        return reject("missing_text", 'the document has no text; give it one as "text"')
    if not isinstance(text, str):
        return reject("bad_field", '"text" is a string; write it in quotes')
    if len(fields) == 3 and isinstance(title := get("title"), str):
        return SourceDocument(identity, title, text, tenant=tenant, place=place)

    title = "" if (given := get("title")) is None else given
    metadata = {} if (given := get("metadata")) is None else given
    access = get("access")
    version = get("version")
    owner = get("tenant")
    if not isinstance(title, str):
        return reject("bad_field", '"title" is a string; write it in quotes')
    if not isinstance(metadata, dict):
        return reject("bad_field", '"metadata" is an object in braces')
    if owner is not None and owner != tenant:
        # Who may write for a tenant is the caller's to say, never a document's.
        return reject(
            "wrong_tenant",
            f"the document is another tenant's than {tenant!r}, for which this run writes; "
            "ingest it for its own tenant",
        )
    if access is not None and not (isinstance(access, list) and all(map(_is_group, access))):
        return reject("bad_field", '"access" is a list of group names, each in quotes')
    if isinstance(version, bool) or not isinstance(version, int | None):
        return reject("bad_field", '"version" is an integer; dates and fractions are none')
    if version is not None and not 0 <= version <= MAX_VERSION:
        return reject("bad_field", f'"version" is from 0 to {MAX_VERSION}')
    return SourceDocument(
        identity,
        title,
        text,
        metadata,
        tenant,
        None if access is None else tuple(access),
        version,
        place,
    )


def id_problem(identity: str) -> str | None:
    """Return what is wrong with a document id in one sentence, or None."""
    if identity.isascii() and identity.isprintable() and len(identity) <= MAX_ID_BYTES:
        return None
    encoded = clean_utf8(identity)
    if encoded is None:
        return "the id holds control characters or lone surrogates; send one without them"
    if len(encoded) > MAX_ID_BYTES:
        return f"the id is longer than {MAX_ID_BYTES} bytes; send a shorter one"
    return None


def _is_group(value: object) -> bool:
    return isinstance(value, str) and value != "" and clean_utf8(value) is not None
