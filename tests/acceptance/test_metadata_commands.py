"""Declared fields, filters, orders and counts by value, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.conftest import Command

_SIGNED = "The lease of the Bergen office was signed by"
REPORTS = [
    ("a", "Lease of 2019", f"{_SIGNED} Anna Berg.", 2019, "lease"),
    ("b", "Lease of 2021", f"{_SIGNED} Ingrid Solberg.", 2021, "lease"),
    ("c", "Memo", "A memo about the Bergen office and its lease.", 2022, "memo"),
]


@pytest.fixture
def indexed(logicalrag: Command, tmp_path: Path) -> Command:
    (tmp_path / "fields.toml").write_text(
        '[fields]\nyear = "number"\nkind = "keyword"\npublished = "date"\n'
    )
    (tmp_path / "reports.jsonl").write_text(
        "\n".join(
            json.dumps(
                {
                    "id": name,
                    "title": title,
                    "text": text,
                    "metadata": {"year": year, "kind": kind, "published": f"{year}-05-17"},
                }
            )
            for name, title, text, year, kind in REPORTS
        )
    )
    assert logicalrag("ingest", "reports.jsonl", "--metadata", "fields.toml").code == 0
    return logicalrag


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["year>=2020"], {"b", "c"}),
        (["year>=2020", "kind=lease"], {"b"}),
        (["kind!=memo"], {"a", "b"}),
        (["published<2021-06"], {"a", "b"}),
        (["kind=lease,memo", "published=2022"], {"c"}),
        (["year>3000"], set()),
    ],
)
def test_filters_narrow_a_search(indexed: Command, filters: list[str], found: set[str]) -> None:
    options = [part for each in filters for part in ("--filter", each)]
    ran = indexed("search", "bergen", *options, "--json")
    assert ran.code == 0
    assert {result["document_id"] for result in ran.json["results"]} == found
    assert ran.json["hits"] == len(found)


def test_a_search_is_sorted_by_a_field_either_way(indexed: Command) -> None:
    for sort, order in (("year", ["c", "b", "a"]), ("-published", ["a", "b", "c"])):
        ran = indexed("search", "bergen", "--sort", sort, "--json")
        assert [result["document_id"] for result in ran.json["results"]] == order
    shown = indexed("search", "bergen", "--sort", "year", "-n", "1").out
    assert "year=2022 · kind=memo" in shown


def test_batch_lines_take_filters_and_sort(indexed: Command) -> None:
    asked: list[dict[str, object]] = [
        {"expression": "bergen", "sort": "-year"},
        {"expression": "bergen", "filters": ["kind=lease"], "sort": "year"},
        {"expression": "bergen", "filters": ["colour=red"]},
        {"expression": "bergen", "sort": "kind"},
        {"expression": "bergen", "filters": "kind=lease"},
    ]
    ran = indexed(
        "search", "--batch", "-", "--filter", "year>2019", given="\n".join(map(json.dumps, asked))
    )
    assert ran.code == 1, "the last line does not hold what a line holds"
    first, second, *bad = ran.lines
    assert [result["document_id"] for result in first["results"]] == ["b", "c"]
    assert [result["document_id"] for result in second["results"]] == ["b"]
    assert [line["error"]["code"] for line in bad] == [
        "unknown_metadata_field", "bad_sort", "bad_line",
    ]  # fmt: skip
    assert "year (number)" in bad[0]["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("search", "x", "--filter", "yeer=1"), "There is no metadata field 'yeer'"),
        (("search", "x", "--filter", "year~1"), "write FIELD OPERATOR VALUE"),
        (("search", "x", "--sort", "kind"), "kind is a keyword field"),
        (("search", "--batch", "-", "--filter", "yeer=1"), "'yeer'"),
        (("ask", "x?", "--filter", "kind>=a"), "compared with = and != only"),
        (("ask", "x?", *(f"--filter=year>{n}" for n in range(33))), "at most 32 filters, not 33"),
        (("ask", "x?", "--sort", "colour"), "'colour'"),
        (("ask", "--batch", "-", "--sort", "colour"), "'colour'"),
        (("why-not", "a", "x", "--filter", "year=soon"), "soon"),
        (("stats", "--values", "colour"), "'colour'"),
        (("ingest", "reports.jsonl", "--metadata", "nowhere"), "cannot be read"),
        (("ingest", "reports.jsonl", "--metadata", "reports.jsonl"), "it is no TOML"),
    ],
)
def test_a_bad_condition_is_one_sentence(
    indexed: Command, arguments: tuple[str, ...], said: str
) -> None:
    ran = indexed(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


def test_the_users_filters_hold_for_a_whole_session(indexed: Command) -> None:
    question = "Who signed the lease of the Bergen office?"
    for condition, name in (("year<2020", "Anna Berg"), ("year>=2020", "Ingrid Solberg")):
        ran = indexed("ask", question, "--filter", condition, "--json")
        assert ran.code == 0
        assert name in ran.json["answer"]
    asked = [
        {"question": question, "filters": ["year<2020"]},
        {"question": question, "filters": ["colour=red"]},
    ]
    ran = indexed("ask", "--batch", "-", given="\n".join(map(json.dumps, asked)))
    assert ran.code == 1
    assert {shown for turn in ran.lines[0]["trace"] for shown in turn["shown"]} == {"a"}
    assert (ran.lines[1]["outcome"], ran.lines[1]["reason"]) == ("error", "unknown_metadata_field")


def test_a_passage_outside_the_users_filters_cannot_be_read(
    indexed: Command, tmp_path: Path
) -> None:
    found = indexed("search", "anna", "--json").json["results"][0]["id"]
    actions = [{"kind": "read", "passage_ids": [found]}, {"kind": "abstain", "reason": "no"}]
    (tmp_path / "script.jsonl").write_text("\n".join(map(json.dumps, actions)))
    scripted = ("ask", "?", "--planner", "scripted", "--script", "script.jsonl", "--json")
    assert indexed(*scripted).json["trace"][0]["shown"] == ["a"]
    assert indexed(*scripted, "--filter", "year>=2020").json["trace"][0]["shown"] == []


def test_stats_count_the_values_of_a_field(indexed: Command) -> None:
    ran = indexed("stats", "--values", "kind", "--values", "year", "--json")
    assert ran.json["values"]["kind"] == [
        {"value": "lease", "hits": 2}, {"value": "memo", "hits": 1},
    ]  # fmt: skip
    assert [each["value"] for each in ran.json["values"]["year"]] == [2019, 2021, 2022]
    assert ran.json["fields"] == {"year": "number", "kind": "keyword", "published": "date"}
    text = indexed("stats", "--values", "year").out
    assert "year (number), kind (keyword), published (date)" in text
    assert "       1  2019\n" in text


def test_the_schema_stays_with_the_index(indexed: Command, tmp_path: Path) -> None:
    again = indexed("ingest", "reports.jsonl")
    assert "3 unchanged" in again.out
    (tmp_path / "other.toml").write_text('[fields]\nyear = "keyword"\n')
    ran = indexed("ingest", "reports.jsonl", "--metadata", "other.toml")
    assert ran.code == 1
    assert "new folder" in ran.err
    assert indexed("search", "bergen", "--filter", "year>=2020", "--json").json["hits"] == 2


def test_a_value_that_does_not_fit_fails_its_document_alone(
    indexed: Command, tmp_path: Path
) -> None:
    lines = [
        {"id": "d", "text": "Bergen again.", "metadata": {"year": "soon"}},
        {"id": "e", "text": "Bergen at last.", "metadata": {"year": 2023, "colour": "red"}},
    ]
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, lines)))
    ran = indexed("ingest", "more.jsonl")
    assert ran.code == 1
    assert "1 added" in ran.out
    assert "more.jsonl:1: bad_metadata" in ran.err


def test_the_analysis_is_chosen_with_the_index(logicalrag: Command, folder: Path) -> None:
    assert folder.is_dir()
    logicalrag("ingest", "notes", "--analysis", "standard")
    assert logicalrag("stats", "--json").json["analysis"] == "standard"
    assert logicalrag("search", "operas", "--json").json["hits"] == 0
    assert logicalrag("search", "opera", "--json").json["hits"] == 3
    assert "5 unchanged" in logicalrag("ingest", "notes").out
    ran = logicalrag("ingest", "notes", "--analysis", "english")
    assert ran.code == 1
    assert "new folder" in ran.err
