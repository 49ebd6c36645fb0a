"""What an index that others fill says of its fields: their types, and what its analyzers do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from logicalrag.engines.cluster.connection import Cluster

TIME = "@timestamp"
_PROBE = "Running houses near the Café"


@dataclass(frozen=True, slots=True)
class IndexField:
    """One field of a mapping.

    Args:
        type: as the mapping names it.
        settings: of the field, as the mapping gives them.
        source: path of its values in ``_source``: a subfield's parent.
        nested: path of the nested object it is in; None for none.
    """

    type: str
    settings: Mapping[str, Any]
    source: str
    nested: str | None


@dataclass(frozen=True, slots=True)
class IndexMapping:
    """The mapping of one index: its fields by path, and its settings of ``_source``."""

    fields: Mapping[str, IndexField]
    source: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Analyzer:
    """What a text field's analyzer does with words.

    Args:
        stems: inflections become equal.
        keeps_case: ``Cafe`` and ``cafe`` differ.
        keeps_accents: ``café`` and ``cafe`` differ.
        drops_words: some words, as ``the``, are not indexed.
    """

    stems: bool
    keeps_case: bool
    keeps_accents: bool
    drops_words: bool


def mappings_of(cluster: Cluster, index: str) -> dict[str, IndexMapping]:
    """Return the mapping of every index behind a name, by the index's own name.

    Raises:
        AbsentError: there is nothing of that name.
        ClusterError: it cannot be asked.
    """
    answer = cluster.call(
        "GET", f"/{quote(index, safe='')}/_mapping", doing=f"the mapping of {index}"
    )
    return {name: mapping_of(held.get("mappings", {})) for name, held in answer.items()}


def analyzers_of(
    cluster: Cluster, index: str, fields: Mapping[str, IndexField], *, has_time: bool = False
) -> dict[str, Analyzer]:
    """Return what the analyzers of text fields do, by path; found out with a text of our own.

    It asks for the term vectors of a document that is not stored, which takes no more than the
    right to read.

    Args:
        index: one index, not an alias.
        fields: text fields by path.
        has_time: it belongs to a data stream, whose documents have a time.

    Raises:
        ClusterError: it cannot be asked.
    """
    document: dict[str, Any] = {TIME: "2000-01-01T00:00:00Z"} if has_time else {}
    for each in fields.values():
        *parents, last = each.source.split(".")
        inner = document
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[last] = _PROBE
    answer = cluster.call(
        "POST",
        f"/{quote(index, safe='')}/_termvectors",
        {
            "doc": document,
            "fields": list(fields),
            "offsets": False,
            "positions": False,
            "field_statistics": False,
        },
        doing="a look at analyzers",
    )
    vectors = answer.get("term_vectors", {})
    return {path: _analyzer(vectors.get(path, {}).get("terms", {})) for path in fields}


def _analyzer(terms: Mapping[str, Any]) -> Analyzer:
    lowered = {term.lower() for term in terms}
    return Analyzer(
        stems="running" not in lowered,
        keeps_case=any(term != term.lower() for term in terms),
        keeps_accents=any("é" in term for term in lowered),
        drops_words="the" not in lowered,
    )


def mapping_of(held: Mapping[str, Any]) -> IndexMapping:
    """Return a mapping that an index gave."""
    fields = dict(_fields(held.get("properties", {}), "", None))
    return IndexMapping(fields, held.get("_source", {}))


def _fields(
    properties: Mapping[str, Any], prefix: str, nested: str | None
) -> Iterator[tuple[str, IndexField]]:
    for name, settings in properties.items():
        path = prefix + name
        kind = settings.get("type", "object")
        inside = path if kind == "nested" else nested
        yield path, IndexField(kind, settings, path, inside)
        yield from _fields(settings.get("properties", {}), f"{path}.", inside)
        for subfield, held in settings.get("fields", {}).items():
            yield f"{path}.{subfield}", IndexField(held["type"], held, path, inside)
