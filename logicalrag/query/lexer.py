"""From text to lexemes, in one pass that hands each over before it reads on.

Errors come out in reading order: a lexeme is yielded as soon as it is complete, so the parser
sees it, and may refuse it, before anything after it is looked at. A text over the limit is cut
there, and whoever meets the cut reports it: what went wrong before takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, NoReturn

from logicalrag.query import diagnostics
from logicalrag.query.limits import Limits
from logicalrag.query.nodes import FIELDS
from logicalrag.query.tokens import (
    MAX_TOKEN_CODE_POINTS,
    TOKEN_CHARACTER,
    TOKEN_MAKER,
    tokenize,
)

Kind = Literal[
    "word", "quote", "and", "or", "not", "open", "close", "boost", "field", "punctuation", "end"
]


class Lexeme(NamedTuple):
    """One unit of the expression.

    Args:
        kind: what it is; ``punctuation`` is skipped text that is no clause.
        start, end: its place in the source (code points), without a boost.
        text: the name of a field, the number of a boost, what a quote holds; otherwise empty.
        tokens: of a word or quote; none where nothing is left of it under the token rule.
        boost: of a word or quote, as written.
    """

    kind: Kind
    start: int
    end: int
    text: str = ""
    tokens: tuple[str, ...] = ()
    boost: str | None = None

    @property
    def whole_end(self) -> int:
        """The end with the boost."""
        return self.end if self.boost is None else self.end + 1 + len(self.boost)


# Read as their plain forms, one code point each, so that places stay the same.
_PLAIN_FORMS = {0xFF08: "(", 0xFF09: ")", 0xFF1A: ":"}
_CLOSERS = {'"': '"', "“": "”", "„": "“", "«": "»", "”": "”", "»": "«"}
_QUOTES = "".join(_CLOSERS)
_OPERATORS: dict[str, Kind] = {"AND": "and", "OR": "or", "NOT": "not"}

_SPACE = re.compile(r"\s*")
_BOUNDARY = rf"(?=[\s()]|[{_QUOTES}]|\Z)"
_NUMBER = r"[0-9]++(?:\.[0-9]++)?|\.[0-9]++"
# Nearly everything: a parenthesis or operator sign, or a chunk of letters and digits with the
# colon or boost that may follow it.
_PLAIN = re.compile(rf"\s*+(?:(\w++)(?:{_BOUNDARY}|(:)|\^({_NUMBER}){_BOUNDARY})|([()]|&&|\|\|))")
_SIGNS: dict[str, Kind] = {"(": "open", ")": "close", "&&": "and", "||": "or"}
_BOOST = re.compile(rf"\^({_NUMBER}){_BOUNDARY}")
_BOOST_BEGUN = re.compile(r"\^[0-9]*+\.?[0-9]*+")
_ORDINARY = re.compile(rf"[^\s(){_QUOTES}:^*?~\\&|]++")
_NEGATIONS = re.compile(r"[!-]++")
_QUOTED = {
    closer: re.compile(rf"(?:[^{closer}\\]++|\\.)*+{closer}", re.DOTALL)
    for closer in _CLOSERS.values()
}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def is_within_boost_bounds(number: str) -> bool:
    """Return whether `number` (digits, at most one point) is at most 1000, as a decimal."""
    whole, _, fraction = number.partition(".")
    whole = whole.lstrip("0")
    return len(whole) < 4 or (whole == "1000" and not fraction.strip("0"))


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where `pattern` ends that begins at `position`; there itself where it does not."""
    match = pattern.match(text, position)
    return position if match is None else match.end()


def _plain_tokens(chunk: str) -> tuple[str, ...]:
    if chunk.isascii() and len(chunk) <= MAX_TOKEN_CODE_POINTS:
        return (chunk.lower(),)
    return tuple(tokenize(chunk))


