"""The tree of a search expression: what the parser builds and every engine executes.

Shape, guaranteed for every tree that `parser.parse` returns:

- `And` and `Or` have at least two children and no child of their own kind (flattened);
- `Not` never holds a `Not` (double negation is cancelled);
- `Boosted` holds anything but an unboosted leaf (a leaf carries its own boost);
- a field scope has been pushed down to the leaves; ``field is None`` means title or content.

Nodes are immutable values. Source spans, texts and the order of operands are kept, but spans and
texts take no part in equality, so the tree of a printed expression equals the tree that was
printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as declared
from typing import Literal

Field = Literal["title", "content"]
FIELDS: tuple[Field, ...] = ("title", "content")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range ``[start, end)`` of code points in the source text."""

    start: int
    end: int


NO_SPAN = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Word:
    """A bare chunk: the stems of `tokens`, next to each other in this order, in one field.

    Args:
        tokens: at least one token (lower case, folded, unstemmed); more than one where the token
            rule splits the chunk (``ADR-016`` is ``("adr", "016")``).
        field: the field it is confined to, or None for title or content.
        boost: the boost's text as written (``"2"``, ``".5"``), or None.
        span: where the clause stands in the source.
        written: the chunk or what stands in the quotes, for an engine that does not use the token
            rule; empty where no source had it.
    """

    tokens: tuple[str, ...]
    field: Field | None = None
    boost: str | None = None
    span: Span = declared(default=NO_SPAN, compare=False)
    written: str = declared(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A quote: exactly these unstemmed `tokens`, next to each other in this order, in one field.

    Arguments as for `Word`.
    """

    tokens: tuple[str, ...]
    field: Field | None = None
    boost: str | None = None
    span: Span = declared(default=NO_SPAN, compare=False)
    written: str = declared(default="", compare=False)


@dataclass(frozen=True, slots=True)
class And:
    """The intersection of at least two children."""

    children: tuple[Node, ...]
    span: Span = declared(default=NO_SPAN, compare=False)


@dataclass(frozen=True, slots=True)
class Or:
    """The union of at least two children."""

    children: tuple[Node, ...]
    span: Span = declared(default=NO_SPAN, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """The complement of `child` in what the caller may see."""

    child: Node
    span: Span = declared(default=NO_SPAN, compare=False)


@dataclass(frozen=True, slots=True)
class Boosted:
    """A group whose score is multiplied by `boost`; its hits are those of `child`."""

    child: Node
    boost: str
    span: Span = declared(default=NO_SPAN, compare=False)


Leaf = Word | Phrase
Node = Word | Phrase | And | Or | Not | Boosted
