"""What the tests of ingestion share: documents to send, and what an index holds of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from ingest.batching import Bounds
from ingest.chunking import ChunkSettings
from ingest.documents import SourceDocument
from ingest.pipeline import IngestSettings
from ingest.report import IngestReport
from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import Visibility
from logicalrag.engines.reference import ReferenceEngine

SMALL = IngestSettings(
    chunking=ChunkSettings(size=3),
    claim_bounds=Bounds(documents=2, passages=50, bytes=10_000, seconds=60),
    commit_bounds=Bounds(documents=3, passages=50, bytes=10_000, seconds=60),
)
MOST_PASSAGES = 12
NAMES = "abcd"
TEXTS = ["One here.", "One here. Two here.", "One. Two. Three. Four. Five words in all.", "Other."]


def document(name: str, text: str, version: int | None = None, **rest: object) -> SourceDocument:
    """Return a document that may be sent."""
    return SourceDocument(name, f"title {name}", text, version=version, **rest)  # type: ignore[arg-type]


def stored(
    engine: ReferenceEngine, names: Iterable[str], tenant: str = "default"
) -> dict[str, str]:
    """Return the text of each stored document, put together from its passages."""
    texts: dict[str, str] = {}
    known = 0
    for name in names:
        ids = [passage_id(tenant, name, number) for number in range(MOST_PASSAGES)]
        passages = engine.read(ids, Visibility(tenant=tenant, groups=frozenset({"g"})))
        known += len(passages)
        assert [each.number for each in passages] == list(range(len(passages)))
        if passages:
            texts[name] = "".join(each.text for each in passages)
    assert engine.stats(Visibility(tenant=tenant, groups=frozenset({"g"}))).passages == known
    return texts


def counts_of(report: IngestReport) -> dict[str, int]:
    """Return the counts that are not zero."""
    counts = dataclasses.asdict(report)
    return {name: count for name, count in counts.items() if isinstance(count, int) and count}
