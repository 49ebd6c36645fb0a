"""`logicalrag stats`: what the index holds."""

from __future__ import annotations

from bootstrap.embedded import open_engine, open_ledger, pending_documents
from bootstrap.settings import read_settings
from cli import options
from cli.console import out, print_json
from logicalrag.engines.protocol import Visibility

EXAMPLES = """
Examples:

  logicalrag stats

  logicalrag stats --index big/ --json
"""


def stats(
    index: options.Index = None, tenant: options.Tenant = None, json: options.Json = False
) -> None:
    """Show how many documents and passages are indexed, and what is unfinished or failed."""
    settings = read_settings(index=index, tenant=tenant)
    with open_engine(settings) as engine, open_ledger(settings) as ledger:
        held = engine.stats(Visibility(settings.tenant))
        report = {
            "index": str(settings.index),
            "tenant": settings.tenant,
            "documents": held.documents,
            "passages": held.passages,
            "size_bytes": held.size_bytes,
            "generation": held.generation,
            "pending": pending_documents(ledger, settings.tenant),
            "ledger": dict(ledger.counts(settings.tenant)),
        }
    if json:
        print_json(report)
        return
    for name, value in report.items():
        if isinstance(value, dict):
            shown = ", ".join(f"{count} {state}" for state, count in value.items()) or "empty"
        else:
            shown = str(value)
        out.print(f"{name:12} {shown}", markup=False)
