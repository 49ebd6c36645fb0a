"""Characters that no index can hold: replaced or removed, and never in silence."""

from __future__ import annotations

import re

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL_CODES = [code for code in range(32) if chr(code) not in "\t\n\r"]
_CONTROL_BYTES = bytes(_CONTROL_CODES)
# Form feed and vertical tab part words (pages of a converted PDF): removing them would join the
# last word of one page to the first of the next.
_CONTROLS: dict[int, str | None] = dict.fromkeys(_CONTROL_CODES) | {11: "\n", 12: "\n"}


def sanitised(text: str) -> str:
    """Return `text` with lone surrogates as U+FFFD and without C0 controls.

    Tab, line feed and carriage return stay; vertical tab and form feed become line feeds. The
    same object is returned where there is nothing to change.
    """
    clean = _LONE_SURROGATE.sub("\ufffd", text) if not _encodes(text) else text
    translated = clean.translate(_CONTROLS)
    return text if translated == text else translated


def clean_utf8(text: str) -> bytes | None:
    """Return `text` in UTF-8, or None where `sanitised` would change it.

    This is the cheap check of the hot path: the bytes are needed for the content hash anyway.
    """
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return None
    return encoded if len(encoded.translate(None, _CONTROL_BYTES)) == len(encoded) else None


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
