"""langchain-elasticsearch loads passages: with its defaults, or with our settings and fields.

``python -m benchmarks.competitors.elastic_ingest WAY HOSTS INDEX PASSAGES``. WAY is ``defaults``:
a store with its text strategy (BM25), which makes its index and is left to its defaults, all
passages in one call; ``batches``: the same in calls of 500, each of which refreshes; or ``ours``:
one call into an index that is there, with our settings and our analysed fields, handed
over as metadata that is ready. The client is made before, since the store's own asks ``GET /``.
Prints seconds from the first document to what all can see, and CPU seconds, as JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from elasticsearch import Elasticsearch
from langchain_core.documents import Document  # type: ignore[import-not-found]
from langchain_elasticsearch import (  # type: ignore[import-not-found]
    BM25Strategy,
    ElasticsearchStore,
)

BATCH = 500


def main(way: str, hosts: str, index: str, path: str) -> dict[str, Any]:
    """Load all passages; return the timings."""
    with Path(path).open("rb") as lines:
        passages = [json.loads(line) for line in lines]
    documents = [
        Document(page_content=each["text"], metadata=each["metadata"]) for each in passages
    ]
    ids = [each["id"] for each in passages]
    client = Elasticsearch(hosts.split(","), request_timeout=120)
    store = ElasticsearchStore(index, client=client, strategy=BM25Strategy())
    gc.collect()
    gc.freeze()
    began, cpu = time.perf_counter(), time.process_time()
    if way == "defaults":
        store.add_documents(documents)
    elif way == "batches":
        for start in range(0, len(documents), BATCH):
            store.add_documents(documents[start : start + BATCH])
    else:
        store.add_documents(documents, ids=ids, create_index_if_not_exists=False)
    return {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu,
        "version": version("langchain-elasticsearch"),
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:5])))  # noqa: T201
