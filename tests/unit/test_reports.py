"""The shapes that every interface gives: searches, errors, sessions."""

from __future__ import annotations

import json

import orjson

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Reply, Search
from logicalrag.agent.limits import Limits
from logicalrag.agent.report import session_report
from logicalrag.engines.protocol import Visibility
from logicalrag.engines.report import error_report, search_report
from logicalrag.query.errors import ExpressionError
from logicalrag.query.parser import parse
from logicalrag.query.printer import canonical
from tests.unit.sessions import OPERAS, cite, engine_over, session

KEYS = {
    "outcome", "answer", "citations", "unsupported", "reason", "detail", "certificate", "trace",
    "usage", "planner",
}  # fmt: skip


def test_a_search_report_has_the_keys_of_the_contract() -> None:
    parsed = parse("opera and vicenza", "AND")
    found = engine_over().search(parse("vicenza").tree, Visibility(), limit=1)
    report = search_report(found, canonical(parsed.tree), parsed.notices)
    assert set(report) == {"hits", "relation", "fraction", "canonical", "notices", "results"}
    assert (report["hits"], report["relation"]) == (1, "eq")
    (result,) = report["results"]
    assert set(result) == {"id", "document_id", "title", "text", "score"}
    assert (result["id"], result["text"]) == (cite("ottone"), OPERAS[0][2])
    assert report["notices"][0]["code"] == "lowercase_operator"
    assert (report["notices"][0]["position"], report["notices"][0]["end"]) == (6, 9)


def test_clause_counts_are_added_where_they_were_asked_for() -> None:
    tree = parse("vivaldi AND london").tree
    found = engine_over().search(tree, Visibility(), clause_counts=True, leave_one_out=True)
    report = search_report(found, canonical(tree), ())
    assert [(part["canonical"], part["hits"]) for part in report["clauses"]] == [
        ("vivaldi", 2), ("london", 1),
    ]  # fmt: skip
    assert [(part["canonical"], part["hits"]) for part in report["leave_one_out"]] == [
        ("vivaldi", 1), ("london", 2),
    ]  # fmt: skip


def test_an_error_report_has_the_keys_of_the_contract() -> None:
    try:
        parse("foo:bar")
    except ExpressionError as error:
        report = error_report(error)
    assert set(report["error"]) == {"code", "message", "position", "end", "hint"}
    assert (report["error"]["code"], report["error"]["position"]) == ("unknown_field", 0)


def test_an_answered_session() -> None:
    answer = Answer("It was given in Vicenza in 1714.", (cite("ottone"),))
    report = session_report(
        session([Search("vicenza", evidence_needed="place"), Read((cite("alcina"),)), answer])
    )
    assert set(report) == KEYS
    assert (report["outcome"], report["answer"]) == ("answered", answer.text)
    (citation,) = report["citations"]
    assert set(citation) == {"id", "document_id", "title", "text", "location"}
    assert [(claim["text"], claim["kind"]) for claim in report["unsupported"]] == [
        ("1714", "number")
    ]
    first, second, last = report["trace"]
    assert {"turn", "action", "expression", "canonical", "hits", "shown"} <= set(first)
    assert (first["turn"], first["action"], first["expression"], first["hits"]) == (
        1, "search", "vicenza", 1,
    )  # fmt: skip
    assert first["shown"] == ["ottone"]
    assert (second["action"], second["shown"]) == ("read", ["alcina"])
    assert (last["action"], last["cited"]) == ("answer", [cite("ottone")])
    assert report["usage"]["searching_turns"] == 2
    assert report["planner"] == "scripted"
    assert json.loads(orjson.dumps(report)) == report


def test_an_abstention_with_its_certificate() -> None:
    chain = ("catone AND utica AND opera", "catone AND utica", "catone", "catone OR utica")
    report = session_report(
        session(
            [Count((*chain, "title:"), evidence_needed="Catone"), Abstain("not there")],
            question="When was Catone in Utica given?",
        )
    )
    assert (report["outcome"], report["reason"]) == ("abstained", "no_evidence")
    assert [part["canonical"] for part in report["certificate"]["expressions"]] == [
        canonical(parse(expression).tree) for expression in chain
    ]
    assert report["trace"][0]["counts"][-1] == {"expression": "title:", "error": "missing_operand"}
    assert json.loads(orjson.dumps(report)) == report


def test_limits_and_failures_say_which() -> None:
    limit = session_report(session([Reply(())] * 3, limits=Limits(turns=2)))
    assert (limit["outcome"], limit["reason"]) == ("limit", "turns")
    assert limit["trace"][0]["error"]["code"] == "no_action"
    failed = session_report(session([]))
    assert (failed["outcome"], failed["reason"]) == ("error", "planner_error")
    assert set(limit) == set(failed) == KEYS
