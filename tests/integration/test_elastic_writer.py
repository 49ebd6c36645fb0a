"""The writer on a real cluster: versions, tenants, rebuilds beside it, blocks and lost aliases."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

import pytest

from logicalrag.engines.cluster.bulk import BulkSettings
from logicalrag.engines.cluster.connection import Address, Body, Cluster, Method
from logicalrag.engines.cluster.errors import AbsentError, BlockedError, ShardsFailedError
from logicalrag.engines.elastic.aliases import Aliases
from logicalrag.engines.elastic.fields import EMPTY
from logicalrag.engines.elastic.indices import Collection
from logicalrag.engines.elastic.layout import Layout
from logicalrag.engines.elastic.names import Names, index_name, next_alias, write_alias
from logicalrag.engines.elastic.targets import read_targets
from logicalrag.engines.elastic.writer import ElasticWriter
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import passage_id
from logicalrag.engines.metadata import MetadataError, MetadataSchema
from logicalrag.engines.protocol import Passage, Refusal
from tests.servers.elasticsearch import Cluster as SecuredServer
from tests.servers.elasticsearch_server import Server
from tests.source_tree import ROOT

ROLES = ROOT / "deploy" / "elasticsearch" / "roles"
QUICK = BulkSettings(budget_seconds=0.0, least_wait=0.01, most_wait=0.01)
PATIENT = BulkSettings(budget_seconds=60.0, least_wait=0.01, most_wait=0.01)
Hook = Callable[[str, str], tuple[int, Any] | None]


class HookedCluster(Cluster):
    """Tells a test of each request before it is sent, and takes the test's answer if it has one."""

    hook: Hook | None = None

    def send(
        self,
        method: Method,
        path: str,
        body: Body = None,
        *,
        parameters: Mapping[str, str] | None = None,
        lines: bool = False,
        seconds: float | None = None,
    ) -> tuple[int, Any]:
        """Ask the hook first; what it sends itself it does not hear of."""
        hook, self.hook = self.hook, None
        answer = None if hook is None else hook(method, path)
        self.hook = hook
        if answer is not None:
            return answer
        return super().send(method, path, body, parameters=parameters, lines=lines, seconds=seconds)


@pytest.fixture
def cluster(elasticsearch: Server) -> Iterator[HookedCluster]:
    with HookedCluster(Address(elasticsearch.urls, attempts=3), sleep=lambda _: None) as connected:
        yield connected


@pytest.fixture
def prefix(elasticsearch: Server) -> Iterator[str]:
    name = f"t{uuid4().hex[:10]}"
    yield name
    for index in elasticsearch.request("GET", f"/{name}-*").body:
        elasticsearch.request("DELETE", f"/{index}")


@pytest.fixture
def prefix_of_secured(secured_elasticsearch: SecuredServer) -> Iterator[str]:
    name = f"t{uuid4().hex[:10]}"
    yield name
    for index in secured_elasticsearch.request("GET", f"/{name}-*").body:
        secured_elasticsearch.request("DELETE", f"/{index}")


@pytest.fixture
def names(cluster: Cluster, prefix: str) -> Names:
    made = Names(prefix)
    Collection(cluster, made).create(shards=1, replicas=0)
    return made


def passages(document_id: str, *texts: str, tenant: str = "default") -> list[Passage]:
    return [
        Passage(
            passage_id(tenant, document_id, number),
            document_id,
            number,
            "Title",
            text,
            0,
            len(text),
            tenant,
        )
        for number, text in enumerate(texts)
    ]


def held(cluster: Cluster, index: str) -> dict[tuple[str, str, int], str]:
    """Return what is visible in an index: texts by tenant, document id and number."""
    answer = cluster.call("POST", f"/{index}/_search", {"size": 1000}, doing="a test")
    found = [hit["_source"]["passage"] for hit in answer["hits"]["hits"]]
    return {(each["tenant"], each["document_id"], each["number"]): each["text"] for each in found}


def texts(cluster: Cluster, names: Names, tenant: str = "default") -> dict[str, str]:
    """Return a tenant's visible texts by document id and number."""
    return {
        f"{document_id}{number}": text
        for (_, document_id, number), text in held(cluster, names.read_alias(tenant)).items()
    }


