"""Whether a field map fits the index that it is for, in sentences."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import AbsentError
from logicalrag.engines.elastic.attached_map import (
    FieldMap,
    FieldMapError,
    field_map_text,
    parse_field_map,
)
from logicalrag.engines.elastic.attached_mapping import (
    TIME,
    Analyzer,
    IndexField,
    IndexMapping,
    analyzers_of,
    mappings_of,
)
from logicalrag.engines.metadata import FieldKind

_TEXT = ("text", "match_only_text")
_KEYWORD = ("keyword", "constant_keyword")
_INTEGER = ("byte", "short", "integer", "long", "unsigned_long")
_NUMBER = (*_INTEGER, "half_float", "float", "double", "scaled_float")
_TYPES: Mapping[str, tuple[str, ...]] = {
    "content": _TEXT,
    "title": _TEXT,
    "content_exact": _TEXT,
    "title_exact": _TEXT,
    "id": _KEYWORD[:1],
    "document": _KEYWORD[:1],
    "number": _INTEGER,
    "tenant": _KEYWORD,
    "access": _KEYWORD[:1],
}
_KINDS: Mapping[FieldKind, tuple[str, ...]] = {
    "keyword": _KEYWORD,
    "number": _NUMBER,
    "date": ("date", "date_nanos"),
}
# Roles whose values are sorted or put together, so need their column.
_COLUMNS = ("id", "document", "number", "metadata")
# Roles whose text is shown or compared after a search, so must be in the stored document.
_STORED = (
    "content", "title", "id", "document", "number", "tenant", "access", "location", "metadata"
)  # fmt: skip
_MAX_NAMED = 5


def verify(cluster: Cluster, field_map: FieldMap) -> tuple[str, ...]:
    """Return what makes a map unfit for its index, a sentence each; none where it fits.

    Looked at are the map itself, that every index behind the name has its fields, of types that
    serve, outside of nested objects, and in a stored ``_source``.

    Raises:
        ClusterError: the index's mapping cannot be read.
    """
    try:
        parse_field_map(field_map_text(field_map), "in use")
        held = mappings_of(cluster, field_map.index)
    except FieldMapError as error:
        return (error.message,)
    except AbsentError:
        return (f"There is no index, alias or data stream {field_map.index}; name one that is.",)
    return problems(field_map, held)


def problems(field_map: FieldMap, held: Mapping[str, IndexMapping]) -> tuple[str, ...]:
    """Return what `verify` does, of mappings that are known, by the index's name."""
    if not held:
        return (f"There is no index behind {field_map.index} yet; attach it when there is one.",)
    found: dict[str, None] = {}
    for index, mapping in held.items():
        for problem in _problems(field_map, mapping):
            found[f"In the index {index} {problem}."] = None
    return tuple(found)


def remarks(field_map: FieldMap, analyzers: Mapping[str, Analyzer]) -> tuple[str, ...]:
    """Return what a user of the index should know: how it differs from one of ours.

    Args:
        analyzers: what those of the map's text fields do, by path.
    """
    told: list[str] = []
    for path, analyzer in analyzers.items():
        if analyzer.keeps_case:
            told.append(f"{path} keeps capitals: a word is found as it is written, or lower-case.")
        if analyzer.keeps_accents:
            told.append(f"{path} keeps accents: café is found as it is written, not by cafe.")
        if analyzer.drops_words:
            told.append(f"{path} drops words such as 'the': by themselves they have no hits.")
    for role in ("content", "title"):
        path, exact = getattr(field_map, role), getattr(field_map, f"{role}_exact")
        if path and not exact and path in analyzers and analyzers[path].stems:
            told.append(f"{path} is stemmed and has no exact subfield: quotes match inflections.")
    if field_map.tenant is None:
        told.append(f"All of it belongs to the tenant {field_map.owner}; others see nothing.")
    if field_map.access is not None:
        by = "all of their tenant" if field_map.without_access == "tenant" else "nobody"
        told.append(
            f"Elasticsearch cannot tell an empty {field_map.access} from none: such passages are "
            f"seen by {by}."
        )
    return tuple(told)


def remarks_on(cluster: Cluster, field_map: FieldMap) -> tuple[str, ...]:
    """Return the `remarks` on a map that `verify` has found fit.

    Raises:
        ClusterError: the index cannot be asked.
    """
    return remarks(field_map, analyzers_behind(cluster, field_map))


