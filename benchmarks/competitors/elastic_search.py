"""langchain-elasticsearch's retriever over our index: our own query, asked by its client.

``python -m benchmarks.competitors.elastic_search HOSTS INDEX BODIES THREADS SECONDS``. BODIES is a
JSON list of search bodies. Prints calls a second and CPU milliseconds of a call for each number of
threads (parted by commas), as JSON.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elasticsearch import Elasticsearch
from langchain_core.documents import Document  # type: ignore[import-not-found]
from langchain_elasticsearch import ElasticsearchRetriever  # type: ignore[import-not-found]


def _document(hit: Mapping[str, Any]) -> Document:
    passage = hit["_source"]["passage"]
    return Document(page_content=passage["text"], metadata={"id": passage["id"]})


def main(hosts: str, index: str, path: str, threads: str, seconds: str) -> dict[str, Any]:
    """Ask from each number of threads in turn; return the rates."""
    bodies: list[dict[str, Any]] = json.loads(Path(path).read_text())
    client = Elasticsearch(hosts.split(","), connections_per_node=16)
    retriever = ElasticsearchRetriever(
        index, lambda place: bodies[int(place)], document_mapper=_document, client=client
    )
    for place in range(min(50, len(bodies))):
        retriever.invoke(str(place))
    return {
        each: _rate(retriever, len(bodies), int(each), float(seconds))
        for each in threads.split(",")
    }


def _rate(retriever: Any, number: int, threads: int, seconds: float) -> dict[str, float]:
    done = [0] * threads
    places = itertools.count()
    deadline = time.perf_counter() + seconds

    def work(at: int) -> None:
        while time.perf_counter() < deadline:
            retriever.invoke(str(next(places) % number))
            done[at] += 1

    workers = [threading.Thread(target=work, args=(at,)) for at in range(threads)]
    began, cpu = time.perf_counter(), time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took, used = time.perf_counter() - began, time.process_time() - cpu
    return {"calls": sum(done) / took, "cpu": 1e3 * used / sum(done)}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:6])))  # noqa: T201
