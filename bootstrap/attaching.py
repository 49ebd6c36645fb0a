"""An index that others fill, made ready to be searched here: its field map, checked and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bootstrap.opening import cluster_package, require_cluster
from bootstrap.settings import Settings, SettingsError


def attach(
    settings: Settings,
    file: Path,
    index: str,
    roles: Mapping[str, str | None],
    declared: Sequence[str],
    *,
    replace: bool = False,
) -> tuple[str, ...]:
    """Write the field map of an index into `file`, which the setting `attached` then names.

    Args:
        settings: the cluster, and in ``tenant`` whose index it is.
        index: an index, an alias or a data stream.
        roles: the index field of each role of a `FieldMap`, by role; and ``without_access``.
        declared: fields for filters, each as ``NAME=FIELD:KIND`` or ``FIELD:KIND``.
        replace: whether the file may be there already.

    Returns:
        What a user of the index should know, a sentence each.

    Raises:
        SettingsError: the file is there or cannot be written, a declared field is none, or the
            map does not fit the index.
        EngineError: the index cannot be asked.
    """
    require_cluster(settings, "attach")
    if file.exists() and not replace:
        raise SettingsError(f"{file} is there already; name another file, or add --force.")
    with cluster_package():
        from bootstrap.elastic import open_cluster
        from logicalrag.engines.elastic.attached_check import remarks_on, verify
        from logicalrag.engines.elastic.attached_map import FieldMap, MetadataField, field_map_text

    given: dict[str, Any] = {role: field for role, field in roles.items() if field is not None}
    metadata = {}
    for text in declared:
        name, field, kind = _declared(text)
        metadata[name] = MetadataField(field, kind)  # type: ignore[arg-type]  # verified below
    field_map = FieldMap(
        index=index,
        owner=settings.tenant,
        analysis=settings.analysis,
        metadata=metadata,
        **given,
    )
    with open_cluster(settings) as cluster:
        problems = verify(cluster, field_map)
        if problems:
            raise SettingsError(" ".join(problems))
        told = remarks_on(cluster, field_map)
    try:
        file.write_text(field_map_text(field_map), encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}.") from None
    return told


def _declared(text: str) -> tuple[str, str, str]:
    named, _, kind = text.rpartition(":")
    name, _, field = named.rpartition("=")
    if not named or not field:
        raise SettingsError(
            f"{text[:60]!r} declares no field; write NAME=FIELD:KIND, as year=published.year:number"
        )
    return name or field, field, kind
