"""What doctor looks at where the index is in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping

from bootstrap.checks import Check
from bootstrap.embedded import LEDGER_NAME, disagreement, open_index
from bootstrap.opening import declared_fields
from bootstrap.settings import Settings
from logicalrag.engines.embedded.folder import DESCRIPTOR
from logicalrag.engines.embedded.lock import lock_holder
from logicalrag.engines.protocol import Visibility

_GIB = 2**30


def _index(settings: Settings) -> Iterator[Check]:
    folder = settings.index
    if folder.exists() and not folder.is_dir():
        yield Check("index", "fail", f"{folder} is no folder", "name another folder")
        return
    if not (folder / LEDGER_NAME).exists():
        if (folder / DESCRIPTOR).exists():
            missing = f"the index in {folder} has lost its ledger"
            yield Check("index", "fail", missing, "restore both from one backup, or ingest anew")
            return
        again = f"logicalrag ingest FOLDER --index {folder}"
        yield Check("index", "warn", f"there is none in {folder}", again)
        return
    with open_index(settings) as index:
        engine = index.engine
        held = engine.stats(Visibility(settings.tenant))
        fields = ", ".join(engine.metadata_schema.fields) or "none"
        yield Check(
            "index",
            "ok",
            f"{held.documents} documents and {held.passages} passages of tenant "
            f"{settings.tenant} in {folder}; analysis {engine.analysis}, fields: {fields}",
        )
        problem = disagreement(index, settings.tenant)
        if problem is None:
            counts = index.states(settings.tenant)
            states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "empty"
            yield Check("ledger", "ok", states)
        else:
            yield Check("ledger", "fail", problem)
        if pending := index.pending(settings.tenant):
            yield Check(
                "pending",
                "warn",
                f"{pending} documents are accepted and not searchable",
                "run the interrupted ingest again",
            )
        else:
            yield Check("pending", "ok", "no document waits")


def _lock(settings: Settings) -> Iterator[Check]:
    holder = lock_holder(settings.index)
    if holder is None:
        yield Check("lock", "ok", "nobody writes the index")
    else:
        yield Check("lock", "warn", f"written by {holder}", "wait for it to end, or stop it")


def _disk(settings: Settings) -> Iterator[Check]:
    folder = settings.index.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    said = f"{free / _GIB:.1f} GiB free at {folder}"
    if free < _GIB:
        yield Check("disk", "warn", said, "make room: an index needs space beside it to be merged")
    else:
        yield Check("disk", "ok", said)


def _fields(settings: Settings) -> Iterator[Check]:
    declared = declared_fields(settings)
    if declared is None:
        return
    if (settings.index / LEDGER_NAME).exists():
        with open_index(settings) as index:
            if index.engine.metadata_schema != declared:
                yield Check(
                    "fields",
                    "fail",
                    f"{settings.metadata} declares other fields than the index has",
                    "ingest into a new folder, or leave the file out",
                )
                return
    yield Check("fields", "ok", f"{settings.metadata}: {', '.join(declared.fields)}")


CHECKS: Mapping[str, Callable[[Settings], Iterator[Check]]] = {
    "index": _index,
    "lock": _lock,
    "disk": _disk,
    "fields": _fields,
}
