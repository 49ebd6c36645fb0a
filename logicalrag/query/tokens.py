"""The token rule: which words a text consists of, the same for documents and expressions.

A text is first prepared: soft hyphens and zero-width characters removed, runs of more than 30
marks cut, NFC, U+0130 read as ``i``, combining accents and a possessive ``'s`` dropped. A token
is then one Han or Hiragana character, or a run of other letters, marks, numbers and ``_`` with at
least one that is no mark, cut every 64 code points; lower case code point by code point, then
folded to ASCII where the folding table knows the character.

Source: the specification of the query language and its definitions. The rule is applied here,
once; engines receive tokens.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import regex

from logicalrag.query.folding import ASCII_FOLD

MAX_TOKEN_CODE_POINTS = 64

_WORD_CLASS = r"\p{L}\p{M}\p{N}_"
# What can stand in a token, and what makes one: marks alone do not.
TOKEN_CHARACTER = regex.compile(rf"[{_WORD_CLASS}]", regex.V1)
_IDEOGRAPH = regex.compile(r"[[\p{sc=Han}\p{sc=Hiragana}]&&[\p{L}\p{N}]]", regex.V1)
TOKEN_MAKER = regex.compile(r"[\p{L}\p{N}_]", regex.V1)
# What takes no width: default-ignorable code points, apart from the letters among them
# (Hangul fillers), which are ordinary token characters.
_ZERO_WIDTH = regex.compile(r"[\p{Default_Ignorable_Code_Point}--[\p{L}]]", regex.V1)
# Putting marks into their order takes time quadratic in their number; no writing has so many
# (Unicode Standard Annex 15, section 13: stream-safe text).
MAX_MARKS = 30
_LONG_MARKS = regex.compile(rf"(\p{{M}}{{{MAX_MARKS}}})\p{{M}}+", regex.V1)
_ACCENTS = regex.compile("[\u0300-\u036f]+")
_POSSESSIVE = regex.compile(rf"(?<=[{_WORD_CLASS}])['’][sS](?![{_WORD_CLASS}])", regex.V1)
# Only marks and the later letters of a Hangul syllable can compose with what precedes them, so
# each such piece may be normalised on its own.
_COMPOSED = regex.compile(r"(?s:.)[\p{M}\u1160-\u11ff]*", regex.V1)
# Scripts written without spaces for which this rule has no word boundaries.
_UNSUPPORTED = regex.compile(
    r"[[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]&&[\p{L}]]", regex.V1
)


_NON_ASCII = re.compile("[^\x00-\x7f]+")
_MAX_RUNS = 50_000
# Marks, what takes no width, later letters of a Hangul syllable, ideographs (which split) and
# surrogates.
_CONTEXTUAL = regex.compile(
    r"[\p{M}\p{Default_Ignorable_Code_Point}\u1160-\u11ff\p{sc=Han}\p{sc=Hiragana}\p{Cs}]", regex.V1
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its text as indexed, and where it stands in the source (code points)."""

    text: str
    start: int
    end: int


class _Table(dict[int, str]):
    """What `str.translate` puts in a code point's place; filled as characters are met."""

    def __missing__(self, code_point: int) -> str:
        replacement = _replacement(chr(code_point))
        self[code_point] = replacement
        return replacement


def _replacement(character: str) -> str:
    if not TOKEN_CHARACTER.fullmatch(character):
        return " "
    if _IDEOGRAPH.fullmatch(character):
        return f" {character} "
    lowered = "i" if character == "\u0130" else character.lower()
    return ASCII_FOLD.get(lowered, lowered)


_TABLE = _Table()
# Of UTF-8: what is not ASCII stays.
_UTF8_TABLE = bytes(ord(_TABLE[code]) if code < 128 else code for code in range(256))
# The apostrophe first: the search for it is the fast one.
_ASCII_POSSESSIVE = re.compile(rb"'(?<=[0-9A-Za-z_]')[sS](?![0-9A-Za-z_])")


class _NeedsContextError(Exception):
    """A run of characters whose reading depends on what stands beside it."""


class _Runs(dict[str, str]):
    """Short cut for most texts that are not ASCII: what a run of such characters becomes.

    It holds only runs that can be replaced before the rest of the preparation, because no
    character of theirs composes, vanishes, splits, or can be part of a possessive but as its
    apostrophe. The text is ASCII or nearly so afterwards, and what follows is fast.
    """

    def __missing__(self, run: str) -> str:
        if len(self) >= _MAX_RUNS:
            self.clear()
        parts = [self._one(character) for character in run]
        if any(a == "'" and b.startswith("s") for a, b in pairwise(parts)):
            raise _NeedsContextError
        replacement = self[run] = "".join(parts)
        return replacement

    def _one(self, character: str) -> str:
        if character == "’":
            return "'"
        replacement = _TABLE[ord(character)]
        if _CONTEXTUAL.match(character) or not unicodedata.is_normalized("NFC", character):
            raise _NeedsContextError
        return replacement


_RUNS = _Runs()


def _replaced(text: str, start: int, end: int) -> str:
    replacement = _RUNS[text[start:end]]
    # An ``š`` after an apostrophe is no possessive ``s``, and would look like one.
    if replacement.startswith("s") and start and text[start - 1] == "'":
        raise _NeedsContextError
    return replacement


