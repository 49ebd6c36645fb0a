"""One tool for each action, its arguments taken from the action's own dataclass.

Strict mode takes a part of JSON Schema; what it does not take is moved into the descriptions by the
SDK (https://platform.claude.com/docs/en/build-with-claude/structured-outputs).
"""

from __future__ import annotations

from typing import Any

from anthropic import transform_schema
from pydantic import TypeAdapter

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Search

_PURPOSES = {
    Search: "Execute one search expression and show its best passages.",
    Count: "Count the hits of up to 32 expressions at once; shows no passage.",
    Read: "Show passages in full, with neighbours from the same document where wanted.",
    Answer: "End with an answer that rests on passages shown in this session.",
    Abstain: "End without an answer, because the passages do not hold it.",
}
_ARGUMENTS = {
    "expression": "What to search for.",
    "expressions": "What to count, each by itself.",
    "default_operator": "What joins clauses side by side: OR or AND.",
    "max_results": "How many passages to show.",
    "evidence_needed": "One sentence: what the passages must show. Needed in the first search or "
    "count, and whenever the need changes.",
    "filters": "Conditions on declared fields that must all hold.",
    "sort": "A declared date or number field to order by; - before it turns the order round.",
    "passage_ids": "Ids as shown in brackets.",
    "neighbours": "Passages of the same document to show before and after each.",
    "text": "The answer, in one to three sentences.",
    "cited": "Ids of the passages that the answer rests on; only ids that were shown.",
    "reason": "One sentence: what was looked for and not found.",
}
_ONLY_WITH_FIELDS = frozenset({"filters", "sort"})
_ONLY_WITH_OPERATORS = frozenset({"default_operator"})


def tool_definitions(*, operators: bool, fields: bool) -> list[dict[str, Any]]:
    """Return the tools as the Messages API takes them, always in the same order.

    Args:
        operators: whether the model is told of operators; else it cannot choose the default one.
        fields: whether there are declared fields to filter and sort by.
    """
    hidden: frozenset[str] = frozenset({"kind"})
    if not operators:
        hidden |= _ONLY_WITH_OPERATORS
    if not fields:
        hidden |= _ONLY_WITH_FIELDS
    return [
        {
            "name": action.__name__.lower(),
            "description": purpose,
            "strict": True,
            "input_schema": _schema(action, hidden),
        }
        for action, purpose in _PURPOSES.items()
    ]


def _schema(action: type, hidden: frozenset[str]) -> dict[str, Any]:
    schema = TypeAdapter(action).json_schema()
    properties = {
        name: {key: value for key, value in about.items() if key != "title"}
        | {"description": _ARGUMENTS[name]}
        for name, about in schema["properties"].items()
        if name not in hidden
    }
    required = schema.get("required", [])
    return transform_schema({"type": "object", "properties": properties, "required": required})
