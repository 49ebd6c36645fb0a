"""The field map of an attached index, the check of it, and what its fields become."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.agent.dead_words import asked_words
from logicalrag.engines.analysis import Analysis
from logicalrag.engines.elastic.attached import AttachedFields
from logicalrag.engines.elastic.attached_check import analysis_of, problems, remarks
from logicalrag.engines.elastic.attached_map import (
    FieldMap,
    FieldMapError,
    MetadataField,
    field_map_text,
    parse_field_map,
)
from logicalrag.engines.elastic.attached_mapping import Analyzer, mapping_of
from logicalrag.engines.errors import EngineError
from logicalrag.engines.protocol import Passage, Visibility
from logicalrag.query.nodes import Leaf, Phrase, Word
from logicalrag.query.parser import parse
from logicalrag.query.simplify import simplify
from logicalrag.query.synonyms import expand, parse_synonyms
from logicalrag.query.visitor import leaves

PLAIN = Analyzer(stems=False, keeps_case=False, keeps_accents=True, drops_words=False)
FULL = """
index = "articles"
tenant = "acme"
analysis = "english"
without_access = "nobody"

[fields]
content = "body"
title = "headline"
content_exact = "body.exact"
title_exact = "headline.exact"
id = "key"
document = "article"
number = "chunk"
tenant = "customer"
access = "groups"
location = "page"

[metadata.year]
field = "published.year"
kind = "number"

