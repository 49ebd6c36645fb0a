"""Synonyms: a plain file of terms, and the transformation of a tree that they stand for.

Source: "Synonyms" in the specification of the query language.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from logicalrag.query import shape
from logicalrag.query.checks import check_limits
from logicalrag.query.errors import ExpressionError, Notice
from logicalrag.query.nodes import Leaf, Node, Word
from logicalrag.query.parser import Parsed
from logicalrag.query.tokens import has_unsupported_script, tokenize
from logicalrag.query.visitor import map_leaves

Term = tuple[str, ...]
Stem = Callable[[str], str]

MAX_TERMS_IN_LINE = 100
MAX_TERMS = 100_000
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ARROW = "=>"


class SynonymsError(ValueError):
    """A file of synonyms that cannot be used.

    Args:
        place: file and line, as ``synonyms.txt:3``.
        message: one sentence that says what is wrong and what to do.
    """

    def __init__(self, place: str, message: str) -> None:
        super().__init__(place, message)
        self.place = place
        self.message = message

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: each term of `named` also finds every term of `added` (other than itself)."""

    named: tuple[Term, ...]
    added: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SynonymTable:
    """The rules of a file, in its order. Compared by identity: a file read again is another."""

    rules: tuple[Rule, ...] = ()


EMPTY = SynonymTable()


def parse_synonyms(text: str, name: str) -> SynonymTable:
    """Return the table that a file holds.

    Args:
        text: a line for each rule. ``car, automobile`` makes each term stand for all of the line;
            in ``ship, vessel => boat`` those on the left stand for those on the right too, and
            not the other way round. A term is one or several words, read by the token rule.
            ``#`` at the beginning of a line or after white space begins a comment.
        name: the file's name, for messages.

    Raises:
        SynonymsError: an empty or repeated term, one that stands alone, two arrows, a term whose
            synonyms another line gives already, more than `MAX_TERMS_IN_LINE` or `MAX_TERMS`.
    """
    rules: list[Rule] = []
    lines: dict[Term, int] = {}
    total = 0
    for number, line in enumerate(io.StringIO(text.removeprefix("\ufeff"), newline=None), start=1):
        content = _COMMENT.sub("", line).strip()
        if not content:
            continue
        place = f"{name}:{number}"
        rule, terms = _rule(content, place)
        total += terms
        if total > MAX_TERMS:
            raise SynonymsError(place, f"The file names more than {MAX_TERMS} terms; shorten it.")
        for term in rule.named:
            if term in lines:
                raise SynonymsError(
                    place,
                    f"The synonyms of {' '.join(term)!r} are given in line {lines[term]} already; "
                    "write all of them there.",
                )
            lines[term] = number
        rules.append(rule)
    return SynonymTable(tuple(rules))


def expand(parsed: Parsed, table: SynonymTable, stem: Stem, source: str = "") -> Parsed:
    """Return an expression in which each word with synonyms is an OR group of it and them.

    Replaced are words under an even number of NOTs whose stems are those of a named term, the
    whole chunk being one term: ``united-states`` is the term ``united states``, the words
    ``united states`` side by side are two clauses and are not. The group keeps the word's field
    and boost. Quotes stay as they are, negated clauses too, and what was put in is not expanded
    again. A synonym of several words is a phrase of their stems.

    Args:
        parsed: what `parser.parse` returned; returned as it is where nothing is replaced.
        table: the synonyms.
        stem: the stemmer of the index that is asked, a pure function of one token.
        source: the expression's text, for the rendering of an error.

    Raises:
        ExpressionError: ``too_many_clauses`` or ``too_deep``: only without its synonyms is the
            tree within the limits.
    """
    rules = _by_stems(table, stem)
    if not rules:
        return parsed
    foreign: list[Leaf] = []

    def change(leaf: Leaf, is_positive: bool) -> Node:
        if not is_positive or not isinstance(leaf, Word):
            return leaf
        stems = _stems(leaf.tokens, stem)
        added = _added(stems, rules.get(stems, ()), stem)
        if not added:
            return leaf
        if any(has_unsupported_script("".join(term)) for term in added):
            foreign.append(leaf)
        asked = Word(leaf.tokens, leaf.field, None, leaf.span, leaf.written)
        words = [asked, *(Word(term, leaf.field, None, leaf.span) for term in added)]
        group = shape.disjunction(words, leaf.span)
        return group if leaf.boost is None else shape.boosted(group, leaf.boost, leaf.span)

    tree = map_leaves(parsed.tree, change)
    if tree == parsed.tree:
        return parsed
    try:
        check_limits(tree, source)
    except ExpressionError as error:
        raise ExpressionError(
            error.code,
            error.message,
            error.position,
            error.end,
            "Synonyms made it larger: quote the words that need none, and keep the clauses that "
            "tell most.",
            source,
        ) from None
    return Parsed(tree, _with_script_notice(parsed.notices, foreign))


