"""Writers during a rebuild, several, paused or killed: none of their changes is lost or revived."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest.chunking import ChunkSettings
from ingest.documents import SourceDocument
from ingest.pipeline import IngestSettings, ingest
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.rebuild import (
    rebuild,
)
from logicalrag.engines.elastic.writer import ElasticWriter
from tests.integration.elastic_collections import cluster, collection, prefix
from tests.integration.elastic_passages import Model, Versioned, held, passages_of
from tests.integration.elastic_rebuild_process import DOCUMENTS, PACE, first, second
from tests.integration.elastic_rebuilds import assert_at_rest, filled, search, writing

__all__ = ["cluster", "collection", "prefix"]

PROCESS = "tests.integration.elastic_rebuild_process"
_SECONDS = 120


def test_several_writers_lose_nothing_and_revive_nothing(collection: Collection) -> None:
    model = filled(collection)
    ended = threading.Event()
    failures: list[BaseException] = []
    models: list[Model] = []

    def write(seed: int) -> None:
        choose = random.Random(seed)  # noqa: S311 - draws operations
        try:
            with writing(collection, f"thread{seed}") as (writer, documents):
                while not ended.is_set():
                    for _ in range(choose.randrange(1, 40)):
                        number = choose.randrange(50)
                        if choose.random() < 0.3:
                            documents.remove(number)
                        else:
                            access = choose.choice([None, (), ("staff",)])
                            texts = ["word"] * choose.randrange(1, 6)
                            documents.put(number, texts, access)
                    writer.commit()
                writer.commit()
                models.append(documents.model)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    try:
        rebuild(collection, "a", pace=PACE)
        rebuild(collection, "a", shards=1, replicas=0, pace=PACE)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert failures == []
    for each in models:
        model |= each
    assert search(collection) == model
    assert_at_rest(collection, 3)


@contextmanager
def writer_process(collection: Collection, stop_at: int) -> Iterator[subprocess.Popen[str]]:
    """A process that has written `first`."""
    urls = ",".join(collection.cluster.address.hosts)
    command = [sys.executable, "-m", PROCESS, "write", collection.names.prefix, urls, str(stop_at)]
    with subprocess.Popen(  # noqa: S603 - this interpreter and a module of the tests
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert answer(process) == "first"
            yield process
        finally:
            process.kill()


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def start_until_stopped(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def resume(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGCONT)
    assert answer(process) == "second"


class Nothing(ElasticWriter):
    """A writer that keeps nothing: for the model alone."""

    def __init__(self) -> None:
        pass

    def put(self, *_: object, **__: object) -> None:
        """Keep nothing."""

    def remove(self, *_: object, **__: object) -> None:
        """Keep nothing."""


@pytest.mark.parametrize("stop_at", [2, 7])
@pytest.mark.parametrize(
    ("stop", "go_on"),
    [
        ("", "writing both"),
        ("", "completed"),
        ("writing both", "copied"),
        ("writing both", "completed"),
        ("copied", "completed"),
        ("completed", "ended"),
    ],
)
def test_a_writer_that_was_paused_amid_a_bulk_loses_and_revives_nothing(
    collection: Collection, stop: str, go_on: str, stop_at: int
) -> None:
    expected = Versioned(Nothing(), "process")
    first(expected)
    second(expected)
    with writer_process(collection, stop_at) as process:

        def checkpoint(step: str) -> None:
            if step == stop:
                start_until_stopped(process)
            if step == go_on:
                resume(process)

        checkpoint("")
        rebuild(collection, "a", pace=PACE, checkpoint=checkpoint)
        checkpoint("ended")
        assert process.wait(_SECONDS) == 0
    assert search(collection) == expected.model
    assert len(expected.model) < DOCUMENTS * 3
    assert_at_rest(collection, 2)


def test_what_a_killed_writer_brought_to_one_index_only_is_brought_in_line(
    collection: Collection,
) -> None:
    filled(collection)
    stray = passages_of("stray", ["word"])[0]

    def leave_half(step: str) -> None:
        if step != "copied":
            return
        old, new = collection.indices("a")
        assert old.layout is not None
        for index, passage in ((old.name, stray), (new.name, passages_of("other", ["word"])[0])):
            collection.cluster.call(
                "PUT",
                f"/{index}/_doc/{passage.id}",
                old.layout.source(passage),
                doing="half a write",
                parameters={"version": "3", "version_type": "external", "routing": "x"},
            )

    report = rebuild(collection, "a", pace=PACE, checkpoint=leave_half)
    assert report.repaired == 2
    found = search(collection)
    assert found[stray.id] == (3, stray)
    assert passages_of("other", ["word"])[0].id not in found


def test_a_write_during_the_swap_makes_no_index_by_itself(collection: Collection) -> None:
    filled(collection)
    with writing(collection, "during") as (writer, documents):
        documents.put(1, ["xi"] * 12)
        documents.remove(1)
        writer.commit()

        def change() -> None:
            documents.put(2, ["omicron"] * 12)
            documents.remove(1)
            writer.commit()

        writer_thread = threading.Thread(target=change)

        def write(step: str) -> None:
            if step == "at rest":
                # The aliases it knows vanish while its first attempts are refused.
                writer_thread.start()

        rebuild(collection, "a", pace=PACE, checkpoint=write)
        writer_thread.join(_SECONDS)
        assert not writer_thread.is_alive()
    found = search(collection)
    assert all(found[each] == passage for each, passage in documents.model.items())
    group = collection.names.group("a")
    there = collection.cluster.call("GET", f"/{group}*", doing="a look")
    assert sorted(there) == [f"{group}-v000001", f"{group}-v000002"]


def test_rechunking_during_a_rebuild_leaves_no_old_passage(
    collection: Collection, tmp_path: Path
) -> None:
    text = " ".join(f"Sentence number {number} speaks of otters." for number in range(40))
    documents = [SourceDocument(f"d{number}", f"Title {number}", text) for number in range(8)]
    small = IngestSettings(chunking=ChunkSettings(size=20))
    large = IngestSettings(chunking=ChunkSettings(size=200))
    with (
        SqliteLedger(tmp_path / "ledger.db") as ledger,
        ElasticWriter(collection.cluster, collection.names) as writer,
    ):

        def load(settings: IngestSettings) -> None:
            report = ingest(documents, writer=writer, ledger=ledger, settings=settings)
            assert report.failed == 0

        load(small)
        many = len(held(collection.cluster, collection.names.read_alias("default")))

        def rechunk(step: str) -> None:
            if step == "writing both":
                load(large)

        rebuild(collection, "default", pace=PACE, checkpoint=rechunk)
        found = held(collection.cluster, collection.names.read_alias("default"))
        assert len(found) == ledger.passages("default") < many
        for document in documents:
            parts = sorted(
                (passage for _, passage in found.values() if passage.document_id == document.id),
                key=lambda passage: passage.number,
            )
            assert "".join(part.text for part in parts) == text
