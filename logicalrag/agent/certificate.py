"""The abstention certificate: four or more ever weaker expressions, all exactly empty at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from logicalrag.agent.actions import Count, Search
from logicalrag.agent.dead_words import asked_words, without_hits
from logicalrag.agent.feedback import CountFeedback, SearchFeedback
from logicalrag.agent.outcome import Certificate, CertifiedExpression
from logicalrag.agent.state import SessionState
from logicalrag.agent.tools import Tools
from logicalrag.engines.metadata import Filter, MetadataError
from logicalrag.engines.protocol import MAX_TREES
from logicalrag.query.errors import ExpressionError
from logicalrag.query.nodes import And, Node, Not
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from logicalrag.query.relaxation import weaker_than
from logicalrag.query.tokens import token_spans

MIN_EXPRESSIONS = 4
# A chain longer than this proves nothing more; the bound also keeps one count call enough.
MAX_EXPRESSIONS = 8
_MAX_CANDIDATES = 64
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An expression that had no hits in this session.

    Its tree as `written`, and as it is executed, with the synonyms that hold now.
    """

    expression: str
    written: Node
    tree: Node


def certify(state: SessionState, tools: Tools) -> Certificate | None:
    """Return the certificate that the session's searches earned, or None.

    The chain is taken from the trace in the order executed, for the evidence need that stands at
    the end and under the filters of its last search or count; a chain never mixes filters, and
    filters that leave nothing visible prove nothing. Every count is taken again in one call, so
    that all belong to one generation.

    Raises:
        EngineError: a count could not be had; this is neither a certificate nor its absence.
    """
    texts, candidates = _candidates(state, tools)
    if len(candidates) < MIN_EXPRESSIONS:
        return None
    try:
        filters = tools.filters(texts)
    except MetadataError:  # the fields have changed since
        return None
    chain = _chain(candidates[-_MAX_CANDIDATES:], filters, state, tools)
    return None if chain is None else _recount(chain, texts, filters, state, tools)


def _candidates(state: SessionState, tools: Tools) -> tuple[tuple[str, ...], list[_Candidate]]:
    """Return the filters that stand, and what was exactly empty for the need that stands.

    Under these filters alone, each tree once, in order.
    """
    found: dict[frozenset[str], dict[Node, _Candidate]] = {}
    need = ""
    filters: tuple[str, ...] = ()
    for turn in state.turns:
        action, feedback = turn.action, turn.feedback
        if not isinstance(action, Search | Count):
            continue
        need = action.evidence_needed if action.evidence_needed.strip() else need
        if need != state.evidence_needed:
            continue
        empty: list[str] = []
        if isinstance(action, Search) and isinstance(feedback, SearchFeedback):
            if feedback.hits == 0 and feedback.relation == "eq":
                empty.append(action.expression)
        elif isinstance(feedback, CountFeedback):
            empty.extend(
                count.expression
                for count in feedback.counts
                if count.hits == 0 and count.relation == "eq"
            )
        else:
            continue
        filters = feedback.filters
        known = found.setdefault(frozenset(filters), {})
        for expression in empty:
            candidate = _candidate(expression, action.default_operator, tools)
            if candidate is not None:
                known.setdefault(candidate.tree, candidate)
    return filters, list(found.get(frozenset(filters), {}).values())


def _candidate(expression: str, default_operator: str, tools: Tools) -> _Candidate | None:
    """Return what a chain may hold, or None where a zero of it proves nothing or too much."""
    written = parse(expression, default_operator)
    try:
        parsed = tools.expanded(written)
    except ExpressionError:  # the synonyms have changed since
        return None
    # Without word rules for a script, a zero says nothing about the text.
    if any(notice.code == "unsupported_script" for notice in parsed.notices):
        return None
    if len(_positive_conjuncts(parsed.tree)) > MAX_TREES:
        return None
    return _Candidate(expression, written.tree, parsed.tree)


def _chain(
    candidates: list[_Candidate], filters: tuple[Filter, ...], state: SessionState, tools: Tools
) -> list[_Candidate] | None:
    """Return the longest chain of strictly weaker expressions whose ends share no dead word."""
    stem = tools.stem
    size = len(candidates)
    weaker = [
        [
            i < j
            and weaker_than(candidates[j].tree, candidates[i].tree, stem)
            and not weaker_than(candidates[i].tree, candidates[j].tree, stem)
            for j in range(size)
        ]
        for i in range(size)
    ]
    asked = [asked_words(candidate.written) for candidate in candidates]
    words = [frozenset(stem(leaf.tokens[0]) for leaf in leaves) for leaves in asked]
    # Dead is a word of which some form that was asked for is: in that field, as that quote.
    forms = list(dict.fromkeys(leaf for leaves in asked for leaf in leaves))
    empty = without_hits(forms, tools, state.visibility, filters)
    dead = {stem(leaf.tokens[0]) for leaf in empty} - _question_names(state.question, stem)
    best: list[_Candidate] | None = None
    for first in range(size):
        # longest[j]: the longest chain from `first` to j, by indices.
        longest: dict[int, list[int]] = {first: [first]}
        for last in range(first + 1, size):
            paths = [
                longest[middle]
                for middle in range(first, last)
                if middle in longest and weaker[middle][last]
            ]
            if not paths:
                continue
            path = [*max(paths, key=len), last]
            longest[last] = path
            if len(path) < MIN_EXPRESSIONS or words[first] & words[last] & dead:
                continue
            if best is None or len(path) > len(best):
                best = [candidates[index] for index in path]
    if best is not None and len(best) > MAX_EXPRESSIONS:
        best = [*best[: MAX_EXPRESSIONS - 1], best[-1]]  # weaker-than is transitive
    return best


def _question_names(question: str, stem: Callable[[str], str]) -> frozenset[str]:
    """Return the stems of the question's words that begin with a capital or a digit."""
    return frozenset(
        stem(token.text) for token in token_spans(question) if not question[token.start].islower()
    )


def _recount(
    chain: list[_Candidate],
    texts: tuple[str, ...],
    filters: tuple[Filter, ...],
    state: SessionState,
    tools: Tools,
) -> Certificate | None:
    visibility = state.visibility
    trees = [candidate.tree for candidate in chain]
    for _ in range(_ATTEMPTS):
        pending = tools.pending()
        counted = tools.engine.count(trees, visibility, filters=filters)
        if (filters or state.filters) and not counted.visible:
            return None
        if any(count.hits or count.relation != "eq" for count in counted.counts):
            return None
        documents = [
            tools.engine.documents_holding(positive, visibility, filters=filters) if positive else 0
            for positive in map(_positive_conjuncts, trees)
        ]
        if tools.engine.stats(visibility).generation != counted.generation:
            continue  # the index changed between the calls: everything is taken again
        return Certificate(
            evidence_needed=state.evidence_needed,
            expressions=tuple(
                CertifiedExpression(candidate.expression, canonical(candidate.tree), 0, held)
                for candidate, held in zip(chain, documents, strict=True)
            ),
            generation=counted.generation,
            visible=counted.visible,
            pending=pending,
            filters=tuple(dict.fromkeys((*state.filters, *texts))),
        )
    return None


def _positive_conjuncts(tree: Node) -> list[Node]:
    conjuncts = tree.children if isinstance(tree, And) else (tree,)
    return [child for child in conjuncts if not isinstance(child, Not)]
