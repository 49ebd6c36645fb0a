"""Indexed words that are spelt like one: the server's automaton proposes, exact rules decide.

The term suggester walks the term dictionary with a Levenshtein automaton that takes a swap of
neighbours for one edit, so what it proposes holds all words one edit away. For two it wants the
same first letter, and so does `spelling.similarity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from logicalrag.engines.elastic.answers import Answer
from logicalrag.engines.elastic.counting import View, counts_of, counts_searches
from logicalrag.engines.elastic.fields import Query
from logicalrag.engines.elastic.own_fields import is_storable
from logicalrag.engines.elastic.reading import Reading, Search
from logicalrag.engines.protocol import NearWord
from logicalrag.engines.spelling import MAX_EDITS, similarity
from logicalrag.query.nodes import FIELDS, Field, Phrase

_PROPOSED = 5_000
_COUNTED_AT_ONCE = 100
# Above every word's count: words that are in the index may be asked for as well.
_ANY_FREQUENCY = 2_000_000_000


def nearest(
    reading: Reading, view: View, word: str, field: Field | None, limit: int
) -> tuple[NearWord, ...]:
    """Return at most `limit` words spelt like `word`, by similarity, hits, and the word.

    Args:
        view: of the caller; words without hits in it are left out.
        word: one token; itself never returned.
        field: the field whose words are meant; None for all.
    """
    if not is_storable(word):
        return ()
    (answer,) = reading.ask(_proposals(reading, word, field))
    alike = _alike(word, _bounds(answer))
    found: list[NearWord] = []
    for _, group in groupby(alike, key=lambda each: each[0]):
        if len(found) >= limit:
            break
        equals = [(bound, held) for _, bound, held in group]
        found += _most_held(reading, view, equals, field, limit - len(found))
    return tuple(found)


def _proposals(reading: Reading, word: str, field: Field | None) -> Search:
    suggest: Query = {"text": word}
    for name in FIELDS if field is None else (field,):
        suggest[name] = {
            "term": {
                "field": reading.fields.exact(name),
                "suggest_mode": "always",
                "max_edits": MAX_EDITS,
                "prefix_length": 0,
                "min_word_length": 1,
                "accuracy": 0.0,
                "max_term_freq": _ANY_FREQUENCY,
                "max_inspections": 1,
                "size": _PROPOSED,
                "shard_size": _PROPOSED,
            }
        }
    return Search({"size": 0, "track_total_hits": False, "suggest": suggest})


def _bounds(answer: Answer) -> Mapping[str, int]:
    """Return each proposed word with an upper bound of the passages that hold it."""
    bounds: dict[str, int] = {}
    for entries in answer["suggest"].values():
        for entry in entries:
            for option in entry["options"]:
                held = option["text"]
                bounds[held] = bounds.get(held, 0) + option["freq"]
    return bounds


def _alike(word: str, bounds: Mapping[str, int]) -> list[tuple[float, int, str]]:
    """Return similarity, bound and word of those that are near enough, the best first."""
    alike: list[tuple[float, int, str]] = []
    for held, bound in bounds.items():
        similar = similarity(word, held)
        if similar is not None:
            alike.append((similar, bound, held))
    alike.sort(key=lambda each: (-each[0], -each[1], each[2]))
    return alike


def _most_held(
    reading: Reading,
    view: View,
    words: Sequence[tuple[int, str]],
    field: Field | None,
    limit: int,
) -> list[NearWord]:
    """Return the `limit` of `words` with most hits, by hits and the word.

    Args:
        words: each with an upper bound of its hits, the highest first.
    """
    found: list[NearWord] = []
    for begin in range(0, len(words), _COUNTED_AT_ONCE):
        batch = words[begin : begin + _COUNTED_AT_ONCE]
        if len(found) == limit and found[-1].hits > batch[0][0]:
            break
        queries = [view.query(reading.fields, Phrase((held,), field)) for _, held in batch]
        counts = counts_of(view, reading.ask(*counts_searches(view, queries)))
        found += [
            NearWord(held, hits) for (_, held), hits in zip(batch, counts, strict=True) if hits
        ]
        found.sort(key=lambda near: (-near.hits, near.word))
        del found[limit:]
    return found
