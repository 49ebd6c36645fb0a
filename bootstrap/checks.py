"""One thing that doctor looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at.

    Args:
        name: of what, in a word or two.
        status: ``ok``, ``warn`` (works, or is not set up yet), ``fail`` (does not work).
        message: what was found, without any secret.
        fix: what to do; empty where nothing is, or where the message says it.
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    message: str
    fix: str = ""
