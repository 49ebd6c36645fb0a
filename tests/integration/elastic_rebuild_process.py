"""A process that writes or rebuilds, and stops or kills itself where it is told to.

``python -m tests.integration.elastic_rebuild_process write PREFIX URLS REQUEST`` writes `first`,
says so, waits for a line, and writes `second`, stopping itself before it sends that bulk request.
``… rebuild PREFIX URLS STEP NUMBER`` rebuilds and kills itself the NUMBERth time it reaches STEP.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from typing import Any

from logicalrag.engines.cluster.bulk import BulkSettings
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.rebuild import Pace, rebuild
from logicalrag.engines.elastic.writer import ElasticWriter
from tests.integration.elastic_passages import Versioned

DOCUMENTS = 60
PACE = Pace(stale_seconds=2.0, page=40, green_seconds=60.0)


def first(documents: Versioned) -> None:
    """Put the documents."""
    for number in range(DOCUMENTS):
        documents.put(number, [f"alpha {number}", f"beta {number}", "gamma"])


def second(documents: Versioned) -> None:
    """Remove some, shorten some, change the access of some, add some."""
    for number in range(DOCUMENTS + 20):
        if number % 3 == 0:
            documents.remove(number)
        elif number % 3 == 1:
            documents.put(number, [f"delta {number}"])
        else:
            documents.put(number, [f"alpha {number}", "epsilon"], access=("staff",))


class StoppingCluster(Cluster):
    """Stops the process before bulk request `stop_at`, counted from when `counted` was 0."""

    counted = 0
    stop_at = 0

    def send(self, method: Any, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        """Count, stop, send."""
        if path.endswith("_bulk"):
            self.counted += 1
            if self.counted == self.stop_at:
                os.kill(os.getpid(), signal.SIGSTOP)
        return super().send(method, path, body, **more)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _write(names: Names, hosts: tuple[str, ...], stop_at: int) -> None:
    cluster = StoppingCluster(Address(hosts))
    with cluster:
        settings = BulkSettings(items=10)
        with ElasticWriter(cluster, names, settings=settings) as writer:
            documents = Versioned(writer, "process")
            first(documents)
            writer.commit()
            _say("first")
            sys.stdin.readline()
            cluster.counted, cluster.stop_at = 0, stop_at
            second(documents)
            writer.commit()
            _say("second")


def _rebuild(names: Names, hosts: tuple[str, ...], step: str, number: int) -> None:
    reached: Counter[str] = Counter()

    def checkpoint(name: str) -> None:
        reached[name] += 1
        if name == step and reached[name] == number:
            os.kill(os.getpid(), signal.SIGKILL)

    with Cluster(Address(hosts)) as cluster:
        rebuild(Collection(cluster, names), "a", pace=PACE, checkpoint=checkpoint)


def main() -> None:
    """Do what the arguments say."""
    kind, prefix, urls, *rest = sys.argv[1:]
    names, hosts = Names(prefix), tuple(urls.split(","))
    if kind == "write":
        _write(names, hosts, int(rest[0]))
    else:
        _rebuild(names, hosts, rest[0], int(rest[1]))


if __name__ == "__main__":
    main()
