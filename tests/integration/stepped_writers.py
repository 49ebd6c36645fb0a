"""Writers that are carried on step by step, and may be stopped or left standing at any of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from ingest.commits import Checkpoint
from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.actions import encoded_passages, puts, removals
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.targets import Target, read_targets
from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import Passage, Refusal

DONE = ("created", "updated", "deleted", "not_found")


class StoppedError(BaseException):
    """A killed process."""


class SteppedRun:
    """A job that stands still at each of its checkpoints; only while `step` runs does it.

    Args:
        job: calls what it is given before and after every write.
    """

    def __init__(self, job: Callable[[Checkpoint], None]) -> None:
        self._job = job
        self._go, self._stands = threading.Semaphore(0), threading.Semaphore(0)
        self._is_stopped = False
        self._error: BaseException | None = None
        self.finished = False
        threading.Thread(target=self._run, daemon=True).start()

    def step(self) -> None:
        """Carry it on to its next checkpoint or its end."""
        if self.finished:
            return
        self._go.release()
        self._stands.acquire()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End it where it stands."""
        self._is_stopped = True
        self.carry_on()

    def carry_on(self) -> None:
        """Carry it on to its end."""
        while not self.finished:
            self.step()

    def _checkpoint(self, _: str) -> None:
        self._stands.release()
        self._go.acquire()
        if self._is_stopped:
            raise StoppedError

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._is_stopped:
                self._job(self._checkpoint)
        except StoppedError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by `step`
            self._error = error
        finally:
            self.finished = True
            self._stands.release()


class SteppedWriter:
    """An `IndexWriter` that does what `ElasticWriter` does, one action after the other."""

    def __init__(self, cluster: Cluster, names: Names, checkpoint: Checkpoint) -> None:
        self._cluster, self._names, self._checkpoint = cluster, names, checkpoint
        self._tenants: set[str] = set()

    def put(self, passages: Sequence[Passage], *, replaces: int, version: int = 0) -> None:
        """See `IndexWriter.put`."""
        tenant, document_id = passages[0].tenant, passages[0].document_id
        target = self._target(tenant)
        key = document_key(tenant, document_id)
        sources = encoded_passages(target.layout, passages)
        ids = [each.id for each in passages]
        gone = range(len(passages), replaces)
        self._send(puts(target.alias, key, version, ids, sources))
        self._send(removals(target.alias, key, version, tenant, document_id, gone))

    def remove(self, tenant: str, document_id: str, *, claimed: int, version: int = 0) -> None:
        """See `IndexWriter.remove`."""
        alias, key = self._target(tenant).alias, document_key(tenant, document_id)
        self._send(removals(alias, key, version, tenant, document_id, range(claimed)))

    def commit(self) -> str:
        """See `IndexWriter.commit`."""
        for tenant in self._tenants:
            path = f"/{self._names.read_alias(tenant)}/_refresh"
            self._cluster.call("POST", path, doing="a test")
        return ""

    def refused(self) -> tuple[Refusal, ...]:
        """See `IndexWriter.refused`."""
        return ()

    def rollback(self) -> None:
        """See `IndexWriter.rollback`."""

    def close(self) -> None:
        """See `IndexWriter.close`."""

    def _target(self, tenant: str) -> Target:
        if tenant not in self._tenants:
            Collection(self._cluster, self._names).ensure_tenant(tenant)
            self._tenants.add(tenant)
        return read_targets(self._cluster, self._names, tenant).current

    def _send(self, actions: Iterable[bytes]) -> None:
        for action in actions:
            self._checkpoint("passage: before")
            answer = self._cluster.call("POST", "/_bulk", action, doing="a test", lines=True)
            [item] = answer["items"]
            [done] = item.values()
            # 409: older than what is stored, which stays.
            assert done["status"] == 409 or done["result"] in DONE
