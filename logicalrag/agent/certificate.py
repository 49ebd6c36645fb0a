"""The abstention certificate: four or more ever weaker expressions, all exactly empty at once."""

from __future__ import annotations

from dataclasses import dataclass

from logicalrag.agent.actions import Count, Search
from logicalrag.agent.dead_words import asked_words, without_hits
from logicalrag.agent.feedback import CountFeedback, SearchFeedback
from logicalrag.agent.outcome import Certificate, CertifiedExpression
from logicalrag.agent.state import SessionState
from logicalrag.agent.tools import Tools
from logicalrag.engines.analysis import stem
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
    """An expression that had no hits in this session."""

    expression: str
    tree: Node


def certify(state: SessionState, tools: Tools) -> Certificate | None:
    """Return the certificate that the session's searches earned, or None.

    The chain is taken from the trace in the order executed, for the evidence need that stands at
    the end; every count is taken again in one call, so that all belong to one generation.

    Raises:
        EngineError: a count could not be had; this is neither a certificate nor its absence.
    """
    candidates = _candidates(state)[-_MAX_CANDIDATES:]
    if len(candidates) < MIN_EXPRESSIONS:
        return None
    chain = _chain(candidates, state, tools)
    return None if chain is None else _recount(chain, state, tools)


def _candidates(state: SessionState) -> list[_Candidate]:
    """Return what was exactly empty for the need that stands, each tree once, in order."""
    found: dict[Node, _Candidate] = {}
    need = ""
    for turn in state.turns:
        action = turn.action
        if not isinstance(action, Search | Count):
            continue
        need = action.evidence_needed if action.evidence_needed.strip() else need
        if need != state.evidence_needed:
            continue
        empty: list[str] = []
        if isinstance(action, Search) and isinstance(turn.feedback, SearchFeedback):
            if turn.feedback.hits == 0 and turn.feedback.relation == "eq":
                empty.append(action.expression)
        elif isinstance(turn.feedback, CountFeedback):
            empty.extend(
                count.expression
                for count in turn.feedback.counts
                if count.hits == 0 and count.relation == "eq"
            )
        for expression in empty:
            parsed = parse(expression, action.default_operator)
            # Without word rules for a script, a zero says nothing about the text.
            if all(notice.code != "unsupported_script" for notice in parsed.notices):
                found.setdefault(parsed.tree, _Candidate(expression, parsed.tree))
    return list(found.values())


def _chain(
    candidates: list[_Candidate], state: SessionState, tools: Tools
) -> list[_Candidate] | None:
    """Return the longest chain of strictly weaker expressions whose ends share no dead word."""
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
    asked = [asked_words(candidate.tree) for candidate in candidates]
    words = [frozenset(stem(leaf.tokens[0]) for leaf in leaves) for leaves in asked]
    # Dead is a word of which some form that was asked for is: in that field, as that quote.
    forms = list(dict.fromkeys(leaf for leaves in asked for leaf in leaves))
    empty = without_hits(forms, tools.engine, state.visibility)
    dead = {stem(leaf.tokens[0]) for leaf in empty} - _question_names(state.question)
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


def _question_names(question: str) -> frozenset[str]:
    """Return the stems of the question's words that begin with a capital or a digit."""
    return frozenset(
        stem(token.text) for token in token_spans(question) if not question[token.start].islower()
    )


def _recount(chain: list[_Candidate], state: SessionState, tools: Tools) -> Certificate | None:
    visibility = state.visibility
    trees = [candidate.tree for candidate in chain]
    for _ in range(_ATTEMPTS):
        pending = tools.pending()
        counted = tools.engine.count(trees, visibility)
        if any(count.hits or count.relation != "eq" for count in counted.counts):
            return None
        documents = [
            tools.engine.documents_holding(positive, visibility) if positive else 0
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
        )
    return None


def _positive_conjuncts(tree: Node) -> list[Node]:
    conjuncts = tree.children if isinstance(tree, And) else (tree,)
    return [child for child in conjuncts if not isinstance(child, Not)]
