"""What the searching actions do: each turns its arguments into feedback through the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from logicalrag.agent.actions import Count, Read, Search
from logicalrag.agent.dead_words import asked_words, without_hits
from logicalrag.agent.excerpts import excerpt, matched_forms
from logicalrag.agent.feedback import (
    CountFeedback,
    DeadWord,
    ErrorFeedback,
    ExpressionCount,
    PartCount,
    ReadFeedback,
    Remark,
    SearchFeedback,
    Shown,
)
from logicalrag.agent.limits import Limits
from logicalrag.agent.tools import Tools
from logicalrag.engines.metadata import Filter, filter_text, parse_sort
from logicalrag.engines.protocol import ClauseCount, Passage, SearchResult, Visibility
from logicalrag.query.errors import ExpressionError, Notice
from logicalrag.query.parser import Parsed, parse
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import positive_leaves


@dataclass(frozen=True, slots=True)
class _Query:
    """A search as it was read, `written` without its synonyms and `parsed` with them."""

    written: Parsed
    parsed: Parsed
    filters: tuple[Filter, ...]
    sort: str


def search(
    action: Search, tools: Tools, visibility: Visibility, limits: Limits
) -> SearchFeedback | ErrorFeedback:
    """Execute one expression and return its counts and passages, or why it was refused.

    A malformed expression gives an `ErrorFeedback` and reaches no engine.

    Raises:
        EngineError: the engine failed; nothing is known about the hits.
        MetadataError: a filter or the order is malformed, or does not fit the index.
    """
    engine = tools.engine
    sort = action.sort.strip()
    filters = tools.filters(action.filters)
    order = parse_sort(sort, engine.metadata_schema) if sort else None
    try:
        written = parse(action.expression, action.default_operator)
        query = _Query(written, tools.expanded(written, action.expression), filters, sort)
    except ExpressionError as error:
        return _expression_feedback(error)
    tree = query.parsed.tree
    found = engine.search(
        tree,
        visibility,
        limit=min(action.max_results, limits.results),
        leave_one_out=True,
        filters=query.filters,
        sort=order,
    )
    if found.visible >= limits.too_broad_passages and (
        found.count.fraction > limits.too_broad_fraction
    ):
        refused = _too_broad(query, tools, visibility, limits)
        if refused is not None:
            return refused
    if found.count.hits == 0:
        return _feedback(
            query,
            found,
            leave_one_out=_parts(found.leave_one_out),
            dead_words=_dead_words(query, tools, visibility, limits),
            without_filters=(
                engine.count([tree], visibility).counts[0].hits if query.filters else None
            ),
        )
    stem = tools.stem
    stems, exact = matched_forms(tree, stem)
    shown = []
    for hit in found.hits:
        text, whole = excerpt(hit.passage.text, stems, exact, limits.excerpt_characters, stem)
        shown.append(_shown(hit.passage, text, whole))
    return _feedback(query, found, results=tuple(shown))


def count(action: Count, tools: Tools, visibility: Visibility) -> CountFeedback:
    """Count every expression at one generation; a malformed one gets its error in its place.

    Raises:
        EngineError: the engine failed; nothing is known about any count.
        MetadataError: a filter is malformed, or does not fit the index.
    """
    filters = tools.filters(action.filters)
    outcomes: list[Parsed | ExpressionError] = []
    for expression in action.expressions:
        try:
            outcomes.append(tools.parse(expression, action.default_operator))
        except ExpressionError as error:
            outcomes.append(error)
    trees = [outcome.tree for outcome in outcomes if isinstance(outcome, Parsed)]
    result = tools.engine.count(trees, visibility, filters=filters)
    remaining = iter(result.counts)
    counts: list[ExpressionCount] = []
    for expression, outcome in zip(action.expressions, outcomes, strict=True):
        if isinstance(outcome, ExpressionError):
            remark = Remark(outcome.code, str(outcome))
            counts.append(ExpressionCount(expression, error=remark))
        else:
            counted = next(remaining)
            counts.append(
                ExpressionCount(
                    expression,
                    canonical(outcome.tree),
                    counted.hits,
                    counted.relation,
                    _remarks(outcome.notices),
                )
            )
    return CountFeedback(
        tuple(counts), result.visible, result.generation, tuple(map(filter_text, filters))
    )


def read(
    action: Read, tools: Tools, visibility: Visibility, read_before: Sequence[str]
) -> ReadFeedback:
    """Show passages in full, except those in `read_before`, which cost one line each.

    Raises:
        EngineError: the engine failed.
    """
    wanted = list(dict.fromkeys(action.passage_ids))
    found = tools.engine.read(wanted, visibility, neighbours=action.neighbours)
    known = {passage.id for passage in found}
    already = set(read_before)
    return ReadFeedback(
        passages=tuple(_shown(p, p.text, True) for p in found if p.id not in already),
        already_read=tuple(p.id for p in found if p.id in already),
        unknown=tuple(identity for identity in wanted if identity not in known),
    )


def _expression_feedback(error: ExpressionError) -> ErrorFeedback:
    """Return a language error as feedback, with its carets."""
    return ErrorFeedback(
        error.code, error.message, error.position, error.end, error.hint, error.render()
    )


def _too_broad(
    query: _Query, tools: Tools, visibility: Visibility, limits: Limits
) -> SearchFeedback | None:
    """Return the refusal, or None where some positive clause is selective by itself."""
    tree = query.parsed.tree
    counted = tools.engine.search(
        tree, visibility, limit=0, clause_counts=True, filters=query.filters
    )
    by_clause = {part.canonical: part.count for part in counted.clause_counts}
    for leaf in positive_leaves(tree):
        if by_clause[canonical(leaf)].fraction < limits.too_broad_fraction:
            return None
    return _feedback(query, counted, too_broad=True, clauses=_parts(counted.clause_counts))


def _dead_words(
    query: _Query, tools: Tools, visibility: Visibility, limits: Limits
) -> tuple[DeadWord, ...]:
    """Return the positive words that have no visible hit of their own, with what is near."""
    dead: list[DeadWord] = []
    empty = without_hits(asked_words(query.written.tree), tools, visibility)
    for leaf in empty[: limits.dead_words]:
        nearest = tools.engine.nearest_words(
            leaf.tokens[0], visibility, field=leaf.field, limit=limits.nearest_words
        )
        near = tuple(PartCount(word.word, word.hits) for word in nearest)
        dead.append(DeadWord(canonical(leaf), near))
    return tuple(dead)


def _feedback(
    query: _Query,
    found: SearchResult,
    *,
    results: tuple[Shown, ...] = (),
    too_broad: bool = False,
    clauses: tuple[PartCount, ...] = (),
    leave_one_out: tuple[PartCount, ...] = (),
    dead_words: tuple[DeadWord, ...] = (),
    without_filters: int | None = None,
) -> SearchFeedback:
    return SearchFeedback(
        hits=found.count.hits,
        relation=found.count.relation,
        fraction=found.count.fraction,
        visible=found.visible,
        generation=found.generation,
        canonical=canonical(query.parsed.tree),
        notices=_remarks(query.parsed.notices),
        results=results,
        too_broad=too_broad,
        clauses=clauses,
        leave_one_out=leave_one_out,
        dead_words=dead_words,
        filters=tuple(map(filter_text, query.filters)),
        sort=query.sort,
        without_filters=without_filters,
    )


def _shown(passage: Passage, text: str, whole: bool) -> Shown:
    return Shown(passage.id, passage.document_id, passage.title, text, whole, passage.location)


def _parts(counts: Sequence[ClauseCount]) -> tuple[PartCount, ...]:
    return tuple(PartCount(part.canonical, part.count.hits) for part in counts)


def _remarks(notices: Sequence[Notice]) -> tuple[Remark, ...]:
    return tuple(Remark(notice.code, notice.message) for notice in notices)
