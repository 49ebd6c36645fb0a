"""BM25 as Lucene and tantivy compute it, written out plainly (k1 = 1.2, b = 0.75).

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009);
Lucene's `LegacyBM25Similarity` for the factor k1 + 1 and the idf that is never negative, its
`SmallFloat` for the field length, which is kept in one byte.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

K1 = 1.2
B = 0.75

# Lengths below this are kept exactly: what 256 byte values leave over.
_EXACT_LENGTHS = 24


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """What BM25 knows of one field in one tenant.

    Args:
        passages: how many passages there are.
        tokens: how many tokens the field holds in all of them.
    """

    passages: int
    tokens: int


def field_statistics(lengths: Sequence[int], empty_fields: bool) -> FieldStatistics:
    """Return the statistics of a field.

    Args:
        lengths: in tokens, of every passage.
        empty_fields: whether those without a token count as well, as in tantivy; in Lucene they
            do not.
    """
    passages = sum(1 for length in lengths if length or empty_fields)
    return FieldStatistics(passages, sum(lengths))


def idf(passages: int, holding: int) -> float:
    """Return the inverse document frequency of a term that `holding` of `passages` hold."""
    return math.log(1.0 + (passages - holding + 0.5) / (holding + 0.5))


def score(frequency: int, length: int, idfs: Sequence[float], field: FieldStatistics) -> float:
    """Return the score of one field of one passage for a term or phrase.

    Args:
        frequency: occurrences of the term or phrase in the field, at least 1.
        length: tokens of the field.
        idfs: of the term, or of every term of the phrase: they are added up.
        field: statistics of the field.
    """
    average = field.tokens / field.passages
    norm = K1 * (1.0 - B + B * stored_length(length) / average)
    return sum(idfs) * (K1 + 1.0) * frequency / (frequency + norm)


def stored_length(length: int) -> int:
    """Return `length` (in tokens, at least 0) as one byte keeps it: rounded down, never up.

    Source: Lucene's ``SmallFloat.byte4ToInt(SmallFloat.intToByte4(length))``: beyond 24, a
    number with 4 significant bits.
    """
    if length < _EXACT_LENGTHS:
        return length
    above = length - _EXACT_LENGTHS
    unkept_bits = max(0, above.bit_length() - 4)
    return _EXACT_LENGTHS + ((above >> unkept_bits) << unkept_bits)
