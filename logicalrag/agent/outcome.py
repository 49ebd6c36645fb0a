"""How a session ended: answer with citations, abstention with its certificate, limit, error."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as validated

from logicalrag.agent.usage import Usage


@validated(frozen=True, slots=True)
class Citation:
    """A cited passage with the text as it was shown, kept whatever becomes of the document."""

    passage_id: str
    document_id: str
    title: str
    text: str
    location: str = ""


@validated(frozen=True, slots=True)
class CertifiedExpression:
    """One expression of a certificate.

    Args:
        expression, canonical: as written and as read.
        hits: always 0, exact, at the certificate's generation.
        documents: documents in which each positive top-level clause matches some passage, though
            no single passage matches the whole.
    """

    expression: str
    canonical: str
    hits: int
    documents: int


@validated(frozen=True, slots=True)
class Certificate:
    """What was searched and found empty, for one evidence need.

    Says exactly: no single passage visible to this caller, under these filters, matches any of
    `expressions` at this generation; whether some document holds all positive clauses across its
    passages (`documents` of each); whether documents were waiting to be indexed (`pending`).

    Args:
        evidence_needed: the need that all expressions stand for.
        expressions: the first, then at least three, each strictly weaker than the one before.
        generation: the index generation of all counts.
        visible: passages that the caller could see under these filters.
        pending: documents accepted but not yet searchable.
        filters: the conditions under which all was counted, in their canonical form.
    """

    evidence_needed: str
    expressions: tuple[CertifiedExpression, ...]
    generation: str
    visible: int
    pending: int
    filters: tuple[str, ...] = ()


@validated(frozen=True, slots=True)
class Unsupported:
    """A name, number or date of the answer that no cited passage holds.

    `start` and `end` are code points of the answer's text, end exclusive.
    """

    text: str
    kind: Literal["name", "number", "date"]
    start: int
    end: int


@validated(frozen=True, slots=True)
class Answered:
    """An answer that cites only passages shown in its session."""

    text: str
    citations: tuple[Citation, ...]
    unsupported: tuple[Unsupported, ...]
    kind: Literal["answered"] = "answered"


@validated(frozen=True, slots=True)
class Abstained:
    """No answer.

    Args:
        reason: ``no_evidence`` (certified), ``insufficient_evidence`` (no certificate),
            ``unseen_citation`` (the answer cited what was never shown, twice), ``refusal`` (the
            model declined).
        detail: the planner's or the model's own sentence; may be empty.
        certificate: what was searched and found empty, or None.
    """

    reason: Literal["no_evidence", "insufficient_evidence", "unseen_citation", "refusal"]
    detail: str
    certificate: Certificate | None
    kind: Literal["abstained"] = "abstained"


@validated(frozen=True, slots=True)
class LimitReached:
    """The session used up a limit; `limit` is its name in `Limits`."""

    limit: Literal["searching_turns", "turns", "tokens", "seconds", "cost"]
    kind: Literal["limit"] = "limit"


@validated(frozen=True, slots=True)
class Failed:
    """The infrastructure failed; nothing is said about the question.

    `usage` is what the turn that failed had cost, which stands in no turn; None where nothing.
    """

    code: str
    message: str
    usage: Usage | None = None
    kind: Literal["error"] = "error"


Outcome = Annotated[Answered | Abstained | LimitReached | Failed, Field(discriminator="kind")]
