"""Which names, numbers and dates of an answer no cited passage holds: a deterministic check.

It reads tokens, not meaning: a claim is supported where its words stand close together and in
order in one passage, a number where the same value stands in one, a date where the same day,
month or year does. A claim listed here is not proved wrong; it is not in what was cited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import regex

from logicalrag.agent.outcome import Unsupported
from logicalrag.query.tokens import Token, token_spans, tokenize

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(?P<day>[0-3]?[0-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[0-9]{3,4})"
_DATES = tuple(
    regex.compile(pattern, regex.IGNORECASE)
    for pattern in (
        rf"(?<![\w.]){_DAY}\.?\s+(?:of\s+)?(?P<month>{_MONTH})\b\.?,?\s+{_YEAR}\b",
        rf"\b(?P<month>{_MONTH})\b\.?\s+{_DAY},?\s+{_YEAR}\b",
        rf"(?<![\w-]){_YEAR}-(?P<number>[01][0-9])-(?P<day>[0-3][0-9])(?![\w-])",
        rf"\b(?P<month>{_MONTH})\b\.?,?\s+{_YEAR}\b",
        rf"(?<![\w.]){_DAY}\.?\s+(?:of\s+)?(?P<month>{_MONTH})\b(?!\s+[0-9]{{3,4}})",
        rf"\b(?P<month>{_MONTH})\b\.?\s+{_DAY}(?![\w,]*\s*[0-9]{{3,4}})\b",
    )
)
# Digits with separators of thousands or a decimal part; a sign or unit is no part of it.
_NUMBER = regex.compile(r"(?<![\w.,])(?<!\p{L}[-/])[0-9]+(?:[,  ][0-9]{3})*(?:\.[0-9]+)?(?![\w])")
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
_NUMBER_WORDS = (
    {word: str(value) for value, word in enumerate(_SMALL)}
    | {
        "thirty": "30",
        "forty": "40",
        "fifty": "50",
        "sixty": "60",
        "seventy": "70",
        "eighty": "80",
        "ninety": "90",
        "hundred": "100",
        "thousand": "1000",
        "million": "1000000",
        "billion": "1000000000",
    }
    | {
        word: str(value)
        for value, word in enumerate(
            "first second third fourth fifth sixth seventh eighth ninth tenth".split(), start=1
        )
    }
)
# Words that are too often no number at all.
_NOT_NUMBERS = frozenset({"one", "first", "second"})
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


@dataclass(frozen=True, slots=True)
class _Claim:
    text: str
    kind: Literal["name", "number", "date"]
    start: int
    end: int
    value: tuple[str, ...]


def unsupported(answer: str, passages: Sequence[str]) -> tuple[Unsupported, ...]:
    """Return the claims of `answer` that no passage holds, in order of their places.

    Args:
        answer: the answer's text.
        passages: titles and texts of the cited passages, as shown; at least one.
    """
    tokens = [
        [token for token in tokenize(passage) if token not in _CONNECTORS] for passage in passages
    ]
    dates = {date for passage in passages for _, _, date in _dates(passage)}
    partial = {part for date in dates for part in _parts_of_date(date)}
    numbers = {value for passage in passages for value in _number_values(passage)}
    missing: list[Unsupported] = []
    for claim in _claims(answer):
        if claim.kind == "date":
            held = claim.value in dates or claim.value in partial
        elif claim.kind == "number":
            held = claim.value[0] in numbers
        else:
            held = any(_stands_in(claim.value, words) for words in tokens)
        if not held:
            missing.append(Unsupported(claim.text, claim.kind, claim.start, claim.end))
    return tuple(missing)


def _claims(answer: str) -> list[_Claim]:
    claims = [
        _Claim(answer[start:end], "date", start, end, date) for start, end, date in _dates(answer)
    ]
    taken = [(claim.start, claim.end) for claim in claims]
    for start, end, value in _numbers(answer):
        if not _overlaps(start, end, taken):
            claims.append(_Claim(answer[start:end], "number", start, end, (value,)))
    taken = [(claim.start, claim.end) for claim in claims]
    for start, end, words in _names(answer):
        if not _overlaps(start, end, taken):
            claims.append(_Claim(answer[start:end], "name", start, end, words))
    return sorted(claims, key=lambda claim: claim.start)


def _overlaps(start: int, end: int, taken: Sequence[tuple[int, int]]) -> bool:
    return any(start < stop and begin < end for begin, stop in taken)


def _dates(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield (start, end, (year, month, day)) with "" for what is not said, without overlap."""
    taken: list[tuple[int, int]] = []
    for pattern in _DATES:
        for match in pattern.finditer(text):
            if _overlaps(match.start(), match.end(), taken):
                continue
            groups = match.groupdict()
            month = groups.get("month")
            number = str(_MONTHS[month.lower()]) if month else str(int(groups["number"]))
            day = groups.get("day")
            taken.append(match.span())
            yield (
                *match.span(),
                (groups.get("year") or "", number, str(int(day)) if day else ""),
            )


