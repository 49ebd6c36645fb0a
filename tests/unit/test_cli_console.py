"""How values are shown on a terminal."""

from __future__ import annotations

import pytest

from cli.console import shown_value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2020.0, "2020"),
        (-0.5, "-0.5"),
        (1e300, "1e+300"),
        (2.0**53, "9007199254740992"),
        ("x", "x"),
    ],
)
def test_a_metadata_value_is_shown_as_a_person_writes_it(value: str | float, expected: str) -> None:
    assert shown_value(value) == expected
