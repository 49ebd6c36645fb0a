"""A server of the Messages API on 127.0.0.1 that plays a script and keeps what it was asked."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """What one request gets.

    Args:
        events: sent one by one as server-sent events.
        raw: sent after the events as it is.
        status, headers, body: in place of the stream, where the status is not 200.
        cut: whether the connection is dropped after the events, as a crash would.
    """

    events: Sequence[Event] = ()
    raw: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    cut: bool = False


@dataclass
class MessagesServer:
    """The running server: its address and the requests that came, with their headers."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def serving(*answers: Answer) -> Iterator[MessagesServer]:
    """Give the n-th of `answers` to the n-th request; one more than there are gets a 418."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            server.requests.append(json.loads(self.rfile.read(length)))
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = left.pop(0) if left and self.path == "/v1/messages" else Answer(status=418)
            if answer.status == 200:
                self._stream(answer)
                return
            body = json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {**answer.headers, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, answer: Answer) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            chunks = [
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
                for event in answer.events
            ]
            for data in filter(None, [*chunks, answer.raw]):
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            if answer.cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing of clients that leave once they have the whole message."""
            if not isinstance(sys.exc_info()[1], ConnectionError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    with Server(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        server = MessagesServer(f"http://127.0.0.1:{http.server_address[1]}")
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
