"""E-mails and mailboxes: bodies, headers, attachments, and malformed ones."""

from __future__ import annotations

import gzip
import io
from email.message import EmailMessage
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.readers.dispatch import Dispatch
from ingest.readers.settings import MIB, ReaderSettings
from ingest.readers.source import Source
from tests.unit.ingest_files import read, reasons, zipped


def _message(subject: str = "Hello", body: str = "The body.\n") -> EmailMessage:
    message = EmailMessage()
    message["From"] = "Ada Lovelace <Ada@X.org>"
    message["To"] = "Bob <bob@y.org>, carol@z.org"
    message["Date"] = "Mon, 30 Nov 2026 21:22:42 +0100"
    message["Subject"] = subject
    message["Message-ID"] = f"<{subject.encode('ascii', 'ignore').decode()[:3]}@x.org>"
    message.set_content(body)
    return message


def test_a_message_is_a_document(tmp_path: Path) -> None:
    [document], rejects, _ = read(
        tmp_path, {"a.eml": _message("Grüße aus Köln", "Zeile eins.\nÄrger.").as_bytes()}
    )
    assert rejects == []
    assert (document.id, document.title) == ("a.eml", "Grüße aus Köln")
    assert document.text == (
        "From: Ada Lovelace <Ada@X.org>\nTo: Bob <bob@y.org>, carol@z.org\n"
        "Date: Mon, 30 Nov 2026 21:22:42 +0100\n\nZeile eins.\nÄrger."
    )
    assert document.metadata == {
        "from": ["ada@x.org"],
        "to": ["bob@y.org", "carol@z.org"],
        "date": "2026-11-30T20:22:42Z",
        "message_id": "Gre@x.org",
    }


@pytest.mark.parametrize(
    ("plain", "expected"), [("Plain text.", "Plain text."), ("\n \n", "Rich text.")]
)
def test_the_plain_body_is_taken_where_it_says_anything(
    tmp_path: Path, plain: str, expected: str
) -> None:
    message = EmailMessage()
    message["Subject"] = "S"
    message.set_content(plain)
    message.add_alternative("<p>Rich <b>text</b>.</p><script>x</script>", subtype="html")
    message.add_attachment("Attached words.", filename="a.txt")
    documents, rejects, _ = read(tmp_path, {"m.eml": message.as_bytes()})
    assert rejects == []
    assert [(each.id, each.text.strip()) for each in documents] == [
        ("m.eml", expected),
        ("m.eml/a.txt", "Attached words."),
    ]


def test_attachments_are_documents_of_their_own(tmp_path: Path) -> None:
    message = _message()
    message.add_attachment(b"# H\n\nwords", "text", "markdown", filename="../up/notes.md")
    message.add_attachment(zipped({"x.txt": "packed"}), "application", "zip", filename="z.zip")
    message.add_attachment("one", filename="n.txt")
    message.add_attachment("two", filename="n.txt")
    message.add_attachment(b"\x89PNG", "image", "png", filename="logo.png")
    message.add_attachment(b"a,b\n1,2\n", "text", "csv")
    message.add_attachment(_message("Inner", "Inner body."))
    documents, rejects, skipped = read(tmp_path, {"m.eml": message.as_bytes()})
    assert rejects == []
    assert [each.id for each in documents] == [
        "m.eml",
        "m.eml/notes.md",
        "m.eml/z.zip/x.txt",
        "m.eml/n.txt",
        "m.eml/n (4).txt",
        "m.eml/attachment-6.csv",
        "m.eml/attachment-7.eml",
    ]
    assert documents[-1].title == "Inner"
    assert documents[-1].text.endswith("Inner body.")
    assert [Path(each.place).name for each in skipped] == ["logo.png"]


def test_deep_nesting_is_bounded(tmp_path: Path) -> None:
    message = _message("0")
    for level in range(1, 9):
        outer = _message(str(level))
        outer.add_attachment(message)
        message = outer
    parts = "".join(
        f'Content-Type: multipart/mixed; boundary="{n}"\n\n--{n}\n' for n in range(5_000)
    )
    files = {"a.eml": message.as_bytes(), "b.eml": b"Subject: x\n" + parts.encode()}
    documents, rejects, _ = read(tmp_path, files, ReaderSettings(max_nesting=5))
    assert [each.title for each in documents] == ["8", "7", "6", "5", "4", "3"]
    assert reasons(rejects, tmp_path) == [
        ("a.eml" + "/attachment-1.eml" * 6, "nested_too_deeply"),
        ("b.eml", "nested_too_deeply"),
    ]


