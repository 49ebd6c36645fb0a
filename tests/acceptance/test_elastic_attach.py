"""`logicalrag attach`: an index that others fill, searched as it is and never written."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Command
from tests.acceptance.elastic_commands import Collection, collection
from tests.servers.elasticsearch_server import Server

DOCUMENTS = [
    {"url": "u/ottone", "headline": "Ottone in villa", "year": 1713,
     "body": "Ottone in villa is an opera by Antonio Vivaldi. It was first given in Vicenza."},
    {"url": "u/alcina", "headline": "Alcina", "year": 1735,
     "body": "Alcina is an opera by George Frideric Handel."},
]  # fmt: skip
MAP = ("--content", "body", "--title", "headline", "--id", "url", "--field", "year=year:number")


@pytest.fixture
def elastic(logicalrag: Command, elasticsearch: Server) -> Iterator[Collection]:
    with collection(logicalrag, elasticsearch) as ours:
        yield ours


@pytest.fixture
def articles(elasticsearch: Server) -> Iterator[str]:
    """Return the name of an index of somebody else, with two documents."""
    name = f"articles-{secrets.token_hex(4)}"
    properties = {
        "url": {"type": "keyword"},
        "headline": {"type": "text"},
        "body": {"type": "text"},
        "year": {"type": "integer"},
    }
    body = {"mappings": {"properties": properties}, "settings": {"number_of_replicas": 0}}
    assert elasticsearch.request("PUT", f"/{name}", body).status == 200
    text = "".join(f'{{"index": {{}}}}\n{json.dumps(each)}\n' for each in DOCUMENTS)
    assert elasticsearch.request("POST", f"/{name}/_bulk?refresh=true", text).status == 200
    yield name
    elasticsearch.request("DELETE", f"/{name}")


def test_an_index_of_others_is_searched_and_asked_and_never_written(
    elastic: Collection, articles: str, tmp_path: Path
) -> None:
    made = elastic("attach", articles, *MAP, "--to", "map.toml", "--json")
    assert made.code == 0, made.err
    assert made.json["file"] == "map.toml"
    attached = {"LOGICALRAG_ATTACHED": "map.toml"}
    found = elastic("search", "opera AND vivaldi", "--json", env=attached).json
    assert [each["document_id"] for each in found["results"]] == ["u/ottone"]
    assert elastic("search", "opera", "--attached", "map.toml", "--json").json["hits"] == 2
    late = elastic("search", "opera", "--filter", "year>1720", "--json", env=attached).json
    assert [each["document_id"] for each in late["results"]] == ["u/alcina"]
    asked = elastic("ask", "Which opera was given in Vicenza?", "--json", env=attached)
    assert (asked.code, asked.json["outcome"]) == (0, "answered")
    stats = elastic("stats", "--json", env=attached).json
    assert (stats["index"], stats["documents"], stats["pending"]) == (articles, 2, 0)
    assert stats["ledger"] == {}
    why = elastic("why-not", "u/alcina", "vivaldi", "--json", env=attached)
    assert why.json["state"] == "excluded", why
    assert elastic("why-not", "none", "vivaldi", "--json", env=attached).json["state"] == (
        "not_found"
    )
    assert elastic("doctor", env=attached).code == 0
    (tmp_path / "d.txt").write_text("An opera.")
    for command in (("ingest", "d.txt"), ("delete", "u/alcina")):
        ran = elastic(*command, env=attached)
        assert ran.code == 2
        assert "is attached: others fill it, and it is only read here" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--content", "text"), "there is no field text for content; fields there are:"),
        (("--content", "year"), "the field year for content is of type integer"),
        (("--content", "body", "--field", "year:text"), "the kinds are keyword, number, date"),
        (("--content", "body", "--field", "year"), "write NAME=FIELD:KIND"),
        (("--content", "body", "--number", "year"), "number needs document"),
    ],
)
def test_a_map_that_does_not_fit_is_refused_and_not_written(
    elastic: Collection, articles: str, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ran = elastic("attach", articles, *arguments)
    assert (ran.code, said in ran.err) == (2, True), ran
    assert not list(tmp_path.glob("*.toml"))


def test_a_map_that_is_there_is_kept(elastic: Collection, articles: str, tmp_path: Path) -> None:
    path = tmp_path / f"{articles}.toml"
    path.write_text("kept")
    ran = elastic("attach", articles, *MAP)
    assert (ran.code, "is there already" in ran.err, path.read_text()) == (2, True, "kept")
    assert elastic("attach", articles, *MAP, "--force").code == 0
    assert f'index = "{articles}"' in path.read_text()


def test_an_index_that_is_not_there_is_named(elastic: Collection) -> None:
    ran = elastic("attach", "no-such-index", "--content", "body")
    assert (ran.code, "There is no index, alias or data stream no-such-index" in ran.err) == (
        2, True,
    )  # fmt: skip
