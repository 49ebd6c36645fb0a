"""Synonyms: what the file says, and that an expanded tree means what the specification says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.engines.analysis import stem as english
from logicalrag.query.errors import ExpressionError
from logicalrag.query.limits import LIMITS
from logicalrag.query.nodes import And, Boosted, Leaf, Node, Not, Or, Phrase, Word
from logicalrag.query.parser import Parsed, parse
from logicalrag.query.printer import canonical
from logicalrag.query.synonyms import (
    EMPTY,
    MAX_TERMS_IN_LINE,
    Rule,
    SynonymsError,
    SynonymTable,
    Term,
    expand,
    parse_synonyms,
)
from logicalrag.query.visitor import depth, signed_leaves
from tests.unit.semantics import Document, Hits, matches, toy_stem
from tests.unit.tree_strategies import AWKWARD, VOCABULARY, documents, token_tuples, trees

TABLE = parse_synonyms(
    """\
# vehicles
car, automobile, motor car   # each for all
ship, vessel => boat
C#, c sharp
united states, usa
ADR-016 => decision
good, better
bettered, best
""",
    "synonyms.txt",
)


def _expanded(expression: str, table: SynonymTable = TABLE, default: str = "OR") -> str:
    return canonical(expand(parse(expression, default), table, english).tree)


# --- file ---------------------------------------------------------------------------------------


def test_what_a_file_says() -> None:
    assert TABLE.rules[:3] == (
        Rule(
            (("car",), ("automobile",), ("motor", "car")),
            (("car",), ("automobile",), ("motor", "car")),
        ),
        Rule((("ship",), ("vessel",)), (("boat",),)),
        Rule((("c",), ("c", "sharp")), (("c",), ("c", "sharp"))),
    )
    assert parse_synonyms("", "x").rules == parse_synonyms("\ufeff# none\r\n\r", "x").rules == ()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            "a, b\na,, b",
            2,
            "A term is empty; write at least one letter, number or underscore on both sides of "
            "each comma and of =>.",
        ),
        ("a, b\r\n\r\na => ", 3, "A term is empty; "),
        ("=> a", 1, "A term is empty; "),
        ("a, !!", 1, "A term is empty; "),
        ("# x\rUnited States", 2, "The term 'united states' stands alone; write a, b or a => b."),
        ("a => b => c", 1, "There is more than one =>; write one line for each."),
        ("Car, b, CAR", 1, "The term 'car' stands in this line twice; remove one."),
        ("a => b, a", 1, "The term 'a' stands in this line twice; remove one."),
        (
            "a, b\nc => d\nc, e",
            3,
            "The synonyms of 'c' are given in line 2 already; write all of them there.",
        ),
        (
            ", ".join(f"a{n}" for n in range(MAX_TERMS_IN_LINE + 1)),
            1,
            "The line names 101 terms; at most 100 are allowed.",
        ),
        (
            "\n".join(
                ", ".join(f"t{n}" for n in range(i, i + 100)) for i in range(0, 100_100, 100)
            ),
            1001,
            "The file names more than 100000 terms; shorten it.",
        ),
    ],
    ids=range(11),
)
def test_a_bad_file_names_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(SynonymsError) as caught:
        parse_synonyms(text, "synonyms.txt")
    assert caught.value.place == f"synonyms.txt:{line}"
    assert caught.value.message.startswith(message)
    assert str(caught.value) == f"{caught.value.place}: {caught.value.message}"


@given(st.text() | st.lists(st.sampled_from(("a", "b", "C d", ",", "=>", " #", "\n"))).map("".join))
def test_any_text_is_a_table_or_its_error(text: str) -> None:
    try:
        table = parse_synonyms(text, "x")
    except SynonymsError as error:
        place = error.place
    else:
        place = "x:1"
        assert all(term for rule in table.rules for term in (*rule.named, *rule.added))
    assert 1 <= int(place.removeprefix("x:")) <= text.count("\n") + text.count("\r") + 1


# --- expansion ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # A word by its stem, and it stays as it was written.
        ("cars", "cars OR automobile OR motor-car"),
        ("Cars AND red", "(cars OR automobile OR motor-car) AND red"),
        # Field and boost are the group's.
        ("title:car^2", "title:(car OR automobile OR motor-car)^2"),
        ("(car red)^3", "(car OR automobile OR motor-car OR red)^3"),
        # One way only.
        ("ship AND boat", "(ship OR boat) AND boat"),
        # A chunk of several words is a term; words side by side and parts of a chunk are not.
        ("ADR-016", "adr-016 OR decision"),
        ("motor-cars", "motor-cars OR car OR automobile"),
        ("motor car", "motor OR car OR automobile OR motor-car"),
        ("usa", "usa OR united-states"),
        ("united states", "united OR states"),
        ("car-park", "car-park"),
        # Quotes and negated clauses stay as they are; two NOTs are none.
        ('"car" AND "united states"', '"car" AND "united states"'),
        ("a NOT car", "a AND NOT car"),
        ("NOT (car AND NOT ship)", "NOT (car AND NOT (ship OR boat))"),
        ("NOT NOT ship", "ship OR boat"),
        # Two lines whose words share a stem are read as one.
        ("better", "better OR good OR best"),
    ],
)
def test_what_an_expression_becomes(expression: str, expected: str) -> None:
    assert _expanded(expression) == expected


def test_without_stems_only_the_same_word_is_named() -> None:
    parsed = parse("cars OR car")
    expanded = expand(parsed, TABLE, lambda word: word)
    assert canonical(expanded.tree) == "cars OR car OR automobile OR motor-car"


def test_the_groups_of_a_run_are_joined_by_its_operator() -> None:
    assert _expanded("ship usa", default="AND") == "(ship OR boat) AND (usa OR united-states)"


tables = st.lists(
    st.tuples(
        st.lists(token_tuples(VOCABULARY), min_size=1, max_size=3, unique=True),
        st.lists(token_tuples(VOCABULARY), min_size=1, max_size=3, unique=True),
    ).map(lambda sides: Rule(tuple(sides[0]), tuple(sides[1]))),
    max_size=4,
).map(lambda rules: SynonymTable(tuple(rules)))
Stem = Callable[[str], str]
stemmers: st.SearchStrategy[Stem] = st.sampled_from((toy_stem, str))


def _meaning(
    node: Node, is_positive: bool, table: SynonymTable, corpus: Sequence[Document], stem: Stem
) -> Hits:
    """Evaluate the definition on the tree as it was written."""

    def stems(term: Term) -> list[str]:
        return [stem(token) for token in term]

    def finds(leaf: Leaf, document: Document) -> bool:
        terms = [leaf.tokens]
        if is_positive and isinstance(leaf, Word):
            for rule in table.rules:
                if any(stems(named) == stems(leaf.tokens) for named in rule.named):
                    terms.extend(rule.added)
        kind = Phrase if isinstance(leaf, Phrase) else Word
        return any(matches(kind(term, leaf.field), document, stem) for term in terms)

    everything = frozenset(range(len(corpus)))
    if isinstance(node, Word | Phrase):
        return frozenset(number for number in everything if finds(node, corpus[number]))
    if isinstance(node, Not):
        return everything - _meaning(node.child, not is_positive, table, corpus, stem)
    if isinstance(node, Boosted):
        return _meaning(node.child, is_positive, table, corpus, stem)
    parts = [_meaning(child, is_positive, table, corpus, stem) for child in node.children]
    return frozenset.union(*parts) if isinstance(node, Or) else frozenset.intersection(*parts)


@given(trees(), tables, documents, stemmers)
def test_the_hits_of_an_expanded_tree_are_those_of_the_definition(
    tree: Node, table: SynonymTable, corpus: list[Document], stem: Stem
) -> None:
    expanded = expand(Parsed(tree, ()), table, stem).tree
    nothing = SynonymTable()
    assert _meaning(expanded, True, nothing, corpus, stem) == _meaning(
        tree, True, table, corpus, stem
    )


@given(trees(AWKWARD + VOCABULARY), tables, stemmers)
def test_the_canonical_text_of_an_expanded_tree_reads_as_it(
    tree: Node, table: SynonymTable, stem: Stem
) -> None:
    expanded = expand(Parsed(tree, ()), table, stem).tree
    assert parse(canonical(expanded), canonical=True).tree == expanded


@given(trees(AWKWARD + VOCABULARY), stemmers)
def test_an_empty_table_changes_nothing(tree: Node, stem: Stem) -> None:
    parsed = Parsed(tree, ())
    assert expand(parsed, EMPTY, stem) is parsed


@given(trees(), tables, stemmers)
def test_negated_clauses_and_quotes_are_untouched(
    tree: Node, table: SynonymTable, stem: Stem
) -> None:
    def kept(node: Node) -> list[tuple[Leaf, bool]]:
        return [
            (leaf, sign)
            for leaf, sign in signed_leaves(node)
            if not sign or isinstance(leaf, Phrase)
        ]

    assert kept(expand(Parsed(tree, ()), table, stem).tree) == kept(tree)


@given(trees(), stemmers)
def test_what_was_put_in_is_not_expanded(tree: Node, stem: Stem) -> None:
    chain = parse_synonyms("alpha => beta\nbeta => gamma\ngamma => delta\ndelta => omega", "x")
    words = {token for leaf, _ in signed_leaves(tree) for token in leaf.tokens}
    found = signed_leaves(expand(Parsed(tree, ()), chain, stem).tree)
    if "delta" not in words:
        assert all("omega" not in leaf.tokens for leaf, _ in found)


# --- limits and notices -------------------------------------------------------------------------


def test_limits_hold_again_and_the_hint_names_synonyms() -> None:
    source = " ".join(["car"] * 200)
    with pytest.raises(ExpressionError) as caught:
        expand(parse(source), TABLE, english, source)
    error = caught.value
    assert error.code == "too_many_clauses"
    assert error.position == 170 * 4  # 170 cars are 510 clauses; the 171st holds the 513th
    assert error.hint.startswith("Synonyms made it larger: quote the words that need none")
    assert "car car" in error.render()
    assert expand(parse(" ".join(["car"] * 170)), TABLE, english)


def _nested(innermost: str, levels: int) -> Parsed:
    """Return an expression of AND and OR in turns, `innermost` ("AND" or "OR") around the word."""
    operator, text = innermost, "ship"
    for _ in range(levels - 1):
        text = f"({text} {operator} x)"
        operator = "OR" if operator == "AND" else "AND"
    return parse(text)


def test_a_group_of_synonyms_is_a_level_unless_it_stands_in_an_or() -> None:
    assert depth(expand(_nested("OR", LIMITS.levels), TABLE, english).tree) == LIMITS.levels
    with pytest.raises(ExpressionError, match="25 levels") as caught:
        expand(_nested("AND", LIMITS.levels), TABLE, english)
    assert caught.value.code == "too_deep"
    assert caught.value.hint.startswith("Synonyms made it larger")


def test_a_synonym_without_word_boundaries_is_noticed() -> None:
    table = parse_synonyms("language, ภาษา", "x")
    expanded = expand(parse("a and language"), table, english)
    assert [(each.code, each.position, each.end) for each in expanded.notices] == [
        ("lowercase_operator", 2, 5),
        ("unsupported_script", 6, 14),
    ]
    unexpanded = parse("NOT language")
    assert expand(unexpanded, table, english) is unexpanded
    noticed = expand(parse("ไทย language"), table, english)
    assert [(each.code, each.position) for each in noticed.notices] == [("unsupported_script", 0)]


def test_a_word_without_synonyms_of_another_stem_stays() -> None:
    table = parse_synonyms("car, cars", "x")
    parsed = parse("car")
    assert expand(parsed, table, english) is parsed
    assert isinstance(expand(parsed, table, str).tree, Or)
    assert isinstance(expand(parse("car x", "AND"), table, str).tree, And)
