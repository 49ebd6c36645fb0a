"""`logicalrag index`: the indices of a collection in an Elasticsearch cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bootstrap.opening import cluster_package, require_cluster
from bootstrap.settings import Settings, read_settings
from cli import options
from cli.console import EXIT_BAD_INPUT, fail, one_line, out, print_json, warn
from cli.progress import steps

if TYPE_CHECKING:
    from bootstrap.administration import Index, Listing, RebuildReport, Replayed

_MIB = 2**20
_SHOWN_REPLAYED = 20
Replay = Annotated[
    Path | None,
    typer.Option(
        "--replay", metavar="FILE", help="Expressions or reports of ask --json, searched on both."
    ),
]
MaxDrift = Annotated[
    float,
    typer.Option("--max-drift", min=0, max=1, help="Share of changed hits that is still fine."),
]
DropOld = Annotated[bool, typer.Option("--drop-old", help="Delete the old index after the swap.")]
Force = Annotated[bool, typer.Option("--force", help="Also what is searched now.")]

index = typer.Typer(
    name="index",
    help="Make, rebuild, swap, list and drop the indices of an Elasticsearch cluster.",
    epilog="""
Examples:

  logicalrag index create --engine elastic --elastic-hosts http://127.0.0.1:9200

  logicalrag index list

  logicalrag index rebuild --shards 6 --replay asked.jsonl
""",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)


@index.command(
    epilog="""
Examples:

  logicalrag index create --engine elastic

  logicalrag index create --tenant acme --metadata fields.toml
"""
)
def create(
    analysis: options.Analysis = None,
    metadata: options.Metadata = None,
    elastic_shards: options.ElasticShards = None,
    elastic_replicas: options.ElasticReplicas = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
) -> None:
    """Make the collection and the tenant's index, as far as they are absent."""
    settings = _settings(
        "create",
        analysis=analysis,
        metadata=metadata,
        elastic_shards=elastic_shards,
        elastic_replicas=elastic_replicas,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        tenant=tenant,
    )
    with cluster_package():
        from bootstrap import administration
    made = administration.create(settings)
    if json:
        print_json(_listing(made))
    else:
        _show(made)


