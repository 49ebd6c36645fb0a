"""Every ledger: claims are compare-and-set, and what is marked stays marked."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ingest.ledger import Claim, Failure, Ledger, Record
from logicalrag.engines.identity import document_key
from tests.conformance.ledgers import NewLedger, ledger, new_ledger
from tests.servers.elasticsearch_fixtures import elasticsearch

__all__ = ["elasticsearch", "ledger", "new_ledger"]


def _claim(
    name: str,
    version: int = 1,
    *,
    before: Record | None = None,
    passages: int = 2,
    digest: bytes = b"h",
    tombstone: bool = False,
    tenant: str = "t",
) -> Claim:
    claimed = passages if before is None else max(passages, before.claimed)
    return Claim(
        key=document_key(tenant, name),
        document_id=name,
        tenant=tenant,
        version=version,
        content_hash=b"" if tombstone else digest,
        passages=passages,
        claimed=claimed,
        tombstone=tombstone,
        before=before,
    )


def _record(ledger: Ledger, name: str, tenant: str = "t") -> Record:
    key = document_key(tenant, name)
    return ledger.look_up([key])[key]


def _names(records: Iterable[Record]) -> list[str]:
    return sorted(each.document_id for each in records)


def test_it_is_a_ledger(ledger: Ledger) -> None:
    assert isinstance(ledger, Ledger)
    assert ledger.is_empty()
    assert (ledger.counts("t"), ledger.passages("t")) == ({}, 0)
    assert list(ledger.pending()) == []
    assert list(ledger.records()) == []
    assert ledger.look_up([]) == {}
    assert ledger.claim([]) == ledger.renew([]) == frozenset()
    ledger.stored([])
    ledger.failed([])
    assert ledger.is_empty()


def test_a_claim_becomes_stored_and_others_see_it(new_ledger: NewLedger) -> None:
    ledger, other = new_ledger(), new_ledger()
    claim = _claim("a b/ü \"'\\\n", 2**62, passages=3, digest=bytes(range(256)))
    assert ledger.claim([claim]) == frozenset()
    claimed = Record(
        claim.key,
        claim.document_id,
        "t",
        2**62,
        bytes(range(256)),
        passages=0,
        claimed=3,
        state="claimed",
        tombstone=False,
    )
    for each in (ledger, other):
        assert _record(each, claim.document_id) == claimed
    ledger.stored([claim])
    ledger.close()
    ledger.close()
    for each in (other, new_ledger()):
        assert not each.is_empty()
        assert _record(each, claim.document_id) == claimed._replace(state="stored", passages=3)


def test_a_shorter_version_keeps_the_largest_number_ever_claimed(ledger: Ledger) -> None:
    first = _claim("a", 1, passages=9)
    ledger.claim([first])
    ledger.stored([first])
    second = _claim("a", 2, before=_record(ledger, "a"), passages=2)
    assert ledger.claim([second._replace(claimed=2)]) == frozenset()
    between = _record(ledger, "a")
    assert (between.state, between.passages, between.claimed) == ("claimed", 9, 9)
    ledger.stored([second])
    after = _record(ledger, "a")
    assert (after.state, after.passages, after.claimed, after.version) == ("stored", 2, 9, 2)


def test_a_deletion_leaves_a_tombstone(ledger: Ledger) -> None:
    first = _claim("a", 1)
    ledger.claim([first])
    ledger.stored([first])
    gone = _claim("a", 2, before=_record(ledger, "a"), passages=0, tombstone=True)
    ledger.claim([gone])
    assert [each.tombstone for each in ledger.pending()] == [True]
    ledger.stored([gone])
    record = _record(ledger, "a")
    assert (record.state, record.passages, record.claimed) == ("deleted", 0, 2)
    assert list(ledger.pending()) == []
    assert (ledger.counts("t"), ledger.passages("t")) == ({"deleted": 1}, 0)


def test_who_was_slower_loses_and_changes_nothing(new_ledger: NewLedger) -> None:
    one, other = new_ledger(), new_ledger()
    assert one.claim([_claim("a", 1), _claim("b", 1)]) == frozenset()
    lost = other.claim([_claim("a", 5, digest=b"x"), _claim("c", 1)])
    assert lost == {document_key("t", "a")}
    assert _record(one, "a").version == 1
    assert _record(one, "c").state == "claimed"

    before = _record(other, "a")
    assert one.claim([_claim("a", 2, before=before)]) == frozenset()
    assert other.claim([_claim("a", 3, before=before)]) == {document_key("t", "a")}
    assert other.renew([_claim("a", 4, before=before)]) == {document_key("t", "a")}
    assert _record(other, "a").version == 2
    nobody = _claim("absent", 2, before=before._replace(key=document_key("t", "absent")))
    assert other.claim([nobody]) == other.renew([nobody]) == {nobody.key}
    assert other.look_up([nobody.key]) == {}


def test_the_record_decided_on_counts_and_not_the_one_looked_up_last(
    new_ledger: NewLedger,
) -> None:
    one, other = new_ledger(), new_ledger()
    first = _claim("a", 1)
    one.claim([first])
    decided_on = _record(other, "a")
    one.stored([first])
    # Closed since, without another look.
    assert other.claim([_claim("a", 2, before=decided_on)]) == {first.key}
    stored = _record(one, "a")
    newer = _claim("a", 2, before=stored)
    assert one.claim([newer]) == frozenset()
    assert _record(other, "a").version == 2
    assert other.claim([_claim("a", 3, before=stored)]) == {first.key}
    assert other.renew([_claim("a", 3, before=stored)]) == {first.key}
    # And it may come from another look, as from those that are pending.
    [again] = list(new_ledger().pending())
    assert other.claim([_claim("a", 3, before=again)]) == frozenset()


def test_what_was_claimed_anew_is_not_marked(new_ledger: NewLedger) -> None:
    one, other = new_ledger(), new_ledger()
    first, second = _claim("a", 1), _claim("b", 1)
    one.claim([first, second])
    newer = _claim("a", 2, before=_record(other, "a"), digest=b"new")
    assert other.claim([newer]) == frozenset()
    one.stored([first, second])
    assert _record(one, "a").state == "claimed"
    assert _record(one, "b").state == "stored"
    other.stored([newer])
    assert _record(one, "a").state == "stored"


def test_only_the_claim_that_was_made_last_is_marked(ledger: Ledger) -> None:
    first = _claim("a", 1, digest=b"1")
    ledger.claim([first])
    refused = _claim("a", 2, digest=b"2", before=_record(ledger, "a"))
    ledger.claim([refused])
    ledger.stored([first])  # the index could not hold the second
    assert (_record(ledger, "a").state, _record(ledger, "a").version) == ("claimed", 2)
    ledger.stored([refused])
    assert _record(ledger, "a").state == "stored"


def test_claims_can_be_marked_in_parts(ledger: Ledger) -> None:
    claims = [_claim(name) for name in "abcd"]
    ledger.claim(claims[:3])
    ledger.claim(claims[3:])
    ledger.stored([claims[0], claims[3]])
    assert _names(ledger.pending()) == ["b", "c"]
    assert ledger.passages("t") == 4
    assert ledger.counts("t") == {"stored": 2, "claimed": 2}
    ledger.stored(claims[1:2])
    ledger.stored(claims[1:])
    assert list(ledger.pending()) == []
    assert ledger.passages("t") == 8
    assert ledger.counts("t") == {"stored": 4}


def test_counts_are_of_one_tenant(ledger: Ledger) -> None:
    ours = [_claim("a", passages=3), _claim("b", passages=4)]
    theirs = [_claim("a", 7, tenant="u", passages=5), _claim("c", tenant="u")]
    ledger.claim([*ours, *theirs])
    ledger.stored([ours[0], theirs[0]])
    assert ledger.counts("t") == ledger.counts("u") == {"stored": 1, "claimed": 1}
    assert (ledger.passages("t"), ledger.passages("u"), ledger.passages("v")) == (3, 5, 0)
    assert ledger.counts("v") == {}
    assert (_record(ledger, "a").version, _record(ledger, "a", "u").version) == (1, 7)


def test_what_a_killed_run_claimed_is_pending_until_another_run_stores_it(
    new_ledger: NewLedger,
) -> None:
    new_ledger().claim([_claim("a"), _claim("b", passages=3)])
    ledger = new_ledger()
    assert _names(ledger.pending()) == ["a", "b"]
    assert ledger.counts("t") == {"claimed": 2}
    assert ledger.passages("t") == 0
    again = _claim("a", before=_record(ledger, "a"))
    assert ledger.claim([again]) == frozenset()
    ledger.stored([again])
    assert _names(ledger.pending()) == ["b"]
    assert ledger.counts("t") == {"claimed": 1, "stored": 1}
    assert ledger.passages("t") == 2
    last = _claim("b", before=_record(ledger, "b"))
    assert ledger.claim([last]) == frozenset()
    ledger.stored([last])
    assert ledger.counts("t") == {"stored": 2}


def test_another_run_can_mark_what_it_did_not_claim(new_ledger: NewLedger) -> None:
    gone = [_claim(name, passages=0, tombstone=True) for name in "ab"]
    new_ledger().claim(gone)
    ledger = new_ledger()
    ledger.stored([each._replace(before=_record(ledger, each.document_id)) for each in gone])
    assert ledger.counts("t") == {"deleted": 2}
    assert list(new_ledger().pending()) == []


def test_a_claim_keeps_what_is_stored_until_it_is_closed(ledger: Ledger) -> None:
    first = _claim("a", passages=5)
    ledger.claim([first])
    ledger.stored([first])
    shorter = _claim("a", 2, before=_record(ledger, "a"), passages=1, digest=b"i")
    ledger.claim([shorter])
    assert _record(ledger, "a")._replace(content_hash=b"") == Record(
        first.key, "a", "t", 2, b"", 5, 5, "claimed", False
    )
    once_more = _claim("a", 3, before=_record(ledger, "a"), passages=2, digest=b"j")
    ledger.claim([once_more])
    assert (_record(ledger, "a").passages, _record(ledger, "a").state) == (5, "claimed")
    ledger.stored([once_more])
    assert (_record(ledger, "a").passages, _record(ledger, "a").state) == (2, "stored")


def test_renewing_changes_the_version_alone(ledger: Ledger) -> None:
    first = _claim("a", 1)
    ledger.claim([first])
    ledger.stored([first])
    before = _record(ledger, "a")
    assert ledger.renew([_claim("a", 9, before=before)]) == frozenset()
    assert _record(ledger, "a") == before._replace(version=9)
    assert list(ledger.records()) in ([(before._replace(version=9), version)] for version in (1, 9))


def test_what_is_renewed_while_it_is_claimed_can_be_marked(ledger: Ledger) -> None:
    first, rest = _claim("a", 1), _claim("b", 1)
    ledger.claim([first, rest])
    assert ledger.renew([_claim("a", 9, before=_record(ledger, "a"))]) == frozenset()
    assert (_record(ledger, "a").state, _record(ledger, "a").version) == ("claimed", 9)
    ledger.stored([first])
    assert _record(ledger, "a").state == "claimed"
    ledger.stored([first._replace(version=9), rest])
    assert ledger.counts("t") == {"stored": 2}


def test_a_failure_never_hides_what_is_stored(ledger: Ledger) -> None:
    stored = _claim("a")
    ledger.claim([stored])
    ledger.stored([stored])
    failures = [
        Failure(document_key("t", name), name, "t", reason)
        for name, reason in (("a", "no_text"), ("b", "no_text"), ("b", "document_too_large"))
    ]
    ledger.failed(failures)
    ledger.failed(failures[:2])
    assert ledger.counts("t") == {"stored": 1, "failed": 1}
    failed = _record(ledger, "b")
    assert failed == Record(failures[1].key, "b", "t", 0, b"", 0, 0, "failed", False)
    assert ledger.claim([_claim("b", before=failed)]) == frozenset()
    ledger.failed(failures)
    assert _record(ledger, "b").state == "claimed"


def test_many_keys_are_looked_up_at_once(ledger: Ledger) -> None:
    claims = [_claim(str(number), passages=number) for number in range(1, 5_001)]
    assert ledger.claim(claims) == frozenset()
    wanted = [claim.key for claim in claims] + ["absent"]
    assert set(ledger.look_up(wanted)) == {claim.key for claim in claims}
    assert {each.key for each in ledger.pending()} == {claim.key for claim in claims}
    assert ledger.counts("t") == {"claimed": 5_000}
    ledger.stored(claims)
    assert ledger.counts("t") == {"stored": 5_000}
    assert ledger.passages("t") == 5_000 * 5_001 // 2
    assert {(each.key, each.passages, version) for each, version in ledger.records()} == {
        (claim.key, claim.passages, 1) for claim in claims
    }


def test_a_stopped_claim_is_pending_or_was_never_made(new_ledger: NewLedger) -> None:
    seen: list[str] = []

    def stop_at(step: int) -> None:
        def stop(name: str) -> None:
            seen.append(name)
            if len(seen) == step + 1:
                raise KeyboardInterrupt

        name = f"stopped at {step}"
        with pytest.raises(KeyboardInterrupt):
            new_ledger(stop).claim([_claim(name)])
        found = _names(new_ledger().pending())
        assert (name in found) == any("after" in each for each in seen)

    for step in range(2):
        seen.clear()
        stop_at(step)
    assert new_ledger().passages("t") == 0