def test_bad_charsets_are_never_another_text_in_silence(tmp_path: Path) -> None:
    head = b"Subject: x\nContent-Type: text/plain; charset=%s\nContent-Transfer-Encoding: 8bit\n\n"
    files = {
        "a.eml": head % b"klingon" + "Grüße".encode(),
        "b.eml": head % b"utf-8" + "Grüße aus München".encode("latin-1"),
        "c.eml": head % b"klingon" + "そ".encode("shift_jis"),
        "d.eml": head % b"koi8-r" + "мир".encode("koi8-r"),
    }
    documents, rejects, _ = read(tmp_path, files)
    assert [each.text for each in documents] == ["Grüße", "Grüße aus München", "мир"]
    assert reasons(rejects, tmp_path) == [("c.eml", "unreadable_encoding")]


def test_the_attachments_of_a_mail_with_a_broken_body_are_read(tmp_path: Path) -> None:
    message = _message(body="x")
    message.add_attachment("words", filename="a.txt")
    data = message.as_bytes().replace(b"\nx\n", b"\n\x82\xbb\n")
    documents, rejects, _ = read(tmp_path, {"m.eml": data})
    assert [each.id for each in documents] == ["m.eml/a.txt"]
    assert reasons(rejects, tmp_path) == [("m.eml", "unreadable_encoding")]


@pytest.mark.parametrize("piece", ["(", '"', "a@b,", "=?x?q?", ".,", "a "])
def test_hostile_headers_end(tmp_path: Path, piece: str) -> None:
    # The standard library's newer parser takes minutes for some of these.
    value = piece * 20_000
    head = f"From: {value}\nTo: {value}\nDate: {value}\nSubject: s\n"
    parameters = f"Content-Type: text/plain; a={value}\n"
    files = {"a.eml": f"{head}\nwords".encode(), "b.eml": f"{head}{parameters}\nwords".encode()}
    documents, rejects, _ = read(tmp_path, files)
    assert [(each.id, each.title, each.text[-5:]) for each in documents] == [
        ("a.eml", "s", "words")
    ]
    assert reasons(rejects, tmp_path) == [("b.eml", "damaged_file")]


@pytest.mark.parametrize("name", ["Zürich.txt", "=?utf-8?q?Z=C3=BCrich=2Etxt?="])
def test_names_of_attachments_outside_ascii_are_read(tmp_path: Path, name: str) -> None:
    data = f'Subject: x\nContent-Disposition: attachment; filename="{name}"\n\nwords'.encode()
    documents, _, _ = read(tmp_path, {"m.eml": data})
    assert [each.id for each in documents] == ["m.eml", "m.eml/Zürich.txt"]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_headers_outside_ascii_are_read(tmp_path: Path, encoding: str) -> None:
    data = "Subject: Grüße aus München\n\nwords".encode(encoding)
    [document], _, _ = read(tmp_path, {"m.eml": data})
    assert document.title == "Grüße aus München"


def test_malformed_headers_are_shown_as_they_are(tmp_path: Path) -> None:
    files = {
        "a.eml": b"Subject: =?utf-8?b?!!!?= =?x?q?y?=\nDate: soon\nFrom: <<@>>;,\n\nwords",
        "b.eml": b"words without any header",
        "c.eml": b"Subject: " + b"x" * MIB + b"\n\nwords",
    }
    documents, rejects, _ = read(tmp_path, files)
    assert [each.id for each in documents] == ["a.eml", "c.eml"]
    assert "date" not in documents[0].metadata
    assert documents[0].text.endswith("words")
    assert set(documents[1].title) == {"x"}
    assert reasons(rejects, tmp_path) == [("b.eml", "damaged_file")]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_a_header_that_takes_hours_is_refused_whatever_ends_its_lines(
    tmp_path: Path, line_end: bytes
) -> None:
    continued = (b"; a=b" + line_end + b" ") * 2_000
    made = line_end.join((b"Subject: x", b"Content-Type: text/plain" + continued + b"c", b"", b"y"))
    _, rejects, _ = read(tmp_path, {"a.eml": made})
    assert reasons(rejects, tmp_path) == [("a.eml", "damaged_file")]


