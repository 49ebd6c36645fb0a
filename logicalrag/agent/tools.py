"""What a step may use besides the state, and how expressions and filters are read there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from logicalrag.engines.analysis import stemmer
from logicalrag.engines.conditions import check_filters
from logicalrag.engines.filtered import FilteredEngine
from logicalrag.engines.metadata import Filter, parse_filter, parse_sort
from logicalrag.engines.protocol import SearchEngine
from logicalrag.query.parser import Parsed, parse
from logicalrag.query.synonyms import EMPTY, SynonymTable, expand


def _nothing_pending() -> int:
    return 0


def _no_synonyms() -> SynonymTable:
    return EMPTY


@dataclass(frozen=True, slots=True)
class Tools:
    """What a step may use besides the state.

    Args:
        engine: executes expressions.
        pending: how many documents of the caller's tenant are accepted but not yet searchable.
        synonyms: the table that holds now; asked at every reading, so that a changed one counts
            from the next on.
        clock: seconds that only ever grow.
    """

    engine: SearchEngine
    pending: Callable[[], int] = _nothing_pending
    synonyms: Callable[[], SynonymTable] = _no_synonyms
    clock: Callable[[], float] = time.monotonic

    def narrowed(self, filters: Sequence[str], sort: str) -> Tools:
        """Return these tools with an engine on which `filters` and `sort` hold for every call.

        Raises:
            MetadataError: one of them does not fit the index.
        """
        if not (filters or sort):
            return self
        order = parse_sort(sort, self.engine.metadata_schema) if sort else None
        return replace(self, engine=FilteredEngine(self.engine, self.filters(filters), order))

    @property
    def stem(self) -> Callable[[str], str]:
        """What the index makes of a token."""
        return stemmer(self.engine.analysis)

    def parse(self, expression: str, default_operator: str = "OR") -> Parsed:
        """Return what `expression` means, its synonyms included.

        Raises:
            ExpressionError: it is none, or its synonyms make it too large.
        """
        return self.expanded(parse(expression, default_operator), expression)

    def expanded(self, written: Parsed, source: str = "") -> Parsed:
        """Return `written` with its synonyms; `source` is its text, for an error's rendering.

        Raises:
            ExpressionError: they make it too large.
        """
        return expand(written, self.synonyms(), self.stem, source)

    def filters(self, texts: Sequence[str]) -> tuple[Filter, ...]:
        """Return the filters that `texts` write, each once, in order.

        Raises:
            MetadataError: one is no filter, or on a field that is not declared; too many.
        """
        schema = self.engine.metadata_schema
        filters = tuple(dict.fromkeys(parse_filter(text, schema) for text in texts))
        check_filters(filters, schema)
        return filters
