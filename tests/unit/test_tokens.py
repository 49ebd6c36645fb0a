"""The token rule: hand-written examples, places in the source, and the folding table."""

from __future__ import annotations

import time

import pytest
import regex
import tantivy
from hypothesis import given, settings
from hypothesis import strategies as st

from logicalrag.query.folding import ASCII_FOLD
from logicalrag.query.tokens import (
    MAX_TOKEN_CODE_POINTS,
    TOKEN_CHARACTER,
    has_unsupported_script,
    token_spans,
    tokenize,
)

EXAMPLES = [
    # plain words, case and punctuation
    ("Ottone in villa", ["ottone", "in", "villa"]),
    ("", []),
    (" \t\n\u3000\u2028", []),
    ("!!! ... -- ?", []),
    ("to be, or not to be!", ["to", "be", "or", "not", "to", "be"]),
    ("C++ AT&T AC/DC", ["c", "at", "t", "ac", "dc"]),
    ("e-mail@example.org", ["e", "mail", "example", "org"]),
    ("über_maß __init__ _", ["uber_mass", "__init__", "_"]),
    ("NUL\x00in\x1fside", ["nul", "in", "side"]),
    ("lone \ud800 surrogate\udfff", ["lone", "surrogate"]),
    # codes, numbers, dates, clause numbers
    ("ERR_CONN_RESET", ["err_conn_reset"]),
    ("v2.14.3", ["v2", "14", "3"]),
    ("SKU-99/A", ["sku", "99", "a"]),
    ("ADR-016", ["adr", "016"]),
    ("2026-11-30T18:05", ["2026", "11", "30t18", "05"]),
    ("31.12.1999", ["31", "12", "1999"]),
    ("§ 12(3)(b)", ["12", "3", "b"]),
    ("1,000.50 €", ["1", "000", "50"]),
    ("0x1F 1e-9", ["0x1f", "1e", "9"]),
    ("http://x.org/a?b=c#d", ["http", "x", "org", "a", "b", "c", "d"]),
    ("٣٤ ५", ["٣٤", "५"]),
    # apostrophes and possessives
    ("Vivaldi's operas", ["vivaldi", "operas"]),
    ("Vivaldi’s operas", ["vivaldi", "operas"]),
    ("l'š a’š rock'ß", ["l", "s", "a", "s", "rock", "ss"]),
    ("Škoda Rašić", ["skoda", "rasic"]),
    ("ʻOkina’s", ["ʻokina"]),
    ("VIVALDI'S", ["vivaldi"]),
    ("the composers' guild", ["the", "composers", "guild"]),
    ("don't O'Brien", ["don", "t", "o", "brien"]),
    ("it's'nt", ["it", "nt"]),
    ("a'song", ["a", "song"]),
    ("'s", ["s"]),
    ("- 's x", ["s", "x"]),
    # case and accents
    ("Müller Straße ÉCOLE", ["muller", "strasse", "ecole"]),
    ("cafe\u0301 = café", ["cafe", "cafe"]),
    ("İstanbul ISTANBUL ıstanbul", ["istanbul", "istanbul", "istanbul"]),
    ("I\u0307stanbul", ["istanbul"]),
    ("ΣΑΣ σας", ["σασ", "σας"]),
    ("Ångström Ǿ Đ ø", ["angstrom", "o", "d", "o"]),
    ("a\u0323\u0302\u0301z", ["az"]),
    ("ẞ ß ſ", ["ss", "ss", "s"]),
    ("ﬁn ﬂ ﬃ Œuvre æ", ["fin", "fl", "ffi", "oeuvre", "ae"]),
    ("x² H₂O ①", ["x2", "h2o", "1"]),
    ("½ Ⅷ", ["½", "ⅷ"]),
    ("ＦＵＬＬ　ｗｉｄｔｈ１２", ["full", "width12"]),
    ("Москва МОСКВА", ["москва", "москва"]),
    ("ё й", ["ё", "й"]),
    # marks and what takes no width
    ("co\u00adoperate", ["cooperate"]),
    ("zero\u200bwidth\u200djoined\ufeff", ["zerowidthjoined"]),
    ("\u0301 \u0301\u0302", []),
    ("\u20dd \u0903", []),
    ("!\u0301a", ["a"]),
    ("❤\ufe0f ok", ["ok"]),
    ("a\u20ddb", ["a\u20ddb"]),
    # scripts
    ("第一文です。", ["第", "一", "文", "で", "す"]),
    ("カタカナ東京タワー", ["カタカナ", "東", "京", "タワー"]),
    ("か\u3099 が", ["が", "が"]),
    ("한국어 검색", ["한국어", "검색"]),
    ("\u1112\u1161\u11ab", ["한"]),
    ("\u1100\u0301\u1161", ["가"]),
    ("X光abc", ["x", "光", "abc"]),
    ("ภาษาไทย 5", ["ภาษาไทย", "5"]),
    ("हिन्दी में", ["हिन्दी", "में"]),
    ("العربية שלום", ["العربية", "שלום"]),
    ("𝒜 𠀀𠀁", ["𝒜", "𠀀", "𠀁"]),
    # length
    ("a" * 64, ["a" * 64]),
    ("a" * 65, ["a" * 64, "a"]),
    ("x " + "b" * 130 + " y", ["x", "b" * 64, "b" * 64, "bb", "y"]),
    ("й" * 65, ["й" * 64, "й"]),
    ("ß" * 33, ["s" * 64, "ss"]),
    ("a" * 64 + "\u0903", ["a" * 64]),
]


