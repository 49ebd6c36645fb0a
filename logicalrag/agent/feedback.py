"""What a turn gave back, as data: rendered as text for a model, read as it is by rules."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as validated

from logicalrag.engines.protocol import Relation


@validated(frozen=True, slots=True)
class Shown:
    """A passage as it was shown.

    Args:
        passage_id: what an answer cites.
        document_id: the producer's id of its document.
        title: the document's title.
        text: the text that was shown: an excerpt, or all of the passage where `whole`.
        whole: whether `text` is the whole passage.
        location: where in its source it stands, as ``page 12``; may be empty.
    """

    passage_id: str
    document_id: str
    title: str
    text: str
    whole: bool
    location: str = ""


@validated(frozen=True, slots=True)
class PartCount:
    """Hits of a part of an expression, named by its canonical text."""

    canonical: str
    hits: int


@validated(frozen=True, slots=True)
class DeadWord:
    """A word without hits, and the nearest indexed words with their hits, best first."""

    word: str
    nearest: tuple[PartCount, ...]


@validated(frozen=True, slots=True)
class Remark:
    """A notice of the language: its code and sentence."""

    code: str
    message: str


@validated(frozen=True, slots=True)
class SearchFeedback:
    """What a search gave.

    Args:
        hits, relation, fraction, visible, generation: as in the engine's result.
        canonical: how the expression was read, synonyms included.
        notices: remarks of the language.
        results: passages shown, best first; empty where refused.
        too_broad: the search matched too much and was refused; `clauses` says what each gives.
        clauses: hits of each clause, given where refused as too broad.
        leave_one_out: at zero hits, what is left without each top-level conjunct.
        dead_words: at zero hits, words without a hit of their own, filters apart.
        filters: the conditions that held, in their canonical form.
        sort: the order asked for; empty for relevance.
        without_filters: at zero hits under filters, what is left without them.
    """

    hits: int
    relation: Relation
    fraction: float
    visible: int
    generation: str
    canonical: str
    notices: tuple[Remark, ...] = ()
    results: tuple[Shown, ...] = ()
    too_broad: bool = False
    clauses: tuple[PartCount, ...] = ()
    leave_one_out: tuple[PartCount, ...] = ()
    dead_words: tuple[DeadWord, ...] = ()
    filters: tuple[str, ...] = ()
    sort: str = ""
    without_filters: int | None = None
    kind: Literal["search"] = "search"


@validated(frozen=True, slots=True)
class ExpressionCount:
    """One counted expression: its hits, or the code and message of its error.

    `canonical`, `hits` and `relation` are None exactly where `error` is given.
    """

    expression: str
    canonical: str | None = None
    hits: int | None = None
    relation: Relation | None = None
    notices: tuple[Remark, ...] = ()
    error: Remark | None = None


@validated(frozen=True, slots=True)
class CountFeedback:
    """What a count gave, in the order asked; `filters` are the conditions that held."""

    counts: tuple[ExpressionCount, ...]
    visible: int
    generation: str
    filters: tuple[str, ...] = ()
    kind: Literal["count"] = "count"


@validated(frozen=True, slots=True)
class ReadFeedback:
    """What a read gave.

    Args:
        passages: shown in full, in the order asked.
        already_read: ids shown in full before, not shown again.
        unknown: ids that no visible passage has.
    """

    passages: tuple[Shown, ...]
    already_read: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    kind: Literal["read"] = "read"


@validated(frozen=True, slots=True)
class ErrorFeedback:
    """Why nothing was executed, for the planner to mend.

    Args:
        code: of an action, expression or filter error, or ``truncated``, ``unseen_citation``,
            ``evidence_needed_missing``.
        message: one sentence, and what to send instead.
        position, end: the place in the expression, where there is one (code points).
        hint: how to write it instead; may be empty.
    """

    code: str
    message: str
    position: int | None = None
    end: int | None = None
    hint: str = ""
    rendered: str = ""
    kind: Literal["error"] = "error"


@validated(frozen=True, slots=True)
class Done:
    """The turn that ended the session; its outcome stands in the state."""

    kind: Literal["done"] = "done"


Feedback = Annotated[
    SearchFeedback | CountFeedback | ReadFeedback | ErrorFeedback | Done,
    Field(discriminator="kind"),
]
