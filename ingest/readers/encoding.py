"""Bytes into text: the right text or a defined refusal, never another text in silence.

Order: a byte-order mark (UTF-32's before UTF-16's, which is its beginning); UTF-16 without a
mark, known by its NULs; UTF-8; ISO-2022-JP, known by its escapes; the encoding that the file
itself declares; Latin-script single-byte encodings by the letters of each language
(`latin_scripts`); and for other scripts what charset-normalizer finds with a language behind it.
"""

from __future__ import annotations

import codecs
import re

from ingest.readers.latin_scripts import LATIN, decode_latin

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1b")
_MAX_CONTROL_SHARE = 0.02
_MAX_CONTROL_SHARE_UTF8 = 0.3  # binary data is hardly ever UTF-8 as well
_SAMPLE_BYTES = 256 * 1024
_MIN_COHERENCE = 0.1
_MIN_UTF8_SHARE = 0.8
_HIGH = bytes(range(128, 256))
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_LINE_BYTES = 4096
_UTF8_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_MIN_LEAD = 0.05
_MAX_CHAOS = 0.1
_OTHER_SCRIPTS = (
    "cp1251 koi8_r koi8_u cp866 iso8859_5 cp1253 iso8859_7 cp1255 cp1256 cp874 cp932 euc_jp"
    " gb18030 big5 cp949"
).split()
# What the web standard reads in the place of these labels (WHATWG Encoding, section 4.2).
_NEVER_DECLARED = ("utf-16", "utf-32", "utf-7", "unicode", "raw", "idna", "punycode", "undefined")
_WINDOWS = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254"}


class UnreadableEncodingError(ValueError):
    """No encoding gives these bytes one certain text.

    Args:
        detail: what was tried or found, in a few words.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"its encoding cannot be told ({self.detail}); "
            "save it as UTF-8, or name it with --encoding"
        )


def byte_order_mark(data: bytes) -> tuple[str, int] | None:
    """Return the encoding that `data` begins with a mark of, and the mark's length in bytes."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name, len(mark)
    return None


def is_known(encoding: str) -> bool:
    """Return whether `encoding` names a text encoding."""
    try:
        "a".encode(encoding)
    except (LookupError, UnicodeError):
        return False
    return True


def decode(data: bytes, *, named: str | None = None, declared: str | None = None) -> str:
    """Return the text of `data`, without its byte-order mark.

    Args:
        named: the encoding the caller is sure of; anything but a mark yields to it.
        declared: what the file says of itself; believed where the bytes are no UTF-8.

    Raises:
        UnreadableEncodingError: no text, or several, could be meant.
    """
    marked = byte_order_mark(data)
    if marked:
        return _strictly(data[marked[1] :], marked[0])
    if named:
        return _strictly(data, named)
    if b"\0" in data[:_SAMPLE_BYTES] and (wide := _unmarked_wide(data)):
        return _strictly(data, wide)
    return _strictly(data, find_encoding(data, declared=declared))


def find_encoding(data: bytes, *, declared: str | None = None) -> str:
    """Return the encoding of bytes without a mark.

    Raises:
        UnreadableEncodingError: none is certain.
    """
    controls = _share_of_controls(data)
    if controls > _MAX_CONTROL_SHARE_UTF8:
        raise UnreadableEncodingError("it looks like a binary file")
    if b"\x1b$" in data and _decodes(data, "iso2022_jp"):
        return "iso2022_jp"
    if _decodes(data, "utf-8"):
        return "utf-8"
    if controls > _MAX_CONTROL_SHARE:
        raise UnreadableEncodingError("it looks like a binary file")
    if (damaged := _damaged_utf8(data)) is not None:
        raise UnreadableEncodingError(f"it is UTF-8 with a damaged character at byte {damaged}")
    if declared and (name := _known(declared)) and _decodes(data, name):
        return name
    sample = _sample(data)
    found = decode_latin(sample) or _by_language(sample)
    if found is None:
        raise UnreadableEncodingError("it is no UTF-8 and several others would fit")
    if not _decodes(data, found):
        raise UnreadableEncodingError(f"it begins as {found} and does not go on so")
    return found


