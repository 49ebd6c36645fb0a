"""The engines under test: one entry each; adding an engine to the suite is adding an entry."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import IndexWriter, SearchEngine
from logicalrag.engines.reference import ReferenceEngine
from tests.conformance.elastic_indices import ElasticIndex, ElasticIndices


class Index(Protocol):
    """One empty index: opens writers and engines on it."""

    def writer(self) -> AbstractContextManager[IndexWriter]:
        """Open the index for writing; the exit closes it without a commit."""
        ...

    def engine(self) -> AbstractContextManager[SearchEngine]:
        """Open the index for reading."""
        ...

    def begin(self, content: str, store: Callable[[], None]) -> None:
        """Call `store`, unless an index of this content is at hand that no test has changed."""
        ...


class NewIndex(Protocol):
    """Makes another empty index each time."""

    def __call__(
        self, *, analysis: Analysis = "english", schema: MetadataSchema | None = None
    ) -> Index:
        """Make an index of this analysis and these declared fields."""
        ...


class ReferenceIndex:
    """The oracle; in memory, so every writer and engine is the same object."""

    def __init__(
        self,
        *,
        analysis: Analysis = "english",
        schema: MetadataSchema | None = None,
        empty_fields: bool = True,
    ) -> None:
        self._engine = ReferenceEngine(analysis=analysis, schema=schema, empty_fields=empty_fields)

    def writer(self) -> AbstractContextManager[IndexWriter]:
        """Return the engine itself: its exit forgets what was not committed."""
        return self._engine

    def engine(self) -> AbstractContextManager[SearchEngine]:
        """Return the engine without its exit, which would roll an open writer back."""
        return nullcontext(self._engine)

    def begin(self, content: str, store: Callable[[], None]) -> None:  # noqa: ARG002
        """Call `store`: it is cheap."""
        store()


class EmbeddedIndex:
    """The tantivy index in a folder, made by its first writer."""

    def __init__(self, folder: Path, analysis: Analysis, schema: MetadataSchema | None) -> None:
        self._folder, self._analysis, self._schema = folder, analysis, schema

    def writer(self) -> AbstractContextManager[IndexWriter]:
        """Open the folder's writer, which takes its lock."""
        return EmbeddedWriter(self._folder, analysis=self._analysis, schema=self._schema)

    def engine(self) -> AbstractContextManager[SearchEngine]:
        """Open the folder's engine."""
        return EmbeddedEngine(self._folder)

    def begin(self, content: str, store: Callable[[], None]) -> None:  # noqa: ARG002
        """Call `store`: it is cheap."""
        store()


def reference(_: pytest.FixtureRequest) -> NewIndex:
    """Make indices in memory."""
    return ReferenceIndex


def embedded(request: pytest.FixtureRequest) -> NewIndex:
    """Make indices in folders of their own."""
    parent = request.getfixturevalue("tmp_path")
    numbers = count()

    def another(
        *, analysis: Analysis = "english", schema: MetadataSchema | None = None
    ) -> EmbeddedIndex:
        return EmbeddedIndex(parent / f"index-{next(numbers)}", analysis, schema)

    return another


def elastic(request: pytest.FixtureRequest) -> NewIndex:
    """Make collections in the session's cluster."""
    indices: ElasticIndices = request.getfixturevalue("elastic_indices")

    def another(
        *, analysis: Analysis = "english", schema: MetadataSchema | None = None
    ) -> ElasticIndex:
        return ElasticIndex(indices, analysis, schema)

    return another


INDICES: dict[str, Callable[[pytest.FixtureRequest], NewIndex]] = {
    "reference": reference,
    "embedded": embedded,
    "elastic": elastic,
}
