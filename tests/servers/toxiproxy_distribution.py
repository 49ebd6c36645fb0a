"""The toxiproxy that tests run: built once with Go, from a pinned release, and used again."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.servers.availability import ServerError, locked, run, servers_folder

MODULE = "github.com/Shopify/toxiproxy/v2"
VERSION = "v2.12.0"
# Of the module's source, as Go itself computes it and writes it into the program.
CHECKSUM = "h1:d1x++lYZg/zijXPPcv7PH0MvHMzEI5aX/YuUi/Sw+yg="
OLDEST_GO = "1.23"
# Where Go's own archive puts it, which is not always on the path.
_GO = "/usr/local/go/bin/go"


def toxiproxy_folder() -> Path:
    """Return the folder for all that toxiproxy needs on disk, made where it is missing."""
    folder = servers_folder() / "toxiproxy"
    folder.mkdir(exist_ok=True)
    return folder


def installed_program(may_install: bool, folder: Path | None = None) -> Path:
    """Return the server's program, built where it is missing.

    Processes that ask at once wait for the first; what is there got its name when it was whole.

    Args:
        may_install: whether its source may be fetched and built (about a minute).
        folder: where programs are kept; None: ``.servers/toxiproxy`` of the repository.

    Raises:
        ServerError: it is not there and cannot or may not be built.
    """
    folder = folder or toxiproxy_folder()
    program = folder / f"toxiproxy-{VERSION}"
    if program.is_file():
        return program
    with locked(folder / "lock"):
        if program.is_file():
            return program
        if not may_install:
            raise ServerError("toxiproxy is not installed here; run `make servers` once")
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            _build(Path(temporary)).rename(program)
    return program


def _build(folder: Path) -> Path:
    go = shutil.which("go") or shutil.which(_GO)
    if go is None:
        raise ServerError(f"toxiproxy is built with Go {OLDEST_GO} or newer; install it")
    package = f"{MODULE}/cmd/server@{VERSION}"
    run([go, "install", package], 900, "toxiproxy could not be built", {"GOBIN": str(folder)})
    program = folder / "server"
    # S603: Go itself and a path of ours.
    told = subprocess.run(  # noqa: S603
        [go, "version", "-m", str(program)], capture_output=True, text=True, check=False
    )
    if f"\t{MODULE}\t{VERSION}\t{CHECKSUM}\n" not in told.stdout:
        raise ServerError(
            f"toxiproxy could not be built: {package} is not the source whose checksum is pinned"
        )
    return program
