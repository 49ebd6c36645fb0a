"""One call, one state: what is run again, what is waited for, and what is never a zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any

import pytest

from logicalrag.engines.cluster.errors import (
    ClusterBusyError,
    ClusterError,
    ShardsFailedError,
)
from logicalrag.engines.elastic.engine import ElasticEngine
from logicalrag.engines.elastic.fields import EMPTY, Query
from logicalrag.engines.elastic.generation import state_of
from logicalrag.engines.protocol import SearchEngine, Visibility
from logicalrag.query.nodes import And, Node, Or, Word
from tests.unit.elastic_scripts import (
    NO_INDEX,
    SHARD_FAILED,
    ScriptedCluster,
    ScriptedSource,
    found,
    state_answer,
)

ALPHA, BETA = Word(("alpha",)), Word(("beta",))
EVERYONE = Visibility()
GENERATIONS = {content: state_of(state_answer(content)).generation for content in ("", "a", "b")}


def settled(content: str) -> dict[str, Any]:
    """Return the answer of a state whose commit was published."""
    return state_answer(content, GENERATIONS[content])


def scripted(
    states: Iterator[dict[str, Any]],
    searched: Callable[[Query], Mapping[str, Any]] = lambda _: found(7),
    known: bool = True,
) -> tuple[ElasticEngine, ScriptedCluster]:
    """Return an engine on a cluster that gives these states in turn."""
    cluster = ScriptedCluster(lambda body, is_state: next(states) if is_state else searched(body))
    return ElasticEngine(cluster, ScriptedSource(known)), cluster


def test_a_plain_search_is_one_request_of_two_searches() -> None:
    engine, cluster = scripted(repeat(settled("a")))
    for _ in range(3):
        result = engine.search(ALPHA, EVERYONE)
        assert (result.count.hits, result.visible) == (7, 7)
        assert result.generation == GENERATIONS["a"]
    # The first asks for the state, then counts what is visible; the others know both.
    assert [len(each) // 2 for each in cluster.requests] == [1, 3, 2, 2]


def test_every_search_demands_all_shards_and_the_same_copies() -> None:
    engine, cluster = scripted(repeat(settled("a")))
    engine.search(ALPHA, EVERYONE)
    engine.search(Word(("alpha",), boost="0"), EVERYONE)
    headers = [line for request in cluster.requests for line in request[::2]]
    assert all(each["allow_partial_search_results"] is False for each in headers)
    assert len({each["preference"] for each in headers}) == 1
    types = [each.get("search_type") for each in headers]
    assert types.count("dfs_query_then_fetch") == 1


def test_a_call_is_run_again_where_the_index_changed_during_it() -> None:
    states = chain([settled("a"), settled("b")], repeat(settled("b")))
    totals = iter([1, 1, 2, 2, 3])
    engine, _ = scripted(states, lambda _: found(next(totals)))
    result = engine.search(ALPHA, EVERYONE)
    assert (result.count.hits, result.visible) == (2, 2)
    assert result.generation == GENERATIONS["b"]


def test_an_index_that_changes_all_the_time_is_an_error() -> None:
    def changing() -> Iterator[dict[str, Any]]:
        while True:
            yield settled("a")
            yield settled("b")

    engine, cluster = scripted(changing())
    with pytest.raises(ShardsFailedError, match="changed during each") as raised:
        engine.search(ALPHA, EVERYONE)
    assert raised.value.retryable
    assert len(cluster.requests) < 50


def test_the_other_half_of_a_commit_is_waited_for() -> None:
    half = state_answer("a", "earlier")
    states = chain([half, half, half], repeat(settled("a")))
    engine, cluster = scripted(states)
    assert engine.search(ALPHA, EVERYONE).generation == GENERATIONS["a"]
    assert len(cluster.waits) == 3
    assert sum(cluster.waits) <= 0.5


def test_what_is_never_published_is_accepted_and_not_waited_for_again() -> None:
    engine, cluster = scripted(repeat(state_answer("a", "earlier")))
    assert engine.search(ALPHA, EVERYONE).generation == GENERATIONS["a"]
    waited = len(cluster.waits)
    assert 0 < sum(cluster.waits) <= 1
    engine.search(ALPHA, EVERYONE)
    assert len(cluster.waits) == waited


def test_fields_are_asked_for_with_the_state_they_are_of() -> None:
    states = chain([settled("a"), settled("b")], repeat(settled("b")))
    cluster = ScriptedCluster(lambda _, is_state: next(states) if is_state else found())
    source = ScriptedSource()
    ElasticEngine(cluster, source).search(ALPHA, EVERYONE)
    assert [each.indices for each in source.asked_for] == [("a",), ("b",)]


CALLS: dict[str, Callable[[SearchEngine], object]] = {
    "search": lambda engine: engine.search(
        And((ALPHA, BETA)), EVERYONE, documents=True, clause_counts=True, leave_one_out=True
    ),
    "count": lambda engine: engine.count([ALPHA], EVERYONE),
    "count nothing": lambda engine: engine.count([], EVERYONE),
    "values": lambda engine: engine.values("year", None, EVERYONE),
    "read": lambda engine: engine.read(["0" * 24], EVERYONE, neighbours=1),
    "nearest words": lambda engine: engine.nearest_words("alpa", EVERYONE),
    "documents": lambda engine: engine.documents_holding([ALPHA, BETA], EVERYONE),
    "stats": lambda engine: engine.stats(EVERYONE),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))


@each_call
@pytest.mark.parametrize(
    "bad",
    [
        {**found(), "timed_out": True},
        {**found(), "_shards": {"total": 3, "successful": 2, "failed": 1}},
        SHARD_FAILED,
        {**SHARD_FAILED, "status": 500},
        {"error": {"type": "no_shard_available_action_exception", "reason": "x"}, "status": 503},
    ],
)
def test_no_shard_that_is_lost_or_late_is_a_zero(
    call: Callable[[SearchEngine], object], bad: dict[str, Any]
) -> None:
    engine, cluster = scripted(repeat(settled("a")), lambda _: bad)
    with pytest.raises(ShardsFailedError) as raised:
        call(engine)
    assert raised.value.retryable
    assert len(cluster.requests) == 4  # the state, and three attempts
    assert len(cluster.waits) == 2


@each_call
def test_a_state_without_all_shards_is_no_state(call: Callable[[SearchEngine], object]) -> None:
    engine, _ = scripted(repeat(SHARD_FAILED))
    with pytest.raises(ShardsFailedError):
        call(engine)


def test_what_failed_once_is_asked_again_as_a_whole() -> None:
    answers = iter([SHARD_FAILED, found(7), found(9)])
    engine, cluster = scripted(repeat(settled("a")), lambda _: next(answers, found(7)))
    assert engine.search(ALPHA, EVERYONE).visible == 7
    assert len(cluster.waits) == 1


def test_too_busy_is_told() -> None:
    busy = {"error": {"type": "es_rejected_execution_exception", "reason": "full"}, "status": 429}
    engine, _ = scripted(repeat(settled("a")), lambda _: busy)
    with pytest.raises(ClusterBusyError) as raised:
        engine.search(ALPHA, EVERYONE)
    assert raised.value.retryable


def test_what_the_server_does_not_understand_is_not_tried_again() -> None:
    bad = {"error": {"type": "parsing_exception", "reason": "unknown query"}, "status": 400}
    engine, cluster = scripted(repeat(settled("a")), lambda _: bad)
    with pytest.raises(ClusterError, match="parsing_exception") as raised:
        engine.search(ALPHA, EVERYONE)
    assert not raised.value.retryable
    assert cluster.waits == []


@each_call
def test_a_known_tenant_without_an_index_is_an_error(
    call: Callable[[SearchEngine], object],
) -> None:
    engine, cluster = scripted(repeat(NO_INDEX))
    with pytest.raises(ClusterError, match="is gone from the cluster") as raised:
        call(engine)
    assert raised.value.retryable
    assert len(cluster.requests) == 3


@each_call
def test_an_unknown_tenant_has_nothing(call: Callable[[SearchEngine], object]) -> None:
    engine, cluster = scripted(repeat(NO_INDEX), known=False)
    call(engine)
    assert len(cluster.requests) == 1
    result = engine.search(And((ALPHA, BETA)), EVERYONE, documents=True, leave_one_out=True)
    assert (result.count.hits, result.visible, result.documents) == (0, 0, 0)
    assert result.generation == EMPTY
    assert [part.count.hits for part in result.leave_one_out] == [0, 0]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {**found(), "hits": {}},
        {**found(), "hits": None},
        {**found(), "hits": {"total": {"value": "many", "relation": "eq"}, "hits": []}},
        {**found(), "hits": {"total": {"value": 1, "relation": "eq"}, "hits": [{"_source": {}}]}},
        {**found(), "hits": {"total": {"value": 10_000, "relation": "gte"}, "hits": []}},
    ],
)
def test_an_answer_of_another_shape_is_an_error(answer: dict[str, Any]) -> None:
    engine, _ = scripted(repeat(settled("a")), lambda _: answer)
    with pytest.raises(ClusterError):
        engine.search(ALPHA, EVERYONE)


def test_a_request_whose_parts_are_missing_is_an_error() -> None:
    class Forgetful(ScriptedCluster):
        def send(self, *arguments: Any, **more: Any) -> tuple[int, Any]:
            status, answer = super().send(*arguments, **more)
            return status, {"responses": answer["responses"][1:]}

    engine = ElasticEngine(Forgetful(lambda *_: settled("a")), ScriptedSource())
    with pytest.raises(ClusterError, match="not the parts"):
        engine.search(ALPHA, EVERYONE)


def test_where_tenants_share_an_index_no_score_is_told() -> None:
    hit = {"_score": 2.5, "_source": {"passage": PASSAGE}}
    answer = found(hits={"total": {"value": 1, "relation": "eq"}, "hits": [hit]})
    for shared, score in ((False, 2.5), (True, 0.0)):
        cluster = ScriptedCluster(lambda _, is_state: settled("a") if is_state else answer)
        engine = ElasticEngine(cluster, ScriptedSource(shared=shared))
        (got,) = engine.search(ALPHA, EVERYONE).hits
        assert (got.score, got.passage.document_id) == (score, "d")
        # Both order by it.
        assert [request[1].get("sort") for request in cluster.requests][1] == [
            {"_score": "desc"},
            {"id": "asc"},
        ]


PASSAGE = {
    "id": "0" * 24,
    "document_id": "d",
    "number": 0,
    "title": "",
    "text": "alpha",
    "start": 0,
    "end": 5,
    "tenant": "default",
    "access": None,
    "location": "",
    "metadata": {},
}


def test_a_preference_is_no_command() -> None:
    with pytest.raises(ValueError, match="does not begin with '_'"):
        ElasticEngine(ScriptedCluster(lambda *_: {}), ScriptedSource(), preference="_local")


def test_a_tree_that_the_server_would_refuse_is_refused() -> None:
    tree: Node = ALPHA
    for level in range(27):
        tree = And((tree, BETA)) if level % 2 else Or((tree, BETA))
    engine, cluster = scripted(repeat(settled("a")))
    with pytest.raises(ValueError, match="at most 27 levels, not 28"):
        engine.search(tree, EVERYONE)
    assert cluster.requests == []
