"""`elastic-ingest`: passages into a cluster of three nodes, beside a bare loop and langchain."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import orjson

from benchmarks.bare_elasticsearch import CONNECTIONS
from benchmarks.elastic_cluster import (
    FULL,
    HEAP_MEBIBYTES,
    REPLICAS,
    SHARDS,
    SMALL,
    Size,
    check,
    collection,
    competitor,
    first_index,
    load_bare,
    median,
    module,
    open_cluster,
    remove,
    settled,
    warm,
)
from benchmarks.elastic_corpus import (
    Prepared,
    one_passage_documents,
    passages_of,
    ten_passage_documents,
)
from benchmarks.harness import Ratio, Report, measured_versions
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.layout import Layout

_Timings = dict[str, float]
_FORMS = ("title_words", "title_exact", "content_words", "content_exact")
_TERMS = ("id", "document", "tenant", "access")


def run(*, small: bool = False) -> Report:
    """Measure all ways in turn, each in a process of its own and into an empty index."""
    size = SMALL if small else FULL
    rounds: list[dict[str, _Timings]] = []
    with tempfile.TemporaryDirectory() as name, open_cluster(size) as cluster:
        folder = Path(name)
        ones = one_passage_documents(folder, size.passages)
        tens = ten_passage_documents(folder, size.passages)
        plain, formed = _for_langchain(folder, ones)
        ways: dict[str, Callable[[], _Timings]] = {
            "bare": lambda: _bare(cluster, ones),
            "writer": lambda: _ours(cluster, "writer", ones),
            "stream": lambda: _ours(cluster, "stream", ones),
            "pipeline": lambda: _ours(cluster, "pipeline", ones),
            "langchain, our index": lambda: _langchain(cluster, "ours", formed, ones),
            "langchain": lambda: _langchain(cluster, "defaults", plain, ones),
            "langchain, batches": lambda: _langchain(cluster, "batches", plain, ones),
            "bare, tens": lambda: _bare(cluster, tens),
            "pipeline, tens": lambda: _ours(cluster, "pipeline", tens),
        }
        warm(cluster, size, ones)
        for _ in range(size.rounds):
            rounds.append({way: measure() for way, measure in ways.items()})
    return _report(size, rounds, {way: tens if "tens" in way else ones for way in ways})


def _report(size: Size, rounds: list[dict[str, _Timings]], held: dict[str, Prepared]) -> Report:
    def rate(way: str) -> float:
        return median([held[way].passages / each[way]["seconds"] for each in rounds])

    def times(way: str, other: str) -> float:
        return median([each[other]["seconds"] / each[way]["seconds"] for each in rounds])

    def cpu(way: str) -> float:
        return median([1e6 * each[way]["cpu_seconds"] / held[way].passages for each in rounds])

    return Report(
        "elastic-ingest",
        {
            "bulk writer / bare loop": Ratio(times("writer", "bare"), 0.75, "at_least"),
            "bulk writer / langchain's defaults": Ratio(
                times("writer", "langchain"), 5, "at_least"
            ),
            "bulk writer / langchain on our index": Ratio(
                times("writer", "langchain, our index"), 1.6, "at_least"
            ),
            "pipeline, one-passage documents / bare": Ratio(
                times("pipeline", "bare"), 0.5, "at_least"
            ),
            "pipeline, ten-passage documents / bare": Ratio(
                times("pipeline, tens", "bare, tens"), 0.65, "at_least"
            ),
        },
        {
            **{f"{way} (passages a second)": round(rate(way)) for way in held},
            **{f"{way} (CPU microseconds a passage)": round(cpu(way), 1) for way in held},
            "bulk stream of ready bytes / bare loop": round(times("stream", "bare"), 3),
            "passages a ten-passage document": round(
                held["pipeline, tens"].passages / (size.passages / 10), 2
            ),
        },
        f"Median of {size.rounds} rounds, all ways in turn, ratios round by round, "
        f"{size.passages} passages (2wikimultihopqa copied with unique ids) into {SHARDS} shards "
        f"with {REPLICAS} replica on three nodes of {HEAP_MEBIBYTES} MB heap, warmed with as many "
        f"passages and {size.queries} queries; each way a process of its own and an empty index; "
        "from the first passage to the end of the refresh. Bare: "
        f"{CONNECTIONS} connections that send bodies made before. Writer: passages in memory, "
        "analysis and JSON within the time. Stream: items that are bytes already. Pipeline: "
        "readers, chunks, ledger in the same cluster. langchain: ElasticsearchStore with "
        "BM25Strategy; its defaults (its own index of one shard, title and number as metadata, one "
        "call for all, or batches of 500 that are refreshed each), "
        "and our settings and analysed fields, made before, as its metadata.",
        {**measured_versions(), "langchain-elasticsearch": str(rounds[0]["langchain"]["version"])},
    )


def _bare(cluster: Cluster, prepared: Prepared) -> _Timings:
    with collection(cluster) as made:
        return load_bare(cluster, first_index(made), prepared)


def _ours(cluster: Cluster, way: str, prepared: Prepared) -> _Timings:
    chunking = prepared.chunking
    size = 0 if chunking.mode == "passage" else chunking.size
    hosts = ",".join(cluster.address.hosts)
    with collection(cluster) as made:
        measured = module(
            "benchmarks.elastic_load",
            way,
            hosts,
            made.names.prefix,
            str(prepared.documents),
            str(size),
        )
        check(cluster, first_index(made), prepared.passages)
    return measured


def _langchain(cluster: Cluster, way: str, passages: Path, prepared: Prepared) -> _Timings:
    index = "bench-langchain"
    hosts = ",".join(cluster.address.hosts)
    try:
        if way == "ours":
            cluster.call("PUT", f"/{index}", _like_ours(), doing="making an index")
            settled(cluster, index)
        measured = competitor(
            "benchmarks.competitors.elastic_ingest", way, hosts, index, str(passages)
        )
        check(cluster, index, prepared.passages)
    finally:
        remove(cluster, f"{index}*")
    return measured


def _like_ours() -> dict[str, object]:
    """Return an index of our settings whose metadata are our fields."""
    mapping = Layout().mapping()
    fields = {name: mapping["properties"][name] for name in (*_FORMS, *_TERMS, "number")}
    return {
        "settings": {
            "number_of_shards": SHARDS,
            "number_of_replicas": REPLICAS,
            "refresh_interval": "-1",
        },
        "mappings": {
            "dynamic": "strict",
            "_source": {"excludes": [f"metadata.{name}" for name in (*_FORMS, *_TERMS)]},
            "properties": {
                "text": {"type": "text", "index": False},
                "metadata": {"properties": {**fields, "title": {"type": "text", "index": False}}},
            },
        },
    }


def _for_langchain(folder: Path, prepared: Prepared) -> tuple[Path, Path]:
    """Write the passages with plain metadata, and with all that our index analyses."""
    layout = Layout()
    paths = (folder / "plain.jsonl", folder / "formed.jsonl")
    with (
        prepared.documents.open("rb") as lines,
        paths[0].open("wb") as plain,
        paths[1].open("wb") as formed,
    ):
        for line in lines:
            for passage in passages_of(orjson.loads(line), prepared.chunking):
                source = layout.source(passage)
                shown = {"title": passage.title, "number": passage.number}
                forms = {name: source[name] for name in (*_FORMS, *_TERMS)}
                for file, metadata in ((plain, shown), (formed, {**shown, **forms})):
                    entry = {"id": passage.id, "text": passage.text, "metadata": metadata}
                    file.write(orjson.dumps(entry) + b"\n")
    return paths
