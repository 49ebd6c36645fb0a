"""Archives from the Maven repository, checked against a pinned digest."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.servers.availability import ServerError, run


@dataclass(frozen=True)
class Artifact:
    """One file of a Maven repository.

    Args:
        group, name, version, extension: its coordinates.
        sha512: of the file, in hexadecimal.
    """

    group: str
    name: str
    version: str
    extension: str
    sha512: str

    @property
    def file_name(self) -> str:
        """The name under which Maven stores the file."""
        return f"{self.name}-{self.version}.{self.extension}"


def download(artifact: Artifact, folder: Path, java_home: Path) -> Path:
    """Return the artifact's file in `folder`, downloaded where it is missing or damaged.

    It is checked against the pinned digest each time. Maven's own checksums are not asked for
    strictly, because some mirrors serve none.

    Raises:
        ServerError: Maven is missing or cannot reach the repository, or the file is another.
    """
    path = folder / artifact.file_name
    if path.is_file() and sha512(path) == artifact.sha512:
        return path
    coordinates = f"{artifact.group}:{artifact.name}:{artifact.version}:{artifact.extension}"
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        command = ["mvn", "--batch-mode", "--quiet", "dependency:copy"]
        command += [f"-Dartifact={coordinates}", f"-DoutputDirectory={temporary}"]
        failure = f"{coordinates} could not be downloaded"
        run(command, 900, failure, {"JAVA_HOME": str(java_home)})
        found = Path(temporary) / artifact.file_name
        if not found.is_file() or sha512(found) != artifact.sha512:
            raise ServerError(
                f"{failure}: Maven's copy is not the file whose SHA-512 is pinned; remove it from "
                "the local Maven repository and run again"
            )
        found.replace(path)
    return path


def sha512(path: Path) -> str:
    """Return the file's SHA-512 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha512").hexdigest()
