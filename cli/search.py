"""`logicalrag search`: execute expressions and show counts and passages."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field
from rich.tree import Tree

from bootstrap.opening import open_tools
from bootstrap.settings import read_settings
from cli import options
from cli.bad_input import plain_error, refusal, refusing
from cli.batch import answer_lines
from cli.console import (
    EXIT_BAD_INPUT,
    fail,
    one_line,
    out,
    plain,
    print_json,
    shown_value,
    warn,
)
from logicalrag.agent.excerpts import excerpt, matched_forms
from logicalrag.agent.tools import Tools
from logicalrag.engines.metadata import MAX_FILTERS, Filter, MetadataError, Sort, parse_sort
from logicalrag.engines.protocol import MAX_LIMIT, SearchResult, Visibility
from logicalrag.engines.report import search_report
from logicalrag.query.errors import ExpressionError
from logicalrag.query.nodes import And, Boosted, Node, Not, Or
from logicalrag.query.parser import Parsed
from logicalrag.query.printer import canonical

MAX_EXCLUDED = 10_000

EXAMPLES = """
Examples:

  logicalrag search 'vivaldi AND "Ottone in villa"'

  logicalrag search 'opera NOT (handel OR title:alcina)' --explain

  logicalrag search opera --filter 'year>=1720' --filter kind=score --sort year

  logicalrag search -- '-handel opera'      (after --, a leading - is the expression's)

  logicalrag search --batch expressions.jsonl > counts.jsonl
"""


class SearchLine(BaseModel):
    """One line of a batch; `exclude_ids` are documents that do not exist for it."""

    model_config = ConfigDict(extra="ignore")

    expression: str
    default_operator: Any = "OR"  # whatever is no operator is the language's own error
    max_results: Annotated[int, Field(ge=0, le=MAX_LIMIT)] = 5
    exclude_ids: Annotated[list[str], Field(max_length=MAX_EXCLUDED)] = []
    filters: Annotated[list[str], Field(max_length=MAX_FILTERS)] = []
    sort: str = ""


def search(
    expression: Annotated[
        str | None, typer.Argument(help="A search expression.", show_default=False)
    ] = None,
    max_results: Annotated[
        int, typer.Option("--max-results", "-n", min=0, max=MAX_LIMIT, help="Passages to show.")
    ] = 5,
    default_operator: options.DefaultOperator = "OR",
    filters: options.Filters = None,
    sort: options.Sort = "",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the tree, the canonical form, clause counts.")
    ] = False,
    batch: options.Batch = None,
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
    """Execute a Boolean expression exactly; show its hit count and the best passages."""
    if (expression is None) == (batch is None):
        fail("give one expression, or --batch FILE; see logicalrag search --help", EXIT_BAD_INPUT)
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
    visibility = Visibility(settings.tenant, settings.groups)
    given = filters or []
    with open_tools(settings, warn) as tools:
        if batch is not None:
            _conditions(tools, given, sort)  # bad ones end the run, not each line
            raise typer.Exit(
                answer_lines(
                    batch,
                    SearchLine,
                    lambda line: (_line_report(line, tools, visibility, given, sort), False),
                    _refused_line,
                )
            )
        assert expression is not None  # noqa: S101 - exactly one of the two was given
        with refusing(json):
            parsed = tools.parse(expression, default_operator)
            conditions, order = _conditions(tools, given, sort)
        found = tools.engine.search(
            parsed.tree,
            visibility,
            limit=max_results,
            clause_counts=explain,
            leave_one_out=explain,
            filters=conditions,
            sort=order,
        )
        if json:
            print_json(search_report(found, canonical(parsed.tree), parsed.notices))
        else:
            _show(parsed, found, explain, tools)


def _line_report(
    line: SearchLine, tools: Tools, visibility: Visibility, filters: list[str], sort: str
) -> dict[str, Any]:
    try:
        parsed = tools.parse(line.expression, line.default_operator)
        conditions, order = _conditions(tools, [*filters, *line.filters], line.sort or sort)
    except (ExpressionError, MetadataError) as error:
        return refusal(error)
    found = tools.engine.search(
        parsed.tree,
        replace(visibility, hidden_documents=frozenset(line.exclude_ids)),
        limit=line.max_results,
        filters=conditions,
        sort=order,
    )
    return search_report(found, canonical(parsed.tree), parsed.notices)


def _conditions(
    tools: Tools, filters: list[str], sort: str
) -> tuple[tuple[Filter, ...], Sort | None]:
    order = parse_sort(sort, tools.engine.metadata_schema) if sort else None
    return tools.filters(filters), order


def _refused_line(_value: object, message: str) -> dict[str, Any]:
    hint = '{"expression": "…", "default_operator": "OR", "max_results": 5}'
    return plain_error("bad_line", message, hint)


def _show(parsed: Parsed, found: SearchResult, explain: bool, tools: Tools) -> None:
    out.print(
        f"[bold]{found.count.hits}[/] of {found.visible} passages "
        f"({found.count.fraction:.1%})  [dim]read as[/] {plain(canonical(parsed.tree))}"
    )
    for notice in parsed.notices:
        out.print(f"[yellow]notice {notice.code}:[/] {plain(notice.message)}")
    if explain:
        out.print(_drawn(parsed.tree))
        for part in found.clause_counts:
            out.print(f"  {part.count.hits:8}  {plain(part.canonical)}")
        for part in found.leave_one_out:
            out.print(f"  {part.count.hits:8}  without {plain(part.canonical)}")
    stem = tools.stem
    stems, exact = matched_forms(parsed.tree, stem)
    for rank, hit in enumerate(found.hits, start=1):
        passage = hit.passage
        described = [passage.document_id, passage.location, passage.id, f"{hit.score:.2f}"]
        described += [
            f"{name}={', '.join(map(shown_value, values))}"
            for name, values in passage.metadata.items()
        ]
        out.print(
            f"\n[bold]{rank}. {one_line(passage.title or '(no title)')}[/]  "
            f"[dim]{one_line(' · '.join(filter(None, described)))}[/]"
        )
        text, whole = excerpt(passage.text, stems, exact, 300, stem)
        out.print(plain(" ".join(text.split())) + ("" if whole else " […]"))


def _drawn(node: Node) -> Tree:
    if isinstance(node, And | Or):
        tree = Tree("AND" if isinstance(node, And) else "OR")
        for child in node.children:
            tree.add(_drawn(child))
        return tree
    if isinstance(node, Not):
        tree = Tree("NOT")
        tree.add(_drawn(node.child))
        return tree
    if isinstance(node, Boosted):
        tree = Tree(f"boost {node.boost}")
        tree.add(_drawn(node.child))
        return tree
    return Tree(plain(canonical(node)))