def indices(cluster: Cluster, names: Names) -> set[str]:
    return set(cluster.call("GET", f"/{names.prefix}-*", doing="a test"))


def writer(cluster: Cluster, names: Names, settings: BulkSettings | None = None) -> ElasticWriter:
    return ElasticWriter(cluster, names, settings=settings)


def rebuilding(cluster: Cluster, names: Names, layout: Layout) -> str:
    """Begin a rebuild of the default tenant: return the empty index that fills beside."""
    aliases = Aliases(cluster, names, "default")
    index = index_name(names.group("default"), 2)
    assert Collection(cluster, names).make_index(index, layout, {"number_of_replicas": 0})
    aliases.begin(aliases.group(), index)
    return index


class TestVersions:
    """Several writers at once: the newest version stays, whoever comes last."""

    def test_an_older_put_or_deletion_changes_nothing(self, cluster: Cluster, names: Names) -> None:
        with writer(cluster, names) as one, writer(cluster, names) as other:
            one.put(passages("d", "new", "new"), replaces=0, version=5)
            one.commit()
            other.put(passages("d", "old", "old", "old"), replaces=0, version=4)
            other.remove("default", "d", claimed=2, version=3)
            other.commit()
            assert other.refused() == ()
        assert texts(cluster, names) == {"d0": "new", "d1": "new", "d2": "old"}

    def test_a_deleted_document_is_not_resurrected(self, cluster: Cluster, names: Names) -> None:
        with writer(cluster, names) as one:
            one.put(passages("d", "first"), replaces=0, version=1)
            one.remove("default", "d", claimed=3, version=3)
            one.put(passages("d", "late", "late"), replaces=0, version=2)
            one.commit()
            assert texts(cluster, names) == {}
            one.put(passages("d", "again"), replaces=3, version=4)
            one.commit()
        assert texts(cluster, names) == {"d0": "again"}

    @pytest.mark.parametrize("version", [-1, 2**63])
    def test_a_version_that_no_index_takes(
        self, cluster: Cluster, names: Names, version: int
    ) -> None:
        with writer(cluster, names) as one:
            with pytest.raises(ValueError, match="a version is 0 to"):
                one.put(passages("d", "x"), replaces=0, version=version)
            with pytest.raises(ValueError, match="a version is 0 to"):
                one.remove("default", "d", claimed=1, version=version)
        assert indices(cluster, names) == {names.catalog}


@pytest.mark.parametrize("shared", [False, True])
def test_two_tenants_with_the_same_ids_never_meet(
    cluster: Cluster, prefix: str, shared: bool
) -> None:
    names = Names(prefix, shared=shared)
    Collection(cluster, names).create(shards=1, replicas=0)
    with writer(cluster, names) as one:
        for tenant in ("a", "b"):
            one.put(passages("d", tenant, tenant, tenant=tenant), replaces=0, version=1)
        first = one.commit()
        assert first.count("+") == (0 if shared else 1)
        assert one.commit() == first
        one.remove("a", "d", claimed=2, version=2)
        assert one.commit() != first
        both = held(cluster, names.read_alias("a")) | held(cluster, names.read_alias("b"))
        assert both == {("b", "d", 0): "b", ("b", "d", 1): "b"}


def test_what_an_index_refuses_is_told_and_the_others_are_stored(
    cluster: Cluster, prefix: str
) -> None:
    """Case 18: the second index of this size is narrower than what its fields promise."""
    names = Names(prefix)
    schema = MetadataSchema({"year": "number"})
    collection = Collection(cluster, names)
    collection.create(schema=schema, shards=1, replicas=0)
    mapping = Layout("english", schema).mapping()
    mapping["properties"]["metadata"]["properties"]["year"] = {"type": "byte"}
    group = names.group("default")
    body = {
        "mappings": mapping,
        "settings": {"number_of_replicas": 0},
        "aliases": {names.read_alias("default"): {}, write_alias(group, 1): {}},
    }
    cluster.call("PUT", f"/{index_name(group, 1)}", body, doing="a test")
    with writer(cluster, names) as one:
        for number in range(300):
            year = 1000.0 if number in (7, 250) else float(number % 100)
            (passage,) = passages(f"d{number}", "x")
            one.put([passage._replace(metadata={"year": (year,)})], replaces=0, version=1)
        one.commit()
        refused = one.refused()
        assert [each.document_id for each in refused] == ["d7", "d250"]
        assert all("failed to parse field [metadata.year]" in each.reason for each in refused)
        assert isinstance(refused[0], Refusal)
        assert "1000" not in refused[0].reason
        assert len(texts(cluster, names)) == 298
        one.put(passages("d7", "x"), replaces=0, version=2)
        one.commit()
        assert one.refused() == ()


