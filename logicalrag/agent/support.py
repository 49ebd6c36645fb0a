"""Which names, numbers and dates of an answer no cited passage holds: a deterministic check.

It reads tokens, not meaning: a claim is supported where its words stand close together and in
order in one passage, a number where the same value stands in one, a date where the same day,
month or year does. A claim listed here is not proved wrong; it is not in what was cited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from logicalrag.agent.figures import dates, numbers, vaguer
from logicalrag.agent.outcome import Unsupported
from logicalrag.query.tokens import Token, token_spans, tokenize

# Capitalised by their place in a sentence or by habit; they name nothing by themselves.
_NO_NAMES = frozenset(
    """a about after all although an and another any are as at because before being both but by
    did do does during each either every few for from had has have he her here hers him his how i
    if in into is it its many may more most much my neither no none nor not of on one only or
    other our over she since so some such than that the their them then there these they this
    those though through to too under until up was we were what when where whether which while
    who whom whose why will with without yes yet you your""".split()
)
_CONNECTORS = frozenset("of the de da di del della du la le van von der den al el bin".split())
# Words of a passage that may stand between two words of a name ("Antonio Lucio Vivaldi").
_MAX_GAP = 2
_CASED = regex.compile(r"[\p{Lu}\p{Ll}]")
_CASELESS = regex.compile(r"\p{Lo}+")
_BREAK = regex.compile(r"[,;:()\"“”\n]|[.!?]\s")


def unsupported(answer: str, passages: Sequence[str]) -> tuple[Unsupported, ...]:
    """Return the claims of `answer` that no passage holds, in order of their places.

    Args:
        answer: the answer's text.
        passages: titles and texts of the cited passages, as shown; at least one.
    """
    known_dates = {date for passage in passages for _, _, date in dates(passage)}
    known_dates |= {part for date in known_dates for part in vaguer(date)}
    known_numbers = {value for passage in passages for _, _, value in numbers(passage)}
    tokens = [tokenize(passage) for passage in passages]
    # What was read as a date is no number, and what was read as either is no name.
    taken = bytearray(len(answer))
    missing: list[Unsupported] = []

    def claim(kind: str, start: int, end: int, held: bool) -> None:
        taken[start:end] = b"\1" * (end - start)
        if not held:
            missing.append(Unsupported(answer[start:end], kind, start, end))  # type: ignore[arg-type]

    for start, end, date in dates(answer):
        claim("date", start, end, date in known_dates)
    for start, end, value in numbers(answer):
        if not any(taken[start:end]):
            claim("number", start, end, value in known_numbers)
    for start, end, words in _names(answer):
        if not any(taken[start:end]):
            claim("name", start, end, any(_stands_in(words, passage) for passage in tokens))
    return tuple(sorted(missing, key=lambda found: found.start))


def _names(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield (start, end, words) of runs of capitalised words and codes, connectors inside.

    In a text with cased letters, words of a script without case are taken for names too.
    """
    has_case = _CASED.search(text) is not None
    run: list[Token] = []
    for token in [*token_spans(text), None]:
        is_name = token is not None and _is_name(text, token, has_case)
        if token is not None and _joins(text, run, token, is_name):
            run.append(token)
            continue
        while run and _is_connector(text, run[-1]):
            run.pop()
        while run and run[0].text in _NO_NAMES:
            run.pop(0)
        words = tuple(word.text for word in run if not _is_connector(text, word))
        if words and not all(word.isdigit() for word in words):
            yield (run[0].start, run[-1].end, words)
        run = [token] if token is not None and is_name else []


def _joins(text: str, run: Sequence[Token], token: Token, is_name: bool) -> bool:
    """Return whether `token` goes on with the name in `run`: same sentence, no comma between."""
    if not run:
        return False
    between = text[run[-1].end : token.start]
    if _BREAK.search(between) and not _is_initial(text, run[-1], between):
        return False
    part_of_code = between in {"-", "/", "."} and token.text.isdigit()
    return is_name or part_of_code or _is_connector(text, token)


def _is_connector(text: str, token: Token) -> bool:
    return token.text in _CONNECTORS and text[token.start].islower()


def _is_initial(text: str, token: Token, between: str) -> bool:
    """Return whether the stop after `token` belongs to an initial ("J. S. Bach", "Dr. No")."""
    return between.startswith(". ") and token.end - token.start <= 2 and text[token.start].isupper()


def _is_name(text: str, token: Token, has_case: bool) -> bool:
    """Return whether a word is written as a name: a capital in it, letters and digits, no case."""
    written = text[token.start : token.end]
    if any(character.isupper() for character in written):
        return True
    if has_case and _CASELESS.fullmatch(written):
        return True
    # "b2b", not "350km" or "3rd", which are numbers.
    return written[0].isalpha() and any(character.isdigit() for character in written)


def _stands_in(words: Sequence[str], passage: Sequence[str]) -> bool:
    """Return whether `words` stand in `passage` in order, at most `_MAX_GAP` words apart.

    Connectors between them do not count.
    """
    return any(
        first == words[0] and _goes_on(words, passage, begin) for begin, first in enumerate(passage)
    )


def _goes_on(words: Sequence[str], passage: Sequence[str], place: int) -> bool:
    for word in words[1:]:
        gap = 0
        place += 1
        while place < len(passage) and passage[place] != word:
            gap += passage[place] not in _CONNECTORS
            if gap > _MAX_GAP:
                return False
            place += 1
        if place >= len(passage):
            return False
    return True
