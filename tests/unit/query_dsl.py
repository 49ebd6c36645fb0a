"""What a query of the Query DSL means over a few documents: matches and sums, spelt out.

Of a word or phrase every place counts 1, so that sums are exact and can be worked out by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

Query = Mapping[str, Any]
Fields = Mapping[str, Sequence[str]]
"""The terms of each index field of one document, in order."""

_BOOL = {"must", "filter", "should", "must_not", "minimum_should_match"}


def score(query: Query, document: Fields) -> float | None:
    """Return a document's score for a query; None where it does not match.

    Raises:
        AssertionError: the query has a part that we do not use.
    """
    query = orjson.loads(orjson.dumps(query))
    ((kind, body),) = query.items()
    match kind:
        case "match_all":
            return 1.0
        case "match_none":
            return None
        case "term" | "match_phrase":
            ((field, text),) = body.items()
            wanted = [text] if kind == "term" else text.split(" ")
            held = list(document.get(field, ()))
            places = sum(held[at : at + len(wanted)] == wanted for at in range(len(held)))
            return float(places) or None
        case "terms":
            ((field, terms),) = body.items()
            return 1.0 if set(document.get(field, ())).intersection(terms) else None
        case "dis_max":
            scores = [score(each, document) for each in body["queries"]]
            found = [each for each in scores if each is not None]
            return body["boost"] * max(found) if found else None
        case "bool":
            return _bool(body, document)
    raise AssertionError(f"unknown query {kind}")


def depth(query: Query) -> int:
    """Return how many queries of a query stand inside each other, as the server counts them."""
    query = orjson.loads(orjson.dumps(query))
    ((kind, body),) = query.items()
    inner: list[Query] = []
    if kind == "dis_max":
        inner = body["queries"]
    elif kind == "bool":
        inner = [each for part in body.values() if isinstance(part, list) for each in part]
    return 1 + max(map(depth, inner), default=0)


def _bool(body: Query, document: Fields) -> float | None:
    assert body.keys() <= _BOOL
    must = [score(each, document) for each in body.get("must", ())]
    should = [score(each, document) for each in body.get("should", ())]
    filters = [score(each, document) for each in body.get("filter", ())]
    excluded = [score(each, document) for each in body.get("must_not", ())]
    least = body.get("minimum_should_match", 0)
    # The server adds a clause here, or not, by the context: ours always say what they select.
    assert must or filters or least
    if None in must or None in filters or any(each is not None for each in excluded):
        return None
    found = [each for each in should if each is not None]
    if len(found) < least:
        return None
    return sum(each for each in (*must, *found) if each is not None)
