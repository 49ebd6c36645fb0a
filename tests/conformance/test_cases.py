"""Failures that people met, and what the language promises about real text."""

from __future__ import annotations

from pathlib import Path

import pytest

from logicalrag.engines.protocol import SearchEngine
from logicalrag.query.errors import ExpressionError
from logicalrag.query.parser import parse
from tests.conformance.documents import EVERYONE, Document, read_corpus, serving, titled
from tests.conformance.indices import Index


def find(engine: SearchEngine, expression: str, default_operator: str = "OR") -> list[str]:
    """Return the ids of the documents found, sorted."""
    tree = parse(expression, default_operator).tree
    return sorted(hit.passage.document_id for hit in engine.search(tree, EVERYONE, limit=100).hits)


def test_mixed_and_or_is_not_flattened(index: Index, shared: Path) -> None:
    with serving(index, read_corpus(shared / "spec" / "t16-corpus.jsonl")) as engine:
        assert len(find(engine, "alpha OR beta AND gamma")) == 10
        assert len(find(engine, "alpha OR (NOT beta)")) == 12
        assert len(find(engine, "delta AND (alpha OR NOT (beta AND NOT gamma))")) == 7


def test_reserved_words(index: Index) -> None:
    documents = [
        Document("not", ("A song.",), "Not"),
        Document("ready", ("Ready or not, here I come",), "Hide and seek"),
        Document("orlando", ("A city in Florida",), "Orlando"),
        Document("land", ("or land do",), "Fragments"),
    ]
    with serving(index, documents) as engine:
        with pytest.raises(ExpressionError) as raised:
            find(engine, "READY OR NOT")
        assert (raised.value.code, raised.value.position) == ("missing_operand", 12)
        assert find(engine, '"READY OR NOT"') == ["ready"]
        assert find(engine, 'title:"Not"') == ["not"]
        assert find(engine, '"NOT"') == ["not", "ready"]
        assert find(engine, "orlando") == ["orlando"]
        assert find(engine, "ORLANDO AND NOT land") == ["orlando"]


@pytest.mark.parametrize(("expression", "name"), [("http://x.org/a", "http"), ("10:30", "10")])
def test_colons(index: Index, expression: str, name: str) -> None:
    documents = titled(
        url="see http://x.org/a for more",
        other="see http://x.org/b for more",
        time="opens at 10:30 daily",
        late="opens at 10 and closes at 30 past",
    )
    with serving(index, documents) as engine:
        with pytest.raises(ExpressionError) as raised:
            find(engine, expression)
        assert raised.value.code == "unknown_field"
        assert find(engine, f'"{expression}"') == [{"http": "url", "10": "time"}[name]]


def test_hyphens(index: Index) -> None:
    with serving(index, titled(one="ADR-016 workspace", two="ADR 099")) as engine:
        assert find(engine, "ADR-016") == ["one"]
        assert find(engine, "ADR") == ["one", "two"]
        assert find(engine, "adr-99") == []


CODES = {
    "reset": ("ERR_CONN_RESET", "The call failed with ERR_CONN_RESET (again)."),
    "version": ("v2.14.3", "Fixed in v2.14.3, released later."),
    "sku": ("SKU-99/A", "Order SKU-99/A now"),
    "iso date": ("2021-03-04", "On 2021-03-04 it rained."),
    "us date": ("03/04/2021", "On 03/04/2021 it rained."),
    "clause": ("§4.2.1(b)", "as in §4.2.1(b) of the contract"),
    "hash": ("a1b2c3d4e5f6", "commit a1b2c3d4e5f6."),
    "mail": ("jane.doe@example.org", "write to jane.doe@example.org!"),
    "at&t": ("AT&T", "AT&T Inc."),
    "ac/dc": ("AC/DC", "AC/DC on tour"),
    "number": ("1,234.56", "It costs 1,234.56 euros"),
    "path": ("/usr/lib/python3", "installed in /usr/lib/python3"),
}
NEAR_CODES = titled(
    near1="ERR_CONN_REFUSED and ERR CONN RESET",
    near2="v2.14 and v2.14.30 and 2.14.3",
    near3="SKU-99/B and SKU A 99",
    near4="2021-04-03 and 20210304",
    near5="§4.2.10(b) and b 4 2 1",
    near6="a1b2c3d4e5f7",
)


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("form", ["{}", '"{}"', "“{}”", "«{}»"])
def test_codes_are_found_quoted_or_not(index: Index, name: str, form: str) -> None:
    code, _ = CODES[name]
    documents = [Document(key, (text,)) for key, (_, text) in CODES.items()]
    if form == "{}":
        code = "".join(f"\\{character}" if character in "()" else character for character in code)
    with serving(index, [*documents, *NEAR_CODES]) as engine:
        assert find(engine, form.format(code)) == [name]
        assert find(engine, form.format(code.lower())) == [name]
        assert find(engine, form.format(code.upper())) == [name]


def test_words_match_inflections_and_quotes_do_not(index: Index) -> None:
    documents = titled(
        one="a single operation",
        many="several operations",
        verb="it was operating",
        other="an opera",
    )
    with serving(index, documents) as engine:
        assert find(engine, '"operation"') == ["one"]
        assert find(engine, '"operations"') == ["many"]
        assert find(engine, "operations") == ["many", "one", "verb"]
        assert find(engine, "OPERATE") == ["many", "one", "verb"]
        assert find(engine, '"single operation"') == ["one"]
        assert find(engine, '"single operations"') == []
        assert find(engine, "single-operations") == ["one"]


