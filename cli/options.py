"""Options that several commands share, so that they are named and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Index = Annotated[
    Path | None,
    typer.Option("--index", metavar="DIR", help="Folder of the index.  (default: .logicalrag)"),
]
Engine = Annotated[
    Literal["embedded", "elastic"] | None,
    typer.Option("--engine", help="A folder, or a cluster.  (default: embedded)"),
]
ElasticHosts = Annotated[
    str | None,
    typer.Option("--elastic-hosts", metavar="URLS", help="Addresses of the cluster's nodes."),
]
ElasticIndex = Annotated[
    str | None,
    typer.Option("--elastic-index", metavar="PREFIX", help="What its index names begin with."),
]
ElasticShards = Annotated[
    int | None, typer.Option("--shards", help="Of a new index.  (default: 3)")
]
ElasticReplicas = Annotated[
    int | None, typer.Option("--replicas", help="Copies of each shard.  (default: 1)")
]
Attached = Annotated[
    Path | None,
    typer.Option("--attached", metavar="FILE", help="Search the index that this file names."),
]
Tenant = Annotated[
    str | None, typer.Option("--tenant", help="Whose documents.  (default: default)")
]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", help="A group of the caller, for documents with an access list."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Batch = Annotated[
    str | None,
    typer.Option("--batch", metavar="FILE", help="JSON lines to answer one by one; - reads stdin."),
]
DefaultOperator = Annotated[str, typer.Option(help="What joins clauses side by side: OR or AND.")]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="CONDITION",
        help="Only passages that fulfil it, as 'year>=2020' or 'kind=report,memo'; several add up.",
    ),
]
Sort = Annotated[
    str,
    typer.Option(
        "--sort", metavar="FIELD", help="By a date or number, largest first; -FIELD turns it round."
    ),
]
Synonyms = Annotated[
    Path | None,
    typer.Option("--synonyms", metavar="FILE", help="Groups of synonyms that words expand to."),
]

# Settings of `ask`, which `config` shows the effect of too.
Planner = Annotated[
    Literal["offline", "anthropic", "scripted"] | None,
    typer.Option("--planner", help="Who decides.  (default: offline, which needs no model)"),
]
Model = Annotated[
    str | None, typer.Option("--model", help="Language model.  (default: claude-sonnet-5-5)")
]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="Server that speaks the Messages API."),
]
Prompt = Annotated[
    Literal["full", "syntax-only", "no-operators"] | None,
    typer.Option("--prompt", help="What the model is told of the language.  (default: full)"),
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", help="US dollars for one question.")
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", help="Tokens for one question, read and written.")
]
MaxSeconds = Annotated[
    float | None, typer.Option("--max-seconds", help="Seconds for one question.")
]
ExpressionCache = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache", help="Try first what led to an answer before.  (default: --cache)"
    ),
]
# Settings of `ingest`.
ChunkMode = Annotated[
    Literal["chunks", "passage"] | None,
    typer.Option("--chunk-mode", help="chunks, or passage to keep each document whole."),
]
ChunkSize = Annotated[
    int | None, typer.Option("--chunk-size", help="Units of a chunk at most.  (default: 1000)")
]
ChunkOverlap = Annotated[
    int | None,
    typer.Option("--chunk-overlap", help="Units repeated from the chunk before.  (default: 0)"),
]
ChunkUnit = Annotated[
    Literal["tokens", "sentences", "characters"] | None,
    typer.Option("--chunk-unit", help="What is counted.  (default: tokens)"),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Of text without a byte-order mark; found out otherwise."),
]
Analysis = Annotated[
    Literal["english", "standard"] | None,
    typer.Option("--analysis", help="Of a new index: with stems, or without.  (default: english)"),
]
Metadata = Annotated[
    Path | None,
    typer.Option("--metadata", metavar="FILE", help="Declares the fields of a new index."),
]
