"""One batch of bulk items, from the first attempt until each is settled.

Source: Elasticsearch's reference, "Bulk API": a request that succeeds may hold items that did not,
each with a status of its own, in the order they were sent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import (
    BlockedError,
    ClusterBusyError,
    ClusterDeniedError,
    ClusterError,
    ClusterUnreachableError,
    ShardsFailedError,
    described,
    error_of,
)
from logicalrag.engines.cluster.pace import Pace

_WRITING = "a bulk write"
# An alias that is gone, for what must go through one; the second is what a deletion gets where the
# alias's name is none an index can have, the third where we may not make indices.
_NO_INDEX = ("index_not_found_exception", "invalid_index_name_exception")
_NO_INDEX_MADE = "indices:admin/auto_create"


class Item(NamedTuple):
    """One action.

    Args:
        body: the action's line and, but for a deletion, the source's; each ends with a newline.
        tag: what the report calls it by; items of equal tags are carried out in the order added.
    """

    body: bytes
    tag: Any


class Failed(NamedTuple):
    """An item that was refused for good, and why."""

    tag: Any
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class BulkSettings:
    """The bounds of a stream of bulk requests.

    Args:
        items: in one request at most.
        size_bytes: of one request at most; an item over it is sent alone.
        item_bytes: an item over it fails unsent: Elasticsearch takes no request over 100 MB.
        in_flight: requests at once, 1 to 16.
        budget_seconds: how long the items of a request may be refused, or get no answer, without
            any of them being settled.
        least_wait, most_wait: seconds between two attempts; doubling, jittered.
    """

    items: int = 10_000
    size_bytes: int = 1_500_000
    item_bytes: int = 90_000_000
    in_flight: int = 2
    budget_seconds: float = 180.0
    least_wait: float = 0.1
    most_wait: float = 5.0


@dataclass(slots=True)
class Outcome:
    """What became of items: how many stored, stale or (of deletions) absent; and which were not."""

    ok: int = 0
    stale: int = 0
    absent: int = 0
    failed: list[Failed] = field(default_factory=list)
    misdirected: list[Item] = field(default_factory=list)


class Stopped(Exception):  # noqa: N818 - an order carried out, not an error
    """The batch was told to stop."""


class Carrier:
    """Carries batches to the cluster. Safe to use from several threads.

    Args:
        cluster: where to.
        settings: bounds of attempts.
        pace: shared by all batches of a stream.
        clock: seconds; for tests.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: BulkSettings,
        pace: Pace,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster, self._settings, self._pace, self._clock = cluster, settings, pace, clock
        self.stop = threading.Event()
        self._parameters = {
            "require_alias": "true",
            "filter_path": "errors,items.*.status,items.*.error.type,items.*.error.reason",
            # The server's own wait for a shard ends before ours for the server.
            "timeout": f"{max(1, int(cluster.address.seconds * 0.8))}s",
        }

    def carry(self, items: Sequence[Item]) -> Outcome:
        """Send items until each is stored, refused for good, or misdirected.

        Raises:
            BlockedError: an index was still blocked at the end of the budget.
            ClusterError: another refusal of the whole request, or no answer until then.
            Stopped: `stop` was set.
        """
        outcome = Outcome()
        self._carry(items, outcome)
        return outcome

    def _carry(self, items: Sequence[Item], outcome: Outcome) -> None:
        left = list(items)
        most_bytes = self._settings.item_bytes
        attempt, deadline = 0, 0.0
        while left:
            if self.stop.is_set():
                raise Stopped
            sent, size = _beginning(left, min(most_bytes, self._pace.size_bytes))
            refused: Sequence[Item] = sent
            refusal: ClusterError | None
            whole = False
            try:
                status, answer = self._send(sent)
                if status == 413:
                    if len(sent) > 1:
                        most_bytes = size // 2
                        self._pace.smaller(size)
                    else:
                        outcome.failed.append(too_large(sent[0]))
                        left = left[1:]
                    continue
                if status >= 400:
                    raise error_of(status, answer, _WRITING)
                refused, refusal = _settle(sent, answer, outcome)
            except ClusterError as error:
                if not error.retryable:
                    raise
                refusal, whole = error, True
            left = left[len(sent) :]
            if refusal is None:
                self._pace.succeeded()
                attempt, deadline = 0, 0.0
                continue
            if isinstance(refusal, ClusterBusyError):
                self._pace.slower()
            now = self._clock()
            if not deadline or len(refused) < len(sent):
                deadline = now + self._settings.budget_seconds
            if now >= deadline:
                # What is left is tried once, until something goes well again.
                self._give_up(refused, refusal, whole, outcome)
                continue
            left = [*refused, *left]
            attempt += 1
            self._wait(attempt)

    def _send(self, items: Sequence[Item]) -> tuple[int, Any]:
        body = b"".join([item.body for item in items])
        with self._pace.turn():
            return self._cluster.send(
                "POST", "/_bulk", body, parameters=self._parameters, lines=True
            )

    def _wait(self, attempt: int) -> None:
        settings = self._settings
        self.stop.wait(self._cluster.delay(attempt, settings.least_wait, settings.most_wait))

    def _give_up(
        self, items: Sequence[Item], refusal: ClusterError, whole: bool, outcome: Outcome
    ) -> None:
        budget = f"for {self._settings.budget_seconds:g} s"
        if isinstance(refusal, BlockedError):
            raise BlockedError(
                f"The index refused writes {budget} ({refusal.kind}); free disk space or lift the "
                "block, then run the same again: what was not stored is still to be written.",
                True,
                refusal.status,
                refusal.kind,
            )
        # What every item of a request met says nothing of the items; alone, it may be the item.
        if isinstance(refusal, ClusterUnreachableError | ShardsFailedError):
            raise refusal
        if whole and len(items) > 1:
            raise refusal
        outcome.failed += [_failed(item, f"refused {budget}: {refusal}") for item in items]


