"""Characters no index can hold: replaced or removed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingest.sanitising import clean_utf8, sanitised

ANY_TEXT = st.text(alphabet=st.characters())


def test_the_case_of_the_list() -> None:
    assert sanitised("a\ud800b\x00c") == "a\ufffdbc"


def test_line_ends_and_tabs_stay_and_page_breaks_part_words() -> None:
    assert sanitised("a\tb\r\nc") == "a\tb\r\nc"
    assert sanitised("end\fStart\vnext\x1b[0m") == "end\nStart\nnext[0m"


def test_every_other_control_goes() -> None:
    controls = "".join(map(chr, range(32)))
    assert sanitised(f"x{controls}y") == "x\t\n\n\n\ry"


@given(ANY_TEXT)
def test_what_comes_out_is_clean_and_stays(text: str) -> None:
    clean = sanitised(text)
    assert clean_utf8(clean) == clean.encode()
    assert sanitised(clean) is clean


@given(ANY_TEXT)
def test_the_cheap_check_agrees(text: str) -> None:
    assert (clean_utf8(text) is None) == (sanitised(text) != text)
