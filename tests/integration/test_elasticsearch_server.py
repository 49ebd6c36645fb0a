"""The Elasticsearch of tests: it starts where it can, breaks on demand, and ends surely."""

from __future__ import annotations

import hashlib
import os
import ssl
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.servers import elasticsearch_distribution as distribution
from tests.servers.availability import ServerError
from tests.servers.containers import IMAGE, find_engine, run_command
from tests.servers.elasticsearch import Cluster, available_installation
from tests.servers.elasticsearch_artifact import ArtifactInstallation
from tests.servers.elasticsearch_fixtures import server_or_skip
from tests.servers.elasticsearch_node import Credentials, Node
from tests.servers.elasticsearch_server import ADDRESS, CA, PASSWORD, USER, Server, named_server
from tests.servers.java import find_jdk
from tests.servers.maven import Artifact
from tests.servers.ports import free_ports
from tests.source_tree import ROOT

NODES = 3


@pytest.fixture
def index(elasticsearch: Server) -> Iterator[str]:
    """Yield the name of an index of three shards and a replica that holds one document."""
    name = "server-test"
    settings = {
        "number_of_shards": 3,
        "number_of_replicas": 1,
        # Longer than any test: copies of a lost node's shards are made when it is said.
        "unassigned.node_left.delayed_timeout": "1h",
    }
    assert elasticsearch.request("PUT", f"/{name}", {"settings": settings}).status == 200
    stored = elasticsearch.request("PUT", f"/{name}/_doc/1?refresh=true", {"text": "cat"})
    assert stored.status == 201
    yield name
    assert elasticsearch.request("DELETE", f"/{name}").status == 200


def _wait(holds: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.02)
    return True


# --- nodes --------------------------------------------------------------------------------------


def test_three_nodes_lose_one_and_get_it_back(breakable_elasticsearch: Cluster, index: str) -> None:
    cluster = breakable_elasticsearch

    def active_shards() -> int:
        active: int = cluster.request("GET", f"/_cluster/health/{index}").body["active_shards"]
        return active

    cluster.wait_for("green", NODES, seconds=240)
    assert active_shards() == 6

    cluster.kill_node(2)
    with pytest.raises(ConnectionRefusedError):
        cluster.request("GET", "/_cluster/health", node=2)
    cluster.wait_for("yellow", NODES - 1)
    assert active_shards() == 4
    assert cluster.request("GET", f"/{index}/_count").body["count"] == 1

    # Copies are made on the nodes that are left, at once where that is asked for.
    at_once = {"index.unassigned.node_left.delayed_timeout": "0"}
    assert cluster.request("PUT", f"/{index}/_settings", at_once).status == 200
    # Of this index alone: those of other tests wait for the node, as they do by default.
    health = f"/_cluster/health/{index}?wait_for_status=green&timeout=120s"
    assert cluster.request("GET", health, seconds=150).status == 200

    cluster.restart_node(2)
    cluster.wait_for("green", NODES, seconds=240)
    assert cluster.request("GET", f"/{index}/_doc/1", node=2).body["found"] is True


def test_a_paused_node_stalls_and_goes_on(breakable_elasticsearch: Cluster) -> None:
    cluster = breakable_elasticsearch
    cluster.pause_node(1)
    with pytest.raises(TimeoutError):
        cluster.request("GET", "/_nodes/_local", node=1, seconds=0.3)
    cluster.resume_node(1)
    assert cluster.request("GET", "/_nodes/_local", node=1).status == 200


def test_it_listens_on_this_machine_only(elasticsearch: Server) -> None:
    if not isinstance(elasticsearch, Cluster):
        pytest.skip(f"{ADDRESS} names a server that is not ours")
    nodes = elasticsearch.request("GET", "/_nodes/http,transport").body["nodes"].values()
    addresses = [
        address
        for node in nodes
        for kind in ("http", "transport")
        for address in node[kind]["bound_address"]
    ]
    assert len(addresses) == 2 * NODES
    assert {address.rpartition(":")[0] for address in addresses} == {"127.0.0.1"}


