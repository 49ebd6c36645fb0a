"""The reference of the Elasticsearch benchmarks: requests that are ready, on kept connections.

Loading runs as a process of its own:
``python -m benchmarks.bare_elasticsearch HOSTS INDEX BODIES ENDS``. It prints the seconds from the
first request to the end of a refresh, and the process's CPU seconds for them, as JSON. Tuned: the
standard library's client (nothing parses an answer but for its status and whether it tells of
errors), two connections and 1.5 MB a request (the fastest found), ``filter_path``, no compression.
"""

from __future__ import annotations

import http.client
import itertools
import json
import mmap
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

import orjson

from logicalrag.engines.analysis import stem

CONNECTIONS = 2
_BULK = "_bulk?filter_path=errors,items.*.error"
_LINES = {"content-type": "application/x-ndjson"}
_JSON = {"content-type": "application/json"}

Item = TypeVar("Item")


class Request(NamedTuple):
    """A request that is ready to be sent."""

    path: str
    body: bytes
    headers: dict[str, str]


class Rate(NamedTuple):
    """What a measurement of calls gave: a second, and CPU milliseconds of this process each."""

    calls: float
    cpu: float


def search_request(index: str, words: Sequence[str]) -> Request:
    """Return the search for a first word and one of the others, with an exact count."""
    first, *others = (
        {
            "dis_max": {
                "queries": [
                    {"term": {field: stem(word)}} for field in ("title_words", "content_words")
                ]
            }
        }
        for word in words
    )
    body = {
        "size": 5,
        "track_total_hits": True,
        "query": {"bool": {"must": [first, {"bool": {"should": others}}]}},
    }
    return Request(f"/{index}/_search", orjson.dumps(body), _JSON)


def rate_of_requests(
    hosts: Sequence[str],
    requests: Sequence[Request],
    threads: int,
    *,
    seconds: float | None = None,
    calls: int | None = None,
) -> Rate:
    """Send requests from `threads` threads, each with a connection to every host."""

    def worker() -> Callable[[Request], object]:
        connections = itertools.cycle([_connection(host) for host in hosts])
        return lambda request: _send(next(connections), request)

    return rate(worker, requests, threads, seconds=seconds, calls=calls)


def rate(
    worker: Callable[[], Callable[[Item], object]],
    items: Sequence[Item],
    threads: int,
    *,
    seconds: float | None = None,
    calls: int | None = None,
) -> Rate:
    """Call from `threads` threads, as often as `calls` says in all or for so many seconds."""
    places = itertools.count()
    deadline = None if seconds is None else time.perf_counter() + seconds
    errors: list[BaseException] = []
    done = [0] * threads

    def work(number: int) -> None:
        try:
            call = worker()
            for place in places:
                if calls is not None and place >= calls:
                    return
                if deadline is not None and time.perf_counter() >= deadline:
                    return
                call(items[place % len(items)])
                done[number] += 1
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    began, cpu = time.perf_counter(), time.process_time()
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    took, used = time.perf_counter() - began, time.process_time() - cpu
    if errors:
        raise errors[0]
    return Rate(sum(done) / took, 1e3 * used / sum(done))


def load(hosts: Sequence[str], index: str, bodies: Path, ends: Path) -> dict[str, float]:
    """Send all bodies from `CONNECTIONS` threads and refresh; return the timings."""
    stops: list[int] = json.loads(ends.read_text())
    with (
        bodies.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as held,
    ):
        parts = iter(list(itertools.pairwise([0, *stops])))
        lock = threading.Lock()
        errors: list[BaseException] = []

        def work(number: int) -> None:
            connection = _connection(hosts[number % len(hosts)])
            try:
                while not errors:
                    with lock:
                        part = next(parts, None)
                    if part is None:
                        return
                    with held[slice(*part)] as body:
                        connection.request("POST", f"/{index}/{_BULK}", body, _LINES)
                    answer = _answer(connection)
                    if not answer.startswith(b'{"errors":false'):
                        raise RuntimeError(f"a bulk request failed: {answer[:300]!r}")
            except BaseException as error:  # noqa: BLE001 - raised again by the main thread
                errors.append(error)

        workers = [threading.Thread(target=work, args=(at,)) for at in range(CONNECTIONS)]
        began, cpu = time.perf_counter(), time.process_time()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if errors:
            raise errors[0]
        _send(_connection(hosts[0]), Request(f"/{index}/_refresh", b"", {}))
        return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}


def _connection(host: str) -> http.client.HTTPConnection:
    address = urlsplit(host)
    return http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)


def _send(connection: http.client.HTTPConnection, request: Request) -> bytes:
    connection.request("POST", request.path, request.body, request.headers)
    return _answer(connection)


def _answer(connection: http.client.HTTPConnection) -> bytes:
    response = connection.getresponse()
    content = response.read()
    if response.status >= 300:
        raise RuntimeError(f"status {response.status}: {content[:300]!r}")
    return content


if __name__ == "__main__":
    _, hosts_, index_, bodies_, ends_ = sys.argv
    sys.stdout.write(json.dumps(load(hosts_.split(","), index_, Path(bodies_), Path(ends_))))
