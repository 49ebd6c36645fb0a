"""The embedded engine's writing side: `IndexWriter` over an index folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import tantivy

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.embedded.folder import (
    commit_stamp,
    ensure_descriptor,
    generation_name,
    tenant_folder,
)
from logicalrag.engines.embedded.lock import WriterLock
from logicalrag.engines.embedded.schema import DOCUMENT_KEY, Layout, build_documents, create_index
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import document_key
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage, Refusal

HEAP_BYTES = 40_000_000
# One keeps up with the analysis in Python; a second cost 13% more processor time (measured) and
# left twice as many segments to search.
INDEXING_THREADS = 1


# One document's change: its key, the documents to store, whether what is stored goes first.
_Change = tuple[str, list[tantivy.Document], bool]


class EmbeddedWriter:
    """Writes the index in a folder; makes folder and index where there are none.

    At most one writer is open on a folder, in whatever process. A commit is atomic and durable
    for each tenant; several tenants are committed one after another. One tenant's changes go to
    the index at once; those of others wait in memory until the commit, so that the bound on
    the writer's memory (128 MB) holds for any number of tenants. Implements
    `IndexWriter`.

    Args:
        path: the index folder.
        wait_seconds: how long to wait for another writer to end.
        analysis: None for what the index has, ``english`` for a new one.
        schema: the declared metadata; None for those of the index, none for a new one.

    Raises:
        IndexLockedError: another writer holds the folder; names it.
        EngineError: the folder cannot be written, or holds an index of another format, analysis
            or schema.
    """

    def __init__(
        self,
        path: Path,
        *,
        wait_seconds: float = 0,
        analysis: Analysis | None = None,
        schema: MetadataSchema | None = None,
    ) -> None:
        self._path = path
        self._mutex = threading.RLock()
        self._current: _TenantWriter | None = None
        self._waiting: dict[str, list[_Change]] = {}
        self._closed = False
        with self._writing():
            path.mkdir(parents=True, exist_ok=True)
            self._lock = WriterLock(path, wait_seconds)
            try:
                descriptor = ensure_descriptor(path, analysis, schema)
                self._identity, self._layout = descriptor.identity, descriptor.layout
                self._generation = self._stored_generation()
            except BaseException:
                self._lock.release()
                raise

    def __enter__(self) -> EmbeddedWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def put(
        self,
        passages: Sequence[Passage],
        *,
        replaces: int,
        version: int = 0,  # noqa: ARG002 - one writer at a time: the last one is the newest
    ) -> None:
        """Store one document's passages; see `IndexWriter.put`.

        With `replaces` above 0 whatever is stored of the document is removed first.

        Raises:
            MetadataError: the metadata do not fit the index's schema.
            ValueError: there are no passages, they are not one document's passages numbered
                from 0, or an id or text cannot be stored. Nothing of the document is changed
                then, nor for a MetadataError.
            EngineError: the index cannot be written.
        """
        if not passages:
            raise ValueError("put needs at least one passage; use remove to delete a document")
        first = passages[0]
        if first.number or len(passages) > 1:
            _check_numbering(passages)
        key = document_key(first.tenant, first.document_id)
        with self._mutex:
            documents = build_documents(self._layout, key, passages)
            self._stage(first.tenant, (key, documents, replaces > 0))

    def remove(
        self,
        tenant: str,
        document_id: str,
        *,
        claimed: int,
        version: int = 0,  # noqa: ARG002 - as for `put`
    ) -> None:
        """Remove whatever is stored of a document; see `IndexWriter.remove`.

        Raises:
            EngineError: the index cannot be written.
        """
        if claimed > 0:
            with self._mutex:
                self._stage(tenant, (document_key(tenant, document_id), [], True))

    def commit(self) -> str:
        """Make all changes durable and visible; see `IndexWriter.commit`.

        Returns:
            The new generation of the tenant that was changed, joined by ``+`` where there are
            several; where nothing was changed, what the last commit returned.

        Raises:
            EngineError: the index cannot be written; what was not committed may be tried again.
        """
        with self._writing():
            names: list[str] = []
            if self._current is not None and self._current.changed:
                names.append(generation_name(self._identity, self._current.commit()))
            for tenant in list(self._waiting):
                writer = self._switch_to(tenant)
                for change in self._waiting[tenant]:
                    writer.apply(change)
                names.append(generation_name(self._identity, writer.commit()))
                del self._waiting[tenant]
            if names:
                self._generation = "+".join(names)
            return self._generation

    def refused(self) -> tuple[Refusal, ...]:
        """Return nothing: what cannot be stored, `put` raises."""
        return ()

    def rollback(self) -> None:
        """Forget all changes since the last commit; see `IndexWriter.rollback`.

        Raises:
            EngineError: the index cannot be written.
        """
        with self._writing():
            self._waiting.clear()
            if self._current is not None:
                self._current.rollback()

    def close(self) -> None:
        """Forget what was not committed, let merges end, and let another writer in. Idempotent."""
        with self._mutex:
            if self._closed:
                return
            self._closed = True
            self._waiting.clear()
            current, self._current = self._current, None
            try:
                if current is not None:
                    current.close()
            except (OSError, ValueError) as error:
                raise self._unwritable(error) from error
            finally:
                self._lock.release()

    def _stage(self, tenant: str, change: _Change) -> None:
        self._check_open()
        current = self._current
        try:
            if current is None or (current.tenant != tenant and not current.changed):
                current = self._switch_to(tenant)
            if current.tenant == tenant:
                current.apply(change)
            else:
                self._waiting.setdefault(tenant, []).append(change)
        except (OSError, ValueError) as error:
            raise self._unwritable(error) from error

    def _switch_to(self, tenant: str) -> _TenantWriter:
        if self._current is not None:
            if self._current.tenant == tenant:
                return self._current
            previous, self._current = self._current, None
            previous.close()
        self._current = _TenantWriter(self._path, tenant, self._layout)
        return self._current

    def _stored_generation(self) -> str:
        try:
            commit = commit_stamp(tenant_folder(self._path, DEFAULT_TENANT))
        except FileNotFoundError:
            commit = 0
        return generation_name(self._identity, commit)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._mutex:
            self._check_open()
            try:
                yield
            except (OSError, ValueError) as error:
                raise self._unwritable(error) from error

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("this index writer is closed; open another one")

    def _unwritable(self, error: Exception) -> EngineError:
        return EngineError(
            f"the index in {self._path} cannot be written ({error}); free space or rights there "
            "and run the command again, or ingest the documents into a new folder",
            retryable=True,
        )


def _check_numbering(passages: Sequence[Passage]) -> None:
    first = passages[0]
    for number, passage in enumerate(passages):
        if passage.number != number or (
            passage.document_id != first.document_id or passage.tenant != first.tenant
        ):
            raise ValueError(
                f"put takes one document's passages numbered from 0; passage {number} of "
                f"document {first.document_id!r} is number {passage.number} of "
                f"{passage.document_id!r}"
            )


class _TenantWriter:
    """Tantivy's writer on one tenant's index; what goes wrong is an OSError or a ValueError."""

    def __init__(self, path: Path, tenant: str, layout: Layout) -> None:
        folder = tenant_folder(path, tenant)
        folder.mkdir(exist_ok=True)
        self.tenant = tenant
        self.changed = False
        self._writer = create_index(folder, layout).writer(HEAP_BYTES, INDEXING_THREADS)

    def apply(self, change: _Change) -> None:
        """Stage a change."""
        key, documents, removes = change
        self.changed = True
        if removes:
            self._writer.delete_documents_by_term(DOCUMENT_KEY, key)
        for document in documents:
            self._writer.add_document(document)

    def commit(self) -> int:
        """Make what is staged durable; return the stamp of the commit."""
        stamp = self._writer.commit()
        self.changed = False
        return stamp

    def rollback(self) -> None:
        """Forget what is staged."""
        self._writer.rollback()
        self.changed = False

    def close(self) -> None:
        """Forget what is staged, and wait for merges, which make searching faster."""
        self._writer.wait_merging_threads()
