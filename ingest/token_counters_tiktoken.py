"""Exact counts of a language model's tokens, by an encoding of tiktoken and a memory of words."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Protocol

from ingest.token_counters import Counter

# These encodings first part a text by one pattern, which lets a space stand only at the start of
# what it matches, but for white space alone; so a space after anything else begins a new part,
# and nothing before it matters. A line's end closes a part where neither space nor `/` follows.
_PARTED_AT_SPACES = frozenset({"cl100k_base", "o200k_base", "o200k_harmony"})
_WORD_GAP = re.compile(r"(?<=\S) ")
_MAX_WORDS = 200_000
_MAX_WORD_CODE_POINTS = 64
_MARKS = frozenset(",.;:!?")
_LETTERS = frozenset(string.ascii_letters)


class Encoding(Protocol):
    """What is used of ``tiktoken.Encoding``; the package itself is not needed here."""

    @property
    def name(self) -> str:
        """The encoding's name, as ``cl100k_base``."""

    def encode_ordinary(self, text: str, /) -> list[int]:
        """Return the tokens of `text`, in which nothing stands for a special one."""


def encoding_counter(encoding: Encoding) -> Counter:
    """Return a counter whose counts are ``len(encoding.encode_ordinary(text))``.

    Fast for ``cl100k_base``, ``o200k_base`` and ``o200k_harmony``, whose words it remembers (at
    most 200,000 in each of three places, some 20 MB); any other encoding is asked about every
    text.

    Args:
        encoding: such as ``tiktoken.get_encoding("cl100k_base")``.
    """

    def encode(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    name = f"tiktoken/1 {encoding.name}"
    if encoding.name not in _PARTED_AT_SPACES:
        return Counter(name, encode)
    words = _Words(encode)
    return Counter(name, words.count, words.seam)


class _IrregularSpaceError(Exception):
    """White space before a space: no part begins there."""


class _Counts(dict[str, int]):
    """A memory of how many tokens a text is, with a fixed text before it."""

    def __init__(self, encode: Callable[[str], int], before: str) -> None:
        super().__init__()
        self._encode = encode
        self._before = before

    def __missing__(self, text: str) -> int:
        return self._kept(text, self._encode(self._before + text))

    def _kept(self, text: str, count: int) -> int:
        if len(text) <= _MAX_WORD_CODE_POINTS:
            if len(self) >= _MAX_WORDS:
                self.clear()
            self[text] = count
        return count


class _Followed(_Counts):
    """The same for what a space follows."""

    def __missing__(self, text: str) -> int:
        if text[-1:] in _MARKS and text[-2:-1] in _LETTERS:
            return self._kept(text, self[text[:-1]] + 1)  # a mark is a part, of one byte
        if not text or text[-1].isspace():
            raise _IrregularSpaceError
        return self._kept(text, self._encode(self._before + text))


class _Words:
    """Counts texts by their words."""

    def __init__(self, encode: Callable[[str], int]) -> None:
        self._encode = encode
        self._first = _Followed(encode, "")
        self._later = _Followed(encode, " ")
        self._last = _Counts(encode, " ")

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        words = text.split(" ")
        if len(words) == 1:
            return self._encode(text) if text else 0
        last = words.pop()
        later = self._later
        try:
            total = sum(map(later.__getitem__, words)) - later[words[0]] + self._first[words[0]]
        except _IrregularSpaceError:
            return self._count_irregular(text)
        # A space at the end is a token.
        return total + self._last[last] if last else total + 1

    def _count_irregular(self, text: str) -> int:
        first, *words = _WORD_GAP.split(text)
        last = [words.pop()] if words else []
        return (
            self._encode(first)
            + sum(map(self._later.__getitem__, words))
            + sum(map(self._last.__getitem__, last))
        )

    def seam(self, text: str, place: int, end: int) -> int | None:
        """Return what joining adds to the counts (`Counter.seam`); exact where it is known."""
        before = text[place - 1]
        if before == "\n":
            return None if text[place].isspace() or text[place] == "/" else 0
        if before != " " or place < 2 or text[place - 2].isspace():
            return None
        # The space, counted as a token of its own before, goes to the word that follows.
        word = text[place:end].split(" ", 1)[0]
        try:
            return self._later[word] - self._first[word] - 1
        except _IrregularSpaceError:
            return None
