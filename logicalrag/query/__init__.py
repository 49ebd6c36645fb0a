"""The search expression language: text to tree, tree to text, and reasoning about trees.

Knows no engine. Start with `parse` and `canonical`; the shape of trees is told in `nodes`, errors
and notices in `errors`, the token rule that every engine shares in `tokens`.
"""

from __future__ import annotations

from logicalrag.query.errors import ExpressionError, Notice
from logicalrag.query.parser import Parsed, parse
from logicalrag.query.printer import canonical
from logicalrag.query.relaxation import weaker_than
from logicalrag.query.simplify import simplify

__all__ = ["ExpressionError", "Notice", "Parsed", "canonical", "parse", "simplify", "weaker_than"]
