"""A cluster in memory that carries out bulk requests, and refuses them as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from logicalrag.engines.cluster.bulk import Item
from logicalrag.engines.cluster.connection import Address, Body, Cluster, Method
from logicalrag.engines.cluster.errors import ClusterUnreachableError

Answer = tuple[int, Any]
Action = dict[str, Any]


def put(id_: str, text: str = "", *, version: int = 0, alias: str = "a", tag: Any = None) -> Item:
    """Return an item that stores `text`; its tag is its id where none is given."""
    return _item("index", id_, version, alias, tag, orjson.dumps({"text": text}) + b"\n")


def delete(id_: str, *, version: int = 0, alias: str = "a", tag: Any = None) -> Item:
    """Return an item that removes a document."""
    return _item("delete", id_, version, alias, tag, b"")


def _item(kind: str, id_: str, version: int, alias: str, tag: Any, source: bytes) -> Item:
    action = {kind: {"_index": alias, "_id": id_, "version": version}}
    return Item(orjson.dumps(action) + b"\n" + source, id_ if tag is None else tag)


def refusal(status: int, kind: str, reason: str = "no") -> dict[str, Any]:
    """Return what a refused item, or the body of a refused request, says."""
    return {"status": status, "error": {"type": kind, "reason": reason}}


BUSY = refusal(429, "es_rejected_execution_exception")
BLOCKED = refusal(403, "cluster_block_exception", "index [a] blocked by: [FORBIDDEN/12/…]")
BAD = refusal(400, "document_parsing_exception")


@dataclass
class Stored:
    """What is held under an id; `text` is None for a tombstone."""

    version: int
    text: str | None


class Store:
    """Documents of external versions ``external_gte``, by alias and id."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Stored] = {}

    def apply(self, action: Action) -> dict[str, Any]:
        """Carry out one action and return its result."""
        key = (action["alias"], action["id"])
        known = self.held.get(key)
        if known is not None and known.version > action["version"]:
            return refusal(409, "version_conflict_engine_exception")
        self.held[key] = Stored(action["version"], action["text"])
        if action["text"] is not None:
            return {"status": 201}
        return {"status": 200 if known is not None and known.text is not None else 404}


def actions_of(body: bytes) -> list[Action]:
    """Return the actions of a request's or an item's body."""
    lines = iter(body.splitlines())
    actions = []
    for line in lines:
        ((kind, told),) = orjson.loads(line).items()
        text = orjson.loads(next(lines))["text"] if kind == "index" else None
        actions.append(
            {
                "alias": told["_index"],
                "id": told["_id"],
                "version": told["version"],
                "text": text,
            }
        )
    return actions


NO_ANSWER = ClusterUnreachableError("The cluster did not answer within 1 s.", True)


class ModelCluster(Cluster):
    """Answers bulk requests from a `Store`.

    Args:
        whole: called with each request's actions before it is carried out: an answer in place of
            the store's, None, or an error to raise.
        each: called with each action: a result in place of the store's, or None.
        lose: called with each request's actions after it was carried out: whether its answer is
            lost.
    """

    def __init__(
        self,
        *,
        whole: Callable[[Sequence[Action]], Answer | Exception | None] = lambda _: None,
        each: Callable[[Action], dict[str, Any] | None] = lambda _: None,
        lose: Callable[[Sequence[Action]], bool] = lambda _: False,
    ) -> None:
        super().__init__(Address(("http://model:9200",), seconds=10.0))
        self.store = Store()
        self.requests: list[list[Action]] = []
        self.sent: list[tuple[str, str, Mapping[str, str] | None]] = []
        self.most_at_once = 0
        self._at_once = 0
        self._whole, self._each, self._lose = whole, each, lose
        self._mutex = threading.Lock()

    def send(
        self,
        method: Method,
        path: str,
        body: Body = None,
        *,
        parameters: Mapping[str, str] | None = None,
        lines: bool = False,
        seconds: float | None = None,
    ) -> Answer:
        """Carry a request out, apart from what the test says."""
        assert isinstance(body, bytes)
        assert lines
        assert seconds is None
        actions = actions_of(body)
        with self._mutex:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            self.requests.append(actions)
            self.sent.append((method, path, parameters))
        try:
            told = self._whole(actions)
            if isinstance(told, Exception):
                raise told
            if told is not None:
                return told
            with self._mutex:
                results = [self._each(each) or self.store.apply(each) for each in actions]
            if self._lose(actions):
                raise NO_ANSWER
            errors = any("error" in result for result in results)
            return 200, {"errors": errors, "items": [{"x": result} for result in results]}
        finally:
            with self._mutex:
                self._at_once -= 1
