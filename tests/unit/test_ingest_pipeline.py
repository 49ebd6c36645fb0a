"""The pipeline: versions, batches, rejects and counts, against a model and against kills."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ingest.batching import Bounds, Meter
from ingest.chunking import ChunkSettings
from ingest.deletion import Deletion, delete
from ingest.documents import Reject, SourceDocument
from ingest.pipeline import IngestSettings, ingest
from ingest.report import Progress
from ingest.sqlite_ledger import SqliteLedger
from logicalrag.engines.identity import document_key, passage_id
from logicalrag.engines.metadata import MetadataSchema
from logicalrag.engines.protocol import DEFAULT_TENANT, Passage, Refusal, Visibility
from logicalrag.engines.reference import ReferenceEngine
from tests.unit.ingest_jobs import SMALL, TEXTS, counts_of, document, stored


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    with SqliteLedger(tmp_path / "ledger.sqlite") as opened:
        yield opened


@pytest.fixture
def engine() -> ReferenceEngine:
    return ReferenceEngine()


def test_new_changed_and_unchanged_are_counted_and_nothing_is_orphaned(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    first = [document(name, TEXTS[2]) for name in "abcd"]
    assert counts_of(ingest(first, engine, ledger, SMALL)) == {"added": 4, "passages": 16}
    second = [document("a", TEXTS[2]), document("b", TEXTS[0]), document("e", TEXTS[1])]
    report = ingest(second, engine, ledger, SMALL)
    assert counts_of(report) == {"added": 1, "changed": 1, "unchanged": 1, "passages": 3}
    assert report.ok
    assert report.documents == 3
    assert stored(engine, "abcde") == {
        "a": TEXTS[2],
        "b": TEXTS[0],
        "c": TEXTS[2],
        "d": TEXTS[2],
        "e": TEXTS[1],
    }


@pytest.mark.parametrize(
    "change",
    [
        {"title": "other"},
        {"text": "Other words."},
        {"metadata": {"k": 1}},
        {"access": ("g",)},
        {"access": ()},
    ],
)
def test_a_change_of_any_part_is_a_change(
    change: dict[str, object], engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    sent = document("a", TEXTS[1])
    ingest([sent], engine, ledger, SMALL)
    changed = sent._replace(**change)  # type: ignore[arg-type]
    assert ingest([changed], engine, ledger, SMALL).changed == 1
    assert ingest([changed], engine, ledger, SMALL).unchanged == 1


def test_other_settings_or_another_analysis_are_a_change(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    sent = document("a", TEXTS[2])
    ingest([sent], engine, ledger, SMALL)
    finer = dataclasses.replace(SMALL, chunking=ChunkSettings(size=1))
    assert ingest([sent], engine, ledger, finer).changed == 1
    newer = dataclasses.replace(finer, analysis="english/next")
    assert ingest([sent], engine, ledger, newer).changed == 1
    assert ingest([sent], engine, ledger, newer).unchanged == 1


def test_an_id_twice_is_one_document_and_the_later_wins(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    for settings_ in (SMALL, IngestSettings(chunking=ChunkSettings(size=3))):
        name = "small" if settings_ is SMALL else "large"
        sent = [document(name, text) for text in (TEXTS[2], TEXTS[0], TEXTS[0], TEXTS[1])]
        report = ingest(sent, engine, ledger, settings_)
        assert (report.added, report.changed, report.unchanged) == (1, 2, 1)
    assert stored(engine, ["small", "large"]) == {"small": TEXTS[1], "large": TEXTS[1]}


def test_two_tenants_with_one_id_never_meet(engine: ReferenceEngine, ledger: SqliteLedger) -> None:
    sent = [document("a", TEXTS[0], tenant="one"), document("a", TEXTS[1], tenant="two")]
    assert ingest(sent, engine, ledger, SMALL).added == 2
    delete([Deletion("a", "one")], engine, ledger)
    assert stored(engine, "a", "one") == {}
    assert stored(engine, "a", "two") == {"a": TEXTS[1]}


def test_bad_documents_fail_alone(engine: ReferenceEngine, ledger: SqliteLedger) -> None:
    bounded = dataclasses.replace(SMALL, max_document_bytes=50)
    seen: list[Reject] = []
    sent: list[SourceDocument | Reject] = [
        document("a", TEXTS[0]),
        Reject("x.jsonl:2", "malformed_json", "the line is not read"),
        document("empty", "", place="e.txt"),
        document("blank", " \n\u3000", place="b.txt"),
        document("nul", "\x00", place="n.txt"),
        document("large", "é" * 26, place="l.txt"),
        document("b", "é" * 25),
    ]
    report = ingest(sent, engine, ledger, bounded, on_reject=seen.append)
    assert (report.added, report.failed, report.sanitised, report.ok) == (2, 5, 1, False)
    assert [(each.place, each.reason, each.document_id) for each in report.rejects] == [
        ("x.jsonl:2", "malformed_json", ""),
        ("e.txt", "no_text", "empty"),
        ("b.txt", "no_text", "blank"),
        ("n.txt", "no_text", "nul"),
        ("l.txt", "document_too_large", "large"),
    ]
    assert tuple(seen) == report.rejects
    assert str(report.rejects[1]) == (
        "e.txt: no_text: it has no text, or none that can be read; "
        "a scan needs text recognition first"
    )
    assert ledger.counts(DEFAULT_TENANT) == {"stored": 2, "failed": 4}
    assert ingest([document("empty", "Now.")], engine, ledger, SMALL).added == 1


def test_a_title_over_the_bound_fails_alone(engine: ReferenceEngine, ledger: SqliteLedger) -> None:
    sent = [SourceDocument("a", "x" * 8_193, "words"), SourceDocument("b", "x" * 8_192, "words")]
    report = ingest(sent, engine, ledger, SMALL)
    assert (report.added, [each.reason for each in report.rejects]) == (1, ["bad_field"])


def test_memory_does_not_grow_with_the_number_of_documents(tmp_path: Path) -> None:
    class Nowhere(ReferenceEngine):
        def put(self, passages: Sequence[Passage], *, replaces: int, version: int = 0) -> None:
            pass

    def peak(count: int) -> int:
        path = tmp_path / f"{count}.sqlite"
        source = (document(str(number), "Some words here. " * 20) for number in range(count))
        with SqliteLedger(path) as opened:
            tracemalloc.start()
            try:
                assert ingest(source, Nowhere(), opened, chosen).added == count
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    bounds = Bounds(documents=200, passages=1_000, bytes=10**9, seconds=60)
    chosen = dataclasses.replace(
        SMALL, chunking=ChunkSettings(mode="passage"), claim_bounds=bounds, commit_bounds=bounds
    )
    for number in range(6_000):
        document_key("default", str(number))  # fills a cache that is bounded, but larger than this
    assert peak(6_000) < 1.3 * peak(2_000)


def test_a_document_that_lost_its_text_fails_and_its_last_version_stays(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    ingest([document("a", TEXTS[0])], engine, ledger, SMALL)
    assert ingest([document("a", " ")], engine, ledger, SMALL).failed == 1
    assert stored(engine, "a") == {"a": TEXTS[0]}


def test_bad_characters_are_replaced_and_counted(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    sent = [document("1", "ok"), document("2", "a\ud800b\x00c")]
    report = ingest(sent, engine, ledger, SMALL)
    assert (report.added, report.sanitised) == (2, 1)
    assert stored(engine, "12") == {"1": "ok", "2": "a\ufffdbc"}
    assert ingest(sent, engine, ledger, SMALL).unchanged == 2


def test_rejects_are_kept_up_to_a_bound_and_all_counted(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    bounded = dataclasses.replace(SMALL, max_kept_rejects=2)
    rejects = [Reject(str(number), "malformed_json", "no") for number in range(5)]
    report = ingest(rejects, engine, ledger, bounded)
    assert (report.failed, len(report.rejects)) == (5, 2)


def test_progress_is_told_after_each_batch(engine: ReferenceEngine, ledger: SqliteLedger) -> None:
    told: list[Progress] = []
    sent = [document(name, TEXTS[0], place=f"{name}.txt") for name in "abcde"]
    ingest(sent, engine, ledger, SMALL, told.append)
    assert [(each.documents, each.passages) for each in told] == [(2, 2), (4, 4), (5, 5)]
    assert told[-1] == Progress(documents=5, failed=0, passages=5, place="e.txt")


def test_passages_carry_what_the_document_says(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    text = "One two three. Four five six."
    ingest([document("a", text, access=("g",), tenant="t")], engine, ledger, SMALL)
    found = engine.read([passage_id("t", "a", 1)], Visibility(tenant="t", groups=frozenset({"g"})))
    assert found == (
        Passage(passage_id("t", "a", 1), "a", 1, "title a", "Four five six.", 15, 29, "t", ("g",)),
    )


def test_deletions_are_counted_and_unknown_ids_are_rejects(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    ingest([document(name, TEXTS[2]) for name in "abc"], engine, ledger, SMALL)
    report = delete(map(Deletion, ["a", "x", "b", "a"]), engine, ledger)
    assert counts_of(report) == {"deleted": 2, "unchanged": 1, "failed": 1}
    assert str(report.rejects[0]) == ('x: unknown_document: no document has the id "x"; check it')
    assert stored(engine, "abc") == {"c": TEXTS[2]}
    assert ingest([document("a", TEXTS[2])], engine, ledger, SMALL).added == 1


def test_an_older_put_does_not_undo_a_deletion(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    ingest([document("a", TEXTS[0], 3)], engine, ledger, SMALL)
    assert delete([Deletion("a", version=5)], engine, ledger).deleted == 1
    assert delete([Deletion("never", version=5)], engine, ledger).deleted == 1
    late = [document("a", TEXTS[0], 4), document("never", TEXTS[0], 4)]
    assert ingest(late, engine, ledger, SMALL).outdated == 2
    same = ingest([document("a", TEXTS[0], 5)], engine, ledger, SMALL)
    assert [each.reason for each in same.rejects] == ["version_conflict"]
    assert ingest([document("a", TEXTS[0], 6)], engine, ledger, SMALL).added == 1


def test_an_error_rolls_the_index_back_and_the_next_run_repairs(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    def source() -> Iterator[SourceDocument]:
        yield from (document(name, TEXTS[1]) for name in "abcd")
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        ingest(source(), engine, ledger, SMALL)
    assert set(stored(engine, "abcd")) == {"a", "b", "c"}  # one commit of three
    unfinished = ingest([], engine, ledger, SMALL)
    assert unfinished.pending == 1
    report = ingest([document(name, TEXTS[1]) for name in "abcd"], engine, ledger, SMALL)
    assert (report.added, report.unchanged, report.pending) == (1, 3, 0)


def test_what_the_index_refuses_fails_alone(ledger: SqliteLedger) -> None:
    class Picky(ReferenceEngine):
        def put(self, passages: Sequence[Passage], *, replaces: int, version: int = 0) -> None:
            if "b" in passages[0].document_id:
                raise ValueError("no b here")
            super().put(passages, replaces=replaces, version=version)

    engine = Picky()
    report = ingest([document(name, TEXTS[1]) for name in "abc"], engine, ledger, SMALL)
    assert counts_of(report) == {"added": 2, "failed": 1, "passages": 4, "pending": 1}
    assert str(report.rejects[0]) == ": not_storable: the index cannot hold it: no b here"
    assert stored(engine, "abc") == {"a": TEXTS[1], "c": TEXTS[1]}


def test_what_the_index_refuses_at_the_commit_fails_alone(ledger: SqliteLedger) -> None:
    class Late(ReferenceEngine):
        def refused(self) -> tuple[Refusal, ...]:
            return (Refusal(DEFAULT_TENANT, "b", "no b here"),)

    engine = Late()
    report = ingest([document(name, TEXTS[1]) for name in "abc"], engine, ledger, SMALL)
    assert counts_of(report) == {"added": 2, "failed": 1, "passages": 4, "pending": 1}
    assert str(report.rejects[0]) == "b: not_storable: the index cannot hold it: no b here"
    again = ingest([document(name, TEXTS[1]) for name in "abc"], ReferenceEngine(), ledger, SMALL)
    assert counts_of(again) == {"added": 1, "unchanged": 2, "passages": 2}


def test_a_competing_claim_is_decided_again(engine: ReferenceEngine, tmp_path: Path) -> None:
    path = tmp_path / "shared.sqlite"
    with SqliteLedger(path) as ours, SqliteLedger(path) as theirs:
        rival = ReferenceEngine()

        def interfere(name: str) -> None:
            if name == "ledger claim: before" and theirs.is_empty():
                ingest([document("a", TEXTS[1], 2)], rival, theirs, SMALL)

        sent = [document("a", TEXTS[0], 1), document("b", TEXTS[0], 1)]
        report = ingest(sent, engine, ours, SMALL, checkpoint=interfere)
        assert (report.added, report.outdated) == (1, 1)
        assert stored(engine, "ab") == {"b": TEXTS[0]}


def test_bounds_of_a_batch() -> None:
    now = [0.0]
    bounds = Bounds(documents=3, passages=10, bytes=100, seconds=5)
    meter = Meter(bounds, lambda: now[0])
    for passages, size, at, full in [
        (1, 1, 0, False),
        (9, 1, 0, True),
        (1, 100, 10, True),
        (1, 1, 20, False),
        (1, 1, 24, False),
        (1, 1, 24, True),
        (1, 1, 30, False),
        (1, 1, 35, True),
    ]:
        now[0] = at
        meter.add(passages, size)
        assert meter.full is full
        if full:
            meter.reset()
            assert not meter.full
    with pytest.raises(ValueError, match="at least 1, and its seconds over 0"):
        Bounds(documents=0, passages=1, bytes=1, seconds=1)


def _passages(engine: ReferenceEngine, name: str) -> list[Passage]:
    return list(engine.read([passage_id(DEFAULT_TENANT, name, n) for n in range(9)], Visibility()))


PAGES = "One here now. Two here\x00 now. Three here."
PARTS = ((0, "page 1"), (14, "page 2"), (29, "page 3"))


def test_each_passage_says_where_it_stands(engine: ReferenceEngine, ledger: SqliteLedger) -> None:
    # The NUL is removed, and the parts move with the text; a chunk holds five words.
    settings = dataclasses.replace(SMALL, chunking=ChunkSettings(size=5))
    source = [document("a", PAGES, parts=PARTS), document("b", PAGES)]
    assert counts_of(ingest(source, engine, ledger, settings)) == {
        "added": 2,
        "passages": 4,
        "sanitised": 2,
    }
    assert [(each.text, each.location) for each in _passages(engine, "a")] == [
        ("One here now. ", "page 1"),
        ("Two here now. Three here.", "pages 2-3"),
    ]
    assert [each.location for each in _passages(engine, "b")] == ["", ""]


def test_parts_kept_apart_are_passages_of_their_own(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    table = document("a", "n: 1\n\nn: 2\n\n", parts=((0, "row 2"), (6, "row 4")), parts_apart=True)
    ingest([table], engine, ledger)
    assert [(each.text, each.location) for each in _passages(engine, "a")] == [
        ("n: 1\n\n", "row 2"),
        ("n: 2\n\n", "row 4"),
    ]
    whole = IngestSettings(chunking=ChunkSettings(mode="passage"))
    assert counts_of(ingest([table], engine, ledger, whole)) == {"changed": 1, "passages": 1}
    assert [each.location for each in _passages(engine, "a")] == ["rows 2-4"]


@pytest.mark.parametrize(
    "change", [{"parts": PARTS[:2]}, {"parts": ()}, {"parts_apart": True}, {}], ids=str
)
def test_other_parts_are_a_change(
    change: dict[str, object], engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    given = document("a", PAGES, parts=PARTS)
    ingest([given], engine, ledger, SMALL)
    [(outcome, _), *_] = counts_of(
        ingest([given._replace(**change)], engine, ledger, SMALL)  # type: ignore[arg-type]
    ).items()
    assert outcome == ("changed" if change else "unchanged")


FIELDS = dataclasses.replace(SMALL, metadata=MetadataSchema({"year": "number", "kind": "keyword"}))


def test_declared_metadata_reaches_each_passage(ledger: SqliteLedger) -> None:
    engine = ReferenceEngine(schema=FIELDS.metadata)
    source = [
        document("a", TEXTS[1], metadata={"year": 2020, "kind": ["x", "y"], "other": 1}),
        document("b", TEXTS[0]),
        document("c", TEXTS[0], metadata={"other": 1}),
    ]
    assert ingest(source, engine, ledger, FIELDS).added == 3
    assert [each.metadata for each in _passages(engine, "a")] == [
        {"year": (2020.0,), "kind": ("x", "y")}
    ] * 2
    assert [dict(each.metadata) for name in "bc" for each in _passages(engine, name)] == [{}, {}]


def test_a_value_that_does_not_fit_fails_its_document_alone(
    engine: ReferenceEngine, ledger: SqliteLedger
) -> None:
    declared = ReferenceEngine(schema=FIELDS.metadata)
    good = document("a", TEXTS[0], metadata={"year": 2020})
    bad = document("b", TEXTS[0], metadata={"year": "soon"}, place="b.jsonl:2")
    report = ingest([bad, good], declared, ledger, FIELDS)
    assert counts_of(report) == {"added": 1, "failed": 1, "passages": 1}
    [reject] = report.rejects
    assert (reject.place, reject.reason, reject.document_id) == ("b.jsonl:2", "bad_metadata", "b")
    assert reject.message.startswith("In the field year: ")
    # Fields that are not declared are not looked at.
    assert ingest([bad], engine, ledger, SMALL).added == 1


def test_another_schema_is_a_change_and_the_same_is_none(ledger: SqliteLedger) -> None:
    # An index has one schema; its ledger must still not take another one's documents for its own.
    given = [document("a", TEXTS[0], metadata={"year": "2020"})]
    keyword = dataclasses.replace(SMALL, metadata=MetadataSchema({"year": "keyword"}))
    number = dataclasses.replace(SMALL, metadata=MetadataSchema({"year": "number"}))
    outcomes = [
        counts_of(ingest(given, ReferenceEngine(schema=each.metadata), ledger, each))
        for each in (SMALL, keyword, keyword, number)
    ]
    assert [next(iter(counts)) for counts in outcomes] == [
        "added",
        "changed",
        "unchanged",
        "changed",
    ]


def test_the_order_of_declared_fields_says_nothing() -> None:
    turned = MetadataSchema({"kind": "keyword", "year": "number"})
    assert dataclasses.replace(SMALL, metadata=turned).fingerprint == FIELDS.fingerprint
