"""Documents for the suite: how they are made, stored and read from the shared data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from logicalrag.engines.identity import passage_id
from logicalrag.engines.metadata import Value
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage, SearchEngine, Visibility
from tests.conformance.indices import Index

EVERYONE = Visibility()
"""A caller of the default tenant without groups."""


@dataclass(frozen=True)
class Document:
    """A document whose chunks are given; `access` as in `Passage`.

    `metadata` and `locations` are the passages' own, from the first on; others have none.
    """

    id: str
    texts: tuple[str, ...]
    title: str = ""
    tenant: str = DEFAULT_TENANT
    access: tuple[str, ...] | None = None
    metadata: tuple[Mapping[str, tuple[Value, ...]], ...] = ()
    locations: tuple[str, ...] = ()

    def passages(self) -> list[Passage]:
        """Return its passages, offsets running on from one chunk to the next."""
        made: list[Passage] = []
        start = 0
        for number, text in enumerate(self.texts):
            made.append(
                Passage(
                    id=passage_id(self.tenant, self.id, number),
                    document_id=self.id,
                    number=number,
                    title=self.title,
                    text=text,
                    start=start,
                    end=start + len(text),
                    tenant=self.tenant,
                    access=self.access,
                    location=self.locations[number] if number < len(self.locations) else "",
                    metadata=self.metadata[number] if number < len(self.metadata) else {},
                )
            )
            start += len(text)
        return made


def store(index: Index, documents: Iterable[Document]) -> None:
    """Write documents that were never stored before, and commit."""
    with index.writer() as writer:
        for document in documents:
            writer.put(document.passages(), replaces=0)
        writer.commit()


@contextmanager
def serving(index: Index, documents: Iterable[Document]) -> Iterator[SearchEngine]:
    """Store documents and open an engine on them."""
    documents = list(documents)
    index.begin(repr(documents), lambda: store(index, documents))
    with index.engine() as engine:
        yield engine


def titled(**texts: str) -> list[Document]:
    """Return one document of one passage for each argument: its id, and its text."""
    return [Document(document_id, (text,)) for document_id, text in texts.items()]


def read_corpus(path: Path, ids: Sequence[str] | None = None) -> list[Document]:
    """Return the lines of a ``corpus.jsonl`` in order, or those of `ids`, one passage each."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Document(line["id"], (line["text"],), line["title"])
        for line in lines
        if ids is None or line["id"] in ids
    ]
