"""Declared fields beside the text: their kinds, their values, and structured filters over them."""

from __future__ import annotations

import calendar
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from typing import Literal, get_args

FieldKind = Literal["keyword", "number", "date"]
Operator = Literal["=", "!=", "<", "<=", ">", ">="]
# A keyword is a str, compared as it is; a number is a float; a date is an ISO 8601 text in UTC,
# ``YYYY-MM-DDTHH:MM:SSZ``, so that text order is time order.
Value = str | float
MAX_FIELDS = 64
MAX_FILTERS = 32
MAX_VALUES = 64
MAX_KEYWORD_BYTES = 512
# The integers up to here are the ones that a float holds exactly.
MAX_INTEGER = 2**53

_KINDS: tuple[FieldKind, ...] = get_args(FieldKind)
_EQUALITIES = ("=", "!=")
_TAKEN_NAMES = ("id", "title", "text", "content")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_INTEGER = re.compile(r"[+-]?[0-9]++")
_DATE = re.compile(
    r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2}"
    r"(?P<time>[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
    r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?)?)?"
)
_FILTER = re.compile(r"\s*+(?P<field>[^\s=!<>]++)\s*+(?P<operator>[!<>]=|[=<>])")
_LISTED = re.compile(
    r'\s*+(?:"(?P<quoted>(?:[^"\\]++|\\.)*+)"|(?P<bare>[^\s",=!<>][^,]*+))\s*+(?:(?P<more>,)|\Z)',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MAX_FILTER_CODE_POINTS = 2 * MAX_VALUES * MAX_KEYWORD_BYTES
_NAMED_FIELDS = 8
_SHOWN_CODE_POINTS = 60


class MetadataError(ValueError):
    """A schema, a document's value, a filter or a sort that does not fit.

    Args:
        code: ``bad_schema``, ``bad_value``, ``bad_filter``, ``bad_sort``,
            ``unknown_metadata_field``.
        message: one sentence that says what is wrong and what would do.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class MetadataSchema:
    """The declared fields of an index, by name, in the order declared; fixed with the index."""

    fields: Mapping[str, FieldKind]


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition on a field: some value of the passage stands in this relation to one of ours.

    Args:
        field: a declared field.
        operator: order comparisons are for numbers and dates; ``!=`` is the complement of ``=``,
            so a passage without a value fulfils it.
        values: at least one, of the field's kind; more than one with ``=`` and ``!=`` only, where
            any of them counts. With these two a date may also be ``YYYY``, ``YYYY-MM`` or
            ``YYYY-MM-DD``, which equals every time in its `period`.
    """

    field: str
    operator: Operator
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Sort:
    """An order by a number or date field."""

    field: str
    descending: bool = True


def parse_schema(text: str, name: str) -> MetadataSchema:
    """Return the schema that a TOML file declares: ``[fields]``, then lines as ``year = "number"``.

    Args:
        text: the file's text; 1 to `MAX_FIELDS` fields, named in lower-case letters, digits and
            ``_``, a letter first, at most 64.
        name: the file's name, for messages.

    Raises:
        MetadataError: ``bad_schema``.
    """
    try:
        declared = tomllib.loads(text)
    # Its own error is a ValueError; numbers of too many digits and deep nesting raise others.
    except (ValueError, RecursionError) as error:
        raise _bad_schema(name, f"it is no TOML: {error}") from None
    fields = declared.pop("fields", None)
    if declared or not isinstance(fields, dict):
        raise _bad_schema(name, "it has one table, [fields], and nothing outside it")
    if not 0 < len(fields) <= MAX_FIELDS:
        raise _bad_schema(name, f"it declares {len(fields)} fields; declare 1 to {MAX_FIELDS}")
    for field, kind in fields.items():
        if not _NAME.fullmatch(field):
            raise _bad_schema(
                name,
                f"the field name {_shortened(field)} does not do; write lower-case letters, "
                "digits and '_', a letter first, at most 64",
            )
        if field in _TAKEN_NAMES:
            raise _bad_schema(
                name, f"the name {field!r} is a document's own; choose another field name"
            )
        if not isinstance(kind, str) or kind not in _KINDS:
            raise _bad_schema(
                name, f"{field} is of kind {_shortened(kind)}; the kinds are {', '.join(_KINDS)}"
            )
    return MetadataSchema(fields)


def normalised(kind: FieldKind, value: object) -> Value:
    """Return one value of a document as it is indexed.

    - keyword: text as it is, 1 to `MAX_KEYWORD_BYTES` bytes of UTF-8, not all white space, no
      NUL; true, false and integers are taken as they are written in JSON.
    - number: a finite number, or text that is one in decimal, as ``-1.5e3``; integers up to
      2**53 in magnitude.
    - date: ISO 8601 text: ``YYYY-MM-DDTHH:MM``, optionally with seconds, always with its zone
      (``Z``, ``+02:00``), fractions of seconds dropped; ``YYYY-MM-DD``, ``YYYY-MM`` and ``YYYY``
      are the first second of their `period`. Years 0001 to 9999.

    Raises:
        MetadataError: ``bad_value``.
    """
    if kind == "keyword":
        return _keyword(value)
    if kind == "number":
        return _number(value)
    return period(_date(value))[0]


def period(date: str) -> tuple[str, str]:
    """Return the first and the last second of a date value, both included.

    Args:
        date: ``YYYY``, ``YYYY-MM``, ``YYYY-MM-DD`` (in UTC), or a whole ``YYYY-MM-DDTHH:MM:SSZ``,
            which is one second.
    """
    if len(date) == 20:
        return date, date
    first, last = date, date
    if len(date) == 4:
        first, last = f"{date}-01", f"{date}-12"
    if len(first) == 7:
        days = calendar.monthrange(int(last[:4]), int(last[5:]))[1]
        first, last = f"{first}-01", f"{last}-{days}"
    return f"{first}T00:00:00Z", f"{last}T23:59:59Z"


def parse_filter(text: str, schema: MetadataSchema) -> Filter:
    """Return the filter that ``FIELD OPERATOR VALUE`` says, as ``year>=2020`` or ``kind=a, b``.

    Args:
        text: the operators are those of `Operator`; with ``=`` and ``!=`` up to `MAX_VALUES`
            values, parted by commas. Any value may stand in ``"``, where ``\\`` makes the next
            character literal; one that begins or ends with white space, holds a comma, or begins
            with ``"`` or a character of an operator must. A date that is a year, a month or a day
            is that whole period: ``=`` and ``!=`` keep it, ``<`` and ``>=`` compare with its first
            second, ``<=`` and ``>`` with its last. Other values as in `normalised`.
        schema: the fields there are.

    Raises:
        MetadataError: ``bad_filter``, or ``unknown_metadata_field`` with the fields there are,
            those with the most similar names first.
    """
    found = _FILTER.match(text)
    if found is None:
        raise _bad_filter(
            text, "write FIELD OPERATOR VALUE, as year>=2020", _existing(schema, text)
        )
    field = found["field"]
    kind = kind_of(field, schema)
    operator: Operator = found["operator"]  # type: ignore[assignment]
    if kind == "keyword" and operator not in _EQUALITIES:
        raise _bad_filter(text, f"{field} is a keyword field and is compared with = and != only")
    if len(text) > _MAX_FILTER_CODE_POINTS:
        raise _bad_filter(text, f"it has more than {_MAX_FILTER_CODE_POINTS} characters")
    try:
        values = tuple(_filter_value(kind, operator, value) for value in _listed(text, found.end()))
    except MetadataError as error:
        problem = error.message.removesuffix(".")
        raise _bad_filter(text, problem[0].lower() + problem[1:]) from None
    values = tuple(dict.fromkeys(values))
    if len(values) > 1 and operator not in _EQUALITIES:
        raise _bad_filter(text, f"{operator} takes one value")
    if len(values) > MAX_VALUES:
        raise _bad_filter(text, f"it names {len(values)} values; at most {MAX_VALUES} are allowed")
    return Filter(field, operator, values)


def filter_text(condition: Filter) -> str:
    """Return the one text of a filter; `parse_filter` gives an equal filter back."""
    values = ",".join(map(_value_text, condition.values))
    return f"{condition.field}{condition.operator}{values}"


def number_text(number: float) -> str:
    """Return a number as a person writes it, ``2020`` for 2020.0, in digits that give it back."""
    is_short = number.is_integer() and abs(number) <= MAX_INTEGER
    return str(int(number)) if is_short else repr(number)


def parse_sort(text: str, schema: MetadataSchema) -> Sort:
    """Return the order that ``FIELD`` says: newest or largest first; ``-FIELD`` turns it round.

    Raises:
        MetadataError: ``bad_sort`` for a keyword field, or ``unknown_metadata_field``.
    """
    stripped = text.strip()
    field = stripped.removeprefix("-")
    if kind_of(field, schema) == "keyword":
        raise MetadataError(
            "bad_sort", f"{field} is a keyword field; sort by a number or date field."
        )
    return Sort(field, descending=field == stripped)


def _keyword(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(_checked_integer(value))
    if not isinstance(value, str):
        raise _bad_value(value, "is no text; a keyword is a text, an integer, true or false")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        size = 0
    if not size or "\0" in value or value.isspace():
        raise _bad_value(value, "is no keyword; write a text of valid characters that is not blank")
    if size > MAX_KEYWORD_BYTES:
        raise _bad_value(
            value, f"has {size} bytes; a keyword has at most {MAX_KEYWORD_BYTES} in UTF-8"
        )
    return value


def _number(value: object) -> float:
    number: float = math.nan
    if isinstance(value, str):
        written = value.strip()
        if _INTEGER.fullmatch(written) and len(written) <= 400:
            number = _checked_integer(int(written))
        elif _NUMBER.fullmatch(written):
            number = float(written)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = _checked_integer(value)
    elif isinstance(value, float):
        number = value
    if not math.isfinite(number):
        raise _bad_value(value, "is no finite number; write one in decimal, as 2020 or -1.5")
    return float(number) or 0.0  # there is one zero


def _checked_integer(value: int) -> int:
    if abs(value) > MAX_INTEGER:
        raise MetadataError(
            "bad_value",
            "An integer over 2**53 would lose digits; declare the field as keyword and write the "
            "value as text.",
        )
    return value


def _date(value: object) -> str:
    """Return a date as a value of `Filter`: a whole time, or the period that was written."""
    written = value.strip().upper() if isinstance(value, str) else ""
    shape = _DATE.fullmatch(written)
    if shape is None:
        raise _bad_value(value, "is no date; write one as 2024-05-14 or 2024-05-14T10:30:00Z")
    if shape["time"] and not shape["zone"]:
        raise _bad_value(value, "has no time zone; add Z for UTC, or an offset as +02:00")
    try:
        if shape["time"]:
            moment = datetime.fromisoformat(written).astimezone(UTC)
            return f"{moment.replace(tzinfo=None, microsecond=0).isoformat()}Z"
        datetime.fromisoformat(written + "-01-01"[: 10 - len(written)])
    except (ValueError, OverflowError):
        raise _bad_value(value, "is no day of the calendar from 0001 to 9999") from None
    return written


def _filter_value(kind: FieldKind, operator: Operator, written: str) -> Value:
    if kind != "date":
        return normalised(kind, written)
    date = _date(written)
    if operator in _EQUALITIES:
        return date
    return period(date)[0 if operator in ("<", ">=") else 1]


def _listed(text: str, position: int) -> Iterator[str]:
    """Yield the values of a list that begins at `position`."""
    while True:
        found = _LISTED.match(text, position)
        if found is None:
            raise MetadataError(
                "bad_filter",
                f"a value was expected at {_shortened(text[position:].strip())}; "
                'quote one with special characters: "a, b"',
            )
        bare = found["bare"]
        yield _ESCAPED.sub(r"\1", found["quoted"]) if bare is None else bare.rstrip()
        if not found["more"]:
            return
        position = found.end()


def _value_text(value: Value) -> str:
    if isinstance(value, float):
        return number_text(value)
    read = _LISTED.fullmatch(value)
    if read is not None and read["bare"] == value.rstrip() == value:
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def kind_of(field: str, schema: MetadataSchema) -> FieldKind:
    """Return the kind of a declared field.

    Raises:
        MetadataError: ``unknown_metadata_field``, with the fields there are.
    """
    kind = schema.fields.get(field)
    if kind is None:
        raise MetadataError(
            "unknown_metadata_field",
            f"There is no metadata field {_shortened(field)}; {_existing(schema, field)}.",
        )
    return kind


def _existing(schema: MetadataSchema, wanted: str) -> str:
    """Return which fields there are, those named most like `wanted` first."""
    if not schema.fields:
        return "this index has none: declare fields in a schema file and ingest into a new folder"
    likeness = SequenceMatcher(b=wanted[:_SHOWN_CODE_POINTS])

    def unlike(field: str) -> float:
        likeness.set_seq1(field)
        return -likeness.ratio()

    nearest = sorted(schema.fields, key=unlike)[:_NAMED_FIELDS]
    count = len(schema.fields)
    which = "the fields are" if count == len(nearest) else f"of {count} fields the nearest are"
    return f"{which} {', '.join(f'{field} ({schema.fields[field]})' for field in nearest)}"


def _bad_schema(name: str, problem: str) -> MetadataError:
    return MetadataError("bad_schema", f"The metadata schema {name} cannot be used: {problem}.")


def _bad_value(value: object, problem: str) -> MetadataError:
    return MetadataError("bad_value", f"The value {_shortened(value)} {problem}.")


def _bad_filter(text: str, *problems: str) -> MetadataError:
    return MetadataError(
        "bad_filter", f"The filter {_shortened(text)} cannot be read: {'; '.join(problems)}."
    )


def _shortened(value: object) -> str:
    if isinstance(value, str):
        is_long = len(value) > _SHOWN_CODE_POINTS
        return repr(value[: _SHOWN_CODE_POINTS - 1] + "…" if is_long else value)
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # an integer of too many digits, a value nested too deep
        return f"of type {type(value).__name__}"
    return shown if len(shown) <= _SHOWN_CODE_POINTS else shown[: _SHOWN_CODE_POINTS - 1] + "…"
