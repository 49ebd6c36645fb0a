"""Fixtures that every tier shares."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# Deadlines would measure the machine. In CI the same examples are drawn every time, so that a red
# run means a change; elsewhere new ones are. A failure prints what reproduces it.
hypothesis.settings.register_profile("laptop", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") == "true" else "laptop")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of specifications, cases and data that lies beside the repository.

    It is no part of the product: where it is absent, its tests skip, except in CI.
    """
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI needs the shared folder at {folder}")
        pytest.skip(f"needs the shared folder at {folder}")
    return folder
