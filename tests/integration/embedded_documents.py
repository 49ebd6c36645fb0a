"""Documents for the tests of the embedded index: made, stored, and found again."""

from __future__ import annotations

from pathlib import Path

from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import Passage, Visibility
from logicalrag.query.nodes import Word

EVERYONE = Visibility()
GUARD_SECONDS = 60  # against hanging only


def document(
    name: str, *texts: str, tenant: str = "default", access: tuple[str, ...] | None = None
) -> list[Passage]:
    """Return the passages of a document."""
    return [
        Passage(
            passage_id(tenant, name, number), name, number, "", text, 0, len(text), tenant, access
        )
        for number, text in enumerate(texts)
    ]


def store(path: Path, *documents: list[Passage]) -> str:
    """Write documents that were never stored, and commit."""
    with EmbeddedWriter(path) as writer:
        for passages in documents:
            writer.put(passages, replaces=0)
        return writer.commit()


def texts(engine: EmbeddedEngine, word: str, visibility: Visibility = EVERYONE) -> set[str]:
    """Return the texts of at most 1,000 passages that hold a word."""
    hits = engine.search(Word((word,)), visibility, limit=1000).hits
    return {hit.passage.text for hit in hits}
