"""The largest legal expressions and the strangest legal text run on every engine."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from logicalrag.engines.protocol import SearchEngine
from logicalrag.query.errors import ExpressionError
from logicalrag.query.nodes import And, Boosted, Node, Not, Or, Phrase, Word
from logicalrag.query.parser import parse
from tests.conformance.documents import EVERYONE, Document, serving, titled
from tests.conformance.indices import Index

LEVELS = 24
CLAUSES = 512
SMALL_STACK_BYTES = 256 * 1024
DOCUMENTS = titled(
    a="alpha", b="beta", ab="alpha beta", none="gamma", words=" ".join(f"w{n}" for n in range(600))
)


def nested(levels: int, kinds: str) -> str:
    """Return an expression of so many levels, its leaf included, of AND, OR, NOT and boosts."""
    text = "alpha"
    for level in range(levels - 1):
        match kinds[level % len(kinds)]:
            case "&":
                text = f"({text}) AND beta"
            case "|":
                text = f"({text}) OR beta"
            case "!":
                text = f"NOT ({text})"
            case "^":
                text = f"({text})^2"
    return text


def levels(tree: Node) -> int:
    """Return how many levels a tree has, the leaf included."""
    match tree:
        case Word() | Phrase():
            return 1
        case And() | Or():
            return 1 + max(map(levels, tree.children))
        case Not() | Boosted():
            return 1 + levels(tree.child)


DEEPEST = {
    kinds: nested(LEVELS, kinds) for kinds in ("&|", "|&", "&!", "|!", "&^", "!|!&", "|^&^", "&|!^")
}
WIDEST = {
    "or": " OR ".join(f"w{n}" for n in range(CLAUSES)),
    "and": " AND ".join(f"w{n}" for n in range(CLAUSES)),
    "run": " ".join(f"w{n}" for n in range(CLAUSES)),
    "negations": " AND ".join(f"NOT x{n}" for n in range(CLAUSES)),
    "same": " OR ".join(["alpha"] * CLAUSES),
    "phrases": " OR ".join(f'"w{n} w{n + 1}"' for n in range(CLAUSES)),
    "fielded": " OR ".join(f"title:w{n}^0.5" for n in range(CLAUSES)),
    "pairs": " AND ".join(f"(w{n} OR alpha)" for n in range(CLAUSES // 2)),
    "complements": " OR ".join(f"(alpha AND NOT w{n})" for n in range(CLAUSES // 2)),
}
LARGEST = {**{f"deep {name}": text for name, text in DEEPEST.items()}, **WIDEST}


def all_hits(engine: SearchEngine, tree: Node) -> set[str]:
    """Search and count with everything on; return the document ids found."""
    result = engine.search(
        tree, EVERYONE, limit=100, documents=True, clause_counts=True, leave_one_out=True
    )
    assert engine.count([tree], EVERYONE).counts == (result.count,)
    assert engine.documents_holding([tree], EVERYONE) == result.documents
    return {hit.passage.document_id for hit in result.hits}


def with_small_stack(action: Callable[[], None]) -> None:
    """Run in a thread whose stack is a quarter of a megabyte; raise what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 — handed to the thread that waits
            raised.append(error)

    usual = threading.stack_size(SMALL_STACK_BYTES)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(usual)
    thread.join()
    if raised:
        raise raised[0]


def test_the_deepest_are_as_deep_as_is_legal() -> None:
    for kinds, text in DEEPEST.items():
        assert levels(parse(text, "OR").tree) == LEVELS, kinds
        with pytest.raises(ExpressionError) as raised:
            parse(nested(LEVELS + 1, kinds), "OR")
        assert raised.value.code == "too_deep"


@pytest.mark.parametrize("text", LARGEST.values(), ids=list(LARGEST))
def test_the_largest_expressions_run(index: Index, oracle: Index, text: str) -> None:
    tree = parse(text, "OR").tree
    with serving(index, DOCUMENTS) as engine, serving(oracle, DOCUMENTS) as reference:
        assert all_hits(engine, tree) == all_hits(reference, tree)


@pytest.mark.parametrize("text", LARGEST.values(), ids=list(LARGEST))
def test_the_largest_expressions_run_on_a_small_stack(
    index: Index, oracle: Index, text: str
) -> None:
    tree = parse(text, "OR").tree
    with serving(oracle, DOCUMENTS) as reference:
        expected = all_hits(reference, tree)
    found: set[str] = set()
    with serving(index, DOCUMENTS) as engine:
        with_small_stack(lambda: found.update(all_hits(engine, tree)))
    assert found == expected


def test_leave_one_out_of_more_conjuncts_than_are_left_out(index: Index, oracle: Index) -> None:
    tree = And((*tuple(Word((f"w{n}",)) for n in range(20)), Word(("absent",))))
    with serving(index, DOCUMENTS) as engine, serving(oracle, DOCUMENTS) as reference:
        got = engine.search(tree, EVERYONE, leave_one_out=True).leave_one_out
        assert got == reference.search(tree, EVERYONE, leave_one_out=True).leave_one_out
        assert [part.canonical for part in got] == [f"w{n}" for n in range(16)]