@pytest.mark.parametrize(("text", "tokens"), EXAMPLES, ids=lambda value: ascii(value)[:40])
def test_examples(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens
    assert [token.text for token in token_spans(text)] == tokens


def test_there_are_enough_examples() -> None:
    assert len(EXAMPLES) >= 40


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("Ab, cd", [("Ab", "ab"), ("cd", "cd")]),
        ("cafe\u0301 x", [("cafe\u0301", "cafe"), ("x", "x")]),
        ("co\u00adop's y", [("co\u00adop", "coop"), ("y", "y")]),
        ("Straße", [("Straße", "strasse")]),
        ("第一x", [("第", "第"), ("一", "一"), ("x", "x")]),
        ("é" * 65, [("é" * 64, "e" * 64), ("é", "e")]),
    ],
)
def test_places_in_the_source(text: str, places: list[tuple[str, str]]) -> None:
    found = [(text[token.start : token.end], token.text) for token in token_spans(text)]
    assert found == places


RICH = (
    "aAzZİIß09_'s’S -./šŞʻ",
    "\u0300\u0301\u0308\u0323\u0345\u3099\u309a\u0338",
    "\u1100\u1101\u1161\u1162\u11a8\u11a9가각",
    "かカがハバ第一ไทย",
    "\u0900\u0915\u093e\u093f\u093c\u09be\u09c7\u20dd",
    "\u00ad\u200b\u200d\ufe0f\u180e\u115f\u3164",
    "Σσςﬁ½²①㎏ⅷẞſ",
    "\ud800\x00\U0001d15e",
)
long_words = st.builds(
    "{}{}{}".format, st.text("a'", max_size=3), st.integers(60, 70).map("b".__mul__), st.just("é")
)
rich_texts = (
    st.text(st.sampled_from("".join(RICH)), max_size=12) | st.text(max_size=30) | long_words
)


@settings(max_examples=500)
@given(rich_texts)
def test_token_spans_agree_with_tokenize(text: str) -> None:
    spans = token_spans(text)
    assert [token.text for token in spans] == tokenize(text)
    assert all(0 <= token.start < token.end <= len(text) for token in spans)
    starts = [token.start for token in spans]
    assert starts == sorted(starts)


@settings(max_examples=500)
@given(rich_texts)
def test_a_token_read_again_is_itself(text: str) -> None:
    tokens = tokenize(text)
    assert [tokenize(token) for token in tokens] == [[token] for token in tokens]
    # What the canonical text relies on.
    assert tokenize("-".join(tokens)) == tokens
    assert tokenize(" ".join(tokens)) == tokens


