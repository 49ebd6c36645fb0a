"""Addresses, and which calls are tried again; without a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from logicalrag.engines.cluster.connection import Address, Body, Cluster, Method
from logicalrag.engines.cluster.errors import (
    ClusterBusyError,
    ClusterError,
    ClusterUnreachableError,
)

SECRET = "hunter2"  # noqa: S105
NO_ANSWER = ClusterUnreachableError("no answer", True)


class Answering(Cluster):
    """Gives prepared answers, and keeps how long it waited."""

    def __init__(self, *answers: tuple[int, Any] | Exception, attempts: int = 3) -> None:
        self.waits: list[float] = []
        super().__init__(Address(("http://a:1",), attempts=attempts), sleep=self.waits.append)
        self.left = list(answers)
        self.asked: list[tuple[Any, ...]] = []

    def send(
        self,
        method: Method,
        path: str,
        body: Body = None,
        *,
        parameters: Mapping[str, str] | None = None,
        lines: bool = False,
        seconds: float | None = None,
    ) -> tuple[int, Any]:
        """Return the next answer."""
        self.asked.append((method, path, body, parameters, lines, seconds))
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    "host",
    [
        "http://localhost:9200",
        "https://elastic.example.org:443/",
        "http://[::1]:9200",
        "http://10.0.0.1:9200",
    ],
)
def test_hosts(host: str) -> None:
    Cluster(Address((host,))).close()


@pytest.mark.parametrize(
    "hosts",
    [
        (),
        ("",),
        ("localhost:9200",),
        ("http://localhost",),
        ("ftp://localhost:9200",),
        ("http://localhost:port",),
        ("http://localhost:9200/path",),
        ("http://localhost:9200?x=1",),
        (f"http://user:{SECRET}@localhost:9200",),
        (f"http://{SECRET}@localhost:9200",),
        ("http://a:1 ",),
        ("http://a:1\n",),
        ("http://a:1", "http://a:1"),
    ],
)
def test_what_is_no_host_is_refused_without_its_text(hosts: tuple[str, ...]) -> None:
    with pytest.raises(ClusterError, match=r"host of the cluster") as caught:
        Address(hosts)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["", f"{SECRET} x", f"{SECRET}\n", f"{SECRET}\r\nx: y", "schlüssel"]
)
def test_what_is_no_key_is_refused_without_its_text(key: str) -> None:
    with pytest.raises(ClusterError, match="API key holds what no key holds") as caught:
        Address(("http://a:1",), api_key=key)
    assert SECRET not in str(caught.value)


def test_a_certificate_authority_is_for_https(tmp_path: Any) -> None:
    with pytest.raises(ClusterError, match="address or certificate file cannot be used"):
        Cluster(Address(("http://a:1",), ca_file=tmp_path / "absent.pem"))


def test_a_call_is_tried_again_where_that_may_help() -> None:
    cluster = Answering((429, None), NO_ANSWER, (200, {"x": 1}))
    sent = {"parameters": {"a": "b"}, "lines": True, "seconds": 2.0}
    assert cluster.call("POST", "/x", b"{}", doing="x", **sent) == {"x": 1}  # type: ignore[arg-type]
    assert cluster.asked == [("POST", "/x", b"{}", {"a": "b"}, True, 2.0)] * 3
    assert len(cluster.waits) == 2
    assert 0.05 <= cluster.waits[0] <= 0.1
    assert 0.1 <= cluster.waits[1] <= 0.2


def test_the_last_attempt_is_raised() -> None:
    cluster = Answering(NO_ANSWER, (503, None), (429, None))
    with pytest.raises(ClusterBusyError):
        cluster.call("GET", "/", doing="x")
    assert (cluster.left, len(cluster.waits)) == ([], 2)


def test_a_call_may_have_attempts_of_its_own() -> None:
    cluster = Answering((429, None), (200, None))
    with pytest.raises(ClusterBusyError):
        cluster.call("GET", "/", doing="x", attempts=1)
    assert cluster.waits == []


def test_what_no_repetition_heals_is_raised_at_once() -> None:
    cluster = Answering((400, None), (200, None))
    with pytest.raises(ClusterError):
        cluster.call("GET", "/", doing="x")
    assert cluster.waits == []


def test_waits_grow_to_their_bound_and_are_spread() -> None:
    cluster = Answering()
    delays = [cluster.delay(attempt, 0.1, 5.0) for attempt in range(1, 1000)]
    assert all(0.05 <= each <= 5.0 for each in delays)
    assert min(delays[10:]) >= 2.5
    assert len(set(delays[10:])) > 900
