"""Rebuilds on a real cluster: nothing lost, nothing revived, and no failure that leaves a trace."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.aliases import block_writes
from logicalrag.engines.elastic.answers import answers_of
from logicalrag.engines.elastic.generation import state_of, state_search
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.rebuild import (
    DriftError,
    Pace,
    RebuildReport,
    abandon,
    rebuild,
    recover,
    swap,
)
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.errors import EngineError
from tests.integration.elastic_collections import cluster, collection, prefix
from tests.integration.elastic_passages import Versioned, roles
from tests.integration.elastic_rebuild_process import DOCUMENTS, PACE
from tests.integration.elastic_rebuilds import assert_at_rest, filled, search, writing

__all__ = ["cluster", "collection", "prefix"]

PROCESS = "tests.integration.elastic_rebuild_process"
_SECONDS = 120


class StepError(EngineError):
    """Raised at a step by these tests."""


@pytest.mark.parametrize("analysis", [None, "standard"])
def test_a_rebuild_takes_everything_over_and_restores_the_settings(
    collection: Collection, analysis: None
) -> None:
    model = filled(collection)
    told: list[tuple[str, int, int]] = []
    report = rebuild(
        collection,
        "a",
        shards=3,
        replicas=0,
        analysis=analysis,
        pace=PACE,
        progress=lambda *step: told.append(step),
    )
    assert search(collection) == model
    assert report.is_swapped
    assert report.copied is not None
    assert (report.copied.stored, report.passages) == (len(model), len(model))
    assert told[-1] == ("copying", len(model), len(model))
    assert roles(collection) == [(1, "old"), (2, "serving")]
    old, new = collection.indices("a")
    assert (new.shards, new.replicas, new.blocked) == (3, 0, False)
    assert new.layout is not None
    assert new.layout.analysis == (analysis or "english")
    assert collection.description().analysis == (analysis or "english")
    held_settings = collection.cluster.call("GET", f"/{new.name}", doing="a look")
    settings = held_settings[new.name]["settings"]["index"]
    assert settings["gc_deletes"] == "1h"
    assert "rebalance" not in settings["routing"]
    assert old.blocked
    assert_at_rest(collection, 2)
    assert collection.drop("a", old.name) == (old.name,)


def test_the_swap_is_published_as_committed(collection: Collection) -> None:
    filled(collection)
    rebuild(collection, "a", keep_old=False, pace=PACE)
    (answer,) = answers_of(
        collection.cluster, [state_search(collection.names, "a")], doing="a look"
    )
    state = state_of(answer)
    assert state.generation == state.published
    assert roles(collection) == [(2, "serving")]


def steps_of(collection: Collection) -> list[str]:
    steps: list[str] = []
    rebuild(collection, "a", pace=PACE, checkpoint=steps.append, keep_old=False)
    return steps


def test_a_failure_at_any_step_leaves_the_old_index_serving_and_nothing_behind(
    collection: Collection,
) -> None:
    model = filled(collection)
    rebuild(collection, "a", shards=1, replicas=0, pace=PACE, keep_old=False)
    steps = steps_of(collection)
    serving = collection.indices("a")[0].number
    for at in range(steps.index("swapped")):
        reached = 0

        def fail(step: str, at: int = at) -> None:
            nonlocal reached
            reached += 1
            if reached == at + 1:
                raise StepError(f"failed after {step}")

        with pytest.raises(StepError, match=f"failed after {steps[at]}"):
            rebuild(collection, "a", pace=PACE, checkpoint=fail)
        assert roles(collection) == [(serving, "serving")], steps[at]
        assert_at_rest(collection, serving)
        assert search(collection) == model


@pytest.mark.parametrize("step", ["swapped", "completed"])
def test_after_the_swap_a_failure_says_that_the_new_index_serves(
    collection: Collection, step: str
) -> None:
    model = filled(collection)

    def fail(reached: str) -> None:
        if reached == step and roles(collection)[-1] == (2, "serving"):
            raise StepError("failed", retryable=step == "swapped")

    with pytest.raises(EngineError, match=r"The swap is done and \S+-v000002 serves, but then"):
        rebuild(collection, "a", pace=PACE, checkpoint=fail)
    assert_at_rest(collection, 2)
    assert search(collection) == model


@pytest.mark.parametrize(
    ("step", "number", "serving", "said"),
    [
        ("noted", 1, 2, "did not end"),
        ("made", 1, 3, "v000002 was removed and the old one serves"),
        ("blocked", 1, 3, "v000002 was removed"),
        ("begun", 1, 3, "v000002 was removed"),
        ("copying", 2, 3, "v000002 was removed"),
        ("restored", 1, 3, "v000002 was removed"),
        ("blocked", 3, 3, "v000002 was removed"),
        ("at rest", 1, 3, "v000002 was removed"),
        ("swapped", 1, 3, "A swap to .*v000002 by .* was done and is now completed"),
    ],
)
def test_after_a_killed_rebuild_the_next_one_says_so_and_cleans_up(
    collection: Collection, step: str, number: int, serving: int, said: str
) -> None:
    model = filled(collection)
    kill_rebuild(collection, step, number)
    with writing(collection, "meanwhile") as (writer, documents):
        if step not in ("blocked", "begun", "at rest", "swapped"):
            documents.put(1, ["theta"])
            writer.commit()
            model |= documents.model
    assert search(collection) == model
    report = rebuild(collection, "a", pace=PACE, keep_old=False)
    assert len(report.found) == 1
    assert_said(report, said)
    assert search(collection) == model
    assert_at_rest(collection, collection.indices("a")[-1].number)
    assert collection.indices("a")[-1].number >= serving


def assert_said(report: RebuildReport, said: str) -> None:
    assert re.search(said, report.found[0])


def kill_rebuild(collection: Collection, step: str, number: int) -> None:
    urls = ",".join(collection.cluster.address.hosts)
    command = [sys.executable, "-m", PROCESS, "rebuild", collection.names.prefix, urls]
    ended = subprocess.run(  # noqa: S603 - as above
        [*command, step, str(number)], timeout=_SECONDS, check=False
    )
    assert ended.returncode == -signal.SIGKILL


def test_a_block_that_a_killed_rebuild_left_is_lifted_while_a_writer_waits(
    collection: Collection,
) -> None:
    model = filled(collection)
    kill_rebuild(collection, "blocked", 1)
    assert collection.indices("a")[0].blocked
    with writing(collection, "waiting") as (writer, documents):
        documents.put(1, ["iota"])
        waiting = threading.Thread(target=writer.commit)
        waiting.start()
        (sentence,) = recover(collection, "a", pace=PACE)
        waiting.join(_SECONDS)
        assert not waiting.is_alive()
        model |= documents.model
    assert "did not end; its index" in sentence
    assert recover(collection, "a", pace=PACE) == ()
    assert search(collection) == model
    assert_at_rest(collection, 1)


def test_of_two_rebuilds_at_once_the_second_is_refused(collection: Collection) -> None:
    model = filled(collection)
    patient = Pace(stale_seconds=30.0)  # that a slow machine is not taken for a dead process
    refused: list[str] = []

    def another(step: str) -> None:
        if step == "copied":
            for command in (rebuild, swap, abandon):
                with pytest.raises(EngineError, match="being worked on by process") as caught:
                    command(collection, "a", pace=patient)
                refused.append(str(caught.value))
            assert recover(collection, "a", pace=patient) == ()

    rebuild(collection, "a", pace=patient, checkpoint=another)
    assert len(refused) == 3
    assert str(os.getpid()) in refused[0]
    assert search(collection) == model


def test_a_swap_of_its_own_takes_what_was_written_since(collection: Collection) -> None:
    model = filled(collection)
    with writing(collection, "beside") as (writer, documents):
        report = rebuild(collection, "a", swap=False, pace=PACE)
        assert not report.is_swapped
        assert roles(collection) == [(1, "serving"), (2, "beside")]
        with pytest.raises(EngineError, match="v000002 is filled and waits"):
            rebuild(collection, "a", pace=PACE)
        with pytest.raises(EngineError, match="belongs to a rebuild"):
            collection.drop("a", report.new)
        documents.put(1, ["kappa", "lambda"])
        documents.put(2, ["mu"])
        documents.remove(2)
        writer.commit()
        model |= documents.model
        assert search(collection) == model
        swapped = swap(collection, "a", expressions=["kappa", "alpha"], pace=PACE)
        assert (swapped.drift, swapped.repaired, swapped.changed) == (0.0, 0, ())
        assert [each.new_hits for each in swapped.replayed] == [1, DOCUMENTS - 1]
        assert search(collection) == model
        documents.put(3, ["nu"])
        writer.commit()
        model |= documents.model
    assert search(collection) == model
    assert_at_rest(collection, 2)
    with pytest.raises(EngineError, match="No index of tenant 'a' waits for a swap"):
        swap(collection, "a", pace=PACE)


def test_an_abandoned_rebuild_leaves_the_old_index(collection: Collection) -> None:
    model = filled(collection)
    report = rebuild(collection, "a", swap=False, pace=PACE)
    assert abandon(collection, "a", pace=PACE) == (report.new,)
    assert abandon(collection, "a", pace=PACE) == ()
    assert search(collection) == model
    assert_at_rest(collection, 1)


def test_a_drift_above_the_bound_is_refused_and_below_it_taken(collection: Collection) -> None:
    with writing(collection, "stems") as (writer, documents):
        for number in range(20):
            documents.put(number, [f"universities organized {number}"])
        writer.commit()
    # "university" meets its plural by the stem only: 20 hits before, none after.
    expressions = ["university", "universities", "title:stems", '"organized 7"']
    with pytest.raises(DriftError, match=r"drifts by 0\.2500, more than 0\.2: 1 of 4") as caught:
        rebuild(
            collection,
            "a",
            analysis="standard",
            expressions=expressions,
            max_drift=0.2,
            pace=PACE,
        )
    (changed,) = caught.value.replayed
    assert (changed.expression, changed.old_hits, changed.new_hits) == ("university", 20, 0)
    assert (len(changed.old_first), changed.new_first) == (10, ())
    assert_at_rest(collection, 1)
    report = rebuild(
        collection, "a", analysis="standard", expressions=expressions, max_drift=0.25, pace=PACE
    )
    assert report.drift == 0.25
    assert [each.expression for each in report.changed] == ["university"]
    assert_at_rest(collection, 3)


def test_a_swap_that_drifts_leaves_the_filled_index_waiting(collection: Collection) -> None:
    with writing(collection, "stems") as (writer, documents):
        documents.put(1, ["universities"])
        writer.commit()
    rebuild(collection, "a", analysis="standard", swap=False, pace=PACE)
    with pytest.raises(DriftError):
        swap(collection, "a", expressions=["university"], pace=PACE)
    assert roles(collection) == [(1, "serving"), (2, "beside")]
    assert not any(each.blocked for each in collection.indices("a"))
    assert swap(collection, "a", expressions=["university"], max_drift=1, pace=PACE).is_swapped
    assert_at_rest(collection, 2)


def test_a_shared_group_is_rebuilt_with_all_its_tenants(cluster: Cluster, prefix: str) -> None:
    together = Collection(cluster, Names(prefix, shared=True))
    together.create(shards=1, replicas=0)
    with ElasticWriter(cluster, together.names) as writer:
        for tenant in ("a", "b"):
            Versioned(writer, "both", tenant).put(1, ["pi"])
        writer.commit()
    before = search(together)
    rebuild(together, "b", pace=PACE, keep_old=False)
    assert search(together) == before
    assert len(before) == 2


@pytest.mark.parametrize(
    ("prepare", "arguments", "said"),
    [
        (None, {"tenant": "nobody"}, "has no index that serves"),
        (None, {"shards": 0}, "1 to 1,024 shards, not 0"),
        (None, {"replicas": 99}, "0 to 32 replicas, not 99"),
        (None, {"max_drift": 1.5}, "The bound of the drift is 0 to 1, not 1.5"),
        (block_writes, {}, "refuses writes"),
    ],
)
def test_what_cannot_be_rebuilt_is_said_and_left_alone(
    collection: Collection,
    prepare: Callable[[Cluster, str], None] | None,
    arguments: dict[str, object],
    said: str,
) -> None:
    collection.ensure_tenant("a")
    if prepare is not None:
        prepare(collection.cluster, collection.indices("a")[0].name)
    wanted: dict[str, object] = {"tenant": "a", "pace": PACE} | arguments
    with pytest.raises(EngineError, match=said):
        rebuild(collection, **wanted)  # type: ignore[arg-type]
    assert roles(collection) == [(1, "serving")]


def test_an_index_that_does_not_become_green_is_given_up(collection: Collection) -> None:
    model = filled(collection)
    slow = Pace(green_seconds=0.0, stale_seconds=2.0)
    with pytest.raises(EngineError, match="and not green after 0 s; add nodes or rebuild with"):
        rebuild(collection, "a", replicas=32, pace=slow)
    assert search(collection) == model
    assert_at_rest(collection, 1)
