"""`logicalrag why-not`: why an expression does not find a document."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bootstrap.opening import document_state, open_tools
from bootstrap.settings import read_settings
from cli import options
from cli.bad_input import refusing
from cli.console import one_line, out, plain, print_json, warn
from logicalrag.engines.metadata import filter_text
from logicalrag.engines.protocol import Visibility
from logicalrag.engines.why_not import Clause, WhyNot
from logicalrag.engines.why_not import why_not as explain
from logicalrag.query.printer import canonical

EXAMPLES = """
Exit codes: 0 explained, 1 failed, 2 bad input.

Examples:

  logicalrag why-not notes/lease.md 'lease AND bergen NOT draft'

  logicalrag why-not paper-17 'title:opera' --filter 'year>=1720' --json
"""
_STATES = {
    "not_found": "there is no such document, or not for you",
    "pending": "it is accepted and not yet searchable; run the interrupted ingest again",
    "deleted": "it was deleted",
    "failed": "it could not be indexed; ingest it again to see why",
}


def why_not(
    document_id: Annotated[
        str, typer.Argument(metavar="DOCUMENT", help="The document's id, as search shows it.")
    ],
    expression: Annotated[str, typer.Argument(help="A search expression.")],
    default_operator: options.DefaultOperator = "OR",
    filters: options.Filters = None,
    index: options.Index = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    attached: options.Attached = None,
    synonyms: options.Synonyms = None,
    tenant: options.Tenant = None,
    groups: options.Groups = None,
    json: options.Json = False,
) -> None:
    """Say which clause keeps an expression from finding a document, and where it came nearest."""
    settings = read_settings(
        index=index,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        attached=attached,
        synonyms=synonyms,
        tenant=tenant,
        groups=frozenset(groups) if groups else None,
    )
    with open_tools(settings, warn) as tools:
        with refusing(json):
            tree = tools.parse(expression, default_operator).tree
            conditions = tools.filters(filters or ())
        visibility = Visibility(settings.tenant, settings.groups)
        found = explain(tools.engine, document_id, tree, visibility, conditions)
    if found.hits:
        state = "matches"
    elif found.passages:
        state = "excluded"
    elif found.filters:
        state = "filtered"
    else:
        state = document_state(settings, document_id)
    if json:
        print_json(_report(document_id, state, canonical(tree), found))
    else:
        _show(document_id, state, canonical(tree), found)


def _report(document_id: str, state: str, expression: str, found: WhyNot) -> dict[str, Any]:
    nearest = found.nearest
    return {
        "document_id": document_id,
        "state": state,
        "canonical": expression,
        "passages": found.passages,
        "hits": found.hits,
        "rank": found.rank,
        "nearest": nearest
        and {
            "id": nearest.id,
            "number": nearest.number,
            "location": nearest.location,
            "title": nearest.title,
            "text": nearest.text,
        },
        "clauses": [
            {
                "canonical": clause.canonical,
                "negated": clause.negated,
                "passages": clause.passages,
                "fulfilled": clause.fulfilled,
                "parts": [
                    {"canonical": part.canonical, "passages": part.passages}
                    for part in clause.parts
                ],
            }
            for clause in found.clauses
        ],
        "filters": [filter_text(each) for each in found.filters],
    }


def _show(document_id: str, state: str, expression: str, found: WhyNot) -> None:
    name = f"[bold]{one_line(document_id)}[/]"
    out.print(f"[dim]read as[/] {plain(expression)}")
    if state in _STATES:
        out.print(f"{name}: {_STATES[state]}.")
    elif state == "filtered":
        filters = ", ".join(map(filter_text, found.filters))
        out.print(f"{name}: no passage fulfils {one_line(filters)}.")
    elif state == "matches":
        rank = "beyond the first hits" if found.rank is None else f"rank {found.rank}"
        out.print(f"{name}: it matches, in {_passages(found.hits)}; the best has {rank}.")
    else:
        out.print(f"{name}: none of its {_passages(found.passages)} matches.")
        _show_nearest(found)


def _show_nearest(found: WhyNot) -> None:
    nearest = found.nearest
    if nearest is None:
        out.print("No clause is fulfilled anywhere in it.")
    else:
        place = ", ".join(
            filter(None, (f"passage {nearest.number + 1} of {found.passages}", nearest.location))
        )
        fulfilled = sum(clause.fulfilled for clause in found.clauses)
        out.print(f"Nearest: {one_line(place)}, {fulfilled} of {len(found.clauses)} clauses:")
    for clause in found.clauses:
        mark = "[green]✓[/]" if clause.fulfilled else "[red]✗[/]"
        out.print(f"  {mark} {plain(clause.canonical)}{_where(clause)}")
        for part in clause.parts:
            out.print(f"      {plain(part.canonical)}: {_passages(part.passages)}")


def _where(clause: Clause) -> str:
    if clause.fulfilled:
        return ""
    if clause.negated:
        return "  [dim]what it excludes is there:[/]" if clause.parts else ""
    return f"  [dim]{'elsewhere in ' if clause.passages else ''}{_passages(clause.passages)}[/]"


def _passages(count: int) -> str:
    return "1 passage" if count == 1 else f"{count or 'no'} passages"
