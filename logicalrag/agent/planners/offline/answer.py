"""The text of an answer: at most two sentences of shown passages, and yes or no where asked."""

from __future__ import annotations

from dataclasses import dataclass

import regex

from logicalrag.agent.actions import Answer
from logicalrag.agent.planners.offline.abstention import says_it_all
from logicalrag.agent.planners.offline.comparison import agrees, compared_passages
from logicalrag.agent.planners.offline.evidence import Evidence
from logicalrag.agent.planners.offline.lexicon import ABBREVIATIONS
from logicalrag.agent.planners.offline.prose import padded
from logicalrag.agent.planners.offline.sentences import (
    Pair,
    Rating,
    Sentence,
    best_of_each,
    best_pair,
)
from logicalrag.query.tokens import tokenize

MAX_CHARACTERS = 400
# Shares of the question's weight.
_LITTLE = 0.2
_MOST = 0.7
_ROOM = MAX_CHARACTERS - len("Yes: ")
_INNER_END = regex.compile(r"""[.!?]["”’')\]]*\s""")
_ABBREVIATED = regex.compile(rf"\b(\p{{L}}|(?i:{'|'.join(sorted(ABBREVIATIONS))}))\.(?=\s+\S)")
_ENDS = regex.compile(r"""[.!?…]["”’')\]]*$""")


@dataclass(frozen=True, slots=True)
class Draft:
    """The sentences that answer best, in the order said: the anchor, then the conclusion.

    `pair` is None where only one sentence could be said.
    """

    said: tuple[Sentence, ...]
    pair: Pair | None


def draft(evidence: Evidence, rating: Rating) -> Draft | None:
    """Return the sentences that answer best; None where no passage shown holds one."""
    found = rating.sentences
    if not found:
        return None
    # What a plain reader of full stops would count as two sentences is said only for want of
    # anything else, so that an answer never counts as more than two.
    plain = [sentence for sentence in found if _is_plain(quoted(sentence))] or found
    lengths = [len(quoted(sentence)) for sentence in plain]
    compared = compared_passages(evidence)
    pair = compared and best_of_each(rating, plain, lengths, _ROOM, compared)
    pair = pair or best_pair(rating, plain, lengths, _ROOM)
    if pair is not None:
        if compared:
            return Draft((pair.anchor, pair.conclusion), pair)
        if _is_idle(evidence, rating, pair):
            return Draft((pair.conclusion,), pair)
        if (alone := _sufficient(evidence, rating, pair)) is not None:
            return Draft((alone,), pair)
        return Draft((pair.anchor, pair.conclusion), pair)
    return Draft((max(plain, key=lambda sentence: rating.rate(sentence, sentence)),), None)


def compose(evidence: Evidence, chosen: Draft) -> Answer:
    """Return the answer that says the sentences of `chosen`."""
    text = _shortened(" ".join(quoted(sentence) for sentence in chosen.said))
    if evidence.question.kind == "yes_no":
        text = f"{'Yes' if agrees(evidence) else 'No'}: {text}"
    cited = dict.fromkeys(sentence.finding.shown.passage_id for sentence in chosen.said)
    return Answer(text=text, cited=tuple(cited))


def _is_idle(evidence: Evidence, rating: Rating, pair: Pair) -> bool:
    """Return whether the anchor can go: it adds little, and the conclusion can do without it.

    It can where no name links the two, where its own title stands in the question, or where it
    holds most of the question by itself.
    """
    anchor, conclusion = pair.anchor, pair.conclusion
    if evidence.question.kind == "yes_no":
        return False
    if evidence.share(anchor.words - conclusion.words) >= _LITTLE:
        return False
    linked = rating.are_linked(anchor, conclusion) or rating.are_linked(conclusion, anchor)
    return not linked or rating.is_titled(conclusion) or evidence.share(conclusion.words) > _MOST


def _sufficient(evidence: Evidence, rating: Rating, pair: Pair) -> Sentence | None:
    """Return the sentence of `pair` that says it all, where no name links it to the other."""
    anchor, conclusion = pair.anchor, pair.conclusion
    if rating.are_linked(anchor, conclusion) or rating.are_linked(conclusion, anchor):
        return None
    return next((each for each in (conclusion, anchor) if says_it_all(evidence, each)), None)


def _is_plain(text: str) -> bool:
    return _INNER_END.search(text) is None


def quoted(sentence: Sentence) -> str:
    """Return the sentence as an answer says it: after its title, where it does not say that.

    Abbreviations inside it lose their full stop ("St Louis", "John F Kennedy"), so that no
    reader takes it for the end of a sentence; citations keep the text as it was shown.
    """
    text = " ".join(sentence.text.split())
    title = sentence.finding.title
    if title and padded(tokenize(title)) not in sentence.tokens:
        text = f"{title}: {text}"
    text = _ABBREVIATED.sub(r"\1", text)
    return text if _ENDS.search(text) else f"{text}."


def _shortened(text: str) -> str:
    if len(text) <= _ROOM:
        return text
    return text[: text.rfind(" ", 0, _ROOM - 1) + 1 or _ROOM - 1].rstrip() + "…"
