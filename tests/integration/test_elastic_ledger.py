"""The ledger in a cluster: lost answers, refused items, what killed runs leave, wrong indices."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ingest.elastic_ledger import ElasticLedger
from ingest.ledger import Claim, Failure, LedgerError, Record
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.cluster.errors import (
    AbsentError,
    ClusterBusyError,
    ClusterError,
    ClusterUnreachableError,
    ShardsFailedError,
)
from logicalrag.engines.identity import document_key
from tests.servers.elasticsearch_server import Server


class UnsteadyCluster(Cluster):
    """Carries out every request; `answers` may replace what came of it, or raise."""

    def __init__(self, address: Address) -> None:
        super().__init__(address, sleep=lambda _: None)
        self.answers: Callable[[str, str, Any], tuple[int, Any] | None] = lambda *_: None
        self.requests: list[tuple[str, str, int]] = []

    def send(self, method: Any, path: str, body: Any = None, **rest: Any) -> tuple[int, Any]:
        status, answer = super().send(method, path, body, **rest)
        self.requests.append((method, path, len(body) if isinstance(body, bytes) else 0))
        return self.answers(method, path, answer) or (status, answer)


@pytest.fixture
def cluster(elasticsearch: Server) -> Iterator[UnsteadyCluster]:
    opened = UnsteadyCluster(Address(elasticsearch.urls, attempts=3))
    with opened:
        yield opened


@pytest.fixture
def index(cluster: Cluster) -> Iterator[str]:
    name = f"ledger{secrets.token_hex(4)}"
    ElasticLedger(cluster, name, replicas=1).create()
    yield name
    cluster.call("DELETE", f"/{name}", doing="removing a test's ledger")


def _claim(name: str, version: int = 1, before: Record | None = None) -> Claim:
    return Claim(document_key("t", name), name, "t", version, b"h", 2, 2, False, before)


def _once(path_ends: str, wrong: Exception | tuple[int, Any]) -> Callable[..., Any]:
    """Return answers of which the first to such a path is lost, or replaced."""
    left = [wrong]

    def answers(_: str, path: str, __: Any) -> tuple[int, Any] | None:
        if not path.endswith(path_ends) or not left:
            return None
        if isinstance(found := left.pop(), Exception):
            raise found
        return found

    return answers


def _always(path_ends: str, answer: tuple[int, Any]) -> Callable[..., Any]:
    return lambda _, path, __: answer if path.endswith(path_ends) else None


LOST = ClusterUnreachableError("The cluster did not answer within 1 s.", True)


def test_a_claim_whose_answer_was_lost_is_not_lost_to_another(
    cluster: UnsteadyCluster, index: str
) -> None:
    ledger = ElasticLedger(cluster, index)
    for answers in (_once("_bulk", LOST), _second("_bulk")):
        name = f"new {answers.__qualname__} {id(answers)}"
        cluster.answers = answers
        assert ledger.claim([_claim(name)]) == frozenset()
        cluster.answers = lambda *_: None
        ledger.stored([_claim(name)])
        cluster.answers = answers
        record = ledger.look_up([document_key("t", name)])[document_key("t", name)]
        assert record.state == "stored"
        cluster.answers = _second("_bulk")
        again = _claim(name, 2, record)
        assert ledger.claim([again]) == frozenset()
        cluster.answers = _once("_bulk", LOST)
        ledger.stored([again])
        cluster.answers = lambda *_: None
        stored = ledger.look_up([again.key])[again.key]
        cluster.answers = _once("_bulk", LOST)
        assert ledger.renew([again._replace(version=5, before=stored)]) == frozenset()
        assert ledger.look_up([again.key])[again.key] == stored._replace(version=5)
    assert ledger.counts("t") == {"stored": 2}


def _second(path_ends: str) -> Callable[..., Any]:
    """Return answers of which the second to such a path is lost: a claim's own, after opening."""
    asked: list[str] = []

    def answers(_: str, path: str, __: Any) -> None:
        if path.endswith(path_ends):
            asked.append(path)
            if len(asked) == 2:
                raise LOST

    return answers


def test_what_another_claimed_meanwhile_stays_lost_though_an_answer_was_lost(
    cluster: UnsteadyCluster, index: str
) -> None:
    one, other = ElasticLedger(cluster, index), ElasticLedger(cluster, index)
    assert one.claim([_claim("a")]) == frozenset()
    cluster.answers = _second("_bulk")
    assert other.claim([_claim("a"), _claim("b")]) == {document_key("t", "a")}
    cluster.answers = lambda *_: None
    other.stored([_claim("b")])
    assert one.counts("t") == {"claimed": 1, "stored": 1}


