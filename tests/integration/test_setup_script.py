"""`scripts/setup.sh` on machines that are made of stand-ins: no network, no package manager."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.source_tree import ROOT

# A Python as the script sees one: a version, whether ensurepip is there, a record of its calls.
PYTHON = """#!/bin/sh
case "$*" in
*sys.exit*) exit {too_old} ;;
*ensurepip*) [ -e "{machine}/ensurepip" ] ;;
*print*) echo 3.11 ;;
--version) echo "Python 3.11.0" ;;
"-m venv --clear "*)
    rm -rf "$4" && mkdir -p "$4/bin" && cp "$0" "$4/bin/python" && echo venv >>"{machine}/calls" ;;
*"pip "*"--requirement"*) echo requirements >>"{machine}/calls"; [ ! -e "{machine}/offline" ] ;;
*"pip "*"--editable"*) echo project >>"{machine}/calls" ;;
*) exit 0 ;;
esac
"""
APT_GET = """#!/bin/sh
echo "apt-get $1 ${{DEBIAN_FRONTEND:-}}" >>"{machine}/calls"
[ "$1" = update ] || touch "{machine}/ensurepip"
"""
ID = "#!/bin/sh\necho {user}\n"


@dataclass(frozen=True, slots=True)
class Machine:
    """A clone of the project and the commands on the machine's path."""

    folder: Path

    @property
    def clone(self) -> Path:
        """Return the project's folder; its name has a space, as a user's may."""
        return self.folder / "a clone"

    def install(self, name: str, script: str, **values: object) -> None:
        """Put a command on the path; `values` fill the script's braces."""
        command = self.folder / "bin" / name
        command.write_text(script.format(machine=self.folder, **values), encoding="utf-8")
        command.chmod(0o755)

    def python(self, name: str, *, too_old: bool = False) -> None:
        """Put a Python on the path."""
        self.install(name, PYTHON, too_old=int(too_old))

    def set_up(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script with nothing but this machine's commands."""
        return subprocess.run(
            ["/bin/sh", "scripts/setup.sh"],
            cwd=self.clone,
            env={"PATH": str(self.folder / "bin"), "HOME": str(self.folder)} | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> list[str]:
        """Return what was done since this was last asked, in order."""
        record = self.folder / "calls"
        done = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
        record.unlink(missing_ok=True)
        return done


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine with ensurepip, a normal user and no Python yet."""
    made = Machine(tmp_path)
    (made.clone / "scripts").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "ensurepip").touch()
    for name in ("scripts/setup.sh", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, made.clone / name)
    for name in ("dirname", "cmp", "cat", "cp", "rm", "mkdir", "touch"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / "bin" / name).symlink_to(found)
    made.install("id", ID, user=1000)
    return made


def test_a_second_run_does_nothing(machine: Machine) -> None:
    machine.python("python3")
    assert machine.set_up().returncode == 0
    assert machine.calls() == ["venv", "requirements", "project"]
    (machine.folder / "offline").touch()
    second = machine.set_up()
    assert (second.returncode, second.stderr, machine.calls()) == (0, "", [])


def test_only_what_changed_is_done_again(machine: Machine) -> None:
    machine.python("python3")
    machine.set_up()
    machine.calls()
    with (machine.clone / "pyproject.toml").open("a", encoding="utf-8") as settings:
        settings.write("# changed\n")
    machine.set_up()
    assert machine.calls() == ["project"]
    with (machine.clone / "requirements.lock").open("a", encoding="utf-8") as lock:
        lock.write("# changed\n")
    machine.set_up()
    assert machine.calls() == ["requirements", "project"]


def test_a_moved_clone_is_made_again(machine: Machine) -> None:
    machine.python("python3")
    machine.set_up()
    machine.calls()
    other = machine.folder / "other"
    shutil.move(machine.clone, other)
    finished = subprocess.run(  # noqa: S603 - the command is written here
        ["/bin/sh", other / "scripts/setup.sh"],
        env={"PATH": str(machine.folder / "bin")},
        capture_output=True,
        check=False,
    )
    assert finished.returncode == 0
    assert machine.calls() == ["venv", "requirements", "project"]


def test_a_failed_download_is_said_and_tried_again(machine: Machine) -> None:
    machine.python("python3")
    (machine.folder / "offline").touch()
    failed = machine.set_up()
    assert failed.returncode == 1
    assert "check that it can be reached and run again" in failed.stderr
    assert machine.calls() == ["venv", "requirements"]
    (machine.folder / "offline").unlink()
    assert machine.set_up().returncode == 0
    assert machine.calls() == ["requirements", "project"]


def test_a_stub_that_runs_nothing_is_passed_over(machine: Machine) -> None:
    machine.install("python3.13", "#!/bin/sh\nexit 127\n")
    machine.python("python3.12", too_old=True)
    machine.python("python3")
    finished = machine.set_up()
    assert finished.returncode == 0
    assert "making .venv with Python 3.11.0" in finished.stderr


@pytest.mark.parametrize("present", [True, False])
def test_without_a_new_python_it_says_so(machine: Machine, present: bool) -> None:
    if present:
        machine.python("python3", too_old=True)
    finished = machine.set_up()
    assert finished.returncode == 1
    assert "no Python 3.11 or newer was found; install one" in finished.stderr
    assert machine.calls() == []


def test_a_named_python_is_used_or_refused(machine: Machine) -> None:
    machine.python("python3", too_old=True)
    machine.python("another")
    refused = machine.set_up(PYTHON="python3")
    assert refused.returncode == 1
    assert "PYTHON=python3 is no Python 3.11 or newer that runs" in refused.stderr
    assert machine.set_up(PYTHON="another").returncode == 0


def test_root_on_debian_gets_what_is_missing(machine: Machine) -> None:
    machine.python("python3")
    machine.install("apt-get", APT_GET)
    machine.install("id", ID, user=0)
    (machine.folder / "ensurepip").unlink()
    finished = machine.set_up()
    assert finished.returncode == 0, finished.stderr
    assert machine.calls() == [
        "apt-get update noninteractive",
        "apt-get install noninteractive",
        "venv",
        "requirements",
        "project",
    ]


def test_others_are_told_what_is_missing(machine: Machine) -> None:
    machine.python("python3")
    machine.install("apt-get", APT_GET)
    (machine.folder / "ensurepip").unlink()
    finished = machine.set_up()
    assert finished.returncode == 1
    assert "run as root: apt-get install python3.11-venv" in finished.stderr
    assert machine.calls() == []


def test_a_python_that_can_make_environments_is_preferred(machine: Machine) -> None:
    machine.install("python3.13", PYTHON.replace("{machine}/ensurepip", "/nowhere"), too_old=0)
    machine.python("python3")
    machine.install("apt-get", APT_GET)
    finished = machine.set_up()
    assert finished.returncode == 0, finished.stderr
    assert machine.calls() == ["venv", "requirements", "project"]
