"""Recorded expressions on an old and a new index: what a swap would change for those who ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.answers import answers_of, header, total
from logicalrag.engines.elastic.compiler import NOTHING, compile_scored
from logicalrag.engines.elastic.fields import Query
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.elastic.own_fields import OwnFields
from logicalrag.query.errors import ExpressionError
from logicalrag.query.parser import parse

MAX_EXPRESSIONS = 10_000
FIRST = 10
# Deleted passages count in scores until they are merged away, so that an old index ranks a little
# differently than a new one: a first passage of one is looked for among so many of the other.
_LOOKED_AT = 2 * FIRST
_TOGETHER = 16
_SHOWN_CODE_POINTS = 60


class ExpressionFileError(ValueError):
    """A file of recorded expressions cannot be used; its text says where and why."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One expression on both indices, whoever may see the passages.

    Args:
        expression: as recorded.
        old_hits, new_hits: exact counts.
        old_first, new_first: ids of the first ten passages, best first.
        drift: 0.0 to 1.0. 1.0 where the counts differ; else the share of the first ten of either
            index that are not among the first twenty of the other.
    """

    expression: str
    old_hits: int
    new_hits: int
    old_first: tuple[str, ...]
    new_first: tuple[str, ...]
    drift: float

    @property
    def is_changed(self) -> bool:
        """Whether the count or the first ten differ, their order included."""
        return self.old_hits != self.new_hits or self.old_first != self.new_first


def drift_of(replayed: Sequence[Replayed]) -> float:
    """Return the mean drift of all expressions; 0.0 where there are none."""
    return sum(each.drift for each in replayed) / len(replayed) if replayed else 0.0


def replay(
    cluster: Cluster,
    old: tuple[str, Layout],
    new: tuple[str, Layout],
    expressions: Sequence[str],
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[Replayed, ...]:
    """Search both indices for each expression, and return what they say, in order.

    Args:
        old, new: name and layout of each index.
        expressions: as `read_expressions` returns them.
        progress: told how many are done.

    Raises:
        ExpressionFileError: one is no expression.
        ClusterError: a search failed.
    """
    done: list[Replayed] = []
    remaining = iter(expressions)
    while some := list(islice(remaining, _TOGETHER)):
        lines = [_search(*index, text) for text in some for index in (old, new)]
        answers = answers_of(cluster, lines, doing="a replay")
        for text, before, after in zip(some, answers[::2], answers[1::2], strict=True):
            done.append(compared(text, before, after))
        progress(len(done))
    return tuple(done)


def read_expressions(path: Path) -> tuple[str, ...]:
    """Return the expressions of a file, each once, in the order of the file.

    Args:
        path: lines of UTF-8 text. A line is an expression, or a session's report as
            ``logicalrag ask --json`` prints it, of which what was searched and counted is taken
            but for what was refused. Empty lines and those that begin with ``#`` are left out.

    Raises:
        ExpressionFileError: the file cannot be read, a line is neither, or there are more than
            10,000 expressions.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ExpressionFileError(f"The expressions of {path} cannot be read: {reason}.") from None
    found: dict[str, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            recorded = _recorded(stripped) if stripped.startswith("{") else [stripped]
            for expression in recorded:
                parse(expression)
                found[expression] = None
        except (ExpressionError, ValueError) as error:
            raise ExpressionFileError(f"{path}:{number}: {error}") from None
        if len(found) > MAX_EXPRESSIONS:
            raise ExpressionFileError(
                f"{path} holds more than {MAX_EXPRESSIONS:,} expressions; replay fewer"
            )
    return tuple(found)


def _recorded(line: str) -> Iterable[str]:
    problem = "is no report as logicalrag ask --json prints it"
    try:
        report = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise ValueError(f"the line {problem}: it is no JSON object") from None
    trace = report.get("trace")
    if not isinstance(trace, list):
        raise ValueError(f"the line {problem}: it has no trace")
    for turn in trace:
        for search in _searches(turn):
            expression = search.get("expression")
            if expression is None or search.get("error"):
                continue
            if not isinstance(expression, str):
                raise ValueError(f"the line {problem}: an expression is no text")
            yield expression


def _searches(turn: Any) -> Iterator[Mapping[str, Any]]:
    counts = turn.get("counts", []) if isinstance(turn, dict) else None
    if not isinstance(counts, list) or not all(isinstance(each, dict) for each in counts):
        raise ValueError("the line is no report as logicalrag ask --json prints it: a bad turn")
    yield turn
    yield from counts


def _search(index: str, layout: Layout, expression: str) -> tuple[bytes, Query]:
    try:
        tree = parse(expression).tree
    except ExpressionError as error:
        shown = expression[:_SHOWN_CODE_POINTS]
        raise ExpressionFileError(f"{shown!r} is no expression: {error}") from None
    fields = OwnFields(layout)
    return (
        header({"index": index}, search_type="dfs_query_then_fetch"),
        {
            "query": compile_scored(fields, tree, NOTHING),
            "sort": ["_score", *fields.tie_break],
            "size": _LOOKED_AT,
            "_source": False,
            "track_total_hits": True,
        },
    )


def compared(expression: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Replayed:
    """Return what two answers of up to twenty hits each say of an expression."""
    old, new = (tuple(hit["_id"] for hit in answer["hits"]["hits"]) for answer in (before, after))
    old_hits, new_hits = total(before), total(after)
    firsts = [*((id_, new) for id_ in old[:FIRST]), *((id_, old) for id_ in new[:FIRST])]
    missing = sum(id_ not in there for id_, there in firsts)
    drift = 1.0 if old_hits != new_hits else missing / max(1, len(firsts))
    return Replayed(expression, old_hits, new_hits, old[:FIRST], new[:FIRST], drift)
