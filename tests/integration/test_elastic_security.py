"""The roles of deploy/elasticsearch on a cluster with security: who may what, and what leaks.

Every command runs in a process of its own with its key or user in the environment, and with the
network's loggers at their most talkative.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import traceback
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bootstrap.elastic import open_cluster
from bootstrap.settings import Settings
from logicalrag.engines.cluster.errors import ClusterError
from tests.servers.certificates import make_certificates
from tests.servers.elasticsearch import Cluster
from tests.source_tree import ROOT

SECONDS = 120
ROLES = ("reader", "writer", "admin")
# What a developer turns on to see what is sent: nothing of it may hold a secret.
TALKATIVE = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
for name in ("elastic_transport", "elasticsearch", "urllib3"):
    logging.getLogger(name).setLevel(logging.DEBUG)
import elastic_transport
elastic_transport.debug_logging()
from cli.main import run
sys.argv = ["logicalrag", *sys.argv[1:]]
run()
"""


@dataclass(frozen=True)
class Ran:
    """What a command left, its log on standard error included."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Secured:
    """A collection on a secured cluster, and who may do what with it.

    Args:
        server: with its superuser.
        folder: where commands run and leave files.
        users: password of the user of each role.
        keys: encoded API key of each role.
    """

    server: Cluster
    folder: Path
    users: Mapping[str, str] = field(repr=False)
    keys: Mapping[str, str] = field(repr=False)

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a command, with `variables` as their settings' names."""
        kept = {name: value for name, value in os.environ.items() if "LOGICALRAG" not in name}
        ours = {
            "engine": "elastic",
            "elastic_hosts": self.server.urls[0],
            "elastic_ca_file": str(self.server.ca_file),
            "elastic_replicas": "0",
            "elastic_attempts": "2",
            **variables,
        }
        named = {f"LOGICALRAG_{name.upper()}": value for name, value in ours.items()}
        return {**kept, **named, "NO_COLOR": "1", "COLUMNS": "200", "PYTHONPATH": str(ROOT)}

    def run(self, variables: Mapping[str, str], *arguments: str) -> Ran:
        """Run a command as whom `variables` name."""
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-c", TALKATIVE, *arguments],
            cwd=self.folder,
            capture_output=True,
            check=False,
            timeout=SECONDS,
            text=True,
            env=self.environment(variables),
        )
        ran = Ran(done.returncode, done.stdout, done.stderr)
        written = [path.read_bytes() for path in self.folder.rglob("*") if path.is_file()]
        for secret in self.secrets():
            assert secret not in ran.out
            assert secret not in ran.err
            assert all(secret.encode() not in content for content in written)
        return ran

    def by_user(self, role: str, *arguments: str) -> Ran:
        """Run a command as the role's user."""
        who = {"elastic_user": f"test_{role}", "elastic_password": self.users[role]}
        return self.run(who, *arguments)

    def by_key(self, role: str, *arguments: str) -> Ran:
        """Run a command by the role's API key."""
        return self.run({"elastic_api_key": self.keys[role]}, *arguments)

    def secrets(self) -> list[str]:
        """Return everything that must be seen nowhere, as it is and as it is sent."""
        pairs = [f"test_{role}:{password}" for role, password in self.users.items()]
        return [
            *self.users.values(),
            *self.keys.values(),
            *(b64encode(pair.encode()).decode() for pair in pairs),
        ]