# --- what the mapping needs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("analysis", "text", "tokens"),
    [
        ({"tokenizer": "whitespace"}, "The Cat's a-b", ["The", "Cat's", "a-b"]),
        (
            {"tokenizer": {"type": "pattern", "pattern": "[a-z]{1,3}", "group": 0}},
            "abcd, e",
            ["abc", "d", "e"],
        ),
        ({"tokenizer": {"type": "pattern", "pattern": ","}}, "a b,c", ["a b", "c"]),
        ({"tokenizer": "uax_url_email"}, "to a@b.org now", ["to", "a@b.org", "now"]),
        ({"tokenizer": "standard", "filter": ["asciifolding"]}, "Café Ærø", ["Cafe", "AEro"]),
        (
            {"tokenizer": "standard", "filter": [{"type": "stemmer", "language": "porter2"}]},
            "generous communism ponies",
            ["generous", "communism", "poni"],
        ),
        (
            {"tokenizer": "standard", "filter": [{"type": "stemmer", "language": "english"}]},
            "generous ponies",
            ["gener", "poni"],
        ),
        ({"tokenizer": "standard", "filter": ["unique"]}, "a b a", ["a", "b"]),
        (
            {
                "tokenizer": "whitespace",
                "filter": [{"type": "pattern_capture", "patterns": [r"(\w+)@"]}],
            },
            "a@b",
            ["a@b", "a"],
        ),
    ],
)
def test_it_analyses_as_the_full_server(
    elasticsearch: Server, analysis: dict[str, object], text: str, tokens: list[str]
) -> None:
    answer = elasticsearch.request("POST", "/_analyze", {**analysis, "text": text})
    assert [token["token"] for token in answer.body["tokens"]] == tokens


# --- security -----------------------------------------------------------------------------------


def test_without_credentials_nothing_is_told(secured_elasticsearch: Cluster) -> None:
    secured = secured_elasticsearch
    assert secured.request("GET", "/_cluster/health", authorization="").status == 401
    assert secured.request("GET", "/_cluster/health").status == 200


def test_a_strangers_certificate_is_refused(secured_elasticsearch: Cluster) -> None:
    trusting_the_system = Server(secured_elasticsearch.urls, secured_elasticsearch.credentials)
    with pytest.raises(ssl.SSLCertVerificationError):
        trusting_the_system.request("GET", "/_cluster/health")


def test_an_api_key_may_do_what_its_role_says_also_after_a_restart(
    secured_elasticsearch: Cluster,
) -> None:
    secured = secured_elasticsearch
    assert secured.request("PUT", "/notes/_doc/1?refresh=true", {"text": "cat"}).status == 201
    role = {"indices": [{"names": ["notes"], "privileges": ["read"]}]}
    asked = {"name": "reader", "role_descriptors": {"reader": role}}
    key = "ApiKey " + secured.request("POST", "/_security/api_key", asked).body["encoded"]

    secured.restart()
    secured.wait_for("yellow")

    def status(method: str, path: str, body: object = None) -> int:
        return secured.request(method, path, body, authorization=key).status

    assert secured.request("GET", "/notes/_count", authorization=key).body["count"] == 1
    assert status("PUT", "/notes/_doc/2", {"text": "dog"}) == 403
    assert status("GET", "/others/_count") == 403
    assert status("GET", "/_cluster/health") == 403


def test_it_is_not_run_by_root(secured_elasticsearch: Cluster) -> None:
    log = secured_elasticsearch.log(0)
    assert "started" in log.read_text(encoding="utf-8")
    data = log.parents[1] / "runs"
    if os.geteuid() == 0 and data.is_dir():
        owners = {path.stat().st_uid for path in data.glob("cluster-*/node-*/data/*")}
        assert owners
        assert 0 not in owners


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(Credentials("tester", "secret"))


# --- where it comes from ------------------------------------------------------------------------


def test_an_address_of_the_environment_is_used(secured_elasticsearch: Cluster) -> None:
    secured = secured_elasticsearch
    assert secured.credentials is not None
    variables = {
        ADDRESS: f" {secured.urls[0]}/",
        USER: secured.credentials.user,
        PASSWORD: secured.credentials.password,
        CA: str(secured.ca_file),
    }
    named = named_server(variables)
    assert named is not None
    assert named.urls == secured.urls
    assert named.request("GET", "/_cluster/health").body["number_of_nodes"] == 1


