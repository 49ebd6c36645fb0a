"""What accepted expressions mean: trees, hits, notices, spans; any text is accepted or refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.query.errors import ExpressionError
from logicalrag.query.nodes import And, Boosted, Node, Not, Or, Phrase, Span, Word
from logicalrag.query.parser import Parsed, parse
from logicalrag.query.printer import canonical
from logicalrag.query.visitor import depth, leaves
from tests.unit.semantics import Document, hits
from tests.unit.tree_strategies import accepted_texts, documents, texts

A, B, C, D = (Word((name,)) for name in "abcd")


@pytest.mark.parametrize(
    ("expression", "tree"),
    [
        # precedence and runs
        ("a OR b AND c", Or((A, And((B, C))))),
        ("a b NOT c", And((Or((A, B)), Not(C)))),
        ("a OR b c", Or((A, B, C))),
        ("NOT a NOT b", And((Not(A), Not(B)))),
        ("a NOT b NOT c", And((A, Not(B), Not(C)))),
        ("a OR NOT b", Or((A, Not(B)))),
        ("(NOT a) b", Or((Not(A), B))),
        ("NOT (NOT a) b", And((B, A))),
        ("NOT NOT a b", Or((A, B))),
        ("a NOT (b c)", And((A, Not(Or((B, C)))))),
        ("a AND b c NOT d", And((A, Or((B, C)), Not(D)))),
        ("NOT NOT NOT a", Not(A)),
        ("NOT - a", Not(A)),
        # operators in every spelling and setting
        ("a&&b||c", Or((And((A, B)), C))),
        ("a&&!b", And((A, Not(B)))),
        ("a&&NOT b", And((A, Not(B)))),
        ("!-!a", Not(A)),
        ("(a)AND(b)", And((A, B))),
        ('"a"AND"b"', And((Phrase(("a",)), Phrase(("b",))))),
        ("a\u3000AND\u2028b\x85OR\xa0c", Or((And((A, B)), C))),
        ("a -b", And((A, Not(B)))),
        ("(a)-b", And((A, Not(B)))),
        ('"a"-b', And((Phrase(("a",)), Not(B)))),
        ('"a"!(b)', And((Phrase(("a",)), Not(B)))),
        ('-"a"', Not(Phrase(("a",)))),
        ("-\\a", Not(A)),
        ("-title:a", Not(Word(("a",), "title"))),
        # words that only look like operators
        ("ANDa", Word(("anda",))),
        ("NOT-a", Word(("not", "a"))),
        ("-AND", Not(Word(("and",)))),
        ("AND.", Word(("and",))),
        ("AND^2", Word(("and",), None, "2")),
        ('"AND"', Phrase(("and",))),
        ("\\NOT", Word(("not",))),
        ("orlando", Word(("orlando",))),
        ("or\\lando", Word(("orlando",))),
        # punctuation
        ("Jeopardy! host", Or((Word(("jeopardy",)), Word(("host",))))),
        ("2010 - 2012", Or((Word(("2010",)), Word(("2012",))))),
        ("who?", Word(("who",))),
        ("? a ?", A),
        ("AC/DC", Word(("ac", "dc"))),
        ("AT&T", Word(("at", "t"))),
        ("a & b | c", Or((A, B, C))),
        ("C++", Word(("c",))),
        ("a + b", Or((A, B))),
        ("a : b :: c", Or((A, B, C))),
        ('"a":b', Or((Phrase(("a",)), B))),
        ("/usr/bin", Word(("usr", "bin"))),
        ("// a", A),
        ("[a] {b} <c>", Or((A, B, C))),
        ("~a", A),
        ("a ~ b", Or((A, B))),
        ("-+a", A),
        ("--", None),
        ("a\\", A),
        ("-\\", None),
        ("O’Brien’s", Word(("o", "brien"))),
        # escapes
        ("a\\ b", Word(("a", "b"))),
        ("\\-a", A),
        ("\\+a", A),
        ("te\\*t", Word(("te", "t"))),
        ("te\\?t", Word(("te", "t"))),
        ("a\\~", A),
        ("a\\^2", Word(("a", "2"))),
        ("\\/a/", A),
        ("/a\\/", A),
        ("title\\:a", Word(("title", "a"))),
        ("ti\\tle:a", Word(("a",), "title")),
        ("a\\(b\\)", Word(("a", "b"))),
        ("a\\&&b", Word(("a", "b"))),
        ("\\\\a", A),
        # quotes
        ('"a b"', Phrase(("a", "b"))),
        ('"a \\"b\\" c"', Phrase(("a", "b", "c"))),
        ('“a "b ”', Phrase(("a", "b"))),
        ("„a ” b“", Phrase(("a", "b"))),
        ("«a “b»", Phrase(("a", "b"))),
        ('"a* (b) foo:c ~ ^"', Phrase(("a", "b", "foo", "c"))),
        ('a"b"c', Or((A, Phrase(("b",)), C))),
        # fields
        ("title:a", Word(("a",), "title")),
        ("title:  a", Word(("a",), "title")),
        ("title：a", Word(("a",), "title")),
        ("title:... a", Word(("a",), "title")),
        ("title:- a", Word(("a",), "title")),
        ("title:a b", Or((Word(("a",), "title"), B))),
        ('content:"a b"', Phrase(("a", "b"), "content")),
        ("title:(a OR NOT b)", Or((Word(("a",), "title"), Not(Word(("b",), "title"))))),
        ("title:(a) b", Or((Word(("a",), "title"), B))),
        ("(title:a) content:b", Or((Word(("a",), "title"), Word(("b",), "content")))),
        ("title::a", Word(("a",), "title")),
        ('title:"Not"', Phrase(("not",), "title")),
        # boosts
        ("a^2", Word(("a",), None, "2")),
        ("a^.5 b", Or((Word(("a",), None, ".5"), B))),
        ('"a"^2.50(b)', Or((Phrase(("a",), None, "2.50"), B))),
        ('a^2"b"', Or((Word(("a",), None, "2"), Phrase(("b",))))),
        ("(a b)^2", Boosted(Or((A, B)), "2")),
        ("(a)^2", Word(("a",), None, "2")),
        ("((a)^2)^3", Boosted(Word(("a",), None, "2"), "3")),
        ("NOT (a)^2", Not(Word(("a",), None, "2"))),
        ("(NOT a)^2", Boosted(Not(A), "2")),
        ("a NOT (b c)^2", And((A, Not(Boosted(Or((B, C)), "2"))))),
        ("who?^2", Word(("who",), None, "2")),
        ("a^1000.000", Word(("a",), None, "1000.000")),
        ("a^0001000", Word(("a",), None, "0001000")),
        ("title:(a b)^2", Boosted(Or((Word(("a",), "title"), Word(("b",), "title"))), "2")),
        ("a OR (b OR c)^2", Or((A, Boosted(Or((B, C)), "2")))),
        # dropped clauses take their NOTs, boost, field and operator with them
        ('a OR "!!!"', A),
        ('"!!!" AND a', A),
        ('a AND "!!!" AND b', And((A, B))),
        ('a OR "!!!" AND b', Or((A, B))),
        ('a NOT title:"!!!"^2 b', Or((A, B))),
        ('"!!!" NOT b', Not(B)),
        ('a AND ("!!!" OR "?")^2', A),
        ("a (...)", A),
        ("a AND \\!", A),
        ("a (\\) b)", Or((A, B))),
    ],
)
def test_trees(expression: str, tree: Node | None) -> None:
    if tree is None:
        with pytest.raises(ExpressionError, match="Nothing in the expression is a word"):
            parse(expression)
    else:
        assert parse(expression).tree == tree


@pytest.mark.parametrize(
    ("expression", "tree"),
    [
        ("a b", And((A, B))),
        ("a b NOT c", And((A, B, Not(C)))),
        ("a NOT b c", And((A, C, Not(B)))),
        ("a OR b c", Or((A, And((B, C))))),
        ("(a b) c", And((A, B, C))),
        ("(NOT a) b", And((Not(A), B))),
        ("NOT NOT a b", And((A, B))),
        ("NOT (NOT a) b", And((B, A))),
    ],
)
def test_trees_where_and_is_the_default(expression: str, tree: Node) -> None:
    assert parse(expression, "AND").tree == tree


@pytest.mark.parametrize(
    ("expression", "notices"),
    [
        ("a", []),
        ("a and b", [("lowercase_operator", 2, 5)]),
        ("And", [("lowercase_operator", 0, 3)]),
        ("a oR b Not c", [("lowercase_operator", 2, 4)]),
        ("-not", [("lowercase_operator", 1, 4)]),
        ("and^2", [("lowercase_operator", 0, 3)]),
        ("title:(a or b)", [("lowercase_operator", 9, 11)]),
        ("a \\and b", []),
        ('and. ánd "and" -AND AND^2', []),
        ("title:a b", [("partial_field_scope", 8, 9)]),
        ("title:a^2 - b", [("partial_field_scope", 12, 13)]),
        ("title:a NOT NOT b", [("partial_field_scope", 16, 17)]),
        ("x title:a b c", [("partial_field_scope", 10, 11)]),
        ('title:a "b"', []),
        ("title:a NOT b", []),
        ("title:a NOT b c", []),
        ("title:a AND b", []),
        ("title:a OR b", []),
        ("title:a content:b", []),
        ("title:a (b)", []),
        ("title:(a) b", []),
        ("(title:a) b", []),
        ("title:(a b) c", []),
        ('title:"a" b', []),
        ('a "!!!"', [("dropped_clause", 2, 7)]),
        ('"?" a "!!!"', [("dropped_clause", 0, 3)]),
        ("a \\!^2", [("dropped_clause", 2, 4)]),
        ("a (... !)", [("dropped_clause", 2, 9)]),
        ("a ... !", []),
        ("ไทย", [("unsupported_script", 0, 3)]),
        ('a "b ລາວ"', [("unsupported_script", 2, 9)]),
        ("ру 第 한국", []),
        (
            'ไทย title:a "!" b AND or',
            [
                ("unsupported_script", 0, 3),
                ("dropped_clause", 12, 15),
                ("partial_field_scope", 16, 17),
                ("lowercase_operator", 22, 24),
            ],
        ),
    ],
)
def test_notices(expression: str, notices: list[tuple[str, int, int]]) -> None:
    found = parse(expression).notices
    assert [(one.code, one.position, one.end) for one in found] == notices
    assert all(one.message.endswith(".") for one in found)


def test_spans_cover_the_clause_with_its_field_and_boost() -> None:
    source = 'NOT title:a^2 AND (b OR content:"c d"^.5)'
    parsed = parse(source)
    covered = [source[leaf.span.start : leaf.span.end] for leaf in leaves(parsed.tree)]
    assert covered == ["title:a^2", "b", 'content:"c d"^.5']
    assert isinstance(parsed.tree, And)
    assert parsed.tree.children[0].span == Span(0, 13)


def test_spans_take_no_part_in_equality() -> None:
    assert parse("a  OR (b)").tree == parse("a OR b").tree


def test_long_words_are_cut_and_not_refused() -> None:
    assert parse("x" * 130).tree == Word(("x" * 64, "x" * 64, "xx"))


@pytest.mark.parametrize("length", [9_999, 10_000])
def test_the_longest_texts_are_read(length: int) -> None:
    assert isinstance(parse("a" * length), Parsed)
    assert parse("-" * (length - 1) + "a").tree == (A if length % 2 else Not(A))
    assert parse("NOT " * ((length - 1) // 4) + "a").tree == (Not(A) if 2499 % 2 else A)
    assert parse(" " * (length - 1) + "a").tree == A
    assert parse("a" + "?" * (length - 1)).tree == A
    assert parse("(" * 64 + "a" + ")" * 64).tree == A


def test_widest_and_deepest_legal_expressions() -> None:
    assert len(list(leaves(parse(" ".join(["a"] * 512)).tree))) == 512
    text = "a"
    for level in range(11):
        text = f"({text} OR b)" if level % 2 else f"NOT ({text} AND b)"
    # The eleven groups alternate; six of them carry a NOT.
    assert depth(parse(text).tree) == 11 + 6 + 1


def parsed_or_refused(text: str, default_operator: str = "OR") -> Parsed | ExpressionError:
    try:
        return parse(text, default_operator)
    except ExpressionError as error:
        return error


@given(texts | accepted_texts, st.sampled_from(("OR", "AND")))
def test_any_text_gives_a_tree_or_one_error(text: str, default_operator: str) -> None:
    parsed = parsed_or_refused(text, default_operator)
    if isinstance(parsed, ExpressionError):
        assert 0 <= parsed.position <= parsed.end <= len(text)
        assert parsed.source == text
        assert parsed.message
        return
    codes = [notice.code for notice in parsed.notices]
    assert len(codes) == len(set(codes))
    positions = [notice.position for notice in parsed.notices]
    assert positions == sorted(positions)
    assert all(0 <= notice.position < notice.end <= len(text) for notice in parsed.notices)
    for leaf in leaves(parsed.tree):
        assert 0 <= leaf.span.start < leaf.span.end <= len(text)
    assert depth(parsed.tree) <= 24


# An expression with its meaning, built together from the specification's sentences: the meaning
# is a Boolean function of the words, made without the parser's or the tree's help.
_Meaning = Callable[[Document], bool]


def _word(name: str) -> tuple[str, _Meaning]:
    return name, lambda document: name in document.content


@st.composite
def _clauses(draw: st.DrawFn, level: int) -> tuple[str, _Meaning]:
    if level == 0 or draw(st.integers(0, 3)):
        return draw(st.sampled_from([_word(name) for name in ("alpha", "beta", "gamma", "delta")]))
    text, meaning = draw(_expressions(level - 1))
    return f"({text})", meaning


@st.composite
def _runs(draw: st.DrawFn, level: int) -> tuple[str, _Meaning]:
    texts: list[str] = []
    positive: list[_Meaning] = []
    negative: list[_Meaning] = []
    for _ in range(draw(st.integers(1, 3))):
        text, meaning = draw(_clauses(level))
        nots = draw(st.sampled_from(("", "", "", "NOT ", "-", "NOT NOT ", "!-", "NOT -!", "- ")))
        count = sum(nots.count(sign) for sign in ("NOT", "-", "!")) if nots != "- " else 0
        (negative if count % 2 else positive).append(meaning)
        texts.append(nots + text)

    def holds(document: Document) -> bool:
        if any(meaning(document) for meaning in negative):
            return False
        return not positive or any(meaning(document) for meaning in positive)

    return " ".join(texts), holds


@st.composite
def _joined(
    draw: st.DrawFn, level: int, inner: Callable[[int], st.SearchStrategy[tuple[str, _Meaning]]]
) -> tuple[str, _Meaning]:
    parts = draw(st.lists(inner(level), min_size=1, max_size=2))
    is_and = inner is _runs
    operators = (" AND ", "&&", " && ") if is_and else (" OR ", "||", " || ")
    text = parts[0][0]
    for part, _ in parts[1:]:
        text += draw(st.sampled_from(operators)) + part
    meanings = [meaning for _, meaning in parts]
    quantifier = all if is_and else any
    return text, lambda document: quantifier(meaning(document) for meaning in meanings)


def _conjunctions(level: int) -> st.SearchStrategy[tuple[str, _Meaning]]:
    return _joined(level, _runs)


def _expressions(level: int) -> st.SearchStrategy[tuple[str, _Meaning]]:
    return _joined(level, _conjunctions)


@given(_expressions(2), documents)
def test_runs_and_operators_mean_what_the_specification_says(
    built: tuple[str, _Meaning], some: list[Document]
) -> None:
    text, meaning = built
    # The words are looked for in the content only, and unstemmed.
    bare = [Document((), document.content) for document in some]
    expected = frozenset(number for number, document in enumerate(bare) if meaning(document))
    # Not about limits, so none applies.
    tree = parse(text, canonical=True).tree
    assert hits(tree, bare, stem=lambda word: word) == expected


def test_sixty_four_threads_parse_at_once() -> None:
    expressions = [f'title:"a{n} b" AND (c{n} OR d^{n}) NOT e' for n in range(64)]
    expected = [canonical(parse(expression).tree) for expression in expressions]
    barrier = Barrier(64)

    def work(number: int) -> list[str]:
        barrier.wait(timeout=60)
        return [canonical(parse(expressions[number]).tree) for _ in range(20)]

    with ThreadPoolExecutor(64) as pool:
        results = list(pool.map(work, range(64)))
    assert results == [[text] * 20 for text in expected]


@pytest.mark.parametrize(
    "unit",
    [
        "alpha OR ",
        "NOT ",
        "-",
        "(a) ",
        '"a b" ',
        '"a',
        "a?",
        "? ",
        "\\a",
        "a-",
        "((((a)))) ",
        "^",
        " ",
        "/",
        "&",
        "a\u0301",
        "第",
        "„ “",
        ": ",
        '"\\',
        "é's",
    ],
)
def test_time_grows_with_the_length_and_not_faster(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            with suppress(ExpressionError):
                parse(text, canonical=True)  # without the limits, so that all of it is read
            best = min(best, time.process_time() - begin)
        return best

    # Eight times the text: linear work takes about 8 times as long, quadratic work 64 times.
    short, long = seconds(10_000), seconds(80_000)
    assert long < 30 * max(short, 0.001)
