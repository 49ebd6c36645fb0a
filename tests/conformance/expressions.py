"""Random expressions whose words, phrases and fields come from the documents they search."""

from __future__ import annotations

import random
from collections.abc import Sequence

from logicalrag.engines.protocol import Passage, SearchEngine
from logicalrag.engines.reference_tokens import tokenize
from logicalrag.query.nodes import FIELDS, And, Boosted, Field, Leaf, Node, Not, Or, Phrase, Word
from tests.conformance.documents import EVERYONE

MAX_DEPTH = 6
_BOOSTS = ("0", "2", ".5", "0.05", "3.25", "1000")
_ABSENT = ("zyzzyva", "qwxk", "unfindable")
# Of ten expressions, this many are drawn again until something matches.
_SHARE_TO_MATCH = 0.75
_ATTEMPTS = 40


class Expressions:
    """An endless supply of legal trees over the passages of one engine's default tenant.

    Most leaves of a tree come from one passage, so that conjunctions have a chance; a tree that
    matches every passage is never given.
    """

    def __init__(self, random_: random.Random, passages: Sequence[Passage], oracle: SearchEngine):
        self._random = random_
        self._passages = [passage for passage in passages if tokenize(passage.text)]
        self._oracle = oracle

    def draw(self) -> Node:
        """Return one tree of at most `MAX_DEPTH` operators above each other."""
        to_match = self._random.random() < _SHARE_TO_MATCH
        for _ in range(_ATTEMPTS):
            near = self._random.choice(self._passages)
            tree = self._tree(self._random.randint(0, MAX_DEPTH), near)
            result = self._oracle.count([tree], EVERYONE)
            hits = result.counts[0].hits
            if hits < result.visible and (hits > 0 or not to_match):
                return tree
        return Word(_ABSENT[:1])

    def _tree(self, depth: int, near: Passage) -> Node:
        chance = self._random.random()
        if depth == 0 or chance < 0.15:
            return self._leaf(near)
        if chance < 0.3:
            return _negated(self._tree(depth - 1, near))
        if chance < 0.4:
            return _boosted(self._tree(depth - 1, near), self._random.choice(_BOOSTS))
        children = [
            self._tree(self._random.randint(0, depth - 1), near)
            for _ in range(self._random.randint(2, 4))
        ]
        return _joined(And if chance < 0.7 else Or, children)

    def _leaf(self, near: Passage) -> Leaf:
        passage = near if self._random.random() < 0.7 else self._random.choice(self._passages)
        home: Field = "title" if self._random.random() < 0.25 else "content"
        words = tokenize(passage.title if home == "title" else passage.text)
        if not words:
            home, words = "content", tokenize(passage.text)
        quoted = self._random.random() < 0.4
        longest = 4 if quoted else self._random.choice((1, 1, 1, 2, 3))
        start = self._random.randrange(len(words))
        tokens = words[start : start + self._random.randint(1, longest)]
        if self._random.random() < 0.05:
            tokens[-1] = self._random.choice(_ABSENT)
        elif self._random.random() < 0.1:
            self._random.shuffle(tokens)
        elif self._random.random() < 0.2 and tokens[-1].isascii() and len(tokens[-1]) < 60:
            tokens[-1] += self._random.choice(("s", "ing", "ed"))
        scope: Field | None = self._random.choice((None, None, home, *FIELDS))
        boost = self._random.choice(_BOOSTS) if self._random.random() < 0.2 else None
        kind = Phrase if quoted else Word
        return kind(tuple(tokens), scope, boost)


def _negated(tree: Node) -> Node:
    return tree.child if isinstance(tree, Not) else Not(tree)


def _boosted(tree: Node, boost: str) -> Node:
    unboosted = isinstance(tree, Word | Phrase) and tree.boost is None
    return tree if unboosted else Boosted(tree, boost)


def _joined(kind: type[And] | type[Or], children: Sequence[Node]) -> Node:
    flat: list[Node] = []
    for child in children:
        flat += child.children if isinstance(child, And | Or) and type(child) is kind else [child]
    return kind(tuple(flat))


def parts(tree: Node) -> list[Node]:
    """Return the tree and every tree inside it, smallest last."""
    match tree:
        case Word() | Phrase():
            return [tree]
        case And() | Or():
            return [tree, *(part for child in tree.children for part in parts(child))]
        case Not() | Boosted():
            return [tree, *parts(tree.child)]
