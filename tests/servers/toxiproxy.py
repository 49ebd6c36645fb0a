"""Proxies between a client and its servers that cut, slow and stall connections on demand.

The server is toxiproxy; its toxics are described at https://github.com/Shopify/toxiproxy#toxics.
"""

from __future__ import annotations

import atexit
import http.client
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from tests.servers.availability import ServerError, may_install
from tests.servers.ports import free_ports
from tests.servers.process import CleanUp, ServerProcess
from tests.servers.toxiproxy_distribution import installed_program, toxiproxy_folder

Stream = Literal["upstream", "downstream"]
"""Requests go upstream, answers downstream."""
BOOT_SECONDS = 30
REQUEST_SECONDS = 30


class Toxiproxy:
    """A running toxiproxy on 127.0.0.1: a context manager that ends it, as this process's end does.

    Args:
        environment: where the right to install is looked up; None: the process's.

    Raises:
        ServerError: it cannot be had here, or did not start.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        program = installed_program(may_install(os.environ if environment is None else environment))
        [self._port] = free_ports(1)
        self._clean_up = CleanUp()
        log = toxiproxy_folder() / "log"
        log.unlink(missing_ok=True)
        self._process = ServerProcess(
            [str(program), "-host", "127.0.0.1", "-port", str(self._port)],
            {"LOG_LEVEL": "warn"},
            log,
            None,
            self._clean_up,
        )
        atexit.register(self.stop)
        deadline = time.monotonic() + BOOT_SECONDS
        while not self._answers():
            if not self._process.is_alive or time.monotonic() > deadline:
                self.stop()
                raise ServerError(f"toxiproxy did not start: {log.read_text(encoding='utf-8')}")
            time.sleep(0.02)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it, and every connection through it; a second call does nothing."""
        atexit.unregister(self.stop)
        self._process.kill()
        self._clean_up.run()

    def proxy(self, url: str) -> Proxy:
        """Return a new proxy on a free port that passes all on to the server at `url`."""
        target = urlsplit(url)
        [port] = free_ports(1)
        name = f"{target.port}-{port}"
        listen, upstream = f"127.0.0.1:{port}", f"{target.hostname}:{target.port}"
        self.request("POST", "/proxies", {"name": name, "listen": listen, "upstream": upstream})
        return Proxy(self, name, f"{target.scheme}://{listen}")

    def mend(self) -> None:
        """Undo every fault of every proxy."""
        self.request("POST", "/reset")

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send a request to its interface and return the parsed answer.

        Raises:
            ServerError: it was refused.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=REQUEST_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status >= 300:
            raise ServerError(f"toxiproxy refused {method} {path} ({response.status}): {text}")
        return json.loads(text) if text else None

    def _answers(self) -> bool:
        try:
            self.request("GET", "/proxies")
        except OSError:
            return False
        return True


class Proxy:
    """One server behind a toxiproxy, whole until it is broken; faults add up until `mend`.

    Args:
        server: where it runs.
        name: its name there.
        url: what a client connects to in place of the server's own.
    """

    def __init__(self, server: Toxiproxy, name: str, url: str) -> None:
        self.url = url
        self._server = server
        self._path = f"/proxies/{name}"

    def cut(self) -> None:
        """End all connections and refuse new ones."""
        self._server.request("POST", self._path, {"enabled": False})

    def delay(self, milliseconds: int, jitter: int = 0, stream: Stream = "downstream") -> None:
        """Pass data on so much later, give or take the jitter."""
        self._add("latency", stream, {"latency": milliseconds, "jitter": jitter})

    def swallow(self, stream: Stream = "downstream") -> None:
        """Pass no data on and leave connections open, until they are mended."""
        self._add("timeout", stream, {"timeout": 0})

    def reset(self, milliseconds: int = 0, stream: Stream = "downstream") -> None:
        """Reset connections (RST) so long after they began or when they next carry data."""
        self._add("reset_peer", stream, {"timeout": milliseconds})

    def throttle(self, kilobytes_per_second: int, stream: Stream = "upstream") -> None:
        """Pass no more data on in a second."""
        self._add("bandwidth", stream, {"rate": kilobytes_per_second})

    def cut_after(self, data_bytes: int, stream: Stream = "downstream") -> None:
        """End each connection once it has carried so many bytes."""
        self._add("limit_data", stream, {"bytes": data_bytes})

    def mend(self) -> None:
        """Undo every fault of this proxy."""
        for toxic in self._server.request("GET", f"{self._path}/toxics"):
            self._server.request("DELETE", f"{self._path}/toxics/{toxic['name']}")
        self._server.request("POST", self._path, {"enabled": True})

    def _add(self, kind: str, stream: Stream, attributes: Mapping[str, int]) -> None:
        toxic = {"type": kind, "stream": stream, "attributes": attributes}
        self._server.request("POST", f"{self._path}/toxics", toxic)


def proxies(server: Toxiproxy, urls: Sequence[str]) -> list[Proxy]:
    """Return a proxy for each of the servers at `urls`, in their order."""
    return [server.proxy(url) for url in urls]
