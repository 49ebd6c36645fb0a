"""Sentence boundaries, as offsets that cover the whole text."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise

import sentencex  # type: ignore[import-untyped]  # ships no types

# sentencex 1.0 looks one byte back for the space before a full stop and panics on a wider one
# ("M\u3000."); each such space is given to it as a space of one byte, so offsets stay the same.
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_ASCII = bytes(range(128))
_WINDOW_CODE_POINTS = 10_000
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return the sentences of `text` as adjoining (start, end) code points, in order.

    The first begins at 0 and the last ends at ``len(text)``: white space belongs to the sentence
    before it, and at the very start to the first. A text of white space only is one sentence.

    Args:
        text: no lone surrogates.
        language: ISO 639-1 code; unknown ones are cut by the rules of a near language.
    """
    pieces = _segments(_narrow(text), language)
    places = list(accumulate(map(len, pieces), initial=0))
    if any(map(str.isspace, pieces)):
        starts = [
            start for start, piece in zip(places, pieces, strict=False) if not piece.isspace()
        ]
        places = [0, *starts[1:], places[-1]]
    return list(pairwise(places))


def _narrow(text: str) -> str:
    if text.isascii():
        return text
    # Most texts are nearly ASCII; the rest of one is found far faster than it is read.
    rest = text.encode().translate(None, _ASCII).decode()
    return _WIDE_SPACE.sub(" ", text) if _WIDE_SPACE.search(rest) else text


def _segments(text: str, language: str) -> list[str]:
    """Return adjoining pieces of `text`, found a window at a time.

    sentencex takes time quadratic in the quotations of a text (160,000 characters of ``「あ。」``
    took ten seconds), so it is given a bounded part; what is last in it may go on in the next.
    """
    found: list[str] = []
    start = 0
    while start < len(text):
        window = text[start : start + _WINDOW_CODE_POINTS]
        pieces = _segment(window, language)
        start += len(window)
        if start < len(text) and len(pieces) > 1:
            start -= len(pieces.pop())
        found += pieces
    return found


def _segment(text: str, language: str) -> list[str]:
    try:
        pieces: list[str] = sentencex.segment(language, text)
    except BaseException as failure:
        # A panic of the Rust library is no Exception; anything else is not ours to stop.
        if type(failure).__name__ != "PanicException":
            raise
        return _LINE.findall(text)
    if sum(map(len, pieces)) != len(text):
        return _LINE.findall(text)
    return pieces
