"""Elasticsearch clusters for development and tests, on 127.0.0.1, whose nodes can be broken."""

from __future__ import annotations

import atexit
import http.client
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.servers.availability import ServerError, may_install
from tests.servers.certificates import make_certificates
from tests.servers.containers import ContainerInstallation, find_engine
from tests.servers.elasticsearch_artifact import ArtifactInstallation
from tests.servers.elasticsearch_distribution import elasticsearch_folder, install, installed_home
from tests.servers.elasticsearch_node import Credentials, Installation, Node
from tests.servers.elasticsearch_server import Server
from tests.servers.java import find_jdk
from tests.servers.ports import free_ports, is_listened_on
from tests.servers.process import CleanUp, ServerProcess, server_account

LOGS_KEPT = 20
LOG_BYTES_SHOWN = 4000
POLL_SECONDS = 0.1
END_SECONDS = 10
# Half of the processor time that a start takes otherwise, at the price of slower long runs.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:-UseG1GC -XX:+UseSerialGC"


def available_installation(environment: Mapping[str, str]) -> Installation:
    """Return what clusters are started from: containers where an engine runs, else the artifact.

    Raises:
        ServerError: neither can be had; one sentence says what to do.
    """
    engine = find_engine()
    if engine is not None:
        return ContainerInstallation(engine)
    if may_install(environment):
        home = install(environment)
        java_home = find_jdk(environment)
    else:
        java_home = find_jdk(environment)
        home = installed_home(java_home, may_download=False)
    return ArtifactInstallation(home, java_home, server_account())


