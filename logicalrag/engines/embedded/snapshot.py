"""One commit of one tenant, as every number of a call sees it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tantivy import DocAddress, Occur, Order, Query, Schema, Searcher
from tantivy import SearchResult as Found

from logicalrag.engines.embedded.clauses import Clause, any_of, conjunction
from logicalrag.engines.embedded.schema import (
    ACCESS,
    DOCUMENT_HASH,
    DOCUMENT_KEY,
    PASSAGE_NUMBER,
    Layout,
    decode,
)
from logicalrag.engines.embedded.vocabulary import Vocabulary
from logicalrag.engines.identity import OPEN_TO_ALL, document_key, group_term
from logicalrag.engines.metadata import Filter
from logicalrag.engines.protocol import Count, Passage, Visibility

_MAX_VIEWS = 64

_Caller = tuple[frozenset[str], frozenset[str], tuple[Filter, ...], str | None]


@dataclass(frozen=True, slots=True)
class View:
    """What one caller sees of a snapshot, within the filters of a call.

    Args:
        filters: clauses that leave only those passages; none where that is all.
        visible: how many passages those are.
    """

    filters: tuple[Clause, ...]
    visible: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A searcher on one generation and what has been learnt about it. Safe to share.

    Args:
        tenant: whose passages these are.
        searcher: sees exactly one commit.
        layout: of the index.
        generation: the name of that commit.
    """

    tenant: str
    searcher: Searcher
    layout: Layout
    generation: str
    vocabulary: Vocabulary = field(init=False)
    _views: OrderedDict[_Caller, View] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", Vocabulary(self.searcher))

    def view(
        self, visibility: Visibility, filters: Sequence[Filter] = (), within: str | None = None
    ) -> View:
        """Return what a caller of this tenant sees; counted once for each kind of caller.

        Args:
            filters: checked ones, all to be fulfilled.
            within: the id of the only document to look at; None for all.
        """
        caller = (visibility.groups, visibility.hidden_documents, tuple(filters), within)
        with self._lock:
            known = self._views.get(caller)
            if known is not None:
                self._views.move_to_end(caller)
                return known
        if filters or within is not None:
            view = self._narrowed(self.view(visibility), visibility.tenant, filters, within)
        else:
            view = self._whole_view(visibility)
        with self._lock:
            self._views[caller] = view
            while len(self._views) > _MAX_VIEWS:
                self._views.popitem(last=False)
        return view

    def _whole_view(self, visibility: Visibility) -> View:
        clauses = tuple(_visible_clauses(self.layout.schema, visibility))
        return self._smaller(View((), self.searcher.num_docs), clauses)

    def _narrowed(
        self, whole: View, tenant: str, filters: Sequence[Filter], within: str | None
    ) -> View:
        schema, fields = self.layout.schema, self.layout.metadata_fields
        clauses = [fields[each.field].clause(schema, each) for each in filters]
        if within is not None:
            key = document_key(tenant, within)
            clauses.append((Occur.Must, any_of(schema, DOCUMENT_KEY, [key])))
        return self._smaller(whole, tuple(clauses))

    def _smaller(self, view: View, clauses: tuple[Clause, ...]) -> View:
        filters = (*view.filters, *clauses)
        visible = self.hits(conjunction(filters))
        # Filters that keep everything would only slow every search down.
        return view if visible == view.visible else View(filters, visible)

    def hits(self, query: Query) -> int:
        """Return how many passages match, without scoring them."""
        found = self.searcher.search(query, 1, count=True, order_by_field=PASSAGE_NUMBER)
        return total(found)

    def counted(self, query: Query, view: View) -> Count:
        """Return the exact count of a query that is already within `view`."""
        return count_of(self.hits(query), view)

    def document_hashes(self, query: Query, hits: int) -> set[int]:
        """Return the hashes of all documents with a matching passage; linear in the matches.

        Args:
            hits: how many passages match.
        """
        if hits == 0:
            return set()
        found = self.searcher.search(
            query, hits, count=False, order_by_field=DOCUMENT_HASH, order=Order.Asc
        )
        return {hashed for hashed, _ in found.hits}

    def passage(self, address: DocAddress) -> Passage:
        """Return the passage at an address."""
        return decode(self.searcher.doc(address), self.tenant)

    def passages(self, query: Query, expected: int) -> list[Passage]:
        """Return all matching passages, in no particular order.

        Args:
            expected: how many there hardly are more of; at least 1.
        """
        found = self.searcher.search(query, expected, order_by_field=PASSAGE_NUMBER)
        if total(found) > expected:
            return self.passages(query, total(found))
        return [self.passage(address) for _, address in found.hits]


def total(found: Found) -> int:
    """Return how many passages a search found that was told to count them."""
    return int(found.count)  # type: ignore[attr-defined]  # missing in tantivy's stub


def count_of(hits: int, view: View) -> Count:
    """Return an exact count with its share of what is visible."""
    return Count(hits, "eq", hits / view.visible if view.visible else 0.0)


def _visible_clauses(schema: Schema, visibility: Visibility) -> Iterable[Clause]:
    yield Occur.Must, any_of(schema, ACCESS, (OPEN_TO_ALL, *map(group_term, visibility.groups)))
    if visibility.hidden_documents:
        keys = [document_key(visibility.tenant, hidden) for hidden in visibility.hidden_documents]
        yield Occur.MustNot, any_of(schema, DOCUMENT_KEY, keys)
