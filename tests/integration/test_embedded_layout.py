"""What an embedded index is made with: kept in its folder, and never changed afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.folder import DESCRIPTOR
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import Filter, MetadataError, MetadataSchema
from logicalrag.query.nodes import Word
from tests.integration.embedded_documents import EVERYONE, document, texts

FIELDS = MetadataSchema({"kind": "keyword", "year": "number", "published": "date"})
NONE = MetadataSchema({})


def make(path: Path, analysis: Analysis | None = None, schema: MetadataSchema | None = None) -> str:
    """Write one document and return the generation."""
    with EmbeddedWriter(path, analysis=analysis, schema=schema) as writer:
        writer.put(document("d", "common operations"), replaces=1)
        return writer.commit()


@pytest.mark.parametrize("analysis", [None, "english", "standard"])
@pytest.mark.parametrize("schema", [None, NONE, FIELDS])
def test_it_is_kept(
    tmp_path: Path, analysis: Analysis | None, schema: MetadataSchema | None
) -> None:
    make(tmp_path, analysis, schema)
    for again in ((None, None), (analysis, schema), (analysis or "english", schema or NONE)):
        make(tmp_path, *again)
        with EmbeddedEngine(tmp_path) as engine:
            assert engine.analysis == (analysis or "english")
            assert list(engine.metadata_schema.fields.items()) == list(
                (schema or NONE).fields.items()
            )
            words = {"operations"} if analysis == "standard" else {"operations", "operate"}
            assert {word for word in ("operations", "operate") if texts(engine, word)} == words


def test_the_order_of_fields_does_not_matter(tmp_path: Path) -> None:
    make(tmp_path, schema=FIELDS)
    make(tmp_path, schema=MetadataSchema(dict(reversed(list(FIELDS.fields.items())))))
    with EmbeddedEngine(tmp_path) as engine:
        assert list(engine.metadata_schema.fields) == list(FIELDS.fields)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            {"analysis": "standard"},
            "was made with the analysis english; for the analysis standard ingest the documents "
            "into a new folder",
        ),
        (
            {"schema": NONE},
            r"the metadata fields kind \(keyword\), year \(number\), published \(date\); "
            "for no metadata fields ingest the documents into a new folder",
        ),
        (
            {"schema": MetadataSchema({"kind": "number"})},
            r"fields kind \(number\) ingest",
        ),
        ({"schema": MetadataSchema({**FIELDS.fields, "x": "date"})}, r"published \(date\), x \("),
    ],
)
def test_another_one_is_refused(tmp_path: Path, asked: dict[str, Any], told: str) -> None:
    make(tmp_path, "english", FIELDS)
    for _ in range(2):  # and the refusal holds no lock
        with pytest.raises(EngineError, match=told) as caught:
            EmbeddedWriter(tmp_path, **asked)
        assert not caught.value.retryable
    make(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"analysis": "german"},
        {"analysis": None},
        {"analysis": ["english"]},
        {"metadata": None},
        {"metadata": ["kind"]},
        {"metadata": {"kind": "text"}},
        {"metadata": {"kind": ["keyword"]}},
    ],
)
def test_a_damaged_description(tmp_path: Path, change: dict[str, object]) -> None:
    make(tmp_path)
    path = tmp_path / DESCRIPTOR
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    for opened in (EmbeddedEngine, EmbeddedWriter):
        with pytest.raises(EngineError, match=r"index\.json is damaged; ingest .* a new folder"):
            opened(tmp_path)


def test_an_index_of_another_layout_in_the_same_place_is_followed(tmp_path: Path) -> None:
    path, other = tmp_path / "index", tmp_path / "other"
    make(path)
    make(other, "standard", FIELDS)
    old = Filter("year", "<", (2000.0,))
    with EmbeddedEngine(path) as engine:
        assert texts(engine, "operate") == {"common operations"}
        with pytest.raises(MetadataError):
            engine.count([Word(("common",))], EVERYONE, filters=[old])
        path.rename(tmp_path / "before")
        other.rename(path)
        assert engine.count([Word(("common",))], EVERYONE, filters=[old]).visible == 0
        assert texts(engine, "operate") == set()
        assert (engine.analysis, engine.metadata_schema) == ("standard", FIELDS)


def test_without_stems_the_index_is_smaller(tmp_path: Path) -> None:
    sizes: dict[str, int] = {}
    analyses: tuple[Analysis, ...] = ("english", "standard")
    for analysis in analyses:
        with EmbeddedWriter(tmp_path / analysis, analysis=analysis) as writer:
            for number in range(300):
                text = " ".join(f"w{number * at % 997}" for at in range(50))
                writer.put(document(f"d{number}", text), replaces=0)
            writer.commit()
        with EmbeddedEngine(tmp_path / analysis) as engine:
            sizes[analysis] = engine.stats(EVERYONE).size_bytes
    assert sizes["standard"] < 0.85 * sizes["english"]


def test_a_passage_without_metadata_takes_no_more_room(tmp_path: Path) -> None:
    sizes: list[int] = []
    for name, schema in (("bare", NONE), ("declared", FIELDS)):
        with EmbeddedWriter(tmp_path / name, schema=schema) as writer:
            for number in range(500):
                writer.put(document(f"d{number}", f"common {number}"), replaces=0)
            writer.commit()
        with EmbeddedEngine(tmp_path / name) as engine:
            sizes.append(engine.stats(EVERYONE).size_bytes)
    assert sizes[1] < 1.1 * sizes[0]
