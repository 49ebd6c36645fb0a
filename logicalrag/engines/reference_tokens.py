"""The reference engine's own tokenizer: the token rule as a plain loop over characters.

It shares nothing with `logicalrag.query.tokens`, so that the two can be checked against each
other. They agree on letters of every script and on the accents of Latin; they may differ on

- characters that only a large folding table knows: phonetic and turned letters, insular and
  Latin-D letters, digraph letters (``ǆ ĳ``), raised letters, circled numbers, typographic
  ligatures (``ﬁ``);
- words of more than 64 code points that hold letters folded to two (``ß``): here a word is cut
  before it is folded;
- runs of more than 30 marks, which only the other one cuts;
- characters newer than the Unicode version of the running Python.
"""

from __future__ import annotations

import unicodedata

MAX_TOKEN_CODE_POINTS = 64

# Unicode 16.0, Scripts.txt: Script=Han and Script=Hiragana, first and last code point.
_HAN_AND_HIRAGANA = (
    (0x2E80, 0x2E99),
    (0x2E9B, 0x2EF3),
    (0x2F00, 0x2FD5),
    (0x3005, 0x3005),
    (0x3007, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x3096),
    (0x309D, 0x309F),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFA6D),
    (0xFA70, 0xFAD9),
    (0x16FE2, 0x16FE3),
    (0x16FF0, 0x16FF1),
    (0x1B001, 0x1B11F),
    (0x1B132, 0x1B132),
    (0x1B150, 0x1B152),
    (0x1F200, 0x1F200),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B739),
    (0x2B740, 0x2B81D),
    (0x2B820, 0x2CEA1),
    (0x2CEB0, 0x2EBE0),
    (0x2EBF0, 0x2EE5D),
    (0x2F800, 0x2FA1D),
    (0x30000, 0x3134A),
    (0x31350, 0x323AF),
)

# Soft hyphen, joiners, direction marks, variation selectors, byte-order mark, tags.
_WITHOUT_WIDTH = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)

# Lower-case Latin letters with a stroke, a hook of their own, or two letters in one: Unicode
# gives them no decomposition, Latin alphabets in daily use need them.
_UNDECOMPOSED = {
    "ß": "ss",
    "æ": "ae",
    "ǽ": "ae",
    "ǣ": "ae",
    "œ": "oe",
    "ø": "o",
    "ǿ": "o",
    "þ": "th",
    "ð": "d",
    "đ": "d",
    "ł": "l",
    "ŀ": "l",
    "ı": "i",
    "ȷ": "j",
    "ħ": "h",
    "ŧ": "t",
    "ŋ": "n",
    "ĸ": "q",
    "ſ": "s",
    "ə": "a",
    "ɛ": "e",
    "ɔ": "o",
    "ɓ": "b",
    "ɗ": "d",
    "ƙ": "k",
    "ƒ": "f",
    "ɨ": "i",
    "ʉ": "u",
}


def tokenize(text: str) -> list[str]:
    """Return the tokens of `text` in order.

    Source: the specification of the query language, "one token rule", and its definitions, "text
    before the token rule".
    """
    visible = "".join(character for character in text if not _within(character, _WITHOUT_WIDTH))
    composed = unicodedata.normalize("NFC", visible)
    # Accents that no composed character holds; the others go with `_fold`.
    unaccented = "".join(character for character in composed if not _is_accent(character))
    characters = _without_possessives(unaccented)
    tokens: list[str] = []
    run = ""
    for character in characters:
        if not _in_a_word(character):
            tokens += _cut(run)
            run = ""
        elif _within(character, _HAN_AND_HIRAGANA):
            tokens += _cut(run)
            tokens += _cut(character)
            run = ""
        else:
            run += character
    return tokens + _cut(run)


def _without_possessives(text: str) -> str:
    """Drop ``'s`` and ``’s`` where they end a word."""
    kept = ""
    at = 0
    while at < len(text):
        ends_a_word = (
            text[at] in "'’"
            and text[at + 1 : at + 2] in ("s", "S")
            and at > 0
            and _in_a_word(text[at - 1])
            and not (at + 2 < len(text) and _in_a_word(text[at + 2]))
        )
        if ends_a_word:
            at += 2
        else:
            kept += text[at]
            at += 1
    return kept


def _cut(run: str) -> list[str]:
    """Return the run in pieces of at most 64 code points, folded; pieces of marks only dropped."""
    pieces = (
        run[at : at + MAX_TOKEN_CODE_POINTS] for at in range(0, len(run), MAX_TOKEN_CODE_POINTS)
    )
    return [
        "".join(_fold(character) for character in piece)
        for piece in pieces
        if any(not unicodedata.category(character).startswith("M") for character in piece)
    ]


def _fold(character: str) -> str:
    """Return a character in lower case without its accents, where it is a Latin letter."""
    if character == "\u0130":
        return "i"
    lowered = character.lower()
    if 0xFF10 <= ord(character) <= 0xFF5A:  # full-width digits and letters
        return chr(ord(character) - 0xFEE0).lower()
    if unicodedata.decomposition(character).startswith(("<super>", "<sub>")):
        return str(unicodedata.digit(character, character))
    if lowered in _UNDECOMPOSED:
        return _UNDECOMPOSED[lowered]
    bare = "".join(c for c in unicodedata.normalize("NFD", lowered) if not _is_accent(c))
    if bare in _UNDECOMPOSED:
        return _UNDECOMPOSED[bare]
    return bare if bare.isascii() else lowered


def _in_a_word(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LMN"


def _is_accent(character: str) -> bool:
    return 0x0300 <= ord(character) <= 0x036F


def _within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    if character.isascii():
        return False
    return any(first <= ord(character) <= last for first, last in ranges)
