"""Plain text put together from the pieces of a marked-up one, with a set number of line breaks."""

from __future__ import annotations

import re

# Tried at the beginning of each run only, else a long one within a line takes hours.
_SPACE_AT_LINE_END = re.compile(r"(?<![ \t])[ \t]++(?=\n|$)")


class PlainText:
    """Collects text and breaks; breaks that meet do not add up: the widest stands."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0

    @classmethod
    def of(cls, text: str) -> str:
        """Return one text without spaces at the ends of its lines and around the whole."""
        plain = cls()
        plain.add(text)
        return str(plain)

    @property
    def at_line_start(self) -> bool:
        """Whether the next text begins a line."""
        return self._breaks > 0 or not self._parts

    def add(self, text: str) -> None:
        """Append a text as it is; an empty one changes nothing."""
        if not text:
            return
        if self._breaks and self._parts:
            self._parts.append("\n" * self._breaks)
        self._breaks = 0
        self._parts.append(text)

    def end_line(self) -> None:
        """Begin a new line before what comes next, if it does not begin one already."""
        self._breaks = max(self._breaks, 1)

    def end_paragraph(self) -> None:
        """Leave a blank line before what comes next."""
        self._breaks = 2

    def break_line(self) -> None:
        """Break the line here: two in a row leave a blank one, more do not leave more."""
        self._breaks = min(self._breaks + 1, 2)

    def __str__(self) -> str:
        return _SPACE_AT_LINE_END.sub("", "".join(self._parts)).strip()
