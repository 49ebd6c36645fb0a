"""The engines under test: one entry each; adding an engine to the suite is adding an entry."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol

from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.protocol import IndexWriter, SearchEngine
from logicalrag.engines.reference import ReferenceEngine


class Index(Protocol):
    """One empty index: opens writers and engines on it."""

    def writer(self) -> AbstractContextManager[IndexWriter]:
        """Open the index for writing; the exit closes it without a commit."""
        ...

    def engine(self) -> AbstractContextManager[SearchEngine]:
        """Open the index for reading."""
        ...


class ReferenceIndex:
    """The oracle; in memory, so every writer and engine is the same object."""

    def __init__(self, folder: Path | None = None) -> None:
        del folder
        self._engine = ReferenceEngine()

    def writer(self) -> AbstractContextManager[IndexWriter]:
        """Return the engine itself: its exit forgets what was not committed."""
        return self._engine

    def engine(self) -> AbstractContextManager[SearchEngine]:
        """Return the engine without its exit, which would roll an open writer back."""
        return nullcontext(self._engine)


class EmbeddedIndex:
    """The tantivy index in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def writer(self) -> AbstractContextManager[IndexWriter]:
        """Open the folder's writer, which takes its lock."""
        return EmbeddedWriter(self._folder)

    def engine(self) -> AbstractContextManager[SearchEngine]:
        """Open the folder's engine."""
        return EmbeddedEngine(self._folder)


INDICES: dict[str, Callable[[Path], Index]] = {
    "reference": ReferenceIndex,
    "embedded": EmbeddedIndex,
}
