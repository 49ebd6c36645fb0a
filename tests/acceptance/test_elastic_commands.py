"""The commands on a real cluster: one collection from its first index to its last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Command
from tests.acceptance.elastic_commands import Collection, collection
from tests.servers.elasticsearch_server import Server

CORPUS = Path(__file__).parents[2] / "cli" / "demo" / "corpus.jsonl"
ARTICLES = 161
ANSWERED = "Which opera by Antonio Vivaldi has the catalogue number RV 725?"
UNANSWERABLE = "Who made the first ascent of Nanga Parbat?"


@pytest.fixture
def elastic(logicalrag: Command, elasticsearch: Server) -> Iterator[Collection]:
    with collection(logicalrag, elasticsearch) as ours:
        yield ours


@pytest.fixture
def filled(elastic: Collection) -> Collection:
    ran = elastic("ingest", str(CORPUS), "--json")
    assert (ran.code, ran.json["added"]) == (0, ARTICLES), ran.err
    return elastic


def indices_of(elastic: Collection) -> list[dict[str, Any]]:
    (listed,) = elastic("index", "list", "--json").json
    assert listed["tenant"] == "default"
    indices: list[dict[str, Any]] = listed["indices"]
    return indices


def test_a_collection_from_its_first_index_to_its_last(elastic: Collection, tmp_path: Path) -> None:
    made = elastic("index", "create", "--shards", "2", "--replicas", "1", "--json")
    assert made.code == 0, made.err
    (first,) = made.json["indices"]
    assert (first["role"], first["shards"], first["replicas"]) == ("serving", 2, 1)
    assert elastic("index", "create", "--shards", "2").code == 0, "the same again is fine"

    ran = elastic("ingest", str(CORPUS))
    assert ran.code == 0, ran.err
    assert f"{ARTICLES} added, 0 changed, 0 unchanged, 0 failed" in ran.out
    assert f"0 added, 0 changed, {ARTICLES} unchanged" in elastic("ingest", str(CORPUS)).out

    found = elastic("search", 'vivaldi AND "RV 725"', "--json").json
    assert (found["hits"], found["relation"]) == (1, "eq")
    answered = elastic("ask", ANSWERED, "--json")
    assert (answered.code, answered.json["outcome"]) == (0, "answered")
    assert "L'Olimpiade" in answered.json["answer"]
    assert answered.json["citations"]
    abstained = elastic("ask", UNANSWERABLE, "--json")
    assert (abstained.code, abstained.json["outcome"]) == (3, "abstained")
    assert abstained.json["certificate"]["pending"] == 0

    stats = elastic("stats", "--json").json
    assert (stats["documents"], stats["pending"]) == (ARTICLES, 0)
    assert stats["ledger"] == {"stored": ARTICLES}
    passages = stats["passages"]

    assert elastic("delete", "element-gallium").code == 0
    left = elastic("search", "gallium", "--json").json["results"]
    assert left
    assert "element-gallium" not in {each["document_id"] for each in left}
    assert elastic("why-not", "element-gallium", "gallium", "--json").json["state"] == "deleted"
    near = elastic("why-not", "vivaldi-griselda", "griselda AND london", "--json").json
    assert (near["state"], near["clauses"][1]["passages"]) == ("excluded", 0)

    assert [each["passages"] for each in indices_of(elastic)] == [passages - 1]

    rebuilt = elastic("index", "rebuild", "--shards", "1", "--no-swap", "--json")
    assert rebuilt.code == 0, rebuilt.err
    second = rebuilt.json["new"]
    assert (rebuilt.json["old"], rebuilt.json["swapped"]) == (first["name"], False)
    roles = {each["name"]: each["role"] for each in indices_of(elastic)}
    assert roles == {first["name"]: "serving", second: "beside"}
    assert elastic("ingest", str(CORPUS), "--json").json["added"] == 1, "the deleted one is back"

    (tmp_path / "asked.jsonl").write_text(answered.out + abstained.out)
    swapped = elastic("index", "swap", "--replay", "asked.jsonl", "--json")
    assert swapped.code == 0, swapped.err
    assert (swapped.json["new"], swapped.json["passages"]) == (second, passages)
    assert swapped.json["replayed"]
    assert swapped.json["drift"] == 0
    assert elastic("search", "gallium", "--json").json["hits"] == len(left) + 1
    assert elastic("stats", "--json").json["passages"] == passages
    old = elastic("index", "drop", first["name"], "--json")
    assert old.json["dropped"] == [first["name"]]
    assert [(each["name"], each["shards"]) for each in indices_of(elastic)] == [(second, 1)]

    assert elastic("index", "drop").code == 1, "what is searched is dropped by force only"
    dropped = elastic("index", "drop", "--force", "--json")
    assert (dropped.code, dropped.json["dropped"]) == (0, [second])
    assert elastic("search", "vivaldi", "--json").json["hits"] == 0
    again = elastic("ingest", str(CORPUS))
    assert f"{ARTICLES} added" in again.out, "what was known of the tenant went with it"


def test_the_first_ingest_makes_what_is_missing(elastic: Collection) -> None:
    assert elastic("search", "vivaldi").err.rstrip().endswith("logicalrag index create")
    assert elastic("ingest", str(CORPUS)).code == 0
    assert elastic("search", "vivaldi AND opera", "--json").json["hits"] > 1
    assert elastic("stats", "--tenant", "other", "--json").json["documents"] == 0


def test_options_do_what_the_environment_does(logicalrag: Command, elastic: Collection) -> None:
    options = ("--engine", "elastic", "--elastic-hosts", elastic.environment[
        "LOGICALRAG_ELASTIC_HOSTS"], "--elastic-index", elastic.prefix)  # fmt: skip
    secrets = {name: value for name, value in elastic.environment.items()
               if name.endswith(("USER", "PASSWORD", "CA_FILE"))}  # fmt: skip
    ran = logicalrag("ingest", str(CORPUS), *options, "--json", env=secrets)
    assert (ran.code, ran.json["added"]) == (0, ARTICLES), ran.err
    by_options = logicalrag("search", "vivaldi", *options, "--json", env=secrets)
    assert by_options.json == elastic("search", "vivaldi", "--json").json
    shown = elastic("config", "--json").json
    assert shown["elastic_index"] == {"value": elastic.prefix, "origin": "environment"}


def test_the_demo_runs_in_a_cluster_as_in_a_folder(
    logicalrag: Command, elastic: Collection
) -> None:
    ran = elastic("demo")
    assert ran.code == 0, ran.err
    embedded = logicalrag("demo")

    # From the first question to the advice at the end; the places differ.
    def asked(text: str) -> str:
        return text.partition("\n\n")[2].partition("Next,")[0]

    assert asked(ran.out) == asked(embedded.out)
    assert elastic("stats", "--json").json["documents"] == 0, "the demo has a tenant of its own"
    assert elastic("stats", "--tenant", "demo", "--json").json["documents"] == ARTICLES


def test_declared_fields_filter_and_sort(elastic: Collection, tmp_path: Path) -> None:
    (tmp_path / "fields.toml").write_text('[fields]\nyear = "number"\nkind = "keyword"\n')
    lines = [
        {"id": "a", "title": "Alcina", "text": "An opera.", "metadata": {"year": 1735}},
        {"id": "b", "title": "Ottone", "text": "An opera.",
         "metadata": {"year": 1713, "kind": "score"}},
        {"id": "c", "title": "Debts", "text": "An opera.", "access": ["hr"]},
    ]  # fmt: skip
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert elastic("ingest", "d.jsonl", "--metadata", "fields.toml").code == 0
    filtered = elastic("search", "opera", "--filter", "year<1720", "--json").json
    assert [each["document_id"] for each in filtered["results"]] == ["b"]
    ordered = elastic("search", "opera", "--sort", "-year", "--json").json
    assert [each["document_id"] for each in ordered["results"]] == ["b", "a"]
    assert elastic("search", "opera", "--group", "hr", "--json").json["hits"] == 3
    assert elastic("stats", "--values", "kind", "--json").json["values"] == {
        "kind": [{"value": "score", "hits": 1}]
    }
    (tmp_path / "fields.toml").write_text('[fields]\nyear = "date"\n')
    refused = elastic("ingest", "d.jsonl", "--metadata", "fields.toml")
    assert refused.code == 1
    assert "was made with the fields year (number), kind (keyword)" in refused.err


def test_tenants_together_share_an_index_and_nothing_else(
    elastic: Collection, tmp_path: Path
) -> None:
    together = {"LOGICALRAG_ELASTIC_TENANTS": "together"}
    (tmp_path / "d.jsonl").write_text('{"id": "a", "title": "Alcina", "text": "An opera."}\n')
    for tenant in ("one", "two"):
        assert elastic("ingest", "d.jsonl", "--tenant", tenant, env=together).code == 0
    for tenant, hits in (("one", 1), ("two", 1), ("three", 0)):
        found = elastic("search", "opera", "--tenant", tenant, "--json", env=together).json
        assert (found["hits"], found["fraction"]) == (hits, float(hits))
        assert all(each["score"] == 0 for each in found["results"])
    assert elastic("delete", "a", "--tenant", "one", env=together).code == 0
    assert elastic("search", "opera", "--tenant", "two", "--json", env=together).json["hits"] == 1
    refused = elastic("search", "opera")
    assert (refused.code, "keeps tenants together; set elastic_tenants" in refused.err) == (1, True)


def test_doctor_looks_at_the_cluster(filled: Collection) -> None:
    ran = filled("doctor", "--json")
    checks = {each["name"]: each for each in ran.json["checks"]}
    assert ran.code == 0, checks
    assert {"cluster", "version", "security", "catalog", "aliases", "rights", "index", "pending",
            "ledger"} <= checks.keys()  # fmt: skip
    assert all(check["status"] != "fail" for check in checks.values())
    assert "Elasticsearch 8." in checks["version"]["message"]
    assert f"{filled.prefix}-default-read leads to " in checks["aliases"]["message"]
    assert f"{ARTICLES} documents" in checks["index"]["message"]
    assert checks["ledger"]["message"] == f"{ARTICLES} stored"


def test_doctor_says_what_is_missing(elastic: Collection) -> None:
    checks = {each["name"]: each for each in elastic("doctor", "--json").json["checks"]}
    assert checks["index"]["status"] == "warn"
    assert "logicalrag index create" in checks["index"]["message"]
    nobody = elastic("doctor", "--json", env={"LOGICALRAG_ELASTIC_HOSTS": "http://127.0.0.1:9"})
    checks = {each["name"]: each for each in nobody.json["checks"]}
    assert (nobody.code, checks["cluster"]["status"]) == (1, "fail")
    assert "cannot be reached at http://127.0.0.1:9" in checks["cluster"]["message"]
