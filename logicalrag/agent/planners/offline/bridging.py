"""The expressions that find passages: by the question, by its names, by what a passage names."""

from __future__ import annotations

from collections.abc import Set

from logicalrag.agent.planners.offline.evidence import Evidence, Finding
from logicalrag.agent.planners.offline.exclusion import Exclusion
from logicalrag.agent.planners.offline.lexicon import CALENDAR_WORDS, STOP_WORDS, related
from logicalrag.agent.planners.offline.prose import name_spans, pieces, sentences, stems
from logicalrag.agent.planners.offline.question import MAX_NAME_CHARACTERS, Question
from logicalrag.engines.analysis import stem
from logicalrag.engines.protocol import MAX_TREES
from logicalrag.query.tokens import tokenize

_TITLE_BOOST = 0.7  # words of a question stand in texts rather than in titles
_PHRASE_BOOST = 1.5
_COVER_BOOST = 3
_PREDICATE_BOOST = 3
_COVERED_BOOST = 0.05  # a word that the chain holds already asks for nothing new
_OWN_TITLE_WEIGHT = 1.5
_MAX_NAMES = 24
_MAX_NAME_WORDS = 8
_MAX_COVERED_NAMES = 2
_MAX_PASSAGE_WORDS = 8
_ARTICLES = frozenset({"a", "an", "the"})


def phrase(tokens: str | list[str] | tuple[str, ...]) -> str:
    """Return a quoted phrase of the tokens of a text, or of given tokens."""
    return f'"{" ".join(tokenize(tokens) if isinstance(tokens, str) else tokens)}"'


def probe(question: Question, left_out: Exclusion | None) -> tuple[list[str], list[str]]:
    """Return (words, title candidates) to count first, together at most 32.

    What the question leaves out comes first among the candidates.
    """
    words = list(question.surface)
    names = [name for name, _ in left_out.names] if left_out else []
    titles = dict.fromkeys([*names, *question.title_candidates])
    return words, list(titles)[: MAX_TREES - len(words)]


def opening(evidence: Evidence) -> str:
    """Return the first search: one OR of everything the question says."""
    question = evidence.question
    clauses: list[str] = []
    for word, surface in zip(question.words, question.surface, strict=True):
        if evidence.hits[word]:
            clauses += [f"title:{surface}^{_TITLE_BOOST}", f"content:{surface}"]
    clauses += [f"{phrase(name)}^{_PHRASE_BOOST}" for name in question.names]
    clauses += [f"title:{phrase(name)}" for name in evidence.named]
    wanted = " OR ".join(clauses) or phrase(question.text)
    return f"({wanted}){_left_out(evidence)}" if evidence.excluded else wanted


def narrowed(evidence: Evidence) -> str | None:
    """Return a search for passages that hold every word of the question that has hits.

    None where there are not two such words: nothing would be narrower than the opening.
    """
    question = evidence.question
    held = [
        surface
        for word, surface in zip(question.words, question.surface, strict=True)
        if evidence.hits[word]
    ]
    return " AND ".join(held) + _left_out(evidence) if len(held) > 1 else None


def uncovered_names(evidence: Evidence) -> list[str]:
    """Return named titles (at most 2) of which no passage was shown, though there is one."""
    titles = [tokenize(finding.title) for finding in evidence.findings]
    exact = {" ".join(title) for title in titles}
    exact_core = {_core(title) for title in titles}
    uncovered: list[str] = []
    for name in evidence.named:
        tokens = name.split()
        if name in exact or _core(tokens) in exact_core:
            continue
        if len(tokens) == 1 and any(name in title for title in titles):
            continue
        held = sum(
            f" {name} " in f" {' '.join(tokenize(finding.shown.title))} "
            for finding in evidence.findings
        )
        if held < evidence.title_hits[name]:
            uncovered.append(name)
    return uncovered[:_MAX_COVERED_NAMES]


def _core(tokens: list[str]) -> str:
    return " ".join(token for token in tokens if token not in _ARTICLES)


def covering(evidence: Evidence, names: list[str]) -> str:
    """Return a search for passages titled after `names`, ordered by the rest of the question."""
    titles = [f"title:{phrase(name)}" for name in names]
    predicate = _predicate(evidence, frozenset())
    wanted = f"({' OR '.join(titles)})^{_COVER_BOOST}"
    if predicate:
        # The titles stand a second time, without weight, so that the predicate only orders.
        free = " OR ".join(f"{title}^0" for title in titles)
        wanted += f" AND ({free} OR {' OR '.join(predicate)})"
    return wanted + _excluding(evidence)


