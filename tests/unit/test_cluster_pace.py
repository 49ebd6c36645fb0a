"""How a stream slows down and recovers."""

from __future__ import annotations

from logicalrag.engines.cluster.pace import LEAST_BYTES, RECOVERY, Pace


def succeed(pace: Pace, times: int = 1) -> None:
    for _ in range(times * RECOVERY):
        pace.succeeded()


def test_a_refusal_halves_the_size_and_takes_a_request_away() -> None:
    pace = Pace(3, 1_000_000)
    pace.slower()
    assert (pace.allowed, pace.size_bytes) == (2, 500_000)
    for _ in range(20):
        pace.slower()
    assert (pace.allowed, pace.size_bytes) == (1, LEAST_BYTES)


def test_successes_in_a_row_bring_it_back_and_no_further() -> None:
    pace = Pace(2, 1_000_000)
    for _ in range(3):
        pace.slower()
    for _ in range(RECOVERY - 1):
        pace.succeeded()
    assert (pace.allowed, pace.size_bytes) == (1, 125_000)
    pace.succeeded()
    assert (pace.allowed, pace.size_bytes) == (2, 250_000)
    succeed(pace, 5)
    assert (pace.allowed, pace.size_bytes) == (2, 1_000_000)


def test_a_refusal_begins_the_row_anew() -> None:
    pace = Pace(2, 1_000_000)
    pace.slower()
    for _ in range(RECOVERY - 1):
        pace.succeeded()
    pace.slower()
    pace.succeeded()
    assert pace.size_bytes == 250_000


def test_a_size_that_was_too_large_is_not_tried_again() -> None:
    pace = Pace(2, 1_000_000)
    pace.smaller(900_000)
    succeed(pace, 5)
    assert pace.size_bytes == 450_000
    pace.smaller(2_000_000)
    assert pace.size_bytes == 450_000


def test_a_size_below_the_least_stays() -> None:
    pace = Pace(1, 1_000)
    pace.slower()
    pace.smaller(1_000)
    assert (pace.allowed, pace.size_bytes) == (1, 1_000)
