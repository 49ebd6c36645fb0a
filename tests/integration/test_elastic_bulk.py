"""Bulk writes over real connections: what a cluster, a proxy or the network may answer."""

from __future__ import annotations

import logging
import socket
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from logicalrag.engines.cluster.bulk import BulkReport, BulkSettings, BulkStream, Item
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.cluster.errors import (
    BlockedError,
    ClusterBusyError,
    ClusterDeniedError,
    ClusterError,
    ClusterUnreachableError,
)
from tests.integration.bulk_server import Answer, BulkServer, serving

SETTINGS = BulkSettings(budget_seconds=30.0, least_wait=0.001, most_wait=0.001)
AT_ONCE = replace(SETTINGS, budget_seconds=0.0)
SECRET = "c2VjcmV0OnNlY3JldA=="  # noqa: S105


def items(number: int) -> list[Item]:
    return [
        Item(b'{"index":{"_index":"a","_id":"%d"}}\n{"text":"x"}\n' % each, each)
        for each in range(number)
    ]


def carried(
    *urls: str,
    settings: BulkSettings = SETTINGS,
    number: int = 3,
    seconds: float = 30.0,
    api_key: str | None = None,
) -> BulkReport:
    """Send items to a cluster at these addresses."""
    with (
        Cluster(Address(urls, seconds=seconds, api_key=api_key)) as cluster,
        closing(BulkStream(cluster, settings)) as stream,
    ):
        for item in items(number):
            stream.add(item)
        return stream.flush()


def stored_once(server: BulkServer, number: int = 3) -> bool:
    return server.stored == {str(each): 1 for each in range(number)}


def closed_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_connections_stay_open_and_are_as_many_as_requests_at_once() -> None:
    with serving() as server:
        report = carried(server.url, number=100, settings=replace(SETTINGS, items=5))
    assert report == BulkReport(100, 0, 0, ())
    assert (len(server.requests), stored_once(server, 100)) == (20, True)
    assert server.connections <= SETTINGS.in_flight
    assert server.headers[0]["content-type"] == (
        "application/vnd.elasticsearch+x-ndjson; compatible-with=8"
    )
    assert "content-encoding" not in server.headers[0]
    assert server.paths[0].startswith("/_bulk?require_alias=true&filter_path=")


def test_only_the_refused_item_is_sent_again() -> None:
    """Case 17."""
    busy = {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "full"}}
    with serving(Answer(refused={"1": busy})) as server:
        assert carried(server.url) == BulkReport(3, 0, 0, ())
    assert server.requests == [["0", "1", "2"], ["1"]]
    assert stored_once(server)


def test_items_that_cannot_be_read_are_told_by_id_and_reason() -> None:
    """Case 18."""
    error = {
        "type": "document_parsing_exception",
        "reason": "[1:9] failed to parse field [x]. Preview of field's value: 'the document'",
    }
    bad = {"7": {"status": 400, "error": error}, "250": {"status": 400, "error": error}}
    with serving(Answer(refused=bad)) as server:
        report = carried(server.url, number=300)
    assert (report.ok, [each.id for each in report.failed]) == (298, ["7", "250"])
    assert {each.reason for each in report.failed} == {
        "document_parsing_exception: [1:9] failed to parse field [x]"
    }
    assert len(server.requests) == 1


@pytest.mark.parametrize("trouble", [Answer(lost=True), Answer(stalled=True)])
def test_an_answer_that_never_comes(trouble: Answer) -> None:
    """Case 19: the request was carried out; its repetition is for the versions to bear."""
    with serving(trouble) as server:
        assert carried(server.url, seconds=0.5) == BulkReport(3, 0, 0, ())
    assert server.requests == [["0", "1", "2"]] * 2


def test_a_node_that_is_gone_is_left_out() -> None:
    with serving() as server:
        report = carried(closed_port(), server.url, number=50, settings=replace(SETTINGS, items=5))
    assert report.ok == 50
    assert stored_once(server, 50)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(503, b"<html>upstream unavailable</html>"),
        Answer(502, b""),
        Answer(429, b'{"error":{"type":"circuit_breaking_exception","reason":"too large"}}'),
        Answer(503, b'{"error":{"type":"cluster_block_exception","reason":"no master"}}'),
    ],
)
def test_a_request_that_is_refused_for_now(answer: Answer) -> None:
    with serving(answer, answer) as server:
        assert carried(server.url) == BulkReport(3, 0, 0, ())
    assert len(server.requests) == 3
    assert stored_once(server)


@pytest.mark.parametrize("body", [b"", b"<html>too large</html>", b'{"error":"x"}'])
def test_a_request_that_is_too_large_for_a_proxy(body: bytes) -> None:
    with serving(Answer(413, body), Answer(413, body)) as server:
        assert carried(server.url, number=8).ok == 8
    assert [len(ids) for ids in server.requests[:3]] == [8, 4, 2]
    assert stored_once(server, 8)


def test_one_item_that_is_too_large_fails_alone() -> None:
    """Case 15."""
    with serving(Answer(413, b"")) as server:
        report = carried(server.url, number=3, settings=replace(SETTINGS, items=1, in_flight=1))
    assert (report.ok, [each.id for each in report.failed]) == (2, ["0"])


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Answer(401, b'{"error":{"type":"security_exception"}}'), ClusterDeniedError, "key"),
        (Answer(403, b'{"error":{"type":"security_exception"}}'), ClusterDeniedError, "role"),
        (Answer(200, b"<html>"), ClusterError, "no JSON"),
        (Answer(200, b"[]"), ClusterError, "does not tell"),
        (Answer(429, b""), ClusterBusyError, "too busy"),
        (Answer(lost=True), ClusterUnreachableError, "check the address"),
        (
            Answer(403, b'{"error":{"type":"cluster_block_exception","reason":"read-only"}}'),
            BlockedError,
            "lift the block",
        ),
    ],
)
def test_what_stays_wrong_is_an_error(answer: Answer, kind: type[ClusterError], words: str) -> None:
    with serving(answer) as server, pytest.raises(kind, match=words):
        carried(server.url, settings=AT_ONCE)


def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(Answer(lost=True)) as server:
        assert carried(server.url, api_key=SECRET).ok == 3
    assert server.headers[-1]["authorization"] == f"ApiKey {SECRET}"
    with pytest.raises(ClusterUnreachableError) as caught:
        carried(closed_port(), api_key=SECRET, settings=AT_ONCE)
    assert len(caplog.records) > 3
    assert SECRET not in caplog.text
    assert SECRET not in repr(caught.value)
    assert SECRET not in repr(Address(("http://a:1",), api_key=SECRET, password=SECRET))


@pytest.mark.parametrize("content", [b"no certificate", b""])
def test_a_certificate_file_that_is_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(content)
    for path in (file, tmp_path / "absent.pem"):
        with pytest.raises(ClusterError, match="certificate file"):
            Cluster(Address(("https://127.0.0.1:1",), ca_file=path))


def test_a_server_that_speaks_no_tls() -> None:
    with serving() as server, pytest.raises(ClusterError, match="check that it speaks HTTPS"):
        carried(server.url.replace("http:", "https:"), settings=AT_ONCE)
    assert server.requests == []
