"""The embedded product: index, ledger and planner of one folder, put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bootstrap.planners import choose_planner
from bootstrap.settings import Settings
from ingest.chunking import ChunkSettings
from ingest.ledger import Ledger
from ingest.pipeline import IngestSettings
from ingest.readers.settings import ReaderSettings
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.agent.limits import Limits
from logicalrag.agent.planners.protocol import Planner
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState
from logicalrag.agent.tools import Tools
from logicalrag.engines.embedded.engine import EmbeddedEngine
from logicalrag.engines.embedded.writer import EmbeddedWriter
from logicalrag.engines.errors import EngineError
from logicalrag.engines.protocol import IndexWriter, SearchEngine, Visibility

LEDGER_NAME = "ledger.sqlite"


@dataclass(frozen=True, slots=True)
class Session:
    """An opened index with a planner: asks questions one after another.

    Args:
        tools: engine and ledger of the index.
        planner: who decides.
        visibility: whose documents, and for which groups.
        limits: of each question.
    """

    tools: Tools
    planner: Planner
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
        on_turn: Callable[[SessionState], None] = lambda _: None,
    ) -> SessionState:
        """Run one session to its outcome; `on_turn` sees the state after every turn."""
        state = self.new(question, hidden_documents)
        return run(state, self.tools, self.planner, on_turn)

    def new(self, question: str, hidden_documents: frozenset[str] = frozenset()) -> SessionState:
        """Return the state of a session about `question` in which no turn was taken."""
        visibility = Visibility(self.visibility.tenant, self.visibility.groups, hidden_documents)
        return start(question, self.planner, visibility, self.limits)


@contextmanager
def open_engine(settings: Settings) -> Iterator[SearchEngine]:
    """Open the index for searching.

    Raises:
        EngineError: there is no index in the folder.
    """
    _require_index(settings.index)
    with EmbeddedEngine(settings.index) as engine:
        yield engine


@contextmanager
def open_writer(settings: Settings, *, create: bool) -> Iterator[tuple[IndexWriter, Ledger]]:
    """Open index and ledger for writing; with `create`, make the folder where it is absent.

    Raises:
        IndexLockedError: another process writes, and went on for longer than we wait.
        EngineError: the folder cannot be made or read, there is no index to write to, or index
            and ledger do not belong together.
    """
    if not create:
        _require_index(settings.index)
    try:
        settings.index.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(
            f"The index folder {settings.index} cannot be made: {error.strerror}."
        ) from None
    with (
        EmbeddedWriter(settings.index, wait_seconds=settings.lock_wait_seconds) as writer,
        SqliteLedger(settings.index / LEDGER_NAME) as ledger,
    ):
        _require_agreement(settings, ledger)
        yield writer, ledger


@contextmanager
def open_ledger(settings: Settings) -> Iterator[Ledger]:
    """Open the ledger alone, to look at it.

    Raises:
        EngineError: there is no index in the folder.
    """
    _require_index(settings.index)
    with SqliteLedger(settings.index / LEDGER_NAME) as ledger:
        yield ledger


@contextmanager
def open_session(settings: Settings, script: Path | None = None) -> Iterator[Session]:
    """Open the index for asking, with the planner that the settings name.

    Args:
        settings: index, planner, visibility and limits.
        script: replies of the ``scripted`` planner, JSON lines; for no other planner.

    Raises:
        EngineError: there is no index in the folder.
        SettingsError: the planner cannot be made from what was given.
    """
    planner = choose_planner(settings.planner, script)
    visibility = Visibility(settings.tenant, settings.groups)
    with open_engine(settings) as engine, open_ledger(settings) as ledger:
        tools = Tools(engine, pending=lambda: pending_documents(ledger, settings.tenant))
        yield Session(tools, planner, visibility, limits(settings))


def limits(settings: Settings) -> Limits:
    """Return a session's limits as the settings have them."""
    return Limits(
        searching_turns=settings.searching_turns,
        turns=2 * settings.searching_turns,
        results=settings.results,
        excerpt_characters=settings.excerpt_characters,
        too_broad_fraction=settings.too_broad_fraction,
    )


def ingest_settings(settings: Settings) -> IngestSettings:
    """Return how documents are cut and written."""
    return IngestSettings(
        chunking=ChunkSettings(
            mode=settings.chunk_mode,
            size=settings.chunk_size,
            overlap=settings.chunk_overlap,
            unit=settings.chunk_unit,
        )
    )


def reader_settings(settings: Settings) -> ReaderSettings:
    """Return how sources are read."""
    return ReaderSettings(tenant=settings.tenant, encoding=settings.encoding)


def pending_documents(ledger: Ledger, tenant: str) -> int:
    """Count the tenant's documents that are claimed and not yet searchable."""
    return sum(record.tenant == tenant for record in ledger.pending())


def _require_index(folder: Path) -> None:
    if not (folder / LEDGER_NAME).exists():
        raise EngineError(
            f"There is no index in {folder}; make one with: "
            f"logicalrag ingest FOLDER --index {folder}"
        )


def _require_agreement(settings: Settings, ledger: Ledger) -> None:
    """Refuse to write where one of index and ledger was removed or restored without the other.

    Documents that a killed run left pending may be in the index already or not; with some, the
    two cannot be compared, and the next run settles it.
    """
    if pending_documents(ledger, settings.tenant):
        return
    with EmbeddedEngine(settings.index) as engine:
        indexed = engine.stats(Visibility(settings.tenant)).passages
    known = ledger.passages(settings.tenant)
    if indexed != known:
        raise EngineError(
            f"Index and ledger in {settings.index} do not belong together: the index holds "
            f"{indexed} passages and the ledger knows of {known}. Restore both from one backup, or "
            "ingest the documents into a new folder."
        )
