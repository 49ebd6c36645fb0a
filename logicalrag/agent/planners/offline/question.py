"""What a question asks: its words, its names, and the kind of answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import regex

from logicalrag.agent.planners.offline.lexicon import (
    AUXILIARIES,
    CALENDAR_WORDS,
    CONNECTORS,
    STOP_WORDS,
)
from logicalrag.agent.planners.offline.prose import is_capital, name_spans, pieces, stems, words
from logicalrag.engines.analysis import stem
from logicalrag.query.tokens import tokenize

Kind = Literal["yes_no", "date", "number", "name", "other"]

_ASKING = regex.compile(r"\b(who|whom|whose|what|which|when|where|why|how)\b", regex.I)
# What may stand before an asking word; after a noun, who and which and where only refer back.
_BEFORE_ASKING = regex.compile(
    r"""([,;:]|\b(in|on|of|at|for|from|to|by|with|under|than|did|is|was|are|were|and|after|as
    |based|when|whose))\s*$""",
    regex.I | regex.X,
)
_QUOTED = regex.compile(r'["“”„«»]([^"“”„«»]{2,80})["“”„«»]')
_DATE_NOUNS = frozenset("year date month day decade century birthday season span time".split())
_NUMBER_NOUNS = frozenset(
    """percentage number amount population height length area size rate age distance salary code
    enrollment elevation average percent""".split()
)
_PLACE_NOUNS = frozenset(
    """city country state county town district region province village place continent
    island""".split()
)
_MEASURES = frozenset("many much long far tall high large big often old deep wide fast".split())
_HEAD_ENDS = frozenset(
    """is are was were did does do has have had can could would will that who which where when of
    in for from to by on at with and or as during""".split()
)
_NO_NOUNS = frozenset(
    """first last best most recently earliest latest popular famous well known other main official
    current currently former part""".split()
)
_MAX_WORDS = 20
_MAX_TITLE_WORDS = 10
_MAX_LOWER_CASE = 2
_CONTEXT = 20  # characters before an asking word that decide whether it asks
# Longer ones are no names; the bounds keep every expression far below the language's limits.
MAX_NAME_CHARACTERS = 80
_MAX_NAMES = 16


@dataclass(frozen=True, slots=True)
class Question:
    """A question, taken apart.

    Args:
        text: as asked.
        words: stems of its content words, each once, in order; at most 20.
        surface: for each of `words`, the token as asked (parallel).
        tokens: all its tokens in order.
        stems: all its stems in order.
        names: capitalised spans and quotes of several words, with their parts, as written.
        single_names: capitalised words that are no span of several words.
        title_candidates: token strings that could be a title, the likeliest first.
        kind: what an answer must hold.
        focus: stem of the noun asked for ("which city" asks for a city); may be empty.
        nearness: for each of `words`, 1 beside the asking word, falling with the distance
            (parallel): what the answer's own sentence says, rather than how to get there.
    """

    text: str
    words: tuple[str, ...]
    surface: tuple[str, ...]
    tokens: tuple[str, ...]
    stems: tuple[str, ...]
    names: tuple[str, ...]
    single_names: tuple[str, ...]
    title_candidates: tuple[str, ...]
    kind: Kind
    focus: str
    nearness: tuple[float, ...]

    def maximal_names(self) -> tuple[str, ...]:
        """Return the names that are no part of another one."""
        every = (*self.names, *self.single_names)
        framed = {name: f" {' '.join(tokenize(name))} " for name in every}
        return tuple(
            name
            for name in every
            if not any(name != other and framed[name] in framed[other] for other in every)
        )


def analyse(text: str) -> Question:
    """Return what `text` asks; any text is accepted."""
    text = text.strip()
    surface: dict[str, str] = {}
    for token in tokenize(text):
        if token not in STOP_WORDS:
            surface.setdefault(stem(token), token)
    content = tuple(surface)[:_MAX_WORDS]
    quotes = [quote for quote in _QUOTED.findall(text) if tokenize(quote)]
    names, single = _names(text, quotes)
    kind, focus, asking = _asked(text)
    return Question(
        text=text,
        words=content,
        surface=tuple(surface[word] for word in content),
        tokens=tuple(tokenize(text)),
        stems=stems(text),
        names=tuple(names),
        single_names=tuple(single),
        title_candidates=tuple(_title_candidates(text, quotes)),
        kind=kind,
        focus=focus,
        nearness=_nearness(text, content, asking),
    )


def _names(text: str, quotes: list[str]) -> tuple[list[str], list[str]]:
    several: dict[str, None] = {}
    single: dict[str, None] = {}
    for span, start in name_spans(text):
        leading = start == 0 and span[0].lower() in AUXILIARIES
        kept = span[1:] if leading else span
        for part in [kept, *pieces(kept)] if kept else []:
            name = " ".join(part)
            tokens = [token for token in tokenize(name) if token not in STOP_WORDS]
            if not tokens:
                continue
            if len(tokenize(name)) > 1:
                several[name] = None
            elif start > 0 and not _names_nothing(tokens[0]) and len(tokens[0]) > 2:
                single[name] = None
    for quote in quotes:
        (several if len(tokenize(quote)) > 1 else single)[quote] = None
    return [*filter(_short, several)][:_MAX_NAMES], [*filter(_short, single)][:_MAX_NAMES]


def _short(name: str) -> bool:
    return len(name) <= MAX_NAME_CHARACTERS


def _names_nothing(token: str) -> bool:
    return token[0].isdigit() or token in CALENDAR_WORDS


def _title_candidates(text: str, quotes: list[str]) -> list[str]:
    """Return token strings from one capital or digit to another, whole names first, then long."""
    written = words(text)
    ranked: list[tuple[int, int, int, str]] = []
    for first, (word, start) in enumerate(written):
        if not is_capital(word) or (first == 0 and word.lower() in STOP_WORDS | AUXILIARIES):
            continue
        lower = 0
        for last in range(first, min(len(written), first + _MAX_TITLE_WORDS)):
            end_word, end_start = written[last]
            lower += end_word[0].islower() and end_word.lower() not in CONNECTORS
            if lower > _MAX_LOWER_CASE:
                break
            tokens = tokenize(text[start:end_start] + end_word)
            if not is_capital(end_word) or all(token in STOP_WORDS for token in tokens):
                continue
            if first == last and (_names_nothing(tokens[0]) or len(tokens[0]) < 2):
                continue
            ranked.append((lower, first - last, first, " ".join(tokens)))
    ranked.extend((-1, 0, 0, " ".join(tokenize(quote))) for quote in quotes)
    candidates = dict.fromkeys(candidate for *_, candidate in sorted(ranked))
    return [*filter(_short, candidates)]


def _asked(text: str) -> tuple[Kind, str, int]:
    """Return (kind, focus, offset of the asking word)."""
    written = words(text)
    if written and written[0][0].lower() in AUXILIARIES and " or " not in f" {text.lower()} ":
        return "yes_no", "", 0
    asking = list(_ASKING.finditer(text))
    if not asking:
        return "other", "", 0
    match = next((m for m in asking if _truly_asks(m, text)), asking[0])
    word, place = match.group().lower(), match.start()
    after = [w.lower() for w, start in written if start >= match.end()]
    if word == "when":
        return "date", "", place
    if word in ("who", "whom", "whose", "where"):
        return "name", "", place
    if word in ("how", "why"):
        measured = word == "how" and after and after[0] in _MEASURES
        return "number" if measured else "other", "", place
    head = _head(after)
    focus = stem(tokenize(head[-1])[0]) if head else ""
    if not _DATE_NOUNS.isdisjoint(head):
        return "date", "", place
    if not _NUMBER_NOUNS.isdisjoint(head):
        return "number", focus, place
    for noun in head:
        if noun in _PLACE_NOUNS:
            return "name", stem(noun), place
    return "other", focus, place


def _truly_asks(match: regex.Match[str], text: str) -> bool:
    if match.start() == 0 or match.group().lower() in ("what", "how", "why"):
        return True
    before = text[max(0, match.start() - _CONTEXT) : match.start()]
    return _BEFORE_ASKING.search(before) is not None


def _head(after: list[str]) -> list[str]:
    """Return the nouns that follow what or which: "what (is the name of the) board game"."""
    place = 0
    if after and after[0] in ("is", "was", "are", "were"):
        place = 1
        while place < len(after) and after[place] in ("the", "a", "an", "name", "names", "of"):
            place += 1
    head: list[str] = []
    while place < len(after) and after[place] not in _HEAD_ENDS and len(head) < 4:
        head.append(after[place])
        place += 1
    return [
        word
        for word in head
        if word not in STOP_WORDS and word not in _NO_NOUNS and word[0].isalpha()
    ]


def _nearness(text: str, content: tuple[str, ...], asking: int) -> tuple[float, ...]:
    places: dict[str, int] = {}
    for word, start in words(text):
        for token in tokenize(word):
            places.setdefault(stem(token), start)
    # What precedes the asking word is a little further away than what follows it.
    distance = {
        word: abs(place - asking) + (5 if place < asking else 0)
        for word, place in places.items()
        if word in content
    }
    ranks = {word: rank for rank, word in enumerate(sorted(distance, key=lambda w: distance[w]))}
    return tuple(1 / (1 + ranks[word] / 2) if word in ranks else 0.0 for word in content)
