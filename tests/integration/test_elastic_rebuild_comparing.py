"""What two indices do not hold alike, against dictionaries."""

from __future__ import annotations

import random

import orjson
import pytest

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.elastic import comparing
from logicalrag.engines.elastic.comparing import differences
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.errors import EngineError
from tests.integration.elastic_collections import cluster, collection, prefix
from tests.integration.elastic_passages import passages_of

__all__ = ["cluster", "collection", "prefix"]

Versions = dict[str, int]


def index_of(collection: Collection, name: str, versions: Versions, shards: int) -> str:
    """Make an index of the passages that `versions` names by document, and return its name."""
    index, layout = f"{collection.names.prefix}-{name}", Layout()
    collection.make_index(index, layout, {"number_of_shards": shards, "number_of_replicas": 0})
    lines = []
    for document, version in versions.items():
        (passage,) = passages_of(document, ["word"])
        head = {"_id": passage.id, "version": version, "version_type": "external"}
        lines += [orjson.dumps({"index": {**head, "routing": document}}), layout.encoded(passage)]
    collection.cluster.call(
        "POST",
        f"/{index}/_bulk",
        b"\n".join([*lines, b""]),
        doing="a test",
        lines=True,
        parameters={"refresh": "true"},
    )
    return index


def id_of(document: str) -> str:
    return passages_of(document, ["word"])[0].id


@pytest.mark.parametrize("listed", [1, 5, 10_000])
def test_differences_are_those_of_the_dictionaries(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    monkeypatch.setattr(comparing, "_LISTED", listed)
    choose = random.Random(listed)  # noqa: S311 - draws content
    # Random amounts: what cancels out within a share is not seen.
    old = {f"d{number}": choose.randrange(10**6, 10**7) for number in range(600)}
    new = dict(old)
    for document in choose.sample(sorted(old), 40):
        change = choose.choice(["drop", "older", "newer"])
        if change == "drop":
            del new[document]
        else:
            amount = choose.randrange(1, 10**6)
            new[document] += amount if change == "newer" else -amount
    new |= {f"e{number}": 2 for number in range(15)}
    found = differences(
        collection.cluster,
        index_of(collection, "old", old, 2),
        index_of(collection, "new", new, 3),
    )
    missing = [each for each in old if new.get(each, -1) < old[each]]
    ahead = [each for each in old if new.get(each, -1) > old[each]]
    extra = [(id_of(each), each, new[each]) for each in new if each not in old]
    assert sorted(found.missing) == sorted(map(id_of, missing))
    assert sorted(found.ahead) == sorted(map(id_of, ahead))
    assert sorted(found.extra) == sorted(extra)
    assert len(found) == len(missing) + len(ahead) + len(extra) > 50


def test_too_many_differences_are_given_up(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "MAX_DIFFERENCES", 3)
    old = index_of(collection, "old", {f"d{number}": 1 for number in range(4)}, 1)
    new = index_of(collection, "new", {"other": 1}, 1)
    with pytest.raises(EngineError, match="differ in more than 3 passages"):
        differences(collection.cluster, old, new)


def test_equal_indices_have_no_differences(cluster: Cluster, collection: Collection) -> None:
    versions = {f"d{number}": number for number in range(1, 300)}
    old = index_of(collection, "old", versions, 1)
    new = index_of(collection, "new", versions, 3)
    assert not differences(cluster, old, new)
