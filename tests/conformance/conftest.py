"""One suite, every engine: a test that takes `index` or `new_index` runs once for each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from tests.conformance.indices import INDICES, Index, ReferenceIndex

NewIndex = Callable[[], Index]


@pytest.fixture(params=list(INDICES))
def new_index(request: pytest.FixtureRequest, tmp_path: Path) -> NewIndex:
    """Return what makes another empty index of the engine under test."""
    numbers = count()
    make = INDICES[request.param]

    def another() -> Index:
        folder = tmp_path / f"index-{next(numbers)}"
        folder.mkdir()
        return make(folder)

    return another


@pytest.fixture
def index(new_index: NewIndex) -> Index:
    """Return an empty index of the engine under test."""
    return new_index()


@pytest.fixture(params=[name for name in INDICES if name != "reference"])
def compared(request: pytest.FixtureRequest, tmp_path: Path) -> Index:
    """Return an empty index of each engine that has to answer as the oracle does."""
    return INDICES[request.param](tmp_path)


@pytest.fixture
def oracle() -> Index:
    """Return an empty reference index."""
    return ReferenceIndex()