[metadata.kind]
field = "type"
kind = "keyword"
"""

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
paths = texts.filter(
    lambda path: not path.startswith("_") and all(part.strip() for part in path.split("."))
)
names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True).filter(
    lambda name: name not in (".", "..")
)
declared = st.dictionaries(
    st.from_regex(r"x[a-z0-9_]{0,10}", fullmatch=True),
    st.builds(MetadataField, paths, st.sampled_from(["keyword", "number", "date"])),
    max_size=3,
)


@st.composite
def field_maps(draw: st.DrawFn) -> FieldMap:
    document = draw(st.none() | paths)
    return FieldMap(
        index=draw(names),
        content=draw(paths),
        title=draw(st.none() | paths),
        content_exact=draw(st.none() | paths),
        id=draw(st.just("_id") | paths),
        document=document,
        number=draw(st.none() | paths) if document else None,
        tenant=draw(st.none() | paths),
        owner=draw(texts.filter(str.strip)),
        access=draw(st.none() | paths),
        without_access=draw(st.sampled_from(["tenant", "nobody"])),
        location=draw(st.none() | paths),
        metadata=draw(declared),
        analysis=draw(st.sampled_from([None, "english", "standard"])),
    )


def test_every_part_of_a_map_is_read() -> None:
    assert parse_field_map(FULL, "map.toml") == FieldMap(
        index="articles",
        content="body",
        title="headline",
        content_exact="body.exact",
        title_exact="headline.exact",
        id="key",
        document="article",
        number="chunk",
        tenant="customer",
        owner="acme",
        access="groups",
        without_access="nobody",
        location="page",
        metadata={
            "year": MetadataField("published.year", "number"),
            "kind": MetadataField("type", "keyword"),
        },
        analysis="english",
    )


def test_index_and_content_suffice() -> None:
    assert parse_field_map('index = "a"\n[fields]\ncontent = "b"', "m") == FieldMap("a", "b")


@given(field_maps())
def test_a_map_that_is_written_reads_the_same(field_map: FieldMap) -> None:
    assert parse_field_map(field_map_text(field_map), "m") == field_map


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("index = ", "index "), "it is no TOML"),
        (('index = "articles"', ""), "names no index"),
        (('"articles"', '"articles-*"'), "names no index"),
        (('"articles"', '"a,b"'), "names no index"),
        (('"articles"', '"elsewhere:a"'), "names no index"),
        (('"articles"', '"-a"'), "names no index"),
        (('"articles"', '".."'), "names no index"),
        (('"articles"', f'"{"a" * 256}"'), "names no index"),
        (('"articles"', "7"), "names no index"),
        (('content = "body"', ""), "names no text"),
        (('content = "body"', "content = 7"), "content is 7"),
        (('content = "body"', 'content = "a..b"'), "content is 'a..b'"),
        (('title = "headline"', 'title = "_source"'), "title is '_source'"),
        (('title = "headline"', 'title = "_id"'), "title is '_id'"),
        (('title = "headline"', f'title = "{"a" * 256}"'), "title is 'aaa"),
        (('title = "headline"', 'titel = "headline"'), "'titel', which is none of content, title"),
        (('document = "article"', ""), "number needs document"),
        (('tenant = "acme"', 'tenant = " "'), "tenant is ' '"),
        (('analysis = "english"', 'analysis = "french"'), "analysis is 'french'; write one of"),
        (('"nobody"', "[1]"), "without_access is no text; write one of tenant, nobody"),
        (('kind = "number"', 'kind = "integer"'), "year is of kind 'integer'"),
        (('kind = "number"', ""), "year is of kind 'None'"),
        (("[metadata.year]", "[metadata.Year]"), "the field name 'Year' does not do"),
        (('field = "type"', ""), "the field of metadata.kind is no text"),
        (("[metadata.year]", '[metadata]\nday = "x"\n[metadata.year]'), "metadata.day is no table"),
        (("[metadata.year]", "[sorting]\n[metadata.year]"), "it holds 'sorting'"),
    ],
)
def test_a_bad_map_is_refused_with_one_sentence(change: tuple[str, str], said: str) -> None:
    text = FULL.replace(*change, 1)
    assert text != FULL
    with pytest.raises(FieldMapError, match=re.escape(said)) as caught:
        parse_field_map(text, "map.toml")
    assert "map.toml" in caught.value.message
    assert "\n" not in caught.value.message


@given(st.text(max_size=60) | st.text("[]=\"'.\n{}1e", max_size=60))
def test_any_text_is_a_map_or_a_defined_error(text: str) -> None:
    with pytest.raises(FieldMapError):
        parse_field_map(text, "m")


MAPPING = {
    "properties": {
        "body": {
            "type": "text",
            "analyzer": "english",
            "fields": {"exact": {"type": "text"}, "raw": {"type": "keyword"}},
        },
        "headline": {"type": "text", "fields": {"exact": {"type": "text"}}},
        "key": {"type": "keyword"},
        "article": {"type": "keyword"},
        "chunk": {"type": "integer"},
        "customer": {"type": "keyword"},
        "groups": {"type": "keyword"},
        "page": {"type": "short"},
        "type": {"type": "keyword"},
        "published": {"properties": {"year": {"type": "long"}}},
        "parts": {"type": "nested", "properties": {"body": {"type": "text"}}},
        "text": {"type": "alias", "path": "body"},
    }
}


def _problems(mapping: Mapping[str, Any], text: str = FULL) -> tuple[str, ...]:
    return problems(parse_field_map(text, "m"), {"articles-1": mapping_of(mapping)})


def _changed(path: str, settings: object, **others: Any) -> dict[str, Any]:
    return {**MAPPING, **others, "properties": {**MAPPING["properties"], path: settings}}


def test_a_map_that_fits_has_no_problems() -> None:
    assert _problems(MAPPING) == ()


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (_changed("headline", {"type": "keyword"}), "headline for title is of type keyword"),
        (_changed("body", {"type": "text", "index": False}), "body for content is not indexed"),
        (_changed("body", {"type": "text", "index_options": "docs"}), "has no positions"),
        (_changed("chunk", {"type": "double"}), "chunk for number is of type double"),
        (_changed("key", {"type": "keyword", "doc_values": False}), "key for id has no doc_values"),
        (
            _changed("customer", {"type": "keyword", "index": False, "doc_values": False}),
            "customer for tenant is not indexed",
        ),
        (_changed("groups", {"type": "keyword", "normalizer": "lowercase"}), "has a normalizer"),
        (_changed("groups", {"type": "text"}), "groups for access is of type text; it needs keyw"),
        (_changed("page", {"type": "flattened"}), "page for location is an object"),
        (_changed("type", {"type": "date"}), "type for metadata.kind is of type date"),
        ({**MAPPING, "_source": {"enabled": False}}, "_source is disabled"),
        ({**MAPPING, "_source": {"mode": "disabled"}}, "_source is disabled"),
        ({**MAPPING, "_source": {"excludes": ["bod*"]}}, "body for content is left out of _source"),
        ({**MAPPING, "_source": {"includes": ["key"]}}, "groups for access is left out of _source"),
        ({"properties": {}}, "there is no field body for content; fields there are: none"),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(mapping: Mapping[str, Any], said: str) -> None:
    found = _problems(mapping)
    assert any(said in each for each in found)
    assert all(each.startswith("In the index articles-1 ") and each[-1] == "." for each in found)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("boddy", "no field boddy for content; fields there are: body"),
        ("parts.body", "is inside the nested object parts"),
        ("text", "text for content is an alias; map body itself"),
    ],
)
def test_fields_that_cannot_be_the_content(path: str, said: str) -> None:
    assert any(
        said in each for each in _problems(MAPPING, f'index="a"\n[fields]\ncontent="{path}"')
    )


def test_included_and_excluded_parents_count_for_their_fields() -> None:
    mapped = 'index="a"\n[fields]\ncontent="doc.body.exact"'
    body = {"type": "text", "fields": {"exact": {"type": "text"}}}
    properties = {"doc": {"properties": {"body": body}}}
    assert _problems({"properties": properties, "_source": {"includes": ["doc"]}}, mapped) == ()
    assert _problems({"properties": properties, "_source": {"includes": "doc.*"}}, mapped) == ()
    assert _problems({"properties": properties, "_source": {"excludes": ["doc"]}}, mapped) != ()


def test_nothing_behind_a_name_is_a_problem() -> None:
    assert "no index behind a yet" in problems(FieldMap("a", "b"), {})[0]


def test_remarks_tell_how_the_index_differs_from_ours() -> None:
    stemmed = Analyzer(stems=True, keeps_case=True, keeps_accents=True, drops_words=True)
    told = " ".join(remarks(FieldMap("a", "b", access="g"), {"b": stemmed}))
    for said in ("capitals", "accents", "'the'", "quotes match inflections", "tenant default"):
        assert said in told
    assert "seen by all of their tenant" in told
    plain = Analyzer(stems=False, keeps_case=False, keeps_accents=False, drops_words=False)
    assert remarks(FieldMap("a", "b", tenant="t"), {"b": plain}) == ()


@pytest.mark.parametrize(
    ("stated", "stems", "expected"),
    [
        (None, True, "english"),
        (None, False, "standard"),
        ("standard", True, "standard"),
        ("english", False, "english"),
    ],
)
def test_analysis_is_what_the_map_says_else_what_the_analyzer_does(
    stated: Analysis | None, stems: bool, expected: str
) -> None:
    analyzer = Analyzer(stems, False, False, False)
    assert analysis_of(FieldMap("a", "b", analysis=stated), {"b": analyzer}) == expected


def _fields(text: str = FULL, **analyzers: Analyzer) -> AttachedFields:
    return AttachedFields(parse_field_map(text, "m"), "standard", analyzers)


SMALL = 'index = "a"\n[fields]\ncontent = "body"\n'


def _leaf(expression: str) -> Leaf:
    tree = parse(expression).tree
    assert isinstance(tree, Word | Phrase)
    return tree


def _asked(query: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (field, text) of each phrase that a leaf's query looks for."""
    either = query["dis_max"]["queries"] if "dis_max" in query else [query]
    return [
        (path, phrase["query"]) for each in either for path, phrase in each["match_phrase"].items()
    ]


