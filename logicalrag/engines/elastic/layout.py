"""What an index of ours holds, and how a passage becomes a document of it and comes back.

The language's token rule and the stems are applied here, in Python, on documents and on queries
alike; the server only splits at spaces. So hits equal the embedded engine's by construction, and
the mapping needs no analysis module. What is derived is left out of the stored source: the
passage itself is all there is to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from logicalrag.engines.analysis import Analysis, stem, stemmer
from logicalrag.engines.conditions import check_metadata
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import OPEN_TO_ALL, document_key, group_term
from logicalrag.engines.metadata import FieldKind, MetadataSchema
from logicalrag.engines.protocol import Passage
from logicalrag.query.nodes import Field
from logicalrag.query.tokens import tokens_spaced

FORMAT = 1
ID, DOCUMENT, NUMBER, TENANT, ACCESS = "id", "document", "number", "tenant", "access"
PASSAGE, METADATA = "passage", "metadata"
STEMMED: Mapping[Field, str] = {"title": "title_words", "content": "content_words"}
EXACT: Mapping[Field, str] = {"title": "title_exact", "content": "content_exact"}
DATE_FORMAT = "uuuu-MM-dd'T'HH:mm:ss'Z'"
_MAX_STEMS = 200_000

_TYPES: Mapping[FieldKind, Mapping[str, Any]] = {
    "keyword": {"type": "keyword"},
    "number": {"type": "double"},
    "date": {"type": "date", "format": DATE_FORMAT},
}


@dataclass(frozen=True, slots=True)
class Layout:
    """How an index's documents look; fixed when it is made.

    Args:
        analysis: of the text.
        metadata: the declared fields.
    """

    analysis: Analysis = "english"
    metadata: MetadataSchema = field(default_factory=lambda: MetadataSchema({}))
    words: Mapping[Field, str] = field(init=False, repr=False, compare=False)
    """The index field that words of a field are looked up in."""
    stem: Callable[[str], str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", STEMMED if self.analysis == "english" else EXACT)
        object.__setattr__(self, "stem", stemmer(self.analysis))

    def mapping(self) -> dict[str, Any]:
        """Return the index's mapping: strict, and with this layout in its ``_meta``."""
        text = {"type": "text", "analyzer": "whitespace"}
        keyword = {"type": "keyword"}
        fields: dict[str, Any] = {
            ID: keyword,
            DOCUMENT: keyword,
            NUMBER: {"type": "integer"},
            TENANT: keyword,
            ACCESS: {"type": "keyword", "doc_values": False},
            PASSAGE: {"type": "object", "enabled": False},
        }
        fields |= dict.fromkeys((*self.words.values(), *EXACT.values()), text)
        if self.metadata.fields:
            declared = {name: _TYPES[kind] for name, kind in self.metadata.fields.items()}
            fields[METADATA] = {"dynamic": "strict", "properties": declared}
        return {
            "dynamic": "strict",
            "_meta": {
                "format": FORMAT,
                "analysis": self.analysis,
                "fields": dict(self.metadata.fields),
            },
            "_source": {"includes": [PASSAGE]},
            "_routing": {"required": True},
            "properties": fields,
        }

    def source(self, passage: Passage) -> dict[str, Any]:
        """Return the document of a passage, ready for JSON.

        Raises:
            MetadataError: a value does not fit the declared fields.
        """
        if passage.metadata:
            check_metadata(passage.metadata, self.metadata)
        title, content = tokens_spaced(passage.title), tokens_spaced(passage.text)
        access = passage.access
        document: dict[str, Any] = {
            ID: passage.id,
            DOCUMENT: document_key(passage.tenant, passage.document_id),
            NUMBER: passage.number,
            TENANT: _tenant_term(passage.tenant),
            ACCESS: OPEN_TO_ALL if access is None else [group_term(each) for each in access],
            "title_exact": title,
            "content_exact": content,
            PASSAGE: {
                "document_id": passage.document_id,
                "title": passage.title,
                "text": passage.text,
                "start": passage.start,
                "end": passage.end,
                "number": passage.number,
                "id": passage.id,
                "tenant": passage.tenant,
                "access": access,
                "location": passage.location,
                "metadata": dict(passage.metadata),
            },
        }
        if self.words is STEMMED:
            document["title_words"] = stems_spaced(title)
            document["content_words"] = stems_spaced(content)
        if passage.metadata:
            document[METADATA] = {
                name: [value or 0.0 if isinstance(value, float) else value for value in values]
                for name, values in passage.metadata.items()
            }  # there is one zero
        return document

    def encoded(self, passage: Passage) -> bytes:
        """Return `source` as JSON.

        Raises:
            MetadataError: a value does not fit the declared fields.
            orjson.JSONEncodeError: a lone surrogate.
        """
        return orjson.dumps(self.source(passage))


_tenant_term = lru_cache(maxsize=1024)(group_term)


class _Stems(dict[str, str]):
    """Stems by word: twice as fast as the cache of `analysis.stem`, which fills it."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_STEMS:
            self.clear()
        stemmed = self[word] = stem(word)
        return stemmed


_STEM_OF = _Stems().__getitem__


def stems_spaced(tokens: str) -> str:
    """Return the stems of space-parted tokens, parted the same way."""
    return " ".join(map(_STEM_OF, tokens.split()))


def passage_of(source: Mapping[str, Any]) -> Passage:
    """Return the passage of a stored document, as it was put."""
    held = source[PASSAGE]
    access = held["access"]
    return Passage(
        held["id"],
        held["document_id"],
        held["number"],
        held["title"],
        held["text"],
        held["start"],
        held["end"],
        held["tenant"],
        None if access is None else tuple(access),
        held["location"],
        {name: tuple(values) for name, values in held["metadata"].items()},
    )


def layout_of(index: str, meta: Mapping[str, Any] | None) -> Layout:
    """Return the layout that an index's ``_meta`` holds.

    Raises:
        EngineError: it is not ours, or of another format.
    """
    if not meta or "format" not in meta:
        raise EngineError(
            f"The index {index} was not made here; to search it as it is: logicalrag attach {index}"
        )
    if meta["format"] != FORMAT:
        raise EngineError(
            f"The index {index} has format {meta['format']} and this version reads {FORMAT}; "
            "rebuild it with the version that made it, or ingest into a new one"
        )
    return _layout(meta["analysis"], tuple(meta["fields"].items()))


@lru_cache(maxsize=64)
def _layout(analysis: Analysis, fields: tuple[tuple[str, FieldKind], ...]) -> Layout:
    return Layout(analysis, MetadataSchema(dict(fields)))
