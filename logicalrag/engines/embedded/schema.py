"""What the tantivy index stores, and how a passage becomes a document of it and comes back.

The language's token rule is applied in Python: a field's tokens arrive parted by spaces, and
tantivy only splits them again. With the `english` analysis each text is indexed twice, as it is
(quotes) and through tantivy's stemmer (words), which equals `analysis.stem`; with `standard` as it
is only. The passage itself is stored as one JSON value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import tantivy

from logicalrag.engines.analysis import Analysis, stemmer
from logicalrag.engines.conditions import check_metadata
from logicalrag.engines.embedded.clauses import one_of
from logicalrag.engines.embedded.metadata_fields import MetadataField
from logicalrag.engines.identity import OPEN_TO_ALL, document_key, group_term
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import Passage
from logicalrag.query.nodes import Field
from logicalrag.query.tokens import tokens_spaced

PASSAGE_NUMBER = "id"
DOCUMENT_KEY = "document"
DOCUMENT_HASH = "document_hash"
NUMBER = "number"
ACCESS = "access"
SOURCE = "source"
_TITLE, _TITLE_EXACT = "title", "title_exact"
_CONTENT, _CONTENT_EXACT = "content", "content_exact"
STEMMED: dict[Field, str] = {"title": _TITLE, "content": _CONTENT}
EXACT: dict[Field, str] = {"title": _TITLE_EXACT, "content": _CONTENT_EXACT}

_SPLIT_AT_SPACES = "spaces"
_STEM_AFTER_SPLIT = "stems"
_IS_ID = re.compile("[0-9a-f]{24}").fullmatch


@dataclass(frozen=True, slots=True)
class Layout:
    """How an index's documents look; fixed when it is made.

    Args:
        analysis: of the text.
        metadata: the declared fields.
    """

    analysis: Analysis = "english"
    metadata: MetadataSchema = field(default_factory=lambda: MetadataSchema({}))
    schema: tantivy.Schema = field(init=False, repr=False, compare=False)
    words: Mapping[Field, str] = field(init=False, repr=False, compare=False)
    """The tantivy field that words of a field are looked up in."""
    stem: Callable[[str], str] = field(init=False, repr=False, compare=False)
    metadata_fields: Mapping[str, MetadataField] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        declared = {
            name: MetadataField(kind, number)
            for number, (name, kind) in enumerate(self.metadata.fields.items())
        }
        object.__setattr__(self, "words", STEMMED if self.analysis == "english" else EXACT)
        object.__setattr__(self, "stem", stemmer(self.analysis))
        object.__setattr__(self, "metadata_fields", declared)
        object.__setattr__(self, "schema", self._build_schema())

    def _build_schema(self) -> tantivy.Schema:
        builder = tantivy.SchemaBuilder()
        for name in (DOCUMENT_KEY, ACCESS):
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        analyzed = dict.fromkeys(self.words.values(), _STEM_AFTER_SPLIT)
        analyzed |= dict.fromkeys(EXACT.values(), _SPLIT_AT_SPACES)
        for name, analyzer in analyzed.items():
            builder.add_text_field(name, tokenizer_name=analyzer, index_option="position")
        builder.add_unsigned_field(NUMBER, indexed=True)
        builder.add_unsigned_field(PASSAGE_NUMBER, indexed=True, fast=True)
        builder.add_unsigned_field(DOCUMENT_HASH, fast=True)
        builder.add_bytes_field(SOURCE, stored=True)
        for each in self.metadata_fields.values():
            each.declare(builder)
        return builder.build()


def open_index(folder: Path) -> tantivy.Index:
    """Open an existing tenant index, ready to read and write; reloads only when told to."""
    return _ready(tantivy.Index.open(str(folder)))


def create_index(folder: Path | None, layout: Layout) -> tantivy.Index:
    """Make an empty index in an existing folder, or in memory; an index there is opened."""
    return _ready(tantivy.Index(layout.schema, None if folder is None else str(folder)))


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


def passage_number(passage_id: str) -> int | None:
    """Return the first 64 bits of an id, which sort as it does; None for what is no id."""
    return int(passage_id[:16], 16) if _IS_ID(passage_id) else None


def document_hash(key: str) -> int:
    """Return 64 bits of a document key, which tell documents of one tenant apart in counts."""
    return int(key[:16], 16)  # the key is a hash already


def hashed_documents(schema: tantivy.Schema, hashes: Iterable[int]) -> tantivy.Query:
    """Return the query of the passages of documents with these hashes, unscored."""
    beginnings = (f"{hashed:016x}" for hashed in hashes)
    # A phrase of only a beginning is every term that begins so.
    return one_of(
        [tantivy.Query.phrase_prefix_query(schema, DOCUMENT_KEY, [each]) for each in beginnings]
    )


def build_documents(
    layout: Layout, key: str, passages: Iterable[Passage]
) -> list[tantivy.Document]:
    """Return the tantivy documents of passages that share one document key, in their order.

    Raises:
        MetadataError: metadata do not fit the layout.
        ValueError: an id is no `passage_id`, or a text cannot be encoded; names the passage.
    """
    hashed = document_hash(key)
    built = []
    for passage in passages:
        try:
            built.append(_build(layout, key, hashed, passage))
        except (UnicodeEncodeError, orjson.JSONEncodeError) as error:
            raise ValueError(
                f"passage {passage.number} of document {passage.document_id!r} holds "
                "a lone surrogate, which no index can store; replace it before indexing"
            ) from error
    return built


def _build(layout: Layout, key: str, hashed: int, passage: Passage) -> tantivy.Document:
    # The hot path of ingestion: bound methods and plain names save a tenth of its time.
    document = tantivy.Document()
    add_text, add_unsigned = document.add_text, document.add_unsigned
    number = passage_number(passage.id)
    if number is None:
        raise ValueError(
            f"passage {passage.number} of document {passage.document_id!r} has the id "
            f"{passage.id!r}; give it the one that identity.passage_id makes"
        )
    add_unsigned(PASSAGE_NUMBER, number)
    add_text(DOCUMENT_KEY, key)
    add_unsigned(DOCUMENT_HASH, hashed)
    add_unsigned(NUMBER, passage.number)
    if passage.access is None:
        add_text(ACCESS, OPEN_TO_ALL)
    else:
        for group in passage.access:
            add_text(ACCESS, group_term(group))
    title, content = tokens_spaced(passage.title), tokens_spaced(passage.text)
    add_text(_TITLE_EXACT, title)
    add_text(_CONTENT_EXACT, content)
    if layout.words is STEMMED:
        add_text(_TITLE, title)
        add_text(_CONTENT, content)
    if passage.metadata:
        check_metadata(passage.metadata, layout.metadata)
        for name, values in passage.metadata.items():
            layout.metadata_fields[name].add(document, values)
    document.add_bytes(SOURCE, _encode(passage))
    return document


def key_of(passage: Passage) -> str:
    """Return the key of the document that a passage belongs to."""
    return document_key(passage.tenant, passage.document_id)


def _encode(passage: Passage) -> bytes:
    plain = (
        passage.id,
        passage.document_id,
        passage.number,
        passage.title,
        passage.text,
        passage.start,
        passage.end,
        passage.access,
    )
    if passage.location or passage.metadata:
        return orjson.dumps((*plain, passage.location, dict(passage.metadata)))
    return orjson.dumps(plain)


def decode(document: tantivy.Document, tenant: str) -> Passage:
    """Return the passage that a stored document holds, as it was put."""
    id_, document_id, number, title, text, start, end, access, *more = orjson.loads(
        document.get_first(SOURCE)  # type: ignore[arg-type]
    )
    passage = Passage(
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
    if not more:
        return passage
    location, metadata = more
    held = {name: tuple(values) for name, values in metadata.items()}
    return passage._replace(location=location, metadata=held)
