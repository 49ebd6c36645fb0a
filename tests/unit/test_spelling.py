"""The rule of what is spelt alike, by hand."""

from __future__ import annotations

import pytest

from logicalrag.engines.spelling import similarity


@pytest.mark.parametrize(
    ("word", "held", "expected"),
    [
        ("vivaldy", "vivaldi", 6 / 7),
        ("xivaldi", "vivaldi", 6 / 7),
        ("ivaldi", "vivaldi", 6 / 7),
        ("vivladi", "vivaldi", 5 / 7),
        ("vivalxyi", "vivaldi", 6 / 8),
        ("xivaldy", "vivaldi", None),
        ("ivvaldi", "vivaldi", None),  # a swap is two edits, and the first letter is another
        ("vvlxyi", "vivaldi", None),
        ("vivaldi", "vivaldi", None),
        ("ab", "ac", 1 / 2),
        ("a", "b", None),
        ("abc", "axy", None),
        ("東", "東京", 1 / 2),
        ("", "a", None),
    ],
)
def test_similarity(word: str, held: str, expected: float | None) -> None:
    assert similarity(word, held) == (None if expected is None else pytest.approx(expected))
    assert similarity(held, word) == similarity(word, held)
