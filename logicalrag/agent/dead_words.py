"""Words of an expression that no visible passage holds: what feedback names and proofs rest on."""

from __future__ import annotations

from collections.abc import Sequence

from logicalrag.agent.tools import Tools
from logicalrag.engines.metadata import Filter
from logicalrag.engines.protocol import MAX_TREES, Visibility
from logicalrag.query.nodes import Leaf, Node, Phrase, Word
from logicalrag.query.parser import Parsed
from logicalrag.query.visitor import positive_leaves


def asked_words(written: Node) -> list[Leaf]:
    """Return the positive words of a tree as written, each once, in order, as they are asked for.

    A clause of several words gives one leaf for each, of its kind (word or quote) and field.
    """
    words: dict[Leaf, None] = {}
    for leaf in positive_leaves(written):
        kind = Phrase if isinstance(leaf, Phrase) else Word
        for token in leaf.tokens:
            text = leaf.written if len(leaf.tokens) == 1 else ""
            words.setdefault(kind((token,), leaf.field, written=text))
    return list(words)


def without_hits(
    leaves: Sequence[Leaf],
    tools: Tools,
    visibility: Visibility,
    filters: Sequence[Filter] = (),
) -> list[Leaf]:
    """Return those of `leaves` that match no visible passage, synonyms included, in order.

    Raises:
        EngineError: a count could not be had.
    """
    empty: list[Leaf] = []
    for begin in range(0, len(leaves), MAX_TREES):
        batch = leaves[begin : begin + MAX_TREES]
        trees = [tools.expanded(Parsed(leaf, ())).tree for leaf in batch]
        counts = tools.engine.count(trees, visibility, filters=filters).counts
        empty.extend(leaf for leaf, count in zip(batch, counts, strict=True) if not count.hits)
    return empty
