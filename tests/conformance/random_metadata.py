"""Random metadata and filters, and what the filters mean, said once more without any engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from logicalrag.engines.metadata import FieldKind, Filter, MetadataSchema, Operator, Value
from tests.conformance.documents import Document

Values = Mapping[str, tuple[Value, ...]]

# No name may matter: some are those of an index's own fields, or hold what separates names.
SCHEMA = MetadataSchema(
    {
        "kind": "keyword",
        "content": "keyword",
        "year": "number",
        "id": "number",
        "published": "date",
        "a.b c/é": "date",
    }
)
_CHOICES: Mapping[FieldKind, tuple[Value, ...]] = {
    "keyword": ("report", "Report", "two words", "é", "e\u0301", "a\x00b", "*", "x" * 512),
    "number": (0.0, -0.0, 1.0, -1.5, 2020.0, 2020.25, 1e300, -1e300, 5e-324, float(2**53)),
    "date": (
        "0001-01-01T00:00:00Z",
        "2023-12-31T23:59:59Z",
        "2024-01-01T00:00:00Z",
        "2024-02-29T12:00:00Z",
        "2024-02-29T12:00:01Z",
        "2024-11-30T08:15:30Z",
        "9999-12-31T23:59:59Z",
    ),
}
_ABSENT: Mapping[FieldKind, tuple[Value, ...]] = {
    "keyword": ("REPORT", "two", "", "\ud800", "zzz"),
    "number": (2021.0, -2.0, 1e308),
    "date": ("2024-02-29T12:00:02Z", "1970-01-01T00:00:00Z"),
}
_PERIODS = ("2024", "2023", "2024-02", "2024-11", "2024-02-29", "2024-02-28", "0001", "9999-12")
_ORDERS: tuple[Operator, ...] = ("<", "<=", ">", ">=")


def with_metadata(random_: random.Random, document: Document) -> Document:
    """Return the document with values for some fields of some passages, and locations."""
    return replace(
        document,
        metadata=tuple(_values(random_) for _ in document.texts),
        locations=tuple(random_.choice(("", f"page {n}")) for n, _ in enumerate(document.texts)),
    )


def _values(random_: random.Random) -> Values:
    return {
        name: tuple(random_.choices(_CHOICES[kind], k=random_.choice((1, 1, 1, 2, 3))))
        for name, kind in SCHEMA.fields.items()
        if random_.random() < 0.7
    }


def random_filter(random_: random.Random) -> Filter:
    """Return a legal filter, whose values are mostly such as passages have."""
    name, kind = random_.choice(list(SCHEMA.fields.items()))
    pool = (*_CHOICES[kind], *_CHOICES[kind], *_ABSENT[kind])
    if kind != "keyword" and random_.random() < 0.5:
        return Filter(name, random_.choice(_ORDERS), (random_.choice(pool),))
    if kind == "date":
        pool += _PERIODS
    several = random_.choices(pool, k=random_.choice((1, 1, 2, 4)))
    return Filter(name, random_.choice(("=", "!=")), tuple(several))


def keeps(condition: Filter, values: Values) -> bool:
    """Return whether a passage with `values` fulfils the filter; dates are compared as texts."""
    held = values.get(condition.field, ())
    wanted = condition.values
    told: dict[Operator, Callable[[], bool]] = {
        "=": lambda: any(_equal(value, each) for value in held for each in wanted),
        "!=": lambda: not any(_equal(value, each) for value in held for each in wanted),
        "<": lambda: any(value < wanted[0] for value in held),  # type: ignore[operator]
        "<=": lambda: any(value <= wanted[0] for value in held),  # type: ignore[operator]
        ">": lambda: any(value > wanted[0] for value in held),  # type: ignore[operator]
        ">=": lambda: any(value >= wanted[0] for value in held),  # type: ignore[operator]
    }
    return told[condition.operator]()


def _equal(value: Value, wanted: Value) -> bool:
    if isinstance(value, str) and isinstance(wanted, str) and wanted in _PERIODS:
        return value.startswith(wanted)
    return value == wanted
