"""Documents whose passages, counts and offsets are known by construction, and what holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from ingest.batching import Bounds
from ingest.chunking import ChunkSettings
from ingest.documents import SourceDocument
from ingest.pipeline import IngestSettings
from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import DEFAULT_TENANT
from tests.servers.elasticsearch_server import Server

COLOURS = ("red", "green", "blue", "amber", "violet")
ANIMALS = ("cat", "dog", "bird", "fish")
# A sentence a passage; small batches, so that a fault meets many commits.
SETTINGS = IngestSettings(
    chunking=ChunkSettings(size=1, unit="sentences"),
    claim_bounds=Bounds(documents=1_000, passages=10_000, bytes=2**24, seconds=60.0),
    commit_bounds=Bounds(documents=2_000, passages=20_000, bytes=2**24, seconds=60.0),
)


class Held(NamedTuple):
    """A passage as an index holds it."""

    id: str
    document_id: str
    number: int
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class Corpus:
    """Documents ``d0``, ``d1``, … of one-sentence passages.

    A passage's colour goes by document and number, its animal by number alone: no passage holds
    two animals, each document of four passages or more holds all.

    Args:
        documents: how many.
        passages: of each document.
        edition: another one is a new version of every document.
        tenant: the owner.
    """

    documents: int
    passages: int = 10
    edition: int = 1
    tenant: str = DEFAULT_TENANT

    def next(self) -> Corpus:
        """Return the next edition of the same documents."""
        return replace(self, edition=self.edition + 1)

    def source(self) -> Iterator[SourceDocument]:
        """Yield the documents."""
        for number in range(self.documents):
            sentences = self._sentences(number)
            yield SourceDocument(f"d{number}", "", "".join(sentences), tenant=self.tenant)

    def held(self) -> list[Held]:
        """Return what an index must hold, by (document, number) in order of the id."""
        found = []
        for document in range(self.documents):
            name, start = f"d{document}", 0
            for number, text in enumerate(self._sentences(document)):
                found.append(Held(passage_id(self.tenant, name, number), name, number, text, start))
                start += len(text)
        return sorted(found)

    def by_document(self) -> list[list[Held]]:
        """Return each document's passages in order."""
        found: list[list[Held]] = [[] for _ in range(self.documents)]
        for held in sorted(self.held(), key=lambda each: each.number):
            found[int(held.document_id.removeprefix("d"))].append(held)
        return found

    def hits(self, *words: str) -> int:
        """Return how many passages hold all of these words."""
        wanted = set(words)
        return sum(
            wanted <= set(sentence.replace(".", "").lower().split())
            for document in range(self.documents)
            for sentence in self._sentences(document)
        )

    def _sentences(self, document: int) -> list[str]:
        sentences = [
            f"Entry {document} part {number} of edition {self.edition} holds one "
            f"{COLOURS[(document + number) % len(COLOURS)]} {ANIMALS[number % len(ANIMALS)]}."
            for number in range(self.passages)
        ]
        return [f"{sentence} " for sentence in sentences[:-1]] + sentences[-1:]


def held_in(server: Server, index: str, node: int = 0) -> list[Held]:
    """Return every passage of an index or alias in order of its id, those held twice twice.

    The server is asked, not the product.
    """
    answer = server.request(
        "POST",
        f"/{index}/_search?scroll=1m&allow_partial_search_results=false",
        {"size": 10_000, "sort": ["_doc"], "_source": ["passage"]},
        node=node,
    )
    found: list[Held] = []
    while True:
        assert answer.status == 200, answer.body
        hits = answer.body["hits"]["hits"]
        if not hits:
            break
        for hit in hits:
            passage = hit["_source"]["passage"]
            assert hit["_id"] == passage["id"]
            found.append(
                Held(
                    hit["_id"],
                    passage["document_id"],
                    passage["number"],
                    passage["text"],
                    passage["start"],
                )
            )
        scroll = {"scroll": "1m", "scroll_id": answer.body["_scroll_id"]}
        answer = server.request("POST", "/_search/scroll", scroll, node=node)
    scroll_id = answer.body["_scroll_id"]
    server.request("DELETE", "/_search/scroll", {"scroll_id": scroll_id}, node=node)
    return sorted(found)


def copies_differ(server: Server, index: str, node: int = 0) -> list[str]:
    """Return the shards whose copies do not hold equally many passages, of those that run."""
    path = f"/_cat/shards/{index}?format=json&h=index,shard,docs,state"
    shards = server.request("GET", path, node=node)
    assert shards.status == 200, shards.body
    counts: dict[str, set[str]] = {}
    for copy in shards.body:
        if copy["state"] == "STARTED":
            counts.setdefault(f"{copy['index']} {copy['shard']}", set()).add(copy["docs"])
    assert counts, shards.body
    return [f"{shard}: {docs}" for shard, docs in sorted(counts.items()) if len(docs) > 1]
