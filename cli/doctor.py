"""`logicalrag doctor`: what is set up, reachable and missing, and the fix."""

from __future__ import annotations

from dataclasses import asdict

import typer

from bootstrap.doctor import diagnose
from bootstrap.settings import read_settings
from cli import options
from cli.console import EXIT_FAILED, one_line, out, print_json

EXAMPLES = """
Exit codes: 0 nothing fails, 1 something fails, 2 bad settings.

Examples:

  logicalrag doctor

  logicalrag doctor --planner anthropic --json
"""
_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    index: options.Index = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    attached: options.Attached = None,
    metadata: options.Metadata = None,
    synonyms: options.Synonyms = None,
    planner: options.Planner = None,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
) -> None:
    """Check what is set up, reachable and missing, and say how to mend it."""
    settings = read_settings(
        index=index,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        attached=attached,
        metadata=metadata,
        synonyms=synonyms,
        planner=planner,
        model=model,
        base_url=base_url,
        tenant=tenant,
    )
    checks = []
    for check in diagnose(settings):
        checks.append(check)
        if json:
            continue
        fix = f"  [dim]→[/] {one_line(check.fix)}" if check.fix else ""
        colour = _COLOURS[check.status]
        message = one_line(check.message)
        out.print(f"[{colour}]{check.status:4}[/]  {check.name:9} {message}{fix}")
    failed = any(check.status == "fail" for check in checks)
    if json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    if failed:
        raise typer.Exit(EXIT_FAILED)