def following(evidence: Evidence, finding: Finding, *, strict: bool = True) -> str | None:
    """Return a search for what the names in `finding` lead to; None where it holds none.

    Where `strict`, what is found also holds a word of the question or a related one.
    """
    clauses: list[str] = []
    for name, weight in names_in(evidence, finding):
        clauses += [f"title:{phrase(name)}^{weight:g}", f"content:{phrase(name)}^{weight:g}"]
    if not clauses:
        return None
    expression = f"({' OR '.join(clauses)})"
    predicate = _predicate(evidence, finding.chain)
    if predicate and strict:
        expression += f" AND ({' OR '.join(predicate)})^{_PREDICATE_BOOST}"
    return expression + _excluding(evidence)


def names_in(evidence: Evidence, finding: Finding) -> list[tuple[str, float]]:
    """Return (name, weight) that `finding` may lead on by, the weightiest first, at most 24.

    Names that the question has already, numbers, months and the like are left out.
    """
    weights: dict[str, float] = {}

    def offer(name: str, weight: float) -> None:
        tokens = tokenize(name)
        if _leads_on(tokens, evidence):
            key = " ".join(tokens)
            weights[key] = max(weights.get(key, 0.0), weight)

    offer(finding.title, _OWN_TITLE_WEIGHT)
    for part in finding.shown.title.split(",")[1:]:
        offer(part, _OWN_TITLE_WEIGHT)
    for number, sentence in enumerate(sentences(finding.shown.text)):
        asked = evidence.weights.keys() & set(stems(sentence)) - evidence.named_stems
        weight = 1.0 + (0.5 if asked else 0.0) + (1.0 if number == 0 else 0.0)
        for span, _ in name_spans(sentence):
            for part_ in (span, *pieces(span)):
                offer(" ".join(part_), weight)
    return sorted(weights.items(), key=lambda item: -item[1])[:_MAX_NAMES]


def _leads_on(tokens: list[str], evidence: Evidence) -> bool:
    if not 1 <= len(tokens) <= _MAX_NAME_WORDS or sum(map(len, tokens)) > MAX_NAME_CHARACTERS:
        return False
    if all(token in STOP_WORDS or stem(token) in evidence.weights for token in tokens):
        return False
    if len(tokens) == 1 and len(tokens[0]) < 3:
        return False
    return not all(token.isdigit() or token in CALENDAR_WORDS for token in tokens)


def _predicate(evidence: Evidence, covered: Set[str]) -> list[str]:
    """Return clauses for what the question says besides its named titles.

    Related words have no weight: they widen what is found, the question's own words order it.
    """
    question = evidence.question
    clauses: list[str] = []
    for word, surface in zip(question.words, question.surface, strict=True):
        if evidence.hits[word] and word not in evidence.named_stems:
            boost = _COVERED_BOOST if word in covered else 1.0
            clauses += [
                f"title:{surface}^{_TITLE_BOOST * boost:g}",
                f"content:{surface}^{boost:g}",
            ]
    widening: dict[str, None] = {}
    for word in question.words:
        for related_stem, token in related(word).items():
            if related_stem not in evidence.weights:
                widening[token] = None
    clauses += [f"content:{word}^0" for word in widening]
    for name in question.names:
        wanted = set(stems(name))
        if not wanted <= evidence.named_stems and not wanted <= covered:
            clauses.append(f"{phrase(name)}^{_PHRASE_BOOST}")
    return clauses


def _excluding(evidence: Evidence) -> str:
    """Return the end of an expression that leaves out exactly the passages shown before.

    And those that the question itself leaves out.
    """
    only = map(_only, evidence.findings)
    shown = "".join(f" AND NOT ({' AND '.join(clauses)})" for clauses in only if clauses)
    return _left_out(evidence) + shown


def _left_out(evidence: Evidence) -> str:
    return "".join(f" AND NOT title:{phrase(name)}" for name in evidence.excluded)


def _only(finding: Finding) -> list[str]:
    # Words that stand next to each other in the passage: an excerpt may be joined by an ellipsis.
    line = max(finding.shown.text.splitlines() or [""], key=len)
    beginning = tokenize(line)[:_MAX_PASSAGE_WORDS]
    title = tokenize(finding.shown.title)
    clauses = [f"title:{phrase(title)}"] if title else []
    if beginning:
        clauses.append(f"content:{phrase(beginning)}")
    return clauses
