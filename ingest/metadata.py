"""Which of a document's metadata is indexed: the values of declared fields."""

from __future__ import annotations

from collections.abc import Mapping

from logicalrag.engines.metadata import (
    MAX_VALUES,
    MetadataError,
    MetadataSchema,
    Value,
    normalised,
)


def indexed_metadata(
    metadata: Mapping[str, object], schema: MetadataSchema
) -> dict[str, tuple[Value, ...]]:
    """Return the values of the declared fields that a document has, in the schema's order.

    Args:
        metadata: as the producer sent it. A list holds several values, each kept once in the
            order given; None and blank text are no value, as an empty cell of a table is. What is
            not declared is left out.
        schema: the declared fields.

    Raises:
        MetadataError: ``bad_value``, with the field's name.
    """
    found: dict[str, tuple[Value, ...]] = {}
    for name, kind in schema.fields.items():
        given = metadata.get(name)
        several = given if isinstance(given, list | tuple) else (given,)
        try:
            values = tuple(
                dict.fromkeys(normalised(kind, each) for each in several if not _is_blank(each))
            )
        except MetadataError as error:
            raise MetadataError(error.code, f"In the field {name}: {error.message}") from None
        if len(values) > MAX_VALUES:
            raise MetadataError(
                "bad_value",
                f"The field {name} has {len(values)} values; at most {MAX_VALUES} are indexed.",
            )
        if values:
            found[name] = values
    return found


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
