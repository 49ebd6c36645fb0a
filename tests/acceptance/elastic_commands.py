"""The command on a collection of a test's own, in a cluster that others use too."""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.acceptance.conftest import SECONDS, Command, Ran, environment
from tests.servers.elasticsearch_server import Server
from tests.source_tree import ROOT


class Collection:
    """Runs commands with an environment that names the cluster and a prefix.

    Args:
        command: runs the command line.
        server: the cluster.
        prefix: of all its indices.
    """

    def __init__(self, command: Command, server: Server, prefix: str) -> None:
        self._command = command
        self.server = server
        self.prefix = prefix
        self.environment = {
            "LOGICALRAG_ENGINE": "elastic",
            "LOGICALRAG_ELASTIC_HOSTS": ",".join(server.urls),
            "LOGICALRAG_ELASTIC_INDEX": prefix,
            **security(server),
        }

    def __call__(self, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
        """Run a command, with more of the environment where that is given."""
        return self._command(*arguments, env={**self.environment, **(env or {})})

    def run_python(self, program: str) -> None:
        """Run a program of ours with the environment of the commands."""
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", program],
            cwd=ROOT,
            check=True,
            timeout=SECONDS,
            env=environment(self.environment),
        )

    def indices(self) -> list[str]:
        """Return the names of all that the collection has in the cluster."""
        found = self.server.request("GET", f"/{self.prefix}-*,{self.prefix}_*/_alias")
        return sorted(found.body)


def security(server: Server) -> dict[str, str]:
    """Return what the environment has to hold so that the server lets its own user in."""
    found = {}
    if server.credentials is not None:
        found["LOGICALRAG_ELASTIC_USER"] = server.credentials.user
        found["LOGICALRAG_ELASTIC_PASSWORD"] = server.credentials.password
    if server.ca_file is not None:
        found["LOGICALRAG_ELASTIC_CA_FILE"] = str(server.ca_file)
    return found


@contextmanager
def collection(command: Command, server: Server) -> Iterator[Collection]:
    """Yield a new name for a collection, and remove in the end what there is under it."""
    ours = Collection(command, server, f"acceptance_{secrets.token_hex(4)}")
    try:
        yield ours
    finally:
        for index in ours.indices():
            server.request("DELETE", f"/{index}")
