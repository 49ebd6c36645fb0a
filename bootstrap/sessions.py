"""An opened index with a planner, synonyms and limits: what asks questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bootstrap.opening import open_tools
from bootstrap.planners import choose_planner
from bootstrap.settings import Settings, SettingsError
from logicalrag.agent.limits import Limits, LimitsError
from logicalrag.agent.planners.protocol import Planner
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState
from logicalrag.agent.tools import Tools
from logicalrag.engines.metadata import filter_text, parse_sort
from logicalrag.engines.protocol import Visibility

EXPRESSIONS_NAME = "expressions.sqlite"


@dataclass(frozen=True, slots=True)
class Session:
    """An opened index with a planner: asks questions one after another.

    Args:
        tools: engine, ledger and synonyms.
        planner: who decides.
        remember: is given every session that has ended.
        visibility: whose documents, and for which groups.
        limits: of each question.
    """

    tools: Tools
    planner: Planner
    remember: Callable[[SessionState], None]
    visibility: Visibility
    limits: Limits

    @property
    def planner_label(self) -> str:
        """The planner's name, and what it is where that matters to a reader."""
        rules = " (rules, no language model)" if self.planner.name == "offline" else ""
        return self.planner.name + rules

    def ask(
        self,
        question: str,
        *,
        hidden_documents: frozenset[str] = frozenset(),
        filters: Sequence[str] = (),
        sort: str = "",
        on_turn: Callable[[SessionState], None] = lambda _: None,
    ) -> SessionState:
        """Run one session to its outcome; `on_turn` sees the state after every turn.

        Other arguments and errors as for `new`.
        """
        state = self.new(question, hidden_documents, filters, sort)
        state = run(state, self.tools, self.planner, on_turn)
        self.remember(state)
        return state

    def new(
        self,
        question: str,
        hidden_documents: frozenset[str] = frozenset(),
        filters: Sequence[str] = (),
        sort: str = "",
    ) -> SessionState:
        """Return the state of a session about `question` in which no turn was taken.

        Args:
            hidden_documents: ids of documents that do not exist for it.
            filters: conditions that hold for every call of it, as ``year>=2020``.
            sort: the order of its searches that name none; empty for relevance.

        Raises:
            MetadataError: a filter or sort is none, or on a field that is not declared.
        """
        schema = self.tools.engine.metadata_schema
        if sort:
            parse_sort(sort, schema)
        return start(
            question,
            self.planner,
            Visibility(self.visibility.tenant, self.visibility.groups, hidden_documents),
            self.limits,
            schema.fields,
            filters=tuple(map(filter_text, self.tools.filters(filters))),
            sort=sort,
        )


@contextmanager
def open_session(
    settings: Settings,
    script: Path | None = None,
    *,
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[Session]:
    """Open the index for asking, with the planner that the settings name.

    Args:
        settings: index, planner, visibility and limits.
        script: replies of the ``scripted`` planner, JSON lines; for no other planner.
        warn: takes a sentence about what goes on all the same.

    Raises:
        EngineError: there is no index, or the cluster does not answer as it must.
        SettingsError: planner, synonyms or limits cannot be made from what was given.
    """
    with ExitStack() as stack:
        planner = choose_planner(settings, script)
        tools = stack.enter_context(open_tools(settings, warn))
        remember: Callable[[SessionState], None] = _forget
        # Only a model's replies are worth keeping, and only it goes on from turns not its own.
        if settings.expression_cache and settings.planner == "anthropic":
            # Slow to import.
            from logicalrag.agent.planners.remembering import RememberingPlanner
            from logicalrag.agent.sqlite_expressions import SqliteExpressions

            with suppress(OSError):  # the store says what is wrong
                settings.index.mkdir(parents=True, exist_ok=True)
            store = stack.enter_context(SqliteExpressions(settings.index / EXPRESSIONS_NAME, warn))
            planner = remembering = RememberingPlanner(planner, store)
            remember = remembering.remember
        visibility = Visibility(settings.tenant, settings.groups)
        session = Session(tools, planner, remember, visibility, limits(settings))
        try:
            session.new("")
        except LimitsError as error:
            raise SettingsError(error.message) from None
        yield session


def _forget(_state: SessionState) -> None:
    return None


def limits(settings: Settings) -> Limits:
    """Return a session's limits as the settings have them."""
    return Limits(
        searching_turns=settings.searching_turns,
        turns=2 * settings.searching_turns,
        results=settings.results,
        excerpt_characters=settings.excerpt_characters,
        too_broad_fraction=settings.too_broad_fraction,
        tokens=settings.max_tokens,
        seconds=settings.max_seconds,
        cost=settings.max_cost,
    )
