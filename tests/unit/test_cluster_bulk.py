"""The bulk stream against a cluster in memory: what is sent, sent again, and told."""

from __future__ import annotations

import os
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from logicalrag.engines.cluster.bulk import BulkReport, BulkSettings, BulkStream, Failed, Item
from logicalrag.engines.cluster.errors import (
    BlockedError,
    ClusterBusyError,
    ClusterDeniedError,
    ClusterError,
    ClusterUnreachableError,
    ShardsFailedError,
)
from tests.unit.bulk_model import (
    BAD,
    BLOCKED,
    BUSY,
    NO_ANSWER,
    Action,
    ModelCluster,
    Store,
    actions_of,
    delete,
    put,
    refusal,
)

SETTINGS = BulkSettings(least_wait=0.0, most_wait=0.0)
MISSING = refusal(404, "index_not_found_exception", "no such index [a] and [require_alias] …")


def ticking() -> Callable[[], float]:
    """Return a clock on which a budget of 10 s is over at the tenth look."""
    seconds = count()
    return lambda: float(next(seconds))


def first(times: int, told: Any) -> Callable[[Any], Any]:
    """Return what says `told` the first times it is called, then nothing."""
    left = iter([told] * times)
    return lambda _: next(left, None)


def carried(cluster: ModelCluster, items: Sequence[Item], **bounds: Any) -> BulkReport:
    """Add items to a stream of its own and return the report."""
    settings = replace(SETTINGS, budget_seconds=10.0, **bounds)
    with closing(BulkStream(cluster, settings, clock=ticking())) as stream:
        for item in items:
            stream.add(item)
        return stream.flush()


def ids(requests: Sequence[Sequence[Action]]) -> list[str]:
    """Return each request's ids, run together."""
    return ["".join(action["id"] for action in request) for request in requests]


class TestRequests:
    """What goes into one request."""

    def test_nothing_is_sent_before_a_request_is_full_or_flushed(self) -> None:
        cluster = ModelCluster()
        with closing(BulkStream(cluster, SETTINGS)) as stream:
            stream.add(put("1"))
            assert cluster.requests == []
            assert stream.flush() == BulkReport(1, 0, 0, ())
            assert stream.flush() == BulkReport(0, 0, 0, ())
        assert ids(cluster.requests) == ["1"]
        ((method, path, parameters),) = cluster.sent
        assert (method, path) == ("POST", "/_bulk")
        assert parameters == {
            "require_alias": "true",
            "filter_path": "errors,items.*.status,items.*.error.type,items.*.error.reason",
            "timeout": "8s",
        }

    def test_bounded_in_items(self) -> None:
        cluster = ModelCluster()
        settings = replace(SETTINGS, items=3)
        with closing(BulkStream(cluster, settings)) as stream:
            for each in "abcdefg":
                stream.add(put(each))
            stream.flush()
        assert sorted(ids(cluster.requests)) == ["abc", "def", "g"]

    def test_bounded_in_bytes(self) -> None:
        cluster = ModelCluster()
        items = [put(each, "x" * 100) for each in "abcde"]
        carried(cluster, items, size_bytes=2 * len(items[0].body))
        assert sorted(ids(cluster.requests)) == ["ab", "cd", "e"]

    def test_an_item_over_the_size_goes_alone(self) -> None:
        cluster = ModelCluster()
        items = [put("a"), put("b", "x" * 1000), put("c"), put("d")]
        assert carried(cluster, items, size_bytes=500).ok == 4
        assert sorted(ids(cluster.requests)) == ["a", "b", "cd"]

    def test_an_item_over_the_clusters_limit_fails_alone_and_unsent(self) -> None:
        """Case 15."""
        cluster = ModelCluster()
        items = [put("a"), put("b", "x" * 1000, tag="B"), put("c")]
        report = carried(cluster, items, item_bytes=500)
        reason = f"its {len(items[1].body):,} bytes are more than the cluster takes at once"
        assert report == BulkReport(2, 0, 0, (Failed("B", "b", reason),))
        assert ids(cluster.requests) == ["ac"]

    @pytest.mark.parametrize("in_flight", [1, 2, 4])
    def test_memory_is_bounded(self, in_flight: int) -> None:
        cluster = ModelCluster(whole=lambda _: held.append(added - done_items()))
        held: list[int] = []
        added = 0

        def done_items() -> int:
            return sum(each.version >= 0 for each in list(cluster.store.held.values()))

        settings = replace(SETTINGS, items=5, in_flight=in_flight)
        with closing(BulkStream(cluster, settings)) as stream:
            for number in range(500):
                added += 1
                stream.add(put(str(number)))
            assert stream.flush().ok == 500
        assert 1 <= cluster.most_at_once <= in_flight
        assert max(held) <= 5 * (in_flight + 1) + 1


