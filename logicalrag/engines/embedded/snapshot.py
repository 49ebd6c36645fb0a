"""One commit of one tenant, as every number of a call sees it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tantivy import DocAddress, Occur, Order, Query, Schema, Searcher
from tantivy import SearchResult as Found

from logicalrag.engines.embedded.compiler import Clause, conjunction
from logicalrag.engines.embedded.schema import (
    ACCESS,
    DOCUMENT_HASH,
    DOCUMENT_KEY,
    ID_ORDER,
    OPEN_TO_ALL,
    decode,
    group_term,
)
from logicalrag.engines.embedded.vocabulary import Vocabulary
from logicalrag.engines.identity import document_key
from logicalrag.engines.protocol import Count, Passage, Visibility

_MAX_VIEWS = 64
# A set of terms walks the whole term dictionary; fewer are found faster one by one (measured).
_MAX_LOOKED_UP = 2000

_Caller = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class View:
    """What one caller sees of a snapshot.

    Args:
        filters: clauses that leave only visible passages; none where everything is visible.
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
        schema: the searcher's.
        generation: the name of that commit.
    """

    tenant: str
    searcher: Searcher
    schema: Schema
    generation: str
    vocabulary: Vocabulary = field(init=False)
    _views: OrderedDict[_Caller, View] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", Vocabulary(self.searcher))

    def view(self, visibility: Visibility) -> View:
        """Return what a caller of this tenant sees; counted once for each kind of caller."""
        caller = (visibility.groups, visibility.hidden_documents)
        with self._lock:
            known = self._views.get(caller)
            if known is not None:
                self._views.move_to_end(caller)
                return known
        view = self._new_view(visibility)
        with self._lock:
            self._views[caller] = view
            while len(self._views) > _MAX_VIEWS:
                self._views.popitem(last=False)
        return view

    def _new_view(self, visibility: Visibility) -> View:
        filters = tuple(_visible_clauses(self.schema, visibility))
        visible = self.hits(conjunction(filters))
        # Filters that leave everything out of nothing would only slow every search down.
        return View((), visible) if visible == self.searcher.num_docs else View(filters, visible)

    def hits(self, query: Query) -> int:
        """Return how many passages match, without scoring them."""
        found = self.searcher.search(query, 1, count=True, order_by_field=ID_ORDER)
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

    def passages(self, query: Query, limit: int) -> list[Passage]:
        """Return at most `limit` (at least 1) matching passages, in no particular order."""
        found = self.searcher.search(query, limit, count=False, order_by_field=ID_ORDER)
        return [self.passage(address) for _, address in found.hits]


def total(found: Found) -> int:
    """Return how many passages a search found that was told to count them."""
    return int(found.count)  # type: ignore[attr-defined]  # missing in tantivy's stub


def count_of(hits: int, view: View) -> Count:
    """Return an exact count with its share of what is visible."""
    return Count(hits, "eq", hits / view.visible if view.visible else 0.0)


def any_of(schema: Schema, name: str, terms: Iterable[str | int]) -> Query:
    """Return the query of passages whose field holds one of `terms` (at least one), unscored."""
    listed = list(terms)
    if len(listed) > _MAX_LOOKED_UP:
        query = Query.term_set_query(schema, name, listed)
    else:
        query = Query.boolean_query(
            [(Occur.Should, Query.term_query(schema, name, term, "basic")) for term in listed]
        )
    return Query.const_score_query(query, 0.0)


def _visible_clauses(schema: Schema, visibility: Visibility) -> Iterable[Clause]:
    yield Occur.Must, any_of(schema, ACCESS, (OPEN_TO_ALL, *map(group_term, visibility.groups)))
    if visibility.hidden_documents:
        keys = [document_key(visibility.tenant, hidden) for hidden in visibility.hidden_documents]
        yield Occur.MustNot, any_of(schema, DOCUMENT_KEY, keys)