class TestRefusedBeforeSent:
    """What `put` refuses, it refuses before anything is sent."""

    @pytest.mark.parametrize(
        ("bad", "words"),
        [
            (passages("d", "a", "b\ud800"), "passage 1 of document 'd' holds a lone surrogate"),
            (passages("d\udfff", "a"), "lone surrogate"),
            ([passages("d", "a")[0]._replace(title="\ud800")], "lone surrogate"),
            ([passages("d", "a")[0]._replace(id="x")], "identity.passage_id"),
            ([passages("d", "a")[0]._replace(id=passage_id("default", "e", 0))], "the id"),
            (passages("d", "a", tenant="\ud800"), "the tenant"),
        ],
    )
    def test_bad_passages(
        self, cluster: Cluster, names: Names, bad: list[Passage], words: str
    ) -> None:
        with writer(cluster, names) as one:
            with pytest.raises(ValueError, match=words):
                one.put(bad, replaces=0)
            one.put(passages("other", "x"), replaces=0)
            one.commit()
        assert texts(cluster, names) == {"other0": "x"}

    def test_a_field_that_is_not_declared(self, cluster: Cluster, names: Names) -> None:
        with writer(cluster, names) as one:
            with pytest.raises(MetadataError):
                one.put([passages("d", "a")[0]._replace(metadata={"x": ("y",)})], replaces=0)
            one.put(passages("other", "x"), replaces=0)
            one.commit()
        assert texts(cluster, names) == {"other0": "x"}


class TestGenerations:
    """What a commit returns where nothing was changed, and what fails it."""

    def test_without_changes(self, cluster: Cluster, names: Names) -> None:
        with writer(cluster, names) as one, writer(cluster, names) as other:
            assert one.commit() == EMPTY
            one.put(passages("d", "x"), replaces=0)
            first = one.commit()
            assert one.commit() == first
            assert other.commit() == first

    def test_a_refresh_that_fails_fails_the_commit_until_it_succeeds(
        self, cluster: HookedCluster, names: Names
    ) -> None:
        failing = {"_shards": {"total": 2, "successful": 1, "failed": 1}}

        def hook(_: str, path: str) -> tuple[int, Any] | None:
            return (200, failing) if path.endswith("/_refresh") else None

        with writer(cluster, names) as one:
            one.put(passages("d", "x"), replaces=0)
            cluster.hook = hook
            with pytest.raises(ShardsFailedError, match="1 of 2 shard copies"):
                one.commit()
            cluster.hook = None
            assert texts(cluster, names) == {}
            one.commit()
            assert texts(cluster, names) == {"d0": "x"}

    def test_a_closed_writer_says_so(self, cluster: Cluster, names: Names) -> None:
        one = writer(cluster, names)
        one.close()
        for use in (
            lambda: one.put(passages("d", "x"), replaces=0),
            lambda: one.remove("default", "d", claimed=1),
            one.commit,
            one.rollback,
        ):
            with pytest.raises(EngineError, match="closed"):
                use()


