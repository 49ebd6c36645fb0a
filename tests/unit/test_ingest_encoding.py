"""Bytes into text: right, or refused; never another text in silence."""

from __future__ import annotations

import codecs
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.readers.encoding import UnreadableEncodingError, byte_order_mark, decode

MIXED = "naïve – “Straße” 東京 😀\n"
WESTERN = [
    "é",
    "Müller",
    "Café naïve à l'été, déjà vu",
    "Grüße aus München",
    "¿Qué pasa? El niño comió piñas.",
    "A ação não é só uma questão de opinião, João.",
    "Rødgrød med fløde på æbler",
    "Räksmörgås på ön",
    "Hyvää päivää, äiti",
    "Það er gott veður í dag",
    "België en coöperatie",
    "20 °C ± 2, § 5, ½ cup, Nº 5, 100 m²",
    "the naïve man to do so is a man",
]
WINDOWS = ["The naïve “café” – it’s €5.", "Er sagte: „Spaß“ für alle", "L'œuvre d'Élise coûte 5 €."]
CENTRAL = [
    "Zażółć gęślą jaźń",
    "W Szczebrzeszynie chrząszcz brzmi w trzcinie.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "Árvíztűrő tükörfúrógép",
    "Čas je zlato, žena je v hiši",
]
OTHERS = [
    ("Işık ve güneş, çok şık ağaç", "cp1254"),
    ("Ąžuolas žaliuoja ir šventė", "cp1257"),
    ("Ķirši un āboli ir garšīgi", "cp1257"),
    ("L'œuvre d'Élise coûte 5 €.", "iso8859-15"),
    ("Привет, мир. Это короткий текст, написанный на русском языке.\n" * 3, "cp1251"),
    ("Привет, мир. Это короткий текст, написанный на русском языке.\n" * 3, "koi8-r"),
    ("Καλημέρα κόσμε, τι κάνεις; Το κείμενο είναι στα ελληνικά.\n" * 3, "cp1253"),
    ("これは日本語の文章です。漢字も含まれています。\n" * 5, "shift_jis"),
    ("これは日本語の文章です。漢字も含まれています。\n" * 5, "euc_jp"),
    ("これは日本語の文章です。", "iso2022_jp"),
    ("这是一个中文句子，用来测试编码。\n" * 5, "gb18030"),
]
MARKED = ["utf-8-sig", "utf-16", "utf-32"]


@pytest.mark.parametrize("encoding", MARKED)
def test_a_byte_order_mark_decides_and_is_no_text(encoding: str) -> None:
    assert decode(MIXED.encode(encoding)) == MIXED


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)
def test_each_mark_has_its_encoding(mark: bytes, encoding: str) -> None:
    # UTF-32-LE's mark begins with UTF-16-LE's: taken for the latter, each letter gains a NUL.
    data = mark + MIXED.encode(encoding)
    assert byte_order_mark(data) == (encoding, len(mark))
    assert decode(data) == MIXED


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_known_by_its_nuls(encoding: str) -> None:
    text = "Grüße, plain words and “quotes” of some length"
    assert decode(text.encode(encoding)) == text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])))
def test_utf8_is_read_as_itself(text: str) -> None:
    assert decode(("plain words " + text).encode()) == "plain words " + text


@pytest.mark.parametrize("text", WESTERN)
@pytest.mark.parametrize("repeated", [1, 20])
def test_latin_1_is_right(text: str, repeated: int) -> None:
    whole = "\n".join([text] * repeated)
    assert decode(whole.encode("latin-1")) == whole


@pytest.mark.parametrize("text", WINDOWS)
def test_windows_1252_is_right(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize("text", CENTRAL)
@pytest.mark.parametrize("encoding", ["cp1250", "iso8859-2"])
def test_central_european_encodings_are_right(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(("text", "encoding"), OTHERS)
def test_other_encodings_are_right(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "data",
    [
        "Café".encode() + b" \xe9t\xe9 " + "naïve déjà vu".encode(),
        "two words, naïve".encode()[:-1].replace(b"v", b"\xff") + "é ü ö".encode(),
        "naïve¹ note".encode("cp1252"),
        "そ".encode("shift_jis"),
        bytes(range(256)),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\x06\0\0\0",
        codecs.BOM_UTF16_LE + b"a",
    ],
)
def test_what_cannot_be_told_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableEncodingError, match="save it as UTF-8, or name it"):
        decode(data)


def test_a_few_control_characters_do_not_condemn_a_text() -> None:
    assert decode(b"a\0b, c\x01d, e\x02f, and so on") == "a\0b, c\x01d, e\x02f, and so on"


def test_the_place_of_damage_is_named() -> None:
    damaged = "déjà vu, naïve, ".encode() + b"\xff" + "élève".encode()
    with pytest.raises(UnreadableEncodingError, match="damaged character at byte 19"):
        decode(damaged)


def test_a_named_encoding_is_believed_and_checked() -> None:
    assert decode("naïve¹ note".encode("cp1252"), named="cp1252") == "naïve¹ note"
    with pytest.raises(UnreadableEncodingError, match="no valid ascii from byte 2 on"):
        decode(b"na\xefve", named="ascii")
    with pytest.raises(UnreadableEncodingError, match="klingon is no encoding known here"):
        decode(b"abc", named="klingon")


def test_a_declared_encoding_is_believed_only_where_the_bytes_are_no_utf8() -> None:
    assert decode("шум".encode("cp1251"), declared="windows-1251") == "шум"
    assert decode("naïve".encode(), declared="iso-8859-1") == "naïve"
    assert decode("“é”".encode("cp1252"), declared="iso-8859-1") == "“é”"
    assert decode("é".encode("cp1252"), declared="utf-16") == "é"
    assert decode("é".encode("cp1252"), declared="unicode_escape") == "é"


def test_a_large_file_is_judged_by_the_lines_that_tell() -> None:
    text = "plain words only, line after line\n" * 20_000 + "Grüße aus München\n"
    assert decode(text.encode("latin-1")) == text


def test_the_error_travels_between_processes() -> None:
    refused = UnreadableEncodingError("it is no UTF-8")
    again = pickle.loads(pickle.dumps(refused))  # noqa: S301  # its own bytes
    assert again.detail == "it is no UTF-8"
    assert str(again) == (
        "its encoding cannot be told (it is no UTF-8); save it as UTF-8, or name it with --encoding"
    )


@given(st.binary(max_size=200))
def test_any_bytes_give_a_text_or_the_one_error(data: bytes) -> None:
    try:
        text = decode(data)
    except UnreadableEncodingError:
        return
    assert len(text) <= len(data)
