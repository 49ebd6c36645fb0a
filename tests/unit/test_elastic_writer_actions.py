"""The lines of bulk requests: what they say, and how they move to another alias."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logicalrag.engines.elastic.actions import (
    alias_of,
    encoded_passages,
    puts,
    readdressed,
    removals,
)
from logicalrag.engines.elastic.layout import Layout, passage_of
from logicalrag.engines.identity import document_key, passage_id
from logicalrag.engines.metadata import MetadataError, MetadataSchema
from logicalrag.engines.protocol import Passage

ENGLISH, STANDARD = Layout("english"), Layout("standard")
KEY = document_key("default", "d")


def passage(text: str = "Running words", **more: Any) -> Passage:
    made = Passage(passage_id("default", "d", 0), "d", 0, "Title", text, 0, len(text))
    return made._replace(**more)


def put(layout: Layout, of: Passage) -> bytes:
    (action,) = puts("g-Write-1", KEY, 7, [of.id], encoded_passages(layout, [of]))
    return action


def test_a_put() -> None:
    action, source, end = put(ENGLISH, passage()).split(b"\n")
    assert orjson.loads(action) == {
        "index": {
            "_index": "g-Write-1",
            "version_type": "external_gte",
            "version": 7,
            "routing": KEY,
            "_id": passage().id,
        }
    }
    assert orjson.loads(source) == ENGLISH.source(passage())
    assert end == b""


def test_removals() -> None:
    actions = removals("g-Write-1", KEY, 2**63 - 1, "default", "d", range(3, 5))
    assert [orjson.loads(each)["delete"] for each in actions] == [
        {
            "_index": "g-Write-1",
            "version_type": "external_gte",
            "version": 2**63 - 1,
            "routing": KEY,
            "_id": passage_id("default", "d", number),
        }
        for number in (3, 4)
    ]
    assert all(each.count(b"\n") == 1 and each.endswith(b"\n") for each in actions)


@pytest.mark.parametrize("now", [ENGLISH, STANDARD])
@pytest.mark.parametrize("before", [ENGLISH, STANDARD])
def test_another_alias_and_another_layout(before: Layout, now: Layout) -> None:
    moved = readdressed(put(before, passage()), "g-Next-22", before, now)
    assert moved == put(now, passage()).replace(b"g-Write-1", b"g-Next-22")
    assert alias_of(moved) == "g-Next-22"


def test_a_removal_moves_too() -> None:
    (action,) = removals("g-Write-1", KEY, 1, "default", "d", range(1))
    assert readdressed(action, "g-Next-2", ENGLISH, STANDARD) == action.replace(
        b"g-Write-1", b"g-Next-2"
    )


def test_a_field_that_is_not_declared_now() -> None:
    before = Layout("english", MetadataSchema({"year": "number"}))
    action = put(before, passage(metadata={"year": (1.0,)}))
    with pytest.raises(MetadataError, match="year"):
        readdressed(action, "g-Next-2", before, ENGLISH)


def test_a_text_that_looks_like_an_action_stays_text() -> None:
    text = 'a\n{"index":{"_index":"other","_id":"1"}}\n{"x":1}\n"_index":"g"'
    action = put(ENGLISH, passage(text, document_id='"_index":"', title='"}}\n'))
    assert action.count(b"\n") == 2
    assert alias_of(action) == "g-Write-1"
    moved = readdressed(action, "b", ENGLISH, STANDARD)
    assert passage_of(orjson.loads(moved.split(b"\n")[1])).text == text


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(codec="utf-8")))
def test_any_text_comes_back(title: str, text: str) -> None:
    given_ = passage(text, title=title, access=("a", ""), location="page 1")
    action = put(ENGLISH, given_)
    assert action.count(b"\n") == 2
    assert passage_of(orjson.loads(action.split(b"\n")[1])) == given_


@pytest.mark.parametrize(
    "bad",
    [{"text": "\ud800"}, {"title": "\udfff"}, {"location": "\ud800"}, {"access": ("\ud800",)}],
)
def test_a_lone_surrogate_is_refused(bad: dict[str, Any]) -> None:
    fine = passage()
    with pytest.raises(ValueError, match="passage 0 of document 'd' holds a lone surrogate"):
        encoded_passages(ENGLISH, [fine, fine._replace(**bad)])
