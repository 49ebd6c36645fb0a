"""What a user gets wrong with a cluster: one sentence that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Command
from tests.acceptance.elastic_commands import Collection, collection
from tests.servers.elasticsearch_server import Server

# Nothing listens there, and nothing is asked there where a mistake is found before.
NOBODY = {
    "LOGICALRAG_ENGINE": "elastic",
    "LOGICALRAG_ELASTIC_HOSTS": "http://127.0.0.1:9",
    "LOGICALRAG_ELASTIC_ATTEMPTS": "1",
}
SECRET = "b5d1c2f0e9a84736"  # noqa: S105 - nobody's


@pytest.fixture
def elastic(logicalrag: Command, elasticsearch: Server) -> Iterator[Collection]:
    with collection(logicalrag, elasticsearch) as ours:
        yield ours


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "create"),
        ("index", "list"),
        ("index", "rebuild"),
        ("index", "swap"),
        ("index", "drop"),
        ("attach", "articles", "--content", "body"),
        ("reconcile",),
    ],
)
def test_what_only_a_cluster_has_is_refused_for_a_folder(
    logicalrag: Command, arguments: tuple[str, ...]
) -> None:
    ran = logicalrag(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "is for an Elasticsearch cluster, and the setting engine is embedded" in ran.err
    assert "LOGICALRAG_ENGINE=elastic" in ran.err


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"ELASTIC_HOSTS": "localhost:9200"}, "write http(s)://host:port for each node"),
        ({"ELASTIC_HOSTS": f"https://me:{SECRET}@es:9200"}, "write http(s)://host:port"),
        ({"ELASTIC_USER": "me"}, "elastic_user and elastic_password go together"),
        (
            {"ELASTIC_API_KEY": SECRET, "ELASTIC_USER": "me", "ELASTIC_PASSWORD": SECRET},
            "not both",
        ),
        ({"ELASTIC_API_KEY": f"id:{SECRET}"}, "which the cluster calls encoded"),
        (
            {"ELASTIC_HOSTS": "https://127.0.0.1:9", "ELASTIC_CA_FILE": "no.crt"},
            "elastic_ca_file is no.crt, where there is no file",
        ),
        ({"ELASTIC_INDEX": "My-Notes"}, "an index prefix is lower-case letters"),
        ({"ATTACHED": "no.toml"}, "The field map no.toml cannot be read: No such file"),
    ],
)
def test_settings_that_do_not_do_are_named_before_anything_is_sent(
    logicalrag: Command, variables: dict[str, str], said: str
) -> None:
    given = {f"LOGICALRAG_{name}": value for name, value in variables.items()}
    ran = logicalrag("search", "opera", env={**NOBODY, **given})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert SECRET not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "opera"),
        ("stats",),
        ("ingest", "d.txt"),
        ("delete", "a"),
        ("why-not", "a", "opera"),
        ("index", "list"),
        ("index", "create"),
        ("attach", "articles", "--content", "body"),
        ("reconcile",),
    ],
)
def test_a_cluster_that_does_not_answer_is_one_sentence(
    logicalrag: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "d.txt").write_text("An opera.")
    ran = logicalrag(*arguments, env={**NOBODY, "LOGICALRAG_ELASTIC_API_KEY": SECRET})
    assert (ran.code, ran.out) == (1, "")
    assert "The cluster cannot be reached at http://127.0.0.1:9" in ran.err
    assert "check the address and that it runs" in ran.err
    assert "Traceback" not in ran.err
    assert SECRET not in ran.err


def test_a_question_to_a_cluster_that_does_not_answer_is_an_error_and_no_abstention(
    elastic: Collection, tmp_path: Path
) -> None:
    (tmp_path / "d.txt").write_text("Alcina is an opera by Handel.")
    assert elastic("ingest", "d.txt").code == 0
    # What the collection is was read, and then its index is gone.
    for index in elastic.indices():
        if "-default-v" in index:
            elastic.server.request("DELETE", f"/{index}")
    ran = elastic("ask", "Who wrote Alcina?", "--json")
    assert (ran.code, ran.json["outcome"]) == (1, "error")
    assert ran.json.get("certificate") is None
    assert elastic("search", "opera").code == 1, "a known tenant without an index is no zero"


def test_other_mistakes_are_one_sentence(elastic: Collection, tmp_path: Path) -> None:
    assert elastic("index", "create").code == 0
    for arguments, code, said in (
        (("index", "drop", "--tenant", "nobody", "--force"), 1, "There is no tenant 'nobody'"),
        (("index", "drop", f"{elastic.prefix}-default-v000009"), 1, "has no index"),
        (("index", "drop"), 1, "add --force"),
        (("index", "create", "--shards", "5"), 1, "differs in shards (3 there, 5 asked for)"),
        (("index", "create", "--shards", "0"), 2, "greater than or equal to 1"),
        (("ingest", "d.txt", "--analysis", "standard"), 1, "was made with the analysis english"),
        (("index", "remove"), 2, "No such command 'remove'"),
    ):
        (tmp_path / "d.txt").write_text("An opera.")
        ran = elastic(*arguments)
        assert (ran.code, said in ran.err) == (code, True), (arguments, ran)


def test_what_waits_is_said_in_stats_and_certificates(elastic: Collection) -> None:
    """A claim that no passage follows, as a killed run leaves it."""
    script = (
        "import sys\n"
        "from bootstrap.opening import open_writer\n"
        "from bootstrap.settings import read_settings\n"
        "from ingest.ledger import Claim\n"
        "from logicalrag.engines.identity import document_key\n"
        "key = document_key('default', 'lost')\n"
        "claim = Claim(key, 'lost', 'default', 1, bytes(16), 1, 1, False, None)\n"
        "with open_writer(read_settings(), create=True) as (writer, ledger):\n"
        "    assert not ledger.claim([claim])\n"
    )
    corpus = Path(__file__).parents[2] / "cli" / "demo" / "corpus.jsonl"
    assert elastic("ingest", str(corpus)).code == 0
    elastic.run_python(script)
    assert elastic("stats", "--json").json["pending"] == 1
    ran = elastic("ask", "Who made the first ascent of Nanga Parbat?", "--json")
    assert (ran.code, ran.json["certificate"]["pending"]) == (3, 1)
    assert elastic("why-not", "lost", "opera", "--json").json["state"] == "pending"
    waiting = {each["name"]: each for each in elastic("doctor", "--json").json["checks"]}
    assert waiting["pending"]["status"] == "warn"