class TestRefusals:
    """What is sent again, and what is not."""

    def test_only_the_refused_item_is_sent_again(self) -> None:
        """Case 17."""
        refused = Counter[str]()

        def once(action: Action) -> dict[str, Any] | None:
            refused[action["id"]] += 1
            return BUSY if action["id"] == "b" and refused["b"] == 1 else None

        cluster = ModelCluster(each=once)
        assert carried(cluster, [put(each) for each in "abc"]) == BulkReport(3, 0, 0, ())
        assert ids(cluster.requests) == ["abc", "b"]

    def test_refused_for_good_is_failed_and_the_others_are_stored(self) -> None:
        """Case 17."""
        cluster = ModelCluster(each=lambda action: BUSY if action["id"] == "b" else None)
        report = carried(cluster, [put(each) for each in "abc"])
        assert (report.ok, [(each.tag, each.id) for each in report.failed]) == (2, [("b", "b")])
        assert report.failed[0].reason.startswith("refused for 10 s: The cluster is too busy")
        assert ids(cluster.requests)[:3] == ["abc", "b", "b"]

    def test_what_cannot_be_read_is_never_sent_again(self) -> None:
        """Case 18."""
        bad = {"7", "250"}
        cluster = ModelCluster(each=lambda action: BAD if action["id"] in bad else None)
        report = carried(cluster, [put(str(number)) for number in range(300)])
        assert (report.ok, len(cluster.requests)) == (298, 1)
        reason = "document_parsing_exception: no"
        assert report.failed == (Failed("7", "7", reason), Failed("250", "250", reason))

    def test_a_stale_version_is_counted(self) -> None:
        cluster = ModelCluster()
        report = carried(cluster, [put("a", "new", version=2), put("a", "old", version=1)])
        assert report == BulkReport(1, 1, 0, ())
        assert cluster.store.held["a", "a"].text == "new"

    def test_a_later_item_waits_for_one_of_its_tag_that_is_refused(self) -> None:
        tries = count()

        def hold_back(action: Action) -> dict[str, Any] | None:
            overtaken = ("a", "same") in cluster.store.held
            held = action["text"] == "first" and not overtaken and next(tries) < 500
            return BUSY if held else None

        cluster = ModelCluster(each=hold_back)
        with closing(BulkStream(cluster, replace(SETTINGS, items=1))) as stream:
            for text in ("first", "last"):
                stream.add(put("same", text))
            assert stream.flush() == BulkReport(2, 0, 0, ())
        assert cluster.store.held["a", "same"].text == "last"

    def test_a_deletion_of_nothing_is_counted(self) -> None:
        cluster = ModelCluster()
        report = carried(cluster, [delete("a"), put("b"), delete("b")])
        assert report == BulkReport(2, 0, 1, ())

    def test_a_lost_answer_changes_no_count(self) -> None:
        """Case 19."""
        lost = iter([True, True])
        cluster = ModelCluster(lose=lambda _: next(lost, False))
        assert carried(cluster, [put(each) for each in "abc"]).ok == 3
        assert ids(cluster.requests) == ["abc"] * 3
        assert len(cluster.store.held) == 3

    @pytest.mark.parametrize(
        "told",
        [
            (429, refusal(429, "es_rejected_execution_exception")),
            (503, refusal(503, "cluster_block_exception", "no master")),
            (502, {"error": "status 502 without JSON"}),
            (500, refusal(500, "node_closed_exception")),
            NO_ANSWER,
        ],
    )
    def test_a_refused_request_is_sent_again(self, told: Any) -> None:
        cluster = ModelCluster(whole=first(3, told))
        assert carried(cluster, [put("a"), delete("b")]) == BulkReport(1, 0, 1, ())
        assert len(cluster.requests) == 4

    @pytest.mark.parametrize(
        ("told", "kind"),
        [
            ((401, refusal(401, "security_exception")), ClusterDeniedError),
            ((403, refusal(403, "security_exception")), ClusterDeniedError),
            ((400, refusal(400, "illegal_argument_exception")), ClusterError),
        ],
    )
    def test_what_no_repetition_heals_is_raised_at_once(
        self, told: Any, kind: type[ClusterError]
    ) -> None:
        cluster = ModelCluster(whole=lambda _: told)
        with pytest.raises(kind):
            carried(cluster, [put("a"), put("b")])
        assert len(cluster.requests) == 1

    def test_an_item_that_is_not_allowed_is_raised_at_once(self) -> None:
        denied = refusal(403, "security_exception", "action [indices:data/write/bulk] …")
        cluster = ModelCluster(each=lambda action: denied if action["id"] == "b" else None)
        with pytest.raises(ClusterDeniedError):
            carried(cluster, [put("a"), put("b")])

    @pytest.mark.parametrize(
        ("told", "kind"),
        [
            (NO_ANSWER, ClusterUnreachableError),
            ((429, BUSY), ClusterBusyError),
            ((503, refusal(503, "unavailable")), ShardsFailedError),
        ],
    )
    def test_a_request_refused_for_good_is_an_error(
        self, told: Any, kind: type[ClusterError]
    ) -> None:
        cluster = ModelCluster(whole=lambda _: told)
        with pytest.raises(kind):
            carried(cluster, [put("a"), put("b")])
        assert len(cluster.requests) == 11

    def test_a_shard_that_is_gone_for_good_is_an_error(self) -> None:
        gone = refusal(503, "unavailable_shards_exception")
        cluster = ModelCluster(each=lambda action: gone if action["id"] == "b" else None)
        with pytest.raises(ShardsFailedError):
            carried(cluster, [put("a"), put("b")])

    def test_an_item_that_the_cluster_never_has_room_for_fails_alone(self) -> None:
        """Case 15: one over the server's memory limit is refused as busy, each time."""
        cluster = ModelCluster(
            whole=lambda actions: (429, BUSY) if ids([actions]) == ["b"] else None
        )
        report = carried(cluster, [put("a"), put("b", "x" * 500), put("c")], size_bytes=300)
        assert (report.ok, [each.id for each in report.failed]) == (2, ["b"])

    @pytest.mark.parametrize("limit", [100, 200, 400])
    def test_a_request_that_is_too_large_is_split(self, limit: int) -> None:
        def too_large(actions: Sequence[Action]) -> tuple[int, None] | None:
            return (413, None) if sum(len(each["text"]) for each in actions) > limit else None

        cluster = ModelCluster(whole=too_large)
        items = [put(each, "x" * 90) for each in "abcdefgh"]
        items[3] = put("d", "x" * 600)
        report = carried(cluster, items)
        assert (report.ok, [each.id for each in report.failed]) == (7, ["d"])
        assert "bytes are more than the cluster takes" in report.failed[0].reason
        assert len(cluster.requests) < 20

    @pytest.mark.parametrize(
        "answer",
        [
            None,
            [],
            "items",
            {"errors": False},
            {"errors": False, "items": []},
            {"errors": False, "items": [{"index": {"status": 201}}]},
            {"errors": False, "items": [{"index": {"status": 201}}, {"index": {}}]},
            {"errors": False, "items": [{"index": {"status": 201}}, {"index": {"status": "1"}}]},
            {"errors": False, "items": [{"index": {"status": 201}}, 7]},
        ],
    )
    def test_an_answer_that_leaves_items_out_is_no_success(self, answer: Any) -> None:
        cluster = ModelCluster(whole=lambda _: (200, answer))
        with pytest.raises(ClusterError, match="does not tell what became of each item"):
            carried(cluster, [put("a"), put("b")])


