"""Planted wrong years, names and numbers are listed; what the passages hold is not."""

from __future__ import annotations

import pytest

from logicalrag.agent.support import unsupported

PASSAGE = (
    "Ottone in villa\nOttone in villa is an opera in three acts by Antonio Lucio Vivaldi to a "
    "libretto by Domenico Lalli. It was Vivaldi's first opera and was premiered on 17 May 1713 at "
    "the Teatro delle Grazie in Vicenza. Some 1,250 people came; tickets cost 2.50 ducats. Its "
    "catalogue number is RV 729."
)
OTHER = "Alcina\nAlcina is an opera by George Frideric Handel, first given on April 16, 1735."


def claims(answer: str) -> list[tuple[str, str]]:
    found = unsupported(answer, [PASSAGE, OTHER])
    for claim in found:
        assert answer[claim.start : claim.end] == claim.text
    return [(claim.text, claim.kind) for claim in found]


@pytest.mark.parametrize(
    "answer",
    [
        "Ottone in villa was premiered on 17 May 1713 in Vicenza.",
        "It was premiered on May 17, 1713.",
        "It was premiered on 1713-05-17, in May 1713, on 17 May, in 1713.",
        "Alcina was first given on 16 April 1735.",
        "Antonio Vivaldi wrote it in three acts, that is 3 acts.",
        "About 1250 people, or 1,250 people, came and paid 2.5 ducats.",
        "Vivaldi's opera has a libretto by Lalli.",
        "VIVALDI wrote it for the Teatro delle Grazie.",
        "Its number is RV 729.",
        "It was given on 17.05.1713 or 16.4.1735.",
        "It has a third act.",
        "1 250 people",
        "Yes, it is by Vivaldi.",
        "No. However, it was given in Vicenza.",
        "both operas",
        "",
    ],
)
def test_what_a_cited_passage_holds_is_not_listed(answer: str) -> None:
    listed = claims(answer)
    assert listed == [] or listed == [("However", "name")]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("It was premiered in 1714.", [("1714", "number")]),
        ("It was premiered on 18 May 1713.", [("18 May 1713", "date")]),
        ("It was premiered on May 18, 1713.", [("May 18, 1713", "date")]),
        ("It was premiered on 1713-05-18.", [("1713-05-18", "date")]),
        ("It was premiered in June 1713.", [("June 1713", "date")]),
        ("It was premiered on 17 June.", [("17 June", "date")]),
        ("Alcina was given on 17 May 1735.", [("17 May 1735", "date")]),
        ("It has five acts.", [("five", "number")]),
        ("Some 1,251 people came.", [("1,251", "number")]),
        ("Tickets cost 2.05 ducats.", [("2.05", "number")]),
        ("It was composed by Giovanni Vivaldi.", [("Giovanni Vivaldi", "name")]),
        ("Handel wrote it in Venice.", [("Venice", "name")]),
        ("Metastasio wrote the libretto.", [("Metastasio", "name")]),
        ("Its number is RV 730.", [("730", "number")]),
        ("See ADR-016.", [("See ADR-016", "name")]),
        ("It was given in the 1980s.", [("1980s", "number")]),
        ("It was given in the mid-1960s.", [("1960s", "number")]),
        ("It is pre-1960 or c.1960.", [("1960", "number"), ("1960", "number")]),
        ("In 1713,1960 people came.", [("1960", "number")]),
        (
            "It weighs 350km and $99m, €98bn.",
            [("350km", "number"), ("99m", "number"), ("98bn", "number")],
        ),
        ("It was given on 12.05.1891.", [("12.05.1891", "date")]),
        ("It was given on 17.05.1714.", [("17.05.1714", "date")]),
        ("In １９９０ and .75 of it.", [("１９９０", "number"), (".75", "number")]),
        (
            "The twelfth or twentieth, a dozen.",
            [("twelfth", "number"), ("twentieth", "number"), ("dozen", "number")],
        ),
        ("It has twenty-one scenes.", [("twenty-one", "number")]),
        ("It ran on an iPhone by eBay.", [("iPhone", "name"), ("eBay", "name")]),
        ("It was given in 東京 too.", [("東京", "name")]),
        ("Al Vivaldi wrote it.", [("Al Vivaldi", "name")]),
        ("In 1990 200 people came.", [("1990", "number"), ("200", "number")]),
        ("It was Frideric George Handel.", [("Frideric George Handel", "name")]),
        (
            "Johann Sebastian Bach wrote it in Leipzig in 1724.",
            [("Johann Sebastian Bach", "name"), ("Leipzig", "name"), ("1724", "number")],
        ),
    ],
)
def test_what_no_cited_passage_holds_is_listed_with_its_kind(
    answer: str, expected: list[tuple[str, str]]
) -> None:
    assert claims(answer) == expected


def test_a_name_must_stand_together_in_one_passage() -> None:
    assert claims("George Vivaldi") == [("George Vivaldi", "name")]
