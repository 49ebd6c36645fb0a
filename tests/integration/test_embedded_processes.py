"""The embedded index and several processes: crashes, the writer's lock, readers that follow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.folder import DESCRIPTOR
from logicalrag.engines.embedded.lock import LOCK_FILE
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.errors import EngineError, IndexLockedError
from logicalrag.query.nodes import Word
from tests.integration.embedded_documents import EVERYONE, GUARD_SECONDS, document, store, texts

REPOSITORY = Path(__file__).resolve().parents[2]


class WriterProcess:
    """A writer in another process."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "tests.integration.embedded_writer_process", str(path)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.receive()

    def send(self, command: str) -> None:
        """Send a command without waiting for its answer."""
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def receive(self) -> str:
        """Return the next answer."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the writer's process ended"
        return line.rstrip("\n")

    def ask(self, command: str) -> str:
        """Send a command and return its answer."""
        self.send(command)
        return self.receive()

    def kill(self) -> None:
        """End the process at once, and wait until it is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@contextmanager
def writer_process(path: Path) -> Iterator[WriterProcess]:
    """Start a writer in another process and kill it in the end."""
    child = WriterProcess(path)
    try:
        yield child
    finally:
        child.kill()


class TestCrashes:
    """A killed writer loses what it had not committed, and nothing else."""

    def test_before_the_commit(self, tmp_path: Path) -> None:
        with writer_process(tmp_path) as child:
            child.ask("put one common one")
            generation = child.ask("commit")
            child.ask("put two common two")
            child.ask("put one common changed")
        with EmbeddedEngine(tmp_path) as engine:
            assert texts(engine, "common") == {"common one"}
            assert engine.stats(EVERYONE).generation == generation
        store(tmp_path, document("two", "common again"))
        with EmbeddedEngine(tmp_path) as engine:
            assert texts(engine, "common") == {"common one", "common again"}

    def test_after_the_commit(self, tmp_path: Path) -> None:
        with writer_process(tmp_path) as child:
            child.ask("put one common one")
            child.ask("put two common two")
            generation = child.ask("commit")
        with EmbeddedEngine(tmp_path) as engine:
            assert texts(engine, "common") == {"common one", "common two"}
            assert engine.stats(EVERYONE).generation == generation

    @pytest.mark.parametrize("commits", range(1, 6))
    def test_somewhere_in_a_commit(self, tmp_path: Path, commits: int) -> None:
        done: set[str] = set()
        with writer_process(tmp_path) as child:
            for number in range(commits):
                child.ask(f"put d{number} common {number}")
                done.add(f"common {number}")
                child.ask("commit")
            child.ask("put last common last")
            child.send("commit")
        with EmbeddedEngine(tmp_path) as engine:
            assert texts(engine, "common") in (done, done | {"common last"})
        with EmbeddedWriter(tmp_path) as writer:
            writer.put(document("last", "common last"), replaces=1)
            writer.commit()
        with EmbeddedEngine(tmp_path) as engine:
            assert texts(engine, "common") == done | {"common last"}
            assert engine.stats(EVERYONE).passages == commits + 1


class TestLock:
    """One writer to a folder, known by name."""

    def test_another_process_is_named(self, tmp_path: Path) -> None:
        with writer_process(tmp_path) as child:
            with pytest.raises(IndexLockedError) as caught:
                EmbeddedWriter(tmp_path, wait_seconds=0.1)
            assert f"process {child.process.pid} on " in caught.value.holder
            assert "embedded_writer_process" in caught.value.holder
            assert caught.value.holder in str(caught.value)
            assert caught.value.path == str(tmp_path / LOCK_FILE)
            assert caught.value.retryable
            child.kill()
            assert (tmp_path / LOCK_FILE).read_text()  # left behind, and harmless
            EmbeddedWriter(tmp_path).close()

    def test_this_process_is_named(self, tmp_path: Path) -> None:
        named = pytest.raises(IndexLockedError, match=f"process {os.getpid()} on ")
        with EmbeddedWriter(tmp_path), named:
            EmbeddedWriter(tmp_path)
        assert (tmp_path / LOCK_FILE).read_text() == ""

    def test_waiting_for_the_holder_to_end(self, tmp_path: Path) -> None:
        first = EmbeddedWriter(tmp_path)
        with ThreadPoolExecutor(1) as pool:
            second = pool.submit(EmbeddedWriter, tmp_path, wait_seconds=GUARD_SECONDS)
            first.close()
            second.result(GUARD_SECONDS).close()

    def test_a_failed_opening_leaves_no_lock(self, tmp_path: Path) -> None:
        (tmp_path / DESCRIPTOR).write_text("{")
        with pytest.raises(EngineError, match=r"index\.json is damaged"):
            EmbeddedWriter(tmp_path)
        (tmp_path / DESCRIPTOR).unlink()
        EmbeddedWriter(tmp_path).close()

    def test_a_closed_writer_refuses(self, tmp_path: Path) -> None:
        writer = EmbeddedWriter(tmp_path)
        writer.close()
        with pytest.raises(EngineError, match="closed"):
            writer.put(document("d", "x"), replaces=0)
        with pytest.raises(EngineError, match="closed"):
            writer.commit()

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(EngineError, match="cannot be written"):
            EmbeddedWriter(tmp_path / "file" / "index")


def test_a_reader_follows_a_writer_in_another_process(tmp_path: Path) -> None:
    with writer_process(tmp_path) as child, EmbeddedEngine(tmp_path) as engine:
        assert engine.search(Word(("common",)), EVERYONE).visible == 0
        for number in range(10):
            child.ask(f"put d{number % 7} common {number}")
            before = engine.search(Word(("common",)), EVERYONE)
            assert before.count.hits == min(number, 7)
            generation = child.ask("commit")
            after = engine.search(Word(("common",)), EVERYONE, limit=10)
            assert after.generation == generation
            assert after.count.hits == after.visible == len(after.hits) == min(number + 1, 7)
            assert f"common {number}" in {hit.passage.text for hit in after.hits}