def _parts_of_date(date: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the vaguer dates that a date implies: its month and year, its day and month."""
    year, month, day = date
    if year and day:
        yield (year, month, "")
        yield ("", month, day)


def _numbers(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, value) of numbers in digits or words; "1,234.50" is "1234.5"."""
    for match in _NUMBER.finditer(text):
        yield (*match.span(), _value(match.group()))
    for match in regex.finditer(r"\b[0-9]+(?:st|nd|rd|th)\b", text):
        yield (*match.span(), match.group()[:-2])
    for token in token_spans(text):
        if token.text in _NUMBER_WORDS and token.text not in _NOT_NUMBERS:
            yield (token.start, token.end, _NUMBER_WORDS[token.text])


def _number_values(text: str) -> Iterator[str]:
    """Yield the value of everything in a passage that can be read as a number."""
    for _, _, value in _numbers(text):
        yield value
    for token in tokenize(text):
        if token in _NUMBER_WORDS:
            yield _NUMBER_WORDS[token]
        elif digits := regex.match(r"[0-9]+", token):  # "1990s", "42nd", "350km"
            yield _value(digits.group())


def _value(digits: str) -> str:
    plain = regex.sub("[,  ]", "", digits)
    whole, _, decimals = plain.partition(".")
    decimals = decimals.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{decimals}" if decimals else whole


def _names(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield (start, end, words) of runs of capitalised words and codes, connectors inside."""
    run: list[Token] = []
    for token in [*token_spans(text), None]:
        if token is not None and _joins(text, run, token):
            run.append(token)
            continue
        while run and run[-1].text in _CONNECTORS:
            run.pop()
        while run and run[0].text in _NO_NAMES:
            run.pop(0)
        if run:
            words = tuple(word.text for word in run if word.text not in _CONNECTORS)
            if words and not all(word.isdigit() for word in words):
                yield (run[0].start, run[-1].end, words)
        run = [token] if token is not None and _is_capital(text, token) else []


def _joins(text: str, run: Sequence[Token], token: Token) -> bool:
    """Return whether `token` goes on with the name in `run`: same sentence, no comma between."""
    if not run:
        return False
    between = text[run[-1].end : token.start]
    if regex.search(r"[,;:()\"“”\n]|[.!?]\s", between) and not _is_initial(text, run[-1], between):
        return False
    part_of_code = between in {"-", "/", "."} and token.text.isdigit()
    return _is_capital(text, token) or token.text in _CONNECTORS or part_of_code


def _is_initial(text: str, token: Token, between: str) -> bool:
    """Return whether the stop after `token` belongs to an initial ("J. S. Bach", "Dr. No")."""
    return between.startswith(". ") and token.end - token.start <= 2 and _is_capital(text, token)


def _is_capital(text: str, token: Token) -> bool:
    written = text[token.start : token.end]
    has_letter = any(character.isalpha() for character in written)
    return has_letter and (
        written[0].isupper()
        or (any(c.isdigit() for c in written) and not regex.fullmatch(r"[0-9]+\p{L}+", written))
    )


def _stands_in(words: Sequence[str], passage: Sequence[str]) -> bool:
    """Return whether `words` stand in `passage` in order, at most `_MAX_GAP` words apart.

    Neither holds connectors.
    """
    for begin, first in enumerate(passage):
        if first != words[0]:
            continue
        place = begin
        for word in words[1:]:
            window = passage[place + 1 : place + 2 + _MAX_GAP]
            if word not in window:
                break
            place += 1 + window.index(word)
        else:
            return True
    return False
