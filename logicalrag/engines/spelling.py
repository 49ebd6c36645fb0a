"""Which words are spelt alike: one rule for every engine."""

from __future__ import annotations

# Two edits only with the same first letter: people seldom miss that one, and Lucene's speller
# looks for no others (Lucene's `DirectSpellChecker`).
MAX_EDITS = 2
MIN_SIMILARITY = 0.5


def similarity(word: str, held: str) -> float | None:
    """Return 1 − Levenshtein distance / length of the longer of two words, if they are alike.

    Alike are different words one edit apart, or `MAX_EDITS` with the same first letter, and similar
    by `MIN_SIMILARITY` at least; else None.
    """
    from rapidfuzz.distance import Levenshtein  # here, as most commands look for no near word

    edits = Levenshtein.distance(word, held, score_cutoff=MAX_EDITS)
    if edits == 0 or edits > (MAX_EDITS if word[:1] == held[:1] else 1):
        return None
    similar = 1 - edits / max(len(word), len(held))
    return similar if similar >= MIN_SIMILARITY else None
