"""Stems: the stemmer of the index and the one in Python are the same, word for word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logicalrag.engines.analysis import stem
from logicalrag.engines.embedded.schema import stemming_analyzer
from logicalrag.query.tokens import tokenize, tokens_spaced

STEMS = [  # from Snowball's `algorithms/english.sbl`
    ("operations", "oper"),
    ("university", "universiti"),
    ("universe", "univers"),
    ("organization", "organiz"),
    ("organs", "organ"),
    ("biologist", "biolog"),
    ("added", "add"),
    ("dying", "die"),
    ("skies", "sky"),
    ("news", "news"),
]
# Every rule of the algorithm has a part in some of these, behind beginnings that have exceptions.
BEGINNINGS = (
    "gener commun arsen past univers later emerg organ inter sk dy ly ty ug earl onl singl idl "
    "gentl news how atlas cosmos bias inn out herr cann earr even proc exc succ add ebb egg err odd"
).split()
ENDINGS = (
    "s es sses ies ied us ss eed eedly ed edly ing ingly tional enci anci abli entli izer ization "
    "ational ation ator alism aliti alli fulness ousli ousness iveness iviti biliti bli ogi ogist "
    "fulli lessli li ly ally alize icate iciti ical ful ness ative al ance ence er ic able ible "
    "ant ement ment ent ism ate iti ous ive ize sion tion e l ll y"
).split()
words = st.builds(
    lambda beginning, endings: (beginning + "".join(endings))[:64],
    st.sampled_from(BEGINNINGS) | st.text("aeiouybcst", min_size=1, max_size=7),
    st.lists(st.sampled_from(ENDINGS), max_size=3),
)


@pytest.mark.parametrize(("word", "expected"), STEMS)
def test_stems_by_hand(word: str, expected: str) -> None:
    assert stem(word) == expected


@settings(max_examples=1_000)
@given(st.lists(words | st.text(max_size=20), max_size=30))
def test_the_index_stems_as_python_does(written: list[str]) -> None:
    text = " ".join(written)
    indexed = stemming_analyzer().analyze(tokens_spaced(text))
    assert indexed == [stem(token) for token in tokenize(text)]


def test_the_index_stems_real_words_as_python_does(shared: Path) -> None:
    vocabulary: set[str] = set()
    for path in sorted((shared / "data").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for value in json.loads(line).values():
                vocabulary.update(tokenize(str(value)))
    assert len(vocabulary) > 40_000
    ordered = sorted(vocabulary)
    assert stemming_analyzer().analyze(" ".join(ordered)) == [stem(word) for word in ordered]