def test_without_an_address_there_is_no_named_server() -> None:
    assert named_server({}) is None
    assert named_server({ADDRESS: " "}) is None


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({ADDRESS: "localhost:9200"}, "must hold addresses such as http://127.0.0.1:9200"),
        ({ADDRESS: "http://a:9200,"}, "must hold addresses"),
        ({ADDRESS: "http://me:secret@a:9200"}, f"go into {USER} and {PASSWORD}"),
        ({ADDRESS: "https://a:9200", CA: "missing.crt"}, f"{CA} names missing.crt, which is no"),
    ],
)
def test_a_bad_address_is_explained(variables: dict[str, str], said: str) -> None:
    with pytest.raises(ServerError, match=said) as raised:
        named_server(variables)
    assert "secret" not in str(raised.value)


def _jdk(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    for name in ("java", "javac", "jar"):
        (folder / "bin" / name).touch()
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


def test_a_named_jdk_must_be_one(tmp_path: Path) -> None:
    old, new = _jdk(tmp_path / "old", "11.0.2"), _jdk(tmp_path / "new", "21")
    for bad in (tmp_path, old):
        with pytest.raises(ServerError, match=f"ES_JAVA_HOME names {bad}, which is no JDK 17 or"):
            find_jdk({"ES_JAVA_HOME": str(bad)})
    assert find_jdk({"ES_JAVA_HOME": str(new), "JAVA_HOME": str(old)}) == new
    assert find_jdk({"JAVA_HOME": str(new), "PATH": ""}) == new


def test_a_missing_server_skips_but_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Server:
        raise ServerError("run `make servers` once")

    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="make servers"):
        server_or_skip(missing)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="make servers"):
        server_or_skip(missing)


def test_containers_share_the_machines_network(tmp_path: Path) -> None:
    node = Node("node-1", tmp_path, 9201, {}, "-Xms512m -Xmx512m", tmp_path / "log")
    node.configuration.mkdir()
    (node.configuration / "elasticsearch.yml").touch()
    mounted = f"{tmp_path}/config/elasticsearch.yml:"
    mounted += "/usr/share/elasticsearch/config/elasticsearch.yml:ro"
    assert run_command("podman", "tests-node-1", node) == [
        *"podman run --rm --name tests-node-1 --network host".split(),
        *("--env", "ES_JAVA_OPTS=-Xms512m -Xmx512m"),
        *("--volume", "tests-node-1:/usr/share/elasticsearch/data"),
        *("--volume", mounted),
        IMAGE,
    ]


@pytest.mark.parametrize("status", [0, 1])
def test_an_engine_without_its_daemon_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    engine = tmp_path / "podman"
    engine.write_text(f"#!/bin/sh\nexit {status}\n")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_engine() == (None if status else str(engine))


