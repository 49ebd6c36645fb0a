"""`parser`: parsing is linear in length; CPU time of five-clause expressions.

The reference is the least that any parser must do: one regular expression that finds the words
and signs of the same texts, in the same run.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from benchmarks.harness import Ratio, Report, median_pairs
from logicalrag.query.errors import ExpressionError
from logicalrag.query.parser import parse

FIVE_CLAUSES = (
    'title:"Ottone in villa" AND (Vivaldi OR composer^2) AND opera NOT Handel',
    'ERR_CONN_RESET AND ("connection reset" OR timeout) AND v2.14.3 NOT title:changelog',
    "Vivaldi opera Venice premiere -Handel",
    '(title:(first OR second) AND "world war")^2 AND content:treaty AND NOT Versailles',
    "Müller && (Zürich || “ETH Zürich”) && Nobelpreis && !Einstein",
)
# One repeated piece each; every text made of them is read to its end.
REPEATED = (
    "alpha OR ",
    "NOT ",
    "-",
    '"!!!" ',
    "(a) ",
    "a?",
    "\\a",
    "第",
    "a\u0301 ",
    "((a)^2 b) ",
    "?! ",
    "é’s ",
)
LENGTHS = (1_250, 10_000)
ROUNDS = 15
_REFERENCE = re.compile(r"\w+|[^\w\s]")


def run() -> Report:
    """Return CPU time per five-clause expression, the slowest long text, and the growth."""
    worst, bare, ratio = median_pairs(
        lambda: max(_microseconds(partial(parse, text)) for text in FIVE_CLAUSES),
        lambda: max(_microseconds(partial(_REFERENCE.findall, text)) for text in FIVE_CLAUSES),
        ROUNDS,
    )
    slowest, growth = 0.0, 0.0
    for piece in REPEATED:
        short, long = (_long_text_milliseconds(piece, length) for length in LENGTHS)
        slowest = max(slowest, long)
        growth = max(growth, (long / short) / (LENGTHS[1] / LENGTHS[0]))
    return Report(
        name="parser",
        ratios={
            "five_clauses_cpu_microseconds": Ratio(worst, 100.0, "at_most"),
            "longest_text_cpu_milliseconds": Ratio(slowest, 50.0, "at_most"),
            "growth_over_linear": Ratio(growth, 2.0, "at_most"),
        },
        reference={
            "bare_regex_cpu_microseconds": round(bare, 2),
            "bare_regex_texts_per_cpu_second": round(1e6 / bare),
            "parser_over_bare_regex": round(ratio, 1),
        },
        method=(
            f"The slowest of {len(FIVE_CLAUSES)} five-clause expressions, median of {ROUNDS} "
            f"rounds of 500; {len(REPEATED)} repeated pieces at {LENGTHS[0]} and {LENGTHS[1]} "
            "code points, best of 5, limits on clauses lifted; growth is time per code point at "
            "the longer text over that at the shorter one."
        ),
    )


def _microseconds(work: Callable[[], object], repeats: int = 500) -> float:
    begin = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - begin) / repeats * 1e6


def _long_text_milliseconds(piece: str, length: int) -> float:
    text = (piece * length)[: length - 2] + " a"

    def work() -> None:
        with suppress(ExpressionError):
            # Without the limits, so that no text is refused before its end.
            parse(text, canonical=True)

    best: Sequence[float] = [_microseconds(work, repeats=3) for _ in range(5)]
    return min(best) / 1e3
