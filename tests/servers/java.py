"""Which JDK runs the Java servers and compiles what is added to them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.servers.availability import ServerError

OLDEST_JDK = 17


def find_jdk(environment: Mapping[str, str]) -> Path:
    """Return the folder of a JDK that is new enough.

    ``ES_JAVA_HOME`` is taken at its word; else ``JAVA_HOME``, the ``javac`` on the path and
    ``/usr/lib/jvm`` are looked at, in this order.

    Raises:
        ServerError: none fits, or ``ES_JAVA_HOME`` names none.
    """
    named = environment.get("ES_JAVA_HOME")
    if named:
        if not _is_jdk(Path(named)):
            raise ServerError(
                f"ES_JAVA_HOME names {named}, which is no JDK {OLDEST_JDK} or newer; name the "
                "folder that holds bin/javac and the file release, or unset it"
            )
        return Path(named)
    for candidate in _candidates(environment):
        if _is_jdk(candidate):
            return candidate
    raise ServerError(
        f"Elasticsearch needs a JDK {OLDEST_JDK} or newer; install one "
        "(Debian: default-jdk-headless) or name it in ES_JAVA_HOME"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"])
    compiler = shutil.which("javac", path=environment.get("PATH"))
    if compiler:
        yield Path(compiler).resolve().parents[1]
    yield from sorted(Path("/usr/lib/jvm").glob("*"))


def _is_jdk(folder: Path) -> bool:
    try:
        release = (folder / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    version = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return (
        version is not None
        and int(version[1]) >= OLDEST_JDK
        and all((folder / "bin" / name).is_file() for name in ("java", "javac", "jar"))
    )
