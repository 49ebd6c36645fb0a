"""Excerpts: verbatim, bounded, whole sentences where they fit, around what matched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logicalrag.agent.excerpts import excerpt, matched_forms
from logicalrag.query.parser import parse

WORDS = st.lists(
    st.sampled_from("alpha beta. gamma delta! omega? 第一文です。 keeper\n".split(" ")), min_size=1,
    max_size=300,
).map(" ".join)  # fmt: skip


@given(WORDS, st.integers(20, 200))
def test_an_excerpt_is_part_of_the_text_and_within_the_limit(text: str, limit: int) -> None:
    shown, whole = excerpt(text, {"keeper"}, set(), limit)
    assert shown in text
    assert len(shown) <= limit
    assert whole == (shown == text and len(text) <= limit)


@given(WORDS, st.integers(20, 200))
def test_what_matched_is_in_it_wherever_it_stands(before: str, limit: int) -> None:
    text = f"{before.replace('keeper', '')} lighthouse."
    assert "lighthouse" in excerpt(text, {"lighthous"}, set(), limit)[0]


def test_a_text_of_one_long_word_is_cut_at_the_limit() -> None:
    shown, whole = excerpt("x" * 1000, set(), set(), 100)
    assert (len(shown), whole) == (100, False)


def test_more_distinct_matches_beat_more_matches() -> None:
    text = "alpha alpha alpha alpha. " + "filler words stand here. " * 5 + "alpha beta gamma."
    shown, _ = excerpt(text, {"alpha", "beta", "gamma"}, set(), 50)
    assert shown.endswith("alpha beta gamma.")


def test_only_positive_clauses_draw_the_excerpt() -> None:
    tree = parse('keepers "Ida Lewis" NOT (storm OR "Lime Rock") NOT NOT light').tree
    stems, exact = matched_forms(tree)
    assert set(stems) == {"keeper", "light"}
    assert set(exact) == {"ida", "lewis"}