@given(rich_texts)
def test_every_token_is_short_lower_case_and_has_more_than_marks(text: str) -> None:
    for token in tokenize(text):
        assert 1 <= len(token) <= MAX_TOKEN_CODE_POINTS
        assert all(TOKEN_CHARACTER.fullmatch(character) for character in token)
        # By `regex`, whose Unicode is newer than that of older interpreters.
        assert regex.search(r"[\p{L}\p{N}_]", token)
        assert all(c.lower() == c for c in token)


@given(st.text(st.sampled_from("ab é'’s第-\u00ad"), max_size=40), st.integers(0, 40))
def test_words_apart_do_not_touch_each_other(text: str, cut: int) -> None:
    left, right = text[:cut], text[cut:]
    assert tokenize(f"{left} , {right}") == tokenize(left) + tokenize(right)


@pytest.mark.parametrize(
    "unit", ["a", "'s", "é", "\u0301", "第", "\u3099", "\u1161", "a ", "\u00ad", "ß", "a'S"]
)
def test_time_grows_with_the_length_and_not_faster(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            tokenize(text)
            best = min(best, time.process_time() - begin)
        return best

    short, long = seconds(20_000), seconds(160_000)
    assert long < 30 * max(short, 0.001)


def test_the_folding_table_is_that_of_tantivy() -> None:
    analyzer = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw())
        .filter(tantivy.Filter.ascii_fold())
        .build()
    )
    differing = []
    for code_point in range(0x80, 0x30000):
        character = chr(code_point)
        if 0xD800 <= code_point < 0xE000 or character.lower() != character:
            continue
        if not TOKEN_CHARACTER.fullmatch(character):
            continue
        # Some small letters (ǥ, ʛ) fold to capitals there; a token is lower case.
        folded = analyzer.analyze(character)[0].lower()
        expected = folded if all(TOKEN_CHARACTER.fullmatch(one) for one in folded) else character
        if ASCII_FOLD.get(character, character) != expected:
            differing.append((character, folded))
    assert differing == []


def test_the_folding_table_holds_token_characters_only() -> None:
    for character, folded in ASCII_FOLD.items():
        assert TOKEN_CHARACTER.fullmatch(character)
        assert folded.isascii()
        assert tokenize(folded) == [folded]
        assert not character.isascii()


# Whole blocks of letters that are all alike: Han, Hangul syllables, Tangut.
ALIKE = (range(0x3400, 0xA000), range(0xAC00, 0xD7A4), range(0x17000, 0x18D00))


def test_every_code_point_makes_at_most_one_token() -> None:
    for code_point in range(0x20000):
        if any(code_point in block and code_point % 97 for block in ALIKE):
            continue
        tokens = tokenize(chr(code_point))
        assert len(tokens) <= 1, hex(code_point)
        assert [one.text for one in token_spans(chr(code_point))] == tokens, hex(code_point)


@pytest.mark.parametrize(
    ("text", "is_unsupported"),
    [
        ("ไทย", True),
        ("ລາວ", True),
        ("ខ្មែរ", True),
        ("မြန်မာ", True),
        ("plain", False),
        ("é 第 한 हिन्दी", False),
        ("๕", False),
        ("a ไ", True),
        ("", False),
    ],
)
def test_scripts_without_word_rules(text: str, is_unsupported: bool) -> None:
    assert has_unsupported_script(text) is is_unsupported


def test_a_long_run_of_marks_costs_no_quadratic_time_and_leaves_its_neighbours() -> None:
    # Alternating classes of marks are the worst case of canonical ordering: without the bound
    # this text takes minutes.
    text = "before a" + "\u0301\u0316" * 200_000 + " \u0915" + "\u093c\u094d" * 50 + " after"
    tokens = tokenize(text)
    assert tokens[:2] == ["before", "a"]
    assert tokens[-1] == "after"
    assert len(tokens[2]) <= 1 + 30
    short = text[:2_000] + " \u0915" + "\u093c\u094d" * 50 + " after"
    assert [token.text for token in token_spans(short)] == tokenize(short)
