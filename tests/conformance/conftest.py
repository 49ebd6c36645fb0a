"""One suite, every engine: a test that takes `index` or `new_index` runs once for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.indices import INDICES, Index, NewIndex, ReferenceIndex


@pytest.fixture(params=list(INDICES))
def new_index(request: pytest.FixtureRequest, tmp_path: Path) -> NewIndex:
    """Return what makes another empty index of the engine under test."""
    return INDICES[request.param](tmp_path)


@pytest.fixture
def index(new_index: NewIndex) -> Index:
    """Return an empty index of the engine under test."""
    return new_index()


@pytest.fixture(params=[name for name in INDICES if name != "reference"])
def new_compared(request: pytest.FixtureRequest, tmp_path: Path) -> NewIndex:
    """Return what makes an empty index of each engine that has to answer as the oracle does."""
    return INDICES[request.param](tmp_path)


@pytest.fixture
def compared(new_compared: NewIndex) -> Index:
    """Return an empty index of each engine that has to answer as the oracle does."""
    return new_compared()


@pytest.fixture
def oracle() -> Index:
    """Return an empty reference index."""
    return ReferenceIndex()
