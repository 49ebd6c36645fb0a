"""Packed files: gzip, zip, and what hostile ones are refused for."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from pathlib import Path

import pytest

from ingest.readers.settings import MIB, ReaderSettings
from tests.unit.ingest_files import read, reasons, zipped

LINES = b'{"id": "a", "text": "one"}\n{"id": "b", "text": "two"}\n'


class TestGzip:
    def test_every_kind_is_read_below_gz(self, tmp_path: Path) -> None:
        files = {
            "dump.jsonl.gz": gzip.compress(LINES) + gzip.compress(b'{"id": "c", "text": "three"}'),
            "page.HTML.gz": gzip.compress(b"<p>words"),
            "table.csv.gz": gzip.compress(b"name\nAda\n"),
        }
        documents, rejects, _ = read(tmp_path, files)
        assert rejects == []
        assert [(each.id, each.title, each.text) for each in documents] == [
            ("a", "", "one"),
            ("b", "", "two"),
            ("c", "", "three"),
            ("page.HTML.gz", "page", "words"),
            ("table.csv.gz", "table", "name: Ada\n\n"),
        ]

    def test_what_came_before_the_damage_is_read(self, tmp_path: Path) -> None:
        lines = b"".join(b'{"id": "%d", "text": "word %d"}\n' % (n, n * n) for n in range(10_000))
        packed = gzip.compress(lines)
        files = {"a.jsonl.gz": packed[: len(packed) // 2], "b.txt.gz": gzip.compress(b"x")[:-4]}
        documents, rejects, _ = read(tmp_path, files | {"c.txt.gz": b"none", "d.txt": b"words"})
        assert reasons(rejects, tmp_path) == [
            ("a.jsonl.gz", "damaged_file"),
            ("b.txt.gz", "damaged_file"),
            ("c.txt.gz", "damaged_file"),
        ]
        found = [each.id for each in documents]
        assert found == [*map(str, range(len(found) - 1)), "d.txt"]
        assert 1_000 < len(found) < 9_000

    def test_a_bomb_is_refused(self, tmp_path: Path) -> None:
        bomb = gzip.compress(b"0" * (30 * MIB))
        documents, rejects, _ = read(tmp_path, {"a.jsonl.gz": bomb, "b.txt.gz": bomb})
        assert documents == []
        assert reasons(rejects, tmp_path) == [
            ("a.jsonl.gz", "unsafe_archive"),
            ("b.txt.gz", "unsafe_archive"),
        ]

    def test_a_text_over_the_bound_is_refused_unpacked(self, tmp_path: Path) -> None:
        files = {"a.txt.gz": gzip.compress(b"0" * 101), "b.txt.gz": gzip.compress(b"0" * 100)}
        documents, rejects, _ = read(tmp_path, files, ReaderSettings(max_file_bytes=100))
        assert reasons(rejects, tmp_path) == [("a.txt.gz", "document_too_large")]
        assert [each.id for each in documents] == ["b.txt.gz"]

    def test_a_zip_below_gz_and_an_unknown_kind_are_not_read(self, tmp_path: Path) -> None:
        files = {"a.zip.gz": gzip.compress(zipped({"a.txt": "x"})), "b.png.gz": b"", "c.gz": b""}
        documents, rejects, skipped = read(tmp_path, files)
        assert documents == []
        assert reasons(rejects, tmp_path) == [("a.zip.gz", "nested_too_deeply")]
        assert [(Path(each.place).name, each.why) for each in skipped] == [
            ("b.png.gz", "unknown suffix"),
            ("c.gz", "unknown suffix"),
        ]


class TestZip:
    def test_members_are_documents_by_name(self, tmp_path: Path) -> None:
        members: dict[str, bytes | str] = {
            "notes/b.md": "# Heading\n\nwords",
            "a.jsonl": LINES,
            "notes/": "",
            "c.txt.gz": gzip.compress(b"packed"),
            "image.png": b"\x89PNG",
            "__MACOSX/._b.md": "no",
            ".git/x.txt": "no",
            "notes/~$report.docx": "no",
        }
        documents, rejects, skipped = read(tmp_path, {"all.zip": zipped(members)})
        assert rejects == []
        assert [(each.id, each.text) for each in documents] == [
            ("a", "one"),
            ("b", "two"),
            ("all.zip/c.txt.gz", "packed"),
            ("all.zip/notes/b.md", "Heading\n\nwords"),
        ]
        assert documents[3].place == f"{tmp_path}/all.zip/notes/b.md"
        assert [(each.place.removeprefix(f"{tmp_path}/"), each.why) for each in skipped] == [
            ("all.zip/.git/x.txt", "hidden"),
            ("all.zip/__MACOSX/._b.md", "hidden"),
            ("all.zip/image.png", "unknown suffix"),
            ("all.zip/notes/~$report.docx", "hidden"),
        ]

    @pytest.mark.parametrize(
        ("name", "identity"),
        [
            ("../../etc/passwd.txt", "a.zip/etc/passwd.txt"),
            ("/abs.txt", "a.zip/abs.txt"),
            ("..\\..\\win.txt", "a.zip/win.txt"),
            ("x/./../y.txt", "a.zip/x/y.txt"),
            ("n\nl.txt", "a.zip/n\nl.txt"),
        ],
    )
    def test_a_name_never_leads_out_of_the_archive(
        self, tmp_path: Path, name: str, identity: str
    ) -> None:
        documents, rejects, _ = read(tmp_path, {"a.zip": zipped({name: "words"})})
        assert [each.id for each in documents] == [identity]
        assert rejects == []
        assert [each.name for each in tmp_path.iterdir()] == ["a.zip"]

    def test_a_member_without_a_name_is_passed_over(self, tmp_path: Path) -> None:
        made = zipped({"a.txt": "x", "b.txt": "words"}).replace(b"a.txt", b"\0.txt")
        documents, rejects, skipped = read(tmp_path, {"a.zip": made})
        assert [each.id for each in documents] == ["a.zip/b.txt"]
        assert rejects == []
        assert [each.why for each in skipped] == ["unknown suffix"]

    def test_two_members_of_one_name_are_a_document_and_a_reject(self, tmp_path: Path) -> None:
        files = {"a.zip": zipped({"x.txt": "one", "../x.txt": "two"})}
        documents, rejects, _ = read(tmp_path, files)
        assert [(each.id, each.text) for each in documents] == [("a.zip/x.txt", "two")]
        assert reasons(rejects, tmp_path) == [("a.zip/x.txt", "duplicate_id")]

    def test_bombs_are_refused(self, tmp_path: Path) -> None:
        files = {
            "a.zip": zipped({"x.txt": b"0" * (12 * MIB), "y.txt": "words"}),
            "b.zip": zipped({f"{n}.txt": b"%d" % n * 600 for n in range(3)}),
            "c.zip": zipped({f"{n}.txt": "x" for n in range(4)}),
        }
        settings = ReaderSettings(max_members=3)
        documents, rejects, _ = read(tmp_path, files, settings)
        assert [each.id for each in documents] == [
            "a.zip/y.txt",
            "b.zip/0.txt",
            "b.zip/1.txt",
            "b.zip/2.txt",
        ]
        assert reasons(rejects, tmp_path) == [
            ("a.zip/x.txt", "unsafe_archive"),
            ("c.zip", "unsafe_archive"),
        ]
        settings = ReaderSettings(max_archive_bytes=1_799)
        _, rejects, _ = read(tmp_path, {}, settings)
        assert reasons(rejects, tmp_path) == [
            ("a.zip", "document_too_large"),
            ("b.zip", "unsafe_archive"),
        ]

    def test_a_member_that_declares_less_than_it_holds_is_cut_and_refused(
        self, tmp_path: Path
    ) -> None:
        made = zipped({"x.txt": b"words " * 1_000})
        real, lie = struct.pack("<I", 6_000), struct.pack("<I", 60)
        assert made.count(real) == 2
        documents, rejects, _ = read(tmp_path, {"a.zip": made.replace(real, lie)})
        assert documents == []
        assert reasons(rejects, tmp_path) == [("a.zip/x.txt", "damaged_file")]

    def test_an_archive_in_an_archive_is_not_opened(self, tmp_path: Path) -> None:
        inner = zipped({"x.txt": "words"})
        documents, rejects, _ = read(
            tmp_path, {"a.zip": zipped({"b.zip": inner, "c.txt": "words"})}
        )
        assert [each.id for each in documents] == ["a.zip/c.txt"]
        assert reasons(rejects, tmp_path) == [("a.zip/b.zip", "nested_too_deeply")]

    def test_an_encrypted_member_is_refused_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        made = bytearray(zipped({"a.txt": "secret", "b.txt": "words"}))
        made[made.index(b"PK\x03\x04") + 6] |= 1
        made[made.index(b"PK\x01\x02") + 8] |= 1
        documents, rejects, _ = read(tmp_path, {"a.zip": bytes(made)})
        assert [each.id for each in documents] == ["a.zip/b.txt"]
        assert reasons(rejects, tmp_path) == [("a.zip/a.txt", "encrypted_file")]

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_what_cannot_be_unpacked_in_bounds_is_not(self, tmp_path: Path, method: int) -> None:
        documents, rejects, _ = read(tmp_path, {"a.zip": zipped({"a.txt": "x"}, method)})
        assert documents == []
        assert reasons(rejects, tmp_path) == [("a.zip/a.txt", "unsupported_type")]

    def test_links_are_passed_over(self, tmp_path: Path) -> None:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            link = zipfile.ZipInfo("link.txt")
            link.create_system, link.external_attr = 3, 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
        documents, rejects, skipped = read(tmp_path, {"a.zip": made.getvalue()})
        assert documents == []
        assert [each.why for each in skipped] == ["not a regular file"]
        assert reasons(rejects, tmp_path) == [("a.zip", "no_text")]

    def test_damaged_and_empty_archives_are_refused(self, tmp_path: Path) -> None:
        whole = zipped({"a.txt": "words " * 500, "b.txt": "more"})
        broken = bytearray(whole)
        broken[40] ^= 0xFF  # in the packed content of the first
        files = {
            "a.zip": whole[:200],
            "b.zip": b"",
            "c.zip": zipped({}),
            "d.zip": bytes(broken),
            "e.zip": whole,
        }
        documents, rejects, _ = read(tmp_path, files)
        assert [each.id for each in documents] == ["d.zip/b.txt", "e.zip/a.txt", "e.zip/b.txt"]
        assert reasons(rejects, tmp_path) == [
            ("a.zip", "damaged_file"),
            ("b.zip", "damaged_file"),
            ("c.zip", "no_text"),
            ("d.zip/a.txt", "damaged_file"),
        ]

    def test_a_list_of_members_that_lies_before_the_file_is_damage(self, tmp_path: Path) -> None:
        made = zipped({"a.txt": "words"})
        at = made.index(b"PK\5\6") + 12  # the length of the list
        made = made[:at] + struct.pack("<I", 60_000_000) + made[at + 4 :]
        _, rejects, _ = read(tmp_path, {"a.zip": made, "b.docx": made, "c.epub": made})
        assert {each.reason for each in rejects} == {"damaged_file"}
        assert len(rejects) == 3

    def test_a_list_of_members_without_end_is_not_loaded(self, tmp_path: Path) -> None:
        size = 65 * MIB
        end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, size, 0, 0)
        with (tmp_path / "a.zip").open("wb") as file:
            file.truncate(size)  # a hole, which takes no room
            file.seek(size)
            file.write(end)
        _, rejects, _ = read(tmp_path, {})
        assert reasons(rejects, tmp_path) == [("a.zip", "unsafe_archive")]


@pytest.mark.parametrize("end", range(0, 400, 7))
def test_a_zip_or_gzip_cut_anywhere_is_read_in_part_or_refused(tmp_path: Path, end: int) -> None:
    files = {
        "a.zip": zipped({"x.txt": "words", "y.csv": "a,b\n1,2\n", "z.zip": "x"})[:end],
        "b.txt.gz": gzip.compress(b"words " * 9)[:end],
        "c.jsonl.gz": gzip.compress(LINES)[:end],
    }
    documents, rejects, _ = read(tmp_path, files)
    assert len(documents) + len(rejects) >= len(files)
    assert {each.reason for each in rejects} <= {"damaged_file", "no_text", "nested_too_deeply"}


def test_pdf_is_needed_for_pdf_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    documents, _, _ = read(tmp_path, {"a.zip": zipped({"x.txt": "words"})})
    assert [each.id for each in documents] == ["a.zip/x.txt"]
