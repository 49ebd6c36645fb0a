"""Words that the end of a line or page broke, made whole again, so that they are found."""

from __future__ import annotations

from collections.abc import Sequence

import regex

BREAK = "\x02"  # what pdfium writes for a hyphen, and the line end after it
# From the beginning of a run of letters only, else a long one takes hours.
_BROKEN = regex.compile(rf"(?<![\p{{L}}\p{{M}}])([\p{{L}}\p{{M}}]++){BREAK}(?=([\p{{L}}\p{{M}}]+))")
_WORDS = regex.compile(rf"(?<![{BREAK}\p{{L}}\p{{M}}-])[\p{{L}}\p{{M}}]+(?:-[\p{{L}}\p{{M}}]+)*")
_PAGE_END = regex.compile(rf"(?<=\p{{L}})[-\xad‐{BREAK}]\s*$")
_PAGE_BEGIN = regex.compile(r"\s*(\p{Ll}[\p{L}\p{M}]*[^\s]*)\s*")


def whole_words(pages: Sequence[str]) -> list[str]:
    """Return the pages' texts with LF as line ends and no word broken by a line or page end.

    A hyphen at a line's end is dropped, so that ``informa-`` and ``tion`` are one word. It stays
    before a capital (``Anglo-Saxon``), beside digits, and where the document elsewhere has the
    word with a hyphen and nowhere without. A word that goes on over a page's end stands whole on
    the first of the two pages.
    """
    texts = [page.replace("\r\n", "\n").strip() for page in pages]
    for number in range(len(texts) - 1):
        ending = _PAGE_END.search(texts[number])
        beginning = _PAGE_BEGIN.match(texts[number + 1])
        if ending and beginning:
            texts[number] = texts[number][: ending.start()] + BREAK + beginning[1]
            texts[number + 1] = texts[number + 1][beginning.end() :]
    if not any(BREAK in text for text in texts):
        return texts
    known = {word.lower() for text in texts for word in _WORDS.findall(text)}

    def mended(broken: regex.Match[str]) -> str:
        first, second = broken[1], broken[2]
        compound = f"{first}-{second}".lower() in known and (first + second).lower() not in known
        before_capital = second[0].isupper() and not first.isupper()
        return f"{first}-" if compound or before_capital else first

    return [_BROKEN.sub(mended, text).replace(BREAK, "-") for text in texts]
