"""Whether one expression is provably a relaxation of another.

Both trees are brought into negation normal form and compared as formulas over leaves, knowing of
a leaf only what holds on every index: a quote implies any shorter quote inside it, a quote
implies its words, a field implies no field. First by rules that follow the structure, whose work
is at most the product of the two sizes; where those fail, by case distinctions (a sequent
calculus) with a fixed budget. Out of budget means "not proved".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from logicalrag.query.nodes import FIELDS, Field, Leaf, Node, Not, Phrase
from logicalrag.query.visitor import depth, fold, signed_leaves

# Legal trees have 24 levels. Far deeper ones are not compared part by part, only as a whole.
_MAX_LEVELS = 64
_MAX_WORK = 500_000  # comparisons of two parts
_MAX_CASES = 2_000


def weaker_than(a: Node, b: Node, stem: Callable[[str], str] | None = None) -> bool:
    """Return whether every hit of `b` is provably a hit of `a`, on every index.

    True is always right; False means that no proof was found. Recognised at any depth, with the
    polarity of NOTs in view, and combined: a dropped conjunct, an added disjunct, a phrase opened
    into its words or a part of it, a quote turned into a word, a field removed, an exclusion
    dropped or narrowed; other orders and boosts make no difference. Equal trees are weaker than
    each other.

    Args:
        stem: what the indices stem words with; where given, words compare by their stems,
            otherwise only by the same tokens.
    """
    formulas = _Formulas(stem)
    stronger, weaker = formulas.of(b, split=False), formulas.of(a, split=False)
    if stronger == weaker:
        return True
    if max(depth(a), depth(b)) > _MAX_LEVELS:
        return False
    proof = _Proof(formulas)
    if proof.implies(stronger, weaker) or proof.by_cases(stronger, weaker):
        return True
    fields = {leaf.field for tree in (a, b) for leaf, _ in signed_leaves(tree)}
    if len(fields) == 1 or None not in fields:
        return False
    # `x` is `title:x OR content:x`, which matters only where both forms meet.
    return proof.by_cases(formulas.of(b, split=True), formulas.of(a, split=True))


@dataclass(frozen=True, slots=True)
class _Literal:
    """A leaf without its boost, or its complement.

    Args:
        stems: of its tokens, one by one.
        exact: the tokens themselves of a quote; None for a word.
    """

    is_positive: bool
    field: Field | None
    stems: tuple[str, ...]
    exact: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class _Group:
    """An intersection or union of at least two formulas, by their numbers."""

    kind: Literal["and", "or"]
    members: frozenset[int]


class _Formulas:
    """Formulas in negation normal form, numbered so that equal ones have the same number."""

    def __init__(self, stem: Callable[[str], str] | None) -> None:
        self._stem = stem
        self._numbers: dict[_Literal | _Group, int] = {}
        self._all: list[_Literal | _Group] = []

    def __getitem__(self, number: int) -> _Literal | _Group:
        return self._all[number]

    def number(self, formula: _Literal | _Group) -> int:
        number = self._numbers.setdefault(formula, len(self._all))
        if number == len(self._all):
            self._all.append(formula)
        return number

    def of(self, tree: Node, split: bool) -> int:
        """Return the number of `tree`; `split` replaces a leaf without field by one per field."""
        # Both polarities of every part, so that a NOT only swaps them.
        positive, _ = fold(
            tree,
            leaf=lambda leaf: self._leaf(leaf, split),
            conjunction=lambda _, parts: self._both("and", "or", parts),
            disjunction=lambda _, parts: self._both("or", "and", parts),
            negation=_swapped,
            boosted=lambda _, part: part,
        )
        return positive

    def negated(self, literal: _Literal) -> int:
        return self.number(replace(literal, is_positive=not literal.is_positive))

    def _both(
        self,
        kind: Literal["and", "or"],
        opposite: Literal["and", "or"],
        parts: Sequence[tuple[int, int]],
    ) -> tuple[int, int]:
        return (
            self._group(kind, [positive for positive, _ in parts]),
            self._group(opposite, [negative for _, negative in parts]),
        )

    def _group(self, kind: Literal["and", "or"], parts: Iterable[int]) -> int:
        members: set[int] = set()
        for part in parts:
            formula = self._all[part]
            if isinstance(formula, _Group) and formula.kind == kind:
                members |= formula.members
            else:
                members.add(part)
        if len(members) == 1:
            return members.pop()
        return self.number(_Group(kind, frozenset(members)))

    def _leaf(self, leaf: Leaf, split: bool) -> tuple[int, int]:
        stems = leaf.tokens
        if self._stem is not None:
            stems = tuple(self._stem(token) for token in stems)
        exact = leaf.tokens if isinstance(leaf, Phrase) else None
        fields: tuple[Field | None, ...] = (leaf.field,)
        if split and leaf.field is None:
            fields = FIELDS
        literals = [_Literal(True, field, stems, exact) for field in fields]
        return (
            self._group("or", [self.number(literal) for literal in literals]),
            self._group("and", [self.negated(literal) for literal in literals]),
        )


def _swapped(_: Not, both: tuple[int, int]) -> tuple[int, int]:
    return both[1], both[0]


class _Proof:
    """Searches for proofs that one formula implies another, within one budget."""

    def __init__(self, formulas: _Formulas) -> None:
        self._formulas = formulas
        self._known: dict[tuple[int, int], bool] = {}
        self._work = 0

    def implies(self, stronger: int, weaker: int) -> bool:
        """Whether the structure alone shows that `stronger` implies `weaker`."""
        if stronger == weaker:
            return True
        pair = (stronger, weaker)
        known = self._known.get(pair)
        if known is None:
            self._work += 1
            if self._work > _MAX_WORK:
                return False
            known = self._known[pair] = self._follows(stronger, weaker)
        return known

    def _follows(self, stronger: int, weaker: int) -> bool:
        left, right = self._formulas[stronger], self._formulas[weaker]
        if isinstance(left, _Group) and left.kind == "or":
            return all(self.implies(part, weaker) for part in left.members)
        if isinstance(right, _Group) and right.kind == "and":
            return all(self.implies(stronger, part) for part in right.members)
        if isinstance(left, _Group):
            if weaker in left.members or any(self.implies(part, weaker) for part in left.members):
                return True
        elif isinstance(right, _Literal):
            return _literal_implies(left, right)
        return isinstance(right, _Group) and (
            stronger in right.members or any(self.implies(stronger, part) for part in right.members)
        )

    def by_cases(self, stronger: int, weaker: int) -> bool:
        """Whether all cases of `stronger` lead to a case of `weaker`."""
        nothing: frozenset[int] = frozenset()
        # What is given (all of it holds) and what is wanted (any of it is to be shown), each as
        # what earlier cases have compared already and what is new.
        cases = [(nothing, frozenset((stronger,)), nothing, frozenset((weaker,)))]
        tried = 0
        while cases:
            old_given, new_given, old_wanted, new_wanted = cases.pop()
            new_given = self._opened(new_given, "and") - old_given
            new_wanted = self._opened(new_wanted, "or") - old_wanted
            given, wanted = old_given | new_given, old_wanted | new_wanted
            tried += 1
            self._work += len(given) + len(wanted)
            self._work += len(new_given) * len(wanted) + len(old_given) * len(new_wanted)
            if tried > _MAX_CASES or self._work > _MAX_WORK:
                return False
            if (
                self._any_implies(new_given, wanted)
                or self._any_implies(old_given, new_wanted)
                or self._has_conflict(given, new_given, "given")
                or self._has_conflict(wanted, new_wanted, "wanted")
            ):
                continue
            choice = self._choice(given, wanted)
            if choice is None:
                return False
            is_given, number, members = choice
            for member in members:
                one = frozenset((member,))
                if is_given:
                    cases.append((given - {number}, one, wanted, nothing))
                else:
                    cases.append((given, nothing, wanted - {number}, one))
        return True

    def _opened(self, numbers: frozenset[int], kind: Literal["and", "or"]) -> frozenset[int]:
        """Replace groups of `kind` by their members (which hold no group of that kind)."""
        opened: set[int] = set()
        for number in numbers:
            formula = self._formulas[number]
            if isinstance(formula, _Group) and formula.kind == kind:
                opened |= formula.members
            else:
                opened.add(number)
        return frozenset(opened)

    def _any_implies(self, given: frozenset[int], wanted: frozenset[int]) -> bool:
        if given & wanted:
            return True
        return any(self.implies(left, right) for left in given for right in wanted)

    def _has_conflict(
        self, numbers: frozenset[int], new: frozenset[int], side: Literal["given", "wanted"]
    ) -> bool:
        """Whether two literals contradict each other, or (`wanted`) leave no other case.

        Only pairs with one of the `new` are looked at.
        """
        literals = [
            one for one in map(self._formulas.__getitem__, numbers) if type(one) is _Literal
        ]
        for number in new:
            literal = self._formulas[number]
            if not isinstance(literal, _Literal):
                continue
            self._work += len(literals)
            for other in literals:
                if other.is_positive == literal.is_positive:
                    continue
                positive, negative = (literal, other) if literal.is_positive else (other, literal)
                if side == "given" and _leaf_implies(positive, negative):
                    return True
                if side == "wanted" and _leaf_implies(negative, positive):
                    return True
        return False

    def _choice(
        self, given: frozenset[int], wanted: frozenset[int]
    ) -> tuple[bool, int, frozenset[int]] | None:
        """Return the group with the fewest cases: its side, its number and its members."""
        best: tuple[int, bool, int, frozenset[int]] | None = None
        for is_given, numbers in ((True, given), (False, wanted)):
            for number in numbers:
                formula = self._formulas[number]
                if isinstance(formula, _Group):
                    candidate = (len(formula.members), is_given, number, formula.members)
                    if best is None or candidate[:3] < best[:3]:
                        best = candidate
        return None if best is None else best[1:]


def _literal_implies(left: _Literal, right: _Literal) -> bool:
    if left.is_positive != right.is_positive:
        return False
    return _leaf_implies(left, right) if left.is_positive else _leaf_implies(right, left)


def _leaf_implies(left: _Literal, right: _Literal) -> bool:
    """Whether every hit of the leaf of `left` is one of the leaf of `right`, signs apart."""
    if right.field is not None and right.field != left.field:
        return False
    if right.exact is None:
        return _is_part(right.stems, left.stems)
    return left.exact is not None and _is_part(right.exact, left.exact)


def _is_part(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    size = len(part)
    if size == 1:
        return part[0] in whole
    return any(part == whole[start : start + size] for start in range(len(whole) - size + 1))