@pytest.mark.parametrize(
    ("expression", "analyzers", "expected"),
    [
        ("cafe", {"body": PLAIN}, ["cafe"]),
        ("Cafe", {"body": PLAIN}, ["cafe"]),
        ("Café", {"body": PLAIN}, ["café", "cafe"]),
        ("ADR-016", {"body": PLAIN}, ["adr-016", "adr 016"]),
        ("Café", {}, ["Café", "cafe"]),
        ("Paris^2", {"body": Analyzer(False, True, True, False)}, ["Paris", "paris"]),
        ('"The \\"Big\\" Apple"', {}, ['The "Big" Apple', "the big apple"]),
    ],
)
def test_words_are_asked_as_written_and_as_the_token_rule_reads_them(
    expression: str, analyzers: Mapping[str, Analyzer], expected: list[str]
) -> None:
    query = _fields(SMALL, **analyzers).leaf(_leaf(expression), "content")
    assert _asked(query) == [("body", text) for text in expected]


def test_a_leaf_that_no_text_was_written_for_is_asked_by_its_tokens() -> None:
    assert _asked(_fields(SMALL).leaf(Word(("a", "b")), "content")) == [("body", "a b")]
    broken = Word(("a",), written="a\ud800")
    assert _asked(_fields(SMALL).leaf(broken, "content")) == [("body", "a")]


def test_what_was_written_stays_with_a_word_through_its_transformations() -> None:
    parsed = parse("Café AND zzz")
    expanded = expand(parsed, parse_synonyms("café, bistro", "s"), lambda word: word).tree
    simpler = simplify(parse("Café AND (Café OR zzz)").tree)
    for tree in (parsed.tree, expanded, simpler):
        assert next(leaves(tree)).written == "Café"
    assert [word.written for word in asked_words(parse("Café-au-lait Thé").tree)] == [
        "", "", "", "Thé",
    ]  # fmt: skip


def test_quotes_go_to_the_exact_field_where_there_is_one() -> None:
    word, quote = Word(("a",)), Phrase(("a",))
    assert _asked(_fields().leaf(quote, "content")) == [("body.exact", "a")]
    assert _asked(_fields().leaf(word, "content")) == [("body", "a")]
    assert _asked(_fields().leaf(quote, "title")) == [("headline.exact", "a")]
    assert _asked(_fields(SMALL).leaf(quote, "content")) == [("body", "a")]
    assert _fields(SMALL).leaf(quote, "title") == {"match_none": {}}
    assert _fields(SMALL).exact("title") == "body"