def analyzers_behind(
    cluster: Cluster, field_map: FieldMap, held: Mapping[str, IndexMapping] | None = None
) -> dict[str, Analyzer]:
    """Return what the analyzers of the map's text fields do, in the last index behind its name.

    Args:
        held: the mappings behind the name; None to ask for them.

    Raises:
        ClusterError: the index cannot be asked.
    """
    held = held or mappings_of(cluster, field_map.index)
    last = max(held)
    roles = field_map.roles()
    paths = {roles[role] for role, types in _TYPES.items() if types is _TEXT and role in roles}
    fields = held[last].fields
    asked = {path: fields[path] for path in sorted(paths)}
    return analyzers_of(cluster, last, asked, has_time=TIME in fields)


def analysis_of(field_map: FieldMap, analyzers: Mapping[str, Analyzer]) -> Analysis:
    """Return the map's analysis, else what comes closest to the content's analyzer."""
    if field_map.analysis is not None:
        return field_map.analysis
    return "english" if analyzers[field_map.content].stems else "standard"


def _problems(field_map: FieldMap, mapping: IndexMapping) -> Iterator[str]:
    if (
        mapping.source.get("enabled") in (False, "false")
        or mapping.source.get("mode") == "disabled"
    ):
        yield "_source is disabled, so no text can be shown; reindex with it enabled"
    for role, path in field_map.roles().items():
        yield from _field_problems(role, path, _TYPES.get(role), mapping)
    for name, each in field_map.metadata.items():
        yield from _field_problems(f"metadata.{name}", each.field, _KINDS[each.kind], mapping)


def _field_problems(
    role: str, path: str, types: tuple[str, ...] | None, mapping: IndexMapping
) -> Iterator[str]:
    found = mapping.fields.get(path)
    if found is None:
        near = get_close_matches(path, mapping.fields, _MAX_NAMED, 0.5) or list(mapping.fields)
        there = ", ".join(near[:_MAX_NAMED]) or "none"
        yield f"there is no field {path} for {role}; fields there are: {there}"
        return
    if found.nested is not None:
        yield (
            f"the field {path} for {role} is inside the nested object {found.nested}, whose values "
            "stand apart from their document; map a field outside of it"
        )
        return
    if found.type == "alias":
        yield f"the field {path} for {role} is an alias; map {found.settings.get('path')} itself"
        return
    if types is None and found.type in ("object", "flattened"):
        yield f"the field {path} for {role} is an object; map one of its fields"
    elif types is not None and found.type not in types:
        yield f"the field {path} for {role} is of type {found.type}; it needs {' or '.join(types)}"
    elif types is not None:
        yield from _setting_problems(role, path, found)
    if role.split(".")[0] in _STORED and not _is_stored(found.source, mapping):
        yield f"{found.source} for {role} is left out of _source, so it cannot be shown"


def _setting_problems(role: str, path: str, found: IndexField) -> Iterator[str]:
    settings = found.settings
    has_column = found.type not in _TEXT and settings.get("doc_values", True) is not False
    if settings.get("index") is False and not has_column:
        yield f"the field {path} for {role} is not indexed, so it cannot be searched"
    if found.type in _TEXT and settings.get("index_options") in ("docs", "freqs"):
        yield f"the field {path} for {role} has no positions, so words next to each other are lost"
    if role.split(".")[0] in _COLUMNS and not has_column:
        yield f"the field {path} for {role} has no doc_values, so it cannot put passages in order"
    if settings.get("normalizer"):
        yield (
            f"the field {path} for {role} has a normalizer, so different values look alike; map a "
            "field without one"
        )


def _is_stored(path: str, mapping: IndexMapping) -> bool:
    def any_of(patterns: object) -> bool:
        listed = [patterns] if isinstance(patterns, str) else patterns
        parents = path.split(".")
        paths = [".".join(parents[: end + 1]) for end in range(len(parents))]
        return isinstance(listed, list) and any(
            fnmatch.fnmatchcase(each, str(pattern)) for pattern in listed for each in paths
        )

    includes, excludes = mapping.source.get("includes"), mapping.source.get("excludes")
    return (not includes or any_of(includes)) and not any_of(excludes)
