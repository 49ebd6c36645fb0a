"""The index commands and `reconcile` where something is in the way, and what a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Command
from tests.acceptance.elastic_commands import Collection, collection
from tests.servers.elasticsearch_server import Server


@pytest.fixture
def elastic(logicalrag: Command, elasticsearch: Server, tmp_path: Path) -> Iterator[Collection]:
    """Return a collection of two documents."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "alcina.txt").write_text("Alcina is an opera by Handel.")
    (notes / "ottone.txt").write_text("Ottone in villa is an opera by Vivaldi; operas are sung.")
    with collection(logicalrag, elasticsearch) as ours:
        assert ours("ingest", "notes", env={"LOGICALRAG_ELASTIC_SHARDS": "1"}).code == 0
        yield ours


def test_a_replay_that_drifts_refuses_the_swap_and_shows_what_changed(
    elastic: Collection, tmp_path: Path
) -> None:
    (tmp_path / "asked.txt").write_text("opera\n# stems make operas an opera\noperas\n")
    drifted = elastic("index", "rebuild", "--analysis", "standard", "--replay", "asked.txt")
    assert drifted.code == 1
    assert "replayed 2 expressions, 2 with other hits or order" in drifted.out
    assert "2 → 1 " in drifted.out
    assert "drift" in drifted.err
    (index,) = elastic("index", "list", "--json").json[0]["indices"]
    assert (index["role"], index["analysis"]) == ("serving", "english")
    fine = elastic(
        "index", "rebuild", "--analysis", "standard", "--replay", "asked.txt", "--max-drift", "0.5",
        "--drop-old",
    )  # fmt: skip
    assert fine.code == 0, fine.err
    assert "serves now, with 2 passages." in fine.out
    assert "copying" in fine.err
    (index,) = elastic("index", "list", "--json").json[0]["indices"]
    assert (index["role"], index["analysis"]) == ("serving", "standard")
    assert elastic("search", "operas", "--json").json["hits"] == 1


def test_a_rebuild_that_waits_can_be_given_up(elastic: Collection) -> None:
    assert elastic("index", "rebuild", "--no-swap").code == 0
    listed = elastic("index", "list")
    assert [word for word in ("serving", "beside") if word in listed.out] == ["serving", "beside"]
    again = elastic("index", "rebuild")
    assert (again.code, "swap it or abandon it" in again.err) == (1, True)
    given_up = elastic("index", "swap", "--abandon", "--json")
    assert (given_up.code, len(given_up.json["dropped"])) == (0, 1)
    nothing = elastic("index", "swap")
    assert (nothing.code, "logicalrag index rebuild --no-swap" in nothing.err) == (1, True)
    assert elastic("search", "opera", "--json").json["hits"] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("rebuild", "--tenant", "nobody"), 1, "nobody"),
        (("swap", "--tenant", "nobody"), 1, "nobody"),
        (("rebuild", "--no-swap", "--drop-old"), 2, "belong to the swap"),
        (("rebuild", "--replay", "none.txt"), 2, "none.txt cannot be read: No such file"),
        (("rebuild", "--replay", "bad.txt"), 2, "bad.txt:2: "),
        (("rebuild", "--shards", "2000"), 2, "less than or equal to 1024"),
        (("rebuild", "--max-drift", "2"), 2, "less than or equal to 1"),
    ],
)
def test_mistakes_are_one_sentence_and_change_nothing(
    elastic: Collection, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "bad.txt").write_text("opera\nopera AND\n")
    before = elastic.indices()
    ran = elastic("index", *arguments)
    assert (ran.code, said in ran.err) == (code, True), ran
    assert "Traceback" not in ran.err
    assert elastic.indices() == before


def test_reconcile_finds_what_a_lost_index_lacks(elastic: Collection) -> None:
    assert "nothing differs" in elastic("reconcile").out
    serving = elastic("index", "list", "--json").json[0]["indices"][0]["name"]
    found = elastic.server.request("GET", f"/{serving}/_search?version=true").body["hits"]["hits"]
    for hit in found:
        # As where a copy is restored, nothing remembers a newer version.
        version = f"version={hit['_version']}&version_type=external_gte"
        path = f"/{serving}/_doc/{hit['_id']}?routing={hit['_routing']}&refresh=true&{version}"
        assert elastic.server.request("DELETE", path).status == 200
    checks = {each["name"]: each for each in elastic("doctor", "--json").json["checks"]}
    assert (checks["ledger"]["status"], checks["ledger"]["fix"]) == ("fail", "logicalrag reconcile")
    dry = elastic("reconcile", "--dry-run", "--json").json
    assert (dry["index_older"], dry["dry_run"]) == (2, True)
    assert elastic("stats", "--json").json["pending"] == 0
    repaired = elastic("reconcile")
    assert repaired.code == 0, repaired.err
    assert "2 wait to be ingested again" in repaired.out
    assert elastic("stats", "--json").json["pending"] == 2
    again = elastic("ingest", "notes", "--json").json
    assert again["unchanged"] == 0
    assert elastic("search", "opera", "--json").json["hits"] == 2
    assert "nothing differs" in elastic("reconcile").out
