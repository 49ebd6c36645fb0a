"""What rebuild tests share: writing, what searches find, and that nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from logicalrag.engines.cluster.bulk import BulkSettings
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.writer import ElasticWriter
from tests.integration.elastic_passages import Model, Versioned, held
from tests.integration.elastic_rebuild_process import first


def search(collection: Collection) -> Model:
    """Return what searches of the tenant can find."""
    return held(collection.cluster, collection.names.read_alias("a"))


@contextmanager
def writing(collection: Collection, name: str) -> Iterator[tuple[ElasticWriter, Versioned]]:
    """Open a writer of small requests, and documents that it writes."""
    settings = BulkSettings(items=10, budget_seconds=60)
    with ElasticWriter(collection.cluster, collection.names, settings=settings) as writer:
        yield writer, Versioned(writer, name)


def filled(collection: Collection) -> Model:
    """Write some documents and return what is there."""
    with writing(collection, "before") as (writer, documents):
        first(documents)
        documents.remove(5)
        writer.commit()
        return documents.model


def assert_at_rest(collection: Collection, serving: int) -> None:
    """Check that nothing of a rebuild is left but old indices, and that writes are taken."""
    found = collection.indices("a")
    assert [each.number for each in found if each.role == "serving"] == [serving]
    assert {each.role for each in found} <= {"serving", "old"}
    aliases = [alias for each in found for alias in each.aliases]
    assert len(aliases) == 2
    assert "-Write-" in aliases[0]
    before = search(collection)
    with writing(collection, f"after-{uuid4()}") as (writer, documents):
        documents.put(1, ["zeta"])
        writer.commit()
        assert search(collection) == before | documents.model
        documents.remove(1)
        writer.commit()
