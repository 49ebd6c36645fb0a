"""Which single-byte encoding a text in a Latin script is in, by the letters of its language.

The same byte is ø in one encoding and ř in the next, and statistics need pages to tell them
apart. A language's alphabet tells sooner: Danish has ø, å and æ, and no language here has ř, ĺ
and ć. Where two readings are both some language's, common short words decide, and where there are
none, the encoding that is by far the most usual (Windows-1252, of which Latin-1 is a part).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import regex

_WESTERN_SPELLING = {
    "da": ("æøåé", "og i at det er en til af ikke med den har som for på"),
    "de": ("äöüßé", "der die und das in den von zu mit ist des nicht ein eine aus im"),
    "en": (
        "éèêëïñçöüäáàôâîæœåøíóú",
        "the of and to in is that it for was on with as at by a an are be this from or do so no he",
    ),
    "es": ("áéíóúñü", "de la que el en y los del se las por un para con una no"),
    "fi": ("äöåšž", "ja on ei se oli joka ovat myös kun hän mutta sekä"),
    "fr": ("àâæçéèêëîïôœùûüÿ", "de la le et les des en un du une que est pour qui dans au"),
    "is": ("áéíóúýþæöð", "og er sem til var um en með ekki hann við frá"),
    "it": ("àèéìíòóùú", "di che e la il un a per in una non sono del si le con"),
    "nl": ("éëèïóöüáêíúç", "de van het een en in is dat op te voor met zijn niet"),
    "pt": ("áâãàçéêíóôõúü", "de a que o e do da em um para com uma os no se na"),
    "sv": ("åäöéü", "och i att det som en av för med den till inte om har"),
}
_CENTRAL_SPELLING = {
    "cs": ("áčďéěíňóřšťúůýž", "se na je to ve ze si by jako pro ale jsem jeho"),
    "hr": ("čćđšž", "je u i se na da za su od kao koji nije iz do"),
    "hu": ("áéíóöőúüű", "a az és hogy nem is egy ez meg volt de csak mint"),
    "pl": ("ąćęłńóśźż", "w i z na do nie jest to od po za oraz jak przez"),
    "ro": ("ăâîşţșț", "de la si in cu un o pe nu este care din ca sau"),
    "sk": ("áäčďéíĺľňóôŕšťúýž", "a v na sa je to so do za pre ako ale bol"),
    "sl": ("čšž", "je in v na se za so da ki z pa od kot ni"),
}
_TURKISH_SPELLING = {"tr": ("çğıöşüâîû", "ve bir bu da de ile olarak olan daha en gibi kadar")}
_BALTIC_SPELLING = {
    "et": ("äöõüšž", "ja on ei et see oli kui ka aga mis"),
    "lt": ("ąčęėįšųūž", "ir yra kad su iš kaip buvo bet tai"),
    "lv": ("āčēģīķļņšūž", "un ir ar no par kas tas uz bija arī"),
}


_Languages = Mapping[str, tuple[frozenset[str], frozenset[str]]]


def _languages(spelling: Mapping[str, tuple[str, str]], besides: Iterable[str] = ()) -> _Languages:
    """Return letters and common words of each language, without the words `besides`."""
    return {
        language: (frozenset(letters), frozenset(words.split()).difference(besides))
        for language, (letters, words) in spelling.items()
    }


_WESTERN = _languages(_WESTERN_SPELLING)
# "to", "a" and "do" are Slovak words too, and say nothing of a text that may be English.
_ORDINARY = frozenset().union(*(words for _, words in _WESTERN.values()))
_CENTRAL = _languages(_CENTRAL_SPELLING, _ORDINARY)
_TURKISH = _languages(_TURKISH_SPELLING, _ORDINARY)
_BALTIC = _languages(_BALTIC_SPELLING, _ORDINARY)
_MANY_LETTERS = 3
# In order of how usual they are: the earlier wins where nothing else decides.
USUAL = "cp1252"
_FAMILIES = (
    (USUAL, _WESTERN),
    ("iso8859-15", _WESTERN),
    ("cp1250", _CENTRAL),
    ("iso8859-2", _CENTRAL),
    ("cp1254", _TURKISH),
    ("cp1257", _BALTIC),
    ("iso8859-13", _BALTIC),
)
LATIN = frozenset(name for name, _ in _FAMILIES) | {"iso8859-1", "cp1258"}

_NEUTRAL = frozenset("ªºµ")  # letters to Unicode, signs to every language
_WORD_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")
_WORDS = regex.compile(r"\p{L}+")
# A sign inside a word ("Za¿ó³æ"), or one that no text in the encoding it was read in would use.
# Quotes, dashes, the middle dot and the soft hyphen do stand between letters.
_WRONG_SIGN = regex.compile(
    r"\p{L}[^\p{L}\p{N}\s\x00-\x7f´‘’‚“”„…–—·\xad\xa0«»‹›©®™°]\p{L}|[¤˝ˇ˘˛˙]"
    r"|\p{L}[¹²³¼½¾]\p{L}|[¼½¾]\p{L}"
)
# One at the edge of a word may be the rest of a letter ("by³") or a note ("naïve¹").
_DOUBTFUL_SIGN = regex.compile(r"\p{L}{2}[¹²³¶±¿¼½¾¡¯¦¨¬](?!\w)|[¹²³¶±¯¦¨¬]\p{L}")
# UTF-8's accents and quotes: these pairs mean nothing in any encoding here.
_UTF8_REST = regex.compile(rb"[\xc2\xc3][\x80-\xbf]|\xe2\x80[\x80-\xbf]")
# No western language has three accented letters in a row: this is another script, read wrongly.
_ACCENTS_ONLY = regex.compile(r"[\p{L}--[a-zA-Z]]{3}", regex.V1)


class _Reading(NamedTuple):
    """One way to read the bytes that some language's spelling allows.

    Args:
        words: how many of its words are common ones of that language.
        letters: how many different letters outside ASCII it has.
        certain: whether no sign in it casts doubt on it.
    """

    encoding: str
    text: str
    words: int
    letters: int
    certain: bool


def decode_latin(data: bytes) -> str | None:
    """Return the encoding of a text in a Latin script, or None where none is certain.

    Args:
        data: bytes that are no UTF-8 and carry no byte-order mark.
    """
    if _UTF8_REST.search(data):
        return None
    readings = [found for each in _FAMILIES if (found := _read(data, *each)) is not None]
    if not readings:
        return None
    # The first of those with the most words: the order of the families is how usual they are.
    best = max(readings, key=lambda each: each.words)
    alone = best.letters >= _MANY_LETTERS and len({each.text for each in readings}) == 1
    if best.certain and (best.words > 0 or best.encoding == USUAL or alone):
        return best.encoding
    return None


def _read(data: bytes, encoding: str, languages: _Languages) -> _Reading | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    if _WRONG_SIGN.search(text) or any("\x80" <= character <= "\x9f" for character in text):
        return None
    if not _WORD_OR_NUMBER.search(text):
        return None
    if languages is _WESTERN and _ACCENTS_ONLY.search(text):
        return None
    words = [word.lower() for word in _WORDS.findall(text)]
    special = {letter for word in words for letter in word if not letter.isascii()} - _NEUTRAL
    counts = [
        sum(word in common for word in words)
        for letters, common in languages.values()
        if special <= set(letters)
    ]
    if not counts:
        return None
    certain = _DOUBTFUL_SIGN.search(text) is None
    return _Reading(encoding, text, max(counts), len(special), certain)