# --- installing ---------------------------------------------------------------------------------


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small archive that stands for the artifact; nothing is compiled against it."""
    path = tmp_path / "original.zip"
    with zipfile.ZipFile(path, "w") as file:
        program = zipfile.ZipInfo("small-1/bin/elasticsearch")
        program.external_attr = 0o100755 << 16
        file.writestr(program, "#!/bin/sh\n")
        settings = zipfile.ZipInfo("small-1/config/elasticsearch.yml")
        settings.external_attr = 0o100660 << 16
        file.writestr(settings, "")
    digest = hashlib.sha512(path.read_bytes()).hexdigest()
    monkeypatch.setattr(
        distribution, "ARTIFACT", Artifact("org.example", "small", "1", "zip", digest)
    )
    monkeypatch.setattr(distribution, "build_plugin", lambda _java_home, _home: None)
    return path


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: Path) -> Path:
    """Put a Maven first that copies the archive; return the file with a line for each call."""
    calls = tmp_path / "calls"
    maven = tmp_path / "programs" / "mvn"
    maven.parent.mkdir()
    maven.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >>{calls}\n'
        "for word; do case $word in -DoutputDirectory=*) folder=${word#*=};; esac; done\n"
        f'cp {archive} "$folder/small-1.zip"\n'
    )
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}{os.pathsep}{os.environ['PATH']}")
    return calls


def test_two_that_ask_at_once_download_once(tmp_path: Path, downloads: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    with ThreadPoolExecutor(2) as pool:
        homes = set(
            pool.map(lambda _: distribution.installed_home(tmp_path, True, folder), range(2))
        )
    [home] = homes
    [call] = downloads.read_text().splitlines()
    assert "-Dartifact=org.example:small:1:zip" in call
    assert (home / "bin" / "elasticsearch").stat().st_mode & 0o777 == 0o755
    assert (home / "config" / "elasticsearch.yml").stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [home.name, "lock", "small-1.zip"]
    )
    # Used again: neither Maven nor Java is asked.
    assert distribution.installed_home(Path("no-java"), False, folder) == home
    assert len(downloads.read_text().splitlines()) == 1


def test_a_damaged_archive_is_fetched_again(tmp_path: Path, downloads: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "small-1.zip").write_bytes(b"half of it")
    assert distribution.installed_home(tmp_path, True, folder).is_dir()
    assert len(downloads.read_text().splitlines()) == 1


def test_another_file_than_the_pinned_one_is_refused(
    tmp_path: Path, downloads: Path, archive: Path
) -> None:
    archive.write_bytes(b"another file")
    with pytest.raises(ServerError, match="not the file whose SHA-512 is pinned"):
        distribution.installed_home(tmp_path, True, tmp_path)
    assert downloads.exists()
    assert not (tmp_path / "small-1.zip").exists()


def test_nothing_is_downloaded_unasked(tmp_path: Path, downloads: Path) -> None:
    with pytest.raises(ServerError, match="run `make servers` once"):
        distribution.installed_home(tmp_path, False, tmp_path)
    assert not downloads.exists()


# --- failing and ending -------------------------------------------------------------------------


@pytest.mark.usefixtures("secured_elasticsearch")  # without which there is none to start here
def test_a_failed_start_shows_the_servers_own_words() -> None:
    with pytest.raises(
        ServerError, match=r"(?s)node-0 ended.*unknown setting \[no\.such\.setting\]"
    ):
        Cluster.start(settings={"no.such.setting": "1"})


def test_a_killed_starter_takes_its_servers_along(tmp_path: Path) -> None:
    kept = tmp_path / "data"
    kept.mkdir()
    script = (
        "import os, time\n"
        "from pathlib import Path\n"
        "from tests.servers.process import CleanUp, ServerProcess\n"
        "clean_up = CleanUp()\n"
        f"clean_up.add('rm', '-rf', {str(kept)!r})\n"
        # A server that has children and does not end when it is asked to.
        f"command = ['sh', '-c', 'trap \"\" TERM; sleep 600 & echo $! >{tmp_path}/child; wait']\n"
        f"ServerProcess(command, os.environ, Path({str(tmp_path / 'log')!r}), None, clean_up)\n"
        "time.sleep(600)\n"
    )
    child = tmp_path / "child"
    # S603: this interpreter and the script above.
    starter = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)  # noqa: S603
    try:
        assert _wait(lambda: child.exists() and child.read_text().endswith("\n"))
    finally:
        starter.kill()
        starter.wait()
    number = int(child.read_text())
    assert _wait(lambda: not kept.exists() and not _runs(number))


def _runs(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    # What has ended but was not waited for yet still has its number.
    return "\nState:\tZ" not in Path(f"/proc/{number}/status").read_text(encoding="utf-8")


def test_ports_are_different_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20


def test_without_containers_the_artifact_is_run() -> None:
    if find_engine() is not None:
        pytest.skip("a container engine runs here")
    installation = server_or_skip(lambda: available_installation(os.environ))
    assert isinstance(installation, ArtifactInstallation)
    assert (installation.home / "plugins" / distribution.PLUGIN_NAME).is_dir()
    assert (installation.account is None) is (os.geteuid() != 0)
