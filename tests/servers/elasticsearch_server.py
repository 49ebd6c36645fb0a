"""An Elasticsearch that answers requests, wherever it runs and whoever started it."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.servers.availability import ServerError
from tests.servers.elasticsearch_node import Credentials

ADDRESS = "LOGICALRAG_TEST_ELASTICSEARCH"
USER, PASSWORD, CA = f"{ADDRESS}_USER", f"{ADDRESS}_PASSWORD", f"{ADDRESS}_CA"
REQUEST_SECONDS = 60


@dataclass(frozen=True)
class Answer:
    """What a request got: the status, and the body as JSON says it, or as text."""

    status: int
    body: Any


class Server:
    """A running Elasticsearch that somebody else starts and stops.

    Args:
        urls: of its nodes, without a path.
        credentials: None where it asks for none.
        ca_file: certificate authority (PEM) that its HTTPS is checked against; None: the system's.
    """

    def __init__(
        self,
        urls: tuple[str, ...],
        credentials: Credentials | None = None,
        ca_file: Path | None = None,
    ) -> None:
        self.urls = urls
        self.credentials = credentials
        self.ca_file = ca_file

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        node: int = 0,
        authorization: str | None = None,
        seconds: float = REQUEST_SECONDS,
    ) -> Answer:
        """Send one request on a connection of its own.

        Args:
            path: with its query; characters outside ASCII are escaped by the caller.
            body: JSON; a string is sent as it is, as lines of JSON.
            node: index into `urls`.
            authorization: header in place of the credentials; empty: none.
            seconds: for connecting and for each wait for data.

        Raises:
            OSError, http.client.HTTPException: no answer came.
        """
        url = urlsplit(self.urls[node])
        headers = {"content-type": "application/json"}
        if isinstance(body, str):
            headers["content-type"] = "application/x-ndjson"
        if authorization is None and self.credentials is not None:
            pair = f"{self.credentials.user}:{self.credentials.password}".encode()
            authorization = "Basic " + base64.b64encode(pair).decode()
        if authorization:
            headers["authorization"] = authorization
        sent = body if body is None or isinstance(body, str) else json.dumps(body)
        connection = self._connection(url.scheme, url.hostname or "", url.port, seconds)
        try:
            connection.request(method, path, sent, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        is_json = "json" in (response.getheader("content-type") or "")
        return Answer(response.status, json.loads(text) if is_json and text else text)

    def _connection(
        self, scheme: str, host: str, port: int | None, seconds: float
    ) -> http.client.HTTPConnection:
        if scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=seconds)
        context = ssl.create_default_context(cafile=self.ca_file)
        return http.client.HTTPSConnection(host, port, timeout=seconds, context=context)


def named_server(environment: Mapping[str, str]) -> Server | None:
    """Return the server whose address the environment has, None where it has none.

    ``LOGICALRAG_TEST_ELASTICSEARCH`` has one or more addresses, parted by commas; the same name
    with ``_USER``, ``_PASSWORD`` and ``_CA`` (a file) says how they are reached. Nothing is sent.

    Raises:
        ServerError: an address is none, or the file is missing.
    """
    text = environment.get(ADDRESS, "").strip()
    if not text:
        return None
    urls = tuple(url.strip().rstrip("/") for url in text.split(","))
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
            raise ServerError(
                f"{ADDRESS} must hold addresses such as http://127.0.0.1:9200, parted by commas; "
                f"name and password go into {USER} and {PASSWORD}"
            )
    ca_file = Path(environment[CA]) if environment.get(CA) else None
    if ca_file is not None and not ca_file.is_file():
        raise ServerError(f"{CA} names {ca_file}, which is no file")
    user = environment.get(USER)
    credentials = Credentials(user, environment.get(PASSWORD, "")) if user else None
    return Server(urls, credentials, ca_file)
