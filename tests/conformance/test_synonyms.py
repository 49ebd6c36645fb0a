"""An expression with synonyms finds the same on every engine: a tree is a tree."""

from __future__ import annotations

import pytest

from logicalrag.engines.analysis import Analysis, stemmer
from logicalrag.engines.protocol import SearchEngine
from logicalrag.query.parser import parse
from logicalrag.query.synonyms import expand, parse_synonyms
from tests.conformance.documents import EVERYONE, Document, serving
from tests.conformance.indices import Index, NewIndex

TABLE = parse_synonyms("car, automobile\nusa, united states\nship => boat\n", "synonyms.txt")
DOCUMENTS = [
    Document("car", ("A red car.",)),
    Document("cars", ("Many cars.",)),
    Document("automobile", ("No word here.",), "The automobile"),
    Document("usa", ("Made in the USA.",)),
    Document("states", ("The United States.",)),
    Document("apart", ("United they stand, states the law.",)),
    Document("ship", ("A ship.",)),
    Document("boat", ("A boat.",)),
]


def _found(engine: SearchEngine, expression: str) -> set[str]:
    tree = expand(parse(expression), TABLE, stemmer(engine.analysis), expression).tree
    return {hit.passage.document_id for hit in engine.search(tree, EVERYONE, limit=20).hits}


@pytest.mark.parametrize(
    ("analysis", "expression", "expected"),
    [
        ("english", "car", {"car", "cars", "automobile"}),
        ("english", "cars", {"car", "cars", "automobile"}),
        ("standard", "car", {"car", "automobile"}),
        ("standard", "cars", {"cars"}),
        ("english", '"car"', {"car"}),
        ("english", "title:car^2", {"automobile"}),
        ("english", "usa", {"usa", "states"}),
        ("english", "united-states", {"usa", "states"}),
        ("english", "united AND states", {"states", "apart"}),
        ("english", "boat", {"boat"}),
        ("english", "ship AND NOT boat", {"ship"}),
        ("english", "ship NOT car", {"ship", "boat"}),
        ("english", "NOT (automobile OR NOT usa)", {"usa", "states"}),
    ],
)
def test_what_synonyms_find(
    new_index: NewIndex, analysis: Analysis, expression: str, expected: set[str]
) -> None:
    with serving(new_index(analysis=analysis), DOCUMENTS) as engine:
        assert _found(engine, expression) == expected


def test_the_largest_expressions_with_synonyms_run(index: Index) -> None:
    # 256 cars are 512 clauses; in 24 levels the innermost OR takes the synonyms in.
    widest = " ".join(["car"] * 256)
    deepest = "car OR red"
    for level in range(22):
        deepest = f"({deepest}) {'OR' if level % 2 else 'AND NOT'} absent"
    with serving(index, DOCUMENTS) as engine:
        assert _found(engine, widest) == {"car", "cars", "automobile"}
        assert _found(engine, deepest) == {"car", "cars", "automobile"}
