"""Words of an expression that no visible passage holds: what feedback names and proofs rest on."""

from __future__ import annotations

from collections.abc import Sequence

from logicalrag.engines.protocol import MAX_TREES, SearchEngine, Visibility
from logicalrag.query.nodes import Leaf, Node, Phrase, Word
from logicalrag.query.visitor import positive_leaves


def asked_words(tree: Node) -> list[Leaf]:
    """Return the tree's positive words, each once, in order, as they are asked for.

    A clause of several words gives one leaf for each, of its kind (word or quote) and field.
    """
    words: dict[Leaf, None] = {}
    for leaf in positive_leaves(tree):
        kind = Phrase if isinstance(leaf, Phrase) else Word
        for token in leaf.tokens:
            words.setdefault(kind((token,), leaf.field))
    return list(words)


def without_hits(
    leaves: Sequence[Leaf], engine: SearchEngine, visibility: Visibility
) -> list[Leaf]:
    """Return those of `leaves` that match no visible passage, in order.

    Raises:
        EngineError: a count could not be had.
    """
    empty: list[Leaf] = []
    for begin in range(0, len(leaves), MAX_TREES):
        batch = leaves[begin : begin + MAX_TREES]
        counts = engine.count(batch, visibility).counts
        empty.extend(leaf for leaf, count in zip(batch, counts, strict=True) if not count.hits)
    return empty
