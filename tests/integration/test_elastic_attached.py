"""An index that others made and fill, searched as it is on a real cluster."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from logicalrag.engines.cluster.connection import Address, Cluster
from logicalrag.engines.elastic.attached import AttachedSource
from logicalrag.engines.elastic.attached_check import remarks_on, verify
from logicalrag.engines.elastic.attached_map import FieldMap, MetadataField
from logicalrag.engines.elastic.engine import ElasticEngine
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import passage_id
from logicalrag.engines.metadata import Filter, MetadataSchema, Sort, parse_filter
from logicalrag.engines.protocol import NearWord, Passage, ValueCount, Visibility
from logicalrag.engines.reference import ReferenceEngine
from logicalrag.query.nodes import Node
from logicalrag.query.parser import parse
from tests.servers.elasticsearch_server import Server

EVERYONE = Visibility()
Filled = Callable[..., str]
KEYWORD = {"type": "keyword"}
STANDARD = {"type": "text"}
PROPERTIES = {
    "body": {
        "type": "text",
        "analyzer": "simple",
        "fields": {"exact": {"type": "text", "analyzer": "whitespace"}},
    },
    "headline": STANDARD,
    "key": KEYWORD,
    "article": KEYWORD,
    "chunk": {"type": "integer"},
    "customer": KEYWORD,
    "groups": {"type": "keyword", "ignore_above": 8},
    "page": {"type": "short"},
    "published": {"type": "date", "format": "yyyy/MM/dd HH:mm:ss.SSS||epoch_millis"},
    "kind": KEYWORD,
    "stars": {"type": "half_float"},
}
FULL = FieldMap(
    index="",
    content="body",
    title="headline",
    content_exact="body.exact",
    id="key",
    document="article",
    number="chunk",
    tenant="customer",
    access="groups",
    location="page",
    metadata={
        "published": MetadataField("published", "date"),
        "kind": MetadataField("kind", "keyword"),
        "stars": MetadataField("stars", "number"),
    },
)


def _passage(key: str, article: str, chunk: int, body: str, **others: Any) -> dict[str, Any]:
    held = {"key": key, "article": article, "chunk": chunk, "body": body, "customer": "acme"}
    return {**held, "headline": f"On {article}", "page": 10 + chunk, **others}


ARTICLES = [
    _passage("k1", "opera", 0, "Vivaldi wrote Ottone in villa", kind="music", stars=4,
             published="1713/05/17 10:00:00.500"),
    _passage("k2", "opera", 1, "It was given in Vicenza", groups=["staff"], kind="music",
             stars=2.5),
    _passage("k3", "opera", 2, "Vivaldi's second opera came later", groups=["board", "staff"]),
    _passage("k4", "chess", 0, "The board has sixty four squares", groups=[], kind="game", stars=4,
             published="2024/01/31 23:59:59.999"),
    _passage("k5", "chess", 1, "Vivaldi never played", groups=["x" * 9]),
    _passage("k6", "opera", 0, "Vivaldi of another customer", customer="other"),
]  # fmt: skip


@pytest.fixture(scope="module")
def cluster(elasticsearch: Server) -> Iterator[Cluster]:
    """Return a connection that gives up soon."""
    with Cluster(Address(elasticsearch.urls, attempts=2)) as connected:
        yield connected


@pytest.fixture(scope="module")
def filled(elasticsearch: Server) -> Iterator[Filled]:
    """Return what makes an index of somebody else, and fills it."""
    made: list[str] = []

    def fill(
        documents: Sequence[Mapping[str, Any]], properties: Mapping[str, Any], **settings: Any
    ) -> str:
        name = f"others-{secrets.token_hex(6)}"
        made.append(name)
        body = {
            "settings": {"number_of_shards": 3, "number_of_replicas": 1, **settings},
            "mappings": {"properties": properties},
        }
        assert elasticsearch.request("PUT", f"/{name}", body).status == 200
        add(elasticsearch, name, documents)
        return name

    yield fill
    for name in made:
        elasticsearch.request("DELETE", f"/{name}")


def add(server: Server, name: str, documents: Sequence[Mapping[str, Any]]) -> None:
    lines: list[Mapping[str, Any]] = []
    for each in documents:
        lines += ({"index": {}}, each)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    answer = server.request("POST", f"/{name}/_bulk?refresh=true", text)
    assert (answer.status, answer.body["errors"]) == (200, False), answer


def _tree(expression: str) -> Node:
    return parse(expression).tree


def _attached(cluster: Cluster, field_map: FieldMap) -> ElasticEngine:
    assert verify(cluster, field_map) == ()
    return ElasticEngine(cluster, AttachedSource(cluster, field_map))


@pytest.fixture(scope="module")
def articles(cluster: Cluster, filled: Filled) -> ElasticEngine:
    """Return an engine on the articles, with all roles mapped."""
    return _attached(cluster, replace(FULL, index=filled(ARTICLES, PROPERTIES)))


def _keys(engine: ElasticEngine, expression: str, who: Visibility, **more: Any) -> list[str]:
    found = engine.search(_tree(expression), who, limit=100, **more)
    assert found.count.hits == len(found.hits)
    return sorted(hit.passage.id for hit in found.hits)


def test_tenant_and_access_hold_in_search_count_read_and_near_words(
    articles: ElasticEngine,
) -> None:
    acme, staff = Visibility("acme"), Visibility("acme", frozenset({"staff"}))
    # Without groups, or an empty list: all of the tenant; a group too long to be indexed: nobody.
    assert _keys(articles, "vivaldi OR vicenza OR board", acme) == ["k1", "k4"]
    assert _keys(articles, "vivaldi OR vicenza OR board", staff) == ["k1", "k2", "k3", "k4"]
    assert _keys(articles, "vivaldi", Visibility("other")) == ["k6"]
    assert _keys(articles, "vivaldi", Visibility("nobody")) == []
    hidden = replace(staff, hidden_documents=frozenset({"opera"}))
    assert _keys(articles, "vivaldi OR board", hidden) == ["k4"]
    counted = articles.count([_tree("vivaldi"), _tree("NOT vivaldi")], staff)
    assert [each.hits for each in counted.counts] == [2, 2]
    assert counted.visible == 4
    assert [each.id for each in articles.read(["k2", "k6", "k1", "none"], acme)] == ["k1"]
    assert articles.nearest_words("villo", acme) == (NearWord("villa", 1),)
    assert articles.nearest_words("vicenzo", acme) == ()
    assert all(not hit.score for hit in articles.search(_tree("vivaldi"), staff).hits)


def test_passages_neighbours_and_documents(articles: ElasticEngine) -> None:
    staff = Visibility("acme", frozenset({"staff"}))
    (centre,) = articles.read(["k2"], staff)
    assert centre == Passage(
        "k2", "opera", 1, "On opera", "It was given in Vicenza", 0, 23, "acme", ("staff",), "11",
        {"kind": ("music",), "stars": (2.5,)},
    )  # fmt: skip
    around = articles.read(["k2"], staff, neighbours=1)
    assert [each.id for each in around] == ["k1", "k2", "k3"]
    found = articles.search(_tree("vivaldi OR board"), staff, documents=True)
    assert (found.count.hits, found.documents) == (3, 2)
    assert articles.documents_holding([_tree("vicenza"), _tree("villa")], staff) == 1
    assert articles.documents_holding([_tree("vicenza"), _tree("squares")], staff) == 0
    assert articles.stats(staff).documents == 2
    assert _keys(articles, "vivaldi", staff, within="opera") == ["k1", "k3"]


def test_words_and_quotes_follow_their_own_analyzers(articles: ElasticEngine) -> None:
    """`simple` splits at what is no letter and keeps none of the case; `whitespace` keeps all."""
    staff = Visibility("acme", frozenset({"staff"}))
    assert _keys(articles, "VIVALDI", staff) == ["k1", "k3"]
    assert _keys(articles, '"Vivaldi wrote Ottone"', staff) == ["k1"]
    assert _keys(articles, '"vivaldi wrote ottone"', staff) == []
    assert _keys(articles, "title:opera AND NOT content:opera", staff) == ["k1", "k2"]


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("kind = music", ["k1", "k2"]),
        ("kind != music", ["k3", "k4"]),
        ("stars >= 3", ["k1", "k4"]),
        ("published = 1713-05-17", ["k1"]),
        ("published = 1713-05-17T10:00:00Z", ["k1"]),
        ("published <= 2024-01-31", ["k1", "k4"]),
        ("published > 2024-01-31T23:59:59Z", []),
    ],
)
def test_filters_hold_on_fields_of_their_types(
    articles: ElasticEngine, written: str, keys: list[str]
) -> None:
    condition = parse_filter(written, FULL.schema)
    staff = Visibility("acme", frozenset({"staff"}))
    everything = "vivaldi OR NOT vivaldi"
    assert _keys(articles, everything, staff, filters=[condition]) == keys


def test_values_and_orders(articles: ElasticEngine) -> None:
    staff = Visibility("acme", frozenset({"staff"}))
    assert articles.values("kind", None, staff) == (ValueCount("music", 2), ValueCount("game", 1))
    assert articles.values("stars", None, staff) == (ValueCount(4.0, 2), ValueCount(2.5, 1))
    assert articles.values("published", None, staff) == (
        ValueCount("1713-05-17T10:00:00Z", 1),
        ValueCount("2024-01-31T23:59:59Z", 1),
    )
    ordered = articles.search(_tree("NOT none"), staff, sort=Sort("stars")).hits
    assert [hit.passage.id for hit in ordered] == ["k1", "k4", "k2", "k3"]


def test_an_empty_access_list_can_be_closed(cluster: Cluster, filled: Filled) -> None:
    closed = replace(FULL, index=filled(ARTICLES, PROPERTIES), without_access="nobody")
    engine = _attached(cluster, closed)
    assert _keys(engine, "NOT none", Visibility("acme", frozenset({"staff"}))) == ["k2", "k3"]
    assert _keys(engine, "NOT none", Visibility("acme")) == []


WORDS = "ant bee cat dog eel fox gnu hen ibis jay".split()


def _random_tree(drawn: random.Random, depth: int = 3) -> str:
    if depth == 0 or drawn.random() < 0.3:
        word = drawn.choice(WORDS)
        if drawn.random() < 0.2:
            word = f'"{word} {drawn.choice(WORDS)}"'
        return drawn.choice(["", "", "title:", "content:"]) + word
    operator = drawn.choice([" AND ", " OR "])
    parts = [_random_tree(drawn, depth - 1) for _ in range(drawn.randint(2, 3))]
    return ("NOT " if drawn.random() < 0.2 else "") + f"({operator.join(parts)})"


@pytest.mark.parametrize("analyzer", ["standard", "simple", "whitespace"])
def test_hits_are_the_reference_engine_s_where_the_words_are_plain(
    cluster: Cluster, filled: Filled, analyzer: str
) -> None:
    """Only lower-case ASCII words: on these all analyzers and the token rule agree."""
    drawn = random.Random(20_26)  # noqa: S311 - a sample, not a secret
    expected = ReferenceEngine(analysis="standard")
    documents: list[dict[str, str]] = []
    for number in range(60):
        title, text = (" ".join(drawn.choices(WORDS, k=size)) for size in (2, 8))
        documents.append({"key": f"d{number}", "headline": title, "body": text})
        identity = passage_id("default", f"d{number}", 0)
        passage = Passage(identity, f"d{number}", 0, title, text, 0, len(text))
        expected.put([passage], replaces=0)
    expected.commit()
    text_field = {"type": "text", "analyzer": analyzer}
    name = filled(documents, {"key": KEYWORD, "headline": text_field, "body": text_field})
    engine = _attached(cluster, FieldMap(name, "body", "headline", id="key"))
    assert engine.analysis == "standard"
    for _ in range(60):
        tree = _tree(_random_tree(drawn))
        ours = engine.search(tree, EVERYONE, limit=100, documents=True, clause_counts=True)
        theirs = expected.search(tree, EVERYONE, limit=100, documents=True, clause_counts=True)
        assert {hit.passage.document_id for hit in ours.hits} == {
            hit.passage.document_id for hit in theirs.hits
        }
        assert (ours.count, ours.documents, ours.visible) == (
            theirs.count, theirs.documents, theirs.visible,
        )  # fmt: skip
        assert ours.clause_counts == theirs.clause_counts
    trees = [_tree("ant"), _tree("bee")]
    assert engine.documents_holding(trees, EVERYONE) == expected.documents_holding(trees, EVERYONE)


def test_case_and_accents_are_found_as_written(cluster: Cluster, filled: Filled) -> None:
    name = filled([{"body": "Café in Paris"}, {"body": "cafe in paris"}], {"body": STANDARD})
    engine = _attached(cluster, FieldMap(name, "body"))
    assert (
        engine.count([_tree(each) for each in ("Café", "cafe", "PARIS")], EVERYONE).counts[0].hits
        == 2
    )  # as written, and as the token rule reads it
    counted = engine.count([_tree("cafe"), _tree("PARIS"), _tree('"café in paris"')], EVERYONE)
    assert [each.hits for each in counted.counts] == [1, 2, 2]
    kept = filled([{"body": "Café"}], {"body": {"type": "text", "analyzer": "whitespace"}})
    told = " ".join(remarks_on(cluster, FieldMap(kept, "body")))
    assert "body keeps capitals" in told
    assert "body keeps accents" in told


def test_equal_scores_come_in_one_order_on_every_copy(cluster: Cluster, filled: Filled) -> None:
    name = filled([{"body": "equal"} for _ in range(40)], {"body": STANDARD})
    field_map = FieldMap(name, "body")
    orders = {
        tuple(
            hit.passage.id
            for hit in ElasticEngine(
                cluster, AttachedSource(cluster, field_map), preference=f"copy{number}"
            )
            .search(_tree("NOT none"), EVERYONE, limit=40)
            .hits
        )
        for number in range(6)
    }
    assert len(orders) == 1


def test_without_a_tenant_field_only_the_owner_sees_it(cluster: Cluster, filled: Filled) -> None:
    name = filled([{"body": "Some text"}], {"body": STANDARD})
    engine = _attached(cluster, FieldMap(name, "body", owner="acme"))
    (hit,) = engine.search(_tree("text"), Visibility("acme")).hits
    assert hit.score > 0
    assert (hit.passage.tenant, hit.passage.document_id) == ("acme", hit.passage.id)
    assert engine.read([hit.passage.id, "", "bad\ud800"], Visibility("acme")) == (hit.passage,)
    other = engine.search(_tree("text"), EVERYONE, documents=True)
    assert (other.count.hits, other.visible, other.documents) == (0, 0, 0)
    assert engine.read([hit.passage.id], EVERYONE) == ()
    assert engine.nearest_words("texts", EVERYONE) == ()


def test_what_others_add_is_found_at_another_generation(
    cluster: Cluster, filled: Filled, elasticsearch: Server
) -> None:
    name = filled([{"body": "first"}], {"body": STANDARD})
    engine = _attached(cluster, FieldMap(name, "body"))
    before = engine.search(_tree("second"), EVERYONE)
    assert before.generation == engine.search(_tree("first"), EVERYONE).generation
    add(elasticsearch, name, [{"body": "second"}])
    after = engine.search(_tree("second"), EVERYONE)
    assert (before.count.hits, after.count.hits) == (0, 1)
    assert before.generation != after.generation


def test_an_alias_is_followed_to_the_indices_that_are_added(
    cluster: Cluster, filled: Filled, elasticsearch: Server
) -> None:
    """As a data stream does: a time, and a new index now and then."""
    properties = {"@timestamp": {"type": "date"}, "body": STANDARD}
    entry = {"@timestamp": "2026-01-01T00:00:00Z", "body": "text"}
    one, two = (filled([entry], properties) for _ in range(2))
    alias = f"alias-{secrets.token_hex(6)}"
    engine = ElasticEngine(cluster, AttachedSource(cluster, FieldMap(alias, "body")))
    for held, index in enumerate((one, two), start=1):
        added = [{"add": {"index": index, "alias": alias}}]
        assert elasticsearch.request("POST", "/_aliases", {"actions": added}).status == 200
        assert engine.count([_tree("text")], EVERYONE).counts[0].hits == held
    assert verify(cluster, FieldMap(alias, "body")) == ()


def test_an_index_that_is_gone_or_closed_is_an_error_and_never_empty(
    cluster: Cluster, filled: Filled, elasticsearch: Server
) -> None:
    field_map = FieldMap(filled([{"body": "text"}], {"body": STANDARD}), "body")
    engine = _attached(cluster, field_map)
    assert engine.search(_tree("text"), EVERYONE).count.hits == 1
    assert elasticsearch.request("POST", f"/{field_map.index}/_close").status == 200
    with pytest.raises(EngineError, match="clos"):
        engine.search(_tree("text"), EVERYONE)
    assert elasticsearch.request("DELETE", f"/{field_map.index}").status == 200
    for call in (
        lambda: engine.search(_tree("text"), EVERYONE),
        lambda: engine.count([_tree("none")], EVERYONE),
        lambda: engine.stats(EVERYONE),
        lambda: ElasticEngine(cluster, AttachedSource(cluster, field_map)).analysis,
    ):
        with pytest.raises(EngineError, match=field_map.index):
            call()
    assert verify(cluster, field_map) == (
        f"There is no index, alias or data stream {field_map.index}; name one that is.",
    )


def test_a_map_that_no_longer_fits_is_an_error(
    cluster: Cluster, filled: Filled, elasticsearch: Server
) -> None:
    one = filled([{"body": "text"}], {"body": STANDARD})
    two = filled([{"text": "text"}], {"text": STANDARD})
    alias = f"alias-{secrets.token_hex(6)}"
    first = [{"add": {"index": one, "alias": alias}}]
    assert elasticsearch.request("POST", "/_aliases", {"actions": first}).status == 200
    engine = _attached(cluster, FieldMap(alias, "body"))
    assert engine.search(_tree("text"), EVERYONE).count.hits == 1
    swap = [{"add": {"index": two, "alias": alias}}, {"remove": {"index": one, "alias": alias}}]
    assert elasticsearch.request("POST", "/_aliases", {"actions": swap}).status == 200
    with pytest.raises(EngineError, match="there is no field body for content"):
        engine.search(_tree("text"), EVERYONE)


def test_nothing_is_written_to_an_attached_index(
    cluster: Cluster, filled: Filled, elasticsearch: Server
) -> None:
    name = filled(ARTICLES, PROPERTIES)
    block = {"index.blocks.read_only": True}
    assert elasticsearch.request("PUT", f"/{name}/_settings", block).status == 200
    try:
        engine = _attached(cluster, replace(FULL, index=name))
        acme = Visibility("acme")
        assert engine.metadata_schema == MetadataSchema(
            {"published": "date", "kind": "keyword", "stars": "number"}
        )
        found = engine.search(
            _tree("vivaldi AND villa"),
            acme,
            documents=True,
            clause_counts=True,
            leave_one_out=True,
            filters=[Filter("kind", "=", ("music",))],
        )
        assert found.count.hits == 1
        assert engine.stats(acme).passages == 5
    finally:
        unblock = {"index.blocks.read_only": None}
        assert elasticsearch.request("PUT", f"/{name}/_settings", unblock).status == 200