def _replace_for_codec(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _replaced(error.object, error.start, error.end), error.end


# An error handler of the codec is the fastest way over the runs of a text; what it returns has to
# be ASCII, or the codec gives up.
_RUNS_TO_ASCII = "logicalrag.query.tokens"
codecs.register_error(_RUNS_TO_ASCII, _replace_for_codec)


def _run_replacement(match: re.Match[str]) -> str:
    return _replaced(match.string, match.start(), match.end())


def has_unsupported_script(text: str) -> bool:
    """Return whether `text` holds letters of a script without word rules here (Thai, Lao, …)."""
    return not text.isascii() and _UNSUPPORTED.search(text) is not None


def tokenize(text: str) -> list[str]:
    """Return the tokens of `text` in order; any text is accepted, in time linear in its length."""
    return tokens_spaced(text).split()


def tokens_spaced(text: str) -> str:
    """Return one text of the tokens of `text`, in order, parted by white space.

    It is what an index reads that splits at white space.
    """
    try:
        return _ascii_spaced(text.encode("ascii", _RUNS_TO_ASCII))
    except _NeedsContextError:
        return _spaced_in_full(text)
    except UnicodeEncodeError:
        pass
    try:
        text = _NON_ASCII.sub(_run_replacement, text)
    except _NeedsContextError:
        return _spaced_in_full(text)
    if "'" in text:
        text = _POSSESSIVE.sub("", text)
    return _in_pieces(text.encode().translate(_UTF8_TABLE).decode())


def _spaced_in_full(text: str) -> str:
    """Do what `tokens_spaced` does, without a short cut."""
    text = _LONG_MARKS.sub(r"\1", _ZERO_WIDTH.sub("", text))
    text = _without_accents(unicodedata.normalize("NFC", text))
    return _in_pieces(_POSSESSIVE.sub("", text).translate(_TABLE))


def _ascii_spaced(text: bytes) -> str:
    """Do what `tokens_spaced` does for ASCII, several times as fast."""
    if b"'" in text:
        text = _ASCII_POSSESSIVE.sub(b"", text)
    translated = text.translate(_UTF8_TABLE).decode("ascii")
    return _in_pieces(translated) if _has_long_word(translated) else translated


def _in_pieces(translated: str) -> str:
    return " ".join(
        [
            word
            if word.isascii() and len(word) <= MAX_TOKEN_CODE_POINTS
            else " ".join(_pieces(word))
            for word in translated.split()
        ]
    )


def _has_long_word(spaced: str) -> bool:
    # From space to space in steps as long as they can be: ten steps for a usual passage.
    position, last = 0, len(spaced) - MAX_TOKEN_CODE_POINTS
    while position < last:
        position = spaced.rfind(" ", position, position + MAX_TOKEN_CODE_POINTS + 1) + 1
        if not position:
            return True
    return False


def token_spans(text: str) -> list[Token]:
    """Return the tokens of `text` with their places in it; ``[t.text …] == tokenize(text)``.

    A place covers every source character that went into the token, and where characters were
    composed or removed, the whole of what was composed.
    """
    prepared, starts, ends = _prepare_with_offsets(text)
    found: list[Token] = []
    folded: list[str] = []
    origins: list[int] = []

    def flush() -> None:
        word = "".join(folded)
        for begin in range(0, len(word), MAX_TOKEN_CODE_POINTS):
            piece = word[begin : begin + MAX_TOKEN_CODE_POINTS]
            if TOKEN_MAKER.search(piece):
                first, last = origins[begin], origins[begin + len(piece) - 1]
                found.append(Token(piece, starts[first], ends[last]))
        folded.clear()
        origins.clear()

    for index, character in enumerate(prepared):
        replacement = _TABLE[ord(character)]
        if replacement.isspace():
            flush()
        elif replacement[0] == " ":
            flush()
            found.append(Token(replacement.strip(), starts[index], ends[index]))
        else:
            folded.append(replacement)
            origins.extend([index] * len(replacement))
    flush()
    return found


def _without_accents(composed: str) -> str:
    bare, removed = _ACCENTS.subn("", composed)
    # Letters that an accent kept apart (of a Hangul syllable) compose once it is gone; without
    # this a token read again would be another token.
    return unicodedata.normalize("NFC", bare) if removed else bare


def _pieces(word: str) -> Iterator[str]:
    for begin in range(0, len(word), MAX_TOKEN_CODE_POINTS):
        piece = word[begin : begin + MAX_TOKEN_CODE_POINTS]
        if piece.isascii() or TOKEN_MAKER.search(piece):
            yield piece


def _prepare_with_offsets(text: str) -> tuple[str, list[int], list[int]]:
    """Return the prepared text and, for each of its code points, start and end in `text`."""
    kept = [index for index, character in enumerate(text) if not _is_zero_width(character)]
    compact = "".join(text[index] for index in kept)
    for match in reversed(list(_LONG_MARKS.finditer(compact))):
        begin, end = match.start() + MAX_MARKS, match.end()
        compact = compact[:begin] + compact[end:]
        del kept[begin:end]
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _COMPOSED.finditer(compact):
        for character in _without_accents(unicodedata.normalize("NFC", match.group())):
            characters.append(character)
            starts.append(kept[match.start()])
            ends.append(kept[match.end() - 1] + 1)
    prepared = "".join(characters)
    for match in reversed(list(_POSSESSIVE.finditer(prepared))):
        begin, end = match.span()
        prepared = prepared[:begin] + prepared[end:]
        del starts[begin:end], ends[begin:end]
    return prepared, starts, ends


def _is_zero_width(character: str) -> bool:
    return not character.isascii() and _ZERO_WIDTH.fullmatch(character) is not None
