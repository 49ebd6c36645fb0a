"""Files into documents: every kind, in a set order, with a reject where something is wrong."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from ingest.documents import Reject, Skipped, SourceDocument
from ingest.readers.folder import read_paths
from ingest.readers.jsonl import read_jsonl
from ingest.readers.markdown import markdown_document
from ingest.readers.settings import ReaderSettings
from ingest.readers.webpage import text_of_html

SETTINGS = ReaderSettings()


def _jsonl(data: bytes, settings: ReaderSettings = SETTINGS) -> list[SourceDocument | Reject]:
    return list(read_jsonl(_stream(data), "a.jsonl", settings))


def _stream(data: bytes) -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO(data))


def _read(*paths: Path | str, **named: object) -> list[SourceDocument | Reject]:
    return list(read_paths([str(path) for path in paths], SETTINGS, **named))  # type: ignore[arg-type]


def _ids(found: list[SourceDocument | Reject]) -> list[str]:
    return [each.id for each in found if isinstance(each, SourceDocument)]


def _reasons(found: list[SourceDocument | Reject]) -> list[tuple[str, str]]:
    return [(each.place, each.reason) for each in found if isinstance(each, Reject)]


def _markdown(text: str) -> SourceDocument:
    return markdown_document(text, identity="a.md", stem="a", tenant="t", place="p")


class TestJsonl:
    def test_every_field_arrives(self) -> None:
        line = (
            b'{"id": "a/b \xc3\xa9", "title": "T", "text": "x", "metadata": {"k": [1]},'
            b' "access": ["g"], "tenant": "default", "version": 3, "other": 1}\n'
        )
        assert _jsonl(line) == [
            SourceDocument("a/b é", "T", "x", {"k": [1]}, "default", ("g",), 3, "a.jsonl:1")
        ]

    def test_what_is_absent_or_null_has_its_default(self) -> None:
        expected = SourceDocument("a", "", "x", place="a.jsonl:1")
        assert _jsonl(b'{"id": "a", "text": "x"}') == [expected]
        nulls = b'"title":null,"metadata":null,"access":null,"tenant":null,"version":null'
        assert _jsonl(b'{"id": "a", "text": "x", ' + nulls + b"}") == [expected]

    def test_an_integer_id_is_its_digits(self) -> None:
        assert _ids(_jsonl(b'{"id": 17, "text": "x"}')) == ["17"]

    def test_a_malformed_line_is_one_reject_and_the_rest_goes_on(self) -> None:
        data = b'{"id":"a","text":"x"}\n{"id":\n\n{"id":"b","text":"y"}\n[1]\n"s"\n'
        data += b'{"id":"c","text":"z"}'
        found = _jsonl(data)
        assert _ids(found) == ["a", "b", "c"]
        assert _reasons(found) == [
            ("a.jsonl:2", "malformed_json"),
            ("a.jsonl:5", "malformed_json"),
            ("a.jsonl:6", "malformed_json"),
        ]
        assert str(found[1]) == (
            "a.jsonl:2: malformed_json: the line is not read as JSON: "
            "Expecting value at character 8; correct it"
        )

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ('{"text": "x"}', "missing_id"),
            ('{"id": "", "text": "x"}', "missing_id"),
            ('{"id": null, "text": "x"}', "missing_id"),
            ('{"id": 1.5, "text": "x"}', "bad_id"),
            ('{"id": true, "text": "x"}', "bad_id"),
            ('{"id": "a\\u0000", "text": "x"}', "bad_id"),
            ('{"id": "a\\ud800", "text": "x"}', "bad_id"),
            ('{"id": "%s", "text": "x"}' % ("é" * 4097), "bad_id"),
            ('{"id": "a"}', "missing_text"),
            ('{"id": "a", "text": ["x"]}', "bad_field"),
            ('{"id": "a", "text": "x", "title": 1}', "bad_field"),
            ('{"id": "a", "text": "x", "metadata": []}', "bad_field"),
            ('{"id": "a", "text": "x", "access": "g"}', "bad_field"),
            ('{"id": "a", "text": "x", "access": [1]}', "bad_field"),
            ('{"id": "a", "text": "x", "access": [""]}', "bad_field"),
            ('{"id": "a", "text": "x", "tenant": ""}', "wrong_tenant"),
            ('{"id": "a", "text": "x", "tenant": "bank"}', "wrong_tenant"),
            ('{"id": "a", "text": "x", "tenant": 7}', "wrong_tenant"),
            ('{"id": "a", "text": "x", "version": "3"}', "bad_field"),
            ('{"id": "a", "text": "x", "version": 1.0}', "bad_field"),
            ('{"id": "a", "text": "x", "version": true}', "bad_field"),
            ('{"id": "a", "text": "x", "version": -1}', "bad_field"),
            ('{"id": "a", "text": "x", "version": 4611686018427387905}', "bad_field"),
            ('{"id": "a", "text": "x", "metadata": {"n": NaN}}', "malformed_json"),
            ("[" * 100_000, "malformed_json"),
        ],
    )
    def test_a_wrong_field_is_named(self, line: str, reason: str) -> None:
        found = _jsonl(line.encode())
        assert _reasons(found) == [("a.jsonl:1", reason)]

    def test_ids_of_8192_bytes_with_slashes_spaces_and_umlauts_are_kept(self) -> None:
        identity = "a/b c/ü" + "x" * 8184
        line = json.dumps({"id": identity, "text": "x"}).encode()
        assert _ids(_jsonl(line)) == [identity]

    def test_lone_surrogates_and_controls_arrive_for_the_pipeline_to_count(self) -> None:
        line = b'{"id": "a", "text": "a\\ud800b\\u0000c"}\n'
        assert _jsonl(line) == [SourceDocument("a", "", "a\ud800b\x00c", place="a.jsonl:1")]

    def test_a_line_over_the_bound_is_skipped_and_named(self) -> None:
        settings = ReaderSettings(max_line_bytes=40)
        long = b'{"id":"b","text":"' + b"x" * 5_000 + b'"}'
        exact = b'{"id":"c","text":"' + b"x" * 20 + b'"}'
        assert len(exact) == 40
        data = b'{"id":"a","text":"x"}\n' + long + b"\n" + exact + b"\n" + long
        found = _jsonl(data, settings)
        assert _ids(found) == ["a", "c"]
        assert _reasons(found) == [
            ("a.jsonl:2", "line_too_long"),
            ("a.jsonl:4", "line_too_long"),
        ]

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
    def test_a_byte_order_mark_is_understood(self, encoding: str) -> None:
        text = '{"id": "a", "text": "naïve 東"}\n\nnot json\n{"id": "b", "text": "y"}\n'
        found = _jsonl(text.encode(encoding))
        assert _ids(found) == ["a", "b"]
        assert found[0] == SourceDocument("a", "", "naïve 東", place="a.jsonl:1")
        assert _reasons(found) == [("a.jsonl:3", "malformed_json")]

    def test_a_line_over_the_bound_in_utf_16_is_skipped_and_named(self) -> None:
        lines = ['{"id": "a", "text": "x"}', "y" * 500, '{"id": "b", "text": "x"}']
        settings = ReaderSettings(max_line_bytes=200)
        found = _jsonl("\n".join(lines).encode("utf-16"), settings)
        assert _ids(found) == ["a", "b"]
        assert _reasons(found) == [("a.jsonl:2", "line_too_long")]

    def test_latin_1_lines_are_right(self) -> None:
        lines = ['{"id": "a", "text": "plain"}', '{"id": "b", "text": "Grüße aus München"}']
        found = _jsonl("\n".join(lines).encode("latin-1"))
        assert [each.text for each in found if isinstance(each, SourceDocument)] == [
            "plain",
            "Grüße aus München",
        ]

    def test_a_named_encoding_is_believed(self) -> None:
        line = '{"id": "a", "text": "naïve¹"}\n'
        for encoding in ("cp1252", "utf-16-le", "utf-8"):
            named = ReaderSettings(encoding=encoding)
            found = _jsonl((line * 2).encode(encoding), named)
            assert [each.text for each in found if isinstance(each, SourceDocument)] == [
                "naïve¹",
                "naïve¹",
            ]
        ascii_only = ReaderSettings(encoding="ascii")
        found = _jsonl(line.encode() + b'{"id": "b", "text": "x"}', ascii_only)
        assert _reasons(found) == [("a.jsonl:1", "unreadable_encoding")]
        assert _ids(found) == ["b"]
        found = _jsonl(line.encode() * 3, ReaderSettings(encoding="klingon"))
        assert [str(each) for each in found] == [
            "a.jsonl: unreadable_encoding: klingon is no encoding known here; name another"
        ]

    def test_a_damaged_line_is_refused_and_the_rest_goes_on(self) -> None:
        data = '{"id":"a","text":"déjà vu é'.encode() + b'\xff"}\n{"id":"b","text":"x"}\n'
        found = _jsonl(data)
        assert _reasons(found) == [("a.jsonl:1", "unreadable_encoding")]
        assert _ids(found) == ["b"]

    def test_it_streams(self) -> None:
        read = 0

        class Endless(io.RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: object) -> int:
                nonlocal read
                line = b'{"id":"a","text":"x"}\n'
                view = memoryview(buffer)  # type: ignore[arg-type]
                view[: len(line)] = line
                read += len(line)
                return len(line)

        documents = read_jsonl(io.BufferedReader(Endless()), "endless", SETTINGS)
        assert [next(documents).place for _ in range(3)] == ["endless:1", "endless:2", "endless:3"]
        assert read < 10_000


class TestMarkdown:
    def test_marks_go_and_words_stay(self) -> None:
        document = _markdown(
            "Intro with *emph* and **bo**ld.\n\n# The `first` *heading*\n\nA [link](http://x.org) "
            "and ![an image](y.png).\n\n- one\n- two\n  more\n\n1. three\n\n> quoted\n\n"
            "```py\ncode  = 1\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n"
            "<div>html <b>bold</b></div>\n"
        )
        assert document.title == "The first heading"
        assert document.text == (
            "Intro with emph and bold.\n\nThe first heading\n\nA link and an image.\n\none\n"
            "two\nmore\n\nthree\n\nquoted\n\ncode  = 1\n\na\tb\nc\td\n\nhtml bold"
        )

    def test_without_a_heading_the_stem_is_the_title(self) -> None:
        assert _markdown("words only").title == "a"

    def test_front_matter_is_metadata_and_may_hold_the_title(self) -> None:
        document = _markdown('---\ntitle: "My page"\ntags: [x]\n---\n\n# Heading\n\nText\n')
        assert document.title == "My page"
        assert document.text == "Heading\n\nText"
        assert document.metadata == {"front_matter": 'title: "My page"\ntags: [x]\n'}

    def test_a_rule_at_the_top_is_no_front_matter(self) -> None:
        assert _markdown("---\nwords\n").text == "words"

    def test_deep_nesting_ends(self) -> None:
        assert "deep" in _markdown("> " * 3_000 + "deep").text


class TestHtml:
    def test_blocks_are_lines_and_scripts_are_gone(self) -> None:
        title, text = text_of_html(
            "<html><head><title> A  page </title><style>p{}</style></head><body>"
            "<h1>Head</h1><p>One <b>bo</b>ld\n line<br>next</p><script>evil()</script>"
            "<ul><li>a</li><li>b</li></ul><table><tr><td>c</td><td>d</td></tr></table>"
            "<pre>x\n  y</pre><!-- no --><template>t</template>tail &amp; &lt;end&gt;</body></html>"
        )
        assert title == "A page"
        assert text == ("Head\n\nOne bold line\nnext\n\na\nb\n\nc\td\n\nx\n  y\n\ntail & <end>")

    def test_the_first_heading_is_the_title_where_there_is_none(self) -> None:
        assert text_of_html("<h1>Only <i>this</i></h1>words")[0] == "Only this"

    def test_a_page_of_a_million_tags_keeps_its_words(self) -> None:
        title, text = text_of_html("first" + "<p>" * 1_000_001 + "last")
        assert (title, text.split()) == ("", ["first", "last"])

    def test_a_long_run_of_spaces_takes_linear_time(self) -> None:
        spaces = " " * 1_000_000
        assert text_of_html(f"<pre>a{spaces}b{spaces}\nc</pre>")[1] == f"a{spaces}b\nc"

    @pytest.mark.parametrize("piece", ["<a ", "<a href='", "<!--", "<![CDATA[", "<?x ", "<p>x"])
    def test_any_number_of_tags_that_never_end_takes_linear_time(self, piece: str) -> None:
        # Given to the parser as it is, the first of them takes an hour.
        assert "words" in text_of_html("words " + piece * 100_000)[1]

    def test_code_may_hold_any_number_of_comparisons(self) -> None:
        page = "<title>T</title><script>" + "if(a<b)c();" * 1_000 + "</script><p>words</p>"
        assert text_of_html(page) == ("T", "words")

    def test_deep_nesting_ends(self) -> None:
        assert text_of_html("<div>" * 20_000 + "deep")[1] == "deep"


class TestPaths:
    def test_a_folder_is_read_in_order_with_relative_ids(self, tmp_path: Path) -> None:
        (tmp_path / "b" / "c").mkdir(parents=True)
        (tmp_path / "b" / "c" / "x.md").write_text("# Heading\n\nwords")
        (tmp_path / "a.txt").write_text("words\r\nmore")
        (tmp_path / "d.HTML").write_text("<p>words</p>")
        (tmp_path / "corpus.jsonl").write_text('{"id": "j1", "text": "x"}\n')
        (tmp_path / "table.csv").write_bytes(b'\xef\xbb\xbfid,text,note\nc1,"a, b",n\n')
        (tmp_path / ".hidden.txt").write_text("no")
        (tmp_path / "~$open.docx").write_text("no")
        (tmp_path / ".git").mkdir()
        (tmp_path / "image.png").write_bytes(b"\x89PNG")
        (tmp_path / "b" / "loop").symlink_to(tmp_path)
        skipped: list[Skipped] = []
        found = _read(tmp_path, on_skip=skipped.append)
        assert _ids(found) == ["a.txt", "j1", "d.HTML", "c1", "b/c/x.md"]
        assert [each for each in found if isinstance(each, Reject)] == []
        documents = [each for each in found if isinstance(each, SourceDocument)]
        assert [each.title for each in documents] == ["a", "", "d", "", "Heading"]
        assert documents[0].text == "words\nmore"
        assert documents[0].place == str(tmp_path / "a.txt")
        assert documents[3].metadata == {"note": "n"}
        assert [(os.path.relpath(each.place, tmp_path), each.why) for each in skipped] == [
            (".git", "hidden"),
            (".hidden.txt", "hidden"),
            ("image.png", "unknown suffix"),
            ("~$open.docx", "hidden"),
            ("b/loop", "symbolic link to a folder"),
        ]
        assert _read(tmp_path) == found

    def test_a_pattern_gives_the_ids_of_its_folder(self, tmp_path: Path) -> None:
        (tmp_path / "n" / "sub").mkdir(parents=True)
        for name in ("n/a.md", "n/sub/b.md", "n/c.txt"):
            (tmp_path / name).write_text("words")
        assert _ids(_read(f"{tmp_path}/n/**/*.md")) == ["a.md", "sub/b.md"]
        assert _ids(_read(f"{tmp_path}/n/[ac].*")) == ["a.md", "c.txt"]

    def test_a_single_file_is_named_by_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "a b.txt").write_text("words")
        (tmp_path / "README").write_text("words too")
        assert _ids(_read(tmp_path / "a b.txt", tmp_path / "README")) == ["a b.txt", "README"]

    def test_a_missing_file_a_pattern_without_match_and_an_unknown_kind_are_rejects(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "a.png").write_bytes(b"\x89PNG")
        (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
        found = _read(tmp_path / "x.txt", f"{tmp_path}/*.md", tmp_path / "a.png", tmp_path)
        assert _reasons(found) == [
            (str(tmp_path / "x.txt"), "no_such_file"),
            (f"{tmp_path}/*.md", "no_such_file"),
            (str(tmp_path / "a.png"), "unsupported_type"),
            (str(tmp_path / "gone.txt"), "no_such_file"),
        ]

    def test_an_unreadable_file_is_a_reject_and_the_rest_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a.txt").write_text("words")
        (tmp_path / "b.txt").write_text("words")
        really = io.FileIO

        def refuse(path: str) -> io.FileIO:
            if path.endswith("a.txt"):
                raise PermissionError(13, "Permission denied", path)
            return really(path)

        monkeypatch.setattr("ingest.readers.folder.io.FileIO", refuse)
        found = _read(tmp_path)
        assert _ids(found) == ["b.txt"]
        assert _reasons(found) == [(str(tmp_path / "a.txt"), "unreadable_file")]

    def test_an_undecidable_file_is_a_reject_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_bytes("そ".encode("shift_jis"))
        (tmp_path / "b.txt").write_bytes("Grüße".encode("latin-1"))
        found = _read(tmp_path)
        assert _reasons(found) == [(str(tmp_path / "a.txt"), "unreadable_encoding")]
        assert [each.text for each in found if isinstance(each, SourceDocument)] == ["Grüße"]

    def test_a_file_over_the_bound_is_a_reject(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("123456")
        (tmp_path / "b.txt").write_text("12345")
        found = list(read_paths([str(tmp_path)], ReaderSettings(max_file_bytes=5)))
        assert _reasons(found) == [(str(tmp_path / "a.txt"), "document_too_large")]
        assert _ids(found) == ["b.txt"]

    def test_two_files_with_one_id_are_a_document_and_a_reject(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.txt").write_text(name)
        found = _read(tmp_path / "one", tmp_path / "two", tmp_path / "one" / "a.txt")
        assert _ids(found) == ["a.txt", "a.txt"]  # the same file again is no loss
        assert _reasons(found) == [(str(tmp_path / "two" / "a.txt"), "duplicate_id")]

    def test_a_name_that_is_no_utf8_is_still_an_id(self, tmp_path: Path) -> None:
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.txt"))).write_text("words")
        assert _ids(_read(tmp_path)) == ["a\ufffd.txt"]

    def test_html_is_read_as_it_declares(self, tmp_path: Path) -> None:
        page = '<meta charset="koi8-r"><p>мир</p>'
        (tmp_path / "a.html").write_bytes(page.encode("koi8-r"))
        assert [each.text for each in _read(tmp_path) if isinstance(each, SourceDocument)] == [
            "мир"
        ]

    def test_standard_input_is_jsonl_or_text(self) -> None:
        jsonl = _read("-", standard_input=_stream(b'\xef\xbb\xbf {"id": "a", "text": "x"}\n'))
        assert jsonl == [SourceDocument("a", "", "x", place="standard input:1")]
        text = _read("-", standard_input=_stream(b"some words"))
        assert text == [SourceDocument("stdin", "stdin", "some words", place="standard input")]


class TestTables:
    def _csv(self, tmp_path: Path, data: str, name: str = "a.csv") -> list[SourceDocument | Reject]:
        (tmp_path / name).write_text(data, newline="")
        return _read(tmp_path / name)

    def test_rows_are_documents(self, tmp_path: Path) -> None:
        found = self._csv(tmp_path, 'id,title,text\r\n1,T,"two\r\nlines"\r\n\r\n2,,x\r\n')
        assert [
            (each.id, each.title, each.text) for each in found if not isinstance(each, Reject)
        ] == [
            ("1", "T", "two\r\nlines"),
            ("2", "", "x"),
        ]
        assert _ids(self._csv(tmp_path, "text\tid\nx y\t7\n", "a.tsv")) == ["7"]

    def test_a_bad_row_is_a_reject_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        found = self._csv(tmp_path, 'id,text\na,x\nb\nc,"y"z\n,t\nd,w\n')
        assert _ids(found) == ["a", "d"]
        place = str(tmp_path / "a.csv")
        assert _reasons(found) == [
            (f"{place}:3", "malformed_row"),
            (f"{place}:4", "malformed_row"),
            (f"{place}:5", "missing_id"),
        ]

    def test_a_table_without_the_columns_is_one_document_with_a_part_to_a_row(
        self, tmp_path: Path
    ) -> None:
        table = 'name , city\nAda,"London, UK"\n\n ,\nBob,,x\n'
        assert self._csv(tmp_path, table) == [
            SourceDocument(
                "a.csv",
                "a",
                "name: Ada; city: London, UK\n\nname: Bob; column 3: x\n\n",
                place=str(tmp_path / "a.csv"),
                parts=((0, "row 2"), (29, "row 5")),
                parts_apart=True,
            )
        ]

    @pytest.mark.parametrize("parted", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("suffix", ["csv", "tsv"])
    def test_what_parts_the_cells_is_read_off_the_first_line(
        self, tmp_path: Path, suffix: str, parted: str
    ) -> None:
        lines = (f"id{parted}text", f"1{parted}Price: 3 euro.", f"2{parted}None")
        (tmp_path / f"a.{suffix}").write_text("\n".join(lines))
        found = list(read_paths([str(tmp_path)], ReaderSettings()))
        assert [(each.id, each.text) for each in found if isinstance(each, SourceDocument)] == [
            ("1", "Price: 3 euro."),
            ("2", "None"),
        ]

    def test_a_bad_row_of_such_a_table_is_a_reject_and_the_rest_goes_on(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "a.csv").write_text('name\nAda\n"Bob"x\nEve\n' + "y" * 21 + "\n")
        settings = ReaderSettings(max_cell_characters=20)
        found = list(read_paths([str(tmp_path / "a.csv")], settings))
        place = str(tmp_path / "a.csv")
        assert _reasons(found) == [(f"{place}:3", "malformed_row"), (f"{place}:5", "malformed_row")]
        [document] = [each for each in found if isinstance(each, SourceDocument)]
        assert document.text == "name: Ada\n\nname: Eve\n\n"
        assert document.parts == ((0, "row 2"), (11, "row 4"))

    def test_a_table_over_the_bound_of_rows_is_a_reject(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("name\n1\n2\n3\n")
        (tmp_path / "b.csv").write_text("name\n1\n2\n")
        found = list(read_paths([str(tmp_path)], ReaderSettings(max_rows=2)))
        assert _reasons(found) == [(str(tmp_path / "a.csv"), "document_too_large")]
        assert _ids(found) == ["b.csv"]

    def test_a_long_name_that_each_row_repeats_is_bounded(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("n" * 900 + "\n" + "1\n" * 50)
        found = list(read_paths([str(tmp_path)], ReaderSettings(max_file_bytes=2_000)))
        assert _reasons(found) == [(str(tmp_path / "a.csv"), "document_too_large")]

    def test_nul_bytes_in_cells_reach_the_pipeline(self, tmp_path: Path) -> None:
        # A file of mostly controls is binary; one or two NULs are sanitised and counted.
        [document] = self._csv(tmp_path, "name\nA\0da\n")
        assert isinstance(document, SourceDocument)
        assert document.text == "name: A\0da\n\n"

    def test_a_table_of_names_only_holds_nothing(self, tmp_path: Path) -> None:
        [document] = self._csv(tmp_path, "name,city\n")
        assert isinstance(document, SourceDocument)
        assert document.text == ""  # which the pipeline fails as no_text