def test_a_claim_that_failed_half_way_is_pending_for_good(
    cluster: UnsteadyCluster, index: str
) -> None:
    ledger = ElasticLedger(cluster, index)
    opened: list[str] = []

    def lose_all_but_the_first(_: str, path: str, __: Any) -> None:
        if path.endswith("_bulk"):
            opened.append(path)
            if len(opened) > 1:
                raise LOST

    cluster.answers = lose_all_but_the_first
    with pytest.raises(ClusterUnreachableError):
        ledger.claim([_claim("a")])
    cluster.answers = lambda *_: None
    assert ledger.claim([_claim("b")]) == frozenset()
    ledger.stored([_claim("b")])  # with nothing else of its own open
    assert [each.document_id for each in ledger.pending()] == ["a"]


def test_items_that_the_cluster_is_too_busy_for_are_sent_again_alone(
    cluster: UnsteadyCluster, index: str
) -> None:
    ledger = ElasticLedger(cluster, index)
    ledger.claim([_claim("taken")])
    claims = [_claim(name) for name in ("a", "taken", "b")]
    asked: list[str] = []

    def refuse_the_last(_: str, path: str, answer: Any) -> tuple[int, Any] | None:
        if not path.endswith("_bulk"):
            return None
        asked.append(path)
        if len(asked) != 2:
            return None
        busy = {"type": "es_rejected_execution_exception", "reason": "full"}
        return 200, {
            "errors": True,
            "items": [*answer["items"][:2], {"create": {"status": 429, "error": busy}}],
        }

    cluster.requests.clear()
    cluster.answers = refuse_the_last
    assert ledger.claim(claims) == {claims[1].key}
    sizes = [size for _, path, size in cluster.requests if path.endswith("_bulk")]
    assert len(sizes) == 3
    assert sizes[2] < sizes[1] / 2
    assert ledger.counts("t") == {"claimed": 3}


def test_items_that_are_refused_for_good_are_an_error(cluster: UnsteadyCluster, index: str) -> None:
    ledger = ElasticLedger(cluster, index)
    for kind, status, error in (
        ("es_rejected_execution_exception", 429, ClusterBusyError),
        ("strict_dynamic_mapping_exception", 400, ClusterError),
    ):
        item = {"create": {"status": status, "error": {"type": kind, "reason": "so"}}}
        cluster.requests.clear()
        cluster.answers = _always("_bulk", (200, {"errors": True, "items": [item]}))
        with pytest.raises(error, match="a claim in the ledger"):
            ledger.claim([_claim("a")])
        asked = [path for _, path, _ in cluster.requests if path.endswith("_bulk")]
        assert len(asked) == (3 if status == 429 else 1)


@pytest.mark.parametrize("answer", [{}, [], {"items": [], "docs": []}])
def test_an_answer_that_leaves_parts_out_is_an_error(
    cluster: UnsteadyCluster, index: str, answer: Any
) -> None:
    ledger = ElasticLedger(cluster, index)
    for path_ends, call in (
        ("_bulk", lambda: ledger.claim([_claim("a")])),
        ("_mget", lambda: ledger.look_up([_claim("a").key])),
    ):
        cluster.answers = _always(path_ends, (200, answer))
        with pytest.raises(ClusterError, match="answered 0 of 1 parts"):
            call()


def test_large_claims_are_sent_in_requests_of_bounded_size(
    cluster: UnsteadyCluster, index: str
) -> None:
    ledger = ElasticLedger(cluster, index)
    claims = [_claim(f"{number:08000d}") for number in range(500)]
    assert ledger.claim(claims) == frozenset()
    assert max(size for *_, size in cluster.requests) <= 1_500_000
    assert set(ledger.look_up([each.key for each in claims])) == {each.key for each in claims}
    ledger.stored(claims)
    assert ledger.counts("t") == {"stored": 500}


def test_a_commit_is_marked_by_one_small_request(cluster: UnsteadyCluster, index: str) -> None:
    ledger = ElasticLedger(cluster, index)
    ledger.claim([])
    ledger.stored([])  # with the first look for what others left
    batches = [[_claim(f"{batch}-{each}") for each in range(100)] for batch in range(3)]
    for batch in batches:
        ledger.claim(batch)
    cluster.requests.clear()
    ledger.stored([each for batch in batches for each in batch])
    [(method, path, size)] = cluster.requests
    assert (method, path.endswith("/_bulk"), size < 500) == ("POST", True, True)
    assert ledger.counts("t") == {"stored": 300}