@index.command(
    "list",
    epilog="""
Examples:

  logicalrag index list

  logicalrag index list --tenant acme --json
""",
)
def list_indices(
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Whose.  (default: everybody's)")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the indices of all tenants, with their roles, sizes and health."""
    settings = _settings(
        "list", engine=engine, elastic_hosts=elastic_hosts, elastic_index=elastic_index
    )
    with cluster_package():
        from bootstrap import administration
    listed = administration.listed(settings, tenant)
    if json:
        print_json(list(map(_listing, listed)))
        return
    for each in listed:
        _show(each)
    if not listed:
        out.print("The collection has no tenant yet.")


@index.command(
    epilog="""
The passages come from the index itself, so no producer is needed; writers write both until the
swap. Whatever fails leaves the old index serving.

Examples:

  logicalrag index rebuild --shards 6

  logicalrag index rebuild --no-swap && logicalrag index swap --replay asked.jsonl

  logicalrag ask --batch questions.jsonl > asked.jsonl      (records what --replay searches)
"""
)
def rebuild(
    elastic_shards: options.ElasticShards = None,
    elastic_replicas: options.ElasticReplicas = None,
    analysis: options.Analysis = None,
    no_swap: Annotated[
        bool, typer.Option("--no-swap", help="Leave the new index beside, until index swap.")
    ] = False,
    replay: Replay = None,
    max_drift: MaxDrift = 0.0,
    drop_old: DropOld = False,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
) -> None:
    """Make the tenant's index anew beside the one that serves, compare both, and swap them."""
    if no_swap and (replay is not None or drop_old):
        fail("--replay and --drop-old belong to the swap; give them to index swap", EXIT_BAD_INPUT)
    settings = _settings(
        "rebuild",
        analysis=analysis,
        elastic_shards=elastic_shards,
        elastic_replicas=elastic_replicas,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        tenant=tenant,
    )
    with cluster_package():
        from bootstrap import administration
    exchange = None if no_swap else administration.Swap(replay, max_drift, not drop_old)
    with _drift_shown(json), steps() as on_step:
        report = administration.rebuild(
            settings,
            exchange,
            on_step,
            shards=elastic_shards,
            replicas=elastic_replicas,
            analysis=analysis,
        )
    _show_rebuilt(report, json)


@index.command(
    epilog="""
Examples:

  logicalrag index swap --replay asked.jsonl --max-drift 0.05

  logicalrag index swap --abandon
"""
)
def swap(
    replay: Replay = None,
    max_drift: MaxDrift = 0.0,
    drop_old: DropOld = False,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Remove the new index instead; the old one stays.")
    ] = False,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
) -> None:
    """Let the index that a rebuild left beside serve from now on."""
    settings = _settings(
        "swap",
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        tenant=tenant,
    )
    with cluster_package():
        from bootstrap import administration
    if abandon:
        _show_dropped(settings, administration.abandon(settings), json)
        return
    with _drift_shown(json), steps() as on_step:
        report = administration.swap(
            settings, administration.Swap(replay, max_drift, not drop_old), on_step
        )
    _show_rebuilt(report, json)


@index.command(
    epilog="""
Examples:

  logicalrag index drop logicalrag-default-v000001      (one that served before)

  logicalrag index drop --tenant acme --force           (the tenant, with all that it has)
"""
)
def drop(
    name: Annotated[
        str | None, typer.Argument(metavar="INDEX", help="One index, by its name.")
    ] = None,
    force: Force = False,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
) -> None:
    """Delete one of the tenant's indices, or the tenant with all of them."""
    settings = _settings(
        "drop",
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        tenant=tenant,
    )
    with cluster_package():
        from bootstrap import administration
    _show_dropped(settings, administration.drop(settings, name, force=force), json)


def _settings(command: str, **given: Any) -> Settings:
    settings = read_settings(**given)
    require_cluster(settings, f"index {command}")
    return settings


@contextmanager
def _drift_shown(json: bool) -> Iterator[None]:
    """Show what a replay that refused a swap found, before the error goes on."""
    from bootstrap.administration import DriftError

    try:
        yield
    except DriftError as error:
        if json:
            print_json({"error": error.message, "replayed": list(map(_replayed, error.replayed))})
        else:
            _show_replayed(error.replayed)
        raise


def _listing(listing: Listing) -> dict[str, Any]:
    return {
        "tenant": listing.tenant,
        "indices": list(map(_index, listing.indices)),
        "found": listing.found,
    }


def _index(each: Index) -> dict[str, Any]:
    return {
        "name": each.name,
        "role": each.role,
        "passages": each.documents,
        "size_bytes": each.size_bytes,
        "shards": each.shards,
        "replicas": each.replicas,
        "health": each.health,
        "blocked": each.blocked,
        "analysis": each.layout and each.layout.analysis,
    }


def _show(listing: Listing) -> None:
    _warn(listing.found)
    out.print(f"[bold]{one_line(listing.tenant)}[/]{'' if listing.indices else '  no index'}")
    for each in listing.indices:
        passages = "?" if each.documents is None else f"{each.documents:,}"
        size = "?" if each.size_bytes is None else f"{each.size_bytes / _MIB:,.1f}"
        blocked = "  [yellow]takes no writes[/]" if each.blocked else ""
        out.print(
            f"  {each.name}  {each.role:10} {passages:>10} passages  {size:>8} MiB  "
            f"{each.shards} x {1 + each.replicas} shards  [{each.health}]{each.health}[/]{blocked}"
        )


def _show_dropped(settings: Settings, dropped: tuple[str, ...], json: bool) -> None:
    if json:
        print_json({"tenant": settings.tenant, "dropped": dropped})
    else:
        out.print(f"dropped: {', '.join(dropped) or 'no index'}", markup=False)


def _show_rebuilt(report: RebuildReport, json: bool) -> None:
    if json:
        copied = report.copied
        print_json(
            {
                "tenant": report.tenant,
                "old": report.old,
                "new": report.new,
                "swapped": report.is_swapped,
                "passages": report.passages,
                "copied": copied and copied.stored,
                "overtaken": copied and copied.overtaken,
                "repaired": report.repaired,
                "drift": report.drift,
                "replayed": list(map(_replayed, report.replayed)),
                "dropped": report.dropped,
                "found": report.found,
            }
        )
        return
    _warn(report.found)
    _show_replayed(report.replayed)
    if report.is_swapped:
        out.print(f"{report.new} serves now, with {report.passages:,} passages.", markup=False)
        if not report.dropped:
            out.print(f"The old one stays until: logicalrag index drop {report.old}", markup=False)
    else:
        out.print(
            f"{report.new} is filled and writers keep it so. Next: logicalrag index swap, "
            "or logicalrag index swap --abandon",
            markup=False,
        )


def _replayed(each: Replayed) -> dict[str, Any]:
    return {
        "expression": each.expression,
        "old_hits": each.old_hits,
        "new_hits": each.new_hits,
        "old_first": each.old_first,
        "new_first": each.new_first,
        "drift": each.drift,
    }


def _show_replayed(replayed: tuple[Replayed, ...]) -> None:
    if not replayed:
        return
    changed = [each for each in replayed if each.is_changed]
    out.print(f"replayed {len(replayed)} expressions, {len(changed)} with other hits or order")
    for each in changed[:_SHOWN_REPLAYED]:
        moved = len(set(each.old_first) ^ set(each.new_first))
        out.print(
            f"  {each.old_hits:8,} → {each.new_hits:<8,} {moved:2} others among the first  "
            f"{one_line(each.expression)}"
        )


def _warn(found: tuple[str, ...]) -> None:
    for sentence in found:
        warn(sentence)
