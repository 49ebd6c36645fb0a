"""The bundled demo articles and questions keep the promises that the demo relies on."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations, pairwise

import pytest

SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SENTENCE = re.compile(r"[A-Z0-9].*?[.](?= [A-Z0-9]|$)")
CATALOGUE_NUMBER = re.compile(r"\b(?:RV|HWV|K) \d+")
ISO_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
QUESTIONS_OF_KIND = {
    "one-hop": 10,
    "multi-hop": 12,
    "negation": 5,
    "comparison": 5,
    "unanswerable": 8,
}
MAX_FILE_BYTES = 125_000
MAX_LINE_BYTES = 1_000
MAX_SHARED = 0.2  # of the runs of three words of two articles


@dataclass(frozen=True)
class Article:
    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Question:
    id: str
    question: str
    kind: str
    answers: tuple[str, ...]
    gold_ids: tuple[str, ...]
    subject: tuple[str, ...] = ()


def lines(name: str) -> Iterator[dict[str, object]]:
    content = files("cli.demo").joinpath(name).read_bytes().decode("utf-8", errors="strict")
    assert content.endswith("\n")
    for line in content.removesuffix("\n").split("\n"):
        yield json.loads(line)


def strings(value: object) -> tuple[str, ...]:
    assert isinstance(value, list)
    assert all(isinstance(item, str) for item in value)
    return tuple(value)


def load_articles() -> tuple[Article, ...]:
    rows = list(lines("corpus.jsonl"))
    assert {frozenset(row) for row in rows} == {frozenset({"id", "title", "text"})}
    return tuple(Article(str(row["id"]), str(row["title"]), str(row["text"])) for row in rows)


def load_questions() -> tuple[Question, ...]:
    rows = list(lines("questions.jsonl"))
    required = {"id", "question", "kind", "answers", "gold_ids"}
    for row in rows:
        unanswerable = row["kind"] == "unanswerable"
        assert set(row) == required | ({"subject"} if unanswerable else set())
    return tuple(
        Question(
            str(row["id"]),
            str(row["question"]),
            str(row["kind"]),
            strings(row["answers"]),
            strings(row["gold_ids"]),
            strings(row.get("subject", [])),
        )
        for row in rows
    )


ARTICLES = load_articles()
QUESTIONS = load_questions()
BY_ID = {article.id: article for article in ARTICLES}
ANSWERABLE = [question for question in QUESTIONS if question.kind != "unanswerable"]


def of_kind(kind: str) -> list[Question]:
    return [question for question in QUESTIONS if question.kind == kind]


def named_in(title: str, text: str) -> bool:
    """Whether the title stands in the text verbatim, as whole words."""
    return re.search(rf"(?<!\w){re.escape(title)}(?!\w)", text) is not None


def linked(one: Article, other: Article) -> bool:
    return named_in(one.title, other.text) or named_in(other.title, one.text)


def test_the_corpus_has_about_150_articles_and_40_questions_of_every_kind() -> None:
    assert 150 <= len(ARTICLES) <= 170
    assert Counter(question.kind for question in QUESTIONS) == QUESTIONS_OF_KIND
    assert len(QUESTIONS) == 40


@pytest.mark.parametrize("name", ["corpus.jsonl", "questions.jsonl"])
def test_the_files_are_small(name: str) -> None:
    content = files("cli.demo").joinpath(name).read_bytes()
    assert len(content) <= MAX_FILE_BYTES
    assert max(map(len, content.splitlines())) <= MAX_LINE_BYTES


@pytest.mark.parametrize(
    "values",
    [
        [article.id for article in ARTICLES],
        [article.title.casefold() for article in ARTICLES],
        [article.text for article in ARTICLES],
        [question.id for question in QUESTIONS],
        [question.question for question in QUESTIONS],
    ],
    ids=["article ids", "titles", "texts", "question ids", "question texts"],
)
def test_nothing_stands_twice(values: list[str]) -> None:
    assert [value for value, times in Counter(values).items() if times > 1] == []


def test_no_article_is_a_copy_of_another_with_words_changed() -> None:
    def phrases(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.casefold())
        return set(zip(words, words[1:], words[2:], strict=False))

    held = {article.id: phrases(article.text) for article in ARTICLES}
    copies = [
        (one, other)
        for one, other in combinations(held, 2)
        if len(held[one] & held[other]) > MAX_SHARED * len(held[one] | held[other])
    ]
    assert copies == []


def test_no_sentence_stands_in_two_articles() -> None:
    said = Counter(sentence for article in ARTICLES for sentence in SENTENCE.findall(article.text))
    assert [sentence for sentence, times in said.items() if times > 1] == []


@pytest.mark.parametrize("identifier", [*BY_ID, *(question.id for question in QUESTIONS)])
def test_ids_are_readable_slugs(identifier: str) -> None:
    assert SLUG.fullmatch(identifier)


@pytest.mark.parametrize("article", ARTICLES, ids=lambda article: article.id)
def test_an_article_is_short_and_tells_its_subject_first(article: Article) -> None:
    assert 60 <= len(article.text.split()) <= 160
    sentences = SENTENCE.findall(article.text)
    assert 3 <= len(sentences) <= 8
    assert " ".join(sentences) == article.text
    assert named_in(article.title, sentences[0])


def test_several_vivaldi_operas_are_among_the_articles() -> None:
    operas = [article for article in ARTICLES if "opera" in article.text.split(".")[0]]
    vivaldi = [article.title for article in operas if "by Antonio Vivaldi" in article.text]
    assert {"Griselda", "L'Olimpiade", "Motezuma", "Orlando furioso", "Ottone in villa"} <= set(
        vivaldi
    )


def test_no_article_stands_alone() -> None:
    alone = [
        article.id
        for article in ARTICLES
        if not any(linked(article, other) for other in ARTICLES if other is not article)
    ]
    assert alone == []


def test_a_catalogue_number_and_a_written_date_find_one_article_each() -> None:
    for pattern, least in ((CATALOGUE_NUMBER, 17), (ISO_DATE, 2)):
        found = Counter(code for article in ARTICLES for code in set(pattern.findall(article.text)))
        assert len(found) >= least
        assert [code for code, holders in found.items() if holders > 1] == []


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda question: question.id)
def test_the_gold_articles_exist_and_hold_an_answer(question: Question) -> None:
    assert question.gold_ids
    assert question.answers
    assert len(set(question.gold_ids)) == len(question.gold_ids)
    gold = [BY_ID[identifier] for identifier in question.gold_ids]
    if question.answers in (("yes",), ("no",)):
        return
    for answer in question.answers:
        assert any(named_in(answer, f"{article.title}\n{article.text}") for article in gold)


@pytest.mark.parametrize("question", of_kind("multi-hop"), ids=lambda question: question.id)
def test_a_multi_hop_question_needs_every_step_of_a_chain_of_links(question: Question) -> None:
    chain = [BY_ID[identifier] for identifier in question.gold_ids]
    assert len(chain) >= 2
    assert all(linked(one, other) for one, other in pairwise(chain))
    first, last = chain[0], chain[-1]
    assert named_in(first.title, question.question)
    for answer in question.answers:
        assert not named_in(answer, first.text)
        assert not named_in(answer, question.question)
        assert named_in(answer, last.text)


def test_some_chains_have_three_links() -> None:
    assert sum(len(question.gold_ids) >= 3 for question in of_kind("multi-hop")) >= 3


@pytest.mark.parametrize("question", of_kind("one-hop"), ids=lambda question: question.id)
def test_a_one_hop_question_has_one_gold_article(question: Question) -> None:
    assert len(question.gold_ids) == 1


@pytest.mark.parametrize("question", of_kind("negation"), ids=lambda question: question.id)
def test_a_negation_says_so_and_does_not_give_its_answer_away(question: Question) -> None:
    assert " not " in question.question
    assert not any(named_in(answer, question.question) for answer in question.answers)


@pytest.mark.parametrize("question", of_kind("comparison"), ids=lambda question: question.id)
def test_a_comparison_names_two_articles_and_is_won_by_one_or_is_yes_or_no(
    question: Question,
) -> None:
    titles = [BY_ID[identifier].title for identifier in question.gold_ids]
    assert len(titles) == 2
    assert all(named_in(title, question.question) for title in titles)
    assert len(question.answers) == 1
    assert question.answers[0] in {*titles, "yes", "no"}


@pytest.mark.parametrize("question", of_kind("unanswerable"), ids=lambda question: question.id)
def test_no_article_holds_all_of_what_an_unanswerable_question_asks_about(
    question: Question,
) -> None:
    """One subject occurs nowhere; each of several does, but no article holds them together."""
    assert question.answers == ()
    assert question.gold_ids == ()
    assert question.subject
    assert all(named_in(part, question.question) for part in question.subject)
    subject = [part.casefold() for part in question.subject]
    texts = [f"{article.title}\n{article.text}".casefold() for article in ARTICLES]
    assert not any(all(part in text for part in subject) for text in texts)
    if len(subject) > 1:
        assert all(any(part in text for text in texts) for part in subject)


def test_some_unanswerable_questions_join_names_that_are_all_there() -> None:
    assert sum(len(question.subject) > 1 for question in of_kind("unanswerable")) >= 2