class Cluster(Server):
    """A cluster of our own: a context manager that ends it and removes its data.

    It ends as well when this process does, however that happens. Nodes count from 0, as in `urls`.
    """

    @classmethod
    def start(
        cls,
        nodes: int = 1,
        security: bool = False,
        *,
        heap_mebibytes: int = 512,
        settings: Mapping[str, object] | None = None,
        java_options: str = QUICK_START,
        first_port: int | None = None,
        boot_seconds: float = 240,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Return a cluster whose nodes have all joined and whose state is green.

        Args:
            nodes: how many, at least 1; each takes its heap and some 350 MB.
            security: HTTPS, a superuser (`credentials`), roles and API keys.
            heap_mebibytes: of each node's Java, at least 256.
            settings: more for every node's ``elasticsearch.yml``.
            java_options: more for every node's Java; empty (for benchmarks): its own choice.
            first_port: for HTTP, counted up from node to node; None: any that are free.
            boot_seconds: until when it must be green.
            environment: where Java and the rights to install are looked up; None: the process's.

        Raises:
            ServerError: it cannot be had here, or did not start; then with the end of the log
                of the node that failed.
        """
        installation = available_installation(os.environ if environment is None else environment)
        clean_up = CleanUp()
        try:
            planned = _plan(
                installation.new_run(clean_up),
                nodes,
                first_port,
                security,
                {
                    "network.host": "127.0.0.1",
                    # A machine whose disk is nearly full must not make indices read-only.
                    "cluster.routing.allocation.disk.threshold_enabled": False,
                    **(settings or {}),
                },
                f"-Xms{heap_mebibytes}m -Xmx{heap_mebibytes}m {java_options}".rstrip(),
            )
            cluster = cls(installation, planned, clean_up)
        except BaseException:
            clean_up.run()
            raise
        try:
            for index in range(nodes):
                cluster._start_node(index)
            cluster.wait_for("green", nodes, boot_seconds)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def __init__(self, installation: Installation, nodes: list[Node], clean_up: CleanUp) -> None:
        """Make a cluster that has not started; `start` is the way to one that has."""
        certificates = nodes[0].certificates
        scheme = "http" if certificates is None else "https"
        super().__init__(
            tuple(f"{scheme}://127.0.0.1:{node.http_port}" for node in nodes),
            nodes[0].credentials,
            None if certificates is None else certificates / "ca.crt",
        )
        self._installation = installation
        self._nodes = nodes
        self._clean_up = clean_up
        self._processes: dict[int, ServerProcess] = {}
        self._paused: set[int] = set()
        atexit.register(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End every node at once and remove all data; a second call does nothing."""
        atexit.unregister(self.stop)
        for process in self._processes.values():
            process.kill()
        for index in self._processes:
            self._await_end(index)
        self._clean_up.run()

    def kill_node(self, index: int) -> None:
        """End the node at once, as a power cut would (SIGKILL); `restart_node` finds its data."""
        self._processes[index].kill()
        self._await_end(index)
        self._paused.discard(index)

    def pause_node(self, index: int) -> None:
        """Stop the node where it stands (SIGSTOP): connections stay open, nothing answers."""
        self._processes[index].pause()
        self._paused.add(index)

    def resume_node(self, index: int) -> None:
        """Let a paused node go on (SIGCONT)."""
        self._processes[index].resume()
        self._paused.discard(index)

    def restart_node(self, index: int, seconds: float = 120) -> None:
        """Start the node on its data, after asking it to end if it runs; return when it has joined.

        Raises:
            ServerError: it did not join within so many seconds.
        """
        self.resume_node(index)
        self._processes[index].terminate()
        self._await_end(index)
        self._start_node(index)
        self.wait_for("red", self._alive(), seconds, node=index)

    def restart(self, seconds: float = 240) -> None:
        """Ask all nodes to end, then start all; return when all have joined.

        Raises:
            ServerError: one did not join within so many seconds.
        """
        for index, process in self._processes.items():
            self.resume_node(index)
            process.terminate()
        for index in self._processes:
            self._await_end(index)
            self._start_node(index)
        self.wait_for("red", len(self._nodes), seconds)

    def heal(self, seconds: float = 120) -> None:
        """Undo faults: resume and start nodes, clear cluster settings, wait until all is green.

        Raises:
            ServerError: it is not green within so many seconds.
        """
        for index in list(self._paused):
            self.resume_node(index)
        dead = [index for index, process in self._processes.items() if not process.is_alive]
        for index in dead:
            self._processes[index].kill()
            self._start_node(index)
        self.wait_for("red", len(self._nodes), seconds)
        self.request("PUT", "/_cluster/settings", {"persistent": {"*": None}})
        self.wait_for("green", len(self._nodes), seconds)

    def wait_for(
        self, status: str, nodes: int | None = None, seconds: float = 60, *, node: int | None = None
    ) -> None:
        """Return once the cluster is in this state.

        Args:
            status: the least: green, yellow or red (any).
            nodes: exactly how many have joined; None: any number.
            seconds: until when.
            node: which one is asked; None: the first that runs.

        Raises:
            ServerError: it is not, or a node ended while we waited.
        """
        deadline = time.monotonic() + seconds
        running = [index for index, process in self._processes.items() if process.is_alive]
        said = "it did not answer"
        while time.monotonic() < deadline:
            for index in running:
                if not self._processes[index].is_alive:
                    raise ServerError(self._failure(index, "ended"))
            asked = next((i for i in running if i not in self._paused), 0) if node is None else node
            path = f"/_cluster/health?wait_for_status={status}&timeout=2s&master_timeout=2s"
            try:
                answer = self.request(
                    "GET", path if nodes is None else f"{path}&wait_for_nodes={nodes}", node=asked
                )
            except (OSError, http.client.HTTPException):
                time.sleep(POLL_SECONDS)
                continue
            if answer.status == 200:
                return
            said = f"it answered {answer.status}: {str(answer.body)[:300]}"
            # A refusal comes at once, a health that is not reached after the time-out above.
            time.sleep(POLL_SECONDS)
        failure = f"was not {status} with {nodes or 'its'} nodes in {seconds:g} s; {said}"
        raise ServerError(self._failure(0 if node is None else node, failure))

    def log(self, index: int) -> Path:
        """Return the file that holds what the node wrote; it stays after `stop`."""
        return self._nodes[index].log

    def _await_end(self, index: int) -> None:
        # What a killed process held, the lock of its data too, is free a moment later.
        deadline = time.monotonic() + END_SECONDS
        while is_listened_on(self._nodes[index].http_port) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS / 10)

    def _alive(self) -> int:
        return sum(process.is_alive for process in self._processes.values())

    def _start_node(self, index: int) -> None:
        self._processes[index] = self._installation.start(self._nodes[index], self._clean_up)

    def _failure(self, index: int, what: str) -> str:
        log = self.log(index)
        end = log.read_bytes()[-LOG_BYTES_SHOWN:].decode("utf-8", "replace")
        return f"Elasticsearch's {self._nodes[index].name} {what}. The end of {log}:\n{end}"


def _plan(
    folder: Path,
    count: int,
    first_port: int | None,
    security: bool,
    settings: Mapping[str, object],
    java_options: str,
) -> list[Node]:
    certificates = folder / "certificates" if security else None
    if certificates is not None:
        make_certificates(certificates)
    credentials = Credentials("tester", secrets.token_urlsafe(18)) if security else None
    free = free_ports(2 * count)
    http_ports = range(first_port, first_port + count) if first_port else free[:count]
    transport_ports = free[count:]
    cluster = f"logicalrag-{folder.name}"
    names = [f"node-{index}" for index in range(count)]
    logs = _logs_folder()
    return [
        Node(
            name=name,
            folder=folder / name,
            http_port=http_port,
            settings={
                "cluster.name": cluster,
                "cluster.initial_master_nodes": names,
                "discovery.seed_hosts": [f"127.0.0.1:{port}" for port in transport_ports],
                "transport.port": transport_port,
                **settings,
            },
            java_options=java_options,
            log=logs / f"{cluster}-{name}.log",
            certificates=certificates,
            credentials=credentials,
        )
        for name, http_port, transport_port in zip(names, http_ports, transport_ports, strict=True)
    ]


def _logs_folder() -> Path:
    folder = elasticsearch_folder() / "logs"
    folder.mkdir(exist_ok=True)
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-LOGS_KEPT]:
        old.unlink(missing_ok=True)
    return folder
