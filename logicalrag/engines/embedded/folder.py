"""The index folder: how it is recognised, made, and laid out."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from logicalrag.engines.analysis import Analysis
from logicalrag.engines.embedded.schema import Layout
from logicalrag.engines.errors import EngineError
from logicalrag.engines.identity import tenant_key
from logicalrag.engines.metadata import FieldKind, MetadataSchema

FORMAT = 2
DESCRIPTOR = "index.json"
TENANT_COMMIT = "meta.json"  # tantivy's own: replaced as a whole by each commit

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What `index.json` says.

    Args:
        identity: drawn at random when the index was made.
        layout: of the documents of all its tenants.
    """

    identity: str
    layout: Layout


def tenant_folder(path: Path, tenant: str) -> Path:
    """Return the folder of one tenant's tantivy index."""
    return path / tenant_key(tenant)


def stamp(path: str) -> Stamp | None:
    """Return what changes whenever a file is replaced as a whole; None where there is none.

    Raises:
        OSError: the file cannot be reached for another reason.
    """
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size)


def commit_stamp(tenant: Path) -> int:
    """Return the operation stamp of the last commit in a tenant's folder.

    Raises:
        EngineError: the commit file is damaged.
        OSError: there is none, or it cannot be read.
    """
    content = (tenant / TENANT_COMMIT).read_bytes()
    try:
        return int(json.loads(content)["opstamp"])
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"{tenant / TENANT_COMMIT} is damaged; ingest the documents again into a new folder"
        ) from error


def generation_name(identity: str, commit: int) -> str:
    """Return the name of a tenant's commit: its stamp, behind the identity of the index.

    Args:
        identity: drawn at random when the index was made, so that a rebuilt index never
            repeats a name.
        commit: tantivy's operation stamp; 0 for a tenant that was never written.
    """
    return f"{identity}-{commit}"


def read_descriptor(path: Path) -> Descriptor:
    """Return the description of the index in `path`.

    Raises:
        EngineError: there is no index, or one of a format this version cannot read.
    """
    try:
        content = (path / DESCRIPTOR).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise EngineError(
            f"there is no index in {path}; make one with `logicalrag ingest`, "
            "or name the folder of an existing one"
        ) from None
    except OSError as error:
        raise EngineError(f"the index in {path} cannot be read: {error}", retryable=True) from error
    try:
        described = json.loads(content)
        version = int(described["format"])
        if version == FORMAT:
            return _described(described)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(
            f"{path / DESCRIPTOR} is damaged; ingest the documents again into a new folder"
        ) from error
    raise EngineError(
        f"the index in {path} has format {version} and this version reads format {FORMAT}; "
        "ingest the documents again into a new folder"
    )


def _described(described: Mapping[str, Any]) -> Descriptor:
    analysis, fields = described["analysis"], described["metadata"]
    if analysis not in get_args(Analysis) or not set(fields.values()) <= set(get_args(FieldKind)):
        raise ValueError("an analysis or a kind of field that is none")
    return Descriptor(str(described["identity"]), Layout(analysis, MetadataSchema(fields)))


def ensure_descriptor(
    path: Path, analysis: Analysis | None, schema: MetadataSchema | None
) -> Descriptor:
    """Return the description of the index in `path`, made durable first where there is none.

    Only the holder of the writer's lock calls it.

    Args:
        analysis: which the index has to have; None for what it has, ``english`` for a new one.
        schema: which the index has to have; None for what it has, no fields for a new one.

    Raises:
        EngineError: as for `read_descriptor`, or the index is another than asked for.
        OSError: the folder cannot be written.
    """
    target = path / DESCRIPTOR
    if not target.exists():
        content = json.dumps(
            {
                "format": FORMAT,
                "identity": secrets.token_hex(8),
                "analysis": analysis or "english",
                "metadata": dict(schema.fields) if schema else {},
            }
        )
        unfinished = path / (DESCRIPTOR + ".new")
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(content + "\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
        _sync_folder(path)
    descriptor = read_descriptor(path)
    layout = descriptor.layout
    if analysis not in (None, layout.analysis):
        raise _another(path, f"the analysis {layout.analysis}", f"the analysis {analysis}")
    if schema is not None and dict(schema.fields) != layout.metadata.fields:
        raise _another(path, _fields_text(layout.metadata), _fields_text(schema))
    return descriptor


def _another(path: Path, held: str, wanted: str) -> EngineError:
    return EngineError(
        f"the index in {path} was made with {held}; for {wanted} ingest the documents into a new "
        "folder"
    )


def _fields_text(schema: MetadataSchema) -> str:
    fields = ", ".join(f"{name} ({kind})" for name, kind in schema.fields.items())
    return f"the metadata fields {fields}" if fields else "no metadata fields"


def size_bytes(folder: Path) -> int:
    """Return the bytes of the files in a tenant's folder; 0 where there is none."""
    total = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    total += entry.stat().st_size
                except FileNotFoundError:  # a merge removed it meanwhile
                    continue
    except FileNotFoundError:
        return 0
    return total


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
