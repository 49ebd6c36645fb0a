"""The course of a session: probe, search, follow names, read, then answer or abstain."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from logicalrag.agent.actions import Abstain, Answer, Count, Read, Reply, Search, as_reply
from logicalrag.agent.feedback import (
    CountFeedback,
    Done,
    ErrorFeedback,
    ReadFeedback,
    SearchFeedback,
)
from logicalrag.agent.limits import Limits
from logicalrag.agent.planners.offline import abstention, bridging
from logicalrag.agent.planners.offline.answer import compose, draft
from logicalrag.agent.planners.offline.evidence import MAX_TITLE_HITS, Evidence, Finding
from logicalrag.agent.planners.offline.exclusion import exclusion, without
from logicalrag.agent.planners.offline.question import Question, analyse
from logicalrag.agent.planners.offline.sentences import Rating
from logicalrag.agent.planners.protocol import PlannerError
from logicalrag.agent.state import SEARCHING_KINDS, SessionState

Action = Search | Count | Read | Answer | Abstain
Feedback = SearchFeedback | CountFeedback | ReadFeedback | ErrorFeedback | Done
Plan = Generator[Action, Feedback, None]

MAX_PASSAGES = 10
_OPENING_PASSAGES = 5
_ROUNDS = 3
_PASSAGES_A_ROUND = 3
_NO_LIMITS = Limits()


class OfflinePlanner:
    """Proposes the actions of `plan`; keeps nothing: the plan is replayed over the state."""

    name = "offline"

    def propose(self, state: SessionState) -> Reply:
        """Return the reply to everything in `state`; equal states give equal replies.

        Raises:
            PlannerError: the state's turns do not come from this planner.
        """
        course = plan(state.question, state.limits)
        try:
            action = next(course)
            for turn in state.turns:
                action = course.send(turn.feedback)
        except StopIteration:
            raise PlannerError("The session goes on after the offline planner ended.") from None
        return as_reply(action)


@dataclass(slots=True)
class _Budget:
    """Searching turns that are left."""

    left: int

    def spend(self, feedback: Feedback) -> None:
        self.left -= feedback.kind in SEARCHING_KINDS


def plan(question: str, limits: Limits = _NO_LIMITS) -> Plan:
    """Yield the actions that answer `question`, each for the feedback of the one before.

    Ends after an `Answer` or `Abstain`; at most 10 distinct passages are shown and at most
    `limits.searching_turns` searching turns taken.
    """
    asked = analyse(question)
    budget = _Budget(limits.searching_turns)
    if not asked.tokens:
        yield Abstain("The question holds no word that could be searched for.")
        return
    evidence = yield from _gather(asked, budget)
    yield from _read(evidence, budget)
    rating = Rating(evidence)
    chosen = draft(evidence, rating)
    if chosen is not None and not abstention.should_abstain(evidence, rating, chosen.pair):
        feedback = yield compose(evidence, chosen)
        if isinstance(feedback, Done):
            return
    yield from _certify(evidence, budget)
    yield Abstain(_reason(evidence))


def _gather(asked: Question, budget: _Budget) -> Generator[Action, Feedback, Evidence]:
    """Probe and search; one turn is kept for the last count."""
    evidence = yield from _probe(asked, budget)
    need = "Passages about what the question names"
    yield from _search(evidence, budget, bridging.opening(evidence), _OPENING_PASSAGES, need)
    narrowed = bridging.narrowed(evidence)
    if narrowed and not evidence.findings and budget.left > 1:  # refused as too broad
        yield from _search(evidence, budget, narrowed, _OPENING_PASSAGES, need)
    names = bridging.uncovered_names(evidence)
    if names and budget.left > 1:
        expression = bridging.covering(evidence, names)
        yield from _search(evidence, budget, expression, len(names), f"About {', '.join(names)}")
    yield from _read(evidence, budget)
    round_ = 0
    while budget.left > 1 and round_ < _ROUNDS and len(evidence.findings) < MAX_PASSAGES:
        lead = evidence.best_unexpanded()
        if lead is None:
            break
        lead.expanded = True
        need = f"What the names in «{lead.title}» lead to"
        for strict in (True, False):
            following = bridging.following(evidence, lead, strict=strict)
            if following is None or budget.left <= 1 or round_ == _ROUNDS:
                break
            round_ += 1
            passages = MAX_PASSAGES if round_ == _ROUNDS else _PASSAGES_A_ROUND
            hits = yield from _search(evidence, budget, following, passages, need, round_, lead)
            if hits >= passages or len(evidence.findings) >= MAX_PASSAGES:
                break
    return evidence


def _probe(asked: Question, budget: _Budget) -> Generator[Action, Feedback, Evidence]:
    """Count words and possible titles; take out of the question what it leaves out by name."""
    left_out = exclusion(asked.text)
    words, titles = bridging.probe(asked, left_out)
    expressions = [*words, *(f"title:{bridging.phrase(title)}" for title in titles)]
    counts: list[int] = []
    visible = 0
    if expressions and budget.left > 1:
        need = "How many passages hold each word and each possible title of the question"
        feedback = yield Count(tuple(expressions), evidence_needed=need)
        budget.spend(feedback)
        if isinstance(feedback, CountFeedback):
            counts = [count.hits or 0 for count in feedback.counts]
            visible = feedback.visible
    # Without counts every word may have hits and none is rarer than another.
    counts = counts or [1] * len(words) + [0] * len(titles)
    hits = dict(zip(asked.words, counts, strict=False))
    title_hits = dict(zip(titles, counts[len(words) :], strict=True))
    titled = left_out.titled(title_hits, MAX_TITLE_HITS) if left_out else None
    if left_out is None or titled is None:
        return Evidence(asked, hits, title_hits, max(visible, 1))
    name, end = titled
    rest = analyse(without(asked.text, left_out, end))
    return Evidence(
        rest,
        {word: hits.get(word, 1) for word in rest.words},
        title_hits,
        max(visible, 1),
        excluded=(name,),
    )


def _search(
    evidence: Evidence,
    budget: _Budget,
    expression: str,
    passages: int,
    need: str,
    round_: int = 0,
    lead: Finding | None = None,
) -> Generator[Action, Feedback, int]:
    """Search and record what was shown; return the hits, 0 where the search was refused."""
    room = min(passages, MAX_PASSAGES - len(evidence.findings))
    feedback = yield Search(expression, max_results=room, evidence_needed=need)
    budget.spend(feedback)
    if isinstance(feedback, SearchFeedback):
        evidence.visible = feedback.visible
        evidence.add(feedback.results, round_, lead)
        return feedback.hits
    return 0


def _read(evidence: Evidence, budget: _Budget) -> Generator[Action, Feedback, None]:
    """Read in full what was shown in part, where a turn is left besides the last count's."""
    partial = [f.shown.passage_id for f in evidence.findings if not f.shown.whole]
    if partial and budget.left > 1:
        feedback = yield Read(tuple(partial))
        budget.spend(feedback)
        if isinstance(feedback, ReadFeedback):
            for shown in feedback.passages:
                evidence.replace_text(shown)


def _certify(evidence: Evidence, budget: _Budget) -> Generator[Action, Feedback, None]:
    expressions = abstention.relaxations(evidence)
    if expressions and budget.left > 0:
        need = f"A passage that says of {_names(evidence)} what the question asks"
        budget.spend((yield Count(tuple(expressions), evidence_needed=need)))


def _names(evidence: Evidence) -> str:
    return ", ".join(evidence.question.maximal_names()) or "its subject"


def _reason(evidence: Evidence) -> str:
    if not evidence.findings:
        return "No passage was found that holds what the question names."
    return f"The {len(evidence.findings)} passages shown do not hold what the question asks about."
