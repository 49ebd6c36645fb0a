"""A text put together from labelled parts, in bounds."""

from __future__ import annotations

from ingest.locations import Parts
from ingest.readers.source import RefusedError


class PartedText:
    """Collects parts, a blank line between two; blank ones are left out.

    Args:
        max_code_points: of the whole.
    """

    def __init__(self, max_code_points: int) -> None:
        self._max_code_points = max_code_points
        self._pieces: list[str] = []
        self._parts: list[tuple[int, str]] = []
        self._length = 0

    def add(self, text: str, label: str, separator: str = "\n\n") -> None:
        """Append a part; with an empty label it goes on with the one before.

        Args:
            separator: what stands between it and the part before.

        Raises:
            RefusedError: the whole becomes too long.
        """
        if not text or text.isspace():
            return
        if self._pieces:
            self._pieces.append(separator)
            self._length += len(separator)
        if label and not (self._parts and self._parts[-1][1] == label):
            self._parts.append((self._length, label))
        self._pieces.append(text)
        self._length += len(text)
        if self._length > self._max_code_points:
            raise RefusedError(
                "document_too_large",
                f"its text is longer than {self._max_code_points} characters; split it or raise "
                "the limit",
            )

    @property
    def parts(self) -> Parts:
        """Where each part begins, and its label."""
        return tuple(self._parts)

    @property
    def first_label(self) -> str:
        """The label of the first part that has one, else empty."""
        return self._parts[0][1] if self._parts else ""

    def __str__(self) -> str:
        return "".join(self._pieces)
