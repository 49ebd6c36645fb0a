"""What an engine and a writer that live on learn of what became of their index."""

from __future__ import annotations

import pytest

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import AbsentError
from logicalrag.engines.elastic.engine import ElasticEngine
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.own_source import OwnSource
from logicalrag.engines.elastic.targets import read_targets
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import Visibility
from logicalrag.query.nodes import Word
from tests.integration.elastic_collections import cluster, collection, prefix
from tests.integration.elastic_passages import passages_of

__all__ = ["cluster", "collection", "prefix"]

ASKER = Visibility("a")


def engine(collection: Collection) -> ElasticEngine:
    return ElasticEngine(collection.cluster, OwnSource(collection.cluster, collection))


def of_both_shards(cluster: Cluster, collection: Collection) -> tuple[list[str], list[str]]:
    """Return document ids of tenant ``a`` on each of its two shards."""
    collection.ensure_tenant("a")
    found: tuple[list[str], list[str]] = ([], [])
    for number in range(64):
        document = f"d{number}"
        told = cluster.call(
            "GET",
            f"/{collection.names.read_alias('a')}/_search_shards",
            doing="a test",
            parameters={"routing": document_key("a", document)},
        )
        found[told["shards"][0][0]["shard"]].append(document)
    return found


@pytest.mark.parametrize("at_once", [True, False])
def test_a_sequence_number_that_goes_from_one_shard_to_another(
    cluster: Cluster, collection: Collection, at_once: bool
) -> None:
    full, other = of_both_shards(cluster, collection)
    asked = engine(collection)
    with ElasticWriter(cluster, collection.names) as writer:
        for document in (*full[:3], other[0]):  # numbers 0 to 2, and 0
            writer.put(passages_of(document, ["x"]), replaces=0)
        first = writer.commit()
        assert asked.count([], ASKER).visible == 4
        writer.remove("a", full[1], claimed=1)
        if not at_once:
            writer.commit()
        writer.put(passages_of(other[1], ["x"], access=()), replaces=0)  # number 1 as well
        second = writer.commit()
    told = asked.search(Word(("x",)), ASKER)
    assert (told.count.hits, told.visible) == (3, 3)
    assert told.generation == second != first


def test_a_tenant_that_is_dropped_behind_a_writer_is_made_anew_after_its_rollback(
    cluster: Cluster, collection: Collection
) -> None:
    with ElasticWriter(cluster, collection.names) as writer:
        writer.put(passages_of("d", ["x"]), replaces=0)
        writer.commit()
        collection.drop("a", force=True)
        writer.put(passages_of("d", ["x"]), replaces=0)
        with pytest.raises(AbsentError):
            writer.commit()
        writer.rollback()
        writer.put(passages_of("d", ["x"]), replaces=0)
        writer.commit()
    assert engine(collection).count([Word(("x",))], ASKER).counts[0].hits == 1


def test_a_tenant_made_anew_has_another_epoch_so_that_old_writers_look_again(
    cluster: Cluster, collection: Collection
) -> None:
    with ElasticWriter(cluster, collection.names) as writer:
        writer.put(passages_of("d", ["x"]), replaces=0)
        writer.commit()
        first = read_targets(cluster, collection.names, "a")
        collection.drop("a", force=True)
        collection.ensure_tenant("a")
        second = read_targets(cluster, collection.names, "a")
        assert (second.current.index, second.epoch != first.epoch) == (first.current.index, True)
        writer.put(passages_of("d", ["x y"]), replaces=0)
        writer.commit()
    assert engine(collection).count([Word(("y",))], ASKER).counts[0].hits == 1
