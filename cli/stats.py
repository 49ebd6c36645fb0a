"""`logicalrag stats`: what the index holds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bootstrap.opening import open_index
from bootstrap.settings import read_settings
from cli import options
from cli.console import one_line, out, plain, print_json, shown_value
from logicalrag.engines.protocol import MAX_LIMIT, Visibility

EXAMPLES = """
Examples:

  logicalrag stats

  logicalrag stats --values year --values kind

  logicalrag stats --index big/ --json
"""
_SHOWN_VALUES = 20


def stats(
    index: options.Index = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    attached: options.Attached = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--values", metavar="FIELD", help="Count the passages for each value of a field."
        ),
    ] = None,
    tenant: options.Tenant = None,
    groups: options.Groups = None,
    json: options.Json = False,
) -> None:
    """Show how many documents and passages are indexed, and what is unfinished or failed."""
    settings = read_settings(
        index=index,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        attached=attached,
        tenant=tenant,
        groups=frozenset(groups) if groups else None,
    )
    visibility = Visibility(settings.tenant, settings.groups)
    with open_index(settings) as opened:
        searched = opened.engine
        held = searched.stats(visibility)
        report: dict[str, Any] = {
            "index": opened.place,
            "tenant": settings.tenant,
            "documents": held.documents,
            "passages": held.passages,
            "size_bytes": held.size_bytes,
            "generation": held.generation,
            "analysis": searched.analysis,
            "fields": dict(searched.metadata_schema.fields),
            "pending": opened.pending(settings.tenant),
            "ledger": dict(opened.states(settings.tenant)),
        }
        counted = {
            field: searched.values(
                field, None, visibility, limit=MAX_LIMIT if json else _SHOWN_VALUES
            )
            for field in values or ()
        }
    if json:
        if counted:
            report["values"] = {
                field: [{"value": each.value, "hits": each.hits} for each in found]
                for field, found in counted.items()
            }
        print_json(report)
        return
    report["fields"] = ", ".join(f"{name} ({kind})" for name, kind in report["fields"].items())
    report["ledger"] = ", ".join(f"{count} {state}" for state, count in report["ledger"].items())
    for name, value in report.items():
        shown = "none" if value == "" else value
        out.print(f"{name:12} {shown}", markup=False)
    for field, found in counted.items():
        out.print(f"\n[bold]{plain(field)}[/]")
        for each in found:
            out.print(f"{each.hits:8}  {one_line(shown_value(each.value))}")
        if len(found) == _SHOWN_VALUES:
            out.print(f"[dim]the {_SHOWN_VALUES} most frequent values; --json shows more[/]")