def _damaged_utf8(data: bytes) -> int | None:
    """Return where UTF-8 is broken if all but a few of the bytes outside ASCII are UTF-8."""
    sample = data[:_SAMPLE_BYTES]
    high = len(sample) - len(sample.translate(None, _HIGH))
    whole = sum(len(match.group()) for match in _UTF8_CHARACTER.finditer(sample))
    if whole < high * _MIN_UTF8_SHARE or whole == 0:
        return None
    try:
        data.decode()
    except UnicodeDecodeError as failure:
        return failure.start
    return None


def _by_language(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes  # takes 50 ms, and few files need it

    found: list[tuple[float, str]] = []
    for match in from_bytes(sample, cp_isolation=_OTHER_SCRIPTS):
        name, text = codecs.lookup(match.encoding).name, str(match)
        # A Latin script is judged by its letters alone: statistics take "naďve" for Czech. And
        # capitals throughout are another script, read wrongly.
        if match.chaos <= _MAX_CHAOS and not (
            name in LATIN or _is_latin(text) or _is_mostly_capitals(text)
        ):
            found.append((match.coherence, name))
    found.sort(reverse=True)
    if not found or found[0][0] < _MIN_COHERENCE:
        return None
    if len(found) > 1 and found[0][0] - found[1][0] < _MIN_LEAD:
        return None
    return found[0][1]


def _is_mostly_capitals(text: str) -> bool:
    wide = [character for character in text if not character.isascii()]
    return sum(map(str.isupper, wide)) > sum(map(str.islower, wide))


def _is_latin(text: str) -> bool:
    wide = [character for character in text if not character.isascii() and character.isalpha()]
    return sum(character < "\u0250" for character in wide) * 2 >= len(wide)


def _sample(data: bytes) -> bytes:
    """Return the lines that tell: those with bytes outside ASCII, up to a bounded size."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    lines: list[bytes] = []
    size = end = 0
    for high in _HIGH_RUN.finditer(data):
        if high.start() < end:
            continue
        nearest = max(end, high.start() - _LINE_BYTES)
        begin = max(nearest, data.rfind(b"\n", nearest, high.start()) + 1)
        end = data.find(b"\n", high.end(), high.end() + _LINE_BYTES) + 1
        end = end or high.end() + _LINE_BYTES
        lines.append(data[begin:end])
        size += end - begin
        if size > _SAMPLE_BYTES:
            break
    return b"".join(lines)


def _unmarked_wide(data: bytes) -> str | None:
    """Return which UTF-16 or UTF-32 the NULs point to: Latin letters have one in each unit."""
    sample = data[: _SAMPLE_BYTES - _SAMPLE_BYTES % 4]
    quarter = max(1, len(sample) // 4)
    nul = [sample[offset::4].count(0) / quarter for offset in range(4)]
    if min(nul[2:]) > 0.9 and nul[0] < 0.1:
        return "utf-32-le"
    if min(nul[:2]) > 0.9 and nul[3] < 0.1:
        return "utf-32-be"
    if min(nul[1], nul[3]) > 0.3 and max(nul[0], nul[2]) < 0.05:
        return "utf-16-le"
    if min(nul[0], nul[2]) > 0.3 and max(nul[1], nul[3]) < 0.05:
        return "utf-16-be"
    return None


def _share_of_controls(data: bytes) -> float:
    sample = data[:_SAMPLE_BYTES]
    kept = len(sample.translate(None, _CONTROLS))
    # One or two stray NULs in a short text are to be sanitised, not to condemn it.
    return (len(sample) - kept - 2) / len(sample) if sample else 0.0


def _known(label: str) -> str | None:
    try:
        name = codecs.lookup(label.strip()).name
    except LookupError:
        return None
    # UTF-16 cannot be declared in letters of one byte, and the others are no encodings of files.
    if name.startswith(_NEVER_DECLARED):
        return None
    return _WINDOWS.get(name, name)


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True


def _strictly(data: bytes, encoding: str) -> str:
    # Lone surrogates of UTF-16 pass here: they are replaced one by one, and counted, later.
    errors = "surrogatepass" if encoding.startswith(("utf-16", "utf-32")) else "strict"
    try:
        return data.decode(encoding, errors)
    except LookupError:
        raise UnreadableEncodingError(f"{encoding} is no encoding known here") from None
    except UnicodeError as failure:
        reason = f"it is no valid {encoding}"
        if isinstance(failure, UnicodeDecodeError):
            reason = f"{reason} from byte {failure.start} on"
        raise UnreadableEncodingError(reason) from None
