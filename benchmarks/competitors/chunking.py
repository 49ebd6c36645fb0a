"""Chunks by us, langchain and llama-index in one process, in turn; figures as JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llama_index.core  # type: ignore[import-not-found]
import tiktoken  # type: ignore[import-not-found]
from langchain_text_splitters import (  # type: ignore[import-not-found]
    RecursiveCharacterTextSplitter,
)
from llama_index.core.node_parser import SentenceSplitter  # type: ignore[import-not-found]

from ingest.chunking import ChunkSettings, chunk
from ingest.token_counters import TOKENS, Counter, count_tokens
from ingest.token_counters_tiktoken import encoding_counter

ENCODING = "cl100k_base"
Split = Callable[[str], list[str]]


def main(path: str, size: int, rounds: int) -> dict[str, Any]:
    """Measure every splitter on the documents in `path`, `rounds` times in turn.

    Args:
        path: JSON: ``seen`` and ``new``, lists of documents; the second are measured.
        size: tokens of a chunk at most.
    """
    # The ranks would be fetched from their usual host; llama-index carries them.
    ranks = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(ranks)
    encoding = tiktoken.get_encoding(ENCODING)
    documents = json.loads(Path(path).read_text())
    recursive = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
        encoding_name=ENCODING, chunk_size=size, chunk_overlap=0
    )
    by_sentence = SentenceSplitter(chunk_size=size, chunk_overlap=0, tokenizer=encoding.encode)

    def ours(counter: Counter, texts: list[str]) -> Split:
        settings = ChunkSettings(size=size, counter=counter)

        def split(text: str) -> list[str]:
            return [text[start:end] for start, end in chunk(text, settings)]

        for text in texts:
            split(text)
        return split

    makers: dict[str, Callable[[], Split]] = {
        "exact": lambda: ours(encoding_counter(encoding), documents["seen"]),
        "exact, cold": lambda: ours(encoding_counter(encoding), []),
        "default": lambda: ours(TOKENS, []),
        "langchain": lambda: recursive.split_text,
        "llama-index": lambda: by_sentence.split_text,
    }
    runs: list[dict[str, dict[str, float]]] = []
    for _ in range(rounds):
        run: dict[str, dict[str, float]] = {}
        for name, make in makers.items():
            count = count_tokens if name == "default" else lambda text: len(encoding.encode(text))
            run[name] = _measured(make(), documents["new"], size, count)
        runs.append(run)
    packages = ("tiktoken", "langchain-text-splitters", "llama-index-core", "sentencex", "regex")
    return {"runs": runs, "versions": {package: version(package) for package in packages}}


def _measured(
    split: Split, texts: list[str], size: int, count: Callable[[str], int]
) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    chunks = [part for text in texts for part in split(text)]
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - began
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    counts = [count(part) for part in chunks]
    return {
        "megabytes a CPU second": megabytes / cpu,
        "megabytes a second": megabytes / seconds,
        "chunks": len(chunks),
        "chunks over the limit": sum(number > size for number in counts),
        "mean tokens": sum(counts) / len(counts),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201
