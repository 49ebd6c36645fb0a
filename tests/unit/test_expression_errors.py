"""Errors and notices as data: rendering, pickling, message, fields."""

from __future__ import annotations

import copy
import pickle
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.query.errors import ErrorCode, ExpressionError, Notice
from logicalrag.query.parser import parse
from tests.unit.tree_strategies import texts

ONE_OF_EACH = {
    "empty_expression": ("", "OR"),
    "empty_after_analysis": ("...", "OR"),
    "bad_default_operator": ("a", "XOR"),
    "empty_group": ("()", "OR"),
    "unclosed_paren": ("(a", "OR"),
    "unexpected_paren": ("a)", "OR"),
    "missing_operand": ("a AND", "OR"),
    "unclosed_quote": ('"a', "OR"),
    "unknown_field": ("foo:a", "OR"),
    "nested_field": ("title:content:a", "OR"),
    "bad_boost": ("a^", "OR"),
    "wildcard_not_allowed": ("a*", "OR"),
    "unsupported_operator": ("a~", "OR"),
    "too_long": ("a" * 10_001, "OR"),
    "too_deep": ("(" * 65, "OR"),
    "too_many_clauses": ("a " * 513, "OR"),
}


def error_of(expression: str, default_operator: str = "OR") -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse(expression, default_operator)
    return caught.value


def refused(text: str) -> ExpressionError | None:
    try:
        parse(text)
    except ExpressionError as error:
        return error
    return None


def test_every_code_can_be_met() -> None:
    assert set(ONE_OF_EACH) == set(get_args(ErrorCode))


@pytest.mark.parametrize("code", ONE_OF_EACH)
def test_an_error_is_data(code: str) -> None:
    error = error_of(*ONE_OF_EACH[code])
    assert error.code == code
    assert error.as_data() == {
        "code": code,
        "message": error.message,
        "position": error.position,
        "end": error.end,
        "hint": error.hint,
    }
    # One sentence that says what is wrong, and a hint that says what to do.
    assert error.message.endswith(".")
    assert error.message[0].isupper()
    assert error.hint


@pytest.mark.parametrize("code", ONE_OF_EACH)
def test_an_error_survives_the_way_to_another_process(code: str) -> None:
    error = error_of(*ONE_OF_EACH[code])
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301
        assert type(twin) is ExpressionError
        assert (twin.as_data(), twin.source) == (error.as_data(), error.source)
        assert str(twin) == str(error)


def test_the_message_names_the_place() -> None:
    assert str(error_of("(a")) == "This parenthesis is never closed. (at 0)"


def test_carets_stand_below_the_place() -> None:
    assert error_of("alpha AND foo:beta").render().splitlines() == [
        "unknown_field: There is no field 'foo'; the fields are title and content.",
        "  alpha AND foo:beta",
        "            ^^^",
        'hint: If the colon is part of the text, quote it: "foo:…".',
    ]


def test_a_place_at_the_end_gets_one_caret() -> None:
    lines = error_of("alpha AND").render().splitlines()
    assert lines[1] == "  alpha AND"
    assert lines[2] == "           ^"


def test_a_long_expression_is_shown_around_the_place() -> None:
    lines = error_of("x " * 100 + "foo:a" + " y" * 100).render().splitlines()
    shown, carets = lines[1], lines[2]
    assert shown.startswith("  …")
    assert shown.endswith("…")
    assert len(shown) < 130
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "foo"


def test_line_breaks_do_not_tear_the_carets_off() -> None:
    lines = error_of("alpha\nAND\x00\u2028foo:beta").render().splitlines()
    assert lines[1] == "  alpha AND  foo:beta"
    assert lines[2].index("^") == lines[1].index("foo")


@given(texts | st.text(st.sampled_from('()"^* aé\n:'), max_size=200))
def test_any_error_can_be_rendered(text: str) -> None:
    error = refused(text)
    if error is not None:
        lines = error.render().split("\n")
        assert len(lines) == (4 if error.hint else 3)
        assert "^" in lines[2]
        assert len(lines[2]) <= len(lines[1]) + 1
        assert pickle.loads(pickle.dumps(error)).as_data() == error.as_data()  # noqa: S301


def test_a_notice_is_a_value() -> None:
    (notice,) = parse("a and b").notices
    assert notice == Notice("lowercase_operator", notice.message, 2, 5)
    assert notice.message == (
        "'and' is searched as a word; operators are written in capitals: AND."
    )
    assert pickle.loads(pickle.dumps(notice)) == notice  # noqa: S301
