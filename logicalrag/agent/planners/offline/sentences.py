"""Which two sentences answer: one that holds the question's names, one that they lead to.

Every ordered pair of shown sentences is rated: the first (the anchor) by how much of the question
it covers, the second (the conclusion) by what it adds, by how near to the asking word that is, by
whether it holds the kind of thing asked for, and by whether a name leads from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

import regex

from logicalrag.agent.planners.offline.evidence import Evidence, Finding
from logicalrag.agent.planners.offline.lexicon import CALENDAR_WORDS, STOP_WORDS, related
from logicalrag.agent.planners.offline.prose import (
    name_spans,
    padded,
    pieces,
    sentences,
    stems,
)
from logicalrag.agent.planners.offline.question import Kind
from logicalrag.query.tokens import tokenize

_YEAR = r"\b(?:1[0-9]{3}|20[0-9]{2})\b"
_MONTH = (
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
_DATE = regex.compile(rf"{_YEAR}|{_MONTH}|\bcentury\b|\b[0-9]+0s\b")
_NUMBER = regex.compile(
    r"\b[0-9][0-9,.]*\b|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice|dozen"
    r"|hundred|thousand|million|billion)\b",
    regex.I,
)
_UNDECIDED = 0.5  # nothing can be said of whether a sentence holds "other" kinds of thing
_RELATED = 0.5  # a related word counts half of the question's own
_LAST_PLACE = 5
_LONG = 200


@dataclass(frozen=True, slots=True)
class PairWeights:
    """What each trait of a pair adds to its rating.

    Fitted by listwise logistic regression on public questions with passages other than those the
    project is measured on, then rounded.

    Args:
        anchor_coverage: per share of the question's weight in the anchor.
        anchor_titled: the anchor's passage bears a title that stands in the question.
        anchor_length: per 200 characters of the anchor.
        added: per share of the question's weight that only the conclusion holds.
        added_near: the same, words weighted by nearness to the asking word.
        kind_held: the conclusion holds the kind of thing asked for.
        rank: per ten places of the conclusion's passage in the order shown.
        place: per five places of the conclusion in its passage.
        bridged: the conclusion's passage was found through another one.
        titled_link: the anchor names the conclusion's title.
        name_link: the conclusion's passage holds a name of the anchor.
    """

    anchor_coverage: float
    anchor_titled: float
    anchor_length: float
    added: float
    added_near: float
    kind_held: float
    rank: float
    place: float
    bridged: float
    titled_link: float
    name_link: float


WEIGHTS = PairWeights(
    anchor_coverage=8.9,
    anchor_titled=1.4,
    anchor_length=-2.7,
    added=3.4,
    added_near=6.5,
    kind_held=2.3,
    rank=-2.4,
    place=-1.5,
    bridged=1.5,
    titled_link=2.3,
    name_link=1.7,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a shown passage, with what its rating needs.

    Args:
        finding: the passage.
        rank: the passage's place in the order shown, from 0.
        place: its place in the passage, from 0.
        text: as shown.
        words: question words that it or its title holds.
        related: question words of which it holds a related word only.
        names: token strings of names in it that the question has not.
        tokens: its tokens, framed by spaces.
        kind_held: 0 or 1, ½ where the kind of answer says nothing.
    """

    finding: Finding
    rank: int
    place: int
    text: str
    words: frozenset[str]
    related: frozenset[str]
    names: frozenset[str]
    tokens: str
    kind_held: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two different sentences and how well they answer together."""

    anchor: Sentence
    conclusion: Sentence
    rating: float


def shown_sentences(evidence: Evidence) -> list[Sentence]:
    """Return every sentence of every shown passage, in order."""
    return [
        _sentence(evidence, finding, rank, place, text)
        for rank, finding in enumerate(evidence.findings)
        for place, text in enumerate(sentences(finding.shown.text))
    ]


def _sentence(evidence: Evidence, finding: Finding, rank: int, place: int, text: str) -> Sentence:
    question = evidence.question
    held = set(stems(text))
    words = frozenset(
        word for word in question.words if word in held or word in finding.title_stems
    )
    asked = set(question.stems)
    names = frozenset(
        name for name in _names(text) if not set(stems(name)) <= asked and _says_something(name)
    )
    new = any(not finding.title_stems.issuperset(stems(name)) for name in names)
    return Sentence(
        finding=finding,
        rank=rank,
        place=place,
        text=text,
        words=words,
        related=frozenset(
            word
            for word in question.words
            if word not in words and not held.isdisjoint(related(word))
        ),
        names=names,
        tokens=padded(tokenize(text)),
        kind_held=kind_held(question.kind, text, new),
    )


def _names(text: str) -> Iterator[str]:
    for span, _ in name_spans(text):
        for part in (span, *pieces(span)):
            yield " ".join(tokenize(" ".join(part)))


def _says_something(name: str) -> bool:
    return not all(
        token.isdigit() or token in CALENDAR_WORDS or token in STOP_WORDS for token in name.split()
    )


def kind_held(kind: Kind, text: str, new_name: bool) -> float:
    """Return 1 where `text` holds what `kind` asks for, 0 where not, ½ where none can say."""
    if kind == "date":
        return float(_DATE.search(text) is not None)
    if kind == "number":
        return float(_NUMBER.search(text) is not None)
    if kind == "name":
        return float(new_name)
    return _UNDECIDED


class Rating:
    """Rates pairs of the sentences of one session, which `sentences` holds in order.

    Args:
        evidence: what the session found.
        weights: what each trait adds.
    """

    def __init__(self, evidence: Evidence, weights: PairWeights = WEIGHTS) -> None:
        question = evidence.question
        self.sentences = shown_sentences(evidence)
        self._evidence = evidence
        self._weights: tuple[float, ...] = astuple(weights)
        near = {
            word: nearness * evidence.weights[word]
            for word, nearness in zip(question.words, question.nearness, strict=True)
        }
        total = sum(near.values()) or 1.0
        self._near = {word: value / total for word, value in near.items()}
        self._asked = set(question.stems)
        self._framed_question = padded(question.tokens)
        self._framed_passages = [
            padded(tokenize(f"{finding.shown.title}\n{finding.shown.text}"))
            for finding in evidence.findings
        ]
        self._titles = [tuple(tokenize(finding.title)) for finding in evidence.findings]

    def traits(self, anchor: Sentence, conclusion: Sentence) -> tuple[float, ...]:
        """Return the traits of a pair in the order of the fields of `PairWeights`."""
        evidence = self._evidence
        same = anchor.finding is conclusion.finding
        added = conclusion.words - anchor.words
        hinted = conclusion.related - anchor.words
        return (
            evidence.share(anchor.words),
            float(self.is_titled(anchor)),
            len(anchor.text) / _LONG,
            evidence.share(added) + _RELATED * evidence.share(hinted),
            sum(self._near[word] for word in added)
            + _RELATED * sum(self._near[word] for word in hinted),
            conclusion.kind_held,
            conclusion.rank / 10,
            min(conclusion.place, _LAST_PLACE) / _LAST_PLACE,
            float(conclusion.finding.round > 0),
            float(self.names_title(anchor, conclusion)),
            float(not same and self._shares_name(anchor, conclusion)),
        )

    def is_titled(self, sentence: Sentence) -> bool:
        """Return whether the title of the sentence's passage stands in the question."""
        return padded(self._titles[sentence.rank]) in self._framed_question

    def names_title(self, anchor: Sentence, conclusion: Sentence) -> bool:
        """Return whether the anchor names the title of the conclusion's other passage."""
        if anchor.finding is conclusion.finding:
            return False
        title = self._titles[conclusion.rank]
        if not title:
            return False
        if " ".join(title) in anchor.names:
            return True
        new = not self._asked.issuperset(stems(" ".join(title)))
        return new and padded(title) in anchor.tokens

    def are_linked(self, anchor: Sentence, conclusion: Sentence) -> bool:
        """Return whether a name of the anchor leads to the conclusion's other passage."""
        return anchor.finding is not conclusion.finding and (
            self.names_title(anchor, conclusion) or self._shares_name(anchor, conclusion)
        )

    def _shares_name(self, anchor: Sentence, conclusion: Sentence) -> bool:
        passage = self._framed_passages[conclusion.rank]
        return any(len(name) > 3 and f" {name} " in passage for name in anchor.names)

    def rate(self, anchor: Sentence, conclusion: Sentence) -> float:
        """Return how well a pair answers: the weighted sum of its traits."""
        traits = self.traits(anchor, conclusion)
        return sum(weight * trait for weight, trait in zip(self._weights, traits, strict=True))


