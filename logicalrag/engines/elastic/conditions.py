"""Structured filters as queries: what must hold of a passage, and what must not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from logicalrag.engines.elastic.compiler import Conditions, Part
from logicalrag.engines.elastic.fields import Fields, Query
from logicalrag.engines.elastic.layout import DATE_FORMAT
from logicalrag.engines.elastic.own_fields import is_storable
from logicalrag.engines.metadata import FieldKind, Filter, MetadataError, Value, kind_of, period

_BOUNDS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def compile_filters(fields: Fields, filters: Sequence[Filter]) -> Conditions:
    """Return the conditions of checked filters.

    Raises:
        MetadataError: a date is no day of the calendar.
    """
    must: list[Part] = []
    must_not: list[Part] = []
    for each in filters:
        kind = kind_of(each.field, fields.metadata_schema)
        name = fields.metadata(each.field)
        if each.operator == "=":
            must.append(_equal(name, kind, each.values))
        elif each.operator == "!=":
            must_not.append(_equal(name, kind, each.values))
        else:
            bound = _BOUNDS[each.operator]
            must.append(_range(name, kind, {bound: each.values[0]}))
    return Conditions(must, must_not)


def _equal(name: str, kind: FieldKind, values: Sequence[Value]) -> Query:
    if kind == "keyword":
        return {"terms": {name: [each for each in values if is_storable(str(each))]}}
    if kind == "number":
        return {"terms": {name: [each or 0.0 for each in values]}}  # there is one zero
    periods = (period(str(each)) for each in values)
    ranges = [_range(name, kind, {"gte": first, "lte": last}) for first, last in periods]
    return {"bool": {"should": ranges, "minimum_should_match": 1}}


def _range(name: str, kind: FieldKind, bounds: dict[str, Value]) -> Query:
    if kind == "number":
        return {"range": {name: {bound: value or 0.0 for bound, value in bounds.items()}}}
    # Rounded to the second, as another's index may hold fractions.
    written = {bound: f"{_checked(name, str(value))}||/s" for bound, value in bounds.items()}
    return {"range": {name: {**written, "format": DATE_FORMAT}}}


def _checked(name: str, moment: str) -> str:
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        raise MetadataError(
            "bad_filter", f"{moment} is no time of the calendar; give {name} another date"
        ) from None
    return moment
