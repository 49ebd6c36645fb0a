"""Limits on trees, for whoever transforms one: they hold again after synonyms and splitting."""

from __future__ import annotations

from itertools import islice

from logicalrag.query import diagnostics
from logicalrag.query.limits import LIMITS, Limits
from logicalrag.query.nodes import Node
from logicalrag.query.visitor import depth, leaves


def check_limits(tree: Node, source: str = "", limits: Limits = LIMITS) -> None:
    """Refuse a tree that is too wide or too deep for the engines.

    Args:
        tree: any tree.
        source: the text it was made from, for the error's rendering.
        limits: only those of clauses and levels are checked.

    Raises:
        ExpressionError: ``too_many_clauses`` at the first leaf over the limit, or ``too_deep``
            at 0.
    """
    beyond = next(islice(leaves(tree), limits.clauses, None), None)
    if beyond is not None:
        raise diagnostics.too_many_clauses(source, beyond.span.start, beyond.span.end, limits)
    levels = depth(tree)
    if levels > limits.levels:
        raise diagnostics.too_deep_tree(source, levels, limits)