class TestBlocks:
    """Case 20 on a real index."""

    @staticmethod
    def block(cluster: Cluster, names: Names, kind: str, value: bool | None) -> None:
        path = f"/{names.group('default')}-v000001/_settings"
        cluster.call("PUT", path, {f"index.blocks.{kind}": value}, doing="a test")

    @pytest.mark.parametrize("kind", ["read_only_allow_delete", "write"])
    def test_for_good_it_is_an_error_and_the_documents_can_be_written_again(
        self, cluster: Cluster, names: Names, kind: str
    ) -> None:
        with writer(cluster, names, QUICK) as one:
            one.put(passages("before", "x"), replaces=0)
            one.commit()
            self.block(cluster, names, kind, True)
            one.put(passages("d", "x"), replaces=0)
            with pytest.raises(BlockedError, match="refused writes"):
                one.commit()
            with pytest.raises(BlockedError):
                one.commit()
            self.block(cluster, names, kind, None)
            one.rollback()
            one.put(passages("d", "x"), replaces=0)
            one.commit()
        assert texts(cluster, names) == {"before0": "x", "d0": "x"}

    def test_it_goes_on_when_the_block_is_lifted(
        self, cluster: HookedCluster, names: Names
    ) -> None:
        bulks = []

        def hook(_: str, path: str) -> None:
            if path == "/_bulk":
                bulks.append(path)
                if len(bulks) == 4:
                    self.block(cluster, names, "read_only_allow_delete", None)

        with writer(cluster, names, PATIENT) as one:
            one.put(passages("before", "x"), replaces=0)
            one.commit()
            self.block(cluster, names, "read_only_allow_delete", True)
            cluster.hook = hook
            one.put(passages("d", "x"), replaces=0)
            one.commit()
        assert len(bulks) == 4
        assert texts(cluster, names) == {"before0": "x", "d0": "x"}


class TestRebuilds:
    """Writes while an index is rebuilt beside the one that is searched."""

    @pytest.mark.parametrize("analysis", ["english", "standard"])
    def test_both_indices_are_written_then_only_the_new_one(
        self, cluster: Cluster, names: Names, analysis: Any
    ) -> None:
        old = index_name(names.group("default"), 1)
        with writer(cluster, names) as one:
            one.put(passages("a", "words"), replaces=0, version=1)
            one.put(passages("gone", "words"), replaces=0, version=1)
            one.commit()
            one.put(passages("b", "running words"), replaces=0, version=1)
            new = rebuilding(cluster, names, Layout(analysis))
            one.remove("default", "gone", claimed=1, version=2)
            one.put(passages("c", "running"), replaces=2, version=1)
            one.commit()
            cluster.call("POST", f"/{new}/_refresh", doing="a test")
            assert texts(cluster, names) == {"a0": "words", "b0": "running words", "c0": "running"}
            beside = {key[1]: text for key, text in held(cluster, new).items()}
            assert beside == {"b": "running words", "c": "running"}
            one.put(passages("c", "later"), replaces=1, version=2)
            one.put(passages("d", "last"), replaces=0, version=1)
            aliases = Aliases(cluster, names, "default")
            aliases.finish(aliases.group())
            one.put(passages("gone", "resurrected"), replaces=0, version=1)
            one.commit()
        now = {"b0": "running words", "c0": "later", "d0": "last"}
        assert texts(cluster, names) == now
        assert ("default", "d", 0) not in held(cluster, old)
        words = Layout(analysis).words["content"]
        query = {"query": {"term": {words: "run" if analysis == "english" else "running"}}}
        found = cluster.call("POST", f"/{new}/_search", query, doing="a test")
        assert found["hits"]["total"]["value"] == 1

    def test_one_that_is_cancelled_leaves_the_old_index_written(
        self, cluster: Cluster, names: Names
    ) -> None:
        with writer(cluster, names) as one:
            one.put(passages("a", "x"), replaces=0)
            one.commit()
            rebuilding(cluster, names, Layout())
            one.put(passages("b", "x"), replaces=0)
            one.commit()
            aliases = Aliases(cluster, names, "default")
            aliases.cancel(aliases.group())
            one.put(passages("c", "x"), replaces=0)
            one.remove("default", "a", claimed=1)
            one.commit()
        assert texts(cluster, names) == {"b0": "x", "c0": "x"}

    def test_a_document_that_the_next_index_has_no_field_for(
        self, cluster: Cluster, prefix: str
    ) -> None:
        names = Names(prefix)
        Collection(cluster, names).create(
            schema=MetadataSchema({"year": "number"}), shards=1, replicas=0
        )
        with writer(cluster, names) as one:
            one.put(passages("a", "x"), replaces=0)
            one.commit()
            (passage,) = passages("b", "x")
            one.put([passage._replace(metadata={"year": (1.0,)})], replaces=0)
            rebuilding(cluster, names, Layout())
            one.commit()
            (refused,) = one.refused()
        assert (refused.tenant, refused.document_id) == ("default", "b")
        assert "year" in refused.reason

    def test_the_targets_follow(self, cluster: Cluster, names: Names) -> None:
        with pytest.raises(AbsentError, match="no index that takes writes"):
            read_targets(cluster, names, "default")
        Collection(cluster, names).ensure_tenant("default")
        before = read_targets(cluster, names, "default")
        assert before.beside is None
        new = rebuilding(cluster, names, Layout("standard"))
        during = read_targets(cluster, names, "default")
        assert during.beside is not None
        assert during.epoch == before.epoch + 1
        assert during.current.index == before.current.index
        assert (during.beside.index, during.beside.layout) == (new, Layout("standard"))
        assert during.beside.alias == next_alias(names.group("default"), during.epoch)


