"""`embedded-search`: three clauses with exact counts at 100,000 passages, beside tantivy's own."""

from __future__ import annotations

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import tantivy

from benchmarks.corpora import PASSAGES, copied_passages
from benchmarks.harness import Ratio, Report
from logicalrag.engines.analysis import stem
from logicalrag.engines.embedded.compiler import compile_scored
from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.folder import tenant_folder
from logicalrag.engines.embedded.schema import SOURCE, STEMMED, Layout, open_index
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.identity import passage_id
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage, Visibility
from logicalrag.query.nodes import Node
from logicalrag.query.parser import parse
from logicalrag.query.tokens import tokenize

SEED = 20_26
EXPRESSIONS = 60
ROUNDS = 7
LIMIT = 5
THREADS = 16
THREAD_SECONDS = 3.0
EVERYONE = Visibility()

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class _Asked:
    """One expression of three clauses, `first` and (`second` or `third`), in both forms."""

    words: tuple[str, str, str]

    @property
    def expression(self) -> str:
        first, second, third = self.words
        return f"{first} AND ({second} OR {third})"

    def bare(self, schema: tantivy.Schema) -> tantivy.Query:
        """Return the same query by tantivy's own means: the better of title and content."""
        first, second, third = (
            tantivy.Query.disjunction_max_query(
                [tantivy.Query.term_query(schema, STEMMED[f], stem(word)) for f in STEMMED]
            )
            for word in self.words
        )
        either = tantivy.Query.boolean_query(
            [(tantivy.Occur.Should, second), (tantivy.Occur.Should, third)]
        )
        return tantivy.Query.boolean_query(
            [(tantivy.Occur.Must, first), (tantivy.Occur.Must, either)]
        )


def run() -> Report:
    """Index the passages and measure calls one at a time, then from 16 threads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        asked = _index(path)
        with EmbeddedEngine(path) as engine:
            index = open_index(tenant_folder(path, DEFAULT_TENANT))
            searcher = index.searcher()
            trees = [parse(each.expression).tree for each in asked]
            queries = [each.bare(index.schema) for each in asked]
            hits = [engine.search(tree, EVERYONE).count.hits for tree in trees]
            if hits != [_bare_count(searcher, query) for query in queries]:
                raise AssertionError("the two do not search for the same")
            compiling = _compile_milliseconds(asked)
            ratio, ours, bare = _pairs(engine, trees, searcher, queries)
            single = _rate(lambda tree: engine.search(tree, EVERYONE), trees, 1)
            many = _rate(lambda tree: engine.search(tree, EVERYONE), trees, THREADS)
            bare_single = _rate(lambda query: _bare_call(searcher, query), queries, 1)
            bare_many = _rate(lambda query: _bare_call(searcher, query), queries, THREADS)
    return Report(
        "embedded-search",
        {
            "parse + compile (CPU milliseconds)": Ratio(compiling, 0.25, "at_most"),
            "whole call / bare tantivy query": Ratio(ratio, 1.5, "at_most"),
            f"searches a second, {THREADS} threads / 1": Ratio(many / single, 1.0, "at_least"),
        },
        {
            "bare query (milliseconds, median)": round(bare, 4),
            "whole call (milliseconds, median)": round(ours, 4),
            "bare queries a second, 1 thread": round(bare_single),
            f"bare queries a second, {THREADS} threads": round(bare_many),
            "our searches a second, 1 thread": round(single),
            f"our searches a second, {THREADS} threads": round(many),
            "hits (median)": statistics.median(hits),
        },
        f"{EXPRESSIONS} expressions w1 AND (w2 OR w3) of words drawn from the passages (seed "
        f"{SEED}), {PASSAGES} passages (2wikimultihopqa copied). A whole call is "
        "EmbeddedEngine.search of a parsed tree with exact count and 5 passages; the bare query "
        "is built beforehand, the same on the same index, with count and the stored fields of 5. "
        f"Ratio: median over all expressions and {ROUNDS} rounds, taken pair by pair.",
    )


def _index(path: Path) -> list[_Asked]:
    """Write the index and return the expressions."""
    drawn = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    words: list[str] = []
    with EmbeddedWriter(path) as writer:
        for passage in copied_passages():
            name, text = passage["id"], passage["text"]
            identity = passage_id(DEFAULT_TENANT, name, 0)
            writer.put(
                [Passage(identity, name, 0, passage["title"], text, 0, len(text))], replaces=0
            )
            if drawn.random() < 3 * EXPRESSIONS / PASSAGES * 2:
                words.append(drawn.choice(tokenize(text)))
        writer.commit()
    triples = zip(words[::3], words[1::3], words[2::3], strict=False)
    distinct = [_Asked(triple) for triple in triples if len({stem(w) for w in triple}) == 3]
    return distinct[:EXPRESSIONS]


def _compile_milliseconds(asked: Sequence[_Asked]) -> float:
    """Return the median CPU time of parsing and compiling one expression."""
    layout = Layout()
    times: list[float] = []
    for _ in range(ROUNDS):
        for each in asked:
            began = time.thread_time_ns()
            compile_scored(layout, parse(each.expression).tree)
            times.append((time.thread_time_ns() - began) / 1e6)
    return statistics.median(times)


def _pairs(
    engine: EmbeddedEngine,
    trees: Sequence[Node],
    searcher: tantivy.Searcher,
    queries: Sequence[tantivy.Query],
) -> tuple[float, float, float]:
    """Return (median ratio, median milliseconds of ours, of the bare query)."""
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(ROUNDS):
        for tree, query in zip(trees, queries, strict=True):
            began = time.perf_counter_ns()
            engine.search(tree, EVERYONE, limit=LIMIT)
            middle = time.perf_counter_ns()
            _bare_call(searcher, query)
            ours.append((middle - began) / 1e6)
            bare.append((time.perf_counter_ns() - middle) / 1e6)
    ratio = statistics.median(our / their for our, their in zip(ours, bare, strict=True))
    return ratio, statistics.median(ours), statistics.median(bare)


def _bare_count(searcher: tantivy.Searcher, query: tantivy.Query) -> int:
    found: Any = searcher.search(query, LIMIT, count=True)  # the stubs know no count
    count: int = found.count
    return count


def _bare_call(searcher: tantivy.Searcher, query: tantivy.Query) -> None:
    for _, address in searcher.search(query, LIMIT, count=True).hits:
        searcher.doc(address).get_first(SOURCE)


def _rate(call: Callable[[Item], object], items: Sequence[Item], threads: int) -> float:
    """Return calls a second from `threads` threads that share `items`."""
    done = [0] * threads
    stop = threading.Event()

    def work(number: int) -> None:
        place = number
        while not stop.is_set():
            call(items[place % len(items)])
            place += 1
            done[number] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    time.sleep(THREAD_SECONDS)
    stop.set()
    for worker in workers:
        worker.join()
    return sum(done) / (time.perf_counter() - began)
