"""`logicalrag reconcile`: ledger and index of a cluster compared and repaired."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from bootstrap.opening import cluster_package, require_cluster
from bootstrap.settings import read_settings
from cli import options
from cli.console import one_line, out, print_json
from cli.progress import steps

EXAMPLES = """
For use after the index or the ledger was restored from an older copy. Documents that then wait are
pending until they are ingested again.

Exit codes: 0 compared, and repaired without --dry-run; 1 failed; 2 bad settings.

Examples:

  logicalrag reconcile --dry-run

  logicalrag reconcile --json
"""
_SHOWN = 20
_LISTED = 1_000
_KINDS = {
    "unknown": "unknown to the ledger",
    "ledger_older": "older in the ledger",
    "index_older": "older in the index, or missing there",
    "orphans": "with passages that no version has",
}


def reconcile(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report; write nothing.")] = False,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    json: options.Json = False,
) -> None:
    """Compare the ledger with the indices of all tenants, and repair what differs."""
    settings = read_settings(
        engine=engine, elastic_hosts=elastic_hosts, elastic_index=elastic_index
    )
    require_cluster(settings, "reconcile")
    with cluster_package():
        from bootstrap import administration
    with steps() as on_step:
        report = administration.reconcile(
            settings, dry_run=dry_run, max_listed=_LISTED, on_step=on_step
        )
    if json:
        print_json({**asdict(report), "dry_run": dry_run})
        return
    found = {name: getattr(report, name) for name in _KINDS}
    out.print(f"{report.documents} documents of the ledger compared")
    for name, count in found.items():
        if count:
            out.print(f"{count:8} {_KINDS[name]}")
    for each in report.differences[:_SHOWN]:
        waits = ", ingest it again" if each.waits else ""
        place = one_line(f"{each.tenant}: {each.document_id}")
        out.print(f"  {place}  [dim]{_KINDS[each.kind]}{waits}[/]")
    if len(report.differences) > _SHOWN:
        out.print(f"  [dim]… and more; --json shows the first {_LISTED}[/]")
    if report.changed_meanwhile:
        out.print(f"{report.changed_meanwhile:8} changed meanwhile; run it again")
    if report.waiting:
        out.print(f"{report.waiting:8} wait to be ingested again")
    if not any(found.values()):
        out.print("nothing differs")
    elif dry_run:
        out.print("nothing was written; without --dry-run this is repaired")
