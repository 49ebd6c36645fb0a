"""What can be wrong with an expression, as data: one error type, and notices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ErrorCode = Literal[
    "empty_expression",
    "empty_after_analysis",
    "bad_default_operator",
    "empty_group",
    "unclosed_paren",
    "unexpected_paren",
    "missing_operand",
    "unclosed_quote",
    "unknown_field",
    "nested_field",
    "bad_boost",
    "wildcard_not_allowed",
    "unsupported_operator",
    "too_long",
    "too_deep",
    "too_many_clauses",
]
NoticeCode = Literal[
    "lowercase_operator", "partial_field_scope", "dropped_clause", "unsupported_script"
]

_CONTEXT_CODE_POINTS = 60


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark on an accepted expression, at most one per code, in source order.

    Args:
        code: one of `NoticeCode`.
        message: one sentence for the author of the expression.
        position: code points before the place in the source.
        end: the end of the place, exclusive.
    """

    code: NoticeCode
    message: str
    position: int
    end: int


class ExpressionError(ValueError):
    """The only error that any expression text can raise.

    Args:
        code: one of `ErrorCode`.
        message: what is wrong, in one sentence.
        position: code points of the source before the place, as the specification's table says.
        end: end of the place, exclusive; at least `position`.
        hint: how to write it instead; empty where there is nothing to add.
        source: the expression as given, for `render`.
    """

    def __init__(
        self, code: ErrorCode, message: str, position: int, end: int, hint: str, source: str
    ) -> None:
        super().__init__(code, message, position, end, hint, source)
        self.code: ErrorCode = code
        self.message = message
        self.position = position
        self.end = end
        self.hint = hint
        self.source = source

    def __str__(self) -> str:
        return f"{self.message} (at {self.position})"

    def as_data(self) -> Mapping[str, str | int]:
        """Return ``code, message, position, end, hint``: the error's shape in every interface."""
        return {
            "code": self.code,
            "message": self.message,
            "position": self.position,
            "end": self.end,
            "hint": self.hint,
        }

    def render(self) -> str:
        """Return the line of the source around the place, with carets below it, and the hint."""
        start = max(0, self.position - _CONTEXT_CODE_POINTS)
        stop = min(len(self.source), self.position + _CONTEXT_CODE_POINTS)
        # Line breaks and controls would tear the carets from the text above them.
        shown = "".join(c if c.isprintable() else " " for c in self.source[start:stop])
        carets = max(1, min(self.end, stop) - self.position)
        lead = "…" if start else ""
        tail = "…" if stop < len(self.source) else ""
        lines = [
            f"{self.code}: {self.message}",
            f"  {lead}{shown}{tail}",
            "  " + " " * (len(lead) + self.position - start) + "^" * carets,
        ]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)
