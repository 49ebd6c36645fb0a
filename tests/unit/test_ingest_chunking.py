"""Chunks: nothing lost, nothing over the limit, nothing repeated for its own sake."""

from __future__ import annotations

import itertools
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ingest.chunking import ChunkSettings, chunk
from ingest.sentences import sentences
from ingest.token_counters import CHARACTERS, TOKENS, Counter, count_tokens

JAPANESE = "第一文です。第二文です。第三文です。"
THAI = "สวัสดีครับ" * 1_050
PIECES = [
    *(
        "word ",
        "Dr. ",
        "M.",
        "End. ",
        "Why? ",
        "so!\n",
        "\n\n",
        "\r\n",
        "\t",
        " ",
        "\u3000",
        "\u2028",
    ),
    *(
        "\x85",
        "第一文です。",
        "ครับ",
        "e\u0301",
        "\u0301\u0301",
        "😀",
        "👩\u200d💻",
        "x" * 70,
        "'s ",
        "’s",
    ),
    *('"Hi." ', "(a) ", "1.5 ", "… ", "•", "!" * 70),
]
TEXTS = (
    st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=60)
    .map("".join)
    .filter(lambda text: not any("\ud800" <= character <= "\udfff" for character in text))
)
WORDS = Counter("words by spaces", lambda text: len(text.split()))
SETTINGS = st.builds(
    lambda size, share, unit, counter: ChunkSettings(
        size=size, overlap=int(size * share), unit=unit, counter=counter
    ),
    st.integers(1, 40),
    st.floats(0, 0.99),
    st.sampled_from(["tokens", "characters"]),
    st.sampled_from([TOKENS, CHARACTERS, WORDS]),
)


def _parts(text: str, settings: ChunkSettings) -> list[str]:
    return [text[start:end] for start, end in chunk(text, settings)]


def test_three_japanese_sentences_are_three() -> None:
    assert [JAPANESE[start:end] for start, end in sentences(JAPANESE)] == [
        "第一文です。",
        "第二文です。",
        "第三文です。",
    ]


def test_three_sentences_at_size_three_and_overlap_one_are_one_chunk() -> None:
    settings = ChunkSettings(size=3, overlap=1, unit="sentences")
    assert _parts(JAPANESE, settings) == [JAPANESE]
    assert _parts("One. Two. Three.", settings) == ["One. Two. Three."]


def test_overlap_repeats_whole_sentences_and_ends_with_a_new_one() -> None:
    text = "One. Two. Three. Four. Five."
    assert _parts(text, ChunkSettings(size=3, overlap=1, unit="sentences")) == [
        "One. Two. Three. ",
        "Three. Four. Five.",
    ]
    assert _parts(text, ChunkSettings(size=2, overlap=1, unit="sentences")) == [
        "One. Two. ",
        "Two. Three. ",
        "Three. Four. ",
        "Four. Five.",
    ]


def test_overlap_yields_to_a_sentence_that_needs_the_room() -> None:
    text = "One two three. Four five. Six seven eight nine ten."
    assert _parts(text, ChunkSettings(size=6, overlap=3)) == [
        "One two three. Four five. ",
        "Six seven eight nine ten.",
    ]
    assert _parts(text, ChunkSettings(size=7, overlap=3)) == [
        "One two three. Four five. ",
        "Four five. Six seven eight nine ten.",
    ]


def test_long_thai_text_stays_within_the_limit_and_is_whole() -> None:
    parts = _parts(THAI, ChunkSettings())
    assert "".join(parts) == THAI
    assert all(0 < len(part) <= 1_000 for part in parts)
    assert len(parts) == 11  # 10,500 letters, each counted as one


def test_a_long_sentence_is_cut_between_words() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta"
    assert _parts(text, ChunkSettings(size=3)) == [
        "alpha beta gamma ",
        "delta epsilon zeta ",
        "eta theta",
    ]


def test_a_cut_keeps_a_letter_and_its_marks_together() -> None:
    text = "e\u0301" * 30
    parts = _parts(text, ChunkSettings(size=7, unit="characters"))
    assert "".join(parts) == text
    assert all(not part.startswith("\u0301") for part in parts)


