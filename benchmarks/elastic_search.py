"""`elastic-search`: three clauses with exact counts on three nodes, beside the bare request."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import orjson

from benchmarks.bare_elasticsearch import Rate, Request, rate, rate_of_requests
from benchmarks.elastic_cluster import (
    FULL,
    HEAP_MEBIBYTES,
    REPLICAS,
    SHARDS,
    SMALL,
    check,
    collection,
    competitor,
    first_index,
    median,
    module,
    open_cluster,
    warm,
)
from benchmarks.elastic_corpus import expression_words, one_passage_documents
from benchmarks.harness import Ratio, Report, measured_versions
from logicalrag.engines.cluster.connection import Cluster, Method
from logicalrag.engines.elastic.engine import ElasticEngine
from logicalrag.engines.elastic.own_source import OwnSource
from logicalrag.engines.protocol import Visibility
from logicalrag.query.nodes import Node
from logicalrag.query.parser import parse

EXPRESSIONS = 300
OF_TEN = 60
CLIENTS = 16
EVERYONE = Visibility()


class _Recorder(Cluster):
    """A connection that remembers the last request that was sent."""

    last: Request

    def send(
        self,
        method: Method,
        path: str,
        body: Any = None,
        *,
        parameters: Mapping[str, str] | None = None,
        lines: bool = False,
        seconds: float | None = None,
    ) -> tuple[int, Any]:
        target = f"{path}?{urlencode(parameters)}" if parameters else path
        sent = body if isinstance(body, bytes) else orjson.dumps(body)
        kind = "application/x-ndjson" if lines else "application/json"
        self.last = Request(target, sent, {"content-type": kind})
        return super().send(method, path, body, parameters=parameters, lines=lines, seconds=seconds)


def run(*, small: bool = False) -> Report:
    """Measure calls from one client and from sixteen, all ways in turn."""
    size = SMALL if small else FULL
    rounds: list[dict[str, Rate]] = []
    with tempfile.TemporaryDirectory() as name, open_cluster(size) as cluster:
        prepared = one_passage_documents(Path(name), size.passages)
        warm(cluster, size, prepared)
        with collection(cluster) as made:
            hosts = cluster.address.hosts
            module(
                "benchmarks.elastic_load",
                "writer",
                ",".join(hosts),
                made.names.prefix,
                str(prepared.documents),
                "0",
            )
            check(cluster, first_index(made), prepared.passages)
            trees = [
                parse(f"{first} AND ({second} OR {third})").tree
                for first, second, third in expression_words(prepared.documents, EXPRESSIONS)
            ]
            engine = ElasticEngine(cluster, OwnSource(cluster, made))
            requests = _recorded(cluster, OwnSource(cluster, made), trees)
            tens = _without_hits(engine, expression_words(prepared.documents, 10 * OF_TEN, 10))
            bodies = Path(name) / "bodies.json"
            searches = [orjson.loads(request.body.split(b"\n")[1]) for request in requests]
            bodies.write_bytes(orjson.dumps(searches))

            def ours(clients: int) -> Rate:
                search = partial(engine.search, visibility=EVERYONE)
                return _rate_of_trees(search, trees, clients, size.seconds)

            def bare(clients: int) -> Rate:
                return rate_of_requests(hosts, requests, clients, seconds=size.seconds)

            plain = partial(engine.search, visibility=EVERYONE)
            counting = partial(plain, clause_counts=True, leave_one_out=True)
            rate_of_requests(hosts, requests, 8, calls=size.queries)
            for _ in range(size.rounds):
                measured = {
                    "bare, 1": bare(1),
                    "ours, 1": ours(1),
                    f"bare, {CLIENTS}": bare(CLIENTS),
                    f"ours, {CLIENTS}": ours(CLIENTS),
                    "ten clauses": _rate_of_trees(plain, tens, 1, size.seconds),
                    "ten clauses, counted": _rate_of_trees(counting, tens, 1, size.seconds),
                }
                theirs = competitor(
                    "benchmarks.competitors.elastic_search",
                    ",".join(hosts),
                    first_index(made),
                    str(bodies),
                    f"1,{CLIENTS}",
                    str(size.seconds),
                )
                for clients in (1, CLIENTS):
                    told = theirs[str(clients)]
                    measured[f"langchain, {clients}"] = Rate(told["calls"], told["cpu"])
                rounds.append(measured)
    return _report(size.passages, size.queries, rounds)


def _report(passages: int, queries: int, rounds: list[dict[str, Rate]]) -> Report:
    many = f", {CLIENTS}"

    def of(figure: Callable[[Mapping[str, Rate]], float]) -> float:
        return median([figure(each) for each in rounds])

    def figure(way: str, name: Literal["calls", "cpu"]) -> float:
        return median([getattr(each[way], name) for each in rounds])

    def gain(each: Mapping[str, Rate], way: str) -> float:
        return each[way + many].calls / each[f"{way}, 1"].calls

    added = of(lambda each: each["ten clauses"].calls / each["ten clauses, counted"].calls - 1)
    return Report(
        "elastic-search",
        {
            f"calls a second / bare request, {CLIENTS} clients": Ratio(
                of(lambda each: each["ours" + many].calls / each["bare" + many].calls),
                0.8,
                "at_least",
            ),
            f"calls a second / langchain, {CLIENTS} clients": Ratio(
                of(lambda each: each["ours" + many].calls / each["langchain" + many].calls),
                1.1,
                "at_least",
            ),
            "CPU of a call (milliseconds, client)": Ratio(
                of(lambda each: each["ours, 1"].cpu), 0.7, "at_most"
            ),
            f"gain of {CLIENTS} clients / the bare request's": Ratio(
                of(lambda each: gain(each, "ours") / gain(each, "bare")), 0.9, "at_least"
            ),
            "ten counts and leave-one-outs, added / plain call": Ratio(added, 4, "at_most"),
        },
        {
            **{f"{way} (calls a second)": round(figure(way, "calls"), 1) for way in rounds[0]},
            **{
                f"{way} (CPU milliseconds a call)": round(figure(way, "cpu"), 3)
                for way in rounds[0]
            },
        },
        f"Median of {len(rounds)} rounds, ratios round by round. {EXPRESSIONS} expressions w1 AND "
        f"(w2 OR w3) of words drawn from {passages} passages (2wikimultihopqa copied) in {SHARDS} "
        f"shards with {REPLICAS} replica on three nodes of {HEAP_MEBIBYTES} MB heap, warmed with "
        f"as many passages and {queries} queries. Clients are threads of one process. A call is "
        "ElasticEngine.search of a parsed tree: exact count, 5 passages, the state of the index. "
        "Bare: the very bytes of its request by http.client on kept connections, the answer read "
        "and not parsed. langchain: ElasticsearchRetriever with the search of that request, a "
        "process of its own. Ten: conjunctions of ten words without hits.",
        measured_versions(),
    )


def _recorded(cluster: Cluster, source: OwnSource, trees: Sequence[Node]) -> list[Request]:
    """Return the request that each tree's call sends."""
    requests: list[Request] = []
    with _Recorder(cluster.address) as recorder:
        engine = ElasticEngine(recorder, source)
        engine.search(trees[0], EVERYONE)  # the first call learns the index's state
        for tree in trees:
            engine.search(tree, EVERYONE)
            requests.append(recorder.last)
    return requests


def _without_hits(engine: ElasticEngine, groups: Sequence[Sequence[str]]) -> list[Node]:
    trees = [parse(" AND ".join(words)).tree for words in groups]
    return [tree for tree in trees if not engine.search(tree, EVERYONE).count.hits][:OF_TEN]


def _rate_of_trees(
    search: Callable[[Node], object], trees: Sequence[Node], clients: int, seconds: float
) -> Rate:
    return rate(lambda: search, trees, clients, seconds=seconds)