def test_leave_one_out_only_for_a_conjunction_without_hits(index: Index) -> None:
    with serving(index, DOCUMENTS) as engine:
        alpha, beta, gamma = (Word((text,)) for text in ("alpha", "beta", "gamma"))
        for tree in (And((alpha, beta)), Or((Word(("x1",)), Word(("x2",)))), Word(("x1",))):
            assert engine.search(tree, EVERYONE, leave_one_out=True).leave_one_out == ()
        tree = And((alpha, Not(beta), gamma, Or((alpha, gamma))))
        assert engine.search(tree, EVERYONE).leave_one_out == ()
        relaxed = engine.search(tree, EVERYONE, leave_one_out=True).leave_one_out
        assert [(part.canonical, part.count.hits) for part in relaxed] == [
            ("alpha", 1),
            ("NOT beta", 0),
            ("gamma", 1),
            ("alpha OR gamma", 0),
        ]


def test_arguments_out_of_bounds_are_refused(index: Index) -> None:
    alpha = Word(("alpha",))
    with serving(index, DOCUMENTS) as engine:
        for limit in (-1, 1001):
            with pytest.raises(ValueError, match="limit must be 0 to 1000"):
                engine.search(alpha, EVERYONE, limit=limit)
        with pytest.raises(ValueError, match="at most 32 trees"):
            engine.count([alpha] * 33, EVERYONE)
        for trees in ([], [alpha] * 33):
            with pytest.raises(ValueError, match="1 to 32 trees"):
                engine.documents_holding(trees, EVERYONE)
        for neighbours in (-1, 6):
            with pytest.raises(ValueError, match="neighbours must be 0 to 5"):
                engine.read([], EVERYONE, neighbours=neighbours)


def test_thirty_two_trees_in_one_count(index: Index) -> None:
    with serving(index, DOCUMENTS) as engine:
        trees = [Word((f"w{n}",)) for n in range(32)]
        assert [each.hits for each in engine.count(trees, EVERYONE).counts] == [1] * 32
        assert engine.documents_holding(trees, EVERYONE) == 1


@pytest.mark.parametrize("length", [64, 65, 128, 129, 255, 32_766, 32_767, 65_531, 70_000, 200_000])
def test_neighbours_of_a_long_token_are_found(index: Index, length: int) -> None:
    documents = [
        Document("long", (f"before {'k' * length} after that",), f"heading {'t' * length} end"),
        Document("short", ("before after that",), "heading end"),
    ]
    with serving(index, documents) as engine:

        def find(expression: str) -> set[str]:
            return all_hits(engine, parse(expression, "OR").tree)

        assert find("before") == {"long", "short"}
        assert find('"after that"') == {"long", "short"}
        assert find('"before after"') == {"short"}
        assert find('title:"heading end"') == {"short"}
        assert find("title:end") == {"long", "short"}
        # An expression holds 10,000 characters: of a longer token, some of its pieces.
        token = "k" * (length if length < 9_000 else 140 * 64)
        assert find(token) == {"long"}
        assert find(f'"{token}"') == {"long"}
        assert find("k" * 32) == set()


@pytest.mark.parametrize("length", [64, 65, 127, 128, 130])
def test_a_token_is_cut_at_64(index: Index, length: int) -> None:
    token = ("abcdefgh" * 20)[:length]
    with serving(index, titled(one=f"before {token} after", other=f"before {token}z")) as engine:

        def find(expression: str) -> set[str]:
            return all_hits(engine, parse(expression, "OR").tree)

        assert find(f'"before {token} after"') == {"one"}
        assert find(f'"{token} after"') == {"one"}
        assert find(f'"{token}z"') == {"other"}
        tail = token[64:128]
        if tail:
            assert find(f'"{tail}"') == ({"one", "other"} if len(tail) == 64 else {"one"})


def test_han_and_hiragana_are_found_without_spaces(index: Index) -> None:
    documents = titled(
        tokyo="東京都庁は新宿にあります。",
        kyoto="京都は古い都です。",
        kana="カタカナとひらがな",
        rare="\U00020000\U0002a700字",
        mixed="日本GDP成長率3.5％",
    )
    with serving(index, documents) as engine:

        def find(expression: str) -> set[str]:
            return all_hits(engine, parse(expression, "OR").tree)

        assert find("東京") == {"tokyo"}
        assert find("京都") == {"tokyo", "kyoto"}
        assert find('"京都"') == {"tokyo", "kyoto"}
        assert find("都") == {"tokyo", "kyoto"}
        assert find("京庁") == set()
        assert find("ひらがな") == {"kana"}
        assert find("カタカナ") == {"kana"}
        assert find("カタ") == set()
        assert find("\U0002a700") == {"rare"}
        assert find("日本gdp") == {"mixed"}
        assert find('"3.5"') == {"mixed"}
        assert find("東京 AND 新宿 NOT 古い") == {"tokyo"}


@pytest.mark.parametrize(
    "text",
    ["", " ", "!!! — …", "\u00ad", "\u0301", "\u200b\u200b", "\x00\x01", "\ufffd", "\u0301" * 99],
)
def test_text_without_tokens_is_stored_and_counted(index: Index, text: str) -> None:
    documents = [Document("empty", (text, text), text), *titled(other="alpha")]
    with serving(index, documents) as engine:
        result = engine.search(Not(Word(("alpha",))), EVERYONE, limit=10)
        assert [hit.passage.text for hit in result.hits] == [text, text]
        assert (result.count.hits, result.visible) == (2, 3)
        alpha = engine.search(Word(("alpha",)), EVERYONE)
        assert [hit.passage.document_id for hit in alpha.hits] == ["other"]
        assert alpha.hits[0].score > 0.0
