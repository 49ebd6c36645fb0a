"""Parts of tantivy queries that select and never score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tantivy import Occur, Query, Schema

Clause = tuple[Occur, Query]

_SURROGATE = re.compile("[\ud800-\udfff]")
# A set of terms walks the whole term dictionary; fewer are found faster one by one (measured).
_MAX_LOOKED_UP = 2000


def everything() -> Query:
    """Return a query that every passage matches with score 0."""
    return Query.const_score_query(Query.all_query(), 0.0)


def conjunction(clauses: Sequence[Clause], filters: Sequence[Clause] = ()) -> Query:
    """Return the query of all of `clauses` and `filters`; of everything where there are none."""
    joined = [*clauses, *filters]
    if all(occur == Occur.MustNot for occur, _ in joined):
        joined.append((Occur.Must, everything()))  # exclusions alone match nothing
    if len(joined) == 1:
        return joined[0][1]
    return Query.boolean_query(joined)


def one_of(queries: Sequence[Query]) -> Query:
    """Return the query of passages that match one of `queries`, unscored; nothing without any."""
    return Query.const_score_query(
        Query.boolean_query([(Occur.Should, query) for query in queries]), 0.0
    )


def any_of(schema: Schema, name: str, terms: Iterable[str | int]) -> Query:
    """Return the query of passages whose field holds one of `terms`, unscored.

    A term with a lone surrogate stands in no index, and tantivy cannot be asked for it.
    """
    listed = [term for term in terms if not (isinstance(term, str) and _SURROGATE.search(term))]
    if len(listed) > _MAX_LOOKED_UP:
        return Query.const_score_query(Query.term_set_query(schema, name, listed), 0.0)
    return one_of([Query.term_query(schema, name, term, "basic") for term in listed])
