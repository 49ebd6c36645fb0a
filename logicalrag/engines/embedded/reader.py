"""Readers that follow a writer: the newest commit of a tenant, noticed at the next call."""

from __future__ import annotations

import threading
from pathlib import Path

import tantivy

from logicalrag.engines.embedded.folder import (
    TENANT_COMMIT,
    Descriptor,
    Stamp,
    commit_stamp,
    generation_name,
    read_descriptor,
    stamp,
    tenant_folder,
)
from logicalrag.engines.embedded.schema import Layout, create_index, open_index
from logicalrag.engines.embedded.snapshot import Snapshot

_MAX_OPEN_TENANTS = 256


class FolderReader:
    """Gives the newest snapshot of each tenant of one index folder. Safe to share.

    Args:
        path: the index folder.

    Raises:
        EngineError: there is no index in it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._descriptor = read_descriptor(path)
        self._tenants: dict[str, _TenantReader] = {}

    @property
    def layout(self) -> Layout:
        """The layout of the index as of the last call."""
        return self._descriptor.layout

    def snapshot(self, tenant: str) -> Snapshot:
        """Return the tenant's newest commit; without passages where it was never written.

        Where nothing was committed since the last call this costs one look at one file.

        Raises:
            EngineError: the folder holds no index any more.
            OSError, ValueError: tantivy cannot read it.
        """
        reader = self._tenants.get(tenant)
        if reader is not None:
            current = reader.current()
            if current is not None:
                return current
        with self._lock:
            reader = self._reader(tenant)
        return reader.newest()

    def close(self) -> None:
        """Forget every open tenant."""
        with self._lock:
            self._tenants = {}

    def _reader(self, tenant: str) -> _TenantReader:
        # Another index may have taken the folder's place, or none.
        descriptor = read_descriptor(self._path)
        if descriptor != self._descriptor or len(self._tenants) >= _MAX_OPEN_TENANTS:
            self._descriptor = descriptor
            self._tenants = {}
        reader = self._tenants.get(tenant)
        if reader is None:
            folder = tenant_folder(self._path, tenant)
            reader = self._tenants[tenant] = _TenantReader(folder, tenant, descriptor)
        return reader


class _TenantReader:
    """Follows the commits of one tenant's index."""

    def __init__(self, folder: Path, tenant: str, descriptor: Descriptor) -> None:
        self._folder = folder
        self._commit_path = str(folder / TENANT_COMMIT)
        self._tenant = tenant
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._index: tantivy.Index | None = None
        self._known: tuple[Stamp | None, Snapshot] | None = None

    def current(self) -> Snapshot | None:
        """Return the snapshot that is known, if nothing was committed since."""
        known = self._known
        if known is not None and known[0] == stamp(self._commit_path):
            return known[1]
        return None

    def newest(self) -> Snapshot:
        """Return a snapshot of the last commit."""
        with self._lock:
            current = self.current()
            if current is not None:
                return current
            self._known = self._reload()
            return self._known[1]

    def _reload(self) -> tuple[Stamp | None, Snapshot]:
        # A commit may come at any moment: the name and the searcher belong together only if the
        # commit file was the same before the searcher was made and after it.
        while True:
            seen = stamp(self._commit_path)
            if seen is None:
                self._index = None
                return None, self._snapshot_of(create_index(None, self._descriptor.layout), 0)
            if self._index is None:
                self._index = open_index(self._folder)
            self._index.reload()
            index, commit = self._index, commit_stamp(self._folder)
            snapshot = self._snapshot_of(index, commit)
            if stamp(self._commit_path) == seen:
                return seen, snapshot

    def _snapshot_of(self, index: tantivy.Index, commit: int) -> Snapshot:
        name = generation_name(self._descriptor.identity, commit)
        return Snapshot(self._tenant, index.searcher(), self._descriptor.layout, name)
