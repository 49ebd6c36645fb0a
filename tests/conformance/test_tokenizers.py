"""The product's tokenizer and the oracle's own agree, and both are right on hand-written text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logicalrag.engines import reference_tokens
from logicalrag.query import tokens
from tests.conformance.random_documents import random_documents, seeded, without_exotic_letters

# Each character has a part in some rule: cases, marks, scripts, joiners, quotes, separators.
_PIECES = (
    *"aAsSzZiI019_ \t\n.,:;!?-–—/&+#'’‘\"“”«»()[]{}<>|~^*\\@§%$€",
    *("\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\ufe0f", "\u034f", "\u061c"),
    *("\u0301", "\u0308", "\u0327", "\u030a", "\u0307", "\u0323", "\u20dd", "\u0483"),
    *("İ", "ı", "ß", "ẞ", "æ", "Æ", "ø", "Ø", "đ", "Đ", "ł", "Ł", "œ", "Œ", "þ", "Þ", "ð", "Ð"),
    *("é", "É", "Å", "\u212b", "\u212a", "ñ", "ç", "ş", "ő", "ệ", "Ǻ", "ŋ", "ſ", "ħ"),
    *("Я", "й", "и", "ё", "Σ", "ς", "σ", "ά", "α", "ϊ", "Ա", "ა", "Ა", "א", "בּ", "ع", "ّ"),
    *("क", "ि", "्", "ष", "த", "ம", "ி", "한", "ᄒ", "ᅡ", "ᆫ", "ㅎ", "ก", "ำ", "ា", "ᠠ"),
    *(
        "東",
        "京",
        "々",
        "〇",
        "〡",
        "⼀",
        "あ",
        "が",
        "か",
        "\u3099",
        "ゝ",
        "ア",
        "ガ",
        "ー",
        "・",
        "ㇰ",
    ),
    *("\U00020000", "\U0002ebe0", "𐐀", "𐐨", "𝐀", "９", "Ａ", "ａ", "٣", "३", "Ⅷ", "ⅷ", "½", "ª"),
    *("😀", "👩\u200d🔬", "\ud800", "\x00", "\x85", "\u2028", "\u3000", "\u00a0", "'s", "’S", "s'"),
)
_TEXT = st.lists(st.sampled_from(_PIECES), max_size=40).map("".join)


def _keeps_its_length(piece: str) -> bool:
    """Return whether folding changes no lengths: one cuts before it, the other after."""
    return len("".join(reference_tokens.tokenize(f"a{piece}a"))) == 2 + len(piece)


_EVEN_PIECES = st.sampled_from([piece for piece in _PIECES if _keeps_its_length(piece)])


@settings(deadline=None)
@given(_TEXT)
def test_both_agree_on_any_text(text: str) -> None:
    assert tokens.tokenize(text) == reference_tokens.tokenize(text)


@settings(deadline=None)
@given(st.lists(_EVEN_PIECES, min_size=1, max_size=3), st.integers(30, 140))
def test_both_agree_on_long_words(pieces: list[str], times: int) -> None:
    text = "".join(pieces) * times
    assert tokens.tokenize(text) == reference_tokens.tokenize(text)


@pytest.mark.parametrize("seed", range(20))
def test_both_agree_on_the_random_documents(seed: int) -> None:
    for document in random_documents(seeded(seed), 10):
        for text in (document.title, *document.texts):
            assert tokens.tokenize(text) == reference_tokens.tokenize(text)


@pytest.mark.parametrize("corpus", ["hotpotqa", "musique", "2wikimultihopqa"])
def test_both_agree_on_real_text(shared: Path, corpus: str) -> None:
    lines = (shared / "data" / corpus / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines[::5]:
        text = without_exotic_letters(json.loads(line)["text"])
        assert tokens.tokenize(text) == reference_tokens.tokenize(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Hello, World!", ["hello", "world"]),
        ("ERR_CONN_RESET v2.14.3", ["err_conn_reset", "v2", "14", "3"]),
        ("SKU-99/A", ["sku", "99", "a"]),
        ("_ __ a_b", ["_", "__", "a_b"]),
        ("Paris's O’Brien’s dogs' it's2 's", ["paris", "o", "brien", "dogs", "it", "s2", "s"]),
        ("İstanbul ISI ısı", ["istanbul", "isi", "isi"]),
        ("Łódź Straße ẞ Ærø þing đồng", ["lodz", "strasse", "ss", "aero", "thing", "dong"]),
        ("cafe\u0301 CAFÉ x\u0302y", ["cafe", "cafe", "xy"]),
        ("\u0301 \u0301\u0302", []),
        ("co\u00adop zero\u200bwidth", ["coop", "zerowidth"]),
        ("東京Tokyo都", ["東", "京", "tokyo", "都"]),
        ("ひらがなカタカナ", ["ひ", "ら", "が", "な", "カタカナ"]),
        ("ΣΊΣΥΦΟΣ Москва й", ["σίσυφοσ", "москва", "й"]),
        ("हिन्दी 한국어", ["हिन्दी", "한국어"]),
        ("９Ａａ", ["9aa"]),
        ("⼀ ㍿ 😀", []),
        ("k" * 65, ["k" * 64, "k"]),
        ("k" * 128, ["k" * 64, "k" * 64]),
        ("東" * 70, ["東"] * 70),
    ],
)
def test_hand_written_text(text: str, expected: list[str]) -> None:
    assert reference_tokens.tokenize(text) == expected
    assert tokens.tokenize(text) == expected
