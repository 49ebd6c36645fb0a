"""Locations: the parts a passage stands in, through cutting, sanitising, hashing and metadata."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.chunking import ChunkSettings, chunk_parts
from ingest.locations import MAX_LABEL_CODE_POINTS, label_of, locations, sanitised_parts
from ingest.readers.hyphenation import whole_words
from ingest.readers.parts import PartedText
from ingest.readers.source import RefusedError
from ingest.sanitising import sanitised

PIECES = st.text(alphabet="ab. \n\x00\x0c\ud800é", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((0, 5), "page 1"),
        ((0, 10), "page 1"),
        ((9, 11), "pages 1-2"),
        ((0, 40), "page 1 – Hope"),
        ((10, 20), "page 2"),
        ((20, 40), "Hope"),
    ],
)
def test_a_span_is_located_by_its_first_and_last_part(span: tuple[int, int], expected: str) -> None:
    assert locations(((0, "page 1"), (10, "page 2"), (20, "Hope")), [span]) == [expected]


def test_what_stands_before_the_first_part_has_no_location() -> None:
    parts = ((10, "row 17"), (20, "row 30"))
    assert locations(parts, [(0, 10), (0, 11), (5, 30)]) == ["", "row 17", "rows 17-30"]
    assert locations((), [(0, 10)]) == [""]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.data())
def test_each_character_of_a_span_is_in_one_of_the_parts_named(
    lengths: list[int], data: st.DataObject
) -> None:
    numbers = [n for n, length in enumerate(lengths) for _ in range(length)]
    starts = [numbers.index(n) for n in range(len(lengths))]
    start = data.draw(st.integers(0, len(numbers) - 1))
    end = data.draw(st.integers(start + 1, len(numbers)))
    [found] = locations(tuple((at, f"page {n}") for n, at in enumerate(starts)), [(start, end)])
    first, last = min(numbers[start:end]), max(numbers[start:end])
    assert found == (f"page {first}" if first == last else f"pages {first}-{last}")


@given(st.lists(PIECES, min_size=1, max_size=8))
def test_sanitising_moves_the_parts_with_the_text(pieces: list[str]) -> None:
    starts = [sum(map(len, pieces[:n])) for n in range(len(pieces))]
    parts = tuple((start, f"row {n}") for n, start in enumerate(starts))
    text, moved = sanitised_parts("".join(pieces), parts)
    assert text == sanitised("".join(pieces))
    ends = [start for start, _ in moved[1:]] + [len(text)]
    assert [text[start:end] for (start, _), end in zip(moved, ends, strict=True)] == [
        sanitised(piece) for piece in pieces
    ]


@given(st.lists(PIECES, max_size=8), st.integers(1, 6))
def test_parts_kept_apart_share_no_chunk_and_lose_nothing(pieces: list[str], size: int) -> None:
    pieces = [sanitised(piece) for piece in pieces]
    text = "".join(pieces)
    starts = [sum(map(len, pieces[:n])) for n in range(len(pieces))]
    spans = chunk_parts(text, starts, ChunkSettings(size=size))
    if not text.strip():
        assert spans == []
        return
    assert "".join(text[start:end] for start, end in spans) == text
    numbers = [n for n, piece in enumerate(pieces) for _ in piece]
    for start, end in spans:
        inside = zip(numbers[start:end], text[start:end], strict=True)
        assert len({number for number, character in inside if not character.isspace()}) <= 1


def test_labels_and_parts_are_bounded() -> None:
    assert label_of(" A\n heading ") == "A heading"
    assert label_of("x" * 500) == "x" * (MAX_LABEL_CODE_POINTS - 1) + "…"
    text = PartedText(5)
    text.add("", "page 1")
    text.add("ab", "page 2")
    text.add(" \n", "page 3")
    text.add("c", "page 4")
    assert (str(text), text.parts) == ("ab\n\nc", ((0, "page 2"), (4, "page 4")))
    with pytest.raises(RefusedError, match="longer than 5 characters"):
        text.add("d", "page 5")


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (["informa\x02tion"], ["information"]),
        (["a well\x02known and a well-known"], ["a well-known and a well-known"]),
        (["re\x02sign resign re-sign"], ["resign resign re-sign"]),
        (["Anglo\x02Saxon INFORMA\x02TION"], ["Anglo-Saxon INFORMATION"]),
        (["in\x02for\x02ma\x02tion"], ["information"]),
        (["1\x022 a\x02 \x02b"], ["1-2 a- -b"]),
        (["the sec-", "ond, page.\nNext"], ["the second,", "page.\nNext"]),
        (["the well-", "known well-known"], ["the well-known", "well-known"]),
        (["a -", "b", "c-", "D"], ["a -", "b", "c-", "D"]),
        (["one\r\ntwo ", "", " three"], ["one\ntwo", "", "three"]),
        ([], []),
    ],
)
def test_words_that_a_line_or_page_end_breaks_are_whole(
    pages: list[str], expected: list[str]
) -> None:
    assert whole_words(pages) == expected


def test_a_page_of_one_long_run_of_letters_takes_linear_time() -> None:
    run = "a" * 1_000_000
    assert whole_words([f"{run} infor\x02mation"]) == [f"{run} information"]
