"""One canonical text for every tree; parsing it gives the same tree."""

from __future__ import annotations

from logicalrag.query.nodes import And, Boosted, Field, Node, Not, Or, Phrase, Word
from logicalrag.query.visitor import fold


def canonical(node: Node) -> str:
    """Return the canonical text of `node`, for ``parse(text, "OR", canonical=True)``.

    Operators are explicit and every inner AND and OR stands in parentheses. Words are their
    tokens joined by ``-``, quotes their tokens joined by spaces, boosts as written. A field is
    printed once before a group all of whose leaves share it, otherwise before each leaf.
    """
    shared = _shared_fields(node)
    pieces: list[str] = []
    # Either text to add, or a node to print with the field whose scope it already stands in.
    pending: list[str | tuple[Node, Field | None, bool]] = [(node, None, True)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        current, scope, is_root = item
        if isinstance(current, Word | Phrase):
            if current.field != scope:
                pieces.append(f"{current.field}:")
            pieces.append(_leaf_text(current))
        elif isinstance(current, Not):
            pieces.append("NOT ")
            pending.append((current.child, scope, False))
        else:
            field = shared[id(current)]
            opens_scope = field is not None and scope is None
            if opens_scope:
                pieces.append(f"{field}:")
                scope = field
            if isinstance(current, Boosted):
                pieces.append("(")
                pending.append(f")^{current.boost}")
                # The boosted group's own parentheses serve the AND or OR inside.
                pending.append((current.child, scope, True))
            else:
                if opens_scope or not is_root:
                    pieces.append("(")
                    pending.append(")")
                operator = " AND " if isinstance(current, And) else " OR "
                for index, child in enumerate(reversed(current.children)):
                    if index:
                        pending.append(operator)
                    pending.append((child, scope, False))
    return "".join(pieces)


def _leaf_text(leaf: Word | Phrase) -> str:
    text = "-".join(leaf.tokens) if isinstance(leaf, Word) else f'"{" ".join(leaf.tokens)}"'
    return text if leaf.boost is None else f"{text}^{leaf.boost}"


def _shared_fields(node: Node) -> dict[int, Field | None]:
    """Return, by identity of each group, the field of all its leaves; None where they differ."""
    shared: dict[int, Field | None] = {}

    def group(source: And | Or | Boosted, fields: list[Field | None]) -> Field | None:
        field = fields[0] if all(one == fields[0] for one in fields) else None
        shared[id(source)] = field
        return field

    fold(
        node,
        leaf=lambda leaf: leaf.field,
        conjunction=lambda source, fields: group(source, list(fields)),
        disjunction=lambda source, fields: group(source, list(fields)),
        negation=lambda _, field: field,
        boosted=lambda source, field: group(source, [field]),
    )
    return shared
