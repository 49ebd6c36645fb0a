"""What filters mean, and what every engine refuses of filters, orders and values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import ge, gt, le, lt

from logicalrag.engines.metadata import (
    MAX_FILTERS,
    MAX_KEYWORD_BYTES,
    MAX_VALUES,
    FieldKind,
    Filter,
    MetadataError,
    MetadataSchema,
    Sort,
    Value,
    kind_of,
    period,
)
from logicalrag.engines.protocol import Passage

_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_PERIOD = re.compile(r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-[0-9]{2})?)?")
_COMPARES = {"<": lt, "<=": le, ">": gt, ">=": ge}
_TAKES: Mapping[FieldKind, str] = {
    "keyword": f"text of at most {MAX_KEYWORD_BYTES} bytes",
    "number": "finite numbers",
    "date": "moments such as 2024-05-17T00:00:00Z",
}


def check_filters(filters: Sequence[Filter], schema: MetadataSchema) -> None:
    """Refuse filters that are not of the shape that `Filter` promises.

    Raises:
        MetadataError: ``unknown_metadata_field`` or ``bad_filter``.
    """
    if len(filters) > MAX_FILTERS:
        raise MetadataError("bad_filter", f"give at most {MAX_FILTERS} filters, not {len(filters)}")
    for each in filters:
        kind = kind_of(each.field, schema)
        equates = each.operator in ("=", "!=")
        if not equates and each.operator not in _COMPARES:
            problem = f"{each.operator!r} is no operator; use one of =, !=, {', '.join(_COMPARES)}"
            raise MetadataError("bad_filter", problem)
        if kind == "keyword" and not equates:
            problem = f"{each.field} is a keyword field and is compared with = and != only"
            raise MetadataError("bad_filter", problem)
        if not 1 <= len(each.values) <= (MAX_VALUES if equates else 1):
            takes = f"1 to {MAX_VALUES} values" if equates else "one value"
            problem = f"{each.operator} on {each.field} takes {takes}, not {len(each.values)}"
            raise MetadataError("bad_filter", problem)
        for value in each.values:
            if not (_fits(kind, value) or (kind == "date" and equates and _is_period(value))):
                raise _unfit("bad_filter", each.field, kind, value)


def check_sort(sort: Sort | None, schema: MetadataSchema) -> None:
    """Refuse an order by anything but a number or a date.

    Raises:
        MetadataError: ``unknown_metadata_field`` or ``bad_sort``.
    """
    if sort is not None and kind_of(sort.field, schema) == "keyword":
        problem = f"{sort.field} is a keyword field; sort by a number or date field"
        raise MetadataError("bad_sort", problem)


def check_metadata(metadata: Mapping[str, Sequence[Value]], schema: MetadataSchema) -> None:
    """Refuse a passage's values where an index of this schema cannot hold them.

    Raises:
        MetadataError: ``unknown_metadata_field`` or ``bad_value``.
    """
    for field, values in metadata.items():
        kind = kind_of(field, schema)
        for value in values:
            if not _fits(kind, value):
                raise _unfit("bad_value", field, kind, value)


def fulfils(passage: Passage, condition: Filter, schema: MetadataSchema) -> bool:
    """Return whether some value of the passage stands in the filter's relation."""
    held = passage.metadata.get(condition.field, ())
    if condition.operator in _COMPARES:
        compares = _COMPARES[condition.operator]
        return any(compares(value, condition.values[0]) for value in held)
    is_date = kind_of(condition.field, schema) == "date"
    equal = any(
        _in_period(value, wanted) if is_date else value == wanted
        for value in held
        for wanted in condition.values
    )
    return equal == (condition.operator == "=")


def _in_period(value: Value, date: Value) -> bool:
    first, last = period(str(date))
    return first <= str(value) <= last


def _fits(kind: FieldKind, value: Value) -> bool:
    if kind == "number":
        return isinstance(value, float) and math.isfinite(value)
    if not isinstance(value, str):
        return False
    if kind == "date":
        return _MOMENT.fullmatch(value) is not None and _is_in_calendar(value)
    return len(value.encode("utf-8", "surrogatepass")) <= MAX_KEYWORD_BYTES


def _is_period(value: Value) -> bool:
    if not isinstance(value, str) or _PERIOD.fullmatch(value) is None:
        return False
    return _is_in_calendar(value + "-01-01"[len(value) - 4 :] + "T00:00:00Z")


def _is_in_calendar(moment: str) -> bool:
    """Return whether there is such a day, of the years 0001 to 9999, and such a time."""
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        return False
    return moment[11:13] != "24"  # later Pythons take it for the next day's midnight


def _unfit(code: str, field: str, kind: FieldKind, value: Value) -> MetadataError:
    return MetadataError(
        code, f"{field} is a {kind} field and takes {_TAKES[kind]}, not {repr(value)[:80]}"
    )