def _beginning(items: list[Item], most_bytes: int) -> tuple[list[Item], int]:
    """Return as many of the first items as fit, at least one, and their size."""
    size = len(items[0].body)
    for number, item in enumerate(items[1:], 1):
        if size + len(item.body) > most_bytes:
            return items[:number], size
        size += len(item.body)
    return items, size


def _settle(
    items: Sequence[Item], answer: object, outcome: Outcome
) -> tuple[Sequence[Item], ClusterError | None]:
    """Count what the answer says of each item; return those to send again, and why."""
    results = _results(answer, len(items))
    refused: dict[int, ClusterError] = {}
    accepted: set[int] = set()
    for number, (item, result) in enumerate(zip(items, results, strict=True)):
        status = result["status"]
        if "error" not in result:
            accepted.add(number)
            if status < 300:
                outcome.ok += 1
            else:
                outcome.absent += 1
            continue
        if status == 409:
            outcome.stale += 1
            continue
        kind, reason = described(result)
        if kind in _NO_INDEX or _NO_INDEX_MADE in reason:
            outcome.misdirected.append(item)
            continue
        error = error_of(status, result, _WRITING)
        if isinstance(error, ClusterDeniedError):
            raise error
        if error.retryable:
            refused[number] = error
        else:
            outcome.failed.append(_failed(item, f"{kind}: {reason}"))
    if not refused:
        return (), None
    again = _not_overtaken(items, refused.keys(), accepted)
    outcome.stale += len(refused) - len(again)
    if not again:
        return (), None
    return again, min(refused.values(), key=_severity)


def _results(answer: object, items: int) -> list[dict[str, Any]]:
    try:
        results = [each for result in answer["items"] for each in result.values()]  # type: ignore[index]
        if len(results) == items and all(isinstance(each["status"], int) for each in results):
            return results
    except (TypeError, KeyError, AttributeError):
        pass
    raise ClusterError(
        "The cluster's answer does not tell what became of each item of a bulk write; "
        "is this Elasticsearch?"
    )


def _not_overtaken(
    items: Sequence[Item], refused: Collection[int], accepted: Collection[int]
) -> list[Item]:
    """Return the refused items, but for those whose id has got a later item of equal version."""
    later: set[tuple[Any, ...]] = set()
    again = []
    for number in range(len(items) - 1, min(refused) - 1, -1):
        if number in accepted:
            later.add(_target(items[number]))
        elif number in refused and _target(items[number]) not in later:
            again.append(items[number])
    return again[::-1]


def _target(item: Item) -> tuple[str, str, int]:
    """Return index, id and version of an item."""
    (action,) = orjson.loads(item.body[: item.body.index(b"\n")]).values()
    return action.get("_index", ""), action.get("_id", ""), action.get("version", 0)


def _severity(error: ClusterError) -> int:
    """Sort what must not be lost before what may fail alone."""
    return (
        0 if isinstance(error, BlockedError) else 1 if isinstance(error, ShardsFailedError) else 2
    )


def _failed(item: Item, reason: str) -> Failed:
    return Failed(item.tag, _target(item)[1], reason)


def alias_gone(item: Item) -> Failed:
    """Return the failure of an item for an alias that is not there."""
    return _failed(item, f"there is no alias {_target(item)[0]} to write through")


def too_large(item: Item) -> Failed:
    """Return the failure of an item that no request can hold."""
    return _failed(item, f"its {len(item.body):,} bytes are more than the cluster takes at once")