@pytest.fixture(scope="module")
def secured(
    secured_elasticsearch: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    """Return the cluster with the roles of the repository, a user and a key of each."""
    server = secured_elasticsearch
    users = {role: secrets.token_urlsafe(24) for role in ROLES}
    keys = {}
    for role in ROLES:
        file = ROOT / "deploy" / "elasticsearch" / "roles" / f"{role}.json"
        body = json.loads(file.read_text())
        assert server.request("PUT", f"/_security/role/test_{role}", body).status == 200
        user = {"password": users[role], "roles": [f"test_{role}"]}
        assert server.request("PUT", f"/_security/user/test_{role}", user).status == 200
        asked = {"name": f"test-{role}", "role_descriptors": {role: body}}
        key = server.request("POST", "/_security/api_key", asked)
        assert key.status == 200, key.body
        keys[role] = key.body["encoded"]
    folder = tmp_path_factory.mktemp("secured")
    (folder / "alcina.txt").write_text("Alcina is an opera by Handel.")
    (folder / "ottone.txt").write_text("Ottone in villa is an opera by Vivaldi.")
    ours = Secured(server, folder, users, keys)
    made = ours.by_user("admin", "index", "create", "--json")
    assert made.code == 0, made.err
    written = ours.by_user("writer", "ingest", "alcina.txt", "ottone.txt", "--json")
    assert (written.code, written.json["added"]) == (0, 2), written.err
    yield ours
    names = server.request("GET", "/logicalrag-*/_alias").body
    for name in names:
        server.request("DELETE", f"/{name}")


READING = (
    ("search", "opera", "--explain", "--json"),
    ("search", "alcinna"),
    ("stats", "--json"),
    ("why-not", "alcina.txt", "vivaldi", "--json"),
    ("ask", "Who wrote Alcina?", "--json"),
)


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
@pytest.mark.parametrize("role", ROLES)
def test_every_role_reads(secured: Secured, role: str, arguments: tuple[str, ...]) -> None:
    ran = secured.by_user(role, *arguments)
    assert ran.code in (0, 3), ran.err
    assert ran.out


def test_a_key_does_what_a_user_does(secured: Secured) -> None:
    for role in ROLES:
        assert secured.by_key(role, "search", "opera", "--json").json["hits"] == 2
    (secured.folder / "key.txt").write_text("Orlando is written by a key.")
    assert secured.by_key("writer", "ingest", "key.txt", "--json").json["added"] == 1
    assert secured.by_key("writer", "delete", "key.txt", "--json").json["deleted"] == 1
    assert secured.by_key("admin", "index", "list", "--json").code == 0
    denied = secured.by_key("reader", "ingest", "key.txt")
    assert (denied.code, "The cluster does not allow" in denied.err) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("ingest", "alcina.txt", "--chunk-size", "7"),
        ("delete", "alcina.txt"),
        ("index", "create"),
        ("index", "create", "--tenant", "fresh"),
        ("index", "rebuild"),
        ("index", "drop", "--force"),
    ],
    ids=" ".join,
)
def test_a_reader_writes_nothing(secured: Secured, arguments: tuple[str, ...]) -> None:
    before = secured.by_user("admin", "stats", "--json").json
    denied = secured.by_user("reader", *arguments)
    assert denied.code == 1
    assert "The cluster does not allow" in denied.err or "may not" in denied.err
    assert "Traceback" not in denied.err
    after = secured.by_user("admin", "stats", "--json").json
    assert (after["generation"], after["ledger"]) == (before["generation"], before["ledger"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("index", "create", "--tenant", "fresh"),
        ("index", "rebuild"),
        ("index", "drop", "--force"),
    ],
    ids=" ".join,
)
def test_a_writer_makes_and_drops_no_index(secured: Secured, arguments: tuple[str, ...]) -> None:
    denied = secured.by_user("writer", *arguments)
    assert denied.code == 1
    assert "The cluster does not allow" in denied.err or "may not make one" in denied.err
    assert "Traceback" not in denied.err
    assert secured.by_user("writer", "search", "opera", "--json").json["hits"] == 2


def test_a_writer_is_told_whom_to_ask_for_a_tenant(secured: Secured) -> None:
    denied = secured.by_user("writer", "ingest", "alcina.txt", "--tenant", "fresh")
    assert denied.code == 1
    assert "ask an admin to run: logicalrag index create --tenant 'fresh'" in denied.err
    other = {"elastic_index": "elsewhere", "elastic_user": "test_writer",
             "elastic_password": secured.users["writer"]}  # fmt: skip
    assert "The cluster does not allow" in secured.run(other, "ingest", "alcina.txt").err
    assert secured.by_user("admin", "index", "create", "--tenant", "fresh").code == 0
    assert secured.by_user("writer", "ingest", "alcina.txt", "--tenant", "fresh").code == 0
    assert secured.by_user("admin", "index", "drop", "--tenant", "fresh", "--force").code == 0


def test_a_writer_reconciles_and_repairs(secured: Secured) -> None:
    ran = secured.by_user("writer", "reconcile", "--json")
    assert (ran.code, ran.json["index_older"]) == (0, 0), ran.err


def test_an_admin_rebuilds_and_swaps(secured: Secured) -> None:
    rebuilt = secured.by_user("admin", "index", "rebuild", "--no-swap", "--json")
    assert rebuilt.code == 0, rebuilt.err
    both = secured.by_user("writer", "ingest", "alcina.txt", "ottone.txt", "--json")
    assert (both.code, both.json["unchanged"]) == (0, 2), both.err
    swapped = secured.by_user("admin", "index", "swap", "--drop-old", "--json")
    assert (swapped.code, swapped.json["passages"]) == (0, 2), swapped.err
    assert secured.by_user("reader", "search", "opera", "--json").json["hits"] == 2


