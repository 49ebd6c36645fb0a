"""The `standard` analysis: words as they are written, and everything else as with `english`."""

from __future__ import annotations

import pytest

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.protocol import SearchEngine
from logicalrag.query.nodes import Node, Phrase, Word
from logicalrag.query.parser import parse
from tests.conformance.documents import EVERYONE, Document, serving, titled
from tests.conformance.indices import NewIndex

DOCUMENTS = [
    *titled(one="The operation ended", many="Operations ended", café="Café operations, naïve"),
    Document("titled", ("Nothing",), "Operations"),
]


def find(engine: SearchEngine, expression: str) -> set[str]:
    """Return the documents found."""
    result = engine.search(parse(expression).tree, EVERYONE, limit=100)
    return {hit.passage.document_id for hit in result.hits}


@pytest.mark.parametrize("analysis", ["english", "standard"])
def test_it_is_told(new_index: NewIndex, analysis: Analysis) -> None:
    with serving(new_index(analysis=analysis), DOCUMENTS) as engine:
        assert engine.analysis == analysis


@pytest.mark.parametrize(
    ("expression", "english", "standard"),
    [
        ("operation", "one many café titled", "one"),
        ("operations", "one many café titled", "many café titled"),
        ("OPERATIONS", "one many café titled", "many café titled"),
        ("ends", "one many", ""),
        ("operate", "one many café titled", ""),
        ('"operations"', "many café titled", "many café titled"),
        ('"operations ended"', "many", "many"),
        ("operations-ended", "one many", "many"),
        ("title:operations", "titled", "titled"),
        ("title:operation", "titled", ""),
        ("operation AND NOT operations", "", "one"),
        ("cafe", "café", "café"),
        ("NAIVE", "café", "café"),
    ],
)
def test_only_words_as_they_are_written_match(
    new_index: NewIndex, expression: str, english: str, standard: str
) -> None:
    with serving(new_index(analysis="english"), DOCUMENTS) as engine:
        assert find(engine, expression) == set(english.split())
    with serving(new_index(analysis="standard"), DOCUMENTS) as engine:
        assert find(engine, expression) == set(standard.split())


def test_a_word_is_its_quote(new_index: NewIndex) -> None:
    pairs: list[tuple[Node, Node]] = [
        (Word((word,)), Phrase((word,))) for word in ("operations", "ended", "cafe", "the", "op")
    ]
    with serving(new_index(analysis="standard"), DOCUMENTS) as engine:
        for word, quote in pairs:
            found = [engine.search(tree, EVERYONE, limit=100).hits for tree in (word, quote)]
            assert found[0] == found[1]


def test_nearest_words(new_index: NewIndex) -> None:
    with serving(new_index(analysis="standard"), DOCUMENTS) as engine:
        near = engine.nearest_words("operatoin", EVERYONE)
        assert [(each.word, each.hits) for each in near] == [("operation", 1)]
        near = engine.nearest_words("operation", EVERYONE, field="title")
        assert [(each.word, each.hits) for each in near] == [("operations", 1)]
