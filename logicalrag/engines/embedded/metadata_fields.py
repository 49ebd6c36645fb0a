"""Declared metadata as tantivy fields: written with a passage, filtered by, sorted by, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tantivy
from tantivy import FieldType, Occur, Order, Query

from logicalrag.engines.embedded.clauses import Clause, any_of, one_of
from logicalrag.engines.metadata import FieldKind, Filter, Value, period


@dataclass(frozen=True, slots=True)
class MetadataField:
    """The tantivy fields of one declared field. Names do not depend on what it is called.

    Args:
        kind: of the values.
        number: the field's place in the schema, from 0.
    """

    kind: FieldKind
    number: int

    @property
    def terms(self) -> str:
        """The field of every value as text: for equality, and to count by value."""
        return f"metadata_{self.number}"

    @property
    def ascending(self) -> str:
        """The field of every value as a number, the smallest first: for ranges and that order."""
        return f"metadata_{self.number}_ascending"

    @property
    def largest(self) -> str:
        """The field of the largest value as a number: for that order."""
        return f"metadata_{self.number}_largest"

    def declare(self, builder: tantivy.SchemaBuilder) -> None:
        """Add the fields to a schema."""
        builder.add_text_field(self.terms, tokenizer_name="raw", index_option="basic")
        for name in (self.ascending, self.largest):
            if self.kind == "number":
                builder.add_float_field(name, fast=True)
            elif self.kind == "date":
                builder.add_unsigned_field(name, fast=True)

    def add(self, document: tantivy.Document, values: Sequence[Value]) -> None:
        """Add a passage's values, which fit the kind, to its document."""
        for value in values:
            document.add_text(self.terms, _term(value))
        if self.kind == "keyword" or not values:
            return
        numbers = sorted(map(_number, values))
        add = document.add_float if self.kind == "number" else document.add_unsigned
        for number in numbers:
            add(self.ascending, number)  # type: ignore[arg-type]
        add(self.largest, numbers[-1])  # type: ignore[arg-type]

    def clause(self, schema: tantivy.Schema, condition: Filter) -> Clause:
        """Return the clause that leaves the passages which fulfil a checked filter."""
        if condition.operator in ("=", "!="):
            occur = Occur.Must if condition.operator == "=" else Occur.MustNot
            return occur, self._equal(schema, condition.values)
        bound = _number(condition.values[0])
        below = condition.operator in ("<", "<=")
        included = condition.operator in ("<=", ">=")
        return Occur.Must, self._between(
            schema, None if below else bound, bound if below else None, included
        )

    def value(self, term: str) -> Value:
        """Return the value that is written as `term`."""
        return float(term) if self.kind == "number" else term

    def order(self, descending: bool) -> tuple[str, Order]:
        """Return which field to order by, and how: a passage counts with its best value."""
        return (self.largest, Order.Desc) if descending else (self.ascending, Order.Asc)

    def _equal(self, schema: tantivy.Schema, values: Sequence[Value]) -> Query:
        if self.kind != "date":
            return any_of(schema, self.terms, map(_term, values))
        bounds = [map(_number, period(str(value))) for value in values]
        return one_of([self._between(schema, low, high, True) for low, high in bounds])

    def _between(
        self, schema: tantivy.Schema, low: float | None, high: float | None, included: bool
    ) -> Query:
        kind = FieldType.Float if self.kind == "number" else FieldType.Unsigned
        found = Query.range_query(
            schema,
            self.ascending,
            kind,
            low,
            high,
            included or low is None,
            included or high is None,
        )
        return Query.const_score_query(found, 0.0)


def _term(value: Value) -> str:
    return value if isinstance(value, str) else repr(value or 0.0)  # there is one zero


def _number(value: Value) -> float:
    """Return a number as it is, a moment as the digits of its text: in the same order."""
    if isinstance(value, str):
        return int(
            value[:4] + value[5:7] + value[8:10] + value[11:13] + value[14:16] + value[17:19]
        )
    return value or 0.0
