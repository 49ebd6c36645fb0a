"""PDF: the text of each page, from a process of its own, which a hostile file may crash alone."""

from __future__ import annotations

import io
import json
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path

from ingest.documents import Reject, SourceDocument
from ingest.locations import label_of
from ingest.readers.hyphenation import whole_words
from ingest.readers.parts import PartedText
from ingest.readers.pdf_process import LENGTH, REQUEST
from ingest.readers.settings import MIB, ReaderSettings
from ingest.readers.source import Items, RefusedError, Source

_PROCESS = Path(__file__).with_name("pdf_process.py")
_MAX_BYTES_OF_CHARACTER = 12  # escaped in JSON
_SENTENCE_ENDS = tuple('.!?:;"”»)]。！？')


class PdfReader:
    """Reads PDFs, one at a time; its process is started by the first and serves all.

    Args:
        settings: bounds of time, memory, pages and text.
    """

    def __init__(self, settings: ReaderSettings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the process. Idempotent."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.communicate()

    def read(self, source: Source, stream: io.BufferedIOBase) -> Items:
        """Yield a reject for each damaged page, then the document of the others.

        Its parts are the pages, numbered from 1; a page without text is none. Words that a line
        or page end breaks are made whole. The title is that of its metadata, else the file's name.

        Args:
            stream: seekable.

        Raises:
            RefusedError: it is encrypted, damaged, over a bound, or crashes or holds up pdfium.
        """
        settings = self._settings
        title, *pages = self._frames(stream)
        for number, page in enumerate(pages, start=1):
            if page is None:
                wrong = f"page {number} is damaged; what it says is not indexed"
                yield Reject(f"{source.place}:{number}", "damaged_file", wrong, source.identity)
        text = PartedText(settings.max_file_bytes)
        separator = ""
        for number, said in enumerate(whole_words([page or "" for page in pages]), start=1):
            text.add(said, f"page {number}", separator)
            if said:
                separator = "\n\n" if said.endswith(_SENTENCE_ENDS) else "\n"
        yield SourceDocument(
            source.identity,
            label_of(title or "") or source.stem,
            str(text),
            tenant=settings.tenant,
            place=source.place,
            parts=text.parts,
        )

    def _frames(self, stream: io.BufferedIOBase) -> list[str | None]:
        """Return the title, then each page's text, or None for a damaged one.

        A process that read other files before may fail for what they left behind: then a new one
        tries.
        """
        settings = self._settings
        while True:
            is_new = self._process is None
            process = self._started()
            late = threading.Event()
            timer = threading.Timer(settings.max_pdf_seconds, _end, (process, late))
            timer.start()
            try:
                return self._answers(process, stream)
            except (OSError, ValueError, struct.error):
                self.close()
            finally:
                timer.cancel()
            if late.is_set():
                cause = f"takes over {settings.max_pdf_seconds:g} seconds"
            elif is_new:
                cause = f"crashes its reader, or needs over {settings.max_pdf_memory_bytes} bytes"
            else:
                continue
            raise RefusedError("damaged_file", f"it {cause}; print it to a new PDF and try that")

    def _answers(
        self, process: subprocess.Popen[bytes], stream: io.BufferedIOBase
    ) -> list[str | None]:
        requests, replies = process.stdin, process.stdout
        if requests is None or replies is None:
            raise OSError("the process has no pipes")
        settings = self._settings
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        requests.write(REQUEST.pack(size, settings.max_pages, settings.max_page_characters))
        shutil.copyfileobj(stream, requests, MIB)
        requests.flush()
        longest = settings.max_page_characters * _MAX_BYTES_OF_CHARACTER + MIB
        answers: list[str | None] = []
        length = 0
        while True:
            [size] = LENGTH.unpack(replies.read(LENGTH.size))
            if size > longest:
                raise ValueError("no answer is so long")
            answer = json.loads(replies.read(size))
            if not isinstance(answer, dict):
                answers.append(answer)
                length += len(answer or "")
                if length > settings.max_file_bytes:
                    self.close()
                    return answers  # which are too long for a document, as its text will tell
            elif "refused" in answer:
                raise RefusedError(*answer["refused"])
            else:
                return answers

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # -P: the folder of the script is no place to import from.
            self._process = subprocess.Popen(  # noqa: S603 # our own interpreter and file
                [sys.executable, "-P", str(_PROCESS), str(self._settings.max_pdf_memory_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()
