"""Abstention certificates: what earns one, and what must not."""

from __future__ import annotations

from collections.abc import Sequence

from logicalrag.agent.actions import Abstain, Count, Search
from logicalrag.agent.certificate import certify
from logicalrag.agent.outcome import Abstained, Certificate
from logicalrag.agent.planners.scripted import ScriptedPlanner
from logicalrag.agent.session import run, start
from logicalrag.agent.state import SessionState
from logicalrag.agent.step import step
from logicalrag.agent.tools import Tools
from logicalrag.engines.identity import passage_id
from logicalrag.engines.metadata import Filter
from logicalrag.engines.protocol import CountResult, Passage, Visibility
from logicalrag.engines.reference import ReferenceEngine
from logicalrag.query.nodes import Node
from tests.unit.sessions import engine_over, passages_of, session

NEED = "the premiere of Catone in Utica"
QUESTION = "When was Catone in Utica first performed?"
CHAIN = (
    '"Catone in Utica" AND opera AND Vivaldi',
    '"Catone in Utica" AND opera',
    '"Catone in Utica"',
    "catone-in-utica",
)


def certificate_of(state: SessionState) -> Certificate | None:
    assert isinstance(state.outcome, Abstained)
    return state.outcome.certificate


def counted(*expressions: str, question: str = QUESTION) -> Certificate | None:
    searched = Count(expressions, evidence_needed=NEED)
    return certificate_of(session([searched, Abstain("not found")], question=question))


def test_four_ever_weaker_zeros_for_one_need_are_a_certificate() -> None:
    state = session(
        [
            Search(CHAIN[0], evidence_needed=NEED),
            *(Search(expression) for expression in CHAIN[1:]),
            Abstain("not found"),
        ],
        question=QUESTION,
    )
    certificate = certificate_of(state)
    assert certificate is not None
    assert isinstance(state.outcome, Abstained)
    assert (state.outcome.reason, state.outcome.detail) == ("no_evidence", "not found")
    assert certificate.evidence_needed == NEED
    assert tuple(part.expression for part in certificate.expressions) == CHAIN
    assert [part.hits for part in certificate.expressions] == [0, 0, 0, 0]
    assert (certificate.visible, certificate.pending) == (3, 0)


def test_one_count_call_earns_it_too() -> None:
    certificate = counted(*CHAIN)
    assert certificate is not None
    assert len(certificate.expressions) == 4


def test_three_are_not_enough() -> None:
    assert counted(*CHAIN[:3]) is None


def test_the_chain_must_grow_strictly_weaker() -> None:
    same = ("catone AND utica", "utica AND catone", "(catone AND utica)", "catone-in-utica AND a")
    assert counted(*same) is None
    assert counted(*reversed(CHAIN)) is None


def test_a_chain_with_hits_in_it_is_none() -> None:
    assert counted(*CHAIN[:3], "catone OR opera") is None


def test_expressions_for_different_needs_do_not_add_up() -> None:
    state = session(
        [
            Count(CHAIN[:2], evidence_needed=NEED),
            Count(CHAIN[2:], evidence_needed="another need"),
            Abstain(""),
        ],
        question=QUESTION,
    )
    assert certificate_of(state) is None
    assert isinstance(state.outcome, Abstained)
    assert state.outcome.reason == "insufficient_evidence"


def test_only_the_need_that_stands_at_the_end_is_certified() -> None:
    state = session(
        [
            Count(CHAIN, evidence_needed="where to look first"),
            Search("opera", evidence_needed=NEED),
            Abstain(""),
        ],
        question=QUESTION,
    )
    assert certificate_of(state) is None


def test_one_dead_typo_proves_nothing() -> None:
    typo = (
        "vivaldii AND opera AND venice",
        "vivaldii AND opera",
        "vivaldii",
        "vivaldii OR vivaldiii",
    )
    assert counted(*typo, question="Who wrote operas in Venice?") is None


def test_a_name_of_the_question_may_be_dead_from_first_to_last() -> None:
    assert counted(*CHAIN) is not None
    assert counted(*CHAIN, question="when was it first performed?") is None


def test_a_script_without_word_rules_never_supports_a_certificate() -> None:
    thai = ("กรุงเทพ AND opera AND x", "กรุงเทพ AND opera", "กรุงเทพ", "กรุงเทพ OR บางกอก")
    assert counted(*thai, question="กรุงเทพ?") is None


