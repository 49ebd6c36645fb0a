"""Small random documents in a vocabulary that exercises stems, accents, scripts and codes.

The characters are those on which the product's folding table and the oracle's own rule agree:
letters with marks, ß, æ, ø, đ, ł, ı and their like, but no phonetic letters, digraphs, circled or
raised digits.
"""

from __future__ import annotations

import random
import re

from tests.conformance.documents import Document

_WORDS = (
    *("the", "to", "be", "or", "not", "and", "of", "a"),
    *("operation", "operations", "operate", "operational", "operating", "run", "running", "runs"),
    *("university", "universities", "universe", "organization", "organized", "generic", "general"),
    *("Café", "cafe\u0301", "CAFE", "naïve", "naive", "Straße", "STRASSE", "Øresund", "smørrebrød"),
    *("İstanbul", "ısı", "Łódź", "lodz", "þing", "Ægir", "œuvre", "Ångström", "đồng"),
    *("Москва", "москва", "Й", "Ελλάδα", "ΣΊΣΥΦΟΣ", "हिन्दी", "한국어", "शक्ति"),
    *("東京", "東京都庁", "ひらがな", "カタカナ", "第一文", "漢字kanji"),
    *("ERR_CONN_RESET", "v2.14.3", "SKU-99/A", "ADR-016", "2010-05-17", "§4.2", "1984", "_"),
    *("O'Brien", "O’Brien's", "Paris’s", "dog's", "dogs", "AT&T", "C++", "co\u00adoperate"),
    *("zero\u200bwidth", "zerowidth", "x" * 64 + "tail", "y" * 130, "e\u0301\u0302a", "!!!", "—"),
)
_SEPARATORS = (" ", " ", " ", " ", ", ", ". ", "-", "/", "\n", "\u00a0", " “", "” ")


# What real text holds of the letters that only the product folds: phonetic ones and ligatures.
_ONLY_THE_PRODUCT_FOLDS = re.compile("[\u0250-\u02af\u1d00-\u1dbf\ufb00-\ufb06]")


def without_exotic_letters(text: str) -> str:
    """Return real text with a plain letter for each that only the product's table folds."""
    return _ONLY_THE_PRODUCT_FOLDS.sub("x", text)


def seeded(seed: int) -> random.Random:
    """Return a generator that gives the same choices in every run."""
    return random.Random(seed)  # noqa: S311 — to be repeatable, not to be secret


def random_documents(random_: random.Random, count: int) -> list[Document]:
    """Return `count` documents of 1 to 4 passages; some titles are empty, some texts equal."""
    vocabulary = random_.sample(_WORDS, random_.randint(6, len(_WORDS)))

    def text(longest: int) -> str:
        words = random_.choices(vocabulary, k=random_.randint(1, longest))
        return "".join(word + random_.choice(_SEPARATORS) for word in words)

    made: list[Document] = []
    for number in range(count):
        texts = tuple(text(30) for _ in range(random_.randint(1, 4)))
        if made and random_.random() < 0.1:
            texts = random_.choice(made).texts
        title = text(4) if random_.random() < 0.8 else ""
        made.append(Document(f"doc {number}", texts, title))
    return made
