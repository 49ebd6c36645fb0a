"""Walking and rebuilding trees, without recursion: canonical trees may be thousands deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, assert_never

from logicalrag.query import shape
from logicalrag.query.nodes import And, Boosted, Leaf, Node, Not, Or, Phrase, Word

Result = TypeVar("Result")


def children_of(node: Node) -> tuple[Node, ...]:
    """Return the children of `node` from left to right; none for a leaf."""
    match node:
        case Word() | Phrase():
            return ()
        case And(children=children) | Or(children=children):
            return children
        case Not(child=child) | Boosted(child=child):
            return (child,)
        case _:
            assert_never(node)


def fold(
    node: Node,
    *,
    leaf: Callable[[Leaf], Result],
    conjunction: Callable[[And, Sequence[Result]], Result],
    disjunction: Callable[[Or, Sequence[Result]], Result],
    negation: Callable[[Not, Result], Result],
    boosted: Callable[[Boosted, Result], Result],
) -> Result:
    """Return what the function for the root's kind makes of its children's results.

    Every kind of node needs its function, so that a new kind cannot be forgotten. Children are
    visited before their parent, from left to right.
    """
    results: list[Result] = []
    pending: list[tuple[Node, bool]] = [(node, False)]
    while pending:
        current, is_ready = pending.pop()
        if isinstance(current, Word | Phrase):
            results.append(leaf(current))
        elif not is_ready:
            pending.append((current, True))
            pending.extend((child, False) for child in reversed(children_of(current)))
        elif isinstance(current, And | Or):
            count = len(current.children)
            folded = results[-count:]
            del results[-count:]
            if isinstance(current, And):
                results.append(conjunction(current, folded))
            else:
                results.append(disjunction(current, folded))
        elif isinstance(current, Not):
            results.append(negation(current, results.pop()))
        elif isinstance(current, Boosted):
            results.append(boosted(current, results.pop()))
        else:
            assert_never(current)
    return results[0]


def leaves(node: Node) -> Iterator[Leaf]:
    """Yield the leaves of `node` from left to right, as in the canonical text."""
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, Word | Phrase):
            yield current
        else:
            pending.extend(reversed(children_of(current)))


def signed_leaves(node: Node) -> Iterator[tuple[Leaf, bool]]:
    """Yield each leaf from left to right, with whether it stands under an even number of NOTs."""
    pending = [(node, True)]
    while pending:
        current, is_positive = pending.pop()
        if isinstance(current, Word | Phrase):
            yield current, is_positive
        else:
            sign = not is_positive if isinstance(current, Not) else is_positive
            pending.extend((child, sign) for child in reversed(children_of(current)))


def positive_leaves(node: Node) -> Iterator[Leaf]:
    """Yield the leaves under an even number of NOTs, from left to right."""
    return (leaf for leaf, is_positive in signed_leaves(node) if is_positive)


def map_leaves(node: Node, change: Callable[[Leaf, bool], Node]) -> Node:
    """Return a copy of `node` with every leaf replaced by ``change(leaf, is_positive)``.

    A leaf may become any tree; the shape that `nodes` promises is restored around it. Spans of
    what is not replaced are kept.
    """
    signs = iter([is_positive for _, is_positive in signed_leaves(node)])
    return fold(
        node,
        leaf=lambda leaf: change(leaf, next(signs)),
        conjunction=lambda source, children: shape.conjunction(children, source.span),
        disjunction=lambda source, children: shape.disjunction(children, source.span),
        negation=lambda source, child: shape.negation(child, source.span),
        boosted=lambda source, child: shape.boosted(child, source.boost, source.span),
    )


def depth(node: Node) -> int:
    """Return the levels of `node`: every And, Or, Not, Boosted and the leaf are one each."""
    deepest = 0
    pending = [(node, 1)]
    while pending:
        current, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((child, level + 1) for child in children_of(current))
    return deepest


def clause_count(node: Node) -> int:
    """Return the number of leaves of `node`."""
    return sum(1 for _ in leaves(node))
