"""From lexemes to the tree: precedence, runs, scopes and notices.

A loop over lexemes with a stack of open groups; nothing here recurses, so no text can exhaust
the interpreter's stack. The grammar, loosest first: OR, AND, run, NOT.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from logicalrag.query import diagnostics, shape
from logicalrag.query.errors import ExpressionError, Notice, NoticeCode
from logicalrag.query.lexer import Lexeme, Lexer
from logicalrag.query.limits import LIMITS, NO_LIMITS, Limits
from logicalrag.query.nodes import Field, Node, Phrase, Span, Word
from logicalrag.query.tokens import has_unsupported_script
from logicalrag.query.visitor import depth

DefaultOperator = Literal["OR", "AND"]
_DEFAULT_OPERATORS = get_args(DefaultOperator)
_OPERATOR_WORDS = ("and", "or", "not")
# A group adds at most OR, AND, one of (OR of a run, NOT) and its boost to the levels.
_LEVELS_PER_GROUP = 4


@dataclass(frozen=True, slots=True)
class Parsed:
    """An accepted expression.

    Args:
        tree: what it means.
        notices: at most one per code, by position.
    """

    tree: Node
    notices: tuple[Notice, ...]


def parse(expression: str, default_operator: str = "OR", *, canonical: bool = False) -> Parsed:
    """Return the tree and the notices of `expression`.

    Args:
        expression: any text.
        default_operator: ``"OR"`` or ``"AND"``: what joins positive clauses side by side.
        canonical: the text was printed by `printer.canonical`; no limit applies.

    Raises:
        ExpressionError: the text is no expression; nothing else is raised for any text.

    Source: the specification of the query language.
    """
    if not isinstance(default_operator, str) or default_operator not in _DEFAULT_OPERATORS:
        raise diagnostics.bad_default_operator(expression, default_operator)
    limits = NO_LIMITS if canonical else LIMITS
    return _Parser(expression, default_operator == "AND", limits).run()


class _Group:
    """What has been read of one group (or of the whole text) that is still open."""

    __slots__ = (
        "after_fielded_word",
        "alternatives",
        "clause_start",
        "conjuncts",
        "field",
        "has_clause",
        "has_punctuation",
        "is_after_operator",
        "last",
        "negated",
        "negations",
        "operator",
        "positive",
        "scope",
        "start",
    )

    def __init__(self, start: int, scope: Field | None) -> None:
        self.start = start
        self.scope = scope
        self.alternatives: list[Node] = []
        self.conjuncts: list[Node] = []
        self.positive: list[Node] = []
        self.negated: list[tuple[Node, int]] = []
        # The clause that is being read: its NOTs, its field, and where those begin.
        self.negations = 0
        self.field: Lexeme | None = None
        self.clause_start = -1
        self.has_clause = False  # in this run
        self.is_after_operator = False
        self.operator: Lexeme | None = None
        self.has_punctuation = False
        self.after_fielded_word: Lexeme | None = None
        self.last: list[Node] | list[tuple[Node, int]] | None = None


class _Parser:
    def __init__(self, source: str, joins_by_and: bool, limits: Limits) -> None:
        self._source = source
        self._lexer = Lexer(source, limits)
        self._limits = limits
        self._join = shape.conjunction if joins_by_and else shape.disjunction
        self._notices: dict[NoticeCode, Notice] = {}
        self._group = _Group(-1, None)
        self._open: list[_Group] = []
        self._deepest = 0

    def run(self) -> Parsed:
        for lexeme in self._lexer.lexemes():
            kind = lexeme.kind
            if kind == "word":
                self._word(lexeme)
            elif kind == "quote":
                self._quote(lexeme)
            elif kind == "and":
                self._operator(lexeme)
                self._end_run()
            elif kind == "or":
                self._operator(lexeme)
                self._end_conjunction()
            elif kind == "not":
                self._not(lexeme)
            elif kind == "field":
                self._field(lexeme)
            elif kind == "open":
                self._open_group(lexeme)
            elif kind == "close":
                self._close_group(lexeme)
            elif kind == "boost":
                self._boost_group(lexeme)
            elif kind == "punctuation":
                self._group.has_punctuation = True
            else:
                return self._finish(lexeme)
        raise AssertionError("a lexer's last lexeme is 'end'")  # pragma: no cover

    def _word(self, lexeme: Lexeme) -> None:
        group = self._group
        start, end = lexeme.start, lexeme.end
        tokens = lexeme.tokens
        if not tokens:
            self._drop(lexeme)
            return
        if len(tokens) == 1 and tokens[0] in _OPERATOR_WORDS:
            self._notice_lowercase(start, end)
        source = self._source
        if not source.isascii() and has_unsupported_script(source[start:end]):
            self._notice_script(start, end)
        fielded = group.field
        if fielded is not None:
            field: Field | None = fielded.text  # type: ignore[assignment]
            group.after_fielded_word = lexeme
            begin = fielded.start
        else:
            field = group.scope
            previous = group.after_fielded_word
            if previous is not None:
                if not group.negations & 1:
                    self._notice_scope(previous, lexeme)
                group.after_fielded_word = None
            begin = start
        span = Span(begin, lexeme.whole_end)
        self._clause(Word(tokens, field, lexeme.boost, span, source[start:end]))

    def _quote(self, lexeme: Lexeme) -> None:
        group = self._group
        if not lexeme.tokens:
            self._drop(lexeme)
            return
        start = lexeme.start
        source = self._source
        if not source.isascii() and has_unsupported_script(source[start : lexeme.end]):
            self._notice_script(start, lexeme.end)
        group.after_fielded_word = None
        fielded = group.field
        field: Field | None = group.scope
        if fielded is not None:
            field = fielded.text  # type: ignore[assignment]
            start = fielded.start
        span = Span(start, lexeme.whole_end)
        self._clause(Phrase(lexeme.tokens, field, lexeme.boost, span, lexeme.text))

    def _drop(self, lexeme: Lexeme) -> None:
        self._notice(
            "dropped_clause",
            "This clause holds no letter, number or underscore and was left out.",
            lexeme.start,
            lexeme.end,
        )
        self._clause(None)

    def _clause(self, node: Node | None) -> None:
        """Add a clause to the run, with the NOTs that stand before it."""
        group = self._group
        if node is None:
            group.last = None
        elif group.negations & 1:
            group.negated.append((node, group.clause_start))
            group.last = group.negated
        else:
            group.positive.append(node)
            group.last = group.positive
        group.negations = 0
        group.field = None
        group.has_clause = True
        group.is_after_operator = False

    def _operator(self, lexeme: Lexeme) -> None:
        group = self._group
        if group.field is not None or group.negations or not group.has_clause:
            raise self._missing_operand(lexeme)
        group.is_after_operator = True
        group.operator = lexeme

    def _not(self, lexeme: Lexeme) -> None:
        group = self._group
        if group.field is not None:
            raise self._missing_operand(lexeme)
        if not group.negations:
            group.clause_start = lexeme.start
        group.negations += 1
        group.operator = lexeme

    def _field(self, lexeme: Lexeme) -> None:
        group = self._group
        outer = group.scope if group.field is None else group.field.text
        if outer is not None:
            raise diagnostics.nested_field(
                self._source, lexeme.start, lexeme.end, lexeme.text, outer
            )
        group.field = lexeme

    def _open_group(self, lexeme: Lexeme) -> None:
        if len(self._open) >= self._limits.open_groups:
            raise diagnostics.too_deep_groups(self._source, lexeme.start, self._limits)
        outer = self._group
        scope = outer.scope
        if outer.field is not None:
            scope = outer.field.text  # type: ignore[assignment]
        self._open.append(outer)
        self._deepest = max(self._deepest, len(self._open))
        self._group = _Group(lexeme.start, scope)

    def _close_group(self, lexeme: Lexeme) -> None:
        group = self._group
        if self._lacks_operand():
            raise self._missing_operand(lexeme)
        if not self._open:
            raise diagnostics.unexpected_paren(self._source, lexeme.start)
        if not group.has_clause:
            # Nothing was read, not even a dropped clause.
            if not group.has_punctuation:
                raise diagnostics.empty_group(self._source, group.start, lexeme.end)
            self._drop_group(group.start, lexeme.end)
        node = self._end_group()
        self._group = self._open.pop()
        self._group.after_fielded_word = None
        self._clause(node)

    def _drop_group(self, start: int, end: int) -> None:
        self._lexer.clauses += 1
        if self._lexer.clauses > self._limits.clauses:
            raise diagnostics.too_many_clauses(self._source, start, end, self._limits)
        self._notice(
            "dropped_clause",
            "This group holds no letter, number or underscore and was left out.",
            start,
            end,
        )

    def _boost_group(self, lexeme: Lexeme) -> None:
        last = self._group.last
        if last is self._group.positive:
            node = self._group.positive[-1]
            span = Span(node.span.start, lexeme.end)
            self._group.positive[-1] = shape.boosted(node, lexeme.text, span)
        elif last is not None:
            node, start = self._group.negated[-1]
            span = Span(node.span.start, lexeme.end)
            self._group.negated[-1] = (shape.boosted(node, lexeme.text, span), start)

    def _end_run(self) -> None:
        group = self._group
        operands: list[Node] = []
        if group.positive:
            if len(group.positive) == 1:
                operands.append(group.positive[0])
            else:
                operands.append(self._join(group.positive))
            group.positive = []
        if group.negated:
            for node, start in group.negated:
                operands.append(shape.negation(node, Span(start, node.span.end)))
            group.negated = []
        if operands:
            group.conjuncts.append(
                operands[0] if len(operands) == 1 else shape.conjunction(operands)
            )
        group.has_clause = False
        group.after_fielded_word = None
        group.last = None

    def _end_conjunction(self) -> None:
        self._end_run()
        group = self._group
        if group.conjuncts:
            group.alternatives.append(
                group.conjuncts[0]
                if len(group.conjuncts) == 1
                else shape.conjunction(group.conjuncts)
            )
            group.conjuncts = []

    def _end_group(self) -> Node | None:
        self._end_conjunction()
        alternatives = self._group.alternatives
        return shape.disjunction(alternatives) if alternatives else None

    def _finish(self, end: Lexeme) -> Parsed:
        if self._lacks_operand():
            raise self._missing_operand(end)
        if self._open:
            raise diagnostics.unclosed_paren(self._source, self._group.start)
        if not self._source or self._source.isspace():
            raise diagnostics.empty_expression(self._source)
        tree = self._end_group()
        if tree is None:
            raise diagnostics.empty_after_analysis(self._source)
        if (self._deepest + 1) * _LEVELS_PER_GROUP > self._limits.levels:
            levels = depth(tree)
            if levels > self._limits.levels:
                raise diagnostics.too_deep_tree(self._source, levels, self._limits)
        notices = sorted(self._notices.values(), key=lambda notice: notice.position)
        return Parsed(tree, tuple(notices))

    def _lacks_operand(self) -> bool:
        group = self._group
        return group.field is not None or group.negations > 0 or group.is_after_operator

    def _missing_operand(self, found: Lexeme) -> ExpressionError:
        group = self._group
        text = self._source[found.start : found.end]
        if group.field is not None:
            return diagnostics.field_without_clause(
                self._source, found.start, found.end, group.field.text, text
            )
        after = ""
        if group.operator is not None and self._lacks_operand():
            after = self._source[group.operator.start : group.operator.end]
        return diagnostics.missing_operand(self._source, found.start, found.end, after, text)

    def _notice(self, code: NoticeCode, message: str, start: int, end: int) -> None:
        known = self._notices.get(code)
        if known is None or start < known.position:
            self._notices[code] = Notice(code, message, start, end)

    def _notice_lowercase(self, start: int, end: int) -> None:
        written = self._source[start:end]
        if written.lower() in _OPERATOR_WORDS and not written.isupper():
            self._notice(
                "lowercase_operator",
                f"{written!r} is searched as a word; operators are written in capitals: "
                f"{written.upper()}.",
                start,
                end,
            )

    def _notice_scope(self, fielded: Lexeme, word: Lexeme) -> None:
        source = self._source
        covered = source[fielded.start : fielded.end][:40]
        beyond = source[word.start : word.end][:40]
        self._notice(
            "partial_field_scope",
            f"The field covers {covered!r} only, and {beyond!r} is searched in every field; "
            f"write field:({covered} {beyond}) to cover both.",
            word.start,
            word.end,
        )

    def _notice_script(self, start: int, end: int) -> None:
        self._notice(
            "unsupported_script",
            "This text is in a script written without spaces, for which no word boundaries are "
            "known here; no hits do not prove that nothing is there.",
            start,
            end,
        )