def test_claimants_that_killed_runs_left_without_documents_are_removed(
    cluster: UnsteadyCluster, index: str
) -> None:
    def claimants() -> int:
        body = {"query": {"term": {"kind": "claimant"}}, "size": 0}
        cluster.call("POST", f"/{index}/_refresh", doing="a test")
        found = cluster.call("POST", f"/{index}/_search", body, doing="a test")
        return int(found["hits"]["total"]["value"])

    for names in ("ab", "c"):
        ElasticLedger(cluster, index).claim([_claim(name) for name in names])
    [a, b, c] = sorted(ElasticLedger(cluster, index).pending(), key=lambda each: each.document_id)
    patient, hasty = (
        ElasticLedger(cluster, index),
        ElasticLedger(cluster, index, task_limit_seconds=-2),
    )
    # The run that still holds "b"; and at first what may belong to one that has not ended.
    for ledger, left in ((patient, 2), (hasty, 1)):
        again = [_claim(each.document_id, 2, each) for each in (a, c)]
        lost = ledger.claim(again)
        ledger.stored([each for each in again if each.key not in lost])
        assert claimants() == left
    assert [each.document_id for each in hasty.pending()] == ["b"]
    assert hasty.counts("t") == {"stored": 2, "claimed": 1}
    assert b.version == 1


def test_a_late_request_does_not_open_a_closed_claimant_again(
    cluster: UnsteadyCluster, index: str
) -> None:
    bodies: list[bytes] = []
    real = cluster.send

    def recorded(method: Any, path: str, body: Any = None, **rest: Any) -> tuple[int, Any]:
        if isinstance(body, bytes):
            bodies.append(body)
        return real(method, path, body, **rest)

    cluster.send = recorded  # type: ignore[method-assign]
    ledger = ElasticLedger(cluster, index)
    ledger.claim([_claim("a")])
    ledger.stored([_claim("a")])
    status, answer = real("POST", f"/{index}-Write/_bulk", bodies[0], lines=True)
    assert (status, answer["items"][0]["index"]["status"]) == (200, 409)
    assert ledger.counts("t") == {"stored": 1}


def test_no_ledger_and_another_index_are_told_apart(cluster: UnsteadyCluster) -> None:
    name = f"ledger{secrets.token_hex(4)}"
    claim = _claim("a")
    for call in (
        lambda ledger: ledger.is_empty(),
        lambda ledger: ledger.look_up([claim.key]),
        lambda ledger: ledger.claim([claim]),
        lambda ledger: ledger.failed([Failure(claim.key, "a", "t", "no_text")]),
        lambda ledger: list(ledger.pending()),
        lambda ledger: ledger.counts("t"),
    ):
        with pytest.raises(AbsentError, match="logicalrag index create"):
            call(ElasticLedger(cluster, name))
    assert cluster.send("HEAD", f"/{name}")[0] == 404
    cluster.call("PUT", f"/{name}", {"mappings": {}}, doing="a test")
    try:
        with pytest.raises(LedgerError, match="no ledger that this program can read"):
            ElasticLedger(cluster, name).is_empty()
    finally:
        cluster.call("DELETE", f"/{name}", doing="a test")


def test_a_ledger_that_is_dropped_meanwhile_is_not_made_again(cluster: UnsteadyCluster) -> None:
    name = f"ledger{secrets.token_hex(4)}"
    ledger = ElasticLedger(cluster, name, replicas=0)
    ledger.create()
    ledger.create()  # the same again is fine
    ledger.claim([_claim("a")])
    cluster.call("DELETE", f"/{name}", doing="a test")
    for call in (
        lambda: ledger.claim([_claim("b")]),
        lambda: ledger.stored([_claim("a")]),
        lambda: ledger.look_up([_claim("a").key]),
    ):
        with pytest.raises(AbsentError, match="logicalrag index create"):
            call()
    assert cluster.send("HEAD", f"/{name}")[0] == 404


@pytest.mark.parametrize("part", [{"_shards": {"failed": 1}}, {"timed_out": True}])
def test_a_count_of_some_shards_is_no_count(
    cluster: UnsteadyCluster, index: str, part: dict[str, Any]
) -> None:
    ledger = ElasticLedger(cluster, index)
    ledger.claim([_claim("a")])
    cluster.answers = lambda _, path, answer: (200, answer | part) if "/_search" in path else None
    for call in (
        lambda: ledger.counts("t"),
        lambda: ledger.passages("t"),
        lambda: list(ledger.pending()),
        ledger.is_empty,
    ):
        with pytest.raises(ShardsFailedError):
            call()
    cluster.answers = _once("_search", (503, {"error": {"type": "no_shard", "reason": "so"}}))
    assert ledger.counts("t") == {"claimed": 1}


def test_its_index_is_strict_and_not_refreshed_by_itself(
    cluster: UnsteadyCluster, index: str
) -> None:
    [held] = cluster.call("GET", f"/{index}", doing="a test").values()
    assert held["mappings"]["dynamic"] == "strict"
    settings = held["settings"]["index"]
    assert settings["refresh_interval"] == "-1"
    assert settings["gc_deletes"] == "3600s"
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == ("1", "1")
