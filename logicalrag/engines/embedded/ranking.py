"""The best hits in the exact order (−score, passage id), from an engine that leaves ties open."""

from __future__ import annotations

from typing import cast

from tantivy import DocAddress, Order, Query

from logicalrag.engines.embedded.schema import ID_ORDER
from logicalrag.engines.embedded.snapshot import Snapshot, total
from logicalrag.engines.protocol import Hit

# Fetched beyond the limit at once, since ties at the cut are common and a longer list costs
# next to nothing; then 16 times as many each time that the ties reach further.
_BEYOND = 32
_GROWTH = 16

_Ranked = list[tuple[float, int, DocAddress]]


def best(snapshot: Snapshot, query: Query, limit: int, scored: bool) -> tuple[int, list[Hit]]:
    """Return how many passages match and the best `limit` (at least 0) of them.

    Args:
        scored: whether scores can differ; else all hits have score 0 and the id alone orders
            them, without a look at every tie.
    """
    if limit == 0:
        return snapshot.hits(query), []
    count, ranked = (_by_score if scored else _by_id)(snapshot, query, limit)
    return count, _in_exact_order(snapshot, ranked, limit)


def _by_score(snapshot: Snapshot, query: Query, limit: int) -> tuple[int, _Ranked]:
    """Return the count, and all hits that score no worse than the one at the cut."""
    searcher = snapshot.searcher
    wanted = limit + _BEYOND
    while True:
        result = searcher.search(query, wanted, count=True)
        hits: list[tuple[float, DocAddress]] = result.hits
        last = min(limit, len(hits)) - 1
        if last < 0:
            return 0, []
        cut = hits[last][0]
        if len(hits) >= total(result) or hits[-1][0] != cut:
            break
        wanted = min(wanted * _GROWTH, total(result))
    end = last + 1
    while end < len(hits) and hits[end][0] == cut:
        end += 1
    scores = [score for score, _ in hits[:end]]
    addresses = [address for _, address in hits[:end]]
    orders = cast(list[int], searcher.fast_field_values(ID_ORDER, addresses))
    # Two stable sorts on plain values: ties can be many.
    places = sorted(range(end), key=orders.__getitem__)
    places.sort(key=scores.__getitem__, reverse=True)
    return total(result), [(scores[at], orders[at], addresses[at]) for at in places]


def _by_id(snapshot: Snapshot, query: Query, limit: int) -> tuple[int, _Ranked]:
    """Return the count, and the hits of the smallest ids, with all that tie at the cut."""
    wanted = limit + _BEYOND
    while True:
        result = snapshot.searcher.search(
            query, wanted, count=True, order_by_field=ID_ORDER, order=Order.Asc
        )
        hits: list[tuple[int, DocAddress]] = result.hits
        last = min(limit, len(hits)) - 1
        if last < 0:
            return 0, []
        if len(hits) >= total(result) or hits[-1][0] != hits[last][0]:
            return total(result), [(0.0, order, address) for order, address in hits]
        wanted = min(wanted * _GROWTH, total(result))


def _in_exact_order(snapshot: Snapshot, ranked: _Ranked, limit: int) -> list[Hit]:
    end = min(limit, len(ranked))
    while end < len(ranked) and ranked[end][:2] == ranked[end - 1][:2]:
        end += 1
    hits = [Hit(snapshot.passage(address), score) for score, _, address in ranked[:end]]
    hits.sort(key=lambda hit: (-hit.score, hit.passage.id))
    return hits[:limit]
