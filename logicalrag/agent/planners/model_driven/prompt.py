"""What the model is told: versioned texts, put together in three variants.

`PROMPT_VERSION` goes up with every change of the files in ``prompts`` or of the tools'
descriptions, as expressions that were found under one text are not tried under another.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from logicalrag.agent.limits import Limits
from logicalrag.agent.planners.model_driven.settings import PromptVariant
from logicalrag.engines.metadata import FieldKind

PROMPT_VERSION = "1"
_TEXTS = Path(__file__).with_name("prompts")


def prompt_version(variant: PromptVariant) -> str:
    """Return what names the text of `variant`, as ``1-full``."""
    return f"{PROMPT_VERSION}-{variant}"


def system_prompt(
    variant: PromptVariant,
    limits: Limits,
    fields: Mapping[str, FieldKind],
    conditions: Sequence[str] = (),
) -> str:
    """Return the instructions of `variant`; the same for every turn of a session.

    Args:
        variant: ``full`` has language and strategy, ``syntax-only`` the language alone,
            ``no-operators`` words alone.
        limits: of the session.
        fields: the declared fields with their kinds; not mentioned where there are none.
        conditions: filters that the person who asks has set for the whole session.
    """
    parts = ["task", "words" if variant == "no-operators" else "language"]
    if variant == "full":
        parts.append("strategy")
    if fields:
        parts.append("fields")
    if conditions:
        parts.append("conditions")
    return Template("\n".join(map(_text, parts))).substitute(
        searches=limits.searching_turns,
        results=limits.results,
        characters=limits.excerpt_characters,
        fields="\n".join(f"- {name}: {kind}" for name, kind in fields.items()),
        conditions="; ".join(conditions),
    )


@functools.cache
def _text(part: str) -> str:
    return (_TEXTS / f"{part}.txt").read_text(encoding="utf-8")
