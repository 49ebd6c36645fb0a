"""Wording of every error of the language: one function per kind of mistake.

Kept apart from lexer and parser so that a sentence can be changed without touching either.
"""

from __future__ import annotations

from logicalrag.query.errors import ExpressionError
from logicalrag.query.limits import Limits
from logicalrag.query.nodes import FIELDS

_SHOWN_CODE_POINTS = 40
_FIELDS_NAMED = " and ".join(FIELDS)
_OPERATOR_WORDS = ("AND", "OR", "NOT")


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CODE_POINTS else text[: _SHOWN_CODE_POINTS - 1] + "…"


def empty_expression(source: str) -> ExpressionError:
    """Return the error for a text of nothing but white space."""
    return ExpressionError(
        "empty_expression", "The expression is empty.", 0, 0, "Write at least one word.", source
    )


def empty_after_analysis(source: str) -> ExpressionError:
    """Return the error for a text without a single token."""
    return ExpressionError(
        "empty_after_analysis",
        "Nothing in the expression is a word: it holds no letter, number or underscore to "
        "search for.",
        0,
        len(source),
        "Write at least one word or number.",
        source,
    )


def bad_default_operator(source: str, value: object) -> ExpressionError:
    """Return the error for a default operator that is neither ``"OR"`` nor ``"AND"``."""
    shown = _shortened(value) if isinstance(value, str) else type(value).__name__
    return ExpressionError(
        "bad_default_operator",
        f"The default operator is {shown!r}, but it must be exactly 'OR' or 'AND'.",
        0,
        0,
        "Leave it out for OR.",
        source,
    )


def empty_group(source: str, start: int, end: int) -> ExpressionError:
    """Return the error for parentheses with nothing between them."""
    return ExpressionError(
        "empty_group",
        "There is nothing between these parentheses.",
        start,
        end,
        'Remove them or write a clause inside; quote a parenthesis that is meant: "()".',
        source,
    )


def unclosed_paren(source: str, position: int) -> ExpressionError:
    """Return the error for a group that is still open at the end."""
    return ExpressionError(
        "unclosed_paren",
        "This parenthesis is never closed.",
        position,
        position + 1,
        "Add ')' where the group ends, or write '\\(' for a literal parenthesis.",
        source,
    )


def unexpected_paren(source: str, position: int) -> ExpressionError:
    """Return the error for a closing parenthesis with no group open."""
    return ExpressionError(
        "unexpected_paren",
        "This parenthesis closes nothing.",
        position,
        position + 1,
        "Remove it, or write '\\)' for a literal parenthesis.",
        source,
    )


def unclosed_quote(source: str, position: int, closer: str) -> ExpressionError:
    """Return the error for a quote that is still open at the end."""
    return ExpressionError(
        "unclosed_quote",
        "This quote is never closed.",
        position,
        position + 1,
        f"Add {closer} where the phrase ends; only the same kind of quote closes it.",
        source,
    )


def missing_operand(source: str, start: int, end: int, after: str, found: str) -> ExpressionError:
    """Return the error for an operator or field without its clause.

    Args:
        after: what stands before the gap: an operator as written, or "".
        found: what stands there instead; "" at the end of the text.
    """
    where = f"after {after!r}" if after else "here"
    what = f"but {found!r} was found" if found else "but the expression ends"
    word = found if found in _OPERATOR_WORDS or not after else after
    if word not in _OPERATOR_WORDS:
        word = "OR"
    return ExpressionError(
        "missing_operand",
        f"A clause was expected {where}, {what}.",
        start,
        end,
        "Write a word, a quote or a group there; AND, OR and NOT in capitals are operators, "
        f'so quote one that is meant as a word: "{word}".',
        source,
    )


