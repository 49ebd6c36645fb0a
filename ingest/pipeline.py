"""Documents into an index: hash, look up, skip what is unchanged, chunk, claim, write, commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ingest.batching import CLAIM_BOUNDS, COMMIT_BOUNDS, MIB, Bounds, Meter, first_of
from ingest.chunking import ChunkSettings, chunk, chunk_parts
from ingest.commits import Checkpoint, OpenCommit, no_checkpoint
from ingest.documents import MAX_TITLE_BYTES, ReasonCode, Reject, SourceDocument
from ingest.hashing import ContentHasher
from ingest.ledger import Claim, Failure, Ledger, Record
from ingest.locations import locations, sanitised_parts
from ingest.metadata import indexed_metadata
from ingest.report import IngestReport, Progress
from ingest.sanitising import clean_utf8, sanitised
from ingest.versions import PutOutcome, decide_put
from logicalrag.engines.identity import document_key, passage_id
from logicalrag.engines.metadata import MetadataError, MetadataSchema, Value
from logicalrag.engines.protocol import IndexWriter, Passage

OnProgress = Callable[[Progress], None]
OnReject = Callable[[Reject], None]
Spans = Sequence[tuple[int, int]]
Values = Mapping[str, tuple[Value, ...]]
_NO_TEXT = "it has no text, or none that can be read; a scan needs text recognition first"
_NO_FIELDS = MetadataSchema({})
_NO_VALUES: Values = MappingProxyType({})
_TAKES_EFFECT: frozenset[PutOutcome] = frozenset({"added", "changed", "renewed"})


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How documents become passages, and how much is gathered before each write.

    Args:
        chunking: how documents are cut.
        analysis: the version of the index's text analysis; another one makes every document
            count as changed.
        metadata: the index's declared fields; others make every document count as changed.
        max_document_bytes: a longer text fails, alone; of UTF-8, at least 1.
        claim_bounds: documents that are looked up and claimed together.
        commit_bounds: documents that one commit of the index holds.
        max_kept_rejects: how many rejects the report carries; all are counted.
    """

    chunking: ChunkSettings = field(default_factory=ChunkSettings)
    analysis: str = "english/2"
    metadata: MetadataSchema = _NO_FIELDS
    max_document_bytes: int = 50 * MIB
    claim_bounds: Bounds = CLAIM_BOUNDS
    commit_bounds: Bounds = COMMIT_BOUNDS
    max_kept_rejects: int = 1_000

    @property
    def fingerprint(self) -> str:
        """One text for settings that index alike, chunking aside; part of every content hash."""
        fields = [f"{name}={kind}" for name, kind in sorted(self.metadata.fields.items())]
        return " ".join([self.analysis, *fields])


def ingest(
    source: Iterable[SourceDocument | Reject],
    writer: IndexWriter,
    ledger: Ledger,
    settings: IngestSettings | None = None,
    progress: OnProgress = lambda _: None,
    *,
    on_reject: OnReject = lambda _: None,
    checkpoint: Checkpoint = no_checkpoint,
) -> IngestReport:
    """Index every document of `source` that is new or has changed; return the counts.

    A bad document is a reject and the rest goes on. The same id again is a new version of one
    document. A run that was killed is repaired by the same run again: it ends as if it had never
    been disturbed, passage for passage.

    Args:
        source: read once, in order, as a stream.
        writer: rolled back where an error ends the run.
        ledger: of this index and no other.
        settings: defaults where None.
        progress: told after each batch.
        on_reject: told of every reject at once.
        checkpoint: called before and after each write, for crash tests.

    Raises:
        EngineError, LedgerError: the index or the ledger cannot be written; run it again.
    """
    run = _Run(writer, ledger, settings or IngestSettings(), progress, on_reject, checkpoint)
    try:
        return run.over(source)
    except BaseException:
        writer.rollback()
        raise


