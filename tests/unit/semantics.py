"""What a tree means over a few documents, as sets: the oracle of the language's own tests.

Kept apart from the engines' reference on purpose: two small readings of the same specification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from logicalrag.query.nodes import Leaf, Node, Phrase
from logicalrag.query.visitor import fold

Hits = frozenset[int]


@dataclass(frozen=True)
class Document:
    """The tokens of each field."""

    title: tuple[str, ...]
    content: tuple[str, ...]


def toy_stem(word: str) -> str:
    """Cut a plural's s: two words share a stem, and a stem is no word of its own in tests."""
    return word[:-1] if len(word) > 1 and word.endswith("s") else word


def hits(tree: Node, documents: Sequence[Document], stem: Callable[[str], str] = toy_stem) -> Hits:
    """Return the numbers of the `documents` that `tree` matches."""
    everything = frozenset(range(len(documents)))

    def leaf_hits(leaf: Leaf) -> Hits:
        return frozenset(
            number for number, document in enumerate(documents) if matches(leaf, document, stem)
        )

    return fold(
        tree,
        leaf=leaf_hits,
        conjunction=lambda _, parts: frozenset.intersection(*parts),
        disjunction=lambda _, parts: frozenset.union(*parts),
        negation=lambda _, part: everything - part,
        boosted=lambda _, part: part,
    )


def matches(leaf: Leaf, document: Document, stem: Callable[[str], str]) -> bool:
    """Return whether the tokens of `leaf` stand side by side in one of its fields."""
    form = (lambda token: token) if isinstance(leaf, Phrase) else stem
    wanted = [form(token) for token in leaf.tokens]
    for name, tokens in (("title", document.title), ("content", document.content)):
        if leaf.field in (None, name):
            forms = [form(token) for token in tokens]
            for start in range(len(forms) - len(wanted) + 1):
                if forms[start : start + len(wanted)] == wanted:
                    return True
    return False