def field_without_clause(
    source: str, start: int, end: int, name: str, found: str
) -> ExpressionError:
    """Return the error for a field that no clause follows, or a NOT."""
    negated = found in ("NOT", "!", "-")
    what = f"but {found!r} was found" if found else "but the expression ends"
    return ExpressionError(
        "missing_operand",
        f"A clause was expected after '{name}:', {what}.",
        start,
        end,
        f"Negate before the field: NOT {name}:word."
        if negated
        else f'Write a word, a quote or a group after the colon: {name}:word, {name}:"two words"; '
        'quote a word that is written like an operator: "NOT".',
        source,
    )


def unknown_field(source: str, start: int, end: int, name: str) -> ExpressionError:
    """Return the error for a name before a colon that is no field."""
    shown = _shortened(name)
    known = name.lower()
    hint = f'If the colon is part of the text, quote it: "{shown}:…".'
    if known in FIELDS:
        hint = f"Field names are case-sensitive: write {known}:. " + hint
    return ExpressionError(
        "unknown_field",
        f"There is no field {shown!r}; the fields are {_FIELDS_NAMED}.",
        start,
        end,
        hint,
        source,
    )


def nested_field(source: str, start: int, end: int, name: str, outer: str) -> ExpressionError:
    """Return the error for a field inside the scope of another one (or of itself)."""
    return ExpressionError(
        "nested_field",
        f"The field {name!r} stands inside the scope of the field {outer!r}.",
        start,
        end,
        f"Give each clause its own field: {outer}:word AND {name}:word.",
        source,
    )


def bad_boost(source: str, start: int, end: int) -> ExpressionError:
    """Return the error for a ``^`` that is no boost."""
    return ExpressionError(
        "bad_boost",
        "This '^' is no boost: a boost stands directly after its clause and is a plain decimal "
        "from 0 to 1000, followed by white space, a bracket or a quote.",
        start,
        end,
        "Write for example word^2 or (a OR b)^0.5, or '\\^' for a literal '^'.",
        source,
    )


def wildcard(source: str, position: int) -> ExpressionError:
    """Return the error for ``*``, or ``?`` inside a word."""
    return ExpressionError(
        "wildcard_not_allowed",
        f"Wildcards are not supported: {source[position]!r} cannot stand for other characters.",
        position,
        position + 1,
        "A bare word already matches its inflections; list other forms: (form1 OR form2).",
        source,
    )


def unsupported_operator(source: str, position: int, hint: str) -> ExpressionError:
    """Return the error for a character that is an operator in other query languages only."""
    return ExpressionError(
        "unsupported_operator",
        f"The operator {source[position]!r} is not part of this language.",
        position,
        position + 1,
        hint,
        source,
    )


def too_long(source: str, limits: Limits) -> ExpressionError:
    """Return the error for a text over the limit of code points."""
    return ExpressionError(
        "too_long",
        f"The expression has {len(source)} code points, and at most "
        f"{limits.code_points} are allowed.",
        limits.code_points,
        len(source),
        "Keep the words that tell most, or ask with several expressions.",
        source,
    )


def too_deep_groups(source: str, position: int, limits: Limits) -> ExpressionError:
    """Return the error for one open group too many."""
    return ExpressionError(
        "too_deep",
        f"More than {limits.open_groups} groups are open at this parenthesis.",
        position,
        position + 1,
        "Remove parentheses that are not needed.",
        source,
    )


def too_deep_tree(source: str, levels: int, limits: Limits) -> ExpressionError:
    """Return the error for a finished tree with too many levels."""
    return ExpressionError(
        "too_deep",
        f"The expression has {levels} levels of AND, OR, NOT and boosted groups, and at most "
        f"{limits.levels} are allowed.",
        0,
        len(source),
        "Write it flatter, or ask with several expressions.",
        source,
    )


def too_many_clauses(source: str, start: int, end: int, limits: Limits) -> ExpressionError:
    """Return the error for the first clause over the limit."""
    return ExpressionError(
        "too_many_clauses",
        f"The expression has more than {limits.clauses} clauses.",
        start,
        end,
        "Keep the clauses that tell most, or ask with several expressions.",
        source,
    )