class TestBlocks:
    """Case 20: an index that refuses writes for a while, or for good."""

    @pytest.mark.parametrize("status", [403, 429])
    def test_goes_on_when_lifted(self, status: int) -> None:
        block = {**BLOCKED, "status": status}
        cluster = ModelCluster(each=first(5, block))
        assert carried(cluster, [put("a"), put("b")]) == BulkReport(2, 0, 0, ())

    @pytest.mark.parametrize("status", [403, 429])
    def test_for_good_is_an_error_until_discarded(self, status: int) -> None:
        block = {**BLOCKED, "status": status}
        cluster = ModelCluster(each=lambda action: block if action["id"] == "b" else None)
        settings = replace(SETTINGS, budget_seconds=10.0)
        with closing(BulkStream(cluster, settings, clock=ticking())) as stream:
            stream.add(put("a"))
            stream.add(put("b"))
            with pytest.raises(BlockedError, match="refused writes for 10 s") as caught:
                stream.flush()
            assert (caught.value.retryable, caught.value.status) == (True, status)
            with pytest.raises(BlockedError):
                stream.flush()
            stream.discard()
            stream.add(put("c"))
            assert stream.flush() == BulkReport(1, 0, 0, ())

    def test_add_tells_it_too(self) -> None:
        cluster = ModelCluster(each=lambda _: BLOCKED)
        settings = replace(SETTINGS, items=1, budget_seconds=10.0)
        with closing(BulkStream(cluster, settings, clock=ticking())) as stream:
            with pytest.raises(BlockedError):
                deque(map(stream.add, map(put, "123456789")), 0)
            with pytest.raises(BlockedError):
                stream.flush()


