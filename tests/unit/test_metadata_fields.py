"""Declared fields: the schema file, what a value becomes, and filters and sorts as text."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ingest.metadata import indexed_metadata
from logicalrag.engines.metadata import (
    MAX_FIELDS,
    MAX_VALUES,
    FieldKind,
    Filter,
    MetadataError,
    MetadataSchema,
    Operator,
    Sort,
    Value,
    filter_text,
    normalised,
    parse_filter,
    parse_schema,
    parse_sort,
    period,
)

SCHEMA = MetadataSchema({"year": "number", "kind": "keyword", "published": "date"})

keywords = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
keywords = keywords.filter(lambda text: not text.isspace() and len(text.encode()) <= 512)
numbers = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number or 0.0)
seconds = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59))  # noqa: DTZ001
moments = seconds.map(lambda moment: f"{moment.replace(microsecond=0).isoformat()}Z")
periods = st.builds(lambda moment, size: moment[:size], moments, st.sampled_from((4, 7, 10, 20)))


def _filters(values: st.SearchStrategy[Any], operators: str, most: int) -> Any:
    listed = st.lists(values, min_size=1, max_size=most, unique=True).map(tuple)
    return st.tuples(st.sampled_from(operators.split()), listed)


filters: st.SearchStrategy[Filter] = st.one_of(
    _filters(keywords, "= !=", 4).map(lambda pair: Filter("kind", *pair)),
    _filters(numbers, "= !=", 4).map(lambda pair: Filter("year", *pair)),
    _filters(numbers, "< <= > >=", 1).map(lambda pair: Filter("year", *pair)),
    _filters(periods, "= !=", 4).map(lambda pair: Filter("published", *pair)),
    _filters(moments, "< <= > >=", 1).map(lambda pair: Filter("published", *pair)),
)


# --- schema -------------------------------------------------------------------------------------


def test_a_schema_keeps_the_order_declared() -> None:
    text = '[fields]\nyear = "number"\nkind = "keyword"\r\n# when it came out\npublished = "date"\n'
    schema = parse_schema(text, "fields.toml")
    assert schema == SCHEMA
    assert list(schema.fields) == ["year", "kind", "published"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it has one table, [fields], and nothing outside it"),
        ("fields = 3", "it has one table, [fields], and nothing outside it"),
        ('[fields]\na = "date"\n[more]\n', "it has one table, [fields], and nothing outside it"),
        ("[fields]\n", "it declares 0 fields; declare 1 to 64"),
        (
            "[fields]\n" + "".join(f'f{n} = "date"\n' for n in range(MAX_FIELDS + 1)),
            "it declares 65 fields; declare 1 to 64",
        ),
        (
            '[fields]\nYear = "number"',
            "the field name 'Year' does not do; write lower-case letters, digits and '_', "
            "a letter first, at most 64",
        ),
        (
            '[fields]\ntitle = "keyword"',
            "the name 'title' is a document's own; choose another field name",
        ),
        ('[fields]\nyear = "int"', "year is of kind 'int'; the kinds are keyword, number, date"),
        ("[fields]\nyear = 7", "year is of kind 7; the kinds are keyword, number, date"),
        ("[fields]\nyear = [", "it is no TOML: Invalid value (at end of document)"),
    ],
)
def test_a_bad_schema_is_one_sentence(text: str, problem: str) -> None:
    with pytest.raises(MetadataError) as caught:
        parse_schema(text, "fields.toml")
    assert caught.value.code == "bad_schema"
    assert str(caught.value) == f"The metadata schema fields.toml cannot be used: {problem}."


@given(
    st.text()
    | st.lists(
        st.sampled_from(("[fields]\n", "a", "=", '"date"', "\n", "[", "9" * 5000, "{a="))
    ).map("".join)
    | st.just("[fields]\na = " + "[" * 5000)
)
def test_any_text_is_a_schema_or_its_error(text: str) -> None:
    with suppress(MetadataError):
        assert 1 <= len(parse_schema(text, "x").fields) <= MAX_FIELDS


# --- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("keyword", " As it IS ", " As it IS "),
        ("keyword", "é" * 256, "é" * 256),
        ("keyword", True, "true"),
        ("keyword", 42, "42"),
        ("number", 2020, 2020.0),
        ("number", " 2020 ", 2020.0),
        ("number", "-1.5e3", -1500.0),
        ("number", ".5", 0.5),
        ("number", -0.0, 0.0),
        ("number", 2**53, 9007199254740992.0),
        ("date", "2024-05-14", "2024-05-14T00:00:00Z"),
        ("date", "2024-02", "2024-02-01T00:00:00Z"),
        ("date", " 2024 ", "2024-01-01T00:00:00Z"),
        ("date", "2024-05-14T10:30+02:00", "2024-05-14T08:30:00Z"),
        ("date", "2024-05-14t10:30:59.999z", "2024-05-14T10:30:59Z"),
        ("date", "2024-01-01 00:30:00+0100", "2023-12-31T23:30:00Z"),
    ],
)
def test_what_a_value_becomes(kind: FieldKind, value: object, expected: Value) -> None:
    found = normalised(kind, value)
    assert found == expected
    assert repr(found) == repr(expected)  # one zero, and a float for every number


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("keyword", ""),
        ("keyword", " \t"),
        ("keyword", "a\0b"),
        ("keyword", "\ud800"),
        ("keyword", "é" * 257),
        ("keyword", 1.5),
        ("keyword", None),
        ("keyword", {"a": 1}),
        ("keyword", 2**53 + 1),
        pytest.param("keyword", 10**5000, id="keyword-huge"),
        ("number", True),
        ("number", "1e999"),
        ("number", float("nan")),
        ("number", float("inf")),
        ("number", "nan"),
        ("number", "1_000"),
        ("number", "1,5"),
        ("number", "٣"),
        ("number", 2**53 + 1),
        ("number", "-9007199254740993"),
        ("number", "9" * 5000),
        pytest.param("number", 10**5000, id="number-huge"),
        ("number", [1]),
        ("date", 2024),
        ("date", "24-05-14"),
        ("date", "20240514"),
        ("date", "2024-13"),
        ("date", "2023-02-29"),
        ("date", "0000"),
        ("date", "2024-05-14T10:30:00"),
        ("date", "2024-05-14T24:00Z"),
        ("date", "2024-05-14T10:30:60Z"),
        ("date", "0001-01-01T00:00:00+01:00"),
        ("date", "9999-12-31T23:59:59-01:00"),
        ("date", "2024-05-14T10:30:00+99:99"),
        ("date", "14 May 2024"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(kind: FieldKind, value: object) -> None:
    with pytest.raises(MetadataError) as caught:
        normalised(kind, value)
    assert caught.value.code == "bad_value"
    assert caught.value.message.endswith(".")
    assert len(caught.value.message) < 200


@given(
    seconds,
    st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
def test_a_time_is_kept_in_utc(moment: datetime, zone: timezone) -> None:
    local = moment.replace(tzinfo=zone)
    try:
        expected = local.astimezone(UTC)
    except OverflowError:
        assume(False)
    kept = normalised("date", local.isoformat())
    assert isinstance(kept, str)
    assert datetime.fromisoformat(kept) == expected.replace(microsecond=0)


@given(moments, periods)
def test_a_period_is_the_times_that_begin_with_it(moment: str, date: str) -> None:
    first, last = period(date)
    assert (first <= moment <= last) == moment.startswith(date)
    assert first.startswith(date)
    assert last.startswith(date)


# --- documents ----------------------------------------------------------------------------------


def test_declared_fields_are_indexed_and_others_left_out() -> None:
    metadata = {
        "kind": ["report", "b", "report", None, " "],
        "year": "2020",
        "published": "",
        "author": object(),
    }
    assert indexed_metadata(metadata, SCHEMA) == {"year": (2020.0,), "kind": ("report", "b")}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"year": ["2020", "MMXX"]},
            "In the field year: The value 'MMXX' is no finite number; "
            "write one in decimal, as 2020 or -1.5.",
        ),
        (
            {"kind": {"a": 1}},
            "In the field kind: The value {'a': 1} is no text; "
            "a keyword is a text, an integer, true or false.",
        ),
        (
            {"year": list(range(MAX_VALUES + 1))},
            "The field year has 65 values; at most 64 are indexed.",
        ),
    ],
)
def test_a_document_that_does_not_fit_names_the_field(
    metadata: dict[str, object], message: str
) -> None:
    with pytest.raises(MetadataError) as caught:
        indexed_metadata(metadata, SCHEMA)
    assert (caught.value.code, str(caught.value)) == ("bad_value", message)


# --- filters and sorts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year>=2020", Filter("year", ">=", (2020.0,))),
        (" year  <  1e3 ", Filter("year", "<", (1000.0,))),
        ("year=2020, 2021,2020", Filter("year", "=", (2020.0, 2021.0))),
        ("kind=report", Filter("kind", "=", ("report",))),
        ("kind!=a b ,c", Filter("kind", "!=", ("a b", "c"))),
        ('kind="a, \\"b\\" \\\\", x"y', Filter("kind", "=", ('a, "b" \\', 'x"y'))),
        ('year="2020"', Filter("year", "=", (2020.0,))),
        ("published=2024-05", Filter("published", "=", ("2024-05",))),
        ("published!=2024", Filter("published", "!=", ("2024",))),
        ("published<2024-05", Filter("published", "<", ("2024-05-01T00:00:00Z",))),
        ("published>=2024", Filter("published", ">=", ("2024-01-01T00:00:00Z",))),
        ("published<=2024-02", Filter("published", "<=", ("2024-02-29T23:59:59Z",))),
        ("published>2024-05-14", Filter("published", ">", ("2024-05-14T23:59:59Z",))),
        ("published>9999", Filter("published", ">", ("9999-12-31T23:59:59Z",))),
        (
            "published=2024-05-14T10:30+02:00",
            Filter("published", "=", ("2024-05-14T08:30:00Z",)),
        ),
    ],
)
def test_what_a_filter_says(text: str, expected: Filter) -> None:
    assert parse_filter(text, SCHEMA) == expected


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "yaer>=2020",
            "unknown_metadata_field",
            "There is no metadata field 'yaer'; "
            "the fields are year (number), published (date), kind (keyword).",
        ),
        (
            "year: 2020",
            "bad_filter",
            "The filter 'year: 2020' cannot be read: write FIELD OPERATOR VALUE, as year>=2020; "
            "the fields are year (number), published (date), kind (keyword).",
        ),
        (
            "year==2020",
            "bad_filter",
            "The filter 'year==2020' cannot be read: a value was expected at '=2020'; "
            'quote one with special characters: "a, b".',
        ),
        (
            "kind>a",
            "bad_filter",
            "The filter 'kind>a' cannot be read: "
            "kind is a keyword field and is compared with = and != only.",
        ),
        (
            "year<1,2",
            "bad_filter",
            "The filter 'year<1,2' cannot be read: < takes one value.",
        ),
        (
            "year>=new",
            "bad_filter",
            "The filter 'year>=new' cannot be read: the value 'new' is no finite number; "
            "write one in decimal, as 2020 or -1.5.",
        ),
        (
            "kind=" + ",".join(f"k{n}" for n in range(MAX_VALUES + 1)),
            "bad_filter",
            "The filter 'kind=k0,k1,k2,k3,k4,k5,k6,k7,k8,k9,k10,k11,k12,k13,k14,k15,…' "
            "cannot be read: it names 65 values; at most 64 are allowed.",
        ),
    ],
)
def test_a_bad_filter_is_one_sentence(text: str, code: str, message: str) -> None:
    with pytest.raises(MetadataError) as caught:
        parse_filter(text, SCHEMA)
    assert (caught.value.code, str(caught.value)) == (code, message)


@pytest.mark.parametrize(
    "text",
    [
        "", "=", "year", "year>=", "kind=", "kind=,a", "kind=a,", 'kind="a', 'kind="a"b', 'kind=""',
        "year=>1", "Year=1", "content=x", "year=1 2", "kind=" + "x" * 70_000,
    ],
)  # fmt: skip
def test_other_bad_filters(text: str) -> None:
    with pytest.raises(MetadataError) as caught:
        parse_filter(text, SCHEMA)
    assert len(caught.value.message) < 400


def test_without_fields_the_message_says_how_to_get_them() -> None:
    with pytest.raises(MetadataError) as caught:
        parse_filter("year>1", MetadataSchema({}))
    assert str(caught.value) == (
        "There is no metadata field 'year'; this index has none: "
        "declare fields in a schema file and ingest into a new folder."
    )


def test_of_many_fields_the_nearest_are_named() -> None:
    numbered: dict[str, FieldKind] = {f"field_{n}": "number" for n in range(20)}
    schema = MetadataSchema(numbered | {"author": "keyword"})
    with pytest.raises(MetadataError) as caught:
        parse_filter("autor=x", schema)
    assert "of 21 fields the nearest are author (keyword), field_" in str(caught.value)


@given(filters)
def test_the_printed_filter_reads_as_the_same_filter(condition: Filter) -> None:
    assert parse_filter(filter_text(condition), SCHEMA) == condition


@given(
    st.text()
    | st.lists(st.sampled_from(("kind", "year", "=", ">", '"', ",", "\\", " ", "a", "1"))).map(
        "".join
    )
)
def test_any_text_is_a_filter_that_prints_or_its_error(text: str) -> None:
    with suppress(MetadataError):
        condition = parse_filter(text, SCHEMA)
        assert parse_filter(filter_text(condition), SCHEMA) == condition


def _holds(operator: Operator, stored: str, value: str) -> bool:
    """Apply the relation that `Filter` documents to one stored date."""
    relations = {
        "=": stored.startswith(value),
        "!=": not stored.startswith(value),
        "<": stored < value,
        "<=": stored <= value,
        ">": stored > value,
        ">=": stored >= value,
    }
    return relations[operator]


@given(moments, periods, st.sampled_from(("=", "!=", "<", "<=", ">", ">=")))
def test_a_date_filter_compares_with_the_whole_period(
    moment: str, date: str, operator: Operator
) -> None:
    [value] = parse_filter(f"published{operator}{date}", SCHEMA).values
    assert isinstance(value, str)
    # Cut to the precision that was written, both are plain dates or times.
    rough = moment[: len(date)]
    expected = {
        "=": rough == date,
        "!=": rough != date,
        "<": rough < date,
        "<=": rough <= date,
        ">": rough > date,
        ">=": rough >= date,
    }
    assert _holds(operator, moment, value) == expected[operator]


def test_what_a_sort_says() -> None:
    assert parse_sort("published", SCHEMA) == Sort("published", descending=True)
    assert parse_sort(" -year ", SCHEMA) == Sort("year", descending=False)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("kind", "bad_sort", "kind is a keyword field; sort by a number or date field."),
        (
            "--year",
            "unknown_metadata_field",
            "There is no metadata field '-year'; "
            "the fields are year (number), published (date), kind (keyword).",
        ),
        (
            "",
            "unknown_metadata_field",
            "There is no metadata field ''; "
            "the fields are year (number), kind (keyword), published (date).",
        ),
    ],
)
def test_a_bad_sort_is_one_sentence(text: str, code: str, message: str) -> None:
    with pytest.raises(MetadataError) as caught:
        parse_sort(text, SCHEMA)
    assert (caught.value.code, str(caught.value)) == (code, message)
