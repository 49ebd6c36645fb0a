"""Counters: the fast ways count what the plain ones do, and seams hold wherever they are known."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.chunking import ChunkSettings, chunk
from ingest.token_counters import CHARACTERS, TOKENS, Counter, count_tokens
from ingest.token_counters_tiktoken import encoding_counter
from logicalrag.query.tokens import tokenize
from tests.unit.byte_pair_encoding import BytePairEncoding

UNSPACED = regex.compile(r"\p{Line_Break=SA}")
PIECES = [
    *("word ", "Foo", "bar", " baz", "x", "s", "_", "12345", "1.5 ", "x" * 70, "ß" * 40),
    *(" ", "  ", "\n", "\n\n", " \n", "\r\n", "\t", "\u3000", "\x85", "\xa0", "\x1c", "\u2028"),
    *(". ", ".", ",", "!", "?\n", "。", "(a) ", '"Hi." ', "/", "//", "…", "!!", "; "),
    *("'s ", "’s", "'LL", "'", "’", "š", "é", "ß", "Œ", "\xad", "ª", "¼", "–", "“", "”"),
    *("第一文", "ครับ", "e\u0301", "\u0301", "\u0338", "\u3099", "\u200b", "😀", "👩\u200d💻"),
]
TEXTS = (
    st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=10)
    .map("".join)
    .filter(lambda text: not any("\ud800" <= character <= "\udfff" for character in text))
)
ENCODINGS = [BytePairEncoding("cl100k_base"), BytePairEncoding("o200k_base")]
COUNTERS = [TOKENS, CHARACTERS, *map(encoding_counter, ENCODINGS)]


def _tokens(text: str) -> int:
    """Count as the definition says."""
    spaced, unspaced = UNSPACED.subn(" ", text)
    return max(-(-len(text) // 64), unspaced + len(tokenize(spaced)))


@given(TEXTS)
@example("x" * 65)
@example("ß" * 33)  # 66 letters once folded
def test_tokens_are_counted_as_defined(text: str) -> None:
    assert count_tokens(text) == _tokens(text)


def test_any_two_characters_of_the_code_page_count_as_defined() -> None:
    characters = bytes(range(256)).decode("cp1252", "ignore")
    for first in characters:
        text = " ".join(f"a{first}{second}b" for second in characters)
        assert count_tokens(text) == _tokens(text), first
        for second in "'’sS":
            text = f"{first}{second}"
            assert count_tokens(text) == _tokens(text), text


def test_every_letter_of_an_unspaced_script_counts_as_one() -> None:
    letters = UNSPACED.findall("".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)])))
    assert len(letters) > 700
    assert [letter for letter in letters if count_tokens(letter * 3) != 3] == []


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda counter: counter.name)
@given(before=TEXTS, after=TEXTS, beyond=st.sampled_from(PIECES))
def test_a_known_seam_holds(counter: Counter, before: str, after: str, beyond: str) -> None:
    assert counter.seam is not None
    text = before + after + beyond
    end = len(before + after)
    for place in range(1, end):
        seam = counter.seam(text, place, end)
        if seam is None:
            continue
        for start in {0, place // 2, place - 1}:
            parts = counter.count(text[start:place]) + counter.count(text[place:end])
            together = counter.count(text[start:end])
            # The floor of a joined text may be less than its parts' floors.
            assert together == parts + seam or (counter is TOKENS and together < parts)


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.name)
@given(text=TEXTS)
def test_remembered_words_count_as_the_encoding_does(encoding: BytePairEncoding, text: str) -> None:
    counter = encoding_counter(encoding)
    exact = len(encoding.encode_ordinary(text))
    assert [counter.count(text), counter.count(text)] == [exact, exact]


@given(st.lists(TEXTS, max_size=5))
def test_a_full_memory_is_emptied_and_counts_stay(texts: list[str]) -> None:
    with patch("ingest.token_counters_tiktoken._MAX_WORDS", 2):
        counter = encoding_counter(ENCODINGS[0])
        for text in texts:
            assert counter.count(text) == len(ENCODINGS[0].encode_ordinary(text))


def test_another_encoding_is_asked_about_every_text() -> None:
    encoding = BytePairEncoding("r50k_base")
    counter = encoding_counter(encoding)
    assert counter.name == "tiktoken/1 r50k_base"
    assert counter.seam is None
    assert counter.count("Foo bar.") == len(encoding.encode_ordinary("Foo bar."))


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.name)
@given(text=TEXTS, size=st.integers(8, 30), share=st.floats(0, 0.9))
def test_no_chunk_is_over_its_limit_by_the_encodings_own_count(
    encoding: BytePairEncoding, text: str, size: int, share: float
) -> None:
    settings = ChunkSettings(
        size=size, overlap=int(size * share), counter=encoding_counter(encoding)
    )
    chunks = chunk(text, settings)
    assert all(len(encoding.encode_ordinary(text[a:b])) <= size for a, b in chunks)
    if text.strip():
        assert (chunks[0][0], chunks[-1][1]) == (0, len(text))
        assert all(after[0] <= before[1] for before, after in pairwise(chunks))


def test_chunks_are_filled_by_the_count_of_the_whole() -> None:
    # " word" and "word" are one token, and so are "." and a space at the end: six sentences are
    # 6 * 2 + 1 tokens together, and 6 * 3 apart.
    counter = encoding_counter(ENCODINGS[0])
    text = "word. " * 30
    assert counter.count("word. ") == 3
    assert chunk(text, ChunkSettings(size=13, counter=counter)) == [
        (start, start + 36) for start in range(0, 180, 36)
    ]


def test_where_seams_are_known_no_chunk_is_counted_again() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return count_tokens(text)

    text = "A sentence of five words. " * 100
    chunks = chunk(text, ChunkSettings(size=50, counter=Counter("seen", count, TOKENS.seam)))
    assert len(chunks) == 10
    assert "".join(counted) == text
