"""The toxiproxy of tests: it is built once, breaks connections as it says, and ends surely."""

from __future__ import annotations

import contextlib
import os
import socketserver
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import create_connection, socket
from urllib.parse import urlsplit

import pytest

from tests.servers import toxiproxy_distribution as distribution
from tests.servers.availability import ServerError
from tests.servers.ports import is_listened_on
from tests.servers.toxiproxy import Proxy, Toxiproxy

SECONDS = 10.0


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with contextlib.suppress(ConnectionResetError):
            while data := self.request.recv(65536):
                self.request.sendall(data)


@pytest.fixture
def proxy(toxiproxy: Toxiproxy) -> Iterator[Proxy]:
    """Yield a proxy before a server that sends back what it gets."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Echo) as server:
        server.daemon_threads = True
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        proxy = toxiproxy.proxy(f"http://127.0.0.1:{server.server_address[1]}")
        yield proxy
        proxy.cut()
        server.shutdown()
        serving.join()


def _connection(proxy: Proxy, seconds: float = SECONDS) -> socket:
    return create_connection(("127.0.0.1", urlsplit(proxy.url).port or 0), seconds)


def _received(connection: socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := connection.recv(65536)):
        data += more
    return data


def _said(proxy: Proxy, text: bytes) -> bytes:
    with _connection(proxy) as connection:
        connection.sendall(text)
        return _received(connection, len(text))


def test_a_whole_proxy_passes_all_on(proxy: Proxy) -> None:
    assert _said(proxy, b"cat" * 100_000) == b"cat" * 100_000


def test_a_cut_ends_connections_and_refuses_new_ones_until_mended(proxy: Proxy) -> None:
    with _connection(proxy) as connection:
        connection.sendall(b"cat")
        assert _received(connection, 3) == b"cat"
        proxy.cut()
        assert connection.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        _connection(proxy)
    proxy.mend()
    assert _said(proxy, b"cat") == b"cat"


def test_a_delay_is_at_least_as_long_as_said(proxy: Proxy) -> None:
    proxy.delay(300)
    begun = time.monotonic()
    assert _said(proxy, b"cat") == b"cat"
    assert time.monotonic() - begun >= 0.3


def test_what_is_swallowed_never_comes(proxy: Proxy) -> None:
    proxy.swallow()
    with _connection(proxy, seconds=0.3) as connection:
        connection.sendall(b"cat")
        with pytest.raises(TimeoutError):
            connection.recv(1)
    proxy.mend()
    assert _said(proxy, b"cat") == b"cat"


def test_a_reset_is_one(proxy: Proxy) -> None:
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        _said(proxy, b"cat")


def test_a_throttled_connection_is_slow(proxy: Proxy) -> None:
    proxy.throttle(100)
    begun = time.monotonic()
    assert len(_said(proxy, bytes(50_000))) == 50_000
    assert time.monotonic() - begun >= 0.3


def test_a_connection_ends_within_an_answer(proxy: Proxy) -> None:
    proxy.cut_after(2)
    assert _said(proxy, b"cat") == b"ca"


def test_all_proxies_are_mended_at_once(toxiproxy: Toxiproxy, proxy: Proxy) -> None:
    proxy.swallow()
    proxy.cut()
    toxiproxy.mend()
    assert _said(proxy, b"cat") == b"cat"


def test_a_refusal_is_told(toxiproxy: Toxiproxy) -> None:
    with pytest.raises(ServerError, match=r"refused DELETE /proxies/none \(404\)"):
        toxiproxy.request("DELETE", "/proxies/none")


def test_it_ends_with_its_proxies(toxiproxy: Toxiproxy) -> None:
    with Toxiproxy() as another:
        port = urlsplit(another.proxy("http://127.0.0.1:1").url).port or 0
        assert is_listened_on(port)
    assert not is_listened_on(port)
    another.stop()
    assert toxiproxy.request("GET", "/proxies") is not None


# --- installing ---------------------------------------------------------------------------------


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a Go first that builds an empty program; return the file with a line for each call."""
    calls = tmp_path / "calls"
    go = tmp_path / "programs" / "go"
    go.parent.mkdir()
    source = f"{distribution.MODULE}\t{distribution.VERSION}\t{distribution.CHECKSUM}"
    go.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >>{calls}\n'
        f"if [ $1 = version ]; then printf '\\tmod\\t{source}\\n'; else : >$GOBIN/server; fi\n"
    )
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}{os.pathsep}{os.environ['PATH']}")
    return calls


def test_two_that_ask_at_once_build_once(tmp_path: Path, builds: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    with ThreadPoolExecutor(2) as pool:
        programs = set(pool.map(lambda _: distribution.installed_program(True, folder), range(2)))
    assert programs == {folder / "toxiproxy-v2.12.0"}
    package = "github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0"
    assert builds.read_text().splitlines()[0] == f"install {package}"
    assert len(builds.read_text().splitlines()) == 2
    assert distribution.installed_program(False, folder) in programs
    assert sorted(path.name for path in folder.iterdir()) == ["lock", "toxiproxy-v2.12.0"]


def test_another_source_than_the_pinned_one_is_refused(
    tmp_path: Path, builds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribution, "CHECKSUM", "h1:another=")
    with pytest.raises(ServerError, match="not the source whose checksum is pinned"):
        distribution.installed_program(True, tmp_path)
    assert builds.exists()
    assert not list(tmp_path.glob("toxiproxy*"))


def test_nothing_is_built_unasked(tmp_path: Path, builds: Path) -> None:
    with pytest.raises(ServerError, match="run `make servers` once"):
        distribution.installed_program(False, tmp_path)
    assert not builds.exists()


def test_a_missing_go_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(distribution, "_GO", str(tmp_path / "go"))
    with pytest.raises(ServerError, match=r"built with Go 1\.23 or newer; install it"):
        distribution.installed_program(True, tmp_path)
