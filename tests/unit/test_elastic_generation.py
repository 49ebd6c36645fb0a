"""A generation is made from the content, and is published until it is what is found."""

from __future__ import annotations

from typing import Any

import pytest

from logicalrag.engines.cluster.connection import Body, Method
from logicalrag.engines.elastic.fields import EMPTY
from logicalrag.engines.elastic.generation import catalog_key, publish, state_of, state_search
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.recent import Recent
from logicalrag.engines.identity import group_term, tenant_key
from tests.unit.elastic_scripts import ScriptedCluster, found, state_answer

NUMBERS = {"count": 3, "min": 0.0, "max": 2.0, "sum": 3.0}


def answer(*indices: tuple[str, dict[str, float]], made: str = "m") -> dict[str, Any]:
    """Return the answer of a state with these indices and sequence numbers."""
    buckets = [{"key": name, "numbers": numbers} for name, numbers in indices]
    commit = {"published": {"buckets": []}, "made": {"buckets": [{"key": made}]}}
    return found(aggregations={"passages": {"indices": {"buckets": buckets}}, "commit": commit})


def test_equal_content_is_an_equal_generation() -> None:
    first, second = ("a-v000001", NUMBERS), ("b", NUMBERS | {"max": 9.0})
    assert state_of(answer(first, second)) == state_of(answer(second, first))
    assert len(state_of(answer(first)).generation) == 24


@pytest.mark.parametrize("number", NUMBERS)
def test_every_number_counts(number: str) -> None:
    changed = NUMBERS | {number: 7.0}
    generations = {state_of(answer(("a", numbers))).generation for numbers in (NUMBERS, changed)}
    assert len(generations) == 2


def test_another_index_or_another_tenant_of_the_name_is_another_generation() -> None:
    states = [
        answer(("a-v000001", NUMBERS)),
        answer(("a-v000002", NUMBERS)),
        answer(("a-v000001", NUMBERS), made="n"),
        answer(),
    ]
    assert len({state_of(each).generation for each in states}) == 4


def test_without_passages_there_is_nothing_to_wait_for() -> None:
    state = state_of(answer())
    assert (state.generation, state.published, state.indices) == (EMPTY, EMPTY, ())
    assert state.is_settled


def test_an_index_of_others_is_always_settled() -> None:
    told = answer(("a", NUMBERS))
    del told["aggregations"]["commit"]
    assert state_of(told).published is None
    assert state_of(told).is_settled


def test_apart_it_is_the_tenants_content_and_together_everybodys() -> None:
    header, body = state_search(Names("p"), "one")
    assert header["index"] == ["p-one-read", "p-x-catalog"]
    passages = body["aggs"]["passages"]["filter"]["bool"]
    assert passages["filter"] == [{"term": {"tenant": group_term("one")}}]
    assert passages["must_not"] == [{"term": {"_index": "p-x-catalog"}}]
    assert catalog_key(Names("p"), "one") == tenant_key("one")
    shared = Names("p", shared=True)
    assert state_search(shared, "one") == state_search(shared, "two")


class Publishing(ScriptedCluster):
    """A tenant's index that others write, and its catalog's document."""

    def __init__(self, contents: list[str]) -> None:
        super().__init__(lambda *_: state_answer(self.contents[0], self.published, self.made))
        self.contents = contents
        self.published = ""
        self.made = "made"
        self.updates: list[str] = []

    def send(self, method: Method, path: str, body: Body = None, **more: Any) -> tuple[int, Any]:
        """Take an update; with each, others commit."""
        if path == "/_msearch":
            return super().send(method, path, body, **more)
        assert path == f"/p-x-catalog/_update/{tenant_key('one')}"
        assert more["parameters"]["refresh"] == "true"
        assert isinstance(body, dict)
        self.published = body["doc"]["published"]
        self.made = body["doc"].get("made", self.made)
        self.updates.append(self.published)
        if len(self.contents) > 1:
            del self.contents[0]
        return 200, {}


def test_what_is_published_is_what_is_found_afterwards() -> None:
    cluster = Publishing(["a", "b", "c"])
    generation = publish(cluster, Names("p"), "one")
    found = state_of(state_answer("c", cluster.published, cluster.made))
    assert generation == found.generation == cluster.published
    assert found.made == "made"
    assert len(cluster.updates) == 3


def test_a_change_that_leaves_all_numbers_as_they_were_is_another_generation() -> None:
    cluster = Publishing(["a"])
    generations = {publish(cluster, Names("p"), "one") for _ in range(3)}
    assert len(generations) == 3
    assert cluster.published in generations
    assert len(cluster.updates) == 3


def test_nothing_needs_no_mark() -> None:
    cluster = Publishing([""])
    assert publish(cluster, Names("p"), "one") == EMPTY
    assert cluster.updates == []


def test_writers_that_never_rest_are_not_followed_for_ever() -> None:
    cluster = Publishing([str(at) for at in range(1, 100)])
    publish(cluster, Names("p"), "one")
    assert len(cluster.updates) == 10


def test_recent_forgets_what_was_not_used_for_longest() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    assert recent.put("c", 3) == 3
    assert [recent.get(each) for each in "abc"] == [1, None, 3]
