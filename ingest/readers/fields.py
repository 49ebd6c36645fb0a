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
    `metadata` (object), `access` (list of strings), `tenant` (string) and `version` (integer)
    may be absent or null. Other names are left alone.
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
    owner = tenant if (given := get("tenant")) is None else given
    if not isinstance(title, str):
        return reject("bad_field", '"title" is a string; write it in quotes')
    if not isinstance(metadata, dict):
        return reject("bad_field", '"metadata" is an object in braces')
    if not isinstance(owner, str) or not owner or clean_utf8(owner) is None:
        return reject("bad_field", '"tenant" is a string of at least one character')
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
        owner,
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
