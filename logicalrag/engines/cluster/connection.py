"""One cluster's connections: requests, their time limits, and which of them are tried again."""

from __future__ import annotations

import base64
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlencode

import orjson
from elastic_transport import (
    ConnectionError as TransportConnectionError,
)
from elastic_transport import (
    ConnectionTimeout,
    SerializationError,
    TlsError,
    TransportError,
)
from elasticsearch import Elasticsearch

from logicalrag.engines.cluster.errors import (
    ClusterError,
    ClusterUnreachableError,
    error_of,
)

# What the 8.x client sends, so that a 9.x server answers as an 8.x one.
_COMPATIBLE = "application/vnd.elasticsearch+{}; compatible-with=8"
_JSON, _LINES = _COMPATIBLE.format("json"), _COMPATIBLE.format("x-ndjson")
_HOST = re.compile(r"https?://(?:\[[0-9A-Fa-f:.]+\]|[^\s/@:?#\[\]]+):[0-9]{1,5}/?")
_KEY = re.compile(r"[A-Za-z0-9+/_=.:~-]+")
Method = Literal["GET", "POST", "PUT", "DELETE", "HEAD"]
Body = bytes | Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Address:
    """Where a cluster is and who asks.

    Args:
        hosts: ``http(s)://host:port`` of one or more nodes.
        ca_file: certificate authority (PEM) for HTTPS; None for the system's.
        api_key: encoded key; or `user` and `password`; or none of them.
        seconds: for one request, at least 0.1.
        attempts: for one call that may be repeated, at least 1.
        connections: kept open to each node.

    Raises:
        ClusterError: a host or key has another form; says so without its text.
    """

    hosts: tuple[str, ...]
    ca_file: Path | None = None
    api_key: str | None = field(default=None, repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    seconds: float = 30.0
    attempts: int = 5
    connections: int = 16

    def __post_init__(self) -> None:
        if not self.hosts or len(set(self.hosts)) < len(self.hosts):
            raise ClusterError("Name at least one host of the cluster, and none twice.")
        if not all(map(_HOST.fullmatch, self.hosts)):
            raise ClusterError(
                "A host of the cluster is written as http(s)://host:port, nothing more; user and "
                "password go into settings of their own."
            )
        # The HTTP library would quote it in its own error.
        if self.api_key is not None and not _KEY.fullmatch(self.api_key):
            raise ClusterError(
                "The cluster's API key holds what no key holds; copy its encoded form, in one line."
            )


class Cluster:
    """A pool of connections to a cluster's nodes. Safe to use from several threads.

    A node that does not answer is left alone for a while and another one asked. Nothing is sent
    before the first call; ``GET /`` never.

    Args:
        address: where it is.
        sleep: waits between attempts; for tests.

    Raises:
        ClusterError: the certificate authority cannot be read, or is for hosts without HTTPS.
    """

    def __init__(self, address: Address, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.address = address
        self._sleep = sleep
        options: dict[str, Any] = {}
        try:
            if address.ca_file is not None:
                ssl.create_default_context(cafile=address.ca_file)
                options["ca_certs"] = str(address.ca_file)
            self._client = Elasticsearch(
                list(address.hosts),
                request_timeout=address.seconds,
                connections_per_node=address.connections,
                max_retries=0,
                retry_on_timeout=False,
                http_compress=False,
                meta_header=False,
                **options,
            )
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"The cluster's address or certificate file cannot be used: {error}."
            ) from None
        self._transport = self._client.transport
        self._headers = {"accept": _JSON} | _authorization(address)
        self._random = random.Random()  # noqa: S311 - spreads retries, keeps no secret

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Idempotent."""
        self._client.close()

    def call(
        self,
        method: Method,
        path: str,
        body: Body = None,
        *,
        doing: str,
        parameters: Mapping[str, str] | None = None,
        lines: bool = False,
        seconds: float | None = None,
        attempts: int | None = None,
    ) -> Any:
        """Send a request, again where that may help, and return the parsed answer.

        Only for requests that may be applied twice without harm.

        Args:
            path: begins with ``/``; its parts are escaped by the caller.
            body: JSON, or bytes that are JSON already.
            doing: what is asked for, in error messages, as ``a search``.
            parameters: of the query string.
            lines: the body is lines of JSON.
            seconds: for each attempt, where other than the address's.
            attempts: where other than the address's.

        Raises:
            ClusterError: of the kind that `errors` tells; after the last attempt where retryable.
        """
        most = attempts or self.address.attempts
        for attempt in range(1, most + 1):
            try:
                status, answer = self.send(
                    method, path, body, parameters=parameters, lines=lines, seconds=seconds
                )
                if status < 400:
                    return answer
                raise error_of(status, answer, doing)
            except ClusterError as error:
                if not error.retryable or attempt == most:
                    raise
            self.wait(attempt)
        raise AssertionError("unreachable")

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
        """Send one request once and return status and parsed answer, whatever the status.

        Raises:
            ClusterUnreachableError: no answer came in time; it may have been carried out.
            ClusterError: the answer is no JSON.
        """
        headers = self._headers
        if body is not None:
            headers = {**headers, "content-type": _LINES if lines else _JSON}
            if not isinstance(body, bytes):
                body = orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        try:
            node = self._transport.node_pool.get()
            try:
                answer = node.perform_request(
                    method,
                    target,
                    body,
                    headers,  # type: ignore[arg-type]
                    seconds or self.address.seconds,
                )
            except (TransportConnectionError, ConnectionTimeout):
                self._transport.node_pool.mark_dead(node)
                raise
            self._transport.node_pool.mark_live(node)
        except TlsError as error:
            raise ClusterError(
                f"There is no secure connection to the cluster ({_short(error)}); check that it "
                "speaks HTTPS, and name its certificate's authority in the setting elastic_ca_file."
            ) from None
        except ConnectionTimeout:
            raise ClusterUnreachableError(
                f"The cluster did not answer within {seconds or self.address.seconds:g} s.", True
            ) from None
        except (TransportError, SerializationError) as error:
            raise ClusterUnreachableError(
                f"The cluster cannot be reached at {', '.join(self.address.hosts)} "
                f"({_short(error)}); check the address and that it runs.",
                True,
            ) from None
        status, content = answer.meta.status, answer.body
        if not content:
            if status < 400 and method != "HEAD":  # torn within its head
                self._transport.node_pool.mark_dead(node)
                raise ClusterUnreachableError(
                    "The cluster's answer broke off; look at the network and try again.", True
                )
            return status, None
        try:
            return status, orjson.loads(content)
        except orjson.JSONDecodeError:
            if status >= 400:  # a proxy's page
                return status, {"error": f"status {status} without JSON"}
            raise ClusterError("The cluster's answer is no JSON; is this Elasticsearch?") from None

    def wait(self, attempt: int, least: float = 0.1, most: float = 5.0) -> None:
        """Wait before attempt `attempt` + 1: doubling from `least` to `most` seconds, jittered."""
        self._sleep(self.delay(attempt, least, most))

    def delay(self, attempt: int, least: float = 0.1, most: float = 5.0) -> float:
        """Return how many seconds `wait` waits."""
        return min(most, least * 2.0 ** min(attempt - 1, 60)) * self._random.uniform(0.5, 1.0)


def _authorization(address: Address) -> dict[str, str]:
    if address.api_key is not None:
        return {"authorization": f"ApiKey {address.api_key}"}
    if address.user is not None:
        pair = f"{address.user}:{address.password or ''}".encode()
        return {"authorization": "Basic " + base64.b64encode(pair).decode()}
    return {}


def _short(error: Exception) -> str:
    return str(getattr(error, "message", error)).split("\n")[0][:200]
