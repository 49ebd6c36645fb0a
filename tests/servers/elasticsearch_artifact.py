"""Elasticsearch nodes as processes of the unpacked artifact, which refuses to run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.servers.elasticsearch_node import Node, write_configuration
from tests.servers.process import Account, CleanUp, ServerProcess, new_folder


@dataclass(frozen=True)
class ArtifactInstallation:
    """The unpacked artifact.

    Args:
        home: its folder.
        java_home: of the JDK it runs on.
        account: whom it runs as; None: as we do.
    """

    home: Path
    java_home: Path
    account: Account | None

    def new_run(self, clean_up: CleanUp) -> Path:
        """Return a new folder for one running cluster, and have it removed in the end."""
        if can_reach(self.account, self.home):
            runs = self.home.parent / "runs"
            runs.mkdir(exist_ok=True)
            folder = new_folder(clean_up, runs)
        else:
            # The repository lies where only its owner may look, so what is read is copied.
            folder = new_folder(clean_up)
            shutil.copytree(self.home, folder / "home")
        (folder / "snapshots").mkdir()
        give_to(self.account, folder)
        return folder

    def start(self, node: Node, clean_up: CleanUp) -> ServerProcess:
        """Start the node, or start it again on the data it has."""
        run = node.folder.parent
        home = run / "home" if (run / "home").is_dir() else self.home
        if not node.folder.exists():
            shutil.copytree(home / "config", node.configuration)
            (node.folder / "temporary").mkdir()
            paths = {
                "path.data": str(node.folder / "data"),
                "path.logs": str(node.folder / "logs"),
                "path.repo": str(run / "snapshots"),
            }
            write_configuration(node, paths)
            give_to(self.account, node.folder)
        variables = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(node.folder),
            "ES_JAVA_HOME": str(self.java_home),
            "ES_PATH_CONF": str(node.configuration),
            "ES_TMPDIR": str(node.folder / "temporary"),
            # Without performance data, which a killed Java leaves in the system's temporary folder.
            "ES_JAVA_OPTS": f"{node.java_options} -XX:-UsePerfData",
            "CLI_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:-UsePerfData",
        }
        command = [str(home / "bin" / "elasticsearch")]
        return ServerProcess(command, variables, node.log, self.account, clean_up)


def give_to(account: Account | None, folder: Path) -> None:
    """Make the account the owner of the folder and all in it; None: leaves it ours."""
    if account is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, account.user, account.group)


def can_reach(account: Account | None, folder: Path) -> bool:
    """Return whether the account may read the folder: a parent may be closed to it."""
    if account is None:
        return True
    # Asked as the account, since rights are more than mode bits. S603, S607: a constant program.
    asked = subprocess.run(  # noqa: S603
        ["ls", str(folder)],  # noqa: S607
        user=account.user,
        group=account.group,
        extra_groups=[],
        capture_output=True,
        check=False,
    )
    return asked.returncode == 0
