"""The cluster that benchmarks of Elasticsearch run on, its warming, and processes beside it."""

from __future__ import annotations

import json
import os
import secrets
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bare_elasticsearch import rate_of_requests, search_request
from benchmarks.elastic_corpus import WARMING, Prepared, expression_words
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names, index_name
from logicalrag.engines.protocol import DEFAULT_TENANT
from tests.servers.elasticsearch import Cluster as Servers
from tests.servers.elasticsearch_server import named_server

HEAP_MEBIBYTES = 1_024
NODES, SHARDS, REPLICAS = 3, 3, 1
ROOT = Path(__file__).resolve().parents[1]
COMPETITORS = ROOT / ".venv-competitors" / "bin" / "python"
REQUIREMENTS = "benchmarks/competitors/elastic.txt"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Args:
        passages: in the index, and to warm the servers with.
        queries: to warm the servers with.
        rounds: of all measurements in turn.
        seconds: of one measurement of searches.
    """

    passages: int
    queries: int
    rounds: int
    seconds: float


FULL = Size(100_000, 20_000, 3, 5.0)
SMALL = Size(3_000, 300, 1, 1.0)
"""To see that everything runs; its figures tell nothing."""


@contextmanager
def open_cluster(size: Size) -> Iterator[Cluster]:
    """Start three nodes and connect; for `SMALL`, the test server that is named, if one is."""
    named = named_server(os.environ) if size is SMALL else None
    if named is not None:
        with Cluster(Address(named.urls)) as cluster:
            yield cluster
        return
    with (
        Servers.start(NODES, heap_mebibytes=HEAP_MEBIBYTES, java_options="") as servers,
        Cluster(Address(servers.urls)) as cluster,
    ):
        yield cluster


@contextmanager
def collection(cluster: Cluster) -> Iterator[Collection]:
    """Make an empty collection with one tenant's index, green; remove it in the end."""
    made = Collection(cluster, Names(f"bench{secrets.token_hex(4)}"))
    prefix = made.names.prefix
    try:
        made.create(shards=SHARDS, replicas=REPLICAS)
        made.ensure_tenant(DEFAULT_TENANT)
        settled(cluster, f"{prefix}-*")
        yield made
    finally:
        remove(cluster, f"{prefix}-*")


def settled(cluster: Cluster, index: str) -> None:
    """Wait until all copies of an index are there."""
    parameters = {"wait_for_status": "green", "timeout": "60s"}
    cluster.call(
        "GET", f"/_cluster/health/{index}", parameters=parameters, doing="a health", seconds=70
    )


def remove(cluster: Cluster, pattern: str) -> None:
    """Remove the indices of a pattern."""
    for name in cluster.call("GET", f"/{pattern}/_settings/index.uuid", doing="a look at indices"):
        cluster.call("DELETE", f"/{name}", doing="removing an index")


def first_index(made: Collection) -> str:
    """Return the index of the collection's tenant."""
    return index_name(made.names.group(DEFAULT_TENANT), 1)


def counted(cluster: Cluster, index: str) -> int:
    """Return how many documents can be found."""
    found = cluster.call(
        "POST", f"/{index}/_search", {"size": 0, "track_total_hits": True}, doing="a count"
    )
    return int(found["hits"]["total"]["value"])


def warm(cluster: Cluster, size: Size, prepared: Prepared) -> None:
    """Load the passages once, and search them, so that the servers' code is compiled."""
    with collection(cluster) as made:
        load_bare(cluster, first_index(made), prepared)
        requests = [
            search_request(first_index(made), words)
            for words in expression_words(prepared.documents, WARMING)
        ]
        rate_of_requests(cluster.address.hosts, requests, 8, calls=size.queries)


def load_bare(cluster: Cluster, index: str, prepared: Prepared) -> dict[str, float]:
    """Run the bare loop in a process of its own; return its timings, checked for completeness."""
    bodies, offsets = map(str, prepared.bodies)
    hosts = ",".join(cluster.address.hosts)
    measured = module("benchmarks.bare_elasticsearch", hosts, index, bodies, offsets)
    check(cluster, index, prepared.passages)
    return measured


def check(cluster: Cluster, index: str, passages: int) -> None:
    """Raise where an index has not all passages."""
    found = counted(cluster, index)
    if found != passages:
        raise AssertionError(f"{index} has {found} passages and not {passages}")


def module(name: str, *arguments: str, python: Path | None = None) -> dict[str, Any]:
    """Run a module as a process; return the JSON object that it prints."""
    done = subprocess.run(  # noqa: S603 - our own modules
        [str(python or sys.executable), "-m", name, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"error: {name} failed:\n{done.stderr[-3000:]}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def competitor(name: str, *arguments: str) -> dict[str, Any]:
    """Run a module with the other libraries; return the JSON object that it prints."""
    if not COMPETITORS.is_file():
        sys.exit(
            "error: this benchmark needs the other libraries; make them with `python -m venv "
            f".venv-competitors && .venv-competitors/bin/pip install -r {REQUIREMENTS}`"
        )
    return module(name, *arguments, python=COMPETITORS)


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(values)
