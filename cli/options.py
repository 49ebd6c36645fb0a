"""Options that several commands share, so that they are named and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Index = Annotated[
    Path | None,
    typer.Option("--index", metavar="DIR", help="Folder of the index.  (default: .logicalrag)"),
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
