"""The best hits in an exact order, ties by passage id, from an engine that leaves ties open."""

from __future__ import annotations

from typing import Any, cast

from tantivy import DocAddress, Order, Query

from logicalrag.engines.embedded.schema import PASSAGE_NUMBER
from logicalrag.engines.embedded.snapshot import Snapshot, total
from logicalrag.engines.metadata import Sort
from logicalrag.engines.protocol import Hit

# Fetched beyond the limit at once, since ties at the cut are common and a longer list costs
# next to nothing; then 16 times as many each time that the ties reach further.
_BEYOND = 32
_GROWTH = 16

_Found = list[tuple[Any, DocAddress]]


def best(
    snapshot: Snapshot, query: Query, limit: int, scored: bool, sort: Sort | None = None
) -> tuple[int, list[Hit]]:
    """Return how many passages match and the first `limit` (at least 0) of them.

    Args:
        scored: whether scores order them; else all hits have score 0.
        sort: the order without scores; None for the id alone, without a look at every tie.
    """
    if limit == 0:
        return snapshot.hits(query), []
    by = None if scored else (PASSAGE_NUMBER, Order.Asc)
    if sort is not None:
        by = snapshot.layout.metadata_fields[sort.field].order(sort.descending)
    count, found = _with_ties(snapshot, query, limit, by)
    return count, _in_exact_order(snapshot, found, limit, scored)


def _with_ties(
    snapshot: Snapshot, query: Query, limit: int, by: tuple[str, Order] | None
) -> tuple[int, _Found]:
    """Return the count, and the first hits up to the last that equals the one at the cut.

    Args:
        by: the field to order by; None for scores.
    """
    search = snapshot.searcher.search
    wanted = limit + _BEYOND
    while True:
        if by is None:
            result = search(query, wanted)
        else:
            result = search(query, wanted, order_by_field=by[0], order=by[1])
        hits: _Found = result.hits
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
    return total(result), hits[:end]


def _in_exact_order(snapshot: Snapshot, found: _Found, limit: int, scored: bool) -> list[Hit]:
    addresses = [address for _, address in found]
    numbers = cast(list[int], snapshot.searcher.fast_field_values(PASSAGE_NUMBER, addresses))
    ranks: list[int] = []
    for at, (key, _) in enumerate(found):
        ranks.append(ranks[-1] if at and key == found[at - 1][0] else at)
    # Two stable sorts on plain values: ties can be many.
    places = sorted(range(len(found)), key=numbers.__getitem__)
    places.sort(key=ranks.__getitem__)
    end = min(limit, len(places))
    while end < len(places) and (ranks[places[end]], numbers[places[end]]) == (
        ranks[places[end - 1]],
        numbers[places[end - 1]],
    ):
        end += 1
    ranked = [
        (ranks[at], Hit(snapshot.passage(addresses[at]), found[at][0] if scored else 0.0))
        for at in places[:end]
    ]
    ranked.sort(key=lambda each: (each[0], each[1].passage.id))
    return [hit for _, hit in ranked[:limit]]
