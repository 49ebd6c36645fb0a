"""What a benchmark reports, and how its figures are compared with their targets."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Literal

MEASURED_PACKAGES = ("tantivy", "PyStemmer", "regex", "orjson")


@dataclass(frozen=True, slots=True)
class Ratio:
    """One figure: `value` against `target`, which it must reach or must not pass."""

    value: float
    target: float
    bound: Literal["at_least", "at_most"]

    @property
    def holds(self) -> bool:
        """Whether the target is met."""
        if self.bound == "at_least":
            return self.value >= self.target
        return self.value <= self.target


def measured_versions() -> dict[str, str]:
    """Return the versions that a figure depends on: Python, machine, libraries."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{package: version(package) for package in MEASURED_PACKAGES},
    }


@dataclass(frozen=True, slots=True)
class Report:
    """A benchmark's outcome.

    Args:
        name: the benchmark's name.
        ratios: metric to figure; names carry their unit where they have one.
        reference: what it was measured against, with the reference's own rates in this run.
        method: how it was measured, in one or two sentences.
    """

    name: str
    ratios: dict[str, Ratio]
    reference: dict[str, float | str]
    method: str
    versions: dict[str, str] = field(default_factory=measured_versions)

    @property
    def holds(self) -> bool:
        """Whether every target is met."""
        return all(ratio.holds for ratio in self.ratios.values())

    def as_data(self) -> dict[str, object]:
        """Return the report in the shape of ``--json``."""
        return {
            "name": self.name,
            "ratios": {
                metric: {
                    "value": round(ratio.value, 4),
                    "target": ratio.target,
                    "bound": ratio.bound,
                    "holds": ratio.holds,
                }
                for metric, ratio in self.ratios.items()
            },
            "reference": self.reference,
            "method": self.method,
            "versions": self.versions,
        }


def median_pairs(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int
) -> tuple[float, float, float]:
    """Run two measurements in turn and return (median ours, median theirs, median ratio).

    Each callable returns what it measured, in the same unit. The ratio is taken pair by pair, so
    that it holds while the machine's speed drifts.
    """
    pairs: Sequence[tuple[float, float]] = [(ours(), theirs()) for _ in range(rounds)]
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[0] / pair[1] for pair in pairs),
    )
