"""Filters and callers as queries: exact, and safe with any text."""

from __future__ import annotations

import orjson
import pytest

from logicalrag.engines.elastic.conditions import compile_filters
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.elastic.own_fields import OwnFields
from logicalrag.engines.identity import document_key, group_term
from logicalrag.engines.metadata import Filter, MetadataError, MetadataSchema, Operator, Value
from logicalrag.engines.protocol import Visibility

SCHEMA = MetadataSchema({"kind": "keyword", "year": "number", "published": "date"})
FIELDS = OwnFields(Layout("english", SCHEMA))
FORMAT = "uuuu-MM-dd'T'HH:mm:ss'Z'"


@pytest.mark.parametrize(
    ("field", "operator", "values", "query"),
    [
        ("kind", "=", ("a", "b"), {"terms": {"metadata.kind": ["a", "b"]}}),
        ("kind", "=", ("\ud800",), {"terms": {"metadata.kind": []}}),
        ("kind", "=", ("a\x00", "*"), {"terms": {"metadata.kind": ["a\x00", "*"]}}),
        ("year", "=", (2020.0, -0.0), {"terms": {"metadata.year": [2020.0, 0.0]}}),
        ("year", "<", (-0.0,), {"range": {"metadata.year": {"lt": 0.0}}}),
        ("year", ">=", (1e300,), {"range": {"metadata.year": {"gte": 1e300}}}),
        (
            "published",
            "<=",
            ("2024-05-17T00:00:00Z",),
            {
                "range": {
                    "metadata.published": {"lte": "2024-05-17T00:00:00Z||/s", "format": FORMAT}
                }
            },
        ),
        (
            "published",
            "=",
            ("2024-02",),
            {
                "bool": {
                    "should": [
                        {
                            "range": {
                                "metadata.published": {
                                    "gte": "2024-02-01T00:00:00Z||/s",
                                    "lte": "2024-02-29T23:59:59Z||/s",
                                    "format": FORMAT,
                                }
                            }
                        }
                    ],
                    "minimum_should_match": 1,
                }
            },
        ),
    ],
)
def test_one(
    field: str, operator: Operator, values: tuple[Value, ...], query: dict[str, object]
) -> None:
    conditions = compile_filters(FIELDS, [Filter(field, operator, values)])
    assert (conditions.must, conditions.must_not) == ([query], [])
    assert orjson.dumps(query)
    # -0.0 equals 0.0 here, but not for the server.
    assert b"-0.0" not in orjson.dumps(conditions.must)


def test_unequal_is_the_complement() -> None:
    conditions = compile_filters(FIELDS, [Filter("kind", "!=", ("a",))])
    assert conditions.must == []
    assert conditions.must_not == [{"terms": {"metadata.kind": ["a"]}}]


@pytest.mark.parametrize("moment", ["2023-02-29", "0000", "2024-01-01T24:00:00Z"])
def test_no_day_of_the_calendar_is_refused(moment: str) -> None:
    with pytest.raises(MetadataError, match="no time of the calendar") as raised:
        compile_filters(FIELDS, [Filter("published", "=", (moment,))])
    assert raised.value.code == "bad_filter"


@pytest.mark.parametrize("name", ["", "*", "\ud800", "a\x00b", "x" * 100_000])
def test_any_name_is_hashed(name: str) -> None:
    visibility = Visibility(name, frozenset({name}), frozenset({name}))
    must, must_not = FIELDS.visible(visibility)
    assert must == [
        {"term": {"tenant": group_term(name)}},
        {"terms": {"access": ["*", group_term(name)]}},
    ]
    assert must_not == [{"terms": {"document": [document_key(name, name)]}}]
    assert len(orjson.dumps([must, must_not])) < 300


def test_what_is_no_passage_id_is_not_asked_for() -> None:
    id_ = "0123456789abcdef01234567"
    odd = ["", "*", "\ud800", id_ + "\n", id_.upper(), "x" * 100_000]
    assert FIELDS.ids([*odd, id_]) == {"terms": {"id": [id_]}}