class TestLostAliases:
    """Case 22: nothing is ever made by itself."""

    def test_neither_puts_nor_deletions_make_an_index(self, cluster: Cluster, names: Names) -> None:
        with writer(cluster, names) as one:
            one.put(passages("a", "x", "y"), replaces=0, version=1)
            one.commit()
            cluster.call("DELETE", f"/{index_name(names.group('default'), 1)}", doing="a test")
            one.put(passages("a", "x"), replaces=2, version=2)
            one.remove("default", "b", claimed=2, version=2)
            with pytest.raises(AbsentError, match="no index that takes writes"):
                one.commit()
        assert indices(cluster, names) == {names.catalog}

    def test_a_writer_that_may_make_no_index_follows_as_well(
        self, secured_elasticsearch: SecuredServer, prefix_of_secured: str
    ) -> None:
        server, names = secured_elasticsearch, Names(prefix_of_secured)
        role = json.loads((ROLES / "writer.json").read_text())
        role["indices"][0]["names"] = [f"{names.prefix}-*"]
        assert server.request("PUT", f"/_security/role/{names.prefix}", role).status == 200
        user = {"password": secrets.token_urlsafe(), "roles": [names.prefix]}
        assert server.request("PUT", f"/_security/user/{names.prefix}", user).status == 200
        hosts, ca_file, superuser = server.urls, server.ca_file, server.credentials
        assert superuser is not None
        admin = Address(hosts, ca_file, user=superuser.user, password=superuser.password)
        ours = Address(hosts, ca_file, user=names.prefix, password=str(user["password"]))
        with Cluster(admin) as above, Cluster(ours) as cluster, writer(cluster, names) as one:
            Collection(above, names).create(shards=1, replicas=0)
            Collection(above, names).ensure_tenant("default")
            one.put(passages("a", "x", "y"), replaces=0, version=1)
            one.commit()
            aliases = Aliases(above, names, "default")
            for step in (
                lambda: rebuilding(above, names, Layout()),
                lambda: aliases.cancel(aliases.group()),
            ):
                step()
                one.remove("default", "a", claimed=2, version=2)
                one.put(passages("b", "x"), replaces=3, version=1)
                one.commit()
                assert one.refused() == ()
                assert texts(above, names) == {"b0": "x"}

    def test_an_alias_that_only_one_node_does_not_know_yet(
        self, cluster: HookedCluster, names: Names
    ) -> None:
        missing = {"type": "index_not_found_exception", "reason": "no such index"}
        left = [1, 1]

        def hook(_: str, path: str) -> tuple[int, Any] | None:
            if path != "/_bulk" or not left:
                return None
            left.pop()
            return 200, {"errors": True, "items": [{"index": {"status": 404, "error": missing}}]}

        cluster.hook = hook
        with writer(cluster, names) as one:
            one.put(passages("a", "x"), replaces=0)
            one.commit()
            assert texts(cluster, names) == {"a0": "x"}
            left += [1] * 100
            one.put(passages("b", "x"), replaces=0)
            with pytest.raises(EngineError, match="and refuses writes through it"):
                one.commit()