class TestMisdirected:
    """Case 22: items whose alias is gone."""

    @pytest.mark.parametrize(
        "told",
        [
            MISSING,
            refusal(400, "invalid_index_name_exception", "must be lowercase"),
            refusal(403, "security_exception", "action [indices:admin/auto_create] is …"),
        ],
    )
    def test_they_are_handed_back_in_order(self, told: dict[str, Any]) -> None:
        cluster = ModelCluster(each=lambda action: told if action["alias"] == "a" else None)
        handed: list[Item] = []

        def redirect(items: Sequence[Item]) -> None:
            handed.extend(items)
            for item in items:
                stream.add(Item(item.body.replace(b'"a"', b'"b"', 1), item.tag))

        with closing(BulkStream(cluster, SETTINGS, redirect)) as stream:
            items = [put("1", "x"), delete("1"), put("2", "y"), put("3", alias="b")]
            for item in items:
                stream.add(item)
            assert stream.flush() == BulkReport(4, 0, 0, ())
        assert handed == items[:3]
        texts = {key: stored.text for key, stored in cluster.store.held.items()}
        assert texts == {("b", "1"): None, ("b", "2"): "y", ("b", "3"): ""}

    def test_they_stay_before_what_was_added_later(self) -> None:
        cluster = ModelCluster(each=lambda action: MISSING if action["alias"] == "a" else None)

        def redirect(items: Sequence[Item]) -> None:
            for item in items:
                stream.add(Item(item.body.replace(b'"a"', b'"b"', 1), item.tag))

        settings = replace(SETTINGS, items=2)
        with closing(BulkStream(cluster, settings, redirect)) as stream:
            for text in "12345678":
                alias = "a" if int(text) < 7 else "b"
                stream.add(put("same", text, alias=alias))
            assert stream.flush().ok == 8
        assert cluster.store.held["b", "same"].text == "8"

    def test_without_a_receiver_they_fail(self) -> None:
        cluster = ModelCluster(each=lambda _: MISSING)
        assert carried(cluster, [put("1")]).failed == (
            Failed("1", "1", "there is no alias a to write through"),
        )

    def test_an_error_of_the_receiver_is_not_forgotten(self) -> None:
        cluster = ModelCluster(each=lambda _: MISSING)

        def fail(_: Sequence[Item]) -> None:
            raise ClusterError("gone")

        with closing(BulkStream(cluster, SETTINGS, fail)) as stream:
            stream.add(put("1"))
            for _ in range(2):
                with pytest.raises(ClusterError, match="gone"):
                    stream.flush()