def best_pair(
    rating: Rating, found: Sequence[Sentence], lengths: Sequence[int], room: int
) -> Pair | None:
    """Return the best pair of `found`, the first of equals; None where no two fit.

    Args:
        rating: rates pairs.
        found: the sentences that may be used.
        lengths: characters that each takes in the answer (parallel).
        room: characters for both and the space between them.
    """
    best: Pair | None = None
    for anchor, first in zip(found, lengths, strict=True):
        for conclusion, second in zip(found, lengths, strict=True):
            if anchor is conclusion or first + 1 + second > room:
                continue
            value = rating.rate(anchor, conclusion)
            if best is None or value > best.rating:
                best = Pair(anchor, conclusion, value)
    return best


def best_of_each(
    rating: Rating,
    found: Sequence[Sentence],
    lengths: Sequence[int],
    room: int,
    passages: tuple[Finding, Finding],
) -> Pair | None:
    """Return the best pair of one sentence of each of two passages that are compared.

    Neither leads to the other and both must say the same of different things, so each is rated
    by itself. Other arguments as for `best_pair`.
    """
    best: Pair | None = None
    for one, first in zip(found, lengths, strict=True):
        for other, second in zip(found, lengths, strict=True):
            if one.finding is not passages[0] or other.finding is not passages[1]:
                continue
            value = rating.rate(one, one) + rating.rate(other, other)
            if first + 1 + second <= room and (best is None or value > best.rating):
                best = Pair(one, other, value)
    return best
