"""How large an expression may be, as one value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of an expression; each is checked as soon as reading or building reaches it.

    Args:
        code_points: of the source text; checked while reading.
        open_groups: parentheses open at once; checked while reading.
        clauses: words and quotes, dropped ones included; checked while reading and on trees.
        levels: of the finished tree, where AND, OR, NOT, a boosted group and a leaf are one each.

    Source: the table of errors in the specification of the query language.
    """

    code_points: int = 10_000
    open_groups: int = 64
    clauses: int = 512
    levels: int = 24


LIMITS = Limits()
_UNBOUNDED = 2**62
NO_LIMITS = Limits(_UNBOUNDED, _UNBOUNDED, _UNBOUNDED, _UNBOUNDED)