def test_without_a_tenant_field_other_tenants_see_nothing() -> None:
    fields = _fields(SMALL)
    assert fields.visible(Visibility("default")) == ([], [])
    assert fields.visible(Visibility("other")) == ([{"match_none": {}}], [])


def test_tenant_access_and_hidden_documents_are_filters_where_mapped() -> None:
    fields = _fields(FULL.replace('"nobody"', '"tenant"'))
    hidden = frozenset({"x", "bad\ud800"})
    must, must_not = fields.visible(Visibility("t", frozenset({"g", "bad\udfff"}), hidden))
    listed = {"terms": {"groups": ["g"]}}
    absent = {
        "bool": {"must_not": [{"exists": {"field": "groups"}}, {"term": {"_ignored": "groups"}}]}
    }
    assert must == [
        {"term": {"customer": {"value": "t"}}},
        {"bool": {"should": [listed, absent], "minimum_should_match": 1}},
    ]
    assert must_not == [{"terms": {"article": ["x"]}}]
    closed = _fields().visible(Visibility("t", frozenset({"g"})))[0][1]
    assert closed == {"bool": {"should": [listed], "minimum_should_match": 1}}
    assert fields.visible(Visibility("bad\ud800"))[0][0] == {"match_none": {}}


def test_ids_and_documents_are_the_index_s_own() -> None:
    assert _fields(SMALL).ids(["a", "", "b\ud800"]) == {"ids": {"values": ["a"]}}
    assert _fields().ids(["a"]) == {"terms": {"key": ["a"]}}
    assert _fields(SMALL).of_document("default", "d") == {
        "bool": {"filter": [{"ids": {"values": ["d"]}}]}
    }
    assert _fields().of_document("t", "d") == {
        "bool": {"filter": [{"term": {"customer": {"value": "t"}}}, {"terms": {"article": ["d"]}}]}
    }
    assert _fields(SMALL).firsts == {"match_all": {}}
    assert _fields().firsts is None


def test_equal_scores_have_an_order_that_every_copy_shares() -> None:
    assert _fields().tie_break == [{"key": {"order": "asc"}}]
    assert [list(each) for each in _fields(SMALL).tie_break] == [["_index"], ["_seq_no"]]


def test_a_hit_becomes_a_passage() -> None:
    source = {
        "body": "Some text.",
        "headline": "Title",
        "key": "k1",
        "article": "a1",
        "chunk": 3,
        "customer": "t",
        "groups": ["g", "h"],
        "page": 12,
        "type": "news",
        "published": {"year": 2020},
    }
    assert _fields().passage({"_id": "es", "_index": "i", "_source": source}) == Passage(
        "k1", "a1", 3, "Title", "Some text.", 0, 10, "t", ("g", "h"), "12",
        {"year": (2020.0,), "kind": ("news",)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({}, ""),
        ({"body": None}, ""),
        ({"body": ["one", "two"]}, "one\ntwo"),
        ({"body": 7}, "7"),
        ({"body": {"exact": "inside"}}, ""),
    ],
)
def test_what_is_missing_or_odd_in_a_stored_document_is_no_error(
    source: Mapping[str, Any], text: str
) -> None:
    found = _fields(SMALL).passage({"_id": "x", "_source": source})
    assert found == Passage("x", "x", 0, "", text, 0, len(text), "default")


@pytest.mark.parametrize("source", [{"a": {"b": {"c": "t"}}}, {"a.b": {"c": "t"}}, {"a.b.c": "t"}])
def test_a_path_may_be_nested_or_dotted_in_the_stored_document(source: Mapping[str, Any]) -> None:
    for path in ("a.b.c", "a.b.c.exact"):
        fields = _fields(SMALL.replace("body", path))
        assert fields.passage({"_id": "x", "_source": source}).text == "t"


def test_values_that_the_language_cannot_hold_are_left_out() -> None:
    declared = "".join(
        f'[metadata.{kind}]\nfield = "{kind}"\nkind = "{kind}"\n'
        for kind in ("keyword", "number", "date")
    )
    source = {
        "body": "b",
        "keyword": ["k", "", True],
        "number": ["x", 1e400, 2],
        "date": [1_700_000_000_123, "2024-05-17", "May", 1e30],
    }
    assert _fields(SMALL + declared).passage({"_id": "x", "_source": source}).metadata == {
        "keyword": ("k", "true"),
        "number": (2.0,),
        "date": ("2023-11-14T22:13:20Z", "2024-05-17T00:00:00Z"),
    }


def test_a_hit_without_a_stored_document_is_an_error() -> None:
    with pytest.raises(EngineError, match="no _source"):
        _fields(SMALL).passage({"_id": "x", "_index": "i"})
