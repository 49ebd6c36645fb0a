"""`logicalrag config`: every setting, its value and where it came from."""

from __future__ import annotations

from bootstrap.settings import explain_settings
from cli import options
from cli.console import one_line, out, print_json

EXAMPLES = """
A value comes from an option, an environment variable or the default, in this order.
Keys are masked.

Examples:

  logicalrag config

  logicalrag config --planner anthropic --json
"""


def config(
    index: options.Index = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    attached: options.Attached = None,
    analysis: options.Analysis = None,
    metadata: options.Metadata = None,
    synonyms: options.Synonyms = None,
    chunk_mode: options.ChunkMode = None,
    chunk_size: options.ChunkSize = None,
    chunk_overlap: options.ChunkOverlap = None,
    chunk_unit: options.ChunkUnit = None,
    encoding: options.Encoding = None,
    planner: options.Planner = None,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    prompt: options.Prompt = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    max_seconds: options.MaxSeconds = None,
    expression_cache: options.ExpressionCache = None,
    tenant: options.Tenant = None,
    groups: options.Groups = None,
    json: options.Json = False,
) -> None:
    """Show every setting, its value and where it came from; with options, as they would make it."""
    explained = explain_settings(
        index=index,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        attached=attached,
        analysis=analysis,
        metadata=metadata,
        synonyms=synonyms,
        chunk_mode=chunk_mode,
        chunk_size=chunk_size,
        chunk_overlap=chunk_overlap,
        chunk_unit=chunk_unit,
        encoding=encoding,
        planner=planner,
        model=model,
        base_url=base_url,
        prompt=prompt,
        max_cost=max_cost,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        expression_cache=expression_cache,
        tenant=tenant,
        groups=frozenset(groups) if groups else None,
    )
    if json:
        print_json({each.name: {"value": each.value, "origin": each.origin} for each in explained})
        return
    for each in explained:
        value = ",".join(each.value) if isinstance(each.value, list) else each.value
        shown = "none" if value in (None, "") else str(value)
        out.print(f"{each.name:22} {one_line(shown):28} [dim]{each.origin}[/]")
