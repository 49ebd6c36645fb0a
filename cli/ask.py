"""`logicalrag ask`: let the agent search until it can answer or must abstain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, Field

from bootstrap.sessions import open_session
from bootstrap.settings import read_settings
from cli import options
from cli.batch import answer_lines
from cli.console import (
    EXIT_ABSTAINED,
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_LIMIT,
    fail,
    print_json,
    warn,
)
from cli.trace import show_last_turn, show_outcome, show_question, show_usage
from logicalrag.agent.outcome import Failed
from logicalrag.agent.report import session_report
from logicalrag.engines.metadata import MAX_FILTERS, MetadataError

EXIT_CODES = {
    "answered": 0,
    "abstained": EXIT_ABSTAINED,
    "limit": EXIT_LIMIT,
    "error": EXIT_FAILED,
}

EXAMPLES = """
Exit codes: 0 answered, 3 abstained, 4 a limit was reached, 1 failed, 2 bad input.

Examples:

  logicalrag ask "Which opera by Vivaldi was first performed in Vicenza?"

  logicalrag ask "What changed in the lease?" --filter 'year>=2020' --synonyms terms.txt

  logicalrag ask --planner anthropic --max-cost 0.10 "Why was the Bergen office closed?"

  logicalrag ask --json "Who wrote RFC 2119?" | jq .citations

  logicalrag ask --batch questions.jsonl > answers.jsonl
"""


class QuestionLine(BaseModel):
    """One line of a batch; `exclude_ids` are documents that do not exist for this question."""

    model_config = ConfigDict(extra="ignore")

    id: str | int | None = None
    question: Annotated[str, Field(pattern=r"\S")]
    exclude_ids: Annotated[list[str], Field(max_length=10_000)] = []
    filters: Annotated[list[str], Field(max_length=MAX_FILTERS)] = []
    sort: str = ""


def ask(
    question: Annotated[
        str | None, typer.Argument(help="A question in plain words.", show_default=False)
    ] = None,
    batch: options.Batch = None,
    index: options.Index = None,
    engine: options.Engine = None,
    elastic_hosts: options.ElasticHosts = None,
    elastic_index: options.ElasticIndex = None,
    attached: options.Attached = None,
    filters: options.Filters = None,
    sort: options.Sort = "",
    synonyms: options.Synonyms = None,
    planner: options.Planner = None,
    script: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Actions to replay, one JSON object a line (scripted)."),
    ] = None,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    prompt: options.Prompt = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    max_seconds: options.MaxSeconds = None,
    expression_cache: options.ExpressionCache = None,
    tenant: options.Tenant = None,
    groups: options.Groups = None,
    json: options.Json = False,
) -> None:
    """Answer a question from the indexed documents, with citations, or abstain."""
    if (question is None) == (batch is None):
        fail("give one question, or --batch FILE; see logicalrag ask --help", EXIT_BAD_INPUT)
    if question is not None and not question.strip():
        fail("the question is empty", EXIT_BAD_INPUT)
    settings = read_settings(
        index=index,
        engine=engine,
        elastic_hosts=elastic_hosts,
        elastic_index=elastic_index,
        attached=attached,
        synonyms=synonyms,
        planner=planner,
        model=model,
        base_url=base_url,
        prompt=prompt,
        max_cost=max_cost,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        expression_cache=expression_cache,
        tenant=tenant,
        groups=frozenset(groups) if groups else None,
    )
    given = filters or []
    with open_session(settings, script, warn=warn) as session:

        def answer(line: QuestionLine) -> tuple[dict[str, Any], bool]:
            try:
                state = session.ask(
                    line.question,
                    hidden_documents=frozenset(line.exclude_ids),
                    filters=[*given, *line.filters],
                    sort=line.sort or sort,
                )
            except MetadataError as error:
                state = session.new("").failed(Failed(error.code, error.message))
            report = {"id": line.id, "question": line.question, **session_report(state)}
            return report, isinstance(state.outcome, Failed)

        def refuse(value: object, message: str) -> dict[str, Any]:
            given = value if isinstance(value, dict) else {}
            state = session.new("").failed(Failed("bad_line", message))
            asked = {"id": given.get("id"), "question": given.get("question")}
            return {**asked, **session_report(state)}

        session.new("", filters=given, sort=sort)  # bad ones end the run, not each line of a batch
        if batch is not None:
            raise typer.Exit(answer_lines(batch, QuestionLine, answer, refuse))
        assert question is not None  # noqa: S101 - exactly one of the two was given
        if not json:
            show_question(question, session.planner_label)
        state = session.ask(
            question,
            filters=given,
            sort=sort,
            on_turn=_nothing if json else show_last_turn,
        )
        if json:
            print_json(session_report(state))
        else:
            show_outcome(state)
            show_usage(state)
    raise typer.Exit(EXIT_CODES[state.outcome.kind] if state.outcome else EXIT_FAILED)


def _nothing(_state: object) -> None:
    return None
