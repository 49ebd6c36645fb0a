"""What the tantivy index stores, and how a passage becomes a document of it and comes back.

The language's token rule is applied in Python: a field's tokens arrive parted by spaces, and
tantivy only splits them again. Each text is indexed twice, as it is (quotes) and through tantivy's
stemmer (words), which equals `analysis.stem`; the passage itself is stored as one JSON value.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import orjson
import tantivy

from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import Passage
from logicalrag.query.nodes import Field
from logicalrag.query.tokens import tokens_spaced

PASSAGE_ID = "id"
DOCUMENT_KEY = "document"
DOCUMENT_HASH = "document_hash"
NUMBER = "number"
ACCESS = "access"
ID_ORDER = "id_order"
SOURCE = "source"
_TITLE, _TITLE_EXACT = "title", "title_exact"
_CONTENT, _CONTENT_EXACT = "content", "content_exact"
STEMMED: dict[Field, str] = {"title": _TITLE, "content": _CONTENT}
EXACT: dict[Field, str] = {"title": _TITLE_EXACT, "content": _CONTENT_EXACT}

OPEN_TO_ALL = "*"
"""The access term of a passage without an access list; no group's term equals it."""

_SPLIT_AT_SPACES = "spaces"
_STEM_AFTER_SPLIT = "stems"


def build_schema() -> tantivy.Schema:
    """Return the index's schema."""
    builder = tantivy.SchemaBuilder()
    for name in (PASSAGE_ID, DOCUMENT_KEY, ACCESS):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for names, analyzer in ((STEMMED, _STEM_AFTER_SPLIT), (EXACT, _SPLIT_AT_SPACES)):
        for name in names.values():
            builder.add_text_field(name, tokenizer_name=analyzer, index_option="position")
    builder.add_unsigned_field(NUMBER, indexed=True)
    builder.add_unsigned_field(ID_ORDER, fast=True)
    builder.add_unsigned_field(DOCUMENT_HASH, indexed=True, fast=True)
    builder.add_bytes_field(SOURCE, stored=True)
    return builder.build()


def open_index(folder: Path) -> tantivy.Index:
    """Open an existing tenant index, ready to read and write; reloads only when told to."""
    return _ready(tantivy.Index.open(str(folder)))


def create_index(folder: Path | None) -> tantivy.Index:
    """Make an empty index in an existing folder, or in memory; an index there is opened."""
    return _ready(tantivy.Index(build_schema(), None if folder is None else str(folder)))


def _ready(index: tantivy.Index) -> tantivy.Index:
    # An opened index does not remember its tokenizers.
    index.register_tokenizer(_SPLIT_AT_SPACES, _split().build())
    index.register_tokenizer(_STEM_AFTER_SPLIT, stemming_analyzer())
    index.config_reader("manual")
    return index


def _split() -> tantivy.TextAnalyzerBuilder:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())


def stemming_analyzer() -> tantivy.TextAnalyzer:
    """Return what turns spaced tokens into the stems that the index holds."""
    return _split().filter(tantivy.Filter.stemmer("english")).build()


def group_term(group: str) -> str:
    """Return the access term of a group: of one length, and never `OPEN_TO_ALL`."""
    return blake2b(group.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def id_order(passage_id: str) -> int:
    """Return a number that sorts as the first 8 bytes of the id do: never against the id."""
    return int.from_bytes(passage_id[:8].encode("utf-8")[:8].ljust(8, b"\0"), "big")


def document_hash(key: str) -> int:
    """Return 64 bits of a document key, which tell documents of one tenant apart in counts."""
    return int(key[:16], 16)  # the key is a hash already


def build_documents(key: str, passages: Iterable[Passage]) -> list[tantivy.Document]:
    """Return the tantivy documents of passages that share one document key, in their order.

    Raises:
        ValueError: a text cannot be encoded; names the passage.
    """
    hashed = document_hash(key)
    built = []
    for passage in passages:
        try:
            built.append(_build(key, hashed, passage))
        except (UnicodeEncodeError, orjson.JSONEncodeError) as error:
            raise ValueError(
                f"passage {passage.number} of document {passage.document_id!r} holds "
                "a lone surrogate, which no index can store; replace it before indexing"
            ) from error
    return built


def _build(key: str, hashed: int, passage: Passage) -> tantivy.Document:
    # The hot path of ingestion: bound methods and plain names save a tenth of its time.
    document = tantivy.Document()
    add_text, add_unsigned = document.add_text, document.add_unsigned
    identity = passage.id
    add_text(PASSAGE_ID, identity)
    add_text(DOCUMENT_KEY, key)
    add_unsigned(DOCUMENT_HASH, hashed)
    add_unsigned(NUMBER, passage.number)
    add_unsigned(ID_ORDER, id_order(identity))
    if passage.access is None:
        add_text(ACCESS, OPEN_TO_ALL)
    else:
        for group in passage.access:
            add_text(ACCESS, group_term(group))
    spaced = tokens_spaced(passage.title)
    add_text(_TITLE_EXACT, spaced)
    add_text(_TITLE, spaced)
    spaced = tokens_spaced(passage.text)
    add_text(_CONTENT_EXACT, spaced)
    add_text(_CONTENT, spaced)
    document.add_bytes(SOURCE, _encode(passage))
    return document


def key_of(passage: Passage) -> str:
    """Return the key of the document that a passage belongs to."""
    return document_key(passage.tenant, passage.document_id)


def _encode(passage: Passage) -> bytes:
    return orjson.dumps(
        (
            passage.id,
            passage.document_id,
            passage.number,
            passage.title,
            passage.text,
            passage.start,
            passage.end,
            passage.access,
        )
    )


def decode(document: tantivy.Document, tenant: str) -> Passage:
    """Return the passage that a stored document holds, as it was put."""
    id_, document_id, number, title, text, start, end, access = orjson.loads(
        document.get_first(SOURCE)  # type: ignore[arg-type]
    )
    return Passage(
        id_,
        document_id,
        number,
        title,
        text,
        start,
        end,
        tenant,
        None if access is None else tuple(access),
    )
