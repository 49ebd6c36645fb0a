"""Which error is reported, where, and which of several comes first."""

from __future__ import annotations

import time

import pytest

from logicalrag.query.errors import ExpressionError
from logicalrag.query.parser import parse

FULL = "a " * 512  # as many clauses as there may be


def error_of(expression: str, default_operator: str = "OR") -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse(expression, default_operator)
    return caught.value


@pytest.mark.parametrize(
    ("expression", "code", "position", "end"),
    [
        # nothing there
        ("", "empty_expression", 0, 0),
        (" \t\u3000\n", "empty_expression", 0, 0),
        ("...", "empty_after_analysis", 0, 3),
        ('"!!!" ("?")', "empty_after_analysis", 0, 11),
        ("(-)", "empty_after_analysis", 0, 3),
        ("\u200b", "empty_after_analysis", 0, 1),
        ('NOT title:"!!!"^2', "empty_after_analysis", 0, 17),
        # parentheses
        ("()", "empty_group", 0, 2),
        ("a ( )", "empty_group", 2, 5),
        ("NOT ()", "empty_group", 4, 6),
        ("title:()", "empty_group", 6, 8),
        ("（）", "empty_group", 0, 2),
        ("()^x", "empty_group", 0, 2),
        ("(", "unclosed_paren", 0, 1),
        ("(a (b", "unclosed_paren", 3, 4),
        ("((a) b", "unclosed_paren", 0, 1),
        ("a AND (", "unclosed_paren", 6, 7),
        ('("!!!"', "unclosed_paren", 0, 1),
        (")", "unexpected_paren", 0, 1),
        ("- )", "unexpected_paren", 2, 3),
        ("(a)) b", "unexpected_paren", 3, 4),
        ("a)^x", "unexpected_paren", 1, 2),
        ("a)~", "unexpected_paren", 1, 2),
        # operands
        ("AND a", "missing_operand", 0, 3),
        ("  OR a", "missing_operand", 2, 4),
        ("a AND", "missing_operand", 5, 5),
        ("a AND   ", "missing_operand", 5, 5),
        ("a AND OR b", "missing_operand", 6, 8),
        ("a && && b", "missing_operand", 5, 7),
        ("a||||b", "missing_operand", 3, 5),
        ("a NOT AND b", "missing_operand", 6, 9),
        ("a AND -", "missing_operand", 7, 7),
        ("a AND ... OR b", "missing_operand", 10, 12),
        ("NOT", "missing_operand", 3, 3),
        ("READY OR NOT", "missing_operand", 12, 12),
        ("a OR )", "missing_operand", 5, 6),
        ("(a AND )", "missing_operand", 7, 8),
        ("(a AND", "missing_operand", 6, 6),
        ("(NOT)", "missing_operand", 4, 5),
        ("(AND)", "missing_operand", 1, 4),
        # quotes
        ('"a', "unclosed_quote", 0, 1),
        ('a AND ("b', "unclosed_quote", 7, 8),
        ('"a\\"', "unclosed_quote", 0, 1),
        ('“a"', "unclosed_quote", 0, 1),
        ("„a”", "unclosed_quote", 0, 1),
        ("«a“", "unclosed_quote", 0, 1),
        ('a"', "unclosed_quote", 1, 2),
        # fields
        ("foo:a", "unknown_field", 0, 3),
        ("a -foo:a", "unknown_field", 3, 6),
        ("Title:a", "unknown_field", 0, 5),
        (".title:a", "unknown_field", 0, 6),
        ("C++: a", "unknown_field", 0, 3),
        ("f\\oo:a", "unknown_field", 0, 4),
        ("NOT:a", "unknown_field", 0, 3),
        ("foo:", "unknown_field", 0, 3),
        ("foo:[1", "unknown_field", 0, 3),
        ("a：b", "unknown_field", 0, 1),
        ("Mission: Impossible", "unknown_field", 0, 7),
        ("title:foo:a", "unknown_field", 6, 9),
        ("title:(a 10:30)", "unknown_field", 9, 11),
        ("title:content:a", "nested_field", 6, 13),
        ("title:(a (title:b))", "nested_field", 10, 15),
        ("title:(content:[", "nested_field", 7, 14),
        ("title: NOT a", "missing_operand", 7, 10),
        ("title:-a", "missing_operand", 6, 7),
        ("title:--a", "missing_operand", 6, 7),
        ("title:AND a", "missing_operand", 6, 9),
        ("title:&& a", "missing_operand", 6, 8),
        ("title:", "missing_operand", 6, 6),
        ("title:  ", "missing_operand", 6, 6),
        ("(title:)", "missing_operand", 7, 8),
        # boosts
        ("a^", "bad_boost", 1, 2),
        ("^2", "bad_boost", 0, 2),
        ("a ^2", "bad_boost", 2, 4),
        ("title:^2", "bad_boost", 6, 8),
        ("...^2", "bad_boost", 3, 5),
        ("(^2)", "bad_boost", 1, 3),
        ("a^-1", "bad_boost", 1, 2),
        ("a^5.", "bad_boost", 1, 4),
        ("a^1e3", "bad_boost", 1, 3),
        ("a^٣", "bad_boost", 1, 2),
        ("a^1000.0000000000000000000000001", "bad_boost", 1, 32),
        ("a^1001", "bad_boost", 1, 6),
        ("a^99999999999999999999", "bad_boost", 1, 22),
        ("a^2^3", "bad_boost", 1, 3),
        ("(a)^2^3", "bad_boost", 3, 5),
        ('"a"^2b', "bad_boost", 3, 5),
        ("a^2*", "bad_boost", 1, 3),
        ("a^2:b", "bad_boost", 1, 3),
        ("(a) ^2", "bad_boost", 4, 6),
        ("a AND^", "bad_boost", 5, 6),
        # other languages
        ("*", "wildcard_not_allowed", 0, 1),
        ("alph*", "wildcard_not_allowed", 4, 5),
        ("title:*", "wildcard_not_allowed", 6, 7),
        ("a?b", "wildcard_not_allowed", 1, 2),
        ("a??b", "wildcard_not_allowed", 1, 2),
        ("-a?.-b", "wildcard_not_allowed", 2, 3),
        ("a?\\b", "wildcard_not_allowed", 1, 2),
        ("a?b*", "wildcard_not_allowed", 1, 2),
        ("a?*", "wildcard_not_allowed", 2, 3),
        ("/a*/", "wildcard_not_allowed", 2, 3),
        ("a?b:c", "wildcard_not_allowed", 1, 2),
        ("+a", "unsupported_operator", 0, 1),
        ("a (+b)", "unsupported_operator", 3, 4),
        ('"a"+b', "unsupported_operator", 3, 4),
        ("(a)+(b)", "unsupported_operator", 3, 4),
        ("title:+a", "unsupported_operator", 6, 7),
        ("/a/", "unsupported_operator", 0, 1),
        ("title:/a.b/ x", "unsupported_operator", 6, 7),
        ("a~", "unsupported_operator", 1, 2),
        ("a~2", "unsupported_operator", 1, 2),
        ('"a b"~2', "unsupported_operator", 5, 6),
        ("(a)~", "unsupported_operator", 3, 4),
        ("title:[a TO b]", "unsupported_operator", 6, 7),
        ("title:  >2", "unsupported_operator", 8, 9),
        ("title:{a", "unsupported_operator", 6, 7),
        ("title:<a", "unsupported_operator", 6, 7),
        # the earliest one wins
        ('a) "b', "unexpected_paren", 1, 2),
        ("(alph*", "wildcard_not_allowed", 5, 6),
        ("a AND AND b*", "missing_operand", 6, 9),
        ("a* AND AND", "wildcard_not_allowed", 1, 2),
        ('(a AND "b', "unclosed_quote", 7, 8),
        ("foo:bar:[ ^", "unknown_field", 0, 3),
        ("(" * 64 + "a*" + "(" * 9, "wildcard_not_allowed", 65, 66),
        ("(" * 70 + "a*", "too_deep", 64, 65),
        # clauses
        (FULL + "b", "too_many_clauses", 1024, 1025),
        (FULL + "b*", "too_many_clauses", 1024, 1025),
        (FULL + '"b', "too_many_clauses", 1024, 1025),
        (FULL + "foo:b", "too_many_clauses", 1024, 1027),
        (FULL + "title:b", "too_many_clauses", 1024, 1029),
        (FULL + "-b", "too_many_clauses", 1025, 1026),
        (FULL + "(b)", "too_many_clauses", 1025, 1026),
        (FULL + '"!!!"', "too_many_clauses", 1024, 1025),
        (FULL + "*", "wildcard_not_allowed", 1024, 1025),
        (FULL + "AND", "missing_operand", 1027, 1027),
        (FULL + ")", "unexpected_paren", 1024, 1025),
        ('"!" ' * 512 + "a", "too_many_clauses", 2048, 2049),
        # length, met only when reading gets there
        ("a" * 10_001, "too_long", 10_000, 10_001),
        (" " * 10_001, "too_long", 10_000, 10_001),
        ('"' + "a" * 10_000, "too_long", 10_000, 10_001),
        ("-" * 10_001, "too_long", 10_000, 10_001),
        ("a^" + "0" * 10_000, "too_long", 10_000, 10_002),
        (" " * 9_999 + "))", "unexpected_paren", 9_999, 10_000),
        (" " * 10_000 + ")", "too_long", 10_000, 10_001),
        (" " * 9_997 + "a^2b", "too_long", 10_000, 10_001),
        (" " * 9_996 + "a^2b ", "bad_boost", 9_997, 9_999),
        (" " * 9_997 + "a^2.5", "too_long", 10_000, 10_002),
        (" " * 9_997 + "AND ", "too_long", 10_000, 10_001),
        (" " * 9_996 + "foo:a", "unknown_field", 9_996, 9_999),
        (" " * 9_999 + "+a", "too_long", 10_000, 10_001),
        ("a" * 9_999 + "*" + "b", "wildcard_not_allowed", 9_999, 10_000),
        ("a) " + "b" * 20_000, "unexpected_paren", 1, 2),
        ("(a " + "b" * 20_000, "too_long", 10_000, 20_003),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_code_and_place(expression: str, code: str, position: int, end: int) -> None:
    error = error_of(expression)
    assert (error.code, error.position, error.end) == (code, position, end)


@pytest.mark.parametrize("value", ["XOR", "or", "and", "And", "", " OR", "NOT", None, 1, [], {}])
def test_the_default_operator_is_checked_first(value: object) -> None:
    for expression in ("a", "", "a)", "a" * 20_000):
        error = error_of(expression, value)  # type: ignore[arg-type]
        assert (error.code, error.position, error.end) == ("bad_default_operator", 0, 0)


def test_a_finished_tree_has_at_most_24_levels() -> None:
    def nested(groups: int) -> str:
        text = "a"
        for level in range(groups):
            text = f"({text} {('AND', 'OR')[level % 2]} b)"
        return text

    parse(nested(23))
    error = error_of(nested(24))
    assert (error.code, error.position) == ("too_deep", 0)
    # Boosted groups and NOTs are levels too, a boosted leaf is one level with its boost.
    parse("(" * 23 + "a^2" + ")^2" * 23)
    assert error_of("(" * 24 + "a^2" + ")^2" * 24).code == "too_deep"
    parse("(" * 24 + "a" + ")^2" * 24)
    assert error_of("(" * 25 + "a" + ")^2" * 25).code == "too_deep"
    parse("(NOT " * 11 + "(a)^2" + ")^2" * 11)
    assert error_of("(NOT " * 12 + "(a)^2" + ")^2" * 12).code == "too_deep"
    # Groups and chains that leave no trace in the tree are none.
    parse("(" * 64 + "NOT " * 1_000 + "a" + ")" * 64)


def test_the_deepest_error_of_the_text_precedes_that_of_the_tree() -> None:
    text = "a"
    for level in range(30):
        text = f"({text} {('AND', 'OR')[level % 2]} b)"
    assert error_of(text).code == "too_deep"
    assert error_of("(" + text).code == "unclosed_paren"


@pytest.mark.parametrize(
    ("expression", "sentence", "hint"),
    [
        ("READY OR NOT", "after 'NOT', but the expression ends", '"NOT"'),
        ("a OR AND b", "after 'OR', but 'AND' was found", '"AND"'),
        ("AND b", "expected here, but 'AND' was found", '"AND"'),
        ("title:NOT a", "after 'title:', but 'NOT' was found", "NOT title:word"),
        ("title:-a", "after 'title:', but '-' was found", "NOT title:word"),
        ("title:OR a", "after 'title:', but 'OR' was found", '"NOT"'),
        ("http://x.org", "no field 'http'; the fields are title and content", 'quote it: "http:'),
        ("TITLE:x", "no field 'TITLE'", "case-sensitive: write title:"),
        ("title:(content:x)", "'content' stands inside the scope of the field 'title'", "AND"),
        ("„a", "never closed", "Add “"),
        ("«a", "never closed", "Add »"),
        ("a" * 10_001, "has 10001 code points, and at most 10000", "several expressions"),
        ("(" * 65, "More than 64 groups", "Remove parentheses"),
        (FULL + "b", "more than 512 clauses", "several expressions"),
        ("(" * 25 + "a" + ")^2" * 25, "has 25 levels", "flatter"),
        ("a" * 100 + ":b", f"'{'a' * 39}…'", "quote it"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_the_message_says_what_is_wrong_and_the_hint_what_to_write(
    expression: str, sentence: str, hint: str
) -> None:
    error = error_of(expression)
    assert sentence in error.message
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(" * 12_000 + "a" + ")" * 12_000, "too_deep"),
        (" OR ".join(["a"] * 5_000), "too_many_clauses"),
        ("a" * 1_000_000, "too_long"),
        (" " * 1_000_000, "too_long"),
        ("NOT " * 250_000, "too_long"),
    ],
    ids=["parentheses", "clauses", "word", "space", "nots"],
)
def test_hostile_sizes_are_refused_at_once(text: str, code: str) -> None:
    begin = time.process_time()
    assert error_of(text).code == code
    assert time.process_time() - begin < 0.5  # ten times what is promised
