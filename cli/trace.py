"""A session as a person reads it: each turn with its counts, then the outcome."""

from __future__ import annotations

from cli.console import one_line, out, plain
from logicalrag.agent.actions import Read
from logicalrag.agent.feedback import (
    CountFeedback,
    DeadWord,
    ErrorFeedback,
    ReadFeedback,
    SearchFeedback,
)
from logicalrag.agent.outcome import (
    Abstained,
    Answered,
    Certificate,
    Failed,
    LimitReached,
)
from logicalrag.agent.state import SessionState

_CITED_CODE_POINTS = 240

_ABSTENTIONS = {
    "no_evidence": "nothing that is indexed matches; the searches below were all empty",
    "insufficient_evidence": "what was found does not answer the question",
    "unseen_citation": "the answer cited passages that were never shown",
    "refusal": "the model declined to go on",
}


def show_question(question: str, planner: str) -> None:
    """Print the question and who plans."""
    out.print(f"[bold]Q: {one_line(question)}[/]")
    out.print(f"[dim]planner: {plain(planner)}[/]")


def show_last_turn(state: SessionState) -> None:
    """Print the last turn in a few lines; the turn that ends the session prints nothing."""
    turn = state.turns[-1]
    feedback = turn.feedback
    lead = f"[cyan]{turn.number:3}[/] "
    if isinstance(feedback, SearchFeedback):
        out.print(f"{lead}search  {plain(feedback.canonical)}{_conditions(feedback)}")
        refused = "  [yellow]too broad, refused[/]" if feedback.too_broad else ""
        hits = f"[bold]{feedback.hits}[/] {'hit' if feedback.hits == 1 else 'hits'}"
        out.print(f"      → {hits} ({feedback.fraction:.1%}){refused}")
        for passage in feedback.results:
            out.print(f"        · {one_line(passage.title or passage.document_id)}")
        for part in feedback.leave_one_out:
            out.print(f"        without {_cut(part.canonical, 60)}: {part.hits}")
        if feedback.dead_words:
            words = ", ".join(map(_dead_word, feedback.dead_words))
            out.print(f"        no hits for {plain(words)}")
    elif isinstance(feedback, CountFeedback):
        out.print(f"{lead}count   {len(feedback.counts)} expressions{_conditions(feedback)}")
        shown = [
            f"{plain(count.canonical or count.expression)}: "
            f"{count.error.code if count.error else count.hits}"
            for count in feedback.counts
        ]
        out.print("      → " + " · ".join(shown))
    elif isinstance(feedback, ReadFeedback):
        asked = len(turn.action.passage_ids) if isinstance(turn.action, Read) else 0
        out.print(f"{lead}read    {asked} passages")
        for passage in feedback.passages:
            out.print(f"        · {one_line(passage.title or passage.document_id)}")
    elif isinstance(feedback, ErrorFeedback):
        out.print(f"{lead}[yellow]{feedback.code}[/]: {plain(feedback.message)}")


def show_outcome(state: SessionState) -> None:
    """Print how the session ended: answer with citations, or why there is none."""
    outcome = state.outcome
    if isinstance(outcome, Answered):
        out.print(f"[bold green]A:[/] {plain(outcome.text)}")
        for number, citation in enumerate(outcome.citations, start=1):
            place = ", ".join(filter(None, (citation.document_id, citation.location)))
            out.print(
                f"  [{number}] [bold]{one_line(citation.title)}[/] "
                f"[dim]({one_line(place)})[/] "
                f"{_cut(' '.join(citation.text.split()), _CITED_CODE_POINTS)}"
            )
        for claim in outcome.unsupported:
            out.print(f"  [yellow]not in the cited passages:[/] {claim.kind} {plain(claim.text)}")
    elif isinstance(outcome, Abstained):
        out.print(f"[bold yellow]No answer:[/] {_ABSTENTIONS[outcome.reason]}.")
        if outcome.detail:
            out.print(f"  {plain(outcome.detail)}")
        if outcome.certificate is not None:
            _show_certificate(outcome.certificate)
    elif isinstance(outcome, LimitReached):
        out.print(f"[bold yellow]No answer:[/] the limit on {outcome.limit} was reached.")
    elif isinstance(outcome, Failed):
        out.print(f"[bold red]Failed:[/] {plain(outcome.message)}")


def show_usage(state: SessionState) -> None:
    """Print in one line what the model's calls cost; nothing where no model took part."""
    usage = state.usage
    if usage is None:
        return
    read = usage.input_tokens + usage.cached_tokens + usage.cache_write_tokens
    cached = f" ({usage.cached_tokens:,} from the cache)" if usage.cached_tokens else ""
    cost = "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
    calls = "1 model call" if usage.calls == 1 else f"{usage.calls} model calls"
    out.print(
        f"[dim]usage: {calls}, {read:,} tokens read{cached}, {usage.output_tokens:,} written, "
        f"{usage.seconds:.1f} s, {cost}[/]"
    )


def _conditions(feedback: SearchFeedback | CountFeedback) -> str:
    conditions = list(feedback.filters)
    if isinstance(feedback, SearchFeedback) and feedback.sort:
        conditions.append(f"by {feedback.sort}")
    return f"  [dim]{one_line(', '.join(conditions))}[/]" if conditions else ""


def _show_certificate(certificate: Certificate) -> None:
    out.print(f"  [dim]needed:[/] {plain(certificate.evidence_needed)}")
    for part in certificate.expressions:
        across = f"  ({part.documents} documents hold its parts apart)" if part.documents else ""
        out.print(f"  [dim]0 hits[/]  {plain(part.canonical)}{across}")
    pending = f", {certificate.pending} documents waiting" if certificate.pending else ""
    filters = f" with {one_line(', '.join(certificate.filters))}" if certificate.filters else ""
    out.print(f"  [dim]of {certificate.visible} visible passages{filters}{pending}[/]")


def _dead_word(dead: DeadWord) -> str:
    near = ", ".join(f"{word.canonical}: {word.hits}" for word in dead.nearest)
    return f"{dead.word} (near: {near})" if near else dead.word


def _cut(text: str, limit: int) -> str:
    return plain(text if len(text) <= limit else text[: limit - 1] + "…")
