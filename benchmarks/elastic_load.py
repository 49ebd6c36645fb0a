"""Our side of `elastic-ingest`, a process of its own for each way.

``python -m benchmarks.elastic_load WAY HOSTS PREFIX DOCUMENTS CHUNK_SIZE`` loads the documents of a
JSONL file into a collection that is there. WAY is ``writer`` (ready-made passages),
``stream`` (bytes that are ready) or ``pipeline`` (the file through readers, chunks and ledger);
CHUNK_SIZE 0 keeps each document whole. Prints seconds from the first document to what all can see,
and CPU seconds, as JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import orjson

from benchmarks.elastic_corpus import passages_of
from ingest.chunking import ChunkSettings
from ingest.elastic_ledger import ElasticLedger
from ingest.pipeline import IngestSettings, ingest
from ingest.readers.folder import read_paths
from ingest.readers.settings import ReaderSettings
from logicalrag.engines.cluster.bulk import BulkStream, Item
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.elastic.actions import encoded_passages, puts
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.targets import read_targets
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import DEFAULT_TENANT

# As the command's: the collector of cycles finds none among documents.
_NEW_OBJECTS = 50_000


def _writer(
    cluster: Cluster, names: Names, path: Path, chunking: ChunkSettings
) -> Callable[[], None]:
    with path.open("rb") as lines:
        documents = [passages_of(orjson.loads(line), chunking) for line in lines]

    def load() -> None:
        with ElasticWriter(cluster, names) as writer:
            for passages in documents:
                writer.put(passages, replaces=0, version=1)
            writer.commit()

    return load


def _stream(
    cluster: Cluster, names: Names, path: Path, chunking: ChunkSettings
) -> Callable[[], None]:
    layout, items = Layout(), list[Item]()
    alias = read_targets(cluster, names, DEFAULT_TENANT).current.alias
    with path.open("rb") as lines:
        for line in lines:
            passages = passages_of(orjson.loads(line), chunking)
            tag = (DEFAULT_TENANT, passages[0].document_id)
            ids = [passage.id for passage in passages]
            sources = encoded_passages(layout, passages)
            actions = puts(alias, document_key(*tag), 1, ids, sources)
            items += [Item(action, tag) for action in actions]

    def load() -> None:
        stream = BulkStream(cluster)
        for item in items:
            stream.add(item)
        report = stream.flush()
        stream.close()
        if report.failed:
            raise AssertionError(f"{len(report.failed)} were refused")
        cluster.call("POST", f"/{alias}/_refresh", doing="a refresh")

    return load


def _pipeline(
    cluster: Cluster, names: Names, path: Path, chunking: ChunkSettings
) -> Callable[[], None]:
    ElasticLedger(cluster, names.ledger).create()

    def load() -> None:
        with (
            closing(ElasticLedger(cluster, names.ledger)) as ledger,
            ElasticWriter(cluster, names) as writer,
        ):
            documents = read_paths([str(path)], ReaderSettings())
            report = ingest(documents, writer, ledger, IngestSettings(chunking=chunking))
        if report.failed or report.pending:
            raise AssertionError(f"{report.failed} failed, {report.pending} wait")

    return load


_WAYS = {"writer": _writer, "stream": _stream, "pipeline": _pipeline}


def main(way: str, hosts: str, prefix: str, path: str, size: str) -> dict[str, float]:
    """Load in one way; return the timings."""
    chunking = ChunkSettings(size=int(size)) if int(size) else ChunkSettings(mode="passage")
    with Cluster(Address(tuple(hosts.split(",")))) as cluster:
        load = _WAYS[way](cluster, Names(prefix), Path(path), chunking)
        gc.collect()
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS)
        began, cpu = time.perf_counter(), time.process_time()
        load()
        return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:6])))
