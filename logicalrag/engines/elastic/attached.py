"""An index that others fill, searched as it is: its fields and analyzers behind a field map.

Words are analysed by the index's own analyzers, so the token rule's promises (folded case and
accents, the same hits as other engines) hold as far as those keep them. A word or quote is looked
up as it was written, and as the token rule reads it where that may differ; so what has no hits as
written has none in its canonical form either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import AbsentError, ClusterError
from logicalrag.engines.elastic.attached_check import (
    analysis_of,
    analyzers_behind,
    problems,
)
from logicalrag.engines.elastic.attached_map import ID, FieldMap
from logicalrag.engines.elastic.attached_mapping import Analyzer, mappings_of
from logicalrag.engines.elastic.fields import Query, State
from logicalrag.engines.elastic.generation import state_body
from logicalrag.engines.elastic.recent import Recent
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import FieldKind, MetadataError, MetadataSchema, Value, normalised
from logicalrag.engines.protocol import Passage, Visibility
from logicalrag.query.nodes import Field, Leaf, Phrase

_KEPT = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class AttachedFields:
    """The fields of an attached index. Implements `Fields`.

    Passages of equal score come by id where the map names an id field, else in the order of their
    last change, which is the same on every copy.

    Args:
        field_map: fits the index.
        analysis: what comes closest to the content's analyzer.
        analyzers: what those of the map's text fields do, by path; of one that is not there
            nothing is assumed.
    """

    def __init__(
        self, field_map: FieldMap, analysis: Analysis, analyzers: Mapping[str, Analyzer]
    ) -> None:
        self.field_map = field_map
        self._analysis = analysis
        self._keeps_case = {path for path, each in analyzers.items() if each.keeps_case}
        self._known = set(analyzers)
        self._schema = field_map.schema
        self._words: dict[Field, str | None] = {
            "title": field_map.title,
            "content": field_map.content,
        }
        self._quotes: dict[Field, str | None] = {
            "title": field_map.title_exact or field_map.title,
            "content": field_map.content_exact or field_map.content,
        }

    @property
    def analysis(self) -> Analysis:
        """How its text is analysed, or what comes closest to it."""
        return self._analysis

    @property
    def metadata_schema(self) -> MetadataSchema:
        """Its declared fields."""
        return self._schema

    @property
    def source(self) -> Sequence[str] | bool:
        """What to ask for as ``_source``: all of it, as a subfield's values stand in its parent."""
        return True

    @property
    def tie_break(self) -> list[Query]:
        """Sort clauses for passages of equal score."""
        if self.field_map.id != ID:
            return [{self.field_map.id: {"order": "asc"}}]
        return [{"_index": {"order": "asc"}}, {"_seq_no": {"order": "asc"}}]

    @property
    def unmatched(self) -> list[Query]:
        """Queries of text fields that no passage matches: no analyzer makes a space a word."""
        names = filter(None, (*self._words.values(), *self._quotes.values()))
        return [{"term": {name: " "}} for name in dict.fromkeys(names)]

    @property
    def document(self) -> str | None:
        """The keyword field that tells documents apart; None where each passage is its own."""
        return self.field_map.document

    @property
    def number(self) -> str | None:
        """The integer field of a passage's number."""
        return self.field_map.number

    @property
    def firsts(self) -> Query | None:
        """The query of one passage of each document, where each has one only."""
        return {"match_all": {}} if self.field_map.document is None else None

    def leaf(self, leaf: Leaf, field: Field) -> Query:
        """Return the query of a word or phrase in one field."""
        path = (self._quotes if isinstance(leaf, Phrase) else self._words)[field]
        if path is None:
            return {"match_none": {}}
        texts = [" ".join(leaf.tokens)]
        written = leaf.written
        if path in self._known and path not in self._keeps_case:
            written = written.lower()
        if written and written != texts[0] and _fits_json(written):
            texts.insert(0, written)
        queries: list[Query] = [{"match_phrase": {path: {"query": text}}} for text in texts]
        return queries[0] if len(queries) == 1 else {"dis_max": {"queries": queries}}

    def visible(self, visibility: Visibility) -> tuple[list[Query], list[Query]]:
        """Return what must hold and what must not hold of a passage that this caller may see."""
        must = self.owned(visibility.tenant)
        access = self.field_map.access
        if access is not None:
            ways: list[Query] = [{"terms": {access: sorted(filter(_fits_json, visibility.groups))}}]
            if self.field_map.without_access == "tenant":
                # A group's name that is too long to be indexed is no reason to show a passage.
                there = [{"exists": {"field": access}}, {"term": {"_ignored": access}}]
                ways.append({"bool": {"must_not": there}})
            must.append({"bool": {"should": ways, "minimum_should_match": 1}})
        hidden = sorted(filter(_fits_json, visibility.hidden_documents))
        return must, [self._of_documents(hidden)] if hidden else []

    def owned(self, tenant: str) -> list[Query]:
        """Return what must hold of a passage of this tenant, whoever may see it."""
        return _owned(self.field_map, tenant)

    def ids(self, passage_ids: Sequence[str]) -> Query:
        """Return the query of the passages with these ids."""
        wanted = [each for each in passage_ids if each and _fits_json(each)]
        if self.field_map.id == ID:
            return {"ids": {"values": wanted}}
        return {"terms": {self.field_map.id: wanted}}

    def of_document(self, tenant: str, document_id: str) -> Query:
        """Return the query of all passages of a document, by its producer's id."""
        found = self._of_documents([document_id] if _fits_json(document_id) else [])
        return {"bool": {"filter": [*self.owned(tenant), found]}}

    def metadata(self, name: str) -> str:
        """Return the index field of a declared field."""
        return self.field_map.metadata[name].field

    def exact(self, field: Field) -> str:
        """Return the index field whose terms come closest to whole words.

        The content's where there is no title, in which nothing can be found.
        """
        return self._quotes[field] or self.field_map.content_exact or self.field_map.content

    def passage(self, hit: Mapping[str, Any]) -> Passage:
        """Return the passage of a search's hit.

        Its text and values are those of the stored document; several texts are parted by line
        breaks.

        Raises:
            EngineError: the hit has no stored document.
        """
        source = hit.get("_source")
        if source is None:
            raise EngineError(
                f"A document of the index {hit.get('_index')} has no _source, so its text is not "
                "known; reindex with _source enabled"
            )
        mapped = self.field_map
        identity = hit["_id"] if mapped.id == ID else _first(source, mapped.id) or hit["_id"]
        text = _text(source, mapped.content)
        access = _values(source, mapped.access)
        return Passage(
            id=identity,
            document_id=_first(source, mapped.document) or identity,
            number=_number(source, mapped.number),
            title=_text(source, mapped.title),
            text=text,
            start=0,
            end=len(text),
            tenant=_first(source, mapped.tenant) or mapped.owner,
            access=tuple(map(_as_text, access)) or None,
            location=_first(source, mapped.location) or "",
            metadata=dict(self._metadata(source)),
        )

    def _of_documents(self, document_ids: Sequence[str]) -> Query:
        if self.field_map.document is None:
            return self.ids(document_ids)
        return {"terms": {self.field_map.document: document_ids}}

    def _metadata(self, source: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Value, ...]]]:
        for name, each in self.field_map.metadata.items():
            held = (_value(each.kind, value) for value in _values(source, each.field))
            values = tuple(value for value in held if value is not None)
            if values:
                yield name, values


