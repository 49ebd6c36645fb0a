"""A command imports what it uses: what starts it stays short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.source_tree import ROOT

READERS = ("ingest.pipeline", "ingest.readers", "bs4", "markdown_it", "docx", "pypdfium2")
PLANNERS = ("logicalrag.agent.planners.offline", "logicalrag.agent.planners.model_driven")
CLUSTER = ("elasticsearch", "elastic_transport", "logicalrag.engines.elastic.engine")
MODEL = ("anthropic", "httpx", "logicalrag.agent.planners.model_driven")


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        ("search", (*READERS, *PLANNERS, *MODEL, *CLUSTER, "rich.markdown")),
        ("stats", (*READERS, *PLANNERS, *MODEL, *CLUSTER)),
        ("why-not", (*READERS, *PLANNERS, *MODEL, *CLUSTER)),
        ("ask", (*READERS, *MODEL, *CLUSTER)),
        ("ingest", (*PLANNERS, *MODEL, *CLUSTER, "pypdfium2")),
        ("doctor", (*MODEL, *CLUSTER)),
        ("index", (*READERS, *PLANNERS, *MODEL, *CLUSTER)),
        ("attach", (*READERS, *PLANNERS, *MODEL, *CLUSTER)),
        ("reconcile", (*READERS, *PLANNERS, *MODEL, *CLUSTER)),
    ],
)
def test_a_command_leaves_out_what_it_does_not_use(command: str, absent: tuple[str, ...]) -> None:
    program = f"import sys, cli.main; cli.main.load({command!r}); print(*sys.modules)"
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "cli.main" in loaded
    assert loaded & set(absent) == set()


def test_the_embedded_product_runs_without_the_package_of_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Alcina is an opera by Handel.")
    for arguments in (
        ["ingest", "a.txt"],
        ["search", "opera"],
        ["stats"],
        ["ask", "Who wrote Alcina?"],
        ["doctor"],
        ["config"],
        ["delete", "a.txt"],
    ):
        assert _without_the_package(tmp_path, arguments).returncode in (0, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "opera"],
        ["ingest", "a.txt"],
        ["index", "list"],
        ["attach", "articles", "--content", "body"],
        ["reconcile"],
    ],
)
def test_a_cluster_without_its_package_is_one_sentence(
    tmp_path: Path, arguments: list[str]
) -> None:
    ran = _without_the_package(tmp_path, arguments, LOGICALRAG_ENGINE="elastic")
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: The engine elastic needs a package")
    assert "pip install 'logicalrag[elastic]'" in ran.stderr


def test_doctor_names_the_package_that_is_missing(tmp_path: Path) -> None:
    ran = _without_the_package(tmp_path, ["doctor"], LOGICALRAG_ENGINE="elastic")
    assert ran.returncode == 1
    assert "pip install 'logicalrag[elastic]'" in ran.stdout


def _without_the_package(
    folder: Path, arguments: list[str], **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command where importing the cluster's packages fails as if they were not there."""
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('elasticsearch', 'elastic_transport'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        f"sys.argv = ['logicalrag', *{arguments!r}]\n"
        "from cli.main import run\n"
        "run()\n"
    )
    kept = {name: value for name, value in os.environ.items() if "LOGICALRAG" not in name}
    return subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**kept, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "200", **variables},
    )
