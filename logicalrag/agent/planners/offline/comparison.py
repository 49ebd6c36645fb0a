"""Questions about two named things: "X or Y", "both X and Y", "X before Y"."""

from __future__ import annotations

import regex

from logicalrag.agent.planners.offline.evidence import Evidence, Finding
from logicalrag.agent.planners.offline.lexicon import STOP_WORDS, related
from logicalrag.agent.planners.offline.prose import name_spans, padded, sentences, stems
from logicalrag.query.tokens import tokenize

_YEAR = regex.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
_EARLIER = frozenset({"before", "earlier", "older", "elder", "first"})
_LATER = frozenset({"after", "later", "younger", "last"})
_ARTICLES = ("", "a ", "an ", "the ")
# Words that say how two things are compared, not what is said of either.
_COMPARING = frozenset(
    stems("both same either together similar alike share shared common before after first last")
    + stems("earlier later older younger elder")
)


def alternatives(evidence: Evidence) -> tuple[Finding, Finding] | None:
    """Return the passages titled after X and Y where the question says "X or Y", if shown."""
    framed = padded(evidence.question.tokens)
    if " or " not in framed:
        return None
    titled = [(" ".join(tokenize(finding.title)), finding) for finding in evidence.findings]
    for first_title, first in titled:
        for second_title, second in titled:
            if first_title == second_title or not (first_title and second_title):
                continue
            if any(
                f" {first_title} or {article}{second_title} " in framed for article in _ARTICLES
            ):
                return first, second
    return None


def compared_passages(evidence: Evidence) -> tuple[Finding, Finding] | None:
    """Return the two passages of which an answer must each say something, if there are two."""
    if evidence.question.kind == "yes_no":
        about = subjects(evidence)
        return (about[0], about[1]) if len(about) > 1 else None
    return alternatives(evidence)


def subjects(evidence: Evidence) -> list[Finding]:
    """Return the shown passages whose titles stand in the question, by place, the longest there.

    Of several passages with one title the first shown stands for all.
    """
    framed = padded(evidence.question.tokens)
    places: dict[str, tuple[int, Finding]] = {}
    for finding in evidence.findings:
        title = padded(tokenize(finding.title))
        if title.strip() and title in framed:
            places.setdefault(title, (framed.index(title), finding))
    whole = [
        place
        for title, place in places.items()
        if not any(title != other and title in other for other in places)
    ]
    return [finding for _, finding in sorted(whole, key=lambda place: place[0])]


def agrees(evidence: Evidence) -> bool:
    """Return whether the shown passages say yes to what is asked of named things.

    "X before Y": the year that is said of the first is the smaller. "The same …": their opening
    sentences share a name. Otherwise: the passages of all hold every name that the question says
    of them, and at least half of the other words, which may be said in other ways. Without a
    passage titled after a name the answer is no.
    """
    question = evidence.question
    asked = set(question.tokens)
    about = subjects(evidence)
    if not about:
        return False
    named = {s for finding in about for s in stems(finding.title)}
    predicate = [w for w in question.words if w not in named and w not in _COMPARING]
    if len(about) > 1:
        years = [_year(finding, predicate) for finding in about[:2]]
        first, second = years
        if first is not None and second is not None:
            if asked & _EARLIER:
                return first < second
            if asked & _LATER:
                return first > second
        if "same" in asked:
            return bool(frozenset.intersection(*map(_opening_names, about)))
    proper = {s for name in question.maximal_names() for s in stems(name)}
    stated = [word for word in predicate if word in proper]
    described = [word for word in predicate if word not in proper]
    return all(
        all(_says(finding, word) for word in stated)
        and 2 * sum(_says(finding, word) for word in described) >= len(described)
        for finding in about
    )


def _year(finding: Finding, predicate: list[str]) -> int | None:
    """Return the first year of the sentence that says most of `predicate`, the first of equals."""
    best: tuple[int, int] | None = None
    for sentence in sentences(finding.shown.text):
        match = _YEAR.search(sentence)
        if match is None:
            continue
        held = set(stems(sentence))
        said = sum(word in held or not held.isdisjoint(related(word)) for word in predicate)
        if best is None or said > best[0]:
            best = (said, int(match.group()))
    return best[1] if best else None


def _opening_names(finding: Finding) -> frozenset[str]:
    names = {
        token
        for sentence in sentences(finding.shown.text)[:1]
        for span, _ in name_spans(sentence)
        for token in tokenize(" ".join(span))
        if token not in STOP_WORDS and not token.isdigit()
    }
    return frozenset(names) - frozenset(tokenize(finding.title))


def _says(finding: Finding, word: str) -> bool:
    held = {*stems(finding.shown.title), *stems(finding.shown.text)}
    return word in held or not held.isdisjoint(related(word))
