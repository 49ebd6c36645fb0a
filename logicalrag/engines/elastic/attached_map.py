"""The field map of an attached index: which of its fields is what, read from TOML and written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import FieldKind, MetadataError, MetadataSchema, parse_schema
from logicalrag.engines.protocol import DEFAULT_TENANT

WithoutAccess = Literal["tenant", "nobody"]
ID = "_id"
"""What Elasticsearch calls a document's own id."""

_ROLES = (
    "content",
    "title",
    "content_exact",
    "title_exact",
    "id",
    "document",
    "number",
    "tenant",
    "access",
    "location",
)
_TABLES = ("fields", "metadata")
_SETTINGS = ("index", "tenant", "analysis", "without_access")
_MAX_CODE_POINTS = 255
# Elasticsearch's rule for names of indices; so no pattern, list or other cluster either.
_INDEX = re.compile(r"(?![-_+])(?!\.\.?\Z)[^\\/*?\"<>| ,#:\x00-\x1f]+")
_SHOWN = 60


class FieldMapError(EngineError):
    """A field map that cannot be used; its message says what is wrong and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)

    def __reduce__(self) -> tuple[type[FieldMapError], tuple[str]]:
        return (type(self), (self.message,))


@dataclass(frozen=True, slots=True)
class MetadataField:
    """A declared field: the index field that holds its values, and their kind."""

    field: str
    kind: FieldKind


@dataclass(frozen=True, slots=True)
class FieldMap:
    """What the fields of an index are that others fill.

    Fields are paths, as ``article.body`` or ``body.exact``.

    Args:
        index: an index, an alias or a data stream.
        content: text field of the passage's text.
        title: text field; None for none.
        content_exact, title_exact: unstemmed subfields, for quotes; None: quotes use the field
            itself, and match what its analyzer makes equal.
        id: keyword field of the passage's id, unique; ``_id`` for the document's own.
        document: keyword field that passages of one document share; None where each is its own.
        number: integer field of a passage's place in its document; None for none.
        tenant: keyword field; None where all belongs to `owner`.
        owner: the tenant whose index it is where there is no tenant field; others see nothing.
        access: keyword field of groups, any of which may see it; None where all of a tenant may.
        without_access: who sees a passage without groups. Elasticsearch cannot tell an empty list
            from none.
        location: field that says where a person finds the passage; None for none.
        metadata: declared fields by name.
        analysis: what comes closest to the content's analyzer; None to find out.
    """

    index: str
    content: str
    title: str | None = None
    content_exact: str | None = None
    title_exact: str | None = None
    id: str = ID
    document: str | None = None
    number: str | None = None
    tenant: str | None = None
    owner: str = DEFAULT_TENANT
    access: str | None = None
    without_access: WithoutAccess = "tenant"
    location: str | None = None
    metadata: Mapping[str, MetadataField] = field(default_factory=dict)
    analysis: Analysis | None = None

    @property
    def schema(self) -> MetadataSchema:
        """The declared fields and their kinds."""
        return MetadataSchema({name: each.kind for name, each in self.metadata.items()})

    def roles(self) -> dict[str, str]:
        """Return the index field of each role that has one, by role, metadata apart."""
        named = {role: getattr(self, role) for role in _ROLES}
        return {role: path for role, path in named.items() if path not in (None, ID)}


def parse_field_map(text: str, name: str) -> FieldMap:
    """Return the map that a TOML file holds.

    ``index = "articles"``, then optionally ``tenant`` (the owner), ``analysis`` and
    ``without_access``; ``[fields]`` with ``content = "body"`` and the other roles of `FieldMap`;
    and for each declared field a table ``[metadata.year]`` with ``field`` and ``kind``.

    Args:
        name: the file's name, for messages.

    Raises:
        FieldMapError: it is no TOML, lacks ``index`` or ``fields.content``, or holds a key, a
            name or a kind that there is not.
    """
    try:
        held = tomllib.loads(text)
    # Numbers of too many digits and deep nesting raise others than its own error.
    except (ValueError, RecursionError) as error:
        raise _bad(name, f"it is no TOML: {error}") from None
    _only(name, "it", held, (*_SETTINGS, *_TABLES))
    fields, declared = (_table(name, table, held.get(table, {})) for table in _TABLES)
    _only(name, "[fields]", fields, _ROLES)
    index = held.get("index")
    if not isinstance(index, str) or not _is_index(index):
        raise _bad(
            name, 'it names no index; write index = "NAME", an index, an alias or a data stream'
        )
    if "content" not in fields:
        raise _bad(name, 'it names no text; write content = "FIELD" under [fields]')
    roles = {role: _path(name, role, path) for role, path in fields.items()}
    if roles.get("number") and not roles.get("document"):
        raise _bad(name, "number needs document: the field that passages of one document share")
    owner = held.get("tenant", DEFAULT_TENANT)
    if not isinstance(owner, str) or not owner.strip():
        raise _bad(name, f"tenant is {_shown(owner)}; write whose index it is")
    return FieldMap(
        index=index,
        owner=owner,
        analysis=_choice(name, "analysis", held.get("analysis"), get_args(Analysis)),
        without_access=_choice(
            name, "without_access", held.get("without_access", "tenant"), get_args(WithoutAccess)
        ),
        metadata=_metadata(name, declared),
        **roles,
    )


def field_map_text(field_map: FieldMap) -> str:
    """Return the TOML of a map; `parse_field_map` gives an equal one back."""
    lines = [f"index = {_quoted(field_map.index)}", f"tenant = {_quoted(field_map.owner)}"]
    if field_map.analysis is not None:
        lines.append(f"analysis = {_quoted(field_map.analysis)}")
    if field_map.without_access != "tenant":
        lines.append(f"without_access = {_quoted(field_map.without_access)}")
    lines += ["", "[fields]"]
    lines += [f"{role} = {_quoted(path)}" for role, path in field_map.roles().items()]
    for name, each in field_map.metadata.items():
        lines += ["", f"[metadata.{name}]"]
        lines += [f"field = {_quoted(each.field)}", f"kind = {_quoted(each.kind)}"]
    return "\n".join(lines) + "\n"


def _metadata(name: str, declared: Mapping[str, Any]) -> dict[str, MetadataField]:
    found: dict[str, MetadataField] = {}
    for each, held in declared.items():
        table = _table(name, f"metadata.{each}", held)
        _only(name, f"[metadata.{_short(each)}]", table, ("field", "kind"))
        path = _path(name, f"the field of metadata.{_short(each)}", table.get("field"))
        found[each] = MetadataField(path, table.get("kind"))  # type: ignore[arg-type]
    if found:
        # The same rule for names and kinds as in a file of metadata fields.
        lines = [f"{_quoted(each)} = {_quoted(str(held.kind))}" for each, held in found.items()]
        try:
            parse_schema("\n".join(["[fields]", *lines]), f"under [metadata] in {name}")
        except MetadataError as error:
            raise FieldMapError(error.message) from None
    return found


def _table(name: str, table: str, held: object) -> dict[str, Any]:
    if not isinstance(held, dict):
        raise _bad(name, f"{_short(table)} is no table; begin it with [{_short(table)}]")
    return held


def _only(name: str, where: str, held: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in held:
        if key not in known:
            raise _bad(name, f"{where} holds {_shown(key)}, which is none of {', '.join(known)}")


def _path(name: str, role: str, path: object) -> str:
    if role == "id" and path == ID:
        return ID
    is_path = isinstance(path, str) and len(path) <= _MAX_CODE_POINTS and not path.startswith("_")
    if not is_path or not all(part.strip() for part in str(path).split(".")):
        raise _bad(name, f"{role} is {_shown(path)}; write the name of a field of the index")
    return str(path)


def _choice(name: str, key: str, value: Any, choices: tuple[Any, ...]) -> Any:
    if value is not None and (not isinstance(value, str) or value not in choices):
        raise _bad(name, f"{key} is {_shown(value)}; write one of {', '.join(choices)}")
    return value


def _is_index(name: str) -> bool:
    return len(name.encode("utf-8", "surrogatepass")) <= 255 and bool(_INDEX.fullmatch(name))


def _quoted(text: str) -> str:
    # JSON's strings are TOML's but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN] if isinstance(value, str | int | float) else "no text"


def _short(name: str) -> str:
    return name[:_SHOWN]


def _bad(name: str, problem: str) -> FieldMapError:
    return FieldMapError(f"The field map {name} cannot be used: {problem}.")
