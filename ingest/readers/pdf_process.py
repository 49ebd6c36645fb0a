"""The process that reads PDFs: bytes in on standard input, text out on standard output.

pdfium is a C++ library that parses untrusted files: one may crash it or make it run for ever, so
it has a process of its own, with a bound on its memory. It is not thread-safe, and here it has
one thread. This file is run as a script and imports nothing of the product.

For each PDF the input holds `REQUEST` (bytes of the file, most pages, most code points of a page)
and the file; the output then holds frames, each its length (`LENGTH`) and JSON: the title, then
for each page its text or null where it is damaged, then ``{"end": true}``. In place of any of
these, the last may be ``{"refused": [reason, message]}``.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any, BinaryIO

REQUEST = struct.Struct(">QQQ")
LENGTH = struct.Struct(">Q")


def main(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while head := requests.read(REQUEST.size):
        size, max_pages, max_characters = REQUEST.unpack(head)
        for frame in _frames(requests.read(size), max_pages, max_characters):
            encoded = json.dumps(frame).encode()
            replies.write(LENGTH.pack(len(encoded)) + encoded)
        replies.flush()


def _frames(data: bytes, max_pages: int, max_characters: int) -> Iterator[object]:
    import pypdfium2  # type: ignore[import-untyped]  # ships no types; only this process loads it
    from pypdfium2 import raw

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as failure:
        if failure.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            yield _refused("encrypted_file", "it is encrypted; save a copy without a password")
        else:
            wrong = f"it is not read as a PDF ({failure}); get a whole copy of it"
            yield _refused("damaged_file", wrong)
        return
    with closing(document):
        yield from _pages(document, max_pages, max_characters)


def _pages(document: Any, max_pages: int, max_characters: int) -> Iterator[object]:
    from pypdfium2 import PdfiumError

    pages = len(document)
    if pages > max_pages:
        wrong = f"it has {pages} pages, over {max_pages}; split it or raise the limit"
        yield _refused("document_too_large", wrong)
        return
    yield document.get_metadata_value("Title")
    for number in range(pages):
        try:
            page = document[number]
            text = page.get_textpage()
        except PdfiumError:
            yield None
            continue
        if text.count_chars() > max_characters:
            wrong = (
                f"page {number + 1} has more than {max_characters} characters; "
                "split it or raise the limit"
            )
            yield _refused("document_too_large", wrong)
            return
        yield text.get_text_bounded()
        text.close()
        page.close()
    yield {"end": True}


def _refused(reason: str, message: str) -> object:
    return {"refused": [reason, message]}


def _limit_memory(max_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))


if __name__ == "__main__":
    _limit_memory(int(sys.argv[1]))
    main(sys.stdin.buffer, sys.stdout.buffer)
