"""The lease of a group: one holder, taken over when it is silent, known to be lost."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from logicalrag.engines.cluster.errors import ClusterUnreachableError
from logicalrag.engines.elastic.lease import Lease, LeaseLostError, Work, read_work
from logicalrag.engines.errors import EngineError

GROUP = "c-a"


class MemoryCatalog:
    """A catalog in memory, with the compare-and-set of the real one."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self.is_down = False
        self._lock = threading.Lock()

    def get_whole(self, document: str) -> Mapping[str, Any] | None:
        """Return a document and where it is in the order of changes."""
        self._check()
        if document not in self.documents:
            return None
        number, source = self.documents[document]
        return {"_source": source, "_seq_no": number, "_primary_term": 1}

    def put_new(self, document: str, source: Mapping[str, Any]) -> bool:
        """Store what is not there."""
        with self._lock:
            is_new = document not in self.documents
            self.documents.setdefault(document, (0, source))
            return is_new

    def replace(self, document: str, source: Mapping[str, Any], seen: Mapping[str, Any]) -> bool:
        """Store over what was seen."""
        self._check()
        with self._lock:
            number, _ = self.documents[document]
            if number != seen["_seq_no"]:
                return False
            self.documents[document] = (number + 1, source)
            return True

    def _check(self) -> None:
        if self.is_down:
            raise ClusterUnreachableError("down", True)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    def clock(self) -> float:
        """Return the time."""
        return self.now


def lease(catalog: MemoryCatalog, stale_seconds: float = 1_000.0) -> Lease:
    # So long that no beat comes: what is told here is all that is told.
    time = Time()
    return Lease(
        catalog,  # type: ignore[arg-type]
        GROUP,
        stale_seconds=stale_seconds,
        sleep=time.sleep,
        clock=time.clock,
    )


def test_what_was_told_is_there_for_the_next_holder() -> None:
    catalog = MemoryCatalog()
    with lease(catalog) as held:
        assert held.predecessor == ""
        held.tell(index="i", number=4)
        assert read_work(catalog, GROUP).holder == held.work.holder  # type: ignore[arg-type]
    assert read_work(catalog, GROUP) == Work(index="i", number=4)  # type: ignore[arg-type]
    with lease(catalog) as again:
        assert (again.work.index, again.work.number) == ("i", 4)


def test_a_silent_holder_is_taken_over_and_learns_of_it() -> None:
    catalog = MemoryCatalog()
    with lease(catalog) as silent:
        silent.tell(index="i", is_blocked=True)
        with lease(catalog) as later:
            assert later.predecessor == silent.work.holder
            assert (later.work.index, later.work.is_blocked) == ("i", True)
            later.tell(index="j")
            with pytest.raises(LeaseLostError, match="another process took it over"):
                silent.tell(index="")
            with pytest.raises(LeaseLostError):
                silent.tell()
    assert read_work(catalog, GROUP).index == "j"  # type: ignore[arg-type]


def test_a_holder_that_beats_is_left_alone() -> None:
    catalog = MemoryCatalog()
    with lease(catalog) as alive:
        time = Time()

        def sleep(seconds: float) -> None:
            time.sleep(seconds)
            alive.tell()

        other = Lease(
            catalog,  # type: ignore[arg-type]
            GROUP,
            stale_seconds=1_000.0,
            sleep=sleep,
            clock=time.clock,
        )
        with pytest.raises(EngineError, match=r"being worked on by process \d+ on") as caught:
            other.__enter__()
        assert caught.value.retryable
        assert time.now < 1.0


def test_the_thread_keeps_it_through_an_outage() -> None:
    catalog = MemoryCatalog()
    beaten = threading.Event()
    with lease(catalog, stale_seconds=0.05) as held:
        number = catalog.documents[f"lease-{GROUP}"][0]
        catalog.is_down = True
        with pytest.raises(ClusterUnreachableError):
            held.tell()
        catalog.is_down = False
        while catalog.documents[f"lease-{GROUP}"][0] == number:
            assert not beaten.wait(0.01)
        held.tell()


def test_a_repeated_request_that_its_first_attempt_refuses_still_enters() -> None:
    class Repeating(MemoryCatalog):
        def replace(
            self, document: str, source: Mapping[str, Any], seen: Mapping[str, Any]
        ) -> bool:
            super().replace(document, source, seen)
            return super().replace(document, source, seen)

    catalog = Repeating()
    with lease(catalog) as held:
        assert held.predecessor == ""
        held.tell(index="i")
    assert read_work(catalog, GROUP) == Work(index="i")  # type: ignore[arg-type]


def test_a_lease_of_another_version_is_said() -> None:
    catalog = MemoryCatalog()
    catalog.put_new(f"lease-{GROUP}", {"lease": {"stage": 3}})
    with pytest.raises(EngineError, match="of another version"):
        lease(catalog).__enter__()