class AttachedSource:
    """An attached index as an engine's source. Implements `IndexSource`; it is never written to.

    An index that is deleted and made again with as many documents in the same order has the
    generation of the one before.

    Args:
        cluster: where it is.
        field_map: what its fields are.
    """

    def __init__(self, cluster: Cluster, field_map: FieldMap) -> None:
        self._cluster = cluster
        self._map = field_map
        self._schema = field_map.schema
        self._checked: Recent[tuple[str, ...], AttachedFields] = Recent(_KEPT)

    @property
    def analysis(self) -> Analysis:
        """What comes closest to the content's analyzer."""
        return self._map.analysis or self._fields_of(()).analysis

    @property
    def metadata_schema(self) -> MetadataSchema:
        """The map's declared fields."""
        return self._schema

    @property
    def is_shared(self) -> bool:
        """Whether it has passages of several tenants."""
        return self._map.tenant is not None

    def index(self, tenant: str) -> str:  # noqa: ARG002 - one index for all
        """Return the index that every tenant's searches go to."""
        return self._map.index

    def fields(self, state: State) -> AttachedFields:
        """Return the index's fields, checked against the mappings whenever other indices hold it.

        Raises:
            EngineError: there is no such index, it cannot be asked, or the map does not fit it.
        """
        return self._fields_of(state.indices)

    def state_search(self, tenant: str) -> tuple[Query, Query]:
        """Return header and body of the search for the state of a tenant's passages."""
        return {"index": self._map.index}, state_body(
            {"bool": {"filter": _owned(self._map, tenant)}}
        )

    def is_known(self, tenant: str) -> bool:  # noqa: ARG002 - one index for all
        """Return True: where the index cannot be found nothing is known, of no tenant."""
        return True

    def _fields_of(self, indices: tuple[str, ...]) -> AttachedFields:
        return self._checked.get(indices) or self._checked.put(indices, self._check())

    def _check(self) -> AttachedFields:
        index = self._map.index
        try:
            held = mappings_of(self._cluster, index)
        except AbsentError as error:
            raise AbsentError(
                f"There is no index, alias or data stream {index}, which the field map names.",
                status=error.status,
                kind=error.kind,
            ) from None
        unfit = problems(self._map, held)
        if unfit:
            raise EngineError(f"The field map does not fit. {' '.join(unfit)}")
        try:
            analyzers = analyzers_behind(self._cluster, self._map, held)
        except ClusterError as error:
            if error.retryable:
                raise
            if self._map.analysis is None:
                raise EngineError(
                    f"What the analyzer of {self._map.content} does cannot be found out "
                    f"({error.message}); write analysis into the field map, english or standard"
                ) from None
            analyzers = {}
        return AttachedFields(self._map, analysis_of(self._map, analyzers), analyzers)


