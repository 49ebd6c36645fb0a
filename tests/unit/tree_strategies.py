"""Random trees, texts and documents for the language's property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from logicalrag.query import shape
from logicalrag.query.nodes import FIELDS, Field, Leaf, Node, Phrase, Word
from tests.unit.semantics import Document

# Few words, so that random documents have hits; two are inflections of one another.
VOCABULARY = ("alpha", "alphas", "beta", "betas", "gamma", "delta")
# Words that a printer could get wrong: operators, marks, scripts, a mark in front.
AWKWARD = ("and", "or", "not", "title", "_", "10", "a_b", "第", "ไทย", "กิน", "\u0903a", "ss")
BOOSTS = (None, "2", "0", ".5", "1000", "0003.140")

boosts = st.sampled_from(BOOSTS)
fields: st.SearchStrategy[Field | None] = st.sampled_from((None, *FIELDS))


def token_tuples(words: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
    """Return one to three tokens, mostly one."""
    return st.one_of(
        st.tuples(st.sampled_from(words)),
        st.lists(st.sampled_from(words), min_size=1, max_size=3).map(tuple),
    )


def leaves(words: tuple[str, ...] = VOCABULARY) -> st.SearchStrategy[Leaf]:
    """Return leaves over `words`."""
    return st.builds(
        lambda kind, tokens, field, boost: kind(tokens, field, boost),
        st.sampled_from((Word, Phrase)),
        token_tuples(words),
        fields,
        boosts,
    )


def trees(words: tuple[str, ...] = VOCABULARY, max_leaves: int = 12) -> st.SearchStrategy[Node]:
    """Return trees of the promised shape over `words`."""
    return st.recursive(
        leaves(words),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=4).map(shape.conjunction),
            st.lists(inner, min_size=2, max_size=4).map(shape.disjunction),
            inner.map(shape.negation),
            st.builds(shape.boosted, inner, st.sampled_from(BOOSTS[1:])),
        ),
        max_leaves=max_leaves,
    )


documents: st.SearchStrategy[list[Document]] = st.lists(
    st.builds(
        Document,
        title=st.lists(st.sampled_from(VOCABULARY), max_size=2).map(tuple),
        content=st.lists(st.sampled_from(VOCABULARY), max_size=5).map(tuple),
    ),
    min_size=1,
    max_size=12,
)

# Rich in everything that means something, so that few texts are all words.
PIECES = (
    *("alpha", "beta-gamma", "x", "and", "Not", "ไทย", "第一", "é", "İ", "10", "_", "a's"),
    *(" AND ", " OR ", "NOT ", "AND", "OR", "NOT", "&&", "||", "&", "|", "!", "-", "--", "+"),
    *("(", ")", "(", ")", "()", "（", "）", '"', '"', "“", "”", "„", "«", "»", "'", "’"),
    *("title:", "content:", "title: ", "foo:", ":", "：", "^", "^2", "^.5", "^1000.1", "^2.0 "),
    *("*", "?", "~", "/", "/a/", "[", "]", "{", "<", ">", "\\", "\\(", '\\"', "\\ ", "\\AND"),
    *(" ", " ", " ", "\t", "\n", "\u3000", "\u2028", "\x85", "\x00", "\ud800", "\u200b", "\u0301"),
    *('"!!!"', '"alpha beta"', "...", ",", "(a b)", "^2 ", "\U0001f600"),
)
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40)

# Clauses and what may stand between them: whatever is drawn is accepted, if one word is left.
CLAUSES = (
    *(
        "alpha",
        "Beta-GAMMA",
        "and",
        "Or",
        "第一文",
        "ไทย",
        "é",
        "İstanbul",
        "O'Brien’s",
        "AC/DC",
        "who?",
    ),
    *(
        '"alpha, BETA!"',
        "“x y”",
        "„x “",
        "«é»",
        '"a\\"b"',
        '"NOT"',
        '"!!!"',
        "\\AND",
        "\\!",
        "...",
        "a\\ b",
    ),
    *(
        "title:alpha",
        "content: x^2",
        'title:"x y"^.5',
        "title：（a OR b）",
        "content:(a NOT b)^3",
        "a^10",
    ),
    *(
        "-a",
        "!title:b",
        "--a",
        "NOT NOT a",
        "NOT (a b)",
        "-(NOT a)^2",
        "((a)^2)^3",
        "(a (b (c)))",
        "(...)",
    ),
    *(
        "\u0903a",
        "a\u0301\u0323",
        "x" * 70,
        "\u1100\u0301\u1161",
        "a\x00b",
        "\ud800c",
        "_",
        "½",
        "v2.14.3",
    ),
)
JOINTS = (
    " ",
    " ",
    "  \u3000",
    " AND ",
    " OR ",
    " && ",
    " || ",
    " NOT ",
    " AND NOT ",
    " OR !",
    " - ",
)
accepted_texts = st.lists(
    st.tuples(st.sampled_from(JOINTS), st.sampled_from(CLAUSES)), max_size=12
).map(
    # Punctuation is no operand, so it never stands next to an explicit operator.
    lambda parts: "alpha" + "".join(f"{' ' if c == '...' else j}{c}" for j, c in parts) + " beta"
)
