"""How the offline planner weighs what was shown, and the expressions by which it goes on."""

from __future__ import annotations

import pytest

from logicalrag.agent.feedback import Shown
from logicalrag.agent.planners.offline import bridging
from logicalrag.agent.planners.offline.evidence import Evidence
from logicalrag.agent.planners.offline.question import analyse
from logicalrag.query.nodes import And, Not
from logicalrag.query.parser import parse
from logicalrag.query.tokens import tokenize


def evidence_of(
    question: str,
    *passages: tuple[str, str],
    hits: dict[str, int] | None = None,
    titles: dict[str, int] | None = None,
    visible: int = 200,
) -> Evidence:
    """Return evidence with `passages` (title, text) shown by the first search."""
    asked = analyse(question)
    counted = {word: (hits or {}).get(word, 5) for word in asked.words}
    evidence = Evidence(asked, counted, titles or {}, visible)
    evidence.add(
        [
            Shown(f"p{number}", f"d{number}", title, text, True)
            for number, (title, text) in enumerate(passages)
        ],
        0,
        None,
    )
    return evidence


QUESTION = "Who is the spouse of the director of Night Ferry?"
FERRY = ("Night Ferry", "Night Ferry is a film by Olga Brandt. It was shot in Hull.")


def test_rare_words_weigh_more_and_all_weigh_one_together() -> None:
    evidence = evidence_of(QUESTION, hits={"spous": 1, "director": 80})
    assert evidence.share(["spous"]) > evidence.share(["director"]) > 0
    assert evidence.share(evidence.question.words) == pytest.approx(1)
    assert evidence.share(["elsewhere"]) == 0


def test_a_named_title_is_rare_the_longest_and_without_overlap() -> None:
    titles = {"night ferry": 2, "ferry": 3, "night": 60, "hull": 0}
    assert evidence_of(QUESTION, titles=titles).named == ("night ferry",)


def test_a_passage_titled_after_a_named_title_comes_before_all_others() -> None:
    evidence = evidence_of(
        QUESTION,
        ("Film director", "A film director directs. A spouse may help at night."),
        FERRY,
        titles={"night ferry": 1},
    )
    best = evidence.best_unexpanded()
    assert best is not None
    assert best.title == "Night Ferry"


def test_a_chain_remembers_what_it_covered_and_children_weigh_less() -> None:
    evidence = evidence_of(QUESTION, FERRY, titles={"night ferry": 1})
    parent = evidence.findings[0]
    evidence.add([Shown("c", "c", "Olga Brandt", "Her spouse was Karl.", True)], 1, parent)
    child = evidence.findings[1]
    assert child.chain == parent.chain | {"spous"}
    assert child.priority == pytest.approx(0.8 * parent.priority + evidence.share(["spous"]))


def test_a_passage_shown_again_is_kept_once_and_takes_its_whole_text() -> None:
    evidence = evidence_of(QUESTION)
    evidence.add([Shown("p", "d", "Night Ferry", "A film.", False)], 0, None)
    evidence.add([Shown("p", "d", "Night Ferry", "A film. The director: Brandt.", True)], 0, None)
    assert [finding.shown.text for finding in evidence.findings] == [
        "A film. The director: Brandt."
    ]
    assert "director" in evidence.findings[0].words


def test_the_opening_asks_for_every_word_that_has_hits_and_for_names_as_phrases() -> None:
    evidence = evidence_of(QUESTION, hits={"spous": 0}, titles={"night ferry": 1})
    expression = bridging.opening(evidence)
    assert "spouse" not in expression
    assert "content:director OR title:night^0.7 OR content:night" in expression
    assert '"night ferry"^1.5 OR title:"night ferry"' in expression
    assert parse(expression).notices == ()


def test_a_named_title_without_its_passage_is_asked_for_once_more() -> None:
    titles = {"alpha pass": 1, "beta pass": 2}
    question = "Which is higher, Alpha Pass or Beta Pass?"
    evidence = evidence_of(question, ("Alpha Pass", "A pass."), titles=titles)
    assert bridging.uncovered_names(evidence) == ["beta pass"]
    expression = bridging.covering(evidence, ["beta pass"])
    assert expression.startswith('(title:"beta pass")^3 AND ')
    assert parse(expression).notices == ()


def test_names_that_lead_on_are_new_and_the_first_sentence_weighs_more() -> None:
    evidence = evidence_of(
        QUESTION,
        ("Night Ferry", "Night Ferry is by Olga Brandt. In May 1950 it was shot in Hull."),
    )
    names = dict(bridging.names_in(evidence, evidence.findings[0]))
    assert names["olga brandt"] > names["hull"]
    assert "night ferry" not in names
    assert "1950" not in names
    assert "may" not in names


def test_following_joins_names_and_predicate_and_leaves_out_what_was_shown() -> None:
    evidence = evidence_of(QUESTION, FERRY, titles={"night ferry": 1})
    expression = bridging.following(evidence, evidence.findings[0])
    assert expression is not None
    tree = parse(expression).tree
    assert isinstance(tree, And)
    assert isinstance(tree.children[-1], Not)
    assert 'title:"olga brandt"' in expression
    assert "content:spouse^1" in expression
    assert "content:wife^0" in expression
    assert 'NOT (title:"night ferry" AND content:"night ferry is a film by olga brandt")' in (
        expression
    )


def test_following_loosely_asks_for_the_names_alone() -> None:
    evidence = evidence_of(QUESTION, FERRY, titles={"night ferry": 1})
    expression = bridging.following(evidence, evidence.findings[0], strict=False)
    assert expression is not None
    assert 'title:"olga brandt"' in expression
    assert "spouse" not in expression


def test_what_is_too_broad_is_narrowed_to_passages_with_every_word() -> None:
    evidence = evidence_of(QUESTION, hits={"ferri": 0})
    assert bridging.narrowed(evidence) == "spouse AND director AND night"
    assert bridging.narrowed(evidence_of("Who sang?")) is None


def test_a_passage_without_names_leads_nowhere() -> None:
    evidence = evidence_of("Who sang?", ("", "nobody sang."))
    assert bridging.following(evidence, evidence.findings[0]) is None


def test_expressions_stay_within_the_limits_of_the_language() -> None:
    names = " and ".join(f"Name{'x' * 25}{n} Second{'y' * 25}{n}" for n in range(60))
    evidence = evidence_of(
        f"What did {names} do?", *[(f"Title {n} {names[:90]}", names) for n in range(9)]
    )
    for expression in (
        bridging.opening(evidence),
        bridging.following(evidence, evidence.findings[0]) or "",
        bridging.covering(evidence, ["x"]),
    ):
        assert expression
        assert len(expression) <= 10_000
        parse(expression)


def test_the_probe_counts_at_most_32_expressions() -> None:
    question = " ".join(f"Word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(60))
    words, titles = bridging.probe(analyse(question), None)
    assert len(words) + len(titles) == 32
    assert all(tokenize(title) for title in titles)