def _owned(field_map: FieldMap, tenant: str) -> list[Query]:
    if field_map.tenant is None:
        return [] if tenant == field_map.owner else [{"match_none": {}}]
    if not _fits_json(tenant):
        return [{"match_none": {}}]
    return [{"term": {field_map.tenant: {"value": tenant}}}]


def _fits_json(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def _values(source: Any, path: str | None) -> list[Any]:
    """Return all values of a field in a stored document; of a subfield those of its parent."""
    if path is None or source is None:
        return []
    if isinstance(source, list):
        return [value for each in source for value in _values(each, path)]
    if not isinstance(source, dict):
        return [source]
    found: list[Any] = []
    parts = path.split(".")
    # Parts of a path may stand together in one key.
    for end in range(1, len(parts) + 1):
        held = source.get(".".join(parts[:end]))
        rest = ".".join(parts[end:])
        found += _values(held, rest) if rest else _flat(held)
    return found


def _flat(held: Any) -> list[Any]:
    if isinstance(held, list):
        return [value for each in held for value in _flat(each)]
    return [] if held is None or isinstance(held, dict) else [held]


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _text(source: Any, path: str | None) -> str:
    return "\n".join(map(_as_text, _values(source, path)))


def _first(source: Any, path: str | None) -> str | None:
    values = _values(source, path)
    return _as_text(values[0]) if values else None


def _number(source: Any, path: str | None) -> int:
    try:
        return int(_first(source, path) or 0)
    except ValueError:
        return 0


def _value(kind: FieldKind, value: Any) -> Value | None:
    """Return a value as it would have been declared; None for what has no place in the language."""
    try:
        if kind == "date" and isinstance(value, int | float) and not isinstance(value, bool):
            moment = _EPOCH + timedelta(milliseconds=value)
            return normalised("date", moment.replace(microsecond=0).isoformat())
        return normalised(kind, value)
    except (MetadataError, OverflowError, ValueError):
        return None
