"""Passages by their ids, with those around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from logicalrag.engines.elastic.compiler import Conditions, select
from logicalrag.engines.elastic.counting import View
from logicalrag.engines.elastic.fields import Query
from logicalrag.engines.elastic.reading import Reading, Search
from logicalrag.engines.protocol import Passage

# A small server takes 1,024 clauses; each passage with neighbours is up to four of them.
_AT_ONCE = 200


def read_passages(
    reading: Reading, view: View, passage_ids: Sequence[str], tenant: str, neighbours: int
) -> tuple[Passage, ...]:
    """Return the passages of a view in the order of ids, each once, with those around them.

    Args:
        tenant: of the view.
        neighbours: how many before and after each, at most 5.
    """
    found: dict[str, Passage] = {}
    wanted = list(dict.fromkeys(passage_ids))
    for begin in range(0, len(wanted), _AT_ONCE):
        batch = wanted[begin : begin + _AT_ONCE]
        stored = {each.id: each for each in _passages(reading, view, reading.fields.ids(batch))}
        centres = [stored[id_] for id_ in batch if id_ in stored]
        around = _around(reading, view, centres, tenant, neighbours)
        for centre in centres:
            for passage in around.get(centre.id, [centre]):
                found.setdefault(passage.id, passage)
    return tuple(found.values())


def _around(
    reading: Reading, view: View, centres: Sequence[Passage], tenant: str, neighbours: int
) -> Mapping[str, list[Passage]]:
    """Return by passage id the passages around it, itself among them, in document order."""
    fields = reading.fields
    if not neighbours or not centres or fields.number is None:
        return {}
    spans: list[Query] = []
    for centre in centres:
        numbers = {"gte": centre.number - neighbours, "lte": centre.number + neighbours}
        document = fields.of_document(tenant, centre.document_id)
        spans.append({"bool": {"filter": [document, {"range": {fields.number: numbers}}]}})
    query: Query = {"bool": {"should": spans, "minimum_should_match": 1}}
    by_place = {(each.document_id, each.number): each for each in _passages(reading, view, query)}

    def near(centre: Passage) -> Iterator[Passage]:
        for number in range(centre.number - neighbours, centre.number + neighbours + 1):
            passage = by_place.get((centre.document_id, number))
            if passage is not None:
                yield passage

    return {centre.id: list(near(centre)) for centre in centres}


def _passages(reading: Reading, view: View, query: Query) -> list[Passage]:
    """Return all passages of a view that match, at most 10,000."""
    fields = reading.fields
    (answer,) = reading.ask(
        Search(
            {
                "size": 10_000,
                "track_total_hits": False,
                "query": select(Conditions([query]), view.conditions),
                "_source": fields.source,
                "sort": ["_doc"],
            }
        )
    )
    return [fields.passage(hit) for hit in answer["hits"]["hits"]]
