"""A server of ``_bulk`` on 127.0.0.1 that plays a script and keeps what it stored and was sent."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What one request gets.

    Args:
        status, body: sent as they are, nothing stored; where `body` is None, the request is
            carried out.
        refused: results by id, in place of storing those.
        lost: the request is carried out and the connection then dropped without an answer.
        stalled: the request is carried out and answered only when the server ends.
    """

    status: int = 200
    body: bytes | None = None
    refused: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lost: bool = False
    stalled: bool = False


@dataclass
class BulkServer:
    """The running server.

    Args:
        url: its address.
        requests: the ids in each request, in the order they came.
        headers: of each request, names in lower case.
        paths: with their query strings.
        stored: how often each id was stored.
        connections: how many were opened.
    """

    url: str
    requests: list[list[str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    stored: dict[str, int] = field(default_factory=dict)
    connections: int = 0


@contextmanager
def serving(*answers: Answer) -> Iterator[BulkServer]:
    """Give the n-th of `answers` to the n-th request; later ones are carried out."""
    left = list(answers)
    mutex = threading.Lock()
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            with mutex:
                server.connections += 1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            ids = [json.loads(line)["index"]["_id"] for line in body.splitlines()[::2]]
            with mutex:
                server.requests.append(ids)
                server.headers.append({name.lower(): said for name, said in self.headers.items()})
                server.paths.append(self.path)
                answer = left.pop(0) if left else Answer()
                content = answer.body if answer.body is not None else self._store(ids, answer)
            if answer.stalled:
                ended.wait()
            if answer.lost:
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _store(self, ids: Sequence[str], answer: Answer) -> bytes:
            results = []
            for id_ in ids:
                if id_ not in answer.refused:
                    server.stored[id_] = server.stored.get(id_, 0) + 1
                results.append({"index": answer.refused.get(id_, {"status": 201})})
            return json.dumps({"errors": bool(answer.refused), "items": results}).encode()

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing of clients that did not wait for their answer."""
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    with Server(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server = BulkServer(f"http://127.0.0.1:{http.server_address[1]}")
        try:
            yield server
        finally:
            ended.set()
            http.shutdown()
            thread.join()
