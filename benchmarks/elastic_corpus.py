"""What the benchmarks of Elasticsearch index and ask for, made before any clock starts."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import orjson

from benchmarks.corpora import copied_passages
from ingest.chunking import ChunkSettings, chunk
from logicalrag.engines.analysis import stem
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.identity import document_key, passage_id
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage
from logicalrag.query.tokens import tokenize

SEED = 20_26
WARMING = 400
REQUEST_BYTES = 1_500_000
TEN = 10
# Tokens; the passages have about that many, so ten of them in one document are ten again.
CHUNK_SIZE = 85


@dataclass(frozen=True, slots=True)
class Prepared:
    """Documents in a file, and the same as bodies of bulk requests.

    Args:
        documents: JSON lines with ``id``, ``title`` and ``text``.
        bodies: a file of all bodies, and one of their ends in it as a JSON list.
        passages: how many.
        chunking: what cuts these documents into these passages.
    """

    documents: Path
    bodies: tuple[Path, Path]
    passages: int
    chunking: ChunkSettings


def one_passage_documents(folder: Path, passages: int) -> Prepared:
    """Write documents of one passage each."""
    return _prepare(folder, "ones", copied_passages(passages), ChunkSettings(mode="passage"))


def ten_passage_documents(folder: Path, passages: int) -> Prepared:
    """Write documents that each have the text of ten."""

    def joined() -> Iterator[dict[str, str]]:
        source = copied_passages(passages)
        while ten := list(islice(source, TEN)):
            text = "\n\n".join(each["text"] for each in ten)
            yield {"id": ten[0]["id"], "title": ten[0]["title"], "text": text}

    return _prepare(folder, "tens", joined(), ChunkSettings(size=CHUNK_SIZE))


def passages_of(document: dict[str, str], chunking: ChunkSettings) -> list[Passage]:
    """Return a document's passages, as the pipeline makes them."""
    identity, title, text = document["id"], document["title"], document["text"]
    spans = [(0, len(text))] if chunking.mode == "passage" else chunk(text, chunking)
    return [
        Passage(
            passage_id(DEFAULT_TENANT, identity, number),
            identity,
            number,
            title,
            text[start:end],
            start,
            end,
        )
        for number, (start, end) in enumerate(spans)
    ]


def expression_words(documents: Path, number: int, words: int = 3) -> list[tuple[str, ...]]:
    """Return groups of words of different stems, each group drawn from several passages."""
    drawn = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    with documents.open("rb") as lines:
        tokens = [tokenize(orjson.loads(line)["text"]) for line in islice(lines, 20_000)]
    groups: list[tuple[str, ...]] = []
    while len(groups) < number:
        group = tuple(drawn.choice(drawn.choice(tokens)) for _ in range(words))
        if len({stem(word) for word in group}) == words:
            groups.append(group)
    return groups


def _prepare(
    folder: Path, name: str, documents: Iterator[dict[str, str]], chunking: ChunkSettings
) -> Prepared:
    layout = Layout()
    paths = [folder / f"{name}.{suffix}" for suffix in ("jsonl", "bodies", "ends")]
    ends: list[int] = []
    passages = 0
    with paths[0].open("wb") as lines, paths[1].open("wb") as bodies:
        began = 0
        for document in documents:
            lines.write(orjson.dumps(document) + b"\n")
            made = passages_of(document, chunking)
            passages += len(made)
            bodies.writelines(_actions(layout, made))
            if bodies.tell() - began >= REQUEST_BYTES:
                began = bodies.tell()
                ends.append(began)
        if bodies.tell() > began:
            ends.append(bodies.tell())
    paths[2].write_text(json.dumps(ends))
    return Prepared(paths[0], (paths[1], paths[2]), passages, chunking)


def _actions(layout: Layout, passages: Sequence[Passage]) -> Iterator[bytes]:
    key = document_key(DEFAULT_TENANT, passages[0].document_id)
    for passage in passages:
        yield b'{"index":{"_id":"%b","routing":"%b"}}\n%b\n' % (
            passage.id.encode(),
            key.encode(),
            layout.encoded(passage),
        )