@pytest.mark.parametrize("role", ROLES)
def test_nobody_reaches_users_roles_or_other_indices(secured: Secured, role: str) -> None:
    pair = f"test_{role}:{secured.users[role]}".encode()
    authorization = "Basic " + b64encode(pair).decode()
    for method, path, body in (
        ("GET", "/_security/user", None),
        ("GET", "/_security/role", None),
        ("PUT", "/_security/user/intruder", {"password": "x" * 20, "roles": ["superuser"]}),
        ("GET", "/.security/_search", None),
        ("PUT", "/elsewhere-default-v000001", {}),
        ("POST", "/elsewhere/_doc", {"a": 1}),
        ("PUT", "/_cluster/settings", {"persistent": {"indices.recovery.max_bytes_per_sec": "1b"}}),
    ):
        answer = secured.server.request(method, path, body, authorization=authorization)
        assert answer.status == 403, (path, answer.body)


@pytest.mark.parametrize("role", ROLES)
def test_doctor_tells_what_a_user_may(secured: Secured, role: str) -> None:
    ran = secured.by_user(role, "doctor", "--json")
    checks = {each["name"]: each for each in ran.json["checks"]}
    assert ran.code == 0, checks
    may = {"reader": "read", "writer": "read, write", "admin": "read, write, manage"}[role]
    assert checks["rights"]["message"] == f"test_{role} may {may} logicalrag-*"
    assert checks["security"]["message"] == "https, as a named user"


def test_config_hides_keys_and_passwords(secured: Secured) -> None:
    for ran in (secured.by_user("reader", "config"), secured.by_key("reader", "config", "--json")):
        assert ran.code == 0
        assert "**********" in ran.out


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "check the key or user of the settings and its role"),
        (
            {"elastic_user": "test_reader", "elastic_password": "wrong-password-1234"},
            "check the key or user of the settings and its role",
        ),
        ({"elastic_api_key": "d3JvbmctaWQ6d3Jvbmcta2V5"}, "check the key or user of the settings"),
        ({"elastic_hosts": "http://127.0.0.1:1", "elastic_ca_file": ""}, "cannot be reached"),
    ],
    ids=["nobody", "wrong password", "wrong key", "wrong address"],
)
@pytest.mark.parametrize("command", [("search", "opera"), ("ingest", "alcina.txt"), ("doctor",)])
def test_who_is_not_let_in_is_told_in_one_sentence(
    secured: Secured, variables: dict[str, str], said: str, command: tuple[str, ...]
) -> None:
    ran = secured.run(variables, *command)
    assert ran.code == 1
    assert said in ran.err + ran.out
    assert "Traceback" not in ran.err
    for value in ("wrong-password-1234", "d3JvbmctaWQ6d3Jvbmcta2V5"):
        assert value not in ran.err + ran.out


def test_another_authority_or_none_is_not_trusted(secured: Secured, tmp_path: Path) -> None:
    make_certificates(tmp_path / "other")
    who = {"elastic_user": "test_reader", "elastic_password": secured.users["reader"]}
    for authority in (str(tmp_path / "other" / "ca.crt"), ""):
        ran = secured.run({**who, "elastic_ca_file": authority}, "search", "opera")
        assert ran.code == 1
        assert "There is no secure connection to the cluster" in ran.err
        assert "certificate verify failed" in ran.err
        assert "elastic_ca_file" in ran.err
    (tmp_path / "none.crt").write_text("no certificate")
    ran = secured.run({**who, "elastic_ca_file": str(tmp_path / "none.crt")}, "search", "opera")
    assert (ran.code, "certificate file cannot be used" in ran.err) == (1, True)


def test_plain_http_to_a_secured_port_is_one_sentence(secured: Secured) -> None:
    plain = secured.server.urls[0].replace("https:", "http:")
    ran = secured.run({"elastic_hosts": plain, "elastic_ca_file": ""}, "search", "opera")
    assert ran.code == 1
    assert ran.err.rstrip().splitlines()[-1].startswith("error: ")
    assert "Traceback" not in ran.err


def test_no_secret_is_in_a_trace_or_a_repr(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = Settings(
        engine="elastic",
        elastic_hosts=secured.server.urls,
        elastic_ca_file=secured.server.ca_file,
        elastic_user="test_reader",
        elastic_password=secured.users["reader"],  # type: ignore[arg-type]  # pydantic wraps it
        elastic_attempts=1,
    )
    told: list[str] = [repr(settings)]
    with open_cluster(settings) as cluster:
        told += [repr(cluster), repr(cluster.address), str(cluster.address)]
        with pytest.raises(ClusterError) as caught:
            cluster.call("GET", "/_security/user", doing="reading users")
        trace = traceback.TracebackException.from_exception(caught.value)
        told += [repr(caught.value), *trace.format()]
    told.append(caplog.text)
    assert not [secret for secret in secured.secrets() if secret in "\n".join(told)]
