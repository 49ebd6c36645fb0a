"""When the shown passages are not what the question asks about, and how to prove it empty."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from itertools import pairwise

from logicalrag.agent.planners.offline.bridging import phrase
from logicalrag.agent.planners.offline.evidence import Evidence
from logicalrag.agent.planners.offline.lexicon import STOP_WORDS
from logicalrag.agent.planners.offline.prose import padded, stems
from logicalrag.agent.planners.offline.sentences import Pair, Rating, Sentence
from logicalrag.engines.analysis import stem
from logicalrag.engines.protocol import MAX_TREES
from logicalrag.query.tokens import tokenize

_MAX_PREDICATE = 4
# Share of the question's weight that one sentence may leave unsaid and still answer it.
_MAX_UNSAID = 0.2


@dataclass(frozen=True, slots=True)
class Signs:
    """Signs that the evidence is there; also the weight of each, in the same order.

    Args:
        titled: the largest share of the question's weight that a shown title stands for, the
            whole title standing in the question.
        pooled: the share of the question's weight that the shown passages hold together.
        names_met: 1 where every name of the question stands in some shown passage.
        closed: 1 where one sentence of the best pair names the title of the other's passage.
    """

    titled: float
    pooled: float
    names_met: float
    closed: float


# Fitted by logistic regression on public questions other than those the project is measured on,
# each with its evidence in place and hidden; rounded.
WEIGHTS = Signs(titled=6.3, pooled=5.2, names_met=1.4, closed=0.7)
BIAS = -6.65


def signs(evidence: Evidence, rating: Rating, pair: Pair | None) -> Signs:
    """Return what speaks for the evidence being there.

    Args:
        evidence: what the session found.
        rating: rates pairs of its sentences.
        pair: the best pair, if there is one.
    """
    question = evidence.question
    framed = padded(question.stems)
    titled = max(
        (
            evidence.share(set(title))
            for title in (stems(finding.title) for finding in evidence.findings)
            if title and padded(title) in framed
        ),
        default=0.0,
    )
    texts = [
        f"{padded(stems(finding.shown.title))}.{padded(stems(finding.shown.text))}"
        for finding in evidence.findings
    ]
    return Signs(
        titled=titled,
        pooled=evidence.share(frozenset().union(*(f.words for f in evidence.findings))),
        names_met=float(all(_stands(name, texts) for name in question.maximal_names())),
        closed=float(pair is not None and rating.names_title(pair.anchor, pair.conclusion)),
    )


def _stands(name: str, texts: list[str]) -> bool:
    """Return whether `name`, or every name that "and" joins in it, stands in some of `texts`."""
    if any(padded(stems(name)) in text for text in texts):
        return True
    parts = name.split(" and ")
    return len(parts) > 1 and all(_stands(part, texts) for part in parts)


def confidence(found: Signs) -> float:
    """Return how probable it is (0 to 1) that the evidence is there."""
    rating = BIAS + sum(
        weight * value for weight, value in zip(astuple(WEIGHTS), astuple(found), strict=True)
    )
    return 1 / (1 + math.exp(-rating))


def should_abstain(evidence: Evidence, rating: Rating, pair: Pair | None) -> bool:
    """Return whether the shown passages more probably lack what the question asks about.

    One sentence that, with its title, holds every name and nearly all of the question is
    evidence by itself. Arguments as for `signs`.
    """
    if any(says_it_all(evidence, sentence) for sentence in rating.sentences):
        return False
    return confidence(signs(evidence, rating, pair)) < 0.5


def says_it_all(evidence: Evidence, sentence: Sentence) -> bool:
    """Return whether a sentence holds, with its title, every name and nearly all of the question.

    Arguments as for `signs`.
    """
    question = evidence.question
    named = {s for name in question.maximal_names() for s in stems(name)}.intersection(
        question.words
    )
    # The noun asked for ("which river") often stands in another sentence of the passage, and no
    # answer repeats the measure ("how often", "how many").
    measures = {stem(word) for before, word in pairwise(question.tokens) if before == "how"}
    asked = set(question.words) - ((measures | {question.focus}) - named)
    missing = asked - sentence.words
    return (
        bool(asked - missing)
        and named <= sentence.words
        and evidence.share(missing) <= _MAX_UNSAID * evidence.share(asked)
    )


def relaxations(evidence: Evidence) -> list[str]:
    """Return expressions (at most 32) to count at once, in ever weaker chains.

    Each chain begins with a name of the question and what is said of it, and ends with the name
    or its words alone; a chain of zeros certifies that no passage has it. Predicate words
    without any hit are left out: they would make every chain empty and prove nothing.
    """
    question = evidence.question
    names = sorted(question.maximal_names(), key=lambda name: _held(evidence, name))
    named = {s for name in names for s in stems(name)}
    predicate = [
        surface
        for word, surface in zip(question.words, question.surface, strict=True)
        if word not in named and evidence.hits[word]
    ]
    predicate.sort(key=lambda surface: evidence.hits[stems(surface)[0]])
    predicate = predicate[:_MAX_PREDICATE]
    chains: dict[str, None] = {}
    for name in names:
        for expression in _chain(name, predicate):
            chains[expression] = None
    for first, second in pairwise(names):
        both = [phrase(first), phrase(second)]
        for size in range(len(predicate), -1, -1):
            chains[" AND ".join([*both, *predicate[:size]])] = None
    if not names:
        for size in range(len(predicate), 0, -1):
            chains[" AND ".join(predicate[:size])] = None
    return list(chains)[:MAX_TREES]


def _held(evidence: Evidence, name: str) -> int:
    """Return how many shown passages hold `name` as it is written."""
    wanted = padded(tokenize(name))
    return sum(
        wanted in padded(tokenize(f"{finding.shown.title} . {finding.shown.text}"))
        for finding in evidence.findings
    )


def _chain(name: str, predicate: list[str]) -> list[str]:
    quote = phrase(name)
    tokens = [token for token in tokenize(name) if token not in STOP_WORDS] or tokenize(name)
    opened = " AND ".join(tokens)
    chain = [" AND ".join([f"title:{quote}", *predicate])]
    for size in range(len(predicate), 0, -1):
        chain.append(" AND ".join([quote, *predicate[:size]]))
    chain += [f"title:{quote}", quote]
    if len(tokens) > 1 and predicate:
        chain.append(f"{opened} AND {predicate[0]}")
    chain.append(opened)
    return chain
