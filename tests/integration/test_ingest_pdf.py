"""PDF files through the process that reads them: pages, words, bounds, and what it survives."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.readers import pdf as pdf_reader
from ingest.readers.settings import ReaderSettings
from tests.unit.ingest_files import pdf, read, reasons, zipped

CRASH = "crashes its reader, or needs over 2147483648 bytes"
ENCRYPTED = f"/Filter /Standard /V 1 /R 2 /P -4 /O <{'00' * 32}> /U <{'11' * 32}>"


def test_pages_are_parts_and_words_are_whole(tmp_path: Path) -> None:
    made = pdf(
        [
            ["This is informa-", "tion on a well-", "known Anglo-", "Saxon, 2019-", "2020. A sec-"],
            ["ond page; well-known \\(yes\\).", "Grüße"],
            [],
            ["The last"],
        ],
        title="A  report",
    )
    [document], rejects, skipped = read(tmp_path, {"a.pdf": made})
    assert (rejects, skipped) == ([], [])
    first = "This is information on a well-known Anglo-Saxon, 2019-\n2020. A second\n"
    second = "page; well-known (yes).\nGrüße\n"
    assert document.text == f"{first}{second}The last"
    assert document.parts == (
        (0, "page 1"),
        (len(first), "page 2"),
        (len(first + second), "page 4"),
    )
    assert (document.id, document.title) == ("a.pdf", "A report")


def test_what_cannot_be_read_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    whole = pdf([["words"]])
    documents, rejects, _ = read(
        tmp_path,
        {
            "a.pdf": pdf([["words"]], encrypt=ENCRYPTED),
            "b.pdf": whole[:150],
            "c.pdf": b"",
            "d.pdf": b"no PDF at all",
            "e.pdf": whole,
        },
    )
    assert [each.id for each in documents] == ["e.pdf"]
    assert reasons(rejects, tmp_path) == [
        ("a.pdf", "encrypted_file"),
        ("b.pdf", "damaged_file"),
        ("c.pdf", "damaged_file"),
        ("d.pdf", "damaged_file"),
    ]
    assert rejects[0].message == "it is encrypted; save a copy without a password"


def test_a_pdf_of_images_only_has_no_text(tmp_path: Path) -> None:
    [document], rejects, _ = read(tmp_path, {"a.pdf": pdf([[], []])})
    assert (document.text, document.parts, rejects) == ("", (), [])


def test_bounds_of_pages_page_text_and_file(tmp_path: Path) -> None:
    files = {
        "a.pdf": pdf([["x"]] * 3),
        "b.pdf": pdf([["x"]] * 2),
        "c.pdf": pdf([["x"], ["y" * 21]]),
        "d.pdf": pdf([["y" * 19, "z" * 19]] * 2),
        "e.pdf": pdf([["x"]]) + b"%" * 3_000,
    }
    settings = ReaderSettings(
        max_pages=2, max_page_characters=20, max_file_bytes=60, max_package_bytes=3_000
    )
    documents, rejects, _ = read(tmp_path, files, settings)
    assert [each.id for each in documents] == ["b.pdf"]
    assert reasons(rejects, tmp_path) == [
        (name, "document_too_large") for name in ("a.pdf", "c.pdf", "d.pdf", "e.pdf")
    ]
    assert rejects[0].message == "it has 3 pages, over 2; split it or raise the limit"


def test_the_text_of_all_pages_is_bounded(tmp_path: Path) -> None:
    files = {"a.pdf": pdf([["y" * 30]] * 3), "b.pdf": pdf([["y" * 30]])}
    documents, rejects, _ = read(tmp_path, files, ReaderSettings(max_file_bytes=60))
    assert [each.id for each in documents] == ["b.pdf"]
    assert reasons(rejects, tmp_path) == [("a.pdf", "document_too_large")]


def test_a_damaged_page_is_a_reject_and_the_others_are_read(tmp_path: Path) -> None:
    made = pdf([["one"], ["two"], ["three"]]).replace(b"/Kids [5 0 R 7 0 R", b"/Kids [5 0 R 99 0 R")
    [document], rejects, _ = read(tmp_path, {"a.pdf": made})
    assert document.text == "one\nthree"
    assert document.parts == ((0, "page 1"), (4, "page 3"))
    assert reasons(rejects, tmp_path) == [("a.pdf:2", "damaged_file")]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", CRASH),
        ("while True: pass", "takes over 0.5 seconds"),
        ("import sys; sys.stdout.write('x' * 100)", CRASH),
        ("bytearray(8 << 30)", CRASH),
    ],
)
def test_a_pdf_that_crashes_or_never_ends_is_refused_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    # A stand-in for the library's failures: the process does this where a file begins with "!".
    really = pdf_reader._PROCESS.read_text()
    hostile = really.replace(
        "    try:\n        document = ",
        f"    if data[:1] == b'!':\n        {script}\n    try:\n        document = ",
    )
    assert hostile != really
    (tmp_path / "process.py").write_text(hostile)
    monkeypatch.setattr(pdf_reader, "_PROCESS", tmp_path / "process.py")
    files = {"a.pdf": b"!" * 3_000_000, "b.pdf": pdf([["words"]])}
    (tmp_path / "in").mkdir()
    documents, rejects, _ = read(tmp_path / "in", files, ReaderSettings(max_pdf_seconds=0.5))
    assert [each.id for each in documents] == ["b.pdf"]
    assert [str(each) for each in rejects] == [
        f"{tmp_path}/in/a.pdf: damaged_file: it {message}; print it to a new PDF and try that"
    ]


def test_a_process_that_fails_for_an_earlier_file_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A stand-in for memory that is never given back: the process ends at its second file.
    really = pdf_reader._PROCESS.read_text()
    leaking = really.replace("replies.flush()\n", "replies.flush()\n        return\n")
    assert leaking != really
    (tmp_path / "process.py").write_text(leaking)
    monkeypatch.setattr(pdf_reader, "_PROCESS", tmp_path / "process.py")
    (tmp_path / "in").mkdir()
    documents, rejects, _ = read(tmp_path / "in", {f"{n}.pdf": pdf([[f"n {n}"]]) for n in range(3)})
    assert [each.text for each in documents] == ["n 0", "n 1", "n 2"]
    assert rejects == []


def test_a_pdf_in_an_archive_is_read_from_memory(tmp_path: Path) -> None:
    [document], rejects, _ = read(tmp_path, {"a.zip": zipped({"b/c.pdf": pdf([["words"]])})})
    assert rejects == []
    assert (document.id, document.text) == ("a.zip/b/c.pdf", "words")