def test_a_mail_of_too_many_lines_for_its_parts_is_refused(tmp_path: Path) -> None:
    nested = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (each, each)
        for each in range(40)
    )
    files = {
        "a.eml": b"a:\n" * 5_000_001,
        "b.eml": nested + b"\n" * 5_000_000,
        "c.eml": nested + b"\nwords" + b"\n" * 50_000,
    }
    documents, rejects, _ = read(tmp_path, files)
    assert [each.id for each in documents] == ["c.eml"]
    assert reasons(rejects, tmp_path) == [("a.eml", "unsafe_archive"), ("b.eml", "unsafe_archive")]


def test_a_mail_or_attachment_over_its_bound_is_refused(tmp_path: Path) -> None:
    message = _message()
    message.add_attachment("x" * 2_000, filename="a.txt")
    message.add_attachment("small", filename="b.txt")
    documents, rejects, _ = read(
        tmp_path,
        {"m.eml": message.as_bytes(), "n.eml": _message("N", "y " * 5_000).as_bytes()},
        ReaderSettings(max_file_bytes=1_500, max_package_bytes=4_000),
    )
    assert [each.id for each in documents] == ["m.eml", "m.eml/b.txt"]
    assert reasons(rejects, tmp_path) == [
        ("m.eml/a.txt", "document_too_large"),
        ("n.eml", "document_too_large"),
    ]


class TestMbox:
    def test_messages_are_read_one_after_the_other(self, tmp_path: Path) -> None:
        one = _message("One", "First.\n\n>From here on.\n").as_bytes()
        two = _message("Two", "Second.\nFrom nowhere.\n").as_bytes()
        box = b"From ada Mon Nov 30\n" + one + b"\n\nFrom bob Tue\n" + two + b"\n"
        box += b"From x\nSubject: Three\n\nThird.\n\nFrom ada\n" + one
        for name, data in (("a.mbox", box), ("b.mbox.gz", gzip.compress(box))):
            (tmp_path / name).mkdir()
            documents, rejects, _ = read(tmp_path / name, {name: data})
            assert rejects == []
            assert [(each.id, each.title) for each in documents] == [
                (f"{name}/One@x.org.eml", "One"),
                (f"{name}/Two@x.org.eml", "Two"),
                (f"{name}/3.eml", "Three"),
                (f"{name}/One@x.org 4.eml", "One"),
            ]
            assert documents[0].text.endswith("First.\n\nFrom here on.")
            assert documents[1].text.endswith("Second.\nFrom nowhere.")

    def test_a_message_over_the_bound_is_a_reject_and_the_rest_goes_on(
        self, tmp_path: Path
    ) -> None:
        box = b"From a\nSubject: A\n\n" + b"x\n" * 500 + b"\nFrom b\nSubject: B\n\nwords\n"
        documents, rejects, _ = read(tmp_path, {"a.mbox": box}, ReaderSettings(max_file_bytes=500))
        assert [each.title for each in documents] == ["B"]
        assert reasons(rejects, tmp_path) == [("a.mbox:1", "document_too_large")]

    def test_an_empty_box_is_a_reject(self, tmp_path: Path) -> None:
        _, rejects, _ = read(tmp_path, {"a.mbox": b"\n\n"})
        assert reasons(rejects, tmp_path) == [("a.mbox", "no_text")]


HEADS = ["From", "To", "Subject", "Date", "Content-Type", "Content-Disposition", "Message-ID"]
HEADS += ["Content-Transfer-Encoding", "MIME-Version"]
VALUES = [
    *("multipart/mixed; boundary=b", "multipart/alternative; boundary=b", "message/rfc822"),
    *(
        "text/plain; charset=utf-8",
        "text/html",
        "multipart/mixed",
        "attachment; filename*=x'y'z",
        "text/plain; charset*=x'y'z",
        "text/x; a=Ü",
    ),
    *('attachment; filename="=?utf-8?q?=C3=A4.txt?="', "base64", "quoted-printable", "=?x?b?=?="),
    *("x-uuencode", '"unclosed <a@b', "a@[", "<>", "Mon, 99 Foo 20266 99:99", ";;;=;"),
]
LINES = st.one_of(
    st.builds("{}: {}".format, st.sampled_from(HEADS), st.sampled_from(VALUES)),
    st.sampled_from(["", "--b", "--b--", "words", "=C3=A4=", "!!!!", " folded"]),
    st.text(max_size=20),
)


@given(st.lists(LINES, max_size=25))
def test_no_bytes_raise_anything_but_a_refusal(lines: list[str]) -> None:
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    source = Source(PurePosixPath("a.eml"), "a.eml", "a.eml")
    with Dispatch(ReaderSettings(), lambda _: None) as dispatch:
        assert list(dispatch.read(source, io.BufferedReader(io.BytesIO(data)), "mail"))