def _rule(content: str, place: str) -> tuple[Rule, int]:
    """Return the rule of one line and how many terms it names."""
    sides = [_terms(side, place) for side in content.split(_ARROW)]
    terms = [term for side in sides for term in side]
    if len(sides) > 2:
        raise SynonymsError(place, f"There is more than one {_ARROW}; write one line for each.")
    if len(terms) > MAX_TERMS_IN_LINE:
        raise SynonymsError(
            place, f"The line names {len(terms)} terms; at most {MAX_TERMS_IN_LINE} are allowed."
        )
    if len(terms) == 1:
        raise SynonymsError(
            place, f"The term {' '.join(terms[0])!r} stands alone; write a, b or a {_ARROW} b."
        )
    repeated = next((term for i, term in enumerate(terms) if term in terms[:i]), None)
    if repeated is not None:
        raise SynonymsError(
            place, f"The term {' '.join(repeated)!r} stands in this line twice; remove one."
        )
    return Rule(tuple(sides[0]), tuple(sides[-1])), len(terms)


def _terms(side: str, place: str) -> list[Term]:
    terms = [tuple(tokenize(term)) for term in side.split(",")]
    if not all(terms):
        raise SynonymsError(
            place,
            "A term is empty; write at least one letter, number or underscore on both sides of "
            f"each comma and of {_ARROW}.",
        )
    return terms


def _stems(term: Term, stem: Stem) -> Term:
    return tuple(map(stem, term))


@lru_cache(maxsize=8)  # the tables and stemmers of one process; a file read again is a new table
def _by_stems(table: SynonymTable, stem: Stem) -> Mapping[Term, list[Rule]]:
    """Return the rules that name each term; two lines may name words of one stem."""
    found: dict[Term, list[Rule]] = {}
    for rule in table.rules:
        for stems in dict.fromkeys(_stems(term, stem) for term in rule.named):
            found.setdefault(stems, []).append(rule)
    return found


def _added(stems: Term, rules: Sequence[Rule], stem: Stem) -> list[Term]:
    """Return what `rules` add to a term, each stem once and not its own, in the file's order."""
    added: dict[Term, Term] = {}
    for rule in rules:
        for term in rule.added:
            added.setdefault(_stems(term, stem), term)
    added.pop(stems, None)
    return list(added.values())


def _with_script_notice(notices: tuple[Notice, ...], foreign: list[Leaf]) -> tuple[Notice, ...]:
    if not foreign or any(notice.code == "unsupported_script" for notice in notices):
        return notices
    notice = Notice(
        "unsupported_script",
        "A synonym of this word is in a script written without spaces, for which no word "
        "boundaries are known here; no hits do not prove that nothing is there.",
        foreign[0].span.start,
        foreign[0].span.end,
    )
    return tuple(sorted((*notices, notice), key=lambda each: each.position))
