"""What a running text consists of: sentences, capitalised spans, stems."""

from __future__ import annotations

from functools import lru_cache

import regex

from logicalrag.agent.planners.offline.lexicon import ABBREVIATIONS, CONNECTORS, STOP_WORDS
from logicalrag.engines.analysis import stem
from logicalrag.query.tokens import tokenize

# A mark, closing quotes or brackets, white space, and something that can begin a sentence.
_SENTENCE_END = regex.compile(r"""[.!?]+["”’')\]]*\s+(?=["“‘'(\[`]*[\p{Lu}\p{N}])|[。！？]|\n+""")
_INITIALS = regex.compile(r"(\p{L}\.)+\p{L}|\p{L}")
_WORD = regex.compile(r"[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_]|['’\-–&.](?=[\p{L}\p{N}]))*")
_POSSESSIVE = regex.compile(r"['’]s$")
_LAST_CHUNK = regex.compile(r"[^\s(\[\"“]*$")
_MAX_CONNECTORS = 2


@lru_cache(maxsize=8192)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of `text` in order."""
    return tuple(stem(token) for token in tokenize(text))


@lru_cache(maxsize=2048)
def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of `text` in order, without the white space around them.

    Initials, abbreviations and a decimal point end no sentence.
    """
    found: list[str] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if match.group()[0] == "." and _is_abbreviated(text[start : match.start()]):
            continue
        if sentence := text[start : match.end()].strip():
            found.append(sentence)
        start = match.end()
    if sentence := text[start:].strip():
        found.append(sentence)
    return tuple(found)


def _is_abbreviated(before: str) -> bool:
    match = _LAST_CHUNK.search(before)
    last = match.group() if match else ""
    return last.lower() in ABBREVIATIONS or _INITIALS.fullmatch(last) is not None


def words(text: str) -> list[tuple[str, int]]:
    """Return (word, offset) of `text` in order, as written but without a possessive ``'s``."""
    return [(_POSSESSIVE.sub("", m.group()), m.start()) for m in _WORD.finditer(text)]


def is_capital(word: str) -> bool:
    """Return whether `word` begins with a capital or a digit."""
    return word[0].isupper() or word[0].isdigit()


@lru_cache(maxsize=8192)
def name_spans(text: str) -> tuple[tuple[tuple[str, ...], int], ...]:
    """Return the capitalised spans of `text`: (words, offset), in order.

    Lower-case connectors may stand inside a span ("Bank of England"); a possessive ends it; stop
    words at its beginning ("The", "In") are left out.
    """
    found: list[tuple[tuple[str, ...], int]] = []
    run: list[tuple[str, int]] = []
    pending: list[tuple[str, int]] = []

    def flush() -> None:
        kept = run[:]
        while kept and kept[0][0].lower() in STOP_WORDS:
            kept = kept[1:]
        if kept:
            found.append((tuple(word for word, _ in kept), kept[0][1]))
        run.clear()
        pending.clear()

    previous_end = 0
    for match in _WORD.finditer(text):
        word = _POSSESSIVE.sub("", match.group())
        if run and not _adjoins((pending or run)[-1][0], text[previous_end : match.start()]):
            flush()
        previous_end = match.end()
        if is_capital(word):
            run.extend([*pending, (word, match.start())])
            pending.clear()
            if word != match.group():
                flush()
        elif run and word.lower() in CONNECTORS and len(pending) < _MAX_CONNECTORS:
            pending.append((word, match.start()))
        else:
            flush()
    flush()
    return tuple(found)


def _adjoins(last: str, gap: str) -> bool:
    """Return whether `gap`, after the word `last`, leaves a name unbroken."""
    between = gap.strip()
    if between == ".":
        return len(last) == 1 or last.lower() in ABBREVIATIONS
    return between in ("", "&")


def pieces(span: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the parts of `span` between its lower-case connectors; none where it has none."""
    parts: list[tuple[str, ...]] = [()]
    for word in span:
        if word[0].islower():
            parts.append(())
        else:
            parts[-1] = (*parts[-1], word)
    parts = [part for part in parts if part]
    return parts if len(parts) > 1 else []


def bare_title(title: str) -> str:
    """Return `title` without parenthesised remarks ("Frozen (2013 film)" is "Frozen")."""
    return regex.sub(r"\s*\([^)]*\)", "", title).strip() or title


def padded(tokens: tuple[str, ...] | list[str]) -> str:
    """Return tokens joined and framed by spaces, so that ``in`` finds whole tokens only."""
    return f" {' '.join(tokens)} "
