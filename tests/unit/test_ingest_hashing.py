"""The content hash: every part counts, and parts do not run into each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.chunking import ChunkSettings
from ingest.hashing import HASH_BYTES, ContentHasher, canonical_json
from ingest.token_counters import CHARACTERS

HASHER = ContentHasher("chunks/1 1000", "english/1")
BASE: dict[str, Any] = {"title": b"t", "text": b"text", "metadata": {"k": 1}, "access": ("g",)}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_it_has_one_length_and_is_the_same_each_time() -> None:
    first = HASHER.digest(**BASE)
    assert len(first) == HASH_BYTES
    assert first == ContentHasher("chunks/1 1000", "english/1").digest(**BASE)


@pytest.mark.parametrize(
    "changed",
    [
        {"title": b"u"},
        {"text": b"texts"},
        {"title": b"tt", "text": b"ext"},
        {"metadata": {"k": 2}},
        {"metadata": {}},
        {"access": ("g", "h")},
        {"access": ()},
        {"access": None},
    ],
)
def test_every_part_counts(changed: dict[str, Any]) -> None:
    assert HASHER.digest(**(BASE | changed)) != HASHER.digest(**BASE)


def test_an_empty_access_list_is_not_an_absent_one() -> None:
    assert HASHER.digest(**(BASE | {"access": ()})) != HASHER.digest(**(BASE | {"access": None}))


def test_settings_and_analysis_count() -> None:
    digests = {
        ContentHasher(chunking, analysis).digest(**BASE)
        for chunking in ("a", "b", "ab", "")
        for analysis in ("1", "2", "b1")
    }
    assert len(digests) == 12


def test_the_order_of_keys_and_groups_says_nothing() -> None:
    one = HASHER.digest(b"", b"x", {"a": 1, "b": [2, 3]}, ("g", "h", "g"))
    assert one == HASHER.digest(b"", b"x", {"b": [2, 3], "a": 1}, ("h", "g"))
    assert one != HASHER.digest(b"", b"x", {"b": [3, 2], "a": 1}, ("h", "g"))


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_any_metadata_can_be_hashed(metadata: dict[str, object]) -> None:
    assert canonical_json(metadata) == canonical_json(dict(reversed(metadata.items())))


def test_integers_of_any_size_and_lone_surrogates_can_be_hashed() -> None:
    assert canonical_json({"n": 2**70}) == b'{"n":1180591620717411303424}'
    assert canonical_json({"s": "\ud800"}) != canonical_json({"s": "\ud801"})


def test_fingerprints_name_what_cuts_differently() -> None:
    settings = [
        ChunkSettings(),
        ChunkSettings(size=999),
        ChunkSettings(overlap=1),
        ChunkSettings(unit="characters"),
        ChunkSettings(unit="sentences"),
        ChunkSettings(counter=CHARACTERS),
        ChunkSettings(mode="passage"),
        ChunkSettings(language="ja"),
    ]
    assert len({each.fingerprint for each in settings}) == len(settings)
    assert ChunkSettings(mode="passage", size=5).fingerprint == (
        ChunkSettings(mode="passage").fingerprint
    )