class TestState:
    """Discarding, closing, and what must not look like success."""

    def test_discard_forgets_what_was_not_sent(self) -> None:
        cluster = ModelCluster()
        with closing(BulkStream(cluster, SETTINGS)) as stream:
            stream.add(put("1"))
            stream.discard()
            assert stream.flush() == BulkReport(0, 0, 0, ())
        assert cluster.requests == []

    def test_closing_ends_a_request_that_is_tried_again_and_again(self) -> None:
        cluster = ModelCluster(whole=lambda _: NO_ANSWER)
        settings = BulkSettings(items=1, least_wait=60.0, most_wait=60.0)
        stream = BulkStream(cluster, settings)
        stream.add(put("1"))
        stream.add(put("2"))
        stream.close()
        stream.close()
        assert ids(cluster.requests) in (["1"], [])

    def test_an_unforeseen_error_is_raised(self) -> None:
        cluster = ModelCluster(whole=lambda _: RuntimeError("unforeseen"))
        with closing(BulkStream(cluster, SETTINGS)) as stream:
            stream.add(put("1"))
            for _ in range(2):
                with pytest.raises(RuntimeError, match="unforeseen"):
                    stream.flush()

    def test_another_process_cannot_use_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with closing(BulkStream(ModelCluster(), SETTINGS)) as stream:
            stream.add(put("1"))
            pid = os.getpid()
            monkeypatch.setattr(os, "getpid", lambda: pid + 1)
            with pytest.raises(ClusterError, match="another process"):
                stream.flush()


class Trouble:
    """Refuses and loses at random; the same seed, the same refusals of the same request."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311
        self._limit = self._random.choice([300, 1_000, 100_000])

    def whole(self, actions: Sequence[Action]) -> tuple[int, Any] | Exception | None:
        """Refuse a request."""
        if len(actions) > 1 and 60 * len(actions) > self._limit:
            return 413, None
        told: list[tuple[int, Any] | Exception] = [(429, BUSY), (503, BUSY), NO_ANSWER]
        return self._random.choice(told) if self._random.random() < 0.2 else None

    def each(self, _: Action) -> dict[str, Any] | None:
        """Refuse an item."""
        return self._random.choice([BUSY, BLOCKED]) if self._random.random() < 0.2 else None

    def lose(self, _: Sequence[Action]) -> bool:
        """Lose an answer."""
        return self._random.random() < 0.1


def random_items(random_: random.Random) -> Iterator[Item]:
    """Yield puts and deletions of few ids and few versions, most of them equal."""
    for number in range(random_.randrange(1, 200)):
        id_ = str(random_.randrange(12))
        version = random_.choice([0, 0, 0, 1, 2])
        if random_.random() < 0.3:
            yield delete(id_, version=version)
        else:
            yield put(id_, str(number), version=version)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_goes_wrong_the_end_is_as_if_one_by_one(seed: int) -> None:
    random_ = random.Random(seed)  # noqa: S311
    items = list(random_items(random_))
    oracle = Store()
    for item in items:
        (action,) = actions_of(item.body)
        oracle.apply(action)
    trouble = Trouble(seed)
    cluster = ModelCluster(whole=trouble.whole, each=trouble.each, lose=trouble.lose)
    settings = replace(
        SETTINGS, items=random_.choice([1, 3, 20]), in_flight=random_.choice([1, 2, 4])
    )
    with closing(BulkStream(cluster, settings)) as stream:
        for item in items:
            stream.add(item)
        report = stream.flush()
    assert cluster.store.held == oracle.held
    assert (report.ok + report.stale + report.absent, report.failed) == (len(items), ())
