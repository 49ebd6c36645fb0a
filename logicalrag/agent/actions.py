"""The five actions of a planner, and how a reply of unknown shape becomes one of them.

A reply is untrusted: it may name no action, several, an unknown one, or arguments of the wrong
shape. `parse_reply` yields exactly one valid action or raises one `ActionError` that says, to
the planner, what to do instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated
from pydantic_core import PydanticSerializationError

from logicalrag.agent.usage import Usage
from logicalrag.engines.metadata import MAX_FILTERS
from logicalrag.engines.protocol import MAX_TREES

MAX_RESULTS = 20
MAX_READ = 10
MAX_NEIGHBOURS = 3
MAX_ANSWER_CHARACTERS = 20_000

_STRICT = ConfigDict(extra="forbid")


@validated(frozen=True, slots=True, config=_STRICT)
class Search:
    """Execute one expression and show its best passages.

    Args:
        expression: a search expression; malformed ones come back as feedback.
        default_operator: what joins clauses side by side, ``OR`` or ``AND``.
        max_results: passages to show, 0 to 20; the session's limits may lower it.
        evidence_needed: what the passages must show; required in a session's first search or
            count, afterwards the last one stands until another is given.
        filters: conditions on declared fields, all to be fulfilled, as ``year>=2020``.
        sort: a date or number field to order by, newest or largest first; ``-`` before it turns
            the order round; empty for order by relevance.
    """

    expression: StrictStr
    default_operator: StrictStr = "OR"
    max_results: Annotated[StrictInt, Field(ge=0, le=MAX_RESULTS)] = 5
    evidence_needed: StrictStr = ""
    filters: Annotated[tuple[StrictStr, ...], Field(max_length=MAX_FILTERS)] = ()
    sort: StrictStr = ""
    kind: Literal["search"] = "search"


@validated(frozen=True, slots=True, config=_STRICT)
class Count:
    """Count the hits of 1 to 32 expressions; shows no passage. Other arguments as in `Search`."""

    expressions: Annotated[tuple[StrictStr, ...], Field(min_length=1, max_length=MAX_TREES)]
    default_operator: StrictStr = "OR"
    evidence_needed: StrictStr = ""
    filters: Annotated[tuple[StrictStr, ...], Field(max_length=MAX_FILTERS)] = ()
    kind: Literal["count"] = "count"


@validated(frozen=True, slots=True, config=_STRICT)
class Read:
    """Show 1 to 10 passages in full, each with 0 to 3 neighbours on either side."""

    passage_ids: Annotated[tuple[StrictStr, ...], Field(min_length=1, max_length=MAX_READ)]
    neighbours: Annotated[StrictInt, Field(ge=0, le=MAX_NEIGHBOURS)] = 0
    kind: Literal["read"] = "read"


@validated(frozen=True, slots=True, config=_STRICT)
class Answer:
    """End the session with an answer that rests on passages shown in it.

    Args:
        text: 1 to 20,000 code points, not all white space.
        cited: ids of the passages that it rests on.
    """

    text: Annotated[StrictStr, Field(max_length=MAX_ANSWER_CHARACTERS, pattern=r"\S")]
    cited: tuple[StrictStr, ...]
    kind: Literal["answer"] = "answer"


@validated(frozen=True, slots=True, config=_STRICT)
class Abstain:
    """End the session without an answer; `reason` is the planner's own sentence."""

    reason: StrictStr
    kind: Literal["abstain"] = "abstain"


Action = Annotated[Search | Count | Read | Answer | Abstain, Field(discriminator="kind")]
ACTION_KINDS = ("search", "count", "read", "answer", "abstain")
_ACTION: TypeAdapter[Search | Count | Read | Answer | Abstain] = TypeAdapter(Action)

ActionErrorCode = Literal["no_action", "multiple_actions", "unknown_action", "bad_arguments"]


class ActionError(ValueError):
    """A reply that is not exactly one valid action.

    Args:
        code: one of `ActionErrorCode`.
        message: what is wrong and what to send instead, in one or two sentences.
    """

    def __init__(self, code: ActionErrorCode, message: str) -> None:
        super().__init__(code, message)
        self.code: ActionErrorCode = code
        self.message = message

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Reply:
    """What a planner sent in one turn, before anything is believed about it.

    Args:
        actions: raw actions in the order given, each ``{"kind": name, argument: value, …}``.
        stop: ``complete``; ``truncated`` where the reply was cut off, so that none of its actions
            is executed; ``refused`` where the model declined, which ends the session.
        usage: what the reply cost; None where no model took part.
        record: the reply as the planner wants to see it again in later turns, JSON values only;
            nobody else reads it.
        detail: where ``refused``, what the model said of it; may be empty.
    """

    actions: tuple[Mapping[str, Any], ...]
    stop: Literal["complete", "truncated", "refused"] = "complete"
    usage: Usage | None = None
    record: Mapping[str, Any] | None = None
    detail: str = ""


def raw_action(action: Search | Count | Read | Answer | Abstain) -> dict[str, Any]:
    """Return `action` as any planner would send it, JSON values only, arguments not set left out.

    ``kind`` is always there.
    """
    shortened: dict[str, Any] = _ACTION.dump_python(action, mode="json", exclude_defaults=True)
    return {"kind": action.kind, **shortened}


def as_reply(*actions: Search | Count | Read | Answer | Abstain) -> Reply:
    """Return a reply that carries `actions` in raw form, as any planner would send them."""
    return Reply(tuple(_ACTION.dump_python(action) for action in actions))


def parse_reply(reply: Reply) -> Search | Count | Read | Answer | Abstain:
    """Return the one action of `reply`.

    Raises:
        ActionError: none, several, an unknown one, or arguments that do not fit.
    """
    if not reply.actions:
        raise ActionError(
            "no_action", f"The reply holds no action; send one of {', '.join(ACTION_KINDS)}."
        )
    if len(reply.actions) > 1:
        raise ActionError(
            "multiple_actions",
            f"The reply holds {len(reply.actions)} actions, so none was executed; "
            "send exactly one.",
        )
    raw = reply.actions[0]
    if not isinstance(raw, Mapping) or raw.get("kind") not in ACTION_KINDS:
        named = raw.get("kind") if isinstance(raw, Mapping) else None
        raise ActionError(
            "unknown_action",
            f"There is no action {_shortened(named)}; send one of {', '.join(ACTION_KINDS)}.",
        )
    try:
        action = _ACTION.validate_python(dict(raw))
        _ACTION.dump_json(action)
    except ValidationError as error:
        raise ActionError(
            "bad_arguments", f"Arguments of {raw['kind']!r} do not fit: {_problems(error)}."
        ) from None
    except PydanticSerializationError:  # a session is stored, and this could not be
        raise ActionError(
            "bad_arguments",
            f"Arguments of {raw['kind']!r} hold a lone surrogate, which is no character; "
            "send it again without.",
        ) from None
    return action


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _place(part: object) -> str:
    # A name that nobody declared is the planner's own, and may be anything.
    text = str(part)
    return text if len(text) <= 60 and text.replace("_", "").isalnum() else _shortened(text)


def _problems(error: ValidationError) -> str:
    problems: Sequence[str] = [
        f"{'.'.join(map(_place, problem['loc'][1:])) or 'action'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)[:5]
    ]
    return "; ".join(problems)
