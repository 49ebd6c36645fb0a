"""What this machine may and can install, and the one error for what it lacks."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.source_tree import ROOT

# Downloads, logs and running servers' data. It ignores itself, so that git never sees it.
SERVERS = ROOT / ".servers"


class ServerError(RuntimeError):
    """A server cannot be had or started here; the message says why and what to do."""


def may_install(environment: Mapping[str, str]) -> bool:
    """Return whether tests may download and install by themselves: in CI, and as Debian's root."""
    return environment.get("CI") == "true" or _is_debian_root()


def _is_debian_root() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def provide_commands(packages: Mapping[str, str]) -> None:
    """Install Debian packages for the commands that are missing, where this is Debian's root.

    Args:
        packages: from a command's name to the package that has it.

    Raises:
        ServerError: a command is missing and cannot be installed.
    """
    missing = {name: package for name, package in packages.items() if not shutil.which(name)}
    if not missing:
        return
    names = sorted(set(missing.values()))
    advice = f"needs {', '.join(missing)}; install {', '.join(names)} (Debian's names)"
    if not _is_debian_root():
        raise ServerError(advice)
    install = ["install", "--yes", "--no-install-recommends", *names]
    for arguments in (["update"], install):
        run(["apt-get", "--quiet", *arguments], 900, advice, {"DEBIAN_FRONTEND": "noninteractive"})


def run(
    command: list[str], seconds: float, failure: str, variables: Mapping[str, str] | None = None
) -> None:
    """Run a program to its end, without input.

    Args:
        seconds: after which it is killed.
        failure: what could not be done, the start of the error's sentence.
        variables: added to the environment.

    Raises:
        ServerError: it is missing, fails or takes too long; with the end of what it wrote.
    """
    try:
        # S603: every command comes from this package, none from a document or a user.
        done = subprocess.run(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(variables or {})},
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise ServerError(f"{failure}: there is no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise ServerError(f"{failure}: {command[0]} took over {seconds:g} s") from None
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace").strip()[-1500:]
        raise ServerError(f"{failure}: {command[0]} failed with {done.returncode}: {said}")


def servers_folder() -> Path:
    """Return the folder for everything servers need on disk, made where it is missing."""
    SERVERS.mkdir(exist_ok=True)
    ignore = SERVERS / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    return SERVERS


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, made where it is missing; who asks meanwhile waits."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
