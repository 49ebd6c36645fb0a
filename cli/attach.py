"""`logicalrag attach`: an index that others fill, made searchable as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bootstrap.attaching import attach as attach_index
from bootstrap.settings import read_settings
from cli import options
from cli.console import err, one_line, out, print_json

EXAMPLES = """
The map of fields goes into a file, which --attached or LOGICALRAG_ATTACHED names from then on; the
index itself is never written.

Examples:

  logicalrag attach articles --engine elastic --content body --title headline --id url

  logicalrag attach wiki --content text --document page --number part --field year=date.year:number

  logicalrag search --engine elastic --attached articles.toml 'vivaldi AND opera'
"""


def _field(*names: str, what: str) -> object:
    return typer.Option(*names, metavar="FIELD", help=what)


def attach(
    name: Annotated[
        str, typer.Argument(metavar="INDEX", help="An index, an alias or a data stream.")
    ],
    content: Annotated[str, _field("--content", what="Text.")],
    title: Annotated[str | None, _field("--title", what="Title.")] = None,
    content_exact: Annotated[
        str | None, _field("--content-exact", what="The text unstemmed, for quotes.")
    ] = None,
    title_exact: Annotated[
        str | None, _field("--title-exact", what="The title unstemmed, for quotes.")
    ] = None,
    identity: Annotated[
        str | None, _field("--id", what="Unique id of a passage.  (default: _id)")
    ] = None,
    document: Annotated[
        str | None, _field("--document", what="What passages of one document share.")
    ] = None,
    number: Annotated[
        str | None, _field("--number", what="A passage's place in its document.")
    ] = None,
    tenant_field: Annotated[str | None, _field("--tenant-field", what="Whose it is.")] = None,
    access: Annotated[str | None, _field("--access", what="Groups that may see it.")] = None,
    without_access: Annotated[
        Literal["tenant", "nobody"] | None,
        typer.Option("--without-access", help="Who sees it without groups.  (default: tenant)"),
    ] = None,
    location: Annotated[
        str | None, _field("--location", what="Where a person finds the passage.")
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field", metavar="NAME=FIELD:KIND", help="For filters; keyword, number or date."
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="(default: INDEX.toml)")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    analysis: options.Analysis = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    tenant: options.Tenant = None,
    json: options.Json = False,
) -> None:
    """Write down which fields of an existing index are what, so that it can be searched."""
    settings = read_settings(
        analysis=analysis, engine=engine, elastic_hosts=elastic_hosts, tenant=tenant
    )
    target = file or Path(f"{name}.toml")
    told = attach_index(
        settings,
        target,
        name,
        {
            "content": content,
            "title": title,
            "content_exact": content_exact,
            "title_exact": title_exact,
            "id": identity,
            "document": document,
            "number": number,
            "tenant": tenant_field,
            "access": access,
            "without_access": without_access,
            "location": location,
        },
        fields or (),
        replace=force,
    )
    if json:
        print_json({"index": name, "file": str(target), "remarks": told})
        return
    for remark in told:
        err.print(f"[yellow]note:[/] {one_line(remark)}")
    out.print(f"{name} can be searched; the map of its fields is in {target}. Try:", markup=False)
    out.print(f"  logicalrag stats --engine elastic --attached {target}", markup=False)
