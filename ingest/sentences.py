"""Sentence boundaries, as offsets that cover the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import sentencex  # type: ignore[import-untyped]  # ships no types

# sentencex 1.0 looks one byte back for the space before a full stop and panics on a wider one
# ("M\u3000."); each such space is given to it as a space of one byte, so offsets stay the same.
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")
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
    narrow = text if text.isascii() else _WIDE_SPACE.sub(" ", text)
    spans: list[tuple[int, int]] = []
    start = end = 0
    for piece in _segments(narrow, language):
        if piece.isspace():
            end += len(piece)
            if spans:
                spans[-1] = (spans[-1][0], end)
                start = end
            continue
        end += len(piece)
        spans.append((start, end))
        start = end
    if start < end:
        spans.append((start, end))
    return spans


def _segments(text: str, language: str) -> Iterator[str]:
    """Yield adjoining pieces of `text`, a window at a time.

    sentencex takes time quadratic in the quotations of a text (160,000 characters of ``「あ。」``
    took ten seconds), so it is given a bounded part; what is last in it may go on in the next.
    """
    start = 0
    while start < len(text):
        window = text[start : start + _WINDOW_CODE_POINTS]
        pieces = _segment(window, language)
        if start + len(window) < len(text) and len(pieces) > 1:
            pieces.pop()
        yield from pieces
        start += sum(map(len, pieces))


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
