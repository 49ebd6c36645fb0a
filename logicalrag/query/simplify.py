"""A smaller tree with the same hits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from logicalrag.query.nodes import And, Leaf, Node, Not, Or, Phrase, Word
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import fold

_Kind = Literal["leaf", "and", "or", "not", "nothing", "everything"]


def simplify(node: Node) -> Node:
    """Return a tree with the hits of `node` on every index, never larger, often smaller.

    Scores may differ. What is done, until nothing changes any more:

    - boosts are dropped, nested ANDs and ORs flattened, double NOTs cancelled;
    - of equal children (whatever the order inside them) the first is kept;
    - absorption: ``a AND (a OR b)`` and ``a OR (a AND b)`` become ``a``, and of two groups the
      one whose children include all of the other's goes;
    - ``a AND NOT a`` swallows the whole AND, ``a OR NOT a`` the whole OR, and either vanishes
      from a group around it where something else remains;
    - De Morgan's laws where that leaves fewer nodes: ``NOT a AND NOT b`` becomes
      ``NOT (a OR b)``, ``NOT (NOT a OR b)`` becomes ``a AND NOT b``.

    The order of what remains is kept. Applying it twice changes nothing more.
    """
    text = canonical(node)
    while True:
        node = _Pass().run(node)
        simpler = canonical(node)
        if simpler == text:
            return node
        text = simpler


class _Pass:
    """One walk from the leaves to the root over numbered, shared parts.

    Equal parts get the same number. Besides the tree's own kinds there are ``nothing`` and
    ``everything``: a contradiction or tautology, with the part and its negation as witness.
    """

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._kinds: list[_Kind] = []
        self._children: list[tuple[int, ...]] = []
        self._nodes: list[Node] = []

    def run(self, node: Node) -> Node:
        root = fold(
            node,
            leaf=self._leaf,
            conjunction=lambda source, children: self._group("and", source, children),
            disjunction=lambda source, children: self._group("or", source, children),
            negation=lambda source, child: self._negation(child, source),
            boosted=lambda _, child: child,
        )
        return self._nodes[root]

    def _number(self, key: object, kind: _Kind, children: tuple[int, ...], node: Node) -> int:
        number = self._numbers.setdefault(key, len(self._kinds))
        if number == len(self._kinds):
            self._kinds.append(kind)
            self._children.append(children)
            self._nodes.append(node)
        return number

    def _leaf(self, leaf: Leaf) -> int:
        kind: type[Leaf] = Phrase if isinstance(leaf, Phrase) else Word
        plain = kind(leaf.tokens, leaf.field, None, leaf.span, leaf.written)
        return self._number(plain, "leaf", (), plain)

    def _negation(self, child: int, source: Node) -> int:
        kind = self._kinds[child]
        if kind == "not":
            return self._children[child][0]
        if kind == "nothing":
            return self._trivial("everything", self._children[child][0])
        if kind == "everything":
            return self._trivial("nothing", self._children[child][0])
        if kind in ("and", "or"):
            inner = self._children[child]
            negated = sum(self._kinds[one] == "not" for one in inner)
            if len(inner) - negated <= negated:
                opposite: Literal["and", "or"] = "or" if kind == "and" else "and"
                parts = [self._negation(one, self._nodes[one]) for one in inner]
                return self._group(opposite, source, parts)
        return self._number(("not", child), "not", (child,), Not(self._nodes[child], source.span))

    def _trivial(self, kind: Literal["nothing", "everything"], witness: int) -> int:
        node = self._nodes[witness]
        both = (node, Not(node, node.span))
        tree: Node = And(both, node.span) if kind == "nothing" else Or(both, node.span)
        return self._number((kind, witness), kind, (witness,), tree)

    def _group(self, kind: Literal["and", "or"], source: Node, operands: Sequence[int]) -> int:
        neutral, absorbing = (
            ("everything", "nothing") if kind == "and" else ("nothing", "everything")
        )
        children: dict[int, None] = {}  # a set that keeps the order
        spare: int | None = None
        for operand in operands:
            operand_kind = self._kinds[operand]
            if operand_kind == absorbing:
                return operand
            if operand_kind == neutral:
                spare = operand if spare is None else spare
            elif operand_kind == kind:
                children.update(dict.fromkeys(self._children[operand]))
            else:
                children[operand] = None
        if not children and spare is not None:
            return spare
        for child in children:
            if self._kinds[child] == "not" and self._children[child][0] in children:
                trivial: Literal["nothing", "everything"] = (
                    "nothing" if kind == "and" else "everything"
                )
                return self._trivial(trivial, self._children[child][0])
        kept = self._without_absorbed(kind, children)
        if len(kept) == 1:
            return kept[0]
        if all(self._kinds[child] == "not" for child in kept):
            opposite: Literal["and", "or"] = "or" if kind == "and" else "and"
            inner = self._group(opposite, source, [self._children[child][0] for child in kept])
            return self._negation(inner, source)
        nodes = tuple(self._nodes[child] for child in kept)
        tree: Node = And(nodes, source.span) if kind == "and" else Or(nodes, source.span)
        return self._number((kind, frozenset(kept)), kind, tuple(kept), tree)

    def _without_absorbed(self, kind: Literal["and", "or"], children: Iterable[int]) -> list[int]:
        """Drop each child that is a group of the other kind and holds all of a smaller sibling."""
        opposite = "or" if kind == "and" else "and"
        parts = {
            child: frozenset(self._children[child])
            if self._kinds[child] == opposite
            else frozenset((child,))
            for child in children
        }
        smallest: dict[int, list[frozenset[int]]] = {}
        kept: set[int] = set()
        for child in sorted(parts, key=lambda one: len(parts[one])):
            held = parts[child]
            # A part that is a subset has its first member among those held here.
            if any(other <= held for member in held for other in smallest.get(member, ())):
                continue
            smallest.setdefault(min(held), []).append(held)
            kept.add(child)
        return [child for child in parts if child in kept]
