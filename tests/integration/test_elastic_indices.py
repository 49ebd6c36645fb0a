"""A collection on a real cluster: made once, by whoever comes first, listed, dropped."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.names import Names
from logicalrag.engines.errors import EngineError
from logicalrag.engines.metadata import MetadataSchema
from tests.integration.elastic_collections import cluster, collection, prefix

__all__ = ["cluster", "collection", "prefix"]

AWKWARD_TENANTS = ("default", "Ünïcode and spaces", "x", "*", "../etc", "a" * 500, "")


def test_the_same_description_again_changes_nothing(collection: Collection) -> None:
    collection.create(shards=2, replicas=1)
    found = Collection(collection.cluster, collection.names).description()
    assert (found.analysis, found.shards, found.replicas, found.shared) == ("english", 2, 1, False)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"analysis": "standard"}, "analysis"),
        ({"shards": 3}, "shards"),
        ({"replicas": 0}, "replicas"),
        ({"schema": MetadataSchema({"year": "number"})}, "fields"),
    ],
)
def test_another_description_is_an_error_that_names_the_difference(
    collection: Collection, change: dict[str, object], named: str
) -> None:
    wanted: dict[str, object] = {"shards": 2, "replicas": 1} | change
    with pytest.raises(EngineError, match=f"differs in {named} "):
        collection.create(**wanted)  # type: ignore[arg-type]


def test_tenants_kept_the_other_way_are_an_error(collection: Collection) -> None:
    together = Collection(collection.cluster, Names(collection.names.prefix, shared=True))
    with pytest.raises(EngineError, match="keeps tenants apart; set elastic_tenants to apart"):
        together.description()


@pytest.mark.parametrize(
    "call",
    [
        lambda it: it.description(),
        lambda it: it.ensure_tenant("a"),
        lambda it: it.has_tenant("a"),
        lambda it: list(it.tenants()),
        lambda it: it.indices("a"),
        lambda it: it.drop("a", force=True),
    ],
)
def test_without_a_collection_every_call_says_how_to_make_one(
    cluster: Cluster, prefix: str, call: Callable[[Collection], object]
) -> None:
    with pytest.raises(EngineError, match="make it with: logicalrag index create"):
        call(Collection(cluster, Names(prefix)))
    assert cluster.call("GET", f"/{prefix}-*", doing="a look") == {}


def test_a_catalog_without_its_description_is_completed(cluster: Cluster, prefix: str) -> None:
    names = Names(prefix)
    Collection(cluster, names).create()
    cluster.call("DELETE", f"/{names.catalog}/_doc/collection", doing="half a creation")
    with pytest.raises(EngineError, match="index create"):
        Collection(cluster, names).description()
    Collection(cluster, names).create()
    assert Collection(cluster, names).description().shards == 3


def test_a_catalog_of_another_format_is_refused(collection: Collection) -> None:
    path = f"/{collection.names.catalog}/_doc/collection"
    later = {"kind": "collection", "description": {"format": 2}}
    collection.cluster.call("PUT", path, later, doing="a later version")
    with pytest.raises(EngineError, match="is none that this version can read"):
        Collection(collection.cluster, collection.names).description()


def test_a_tenant_gets_an_index_behind_its_aliases(collection: Collection) -> None:
    assert not collection.has_tenant("a")
    assert collection.indices("a") == ()
    collection.ensure_tenant("a")
    collection.ensure_tenant("a")
    (index,) = collection.indices("a")
    group = f"{collection.names.prefix}-a"
    assert index.name == f"{group}-v000001"
    writing, reading = index.aliases
    assert (re.sub("[0-9]+$", "N", writing), reading) == (f"{group}-Write-N", f"{group}-read")
    assert (index.number, index.role, index.documents) == (1, "serving", 0)
    assert (index.shards, index.replicas, index.blocked) == (2, 1, False)
    assert collection.has_tenant("a")
    settings = collection.cluster.call("GET", f"/{index.name}", doing="a look")[index.name]
    assert settings["mappings"]["dynamic"] == "strict"
    assert settings["settings"]["index"]["refresh_interval"] == "-1"
    assert settings["settings"]["index"]["gc_deletes"] == "1h"


def test_awkward_tenants_are_kept_apart_and_listed(collection: Collection) -> None:
    for tenant in AWKWARD_TENANTS:
        collection.ensure_tenant(tenant)
    assert sorted(collection.tenants()) == sorted(AWKWARD_TENANTS)
    named = {index.name for tenant in AWKWARD_TENANTS for index in collection.indices(tenant)}
    assert len(named) == len(AWKWARD_TENANTS)


def test_a_tenant_of_half_a_character_is_refused(collection: Collection) -> None:
    with pytest.raises(EngineError, match="valid Unicode"):
        collection.ensure_tenant("a\ud800")


def test_together_all_tenants_share_one_group(cluster: Cluster, prefix: str) -> None:
    together = Collection(cluster, Names(prefix, shared=True))
    together.create(shards=1, replicas=0)
    together.ensure_tenant("a")
    assert together.has_tenant("b")
    together.ensure_tenant("b")
    assert together.indices("a") == together.indices("b")
    assert [index.name for index in together.indices("a")] == [f"{prefix}-x-shared-v000001"]
    assert list(together.tenants()) == ["shared"]


def test_of_many_that_make_a_tenant_at_once_one_does(collection: Collection) -> None:
    start = threading.Barrier(8)
    failures: list[Exception] = []

    def ensure() -> None:
        start.wait()
        try:
            Collection(collection.cluster, collection.names).ensure_tenant("a")
        except EngineError as error:
            failures.append(error)

    threads = [threading.Thread(target=ensure) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [index.number for index in collection.indices("a")] == [1]
    assert list(collection.tenants()) == ["a"]


def test_an_index_without_its_registration_is_registered(collection: Collection) -> None:
    collection.ensure_tenant("a")
    collection.catalog.forget("a")
    collection.ensure_tenant("a")
    assert collection.has_tenant("a")
    assert [index.number for index in collection.indices("a")] == [1]


def test_a_registered_tenant_whose_indices_are_gone_is_not_made_anew(
    collection: Collection,
) -> None:
    collection.ensure_tenant("a")
    collection.delete_index(collection.indices("a")[0].name)
    with pytest.raises(EngineError, match="indices of tenant 'a' are gone; restore them"):
        collection.ensure_tenant("a")
    assert collection.drop("a", force=True) == ()
    collection.ensure_tenant("a")
    assert [index.role for index in collection.indices("a")] == ["serving"]


def test_dropping_needs_force_for_what_is_searched(collection: Collection) -> None:
    collection.ensure_tenant("a")
    collection.ensure_tenant("b")
    (index,) = collection.indices("a")
    with pytest.raises(EngineError, match="add --force"):
        collection.drop("a")
    with pytest.raises(EngineError, match="add --force"):
        collection.drop("a", index.name)
    with pytest.raises(EngineError, match="has no index 'nope'; its indices: " + index.name):
        collection.drop("a", "nope")
    with pytest.raises(EngineError, match="There is no tenant 'c'"):
        collection.drop("c")
    assert collection.drop("a", force=True) == (index.name,)
    assert not collection.has_tenant("a")
    assert collection.indices("a") == ()
    assert len(collection.indices("b")) == 1


@pytest.mark.parametrize(("shards", "replicas"), [(0, 1), (1025, 1), (1, -1), (1, 33)])
def test_numbers_out_of_bounds_are_refused(
    cluster: Cluster, prefix: str, shards: int, replicas: int
) -> None:
    with pytest.raises(EngineError, match=r"An index has (1|0) to"):
        Collection(cluster, Names(prefix)).create(shards=shards, replicas=replicas)
