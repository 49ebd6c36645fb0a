"""Any interleaving of writers that stop or stand still at any step ends as the newest versions.

The model: of each document the content of its highest version, and nothing else; for each tenant
what its own operations alone would have left.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.batching import Bounds
from ingest.chunking import ChunkSettings
from ingest.commits import Checkpoint
from ingest.deletion import Deletion, delete
from ingest.documents import SourceDocument
from ingest.elastic_ledger import ElasticLedger
from ingest.ledger import Record
from ingest.pipeline import IngestSettings, ingest
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.identity import document_key, passage_id
from logicalrag.engines.protocol import IndexWriter, Visibility
from logicalrag.engines.reference import ReferenceEngine
from tests.integration.stepped_writers import SteppedRun, SteppedWriter
from tests.servers.elasticsearch_server import Server

TENANTS, NAMES = ("one", "two"), ("a", "b")
CHUNKING = ChunkSettings(size=3)
BATCHES = [Bounds(1, 100, 10_000, 60), Bounds(2, 100, 10_000, 60), Bounds(9, 100, 10_000, 60)]
MakeWriter = Callable[[Cluster, Names, Checkpoint], IndexWriter]


class Operation(NamedTuple):
    """A put of `sentences` sentences, or with none a deletion, at a version."""

    tenant: str
    name: str
    version: int
    sentences: int

    @property
    def text(self) -> str:
        """The text; of two operations never the same."""
        return "".join(
            f"Here {self.tenant} {self.name}{self.version}-{number}. "
            for number in range(self.sentences)
        )


@st.composite
def jobs(draw: st.DrawFn) -> list[list[Operation]]:
    """Return what each of two or three writers is to do; a version is one content, as it must."""
    versions = [
        Operation(tenant, name, version, draw(st.integers(0, 5)))
        for tenant in TENANTS
        for name in NAMES
        for version in range(1, draw(st.integers(2, 4)) + 1)
    ]
    any_of_them = st.lists(st.sampled_from(versions), min_size=1, max_size=6)
    return draw(st.lists(any_of_them, min_size=2, max_size=3))


# Which writer goes on, and where one is stopped (+100) or left standing until all is over (+200).
SCHEDULES = st.lists(
    st.integers(0, 2) | st.integers(0, 2) | st.sampled_from([100, 101, 102, 200, 201]),
    min_size=20,
    max_size=120,
)


def _settings(claims: Bounds, commits: Bounds) -> IngestSettings:
    return IngestSettings(chunking=CHUNKING, claim_bounds=claims, commit_bounds=commits)


def _carry_out(
    operations: Sequence[Operation],
    writer: IndexWriter,
    ledger: ElasticLedger | SqliteLedger,
    chosen: IngestSettings,
    checkpoint: Checkpoint,
) -> None:
    for deletes, some in itertools.groupby(operations, lambda each: not each.sentences):
        if deletes:
            gone = [Deletion(each.name, each.tenant, each.version) for each in some]
            bounds = chosen.commit_bounds
            delete(gone, writer, ledger, commit_bounds=bounds, checkpoint=checkpoint)
        else:
            documents = [
                SourceDocument(each.name, "", each.text, tenant=each.tenant, version=each.version)
                for each in some
            ]
            ingest(documents, writer, ledger, chosen, checkpoint=checkpoint)


def _alone(operations: Sequence[Operation]) -> tuple[set[tuple[str, str, int, str]], list[Record]]:
    """Return the passages and records that the newest of these leave, done alone."""
    newest: dict[tuple[str, str], Operation] = {}
    for each in operations:
        place = each.tenant, each.name
        newest[place] = max(newest.get(place, each), each, key=lambda one: one.version)
    engine = ReferenceEngine()
    with tempfile.TemporaryDirectory() as folder, SqliteLedger(Path(folder) / "l") as ledger:
        chosen = _settings(BATCHES[2], BATCHES[2])
        _carry_out(list(newest.values()), engine, ledger, chosen, lambda _: None)
        passages = {
            (each.tenant, each.document_id, each.number, each.text)
            for tenant, name in itertools.product(TENANTS, NAMES)
            for each in engine.read(
                [passage_id(tenant, name, number) for number in range(20)], Visibility(tenant)
            )
        }
        return passages, [record for record, _ in ledger.records()]


class Deployment:
    """An index and a ledger of their own."""

    def __init__(self, server: Server, shared: bool) -> None:
        self.cluster = Cluster(Address(server.urls))
        self.names = Names(f"il{secrets.token_hex(4)}", shared)

    def __enter__(self) -> Deployment:
        Collection(self.cluster, self.names).create(shards=2, replicas=0)
        self.ledger().create()
        return self

    def __exit__(self, *_: object) -> None:
        found = self.cluster.call("GET", f"/{self.names.prefix}-*/_alias", doing="a test")
        self.cluster.call("DELETE", "/" + ",".join(found), doing="a test")
        self.cluster.close()

    def ledger(self, checkpoint: Checkpoint = lambda _: None) -> ElasticLedger:
        """Return the ledger, opened once more."""
        return ElasticLedger(self.cluster, self.names.ledger, replicas=0, checkpoint=checkpoint)

    def held(self) -> set[tuple[str, str, int, str]]:
        """Return all passages there are, whether committed or not."""
        index = f"{self.names.prefix}-*-read"
        self.cluster.call("POST", f"/{index}/_refresh", doing="a test")
        found = self.cluster.call("POST", f"/{index}/_search", {"size": 1000}, doing="a test")
        passages = [hit["_source"]["passage"] for hit in found["hits"]["hits"]]
        assert found["hits"]["total"]["value"] == len(passages)
        return {(p["tenant"], p["document_id"], p["number"], p["text"]) for p in passages}


def _as_records(records: Sequence[Record]) -> list[Record]:
    return sorted(each._replace(claimed=0) for each in records)


@contextlib.contextmanager
def _all_ended(runs: Sequence[SteppedRun]) -> Iterator[None]:
    try:
        yield
    finally:
        for run in runs:
            with contextlib.suppress(Exception):
                run.stop()


def _check(
    server: Server,
    make_writer: MakeWriter,
    work: list[list[Operation]],
    schedule: list[int],
    claims: Bounds,
    commits: Bounds,
    shared: bool,
) -> None:
    with Deployment(server, shared) as deployment:
        chosen = _settings(claims, commits)

        def run(operations: Sequence[Operation], checkpoint: Checkpoint) -> None:
            with contextlib.closing(
                make_writer(deployment.cluster, deployment.names, checkpoint)
            ) as writer:
                ledger = deployment.ledger(checkpoint)
                _carry_out(operations, writer, ledger, chosen, checkpoint)

        runs = [
            SteppedRun(lambda checkpoint, each=each: run(each, checkpoint))  # type: ignore[misc]
            for each in work
        ]
        with _all_ended(runs):
            standing: set[int] = set()
            for turn in schedule:
                what, number = divmod(turn, 100)
                number %= len(runs)
                if what == 1:
                    runs[number].stop()
                elif what == 2:
                    standing.add(number)
                elif number not in standing:
                    runs[number].step()
            for number, each in enumerate(runs):
                if number not in standing:
                    each.carry_on()
            # Whatever was not finished is sent again, and only then who stood still goes on.
            everything = [operation for each in work for operation in each]
            run(everything, lambda _: None)
            for each in runs:
                each.carry_on()
        passages, records = _alone(everything)
        assert deployment.held() == passages
        ledger = deployment.ledger()
        assert list(ledger.pending()) == []
        assert _as_records([each for each, _ in ledger.records()]) == _as_records(records)
        keys = [document_key(tenant, name) for tenant in TENANTS for name in NAMES]
        for record in ledger.look_up(keys).values():
            assert record.claimed >= record.passages


def _real_writer(cluster: Cluster, names: Names, _: Checkpoint) -> IndexWriter:
    return ElasticWriter(cluster, names)


_drawn = given(
    work=jobs(),
    schedule=SCHEDULES,
    claims=st.sampled_from(BATCHES),
    commits=st.sampled_from(BATCHES),
    shared=st.booleans(),
)
_slow = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@_drawn
@settings(_slow, max_examples=8)
def test_writers_that_may_stop_between_any_two_passages(
    elasticsearch: Server,
    work: list[list[Operation]],
    schedule: list[int],
    claims: Bounds,
    commits: Bounds,
    shared: bool,
) -> None:
    _check(elasticsearch, SteppedWriter, work, schedule, claims, commits, shared)


@_drawn
@settings(_slow, max_examples=4)
def test_writers_that_send_in_the_background(
    elasticsearch: Server,
    work: list[list[Operation]],
    schedule: list[int],
    claims: Bounds,
    commits: Bounds,
    shared: bool,
) -> None:
    _check(elasticsearch, _real_writer, work, schedule, claims, commits, shared)
