"""Server processes that can be killed, stalled and surely ended."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WATCHDOG = Path(__file__).with_name("watchdog.py")


@dataclass(frozen=True)
class Account:
    """Whom a server runs as."""

    user: int
    group: int


def server_account() -> Account | None:
    """Return whom servers that refuse root run as: `nobody` where we are root, else None (us)."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid)


class CleanUp:
    """Commands that run when this process ends, in whatever way: a watchdog process holds them."""

    def __init__(self) -> None:
        # S603: the command is this interpreter and a file of this package.
        self._watchdog = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", str(WATCHDOG)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def add(self, *command: str) -> None:
        """Add a command; the last added runs first."""
        self._tell("add", command)

    def drop(self, *command: str) -> None:
        """Forget a command that was added."""
        self._tell("drop", command)

    def run(self) -> None:
        """Run all commands now and wait for their end; a second call does nothing."""
        if self._watchdog.stdin is not None and not self._watchdog.stdin.closed:
            self._watchdog.stdin.close()
            self._watchdog.wait()

    def _tell(self, verb: str, command: Sequence[str]) -> None:
        if self._watchdog.stdin is None or self._watchdog.stdin.closed:
            raise RuntimeError("these commands have run already")
        self._watchdog.stdin.write(json.dumps({verb: command}) + "\n")
        self._watchdog.stdin.flush()


def new_folder(clean_up: CleanUp, parent: Path | None = None) -> Path:
    """Return a new folder in `parent`, or where the system keeps such, to be removed in the end."""
    folder = Path(tempfile.mkdtemp(prefix="cluster-", dir=parent))
    clean_up.add("rm", "-rf", str(folder))
    return folder


class ServerProcess:
    """A server with all its children, in a process group of its own.

    Args:
        command: program and arguments.
        variables: the whole environment of the server.
        log: file that what it writes is appended to.
        account: whom it runs as; None: as we do.
        clean_up: told of the group as long as it may live.
    """

    def __init__(
        self,
        command: Sequence[str],
        variables: Mapping[str, str],
        log: Path,
        account: Account | None,
        clean_up: CleanUp,
    ) -> None:
        with log.open("ab") as output:
            # S603: every command comes from this package.
            self._process = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(variables),
                start_new_session=True,
                user=account.user if account else None,
                group=account.group if account else None,
                extra_groups=[] if account else None,
            )
        self._clean_up = clean_up
        self._has_ended = False
        self._clean_up.add(*self._killing())

    @property
    def is_alive(self) -> bool:
        """Whether the server runs or is paused."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the server at once, as a power cut would; a second call does nothing.

        Its children end a moment later.
        """
        self._signal(signal.SIGKILL)
        if self._has_ended:
            return
        self._process.wait()
        self._clean_up.drop(*self._killing())
        self._has_ended = True

    def terminate(self, seconds: float = 30) -> None:
        """Ask the server to end, and kill it after so many seconds."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.kill()

    def pause(self) -> None:
        """Stop the server where it stands, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on."""
        self._signal(signal.SIGCONT)

    def _killing(self) -> tuple[str, ...]:
        return ("kill", "-KILL", "--", f"-{self._process.pid}")

    def _signal(self, number: signal.Signals) -> None:
        # The group may outlive its leader, but once killed its number may be somebody else's.
        if not self._has_ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
