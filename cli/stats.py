"""`logicalrag stats`: what the index holds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bootstrap.embedded import open_engine, open_ledger, pending_documents
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
        index=index, tenant=tenant, groups=frozenset(groups) if groups else None
    )
    visibility = Visibility(settings.tenant, settings.groups)
    with open_engine(settings) as engine, open_ledger(settings) as ledger:
        held = engine.stats(visibility)
        report: dict[str, Any] = {
            "index": str(settings.index),
            "tenant": settings.tenant,
            "documents": held.documents,
            "passages": held.passages,
            "size_bytes": held.size_bytes,
            "generation": held.generation,
            "analysis": engine.analysis,
            "fields": dict(engine.metadata_schema.fields),
            "pending": pending_documents(ledger, settings.tenant),
            "ledger": dict(ledger.counts(settings.tenant)),
        }
        counted = {
            field: engine.values(
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
