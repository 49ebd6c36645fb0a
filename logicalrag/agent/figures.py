"""Numbers and dates in a text, by value: "1,250", "twelve" and "12 May 1713" are what they mean."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import regex

from logicalrag.query.tokens import token_spans

_MONTH_NAMES = (
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
)
_MONTHS = {
    name: number for number, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()
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
        rf"(?<![\w.]){_DAY}\.(?P<number>[01]?[0-9])\.{_YEAR}(?![\w.]*\w)",
        rf"\b(?P<month>{_MONTH})\b\.?,?\s+{_YEAR}\b",
        rf"(?<![\w.]){_DAY}\.?\s+(?:of\s+)?(?P<month>{_MONTH})\b(?!\s+[0-9]{{3,4}})",
        rf"\b(?P<month>{_MONTH})\b\.?\s+{_DAY}(?![\w,]*\s*[0-9]{{3,4}})\b",
    )
)
# Groups of three digits after one to three, or plain digits; then a decimal part; what follows
# directly is a unit or an ending ("350km", "1980s", "3rd") and no part of the value.
_NUMBER = regex.compile(
    r"(?<![\p{L}\p{N}_])(?:(?<=\p{Nd})|(?<!\p{Lu}[-/]))"
    r"(?:\p{Nd}{1,3}(?:[,\u0020\u00a0\u2009\u202f]\p{Nd}{3})+(?!\p{Nd})|\p{Nd}+)"
    r"(?:\.\p{Nd}+(?!\p{Nd}*\.\p{Nd}))?|(?<![\p{L}\p{N}_.])\.\p{Nd}+"
)
_GROUPING = regex.compile("[,\u0020\u00a0\u2009\u202f]")
_SUFFIX = regex.compile(r"[\p{L}\p{M}]{0,3}")
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_UNITS = {word: value for words in (_SMALL, _ORDINALS) for value, word in enumerate(words)}
_TENS_VALUES = {
    form: 10 * tens
    for tens, word in enumerate(_TENS, start=2)
    for form in (word, word[:-1] + "ieth")
}
_LARGE = {
    "dozen": 12,
    "hundred": 100,
    "hundredth": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
}
_WORDS = _UNITS | _TENS_VALUES | _LARGE
# A pronoun more often than a number.
_NO_NUMBER = "one"

Date = tuple[str, str, str]
"""Year, month, day, without leading zeros; "" for what is not said."""


def dates(text: str) -> Iterator[tuple[int, int, Date]]:
    """Yield (start, end, date) of the dates in `text`, without overlap, in no certain order."""
    taken = bytearray(len(text))
    for pattern in _DATES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            taken[start:end] = b"\1" * (end - start)
            groups = match.groupdict()
            month = groups.get("month")
            number = _MONTHS[month.lower()] if month else int(groups["number"])
            day = groups.get("day")
            year = groups.get("year")
            yield start, end, (year or "", str(number), str(int(day)) if day else "")


def vaguer(date: Date) -> Iterator[Date]:
    """Yield the dates that `date` implies: its month and year, its day and month."""
    year, month, day = date
    if year and day:
        yield (year, month, "")
        yield ("", month, day)


def numbers(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, value) of numbers in digits and in words, in no certain order.

    "1,234.50" has the value "1234.5", "twenty-two" and "22nd" have "22", "1980s" has "1980". The
    place of a number in digits covers a short ending that belongs to it.
    """
    for match in _NUMBER.finditer(text):
        suffix = _SUFFIX.match(text, match.end())
        end = suffix.end() if suffix else match.end()
        yield match.start(), end, _value(match.group())
    tokens = token_spans(text)
    place = 0
    while place < len(tokens):
        token = tokens[place]
        place += 1
        value = _WORDS.get(token.text)
        if value is None or token.text == _NO_NUMBER:
            continue
        end = token.end
        if token.text in _TENS_VALUES and place < len(tokens):
            unit = _UNITS.get(tokens[place].text, 0)
            if 1 <= unit <= 9 and text[end : tokens[place].start] in {"-", " "}:
                value, end = value + unit, tokens[place].end
                place += 1
        yield token.start, end, str(value)


def _value(digits: str) -> str:
    plain = _GROUPING.sub("", unicodedata.normalize("NFKC", digits))
    whole, _, decimals = plain.partition(".")
    decimals = decimals.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{decimals}" if decimals else whole
