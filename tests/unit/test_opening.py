"""An opened index, wherever it is kept, and what doctor says of a cluster. No server is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bootstrap import elastic_checks
from bootstrap.checks import Check
from bootstrap.indices import OpenIndex
from bootstrap.opening import open_writer, require_cluster
from bootstrap.settings import Settings, SettingsError
from ingest.ledger import LedgerError
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.cluster.errors import error_of
from logicalrag.engines.errors import EngineError
from logicalrag.engines.protocol import Passage
from logicalrag.engines.reference import ReferenceEngine

DENIED = error_of(403, {"error": {"type": "security_exception"}}, "asking")
NOBODY = error_of(401, {"error": {"type": "security_exception"}}, "asking")
HEALTHY = {"status": "green", "number_of_nodes": 3}
KEY = "c2VjcmV0OnNlY3JldA=="


def test_a_ledger_that_cannot_be_read_is_an_engine_error_so_that_no_session_abstains() -> None:
    def fails(_tenant: str) -> int:
        raise LedgerError("x-ledger", "it is of another format; use another prefix")

    with pytest.raises(EngineError, match="another format"):
        OpenIndex("x", ReferenceEngine(), None, fails).pending("default")


def test_an_index_that_others_fill_has_no_states_and_agrees_with_nothing() -> None:
    index = OpenIndex("x", ReferenceEngine(), None, lambda _: 0)
    assert (index.states("default"), index.disagreement("default")) == ({}, None)


def test_index_and_ledger_differ_only_where_nothing_waits(tmp_path: Path) -> None:
    engine = ReferenceEngine()
    engine.put([Passage("i", "a", 0, "", "opera", 0, 5)], replaces=0)
    engine.commit()
    with SqliteLedger(tmp_path / "ledger") as ledger:
        assert OpenIndex("x", engine, ledger, lambda _: 0).disagreement("default") == (1, 0)
        assert OpenIndex("x", engine, ledger, lambda _: 1).disagreement("default") is None


def test_an_attached_index_is_not_written(tmp_path: Path) -> None:
    settings = Settings(engine="elastic", attached=tmp_path / "map.toml")
    with pytest.raises(SettingsError, match="only read here"), open_writer(settings, create=True):
        raise AssertionError("unreachable")


def test_what_only_a_cluster_has_needs_one() -> None:
    require_cluster(Settings(engine="elastic"), "reconcile")
    with pytest.raises(SettingsError, match="logicalrag reconcile is for an Elasticsearch"):
        require_cluster(Settings(), "reconcile")


class Answers:
    """A cluster that gives each path the answer that it is told, or raises it."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def call(self, _method: str, path: str, *_: object, **__: object) -> Any:
        answer = self._answers[path]
        if isinstance(answer, Exception):
            raise answer
        return answer


def checked(
    monkeypatch: pytest.MonkeyPatch, health: object, version: object, **given: Any
) -> dict[str, Check]:
    @contextmanager
    def opened(_settings: Settings) -> Iterator[Answers]:
        yield Answers({"/_cluster/health": health, "/_nodes/_all/http": version})

    monkeypatch.setattr(elastic_checks, "open_cluster", opened)
    settings = Settings(engine="elastic", **given)
    return {check.name: check for check in elastic_checks.CHECKS["cluster"](settings)}


def nodes(*versions: str) -> dict[str, Any]:
    return {"nodes": {f"n{at}": {"version": each} for at, each in enumerate(versions)}}


@pytest.mark.parametrize(
    ("status", "found"), [("green", "ok"), ("yellow", "warn"), ("red", "fail"), ("odd", "fail")]
)
def test_the_clusters_health_is_told(
    monkeypatch: pytest.MonkeyPatch, status: str, found: str
) -> None:
    checks = checked(monkeypatch, {**HEALTHY, "status": status}, nodes("8.19.7"))
    assert checks["cluster"].status == found
    assert checks["cluster"].message == f"{status}, 3 nodes at http://127.0.0.1:9200"
    assert bool(checks["cluster"].fix) == (status in ("yellow", "red"))


@pytest.mark.parametrize(
    ("versions", "found"),
    [
        (("8.19.7",), "ok"),
        (("8.19.7", "9.1.0"), "ok"),
        (("7.17.0", "8.19.7"), "fail"),
        (("10.0.0",), "fail"),
    ],
)
def test_versions_that_are_not_known_fail(
    monkeypatch: pytest.MonkeyPatch, versions: tuple[str, ...], found: str
) -> None:
    version = checked(monkeypatch, HEALTHY, nodes(*versions))["version"]
    assert version.status == found
    assert all(each in version.message for each in versions)


def test_a_user_with_few_rights_is_no_failure_and_an_unknown_one_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = checked(monkeypatch, DENIED, DENIED)
    assert few["cluster"].status == "ok"
    assert "version" not in few
    nobody = checked(monkeypatch, NOBODY, NOBODY)
    assert (nobody["cluster"].status, list(nobody)) == ("fail", ["cluster"])


@pytest.mark.parametrize(
    ("hosts", "key", "status", "said"),
    [
        ("https://es.example:9200", KEY, "ok", "https, as a named user"),
        ("https://es.example:9200", None, "ok", "https"),
        ("http://127.0.0.1:1,http://[::1]:1,http://localhost:1", KEY, "ok", "on this machine"),
        ("http://es.example:9200", None, "warn", "passages travel unencrypted to http://es"),
        ("https://a:1,http://es.example:1", KEY, "warn", "passages and passwords travel"),
    ],
)
def test_what_travels_unencrypted_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, hosts: str, key: str | None, status: str, said: str
) -> None:
    checks = checked(
        monkeypatch, HEALTHY, nodes("8.19.7"), elastic_hosts=hosts, elastic_api_key=key
    )
    assert (checks["security"].status, said in checks["security"].message) == (status, True)
    assert KEY not in repr(checks)
