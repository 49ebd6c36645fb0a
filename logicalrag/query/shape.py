"""Constructors that keep the shape `nodes` promises: flattened, no double NOT, no idle group."""

from __future__ import annotations

from collections.abc import Sequence

from logicalrag.query.nodes import And, Boosted, Node, Not, Or, Phrase, Span, Word


def conjunction(operands: Sequence[Node], span: Span | None = None) -> Node:
    """Return the intersection of one or more `operands`; nested `And`s are flattened.

    Args:
        span: place in the source; from the first to the last operand where not given.

    Raises:
        ValueError: no operand.
    """
    if len(operands) == 1:
        return operands[0]
    children: list[Node] = []
    for operand in operands:
        if type(operand) is And:
            children.extend(operand.children)
        else:
            children.append(operand)
    return And(tuple(children), span or covering(operands))


def disjunction(operands: Sequence[Node], span: Span | None = None) -> Node:
    """Return the union of one or more `operands`; nested `Or`s are flattened.

    Arguments and errors as for `conjunction`.
    """
    if len(operands) == 1:
        return operands[0]
    children: list[Node] = []
    for operand in operands:
        if type(operand) is Or:
            children.extend(operand.children)
        else:
            children.append(operand)
    return Or(tuple(children), span or covering(operands))


def negation(operand: Node, span: Span | None = None) -> Node:
    """Return the complement of `operand`; two NOTs cancel each other."""
    if type(operand) is Not:
        return operand.child
    return Not(operand, span or operand.span)


def boosted(operand: Node, boost: str, span: Span | None = None) -> Node:
    """Return `operand` as a group with a boost; a leaf without one carries it itself."""
    if isinstance(operand, Word | Phrase) and operand.boost is None:
        return type(operand)(operand.tokens, operand.field, boost, span or operand.span)
    return Boosted(operand, boost, span or operand.span)


def covering(nodes: Sequence[Node]) -> Span:
    """Return the smallest span that covers those of one or more `nodes`."""
    if not nodes:
        raise ValueError("at least one node is needed")
    first = nodes[0].span
    start, end = first.start, first.end
    for node in nodes:
        span = node.span
        if span.start < start:
            start = span.start
        if span.end > end:
            end = span.end
    return Span(start, end)