def test_stems_keep_apart_what_snowball_3_does(index: Index) -> None:
    """Words that older English stemmers take for one; source: Snowball's `english.sbl`."""
    documents = titled(
        university="university",
        universe="universe",
        organ="organ",
        organization="organization",
        organizing="organizing",
    )
    with serving(index, documents) as engine:
        assert find(engine, "universities") == ["university"]
        assert find(engine, "universes") == ["universe"]
        assert find(engine, "organizations") == ["organization", "organizing"]
        assert find(engine, "organs") == ["organ"]


def test_stop_words_are_words(index: Index) -> None:
    documents = titled(
        hamlet="To be, or not to be: that is the question",
        shuffled="not to be or to be",
        partial="to be or not",
    )
    with serving(index, documents) as engine:
        assert find(engine, '"to be or not to be"') == ["hamlet"]
        assert find(engine, '"to be or not"') == ["hamlet", "partial"]
        assert find(engine, "the") == ["hamlet"]


def test_case_accents_and_possessives_fold_in_words_and_quotes(index: Index) -> None:
    documents = [
        Document("accents", ("Der Bär läuft nach Łódź",)),
        Document("decomposed", ("cafe\u0301 in the Straße",)),
        Document("turkish", ("İSTANBUL ışık",)),
        Document("possessive", ("O’Brien’s dog and Paris's streets",)),
        Document("soft", ("Donau\u00addampf\u200bschiff",)),
    ]
    with serving(index, documents) as engine:
        for form in ("{}", '"{}"'):
            for expression, found in [
                ("bar", "accents"),
                ("BÄR", "accents"),
                ("Lodz", "accents"),
                ("CAFÉ", "decomposed"),
                ("cafe", "decomposed"),
                ("strasse", "decomposed"),
                ("STRASSE", "decomposed"),
                ("istanbul", "turkish"),
                ("isik", "turkish"),
                ("O'Brien", "possessive"),
                ("O'Brien's", "possessive"),
                ("Paris", "possessive"),
                ("Donaudampfschiff", "soft"),
            ]:
                assert find(engine, form.format(expression)) == [found], expression


def test_a_phrase_stays_in_one_field_and_one_passage(index: Index) -> None:
    documents = [
        Document("across fields", ("York is large",), "New"),
        Document("across passages", ("all things new", "york is large")),
        Document("within", ("in new york today",), "Cities"),
        Document("titled", ("large",), "New York"),
    ]
    with serving(index, documents) as engine:
        assert find(engine, '"new york"') == ["titled", "within"]
        assert find(engine, "new-york") == ["titled", "within"]
        assert find(engine, 'title:"new york"') == ["titled"]
        assert find(engine, "content:new-york") == ["within"]


def test_phrases_with_repeated_words(index: Index) -> None:
    documents = titled(two="row row", three="row row row", apart="row a row", other="row your boat")
    with serving(index, documents) as engine:
        assert find(engine, '"row row"') == ["three", "two"]
        assert find(engine, '"row row row"') == ["three"]
        assert find(engine, '"row row row row"') == []


IDENTIFIERS = {
    "long": "x" * 2_000,
    "long, other end": "x" * 1_999 + "y",
    "slashes": "a/b//c/../d",
    "spaces": "  a  b ",
    "umlaut": "Bücher/Öl.txt",
    "decomposed": "Bu\u0308cher/O\u0308l.txt",
    "long umlauts": "ü" * 700,
    "quotes": "a\"b'c\\d",
    "control": "a\x00b\nc",
    "URL": "http://x.org/a?b=c#d",
    "upper": "ABC",
    "lower": "abc",
}


def test_any_identifier_is_kept_and_findable(index: Index) -> None:
    documents = [
        Document(identifier, ("shared first", "shared second"))
        for identifier in IDENTIFIERS.values()
    ]
    with serving(index, documents) as engine:
        found = find(engine, "shared")
        assert found == sorted(2 * list(IDENTIFIERS.values()))
        for document in documents:
            passages = document.passages()
            assert len(passages[0].id) == 24
            assert list(engine.read([passages[0].id], EVERYONE, neighbours=1)) == passages
    with index.writer() as writer:
        for document in documents:
            writer.put(document.passages()[:1], replaces=2)
        writer.commit()
    with index.engine() as engine:
        assert find(engine, "shared") == sorted(IDENTIFIERS.values())
        assert engine.stats(EVERYONE).documents == len(IDENTIFIERS)
    with index.writer() as writer:
        for identifier in IDENTIFIERS.values():
            writer.remove("default", identifier, claimed=2)
        writer.commit()
    with index.engine() as engine:
        assert find(engine, "shared") == []


def test_near_words_of_a_misspelling(index: Index) -> None:
    documents = titled(
        one="Vivaldi wrote operas", two="Vivaldi lived in Venice", three="vivid colours"
    )
    with serving(index, documents) as engine:
        near = engine.nearest_words("vivaldy", EVERYONE)
        assert (near[0].word, near[0].hits) == ("vivaldi", 2)
        assert engine.nearest_words("venise", EVERYONE)[0].word == "venice"
        assert len(engine.nearest_words("vivaldy", EVERYONE, limit=1)) == 1
        assert "vivaldi" not in [
            found.word for found in engine.nearest_words("vivaldy", EVERYONE, field="title")
        ]
        assert engine.nearest_words("q" * 64, EVERYONE) == ()


def test_near_words_are_within_two_edits(index: Index) -> None:
    documents = titled(swapped="vivladi", longer="vivaldian", too_long="vivaldians", short="vv")
    with serving(index, documents) as engine:
        near = engine.nearest_words("vivaldi", EVERYONE)
        # 7 of 9 letters in common, then 5 of 7: a swap is two edits.
        assert [each.word for each in near] == ["vivaldian", "vivladi"]
        # One edit of two letters is half of them; two are not.
        assert [each.word for each in engine.nearest_words("v", EVERYONE)] == ["vv"]
        assert engine.nearest_words("ab", EVERYONE) == ()
