"""Elasticsearch nodes as containers, where a container engine runs.

Nodes share the machine's network, so that settings, ports and addresses are those of the artifact.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers.elasticsearch_node import Node, write_configuration
from tests.servers.process import CleanUp, ServerProcess, new_folder

IMAGE = "docker.elastic.co/elasticsearch/elasticsearch:8.19.7"
INSIDE = "/usr/share/elasticsearch"
# What the full server does by itself and no test needs.
SETTINGS = {"ingest.geoip.downloader.enabled": False, "xpack.ml.enabled": False}


def find_engine() -> str | None:
    """Return the path of docker or podman if one is here and answers, else None."""
    for name in ("docker", "podman"):
        path = shutil.which(name)
        if path is not None and _answers(path):
            return path
    return None


def _answers(engine: str) -> bool:
    try:
        # S603: a program found on the path, constant arguments.
        asked = subprocess.run([engine, "info"], capture_output=True, timeout=20, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


def run_command(engine: str, container: str, node: Node) -> list[str]:
    """Return the command that runs the node in the foreground, its data in a volume.

    The node's configuration has been written: each file of it replaces the image's own.
    """
    command = [engine, "run", "--rm", "--name", container, "--network", "host"]
    command += ["--env", f"ES_JAVA_OPTS={node.java_options}"]
    command += ["--volume", f"{container}:{INSIDE}/data"]
    for path in sorted(node.configuration.iterdir()):
        command += ["--volume", f"{path}:{INSIDE}/config/{path.name}:ro"]
    return [*command, IMAGE]


@dataclass(frozen=True)
class ContainerInstallation:
    """The official image.

    Args:
        engine: path of docker or podman.
    """

    engine: str

    def new_run(self, clean_up: CleanUp) -> Path:
        """Return a new folder for one running cluster, and have it removed in the end."""
        return new_folder(clean_up)

    def start(self, node: Node, clean_up: CleanUp) -> ServerProcess:
        """Start the node, or start it again on the data it has."""
        container = f"{node.settings['cluster.name']}-{node.name}"
        if not node.folder.exists():
            write_configuration(node, SETTINGS)
            clean_up.add(self.engine, "volume", "rm", container)
        command = run_command(self.engine, container, node)
        return ContainerProcess(self.engine, container, command, node.log, clean_up)


class ContainerProcess(ServerProcess):
    """A container that runs in the foreground; asked to end, it hears of it from its engine.

    Args:
        engine: path of docker or podman.
        container: its name.
        command: runs it.
        log, clean_up: as for `ServerProcess`.
    """

    def __init__(
        self, engine: str, container: str, command: Sequence[str], log: Path, clean_up: CleanUp
    ) -> None:
        self._engine = engine
        self._container = container
        super().__init__(command, os.environ, log, None, clean_up)

    def _killing(self) -> tuple[str, ...]:
        return (self._engine, "rm", "--force", self._container)

    def _signal(self, number: signal.Signals) -> None:
        verbs = {signal.SIGSTOP: ["pause"], signal.SIGCONT: ["unpause"]}
        verb = verbs.get(number, ["kill", "--signal", number.name])
        # S603: the engine's path and words of this module.
        subprocess.run(  # noqa: S603
            [self._engine, *verb, self._container], capture_output=True, check=False
        )