class Lexer:
    """Reads one expression; not to be shared or used twice.

    Args:
        source: any text.
        limits: of length and clauses; the parser adds to `clauses` what only it can count.
    """

    def __init__(self, source: str, limits: Limits) -> None:
        self.source = source
        self.clauses = 0
        self._limits = limits
        self._is_cut = len(source) > limits.code_points
        text = source[: limits.code_points] if self._is_cut else source
        self._text = text if text.isascii() else text.translate(_PLAIN_FORMS)

    def lexemes(self) -> Iterator[Lexeme]:
        """Yield the lexemes in source order; the last one is of kind ``end``.

        Raises:
            ExpressionError: the first thing that makes the text no expression.
        """
        text = self._text
        length = len(text)
        position = 0
        clause_end = -1  # where a quote or group ended, for what must follow it directly
        while True:
            plain = _PLAIN.match(text, position)
            if plain is not None:
                chunk, colon, boost, sign = plain.groups()
                if sign is not None:
                    position = plain.end()
                    if sign == ")":
                        clause_end = position
                    yield Lexeme(_SIGNS[sign], position - len(sign), position)
                    continue
                if not self._is_cut or plain.end() < length:
                    begin, end = plain.span(1)
                    position = plain.end()
                    if colon is None and boost is None and chunk in _OPERATORS:
                        yield Lexeme(_OPERATORS[chunk], begin, end)
                        continue
                    self._check_clauses(begin, end)
                    if colon is not None:
                        yield self._field(chunk, begin, end)
                        self._check_field_value(position)
                        continue
                    if boost is not None and not is_within_boost_bounds(boost):
                        raise diagnostics.bad_boost(self.source, end, position)
                    self.clauses += 1
                    yield Lexeme("word", begin, end, "", _plain_tokens(chunk), boost)
                    continue
            begin = _skip(_SPACE, text, position)
            if begin >= length:
                if self._is_cut:
                    raise diagnostics.too_long(self.source, self._limits)
                # The end without trailing white space, which is where an operand would go.
                yield Lexeme("end", position, position)
                return
            character = text[begin]
            is_direct = begin == clause_end
            position = begin + 1
            if character in _CLOSERS:
                lexeme = self._quote(begin)
                yield lexeme
                position = lexeme.whole_end
                clause_end = position if lexeme.boost is None else -1
            elif character == "^":
                if not is_direct:
                    end = _skip(_BOOST_BEGUN, text, begin)
                    raise diagnostics.bad_boost(self.source, begin, end)
                boost, position = self._boost(begin)
                yield Lexeme("boost", begin, position, boost or "")
            elif character == "~" and is_direct:
                raise self._no_tilde(begin)
            else:
                if character in "!-":
                    negations = _skip(_NEGATIONS, text, begin)
                    if self._is_clause_start(negations):
                        for place in range(begin, negations):
                            yield Lexeme("not", place, place + 1)
                        position = negations
                        if text[negations] in _CLOSERS or text[negations] == "(":
                            continue
                        begin = negations
                elif character == "+" and begin + 1 < length and not text[begin + 1].isspace():
                    raise diagnostics.unsupported_operator(
                        self.source,
                        begin,
                        "Join required clauses with AND; quote a '+' that is part of the text.",
                    )
                lexeme = self._chunk(begin, is_negated=begin > 0 and text[begin - 1] in "!-")
                yield lexeme
                position = lexeme.whole_end
                if lexeme.kind == "field":
                    position += 1
                    self._check_field_value(position)

    def _is_clause_start(self, position: int) -> bool:
        """Whether what stands at `position`, after ``!`` and ``-``, can be negated by them."""
        text = self._text
        if position >= len(text):
            return False
        character = text[position]
        if character == "\\":
            # A lone final backslash is punctuation, and so is what precedes it.
            return position + 1 < len(text)
        # A mark alone makes no token, and a NOT needs a clause that has one.
        return character in _CLOSERS or character == "(" or TOKEN_MAKER.match(character) is not None

    def _check_clauses(self, start: int, end: int) -> None:
        """Refuse the clause that begins at `start` where it is one too many."""
        if self.clauses >= self._limits.clauses:
            raise diagnostics.too_many_clauses(self.source, start, end, self._limits)

    def _field(self, name: str, start: int, end: int) -> Lexeme:
        if name not in FIELDS:
            raise diagnostics.unknown_field(self.source, start, end, name)
        return Lexeme("field", start, end, name)

    def _check_field_value(self, position: int) -> None:
        """Refuse the range syntax of other languages after a field's colon."""
        begin = _skip(_SPACE, self._text, position)
        if begin < len(self._text) and self._text[begin] in "[{<>":
            raise diagnostics.unsupported_operator(
                self.source,
                begin,
                "Ranges and comparisons are not supported; list the values: (2001 OR 2002), "
                "or quote the text.",
            )

    def _quote(self, start: int) -> Lexeme:
        text = self._text
        closer = _CLOSERS[text[start]]
        self._check_clauses(start, start + 1)
        match = _QUOTED[closer].match(text, start + 1)
        if match is None:
            if self._is_cut:
                raise diagnostics.too_long(self.source, self._limits)
            raise diagnostics.unclosed_quote(self.source, start, closer)
        end = match.end()
        # From the source, not from the plain forms: what is quoted is text.
        quoted = self.source[start + 1 : end - 1]
        if "\\" in quoted:
            quoted = _ESCAPE.sub(r"\1", quoted)
        self.clauses += 1
        boost = None
        if end < len(text) and text[end] == "^":
            boost, _ = self._boost(end)
        return Lexeme("quote", start, end, quoted, tuple(tokenize(quoted)), boost)

    def _boost(self, start: int) -> tuple[str, int]:
        """Return the number after the ``^`` at `start`, and where it ends."""
        match = _BOOST.match(self._text, start)
        if match is None:
            end = _skip(_BOOST_BEGUN, self._text, start)
            if self._is_cut and end == len(self._text):
                raise diagnostics.too_long(self.source, self._limits)
            raise diagnostics.bad_boost(self.source, start, end)
        if self._is_cut and match.end() == len(self._text):
            raise diagnostics.too_long(self.source, self._limits)
        if not is_within_boost_bounds(match.group(1)):
            raise diagnostics.bad_boost(self.source, start, match.end())
        return match.group(1), match.end()

    def _no_tilde(self, position: int) -> Exception:
        return diagnostics.unsupported_operator(
            self.source,
            position,
            "Fuzzy and proximity search are not supported; list the spellings: (color OR colour).",
        )

    def _chunk(self, start: int, is_negated: bool) -> Lexeme:
        """Read to the next white space, bracket, quote, operator, boost or field's colon."""
        text = self._text
        length = len(text)
        position = start
        pieces: list[str] = []
        has_word = False
        is_escaped = False
        is_last_escaped = False
        question = -1

        def fail(error: Exception) -> NoReturn:
            if has_word:
                # From its first letter on this was a clause too many, whatever came later.
                self._check_clauses(start, position)
            raise error

        while True:
            ordinary = _ORDINARY.match(text, position)
            if ordinary is not None:
                piece = ordinary.group()
                pieces.append(piece)
                position = ordinary.end()
                is_last_escaped = False
                if (not has_word or question >= 0) and TOKEN_CHARACTER.search(piece):
                    has_word = True
                    if question >= 0:
                        fail(diagnostics.wildcard(self.source, question))
            if position >= length:
                if self._is_cut:
                    fail(diagnostics.too_long(self.source, self._limits))
                break
            character = text[position]
            if character == "\\":
                if position + 1 >= length:
                    if self._is_cut:
                        fail(diagnostics.too_long(self.source, self._limits))
                    position += 1
                    break
                is_escaped = is_last_escaped = True
                literal = text[position + 1]
                pieces.append(literal)
                if TOKEN_CHARACTER.match(literal):
                    has_word = True
                    if question >= 0:
                        fail(diagnostics.wildcard(self.source, question))
                position += 2
                continue
            if character == "*":
                fail(diagnostics.wildcard(self.source, position))
            elif character == "?":
                if has_word and question < 0:
                    question = position
            elif character == "~":
                if pieces and TOKEN_CHARACTER.match(pieces[-1][-1]):
                    fail(self._no_tilde(position))
            elif character == ":":
                if has_word:
                    self._check_clauses(start, position)
                    return self._field("".join(pieces), start, position)
            elif character not in "&|" or text.startswith(character * 2, position):
                break
            elif position + 1 >= length and self._is_cut:
                fail(diagnostics.too_long(self.source, self._limits))
            pieces.append(character)
            position += 1
            is_last_escaped = False

        chunk = "".join(pieces)
        follower = text[position : position + 1]
        if not is_escaped and chunk in _OPERATORS and follower != "^" and not is_negated:
            return Lexeme(_OPERATORS[chunk], start, position)
        if len(chunk) > 2 and text[start] == "/" and chunk[-1] == "/" and not is_last_escaped:
            fail(
                diagnostics.unsupported_operator(
                    self.source,
                    start,
                    'Regular expressions are not supported; quote a path: "/usr/bin/".',
                )
            )
        tokens = tuple(tokenize(chunk))
        if not tokens and not is_escaped:
            return Lexeme("punctuation", start, position)
        self._check_clauses(start, position)
        self.clauses += 1
        boost = None
        if follower == "^":
            boost, _ = self._boost(position)
        return Lexeme("word", start, position, "", tokens, boost)
