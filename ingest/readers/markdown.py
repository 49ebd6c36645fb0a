"""Markdown: the words without the marks, a line to a block, the first heading as the title."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest.documents import SourceDocument
from ingest.readers.plain import PlainText
from ingest.readers.text import with_line_feeds
from ingest.readers.webpage import MAX_HEADING_CODE_POINTS, text_of_html

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<lines>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|$)")
_TITLE_LINE = re.compile(r"^title:[ \t]*(?P<title>.+?)[ \t]*$", re.MULTILINE)
_BLOCK_ENDS = frozenset(
    {"paragraph_close", "heading_close", "blockquote_close", "table_close", "hr"}
    | {"bullet_list_close", "ordered_list_close"}
)
# The parser drops what is nested more deeply; such a file is read as plain text instead.
_MAX_NESTING = 50
_PARSER = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])


def markdown_document(
    text: str, *, identity: str, stem: str, tenant: str, place: str
) -> SourceDocument:
    """Return the document of a Markdown file.

    The text has no marks of emphasis, links or headings, so that phrases are found across them;
    code stays as it is. The title is that of the front matter, else the first heading, else the
    file's `stem`. Front matter is kept whole in the metadata, as ``front_matter``.
    """
    text = with_line_feeds(text)
    metadata: dict[str, object] = {}
    title = ""
    if match := _FRONT_MATTER.match(text):
        metadata["front_matter"] = match["lines"]
        text = text[match.end() :]
        if found := _TITLE_LINE.search(match["lines"]):
            title = found["title"].strip("\"'")
    tokens = _PARSER.parse(text)
    title = title or _first_heading(tokens) or stem
    whole = all(token.level < _MAX_NESTING - 1 for token in tokens)
    return SourceDocument(
        identity,
        title,
        _plain(tokens) if whole else text,
        metadata=metadata,
        tenant=tenant,
        place=place,
    )


def _first_heading(tokens: list[Token]) -> str:
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and (heading := _inline(inline.children or ()).strip()):
            return " ".join(heading.split())[:MAX_HEADING_CODE_POINTS]
    return ""


def _plain(tokens: list[Token]) -> str:
    plain = PlainText()
    for token in tokens:
        kind = token.type
        if kind == "inline":
            plain.add(_inline(token.children or ()))
        elif kind in ("fence", "code_block"):
            plain.add(token.content.rstrip("\n"))
            plain.end_paragraph()
        elif kind == "html_block":
            plain.add(text_of_html(token.content)[1])
            plain.end_paragraph()
        elif kind in ("td_close", "th_close"):
            plain.add("\t")
        elif kind in ("tr_close", "list_item_close"):
            plain.end_line()
        elif kind in _BLOCK_ENDS:
            # A paragraph that is hidden stands in a list without blank lines.
            if token.hidden:
                plain.end_line()
            else:
                plain.end_paragraph()
    return str(plain)


def _inline(children: Iterable[Token]) -> str:
    parts: list[str] = []
    for child in children:
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif child.type == "image":
            parts.append(_inline(child.children or ()))
    return "".join(parts)
