"""Where the benchmarks find real passages and questions."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"


def data_folder() -> Path:
    """Return the folder of data sets beside the repository, or end with a sentence."""
    if not FOLDER.is_dir():
        sys.exit(f"error: this benchmark needs the data sets in {FOLDER}, which are not there")
    return FOLDER
