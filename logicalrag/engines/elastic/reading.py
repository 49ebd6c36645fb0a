"""All searches of one call on one state of the index, or the call is run again.

A call knows the state that its tenant had last. Its searches run one after the other in one
request, the search for the state last: where that finds the state that was known, nothing became
visible meanwhile. Otherwise the call begins anew, knowing the newer state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from logicalrag.engines.cluster.connection import Cluster
from logicalrag.engines.cluster.errors import AbsentError, ClusterError, ShardsFailedError
from logicalrag.engines.elastic.answers import Answer, answers_of, header
from logicalrag.engines.elastic.fields import Fields, IndexSource, Query, State
from logicalrag.engines.elastic.generation import state_of
from logicalrag.engines.elastic.recent import Recent

_TENANTS = 1024
# A call that finds the index changed is run again; a writer commits less often than that.
_RUNS = 20
# How often and how long one waits for the other half of a commit.
_WAITS = 12
_WAIT_SECONDS = 0.05

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a call.

    Args:
        body: of the request.
        scored: whether its scores count; else they need no statistics of other shards.
    """

    body: Query
    scored: bool = False


class Reading:
    """One run of a call: what it asks is answered on one state, or the run is given up.

    Args:
        fields: of the indices of that state.
        generation: of that state.
    """

    def __init__(self, route: _Route, fields: Fields, known: _Known, doing: str) -> None:
        self.fields = fields
        self.generation = known.state.generation
        self._route = route
        self._known = known
        self._doing = doing

    def ask(self, *searches: Search) -> list[Answer]:
        """Return the answers of searches, in order."""
        route = self._route
        lines: list[tuple[Query | bytes, Query | bytes]] = [
            (route.scored if search.scored else route.unscored, search.body) for search in searches
        ]
        lines.append(route.state)
        *answers, last = answers_of(route.cluster, lines, doing=self._doing)
        if last["aggregations"] != self._known.told:
            found = _known(last)
            if found.state.generation != self.generation:
                raise _MovedError(found)
        return answers


class Reader:
    """Runs calls on consistent states. Safe to use from several threads.

    Args:
        cluster: where the indices are.
        source: which they are.
        preference: the same for all calls that are to see the same copies of the shards.
    """

    def __init__(self, cluster: Cluster, source: IndexSource, preference: str) -> None:
        self._cluster = cluster
        self._source = source
        self._preference = preference
        self._routes: Recent[str, _Route] = Recent(_TENANTS)
        self._states: Recent[str, _Known] = Recent(_TENANTS)

    def read(
        self,
        tenant: str,
        run: Callable[[Reading], _Result],
        *,
        empty: Callable[[], _Result],
        doing: str = "a search",
    ) -> _Result:
        """Return the result of `run` on one state.

        Args:
            run: asks and makes the result; called again where the index changed meanwhile.
            empty: makes the result of a tenant without an index.
            doing: what is asked for, in error messages.

        Raises:
            ClusterError: the cluster did not answer in full, or changed all the time.
        """
        most = self._cluster.address.attempts
        for attempt in range(1, most + 1):
            try:
                return self._read(tenant, run, doing)
            except AbsentError as error:
                if not self._source.is_known(tenant):
                    return empty()
                if attempt == most:
                    raise ClusterError(
                        f"The index of {doing} is gone from the cluster ({error.message}); "
                        "restore it from a snapshot, or drop it and ingest anew",
                        True,
                        error.status,
                        error.kind,
                    ) from None
            self._cluster.wait(attempt)
        raise AssertionError("unreachable")

    def _read(self, tenant: str, run: Callable[[Reading], _Result], doing: str) -> _Result:
        route = self._routes.get(tenant) or self._routes.put(tenant, self._route(tenant))
        known = self._states.get(tenant) or self._settled(tenant, route, doing)
        for _ in range(_RUNS):
            fields = self._source.fields(known.state)
            try:
                return run(Reading(route, fields, known, doing))
            except _MovedError as moved:
                known = self._settled(tenant, route, doing, moved.known)
        raise ShardsFailedError(
            f"The index changed during each of {_RUNS} runs of {doing}; try again", True
        )

    def _settled(
        self, tenant: str, route: _Route, doing: str, known: _Known | None = None
    ) -> _Known:
        """Return a state with no commit half visible, if that comes about soon, and note it.

        Args:
            known: the state, where it was asked for already.
        """
        known = known or self._now(route, doing)
        for _ in range(_WAITS):
            if known.state.is_settled:
                break
            self._cluster.wait(1, _WAIT_SECONDS, _WAIT_SECONDS)
            known = self._now(route, doing)
        return self._states.put(tenant, known)

    def _now(self, route: _Route, doing: str) -> _Known:
        (answer,) = answers_of(self._cluster, [route.state], doing=doing)
        return _known(answer)

    def _route(self, tenant: str) -> _Route:
        index = {"index": self._source.index(tenant)}
        state_header, state_body = self._source.state_search(tenant)
        preference = self._preference
        return _Route(
            self._cluster,
            header(index, preference=preference, search_type="dfs_query_then_fetch"),
            header(index, preference=preference),
            (header(state_header, preference=preference), orjson.dumps(state_body)),
        )


@dataclass(frozen=True, slots=True)
class _Route:
    """Prepared lines of a tenant's requests."""

    cluster: Cluster
    scored: bytes
    unscored: bytes
    state: tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class _Known:
    """A state, and what the cluster told it by: faster to compare than to read again."""

    state: State
    told: Any


def _known(answer: Answer) -> _Known:
    return _Known(state_of(answer), answer["aggregations"])


class _MovedError(Exception):
    """The index has another state than the run was for."""

    def __init__(self, known: _Known) -> None:
        super().__init__(known)
        self.known = known