class _Arrival(NamedTuple):
    """A document that may be indexed, in the batch that is being gathered."""

    document: SourceDocument
    key: str
    digest: bytes
    size_bytes: int
    values: Values


class _Plan:
    """What is to become of one key in one batch.

    Args:
        before: its record as looked up.
        view: its record as it will be once all that came before is stored.
        latest: the arrival whose version and content count; None where nothing is to be done.
        writes: whether its passages are to be written, or its version only.
    """

    __slots__ = (
        "arrivals",
        "before",
        "claim",
        "latest",
        "spans",
        "version",
        "view",
        "writes",
    )

    def __init__(self, before: Record | None, view: Record | None) -> None:
        self.before = before
        self.view = view
        self.arrivals: list[tuple[PutOutcome, _Arrival]] = []
        self.version = 0
        self.latest: _Arrival | None = None
        self.writes = False
        self.spans: Spans = ()
        self.claim: Claim | None = None


class _Run:
    def __init__(
        self,
        writer: IndexWriter,
        ledger: Ledger,
        settings: IngestSettings,
        progress: OnProgress,
        on_reject: OnReject,
        checkpoint: Checkpoint,
    ) -> None:
        self._ledger = ledger
        self._settings = settings
        self._progress = progress
        self._on_reject = on_reject
        self._checkpoint = checkpoint
        self._hasher = ContentHasher(settings.chunking.fingerprint, settings.fingerprint)
        self._schema = settings.metadata if settings.metadata.fields else None
        self._open = OpenCommit(writer, ledger, settings.commit_bounds, checkpoint)
        self._meter = Meter(first_of(settings.claim_bounds))
        self._batch: list[_Arrival] = []
        self._failures: list[Failure] = []
        self._counts: Counter[str] = Counter()
        self._rejects: list[Reject] = []
        self._place = ""
        # Into an empty ledger documents are claimed without a look-up: what loses has a record.
        self._optimistic = ledger.is_empty()

    def over(self, source: Iterable[SourceDocument | Reject]) -> IngestReport:
        self._open.finish_deletions()
        for item in source:
            self._place = item.place
            if isinstance(item, Reject):
                self._reject(item)
            else:
                self._take(item)
            if self._meter.full:
                self._flush()
        self._flush()
        self._commit()
        return self._report()

    def _take(self, document: SourceDocument) -> None:
        title, text = clean_utf8(document.title), clean_utf8(document.text)
        if title is None or text is None:
            whole, parts = sanitised_parts(document.text, document.parts)
            document = document._replace(title=sanitised(document.title), text=whole, parts=parts)
            title, text = document.title.encode(), document.text.encode()
            self._counts["sanitised"] += 1
        key = document_key(document.tenant, document.id)
        if not text or document.text.isspace():
            self._fail(document, key, "no_text", _NO_TEXT)
            return
        if len(title) > MAX_TITLE_BYTES:
            # Every passage carries it.
            wrong = f"its title is longer than {MAX_TITLE_BYTES} bytes; send a shorter one"
            self._fail(document, key, "bad_field", wrong)
            return
        if len(text) > self._settings.max_document_bytes:
            limit = self._settings.max_document_bytes
            wrong = f"its text is longer than {limit} bytes; split it or raise the limit"
            self._fail(document, key, "document_too_large", wrong)
            return
        values = _NO_VALUES
        if document.metadata and self._schema:
            try:
                values = indexed_metadata(document.metadata, self._schema)
            except MetadataError as failure:
                self._fail(document, key, "bad_metadata", str(failure))
                return
        placed = (document.parts_apart, document.parts) if document.parts else None
        digest = self._hasher.digest(title, text, document.metadata, document.access, placed)
        size = len(title) + len(text)
        self._batch.append(_Arrival(document, key, digest, size, values))
        self._meter.add(1, size)

    def _flush(self) -> None:
        arrivals, self._batch = self._batch, []
        self._meter = Meter(self._settings.claim_bounds)
        while arrivals:
            arrivals = self._write(arrivals)
        if self._failures:
            self._ledger.failed(self._failures)
            self._failures = []
        counts = self._counts
        self._progress(Progress(self._met(), counts["failed"], counts["passages"], self._place))

    def _write(self, arrivals: list[_Arrival]) -> list[_Arrival]:
        """Claim and write a batch; return what lost its claim and has to be decided again."""
        keys = list(dict.fromkeys([each.key for each in arrivals]))
        records = {} if self._optimistic else self._ledger.look_up(keys)
        if not records and len(keys) == len(arrivals):
            return self._write_new(arrivals)
        plans = self._plan(arrivals, records)
        lost = self._claim(plans)
        for key, plan in plans.items():
            if key not in lost:
                self._carry_out(plan)
        return self._lost([each for each in arrivals if each.key in lost])

    def _write_new(self, arrivals: list[_Arrival]) -> list[_Arrival]:
        """Do what `_write` does where each document is new and comes once: the usual first run."""
        claims: list[Claim] = []
        spans: list[Spans] = []
        for document, key, digest, _, _ in arrivals:
            version = decide_put(None, document.version, digest).version
            cut = self._cut(document)
            count = len(cut)
            spans.append(cut)
            claims.append(
                Claim(
                    key,
                    document.id,
                    document.tenant,
                    version,
                    digest,
                    count,
                    count,
                    tombstone=False,
                    before=None,
                )
            )
        self._checkpoint("ledger claim: before")
        lost = self._ledger.claim(claims)
        for arrival, claim, each in zip(arrivals, claims, spans, strict=True):
            if claim.key in lost:
                continue
            if refused := self._put(claim, arrival, each):
                self._reject_refused(arrival, refused)
            else:
                self._counts["added"] += 1
        return self._lost([each for each in arrivals if each.key in lost]) if lost else []

    def _lost(self, arrivals: list[_Arrival]) -> list[_Arrival]:
        if arrivals:
            self._optimistic = False
        return arrivals

    def _plan(
        self, arrivals: Iterable[_Arrival], records: Mapping[str, Record]
    ) -> dict[str, _Plan]:
        plans: dict[str, _Plan] = {}
        for arrival in arrivals:
            key = arrival.key
            plan = plans.get(key)
            if plan is None:
                record = records.get(key)
                plan = plans[key] = _Plan(record, record and self._open.view(record))
            elif plan.latest is not None:
                # The next arrival of a key is decided on as if the one before it were stored.
                plan.view = _record_of(plan.latest, plan.version)
            decision = decide_put(plan.view, arrival.document.version, arrival.digest)
            outcome = decision.outcome
            plan.arrivals.append((outcome, arrival))
            if outcome in _TAKES_EFFECT:
                plan.latest = arrival
                plan.version = decision.version
                plan.writes |= outcome != "renewed"
        return plans

    def _cut(self, document: SourceDocument) -> Spans:
        if document.parts_apart:
            starts = [start for start, _ in document.parts]
            return chunk_parts(document.text, starts, self._settings.chunking)
        return chunk(document.text, self._settings.chunking)

    def _claim(self, plans: Mapping[str, _Plan]) -> frozenset[str]:
        claims: list[Claim] = []
        renewals: list[Claim] = []
        for key, plan in plans.items():
            arrival = plan.latest
            if arrival is None:
                continue
            document = arrival.document
            if plan.writes:
                plan.spans = self._cut(document)
            count = len(plan.spans)
            before = plan.before
            plan.claim = Claim(
                key,
                document.id,
                document.tenant,
                plan.version,
                arrival.digest,
                count,
                count if before is None else max(count, before.claimed),
                False,
                before,
            )
            (claims if plan.writes else renewals).append(plan.claim)
        lost: frozenset[str] = frozenset()
        if claims:
            self._checkpoint("ledger claim: before")
            lost |= self._ledger.claim(claims)
        if renewals:
            self._checkpoint("ledger renew: before")
            lost |= self._ledger.renew(renewals)
        return lost

    def _carry_out(self, plan: _Plan) -> None:
        refused = ""
        if plan.claim is not None and plan.latest is not None:
            if plan.writes:
                refused = self._put(plan.claim, plan.latest, plan.spans)
            else:
                self._open.renewed(plan.claim)
        counts = self._counts
        for outcome, arrival in plan.arrivals:
            if outcome == "conflict":
                self._reject_conflict(arrival)
            elif refused and outcome in _TAKES_EFFECT:
                self._reject_refused(arrival, refused)
            else:
                counts["unchanged" if outcome == "renewed" else outcome] += 1

    def _put(self, claim: Claim, arrival: _Arrival, spans: Spans) -> str:
        """Write a document's passages; return why the index refuses them, or nothing."""
        passages = _passages(arrival.document, spans)
        if arrival.document.parts or arrival.values:
            passages = _described(passages, arrival, spans)
        try:
            self._open.put(claim, passages, arrival.size_bytes)
        except ValueError as failure:
            # Of this document alone, which stays claimed: its earlier version stays searchable
            # and its next one is taken, whatever this one's number.
            return f"the index cannot hold it: {failure}"
        self._counts["passages"] += len(passages)
        if self._open.full:
            self._commit()
        return ""

    def _commit(self) -> None:
        for claim, reason in self._open.commit():
            before = claim.before
            is_new = before is None or before.tombstone or before.passages == 0
            self._counts["added" if is_new else "changed"] -= 1
            self._counts["passages"] -= claim.passages
            wrong = f"the index cannot hold it: {reason}"
            self._reject(Reject(claim.document_id, "not_storable", wrong, claim.document_id))

    def _fail(self, document: SourceDocument, key: str, reason: ReasonCode, wrong: str) -> None:
        self._failures.append(Failure(key, document.id, document.tenant, reason))
        self._reject(Reject(document.place, reason, wrong, document.id))

    def _reject_refused(self, arrival: _Arrival, wrong: str) -> None:
        document = arrival.document
        self._reject(Reject(document.place, "not_storable", wrong, document.id))

    def _reject_conflict(self, arrival: _Arrival) -> None:
        document = arrival.document
        wrong = (
            f"version {document.version} is known with other content, or as a deletion; "
            "send a changed document with a higher version"
        )
        self._reject(Reject(document.place, "version_conflict", wrong, document.id))

    def _reject(self, reject: Reject) -> None:
        self._counts["failed"] += 1
        if len(self._rejects) < self._settings.max_kept_rejects:
            self._rejects.append(reject)
        self._on_reject(reject)

    def _met(self) -> int:
        counts = self._counts
        return counts.total() - counts["passages"] - counts["sanitised"]

    def _report(self) -> IngestReport:
        pending = sum(1 for _ in self._ledger.pending())
        return IngestReport(**self._counts, pending=pending, rejects=tuple(self._rejects))


def _record_of(arrival: _Arrival, version: int) -> Record:
    """Return what decisions need of the record that a document will have once it is stored."""
    document = arrival.document
    return Record(
        arrival.key,
        document.id,
        document.tenant,
        version,
        arrival.digest,
        passages=1,
        claimed=1,
        state="stored",
        tombstone=False,
    )


def _described(passages: list[Passage], arrival: _Arrival, spans: Spans) -> list[Passage]:
    found = locations(arrival.document.parts, spans)
    return [
        passage._replace(location=location, metadata=arrival.values)
        for passage, location in zip(passages, found, strict=True)
    ]


def _passages(document: SourceDocument, spans: Spans) -> list[Passage]:
    tenant, identity, text = document.tenant, document.id, document.text
    return [
        Passage(
            passage_id(tenant, identity, number),
            identity,
            number,
            document.title,
            text[start:end],
            start,
            end,
            tenant,
            document.access,
        )
        for number, (start, end) in enumerate(spans)
    ]
