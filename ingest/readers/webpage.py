"""HTML: what a reader sees, a line to a block; no scripts, no styles."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from html import unescape

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from bs4.dammit import EncodingDetector
from bs4.element import CData, NavigableString, PageElement

from ingest.documents import SourceDocument
from ingest.readers.plain import PlainText

# A heading that is a whole text by mistake is cut as a title; the text itself has all of it.
MAX_HEADING_CODE_POINTS = 500
_UNSEEN = frozenset({"script", "style", "template", "head", "title"})
_VERBATIM = frozenset({"pre", "textarea", "listing", "xmp"})
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol"
    " option p pre section summary table tbody tfoot thead tr ul".split()
)
_PARAGRAPHS = frozenset("p h1 h2 h3 h4 h5 h6 blockquote pre table ul ol dl section article".split())
_CELLS = frozenset({"td", "th"})
_MAX_UNCLOSED = 200
_MAX_TAGS = 1_000_000  # each takes some 750 bytes of memory
_UNCLOSED = re.compile(r"<[a-zA-Z/!?][^<>]*(?=<|$)")
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_CODE = re.compile(r"<(script|style)[^<>]*>", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\n\r\f\v]+")


def html_document(
    text: str, *, identity: str, stem: str, tenant: str, place: str
) -> SourceDocument:
    """Return the document of an HTML page.

    Each block stands on a line of its own, each paragraph after a blank one; cells of a table
    are parted by tabs. The title is the page's, else its first heading, else the file's `stem`.
    """
    title, plain = text_of_html(text)
    return SourceDocument(identity, title or stem, plain, tenant=tenant, place=place)


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding that the page declares in its first bytes, as it spells it."""
    return EncodingDetector.find_declared_encoding(data[:4096], is_html=True)


def text_of_html(markup: str) -> tuple[str, str]:
    """Return the title (may be empty) and the visible text of a page or a piece of one."""
    return _named(markup, lambda soup: soup.title or soup.find(["h1", "h2"]))


def chapter_of_html(markup: str) -> tuple[str, str]:
    """Return what `text_of_html` does with the first heading, which a book's title is not."""
    return _named(markup, lambda soup: soup.find(["h1", "h2", "h3"]))


def _named(
    markup: str, name_of: Callable[[BeautifulSoup], Tag | NavigableString | None]
) -> tuple[str, str]:
    if _is_hostile(markup):
        return "", PlainText.of(unescape(_TAG.sub(" ", _without_code(markup))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        soup = BeautifulSoup(markup, "html.parser")
    name = name_of(soup)
    line = _line(name.get_text()) if name else ""
    return (line[:MAX_HEADING_CODE_POINTS], _visible(soup))


def _is_hostile(markup: str) -> bool:
    """Return whether there are so many tags, or unclosed ones, that no parser will do.

    Many take gigabytes of memory, and unclosed ones hours: Python's parser before 3.13.6 looks
    for the end of each from its beginning to the end of the page. Code may hold `<`, which costs
    nothing.
    """
    tags = markup.count("<")
    if tags <= _MAX_UNCLOSED or tags > _MAX_TAGS:
        return tags > _MAX_TAGS
    unclosed = sum(1 for _ in _UNCLOSED.finditer(_without_code(markup)))
    return unclosed > _MAX_UNCLOSED


def _without_code(markup: str) -> str:
    """Return the page without its scripts and styles, in one pass whatever it holds."""
    parts: list[str] = []
    start = 0
    for opening in _CODE.finditer(markup):
        if opening.start() < start:
            continue
        end = re.compile(rf"</{opening[1]}[^<>]*>", re.IGNORECASE).search(markup, opening.end())
        if end is None:
            break
        parts.append(markup[start : opening.start()])
        start = end.end()
    parts.append(markup[start:])
    return "".join(parts)


def _line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def _visible(soup: BeautifulSoup) -> str:
    plain = PlainText()
    verbatim = 0
    # A stack of its own: pages nest more deeply than Python may call.
    stack: list[tuple[PageElement, bool]] = [(soup, False)]
    while stack:
        element, leaving = stack.pop()
        if isinstance(element, Tag):
            name = element.name
            if name in _UNSEEN:
                continue
            if not leaving:
                stack.append((element, True))
                stack.extend((child, False) for child in reversed(element.contents))
            verbatim += (-1 if leaving else 1) * (name in _VERBATIM)
            if name in _PARAGRAPHS:
                plain.end_paragraph()
            elif name in _BLOCKS:
                plain.end_line()
            elif name == "br" and leaving:
                plain.break_line()
            elif name in _CELLS and leaving:
                plain.add("\t")
        elif type(element) in (NavigableString, CData):
            text = str(element)
            if not verbatim:
                text = _SPACES.sub(" ", text)
                text = text.lstrip(" ") if plain.at_line_start else text
            plain.add(text)
    return str(plain)
