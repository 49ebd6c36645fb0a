"""Feedback as text for a model: counts first, passages fenced, nothing in them obeyed.

Titles and texts come from documents that nobody vouches for. Each passage stands between one
opening and one closing tag, and whatever could be read as such a tag inside is defused, so that
a passage can neither end its fence nor be taken for the program's own words. Actions are read
from the planner's reply alone, never from this text.
"""

from __future__ import annotations

import regex

from logicalrag.agent.feedback import (
    CountFeedback,
    DeadWord,
    Done,
    ErrorFeedback,
    ExpressionCount,
    ReadFeedback,
    Remark,
    SearchFeedback,
    Shown,
)

OPENING = "<passage>"
CLOSING = "</passage>"
# Any spelling that a reader may take for the tag: full-width signs, signs without width between.
_TAG_LIKE = regex.compile(r"[<＜‹][\s/／\p{Cf}]*passage", regex.IGNORECASE)
_BLANKS = regex.compile(r"\s+")


def render(feedback: SearchFeedback | CountFeedback | ReadFeedback | ErrorFeedback | Done) -> str:
    """Return `feedback` as the text that the planner reads in its next turn."""
    if isinstance(feedback, SearchFeedback):
        return "\n".join(_search_lines(feedback))
    if isinstance(feedback, CountFeedback):
        lines = [_count_line(count) for count in feedback.counts]
        lines.append(f"visible passages: {feedback.visible}")
        return "\n".join([*lines, *_filter_lines(feedback.filters)])
    if isinstance(feedback, ReadFeedback):
        return "\n".join(_read_lines(feedback))
    if isinstance(feedback, ErrorFeedback):
        return feedback.rendered or f"{feedback.code}: {feedback.message}"
    return "The session has ended."


def render_passage(passage: Shown) -> str:
    """Return one passage as ``[id] title (location): text`` between exactly one pair of real tags.

    The location is left out where there is none.
    """
    title = _BLANKS.sub(" ", _defused(passage.title)).strip()
    if passage.location:
        location = _BLANKS.sub(" ", _defused(passage.location)).strip()
        title = f"{title} ({location})".strip()
    cut = "" if passage.whole else " […]"
    return (
        f"{OPENING}\n[{passage.passage_id}] {title}: {_defused(passage.text).strip()}{cut}\n"
        f"{CLOSING}"
    )


def _search_lines(feedback: SearchFeedback) -> list[str]:
    lines = [
        f"hits: {_typed(feedback.hits, feedback.relation)} of {feedback.visible} "
        f"({_percent(feedback.fraction)})",
        f"read as: {feedback.canonical}",
        *_filter_lines(feedback.filters),
        *_remark_lines(feedback.notices),
    ]
    if feedback.sort:
        lines.append(f"sorted by: {feedback.sort}")
    if feedback.too_broad:
        lines.append("Too broad, so nothing is shown. Add a distinctive word, a phrase or NOT.")
        lines.extend(f"  {part.canonical}: {part.hits}" for part in feedback.clauses)
    if feedback.leave_one_out:
        lines.append("Hits with one clause left out:")
        lines.extend(f"  without {part.canonical}: {part.hits}" for part in feedback.leave_one_out)
    if feedback.without_filters is not None:
        lines.append(f"Hits without the filters: {feedback.without_filters}")
    lines.extend(map(_dead_word_line, feedback.dead_words))
    lines.extend(render_passage(passage) for passage in feedback.results)
    return lines


def _count_line(count: ExpressionCount) -> str:
    if count.error is not None:
        return f"{_one_line(count.expression)}: {count.error.code}: {count.error.message}"
    remarks = "".join(f" ({remark.code})" for remark in count.notices)
    return f"{count.canonical}: {_typed(count.hits or 0, count.relation or 'eq')}{remarks}"


def _read_lines(feedback: ReadFeedback) -> list[str]:
    return [
        *(render_passage(passage) for passage in feedback.passages),
        *(f"[{identity}] already read" for identity in feedback.already_read),
        *(f"[{_one_line(identity)}] no such passage" for identity in feedback.unknown),
    ]


def _filter_lines(filters: tuple[str, ...]) -> list[str]:
    return [f"filters: {' and '.join(map(_one_line, filters))}"] if filters else []


def _remark_lines(remarks: tuple[Remark, ...]) -> list[str]:
    return [f"notice {remark.code}: {remark.message}" for remark in remarks]


def _dead_word_line(dead: DeadWord) -> str:
    near = ", ".join(f"{word.canonical} ({word.hits})" for word in dead.nearest)
    return f"no hits for {dead.word}; nearest indexed words: {near or 'none'}"


def _typed(hits: int, relation: str) -> str:
    return {"eq": "", "gte": "at least ", "estimate": "about "}[relation] + str(hits)


def _percent(fraction: float) -> str:
    return f"{fraction:.1%}" if fraction >= 0.001 or fraction == 0 else "under 0.1%"


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", _defused(text))[:200]


def _defused(text: str) -> str:
    """Return `text` with the bracket of whatever looks like a passage tag replaced."""
    return _TAG_LIKE.sub(lambda found: "(" + found.group()[1:], text)