def test_passage_mode_keeps_documents_whole() -> None:
    assert chunk(THAI, ChunkSettings(mode="passage")) == [(0, len(THAI))]


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000\u2028"])
@pytest.mark.parametrize("mode", ["chunks", "passage"])
def test_a_blank_text_has_no_chunks(text: str, mode: str) -> None:
    assert chunk(text, ChunkSettings(mode=mode)) == []  # type: ignore[arg-type]


@given(TEXTS, SETTINGS)
@example("M\u3000.", ChunkSettings(size=1))
@example("\n\nlead. tail \n\n", ChunkSettings(size=1))
def test_chunks_cover_everything_within_the_limit(text: str, settings: ChunkSettings) -> None:
    found = chunk(text, settings)
    if not text or text.isspace():
        assert found == []
        return
    assert found[0][0] == 0
    assert found[-1][1] == len(text)
    for (start, end), (following, further) in itertools.pairwise(found):
        assert start < following <= end < further
    counter = settings.counter if settings.unit == "tokens" else CHARACTERS
    for start, end in found:
        # One code point alone may count more than a size of 1 allows, and cannot be cut.
        assert counter.count(text[start:end]) <= settings.size or end - start == 1


@given(TEXTS, SETTINGS)
@example("word word ", ChunkSettings(size=1, counter=Counter("words", lambda t: len(t.split()))))
def test_an_overlap_is_within_its_bound(text: str, settings: ChunkSettings) -> None:
    counter = settings.counter if settings.unit == "tokens" else CHARACTERS
    for (_, end), (following, _) in itertools.pairwise(chunk(text, settings)):
        if settings.overlap == 0:
            assert following == end
        elif settings.unit == "characters":
            assert counter.count(text[following:end]) <= settings.overlap


@given(TEXTS, st.integers(1, 5), st.integers(0, 4))
def test_in_sentences_each_chunk_but_the_last_is_full(text: str, size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    starts = [start for start, _ in sentences(text)]
    found = chunk(text, ChunkSettings(size=size, overlap=overlap, unit="sentences"))
    held = [sum(start <= each < end for each in starts) for start, end in found]
    assert all(count == size for count in held[:-1])
    assert all(count > overlap for count in held[1:])


@given(TEXTS)
def test_sentences_cover_the_text_and_none_is_blank(text: str) -> None:
    spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)
    if text.strip():
        assert not any(text[start:end].isspace() for start, end in spans)


def test_a_long_text_is_cut_as_its_parts_are() -> None:
    parts = [f"Sentence {number} of Dr. Smith ends here. " for number in range(2_000)]
    text = "".join(parts)
    assert [text[start:end] for start, end in sentences(text)] == parts


@given(TEXTS, st.integers(1, 30))
def test_windows_lose_nothing(text: str, window: int) -> None:
    with patch("ingest.sentences._WINDOW_CODE_POINTS", window):
        spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)


def test_many_quotations_are_linear() -> None:
    text = "「あ。」" * 50_000  # half a minute where the library is given the whole at once
    spans = sentences(text)
    assert spans[-1][1] == len(text)
    assert len(spans) >= 50_000


def test_a_failing_library_costs_boundaries_and_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):  # the name the native library gives it
        pass

    def panics(language: str, text: str) -> list[str]:
        raise PanicException(f"{language}: {text}")

    monkeypatch.setattr("ingest.sentences.sentencex.segment", panics)
    assert sentences("One line\nand another. And more") == [(0, 9), (9, 30)]


def test_interrupts_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(language: str, text: str) -> list[str]:
        raise KeyboardInterrupt(f"{language}: {text}")

    monkeypatch.setattr("ingest.sentences.sentencex.segment", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sentences("One.")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("two words", 2),
        ("state-of-the-art", 4),
        ("東京 tower", 3),
        ("สวัสดี", 6),
        ("!" * 65, 2),
        ("x" * 129, 3),
    ],
)
def test_the_default_counter(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 0}, "a chunk's size is at least 1, not 0"),
        ({"size": 5, "overlap": 5}, "overlap is from 0 to under size 5, not 5"),
        ({"overlap": -1}, "overlap is from 0 to under size 1000, not -1"),
        ({"mode": "whole"}, "mode is chunks or passage, not 'whole'"),
        ({"unit": "lines"}, "unit is tokens, characters or sentences, not 'lines'"),
    ],
)
def test_bad_settings_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChunkSettings(**given)  # type: ignore[arg-type]
