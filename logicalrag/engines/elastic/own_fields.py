"""How expressions, callers and passages look in an index of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.elastic.fields import Query
from logicalrag.engines.elastic.layout import (
    ACCESS,
    DOCUMENT,
    EXACT,
    ID,
    METADATA,
    NUMBER,
    TENANT,
    Layout,
    passage_of,
)
from logicalrag.engines.identity import OPEN_TO_ALL, document_key, group_term
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import Passage, Visibility
from logicalrag.query.nodes import Field, Leaf, Word

NOTHING: Query = {"match_none": {}}
_PASSAGE_ID = re.compile(r"[0-9a-f]{24}")


class OwnFields:
    """The fields of a layout. Implements `Fields`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    @property
    def analysis(self) -> Analysis:
        """How its text is analysed."""
        return self._layout.analysis

    @property
    def metadata_schema(self) -> MetadataSchema:
        """Its declared fields."""
        return self._layout.metadata

    @property
    def source(self) -> bool:
        """Everything: only the passage is stored."""
        return True

    @property
    def tie_break(self) -> list[Query]:
        """By passage id."""
        return [{ID: "asc"}]

    @property
    def unmatched(self) -> list[Query]:
        """No word holds a space."""
        names = dict.fromkeys((*self._layout.words.values(), *EXACT.values()))
        return [{"term": {name: " "}} for name in names]

    @property
    def document(self) -> str:
        """The field of the document's key."""
        return DOCUMENT

    @property
    def number(self) -> str:
        """The field of the passage's number."""
        return NUMBER

    @property
    def firsts(self) -> Query:
        """Every document has exactly one passage of number 0."""
        return {"term": {NUMBER: 0}}

    def leaf(self, leaf: Leaf, field: Field) -> Query:
        """Return the query of a word's stems, or of a phrase's words, next to each other."""
        name, text = EXACT[field], " ".join(leaf.tokens)
        if not text.isascii() and not is_storable(text):
            return NOTHING
        if isinstance(leaf, Word):
            name, text = self._layout.words[field], " ".join(map(self._layout.stem, leaf.tokens))
        if len(leaf.tokens) == 1:
            return {"term": {name: text}}
        return {"match_phrase": {name: text}}

    def visible(self, visibility: Visibility) -> tuple[list[Query], list[Query]]:
        """Return tenant and access list, and the hidden documents."""
        open_to = [OPEN_TO_ALL, *sorted(map(group_term, visibility.groups))]
        must = [*self.owned(visibility.tenant), {"terms": {ACCESS: open_to}}]
        if not visibility.hidden_documents:
            return must, []
        hidden = [document_key(visibility.tenant, each) for each in visibility.hidden_documents]
        return must, [{"terms": {DOCUMENT: sorted(hidden)}}]

    def owned(self, tenant: str) -> list[Query]:
        """Return the tenant's term."""
        return [{"term": {TENANT: group_term(tenant)}}]

    def ids(self, passage_ids: Sequence[str]) -> Query:
        """Return the query of passages by id; what is no id of ours is left out."""
        return {"terms": {ID: [each for each in passage_ids if _PASSAGE_ID.fullmatch(each)]}}

    def of_document(self, tenant: str, document_id: str) -> Query:
        """Return the query of a document's passages."""
        return {"term": {DOCUMENT: document_key(tenant, document_id)}}

    def metadata(self, name: str) -> str:
        """Return the field of a declared one."""
        return f"{METADATA}.{name}"

    def exact(self, field: Field) -> str:
        """Return the field of whole words."""
        return EXACT[field]

    def passage(self, hit: Mapping[str, Any]) -> Passage:
        """Return the passage as it was put."""
        return passage_of(hit["_source"])


def is_storable(text: str) -> bool:
    """Return whether JSON can hold a text: without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
