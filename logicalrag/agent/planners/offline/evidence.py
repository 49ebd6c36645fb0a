"""What a session has found so far: word weights and the shown passages, linked as they led on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from logicalrag.agent.feedback import Shown
from logicalrag.agent.planners.offline.prose import bare_title, padded, stems
from logicalrag.agent.planners.offline.question import Question
from logicalrag.query.tokens import tokenize

# A name is one of the index's titles where a handful of passages carries it in the title.
MAX_TITLE_HITS = 8
# A passage that another led to is worth a little less than the one it came from.
_LED_TO = 0.8


@dataclass(slots=True)
class Finding:
    """A shown passage.

    Args:
        shown: id, title and text as shown.
        round: 0 where the question itself led to it, else the round of bridging.
        parent: the finding whose names led to it.
        words: question words (stems) that it holds in title or text.
        title_stems: the stems of its title.
        chain: question words that it or a finding before it in its chain holds.
        priority: how much it promises to lead on.
        expanded: whether its names were followed.
    """

    shown: Shown
    round: int
    parent: Finding | None
    words: frozenset[str]
    title_stems: frozenset[str]
    chain: frozenset[str]
    priority: float
    expanded: bool = False

    @property
    def title(self) -> str:
        """The passage's title without parenthesised remarks."""
        return bare_title(self.shown.title)


@dataclass(slots=True)
class Evidence:
    """Everything the planner knows in a session, filled from feedback alone.

    Args:
        question: what is asked.
        hits: for each question word, the passages that hold it.
        title_hits: for each title candidate counted, the passages whose title holds it.
        visible: passages that could be found.
        excluded: titles that the answer must not be about.
        findings: shown passages in order.
    """

    question: Question
    hits: Mapping[str, int]
    title_hits: Mapping[str, int]
    visible: int
    excluded: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)
    weights: dict[str, float] = field(init=False)
    named: tuple[str, ...] = field(init=False)
    named_stems: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        raw = {
            word: math.log(1 + (self.visible - count + 0.5) / (count + 0.5))
            for word, count in self.hits.items()
        }
        total = sum(raw.values()) or 1.0
        self.weights = {word: weight / total for word, weight in raw.items()}
        self.named = _named_titles(self.question.tokens, self.title_hits)
        self.named_stems = frozenset(s for name in self.named for s in stems(name))

    def share(self, words: Iterable[str]) -> float:
        """Return the share (0 to 1) of the question's weight that `words` make up.

        A word weighs as much as it is rare (BM25's inverse document frequency); what is no word
        of the question weighs nothing.
        """
        return sum(self.weights.get(word, 0.0) for word in words)

    def add(self, results: Sequence[Shown], round_: int, parent: Finding | None) -> None:
        """Record shown passages in order; one shown before is only replaced by its whole text."""
        for shown in results:
            if not self.replace_text(shown):
                self.findings.append(self._finding(shown, round_, parent))

    def replace_text(self, shown: Shown) -> bool:
        """Return whether the passage was shown before; take its text where it is now whole."""
        for finding in self.findings:
            if finding.shown.passage_id == shown.passage_id:
                if shown.whole:
                    finding.shown = replace(finding.shown, text=shown.text, whole=True)
                    finding.words = self._held(shown)
                    finding.chain |= finding.words
                return True
        return False

    def _held(self, shown: Shown) -> frozenset[str]:
        held = {*stems(shown.title), *stems(shown.text)}
        return frozenset(word for word in self.question.words if word in held)

    def _finding(self, shown: Shown, round_: int, parent: Finding | None) -> Finding:
        words = self._held(shown)
        title = stems(bare_title(shown.title))
        title_stems = frozenset(stems(shown.title))
        if parent is None:
            chain = words
            priority = self.share(words)
            if padded(title) in padded(self.question.stems) and not (
                self.named_stems.isdisjoint(title)
            ):
                priority += 1
        else:
            chain = words | parent.chain
            priority = _LED_TO * parent.priority + self.share(words - parent.chain)
        return Finding(shown, round_, parent, words, title_stems, chain, priority)

    def best_unexpanded(self) -> Finding | None:
        """Return the finding that promises most, the first of equals; None where all led on."""
        waiting = [finding for finding in self.findings if not finding.expanded]
        return max(waiting, key=lambda finding: finding.priority, default=None)


def _named_titles(tokens: Sequence[str], title_hits: Mapping[str, int]) -> tuple[str, ...]:
    """Return the candidates that are titles, longest first, without overlap in the question."""
    named: list[str] = []
    taken: set[int] = set()
    for candidate in sorted(title_hits, key=lambda c: -len(c.split())):
        if not 1 <= title_hits[candidate] <= MAX_TITLE_HITS:
            continue
        wanted = tokenize(candidate)
        size = len(wanted)
        free = [
            place
            for place in range(len(tokens) - size + 1)
            if list(tokens[place : place + size]) == wanted
            and taken.isdisjoint(range(place, place + size))
        ]
        for place in free:
            taken.update(range(place, place + size))
        if free:
            named.append(candidate)
    return tuple(named)
