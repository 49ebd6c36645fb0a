"""Passages in bulk, made from the real ones: copies with ids of their own, said so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.data import data_folder

PASSAGES = 100_000


def copied_passages(number: int = PASSAGES) -> Iterator[dict[str, str]]:
    """Yield `number` passages: 2wikimultihopqa's 6,119 over and over, with unique ids."""
    with open(data_folder() / "2wikimultihopqa" / "corpus.jsonl", "rb") as lines:
        real = [orjson.loads(line) for line in lines]
    for place in range(number):
        passage = real[place % len(real)]
        yield {**passage, "id": f"{passage['id']}-{place // len(real)}"}


def write_passages(path: Path, number: int = PASSAGES) -> None:
    """Write `copied_passages` to a JSONL file."""
    with path.open("wb") as file:
        for passage in copied_passages(number):
            file.write(orjson.dumps(passage) + b"\n")