def test_it_says_where_a_document_holds_the_parts_in_different_passages() -> None:
    engine = ReferenceEngine()
    first, second = passages_of([("split", "Split", "alpha only"), ("split", "Split", "beta")])
    engine.put([first, _second(second)], replaces=0)
    engine.commit()
    chain = ("alpha AND beta AND split AND NOT x AND NOT y", "alpha AND beta AND split AND NOT x",
             "alpha AND beta AND split", "alpha AND beta")  # fmt: skip
    certificate = certificate_of(
        session([Count(chain, evidence_needed=NEED), Abstain("")], engine=engine)
    )
    assert certificate is not None
    assert [part.documents for part in certificate.expressions] == [1, 1, 1, 1]


def _second(passage: Passage) -> Passage:
    return passage._replace(number=1, id=passage_id("default", "split", 1))


def test_documents_that_wait_to_be_indexed_are_counted() -> None:
    planner = ScriptedPlanner([Count(CHAIN, evidence_needed=NEED), Abstain("")])
    tools = Tools(engine_over(), pending=lambda: 7)
    state = run(start(QUESTION, planner), tools, planner)
    certificate = certificate_of(state)
    assert certificate is not None
    assert certificate.pending == 7


def test_counts_are_taken_again_when_the_index_has_changed_since() -> None:
    engine = engine_over()
    planner = ScriptedPlanner([Count(CHAIN, evidence_needed=NEED), Abstain("")])
    tools = Tools(engine)
    state = step(start(QUESTION, planner), tools, planner)
    (added,) = passages_of([("catone", "Catone in Utica", "An opera given in Verona in 1737.")])
    engine.put([added], replaces=0)
    engine.commit()
    ended = step(state, tools, planner)
    assert isinstance(ended.outcome, Abstained)
    assert ended.outcome.certificate is None, "the last expression has a hit by now"


def test_an_index_that_never_stands_still_gives_no_certificate() -> None:
    class Restless(ReferenceEngine):
        def count(
            self, trees: Sequence[Node], visibility: Visibility, *, filters: Sequence[Filter] = ()
        ) -> CountResult:
            counted = super().count(trees, visibility, filters=filters)
            self.put(passages_of([("noise", "Noise", "noise")]), replaces=1)
            self.commit()
            return counted

    planner = ScriptedPlanner([Count(CHAIN, evidence_needed=NEED)])
    searched = step(start(QUESTION, planner), Tools(engine_over()), planner)
    assert certify(searched, Tools(Restless())) is None


def _over(*texts: str) -> ReferenceEngine:
    return engine_over((f"d{n}", "paper", text) for n, text in enumerate(texts))


def _certified(engine: ReferenceEngine, *chain: str) -> bool:
    searched = Count(chain, evidence_needed=NEED)
    state = session([searched, Abstain("")], engine=engine, question="what is there?")
    return certificate_of(state) is not None


def test_a_dead_word_is_dead_in_the_form_that_was_asked_for() -> None:
    # "erase" has the stem "eras", whose own stem is "era": the word is dead, "era" is not.
    engine = _over("an era of alpha", "beta paper", "paper in gamma")
    chain = ("erase AND alpha AND beta AND paper", "erase AND alpha AND beta", "erase AND alpha")
    assert not _certified(engine, *chain, "erase")
    # Dead in that field, or in that exact form, though the word is there.
    title = ("title:gamma AND alpha AND beta", "title:gamma AND alpha", "title:gamma")
    assert not _certified(engine, *title, '"gamma paper" AND title:gamma', "title:gamma OR zq")
    exact = ('"papers" AND alpha AND beta', '"papers" AND alpha', '"papers" AND an', '"papers"')
    assert not _certified(engine, *exact)


def test_a_word_with_hits_may_stand_from_first_to_last() -> None:
    # The stem of "dimension" is "dimens", whose own stem "dimen" has no hit.
    engine = _over("dimension alone", "alpha", "beta")
    assert _certified(
        engine,
        "dimension AND alpha AND beta AND NOT x",
        "dimension AND alpha AND beta",
        "dimension AND alpha",
        "dimension AND (alpha OR beta)",
    )
