"""Fixed English word lists: what carries no meaning of its own, and what may say the same thing.

General knowledge of English only; nothing here depends on a corpus.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from logicalrag.engines.analysis import stem
from logicalrag.query.tokens import tokenize

STOP_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being between both but
    by called can could did do does doing done during following for from had has have having he
    her here hers him his how i if in include includes including into is it its itself just
    known me more most my name named no nor not of off on once one only or other our out over
    own please s same she should so some such than that the their them then there these they
    this those through to too under until up upon us very was we were what when where which
    while who whom whose why will with within would you your""".split()
)
# Lower-case words that may stand inside a name.
CONNECTORS = frozenset(
    """a al an and at bin by da de del den der des di du e el for ibn in la le les of on ter the to
    van von with y""".split()
)
CALENDAR_WORDS = frozenset(
    """apr april aug august dec december feb february friday jan january jul july jun june mar
    march may monday nov november oct october saturday sep sept september sunday thursday
    tuesday wednesday""".split()
)
# Words whose full stop ends no sentence (written without it).
ABBREVIATIONS = frozenset(
    """bros ca capt co col corp dr etc fl ft gen gov hon inc jr lt ltd mr mrs ms mt no op prof rep
    rev sen sgt sr st vol vs""".split()
)
AUXILIARIES = frozenset("is are was were do does did has have had can could would will".split())
# Words of a question, and words by which an article may answer it. Each line: question words,
# a colon, words of the text. They follow the relations that encyclopedias state: kinship, birth
# and death, authorship, place, membership, office, time.
_RELATIONS = """
spouse wife husband: spouse wife husband married marriage marry wed widow
marry married: wife husband spouse married marriage
child son daughter children: son daughter child children father mother
father mother parent parents: father mother son daughter parent born
sibling brother sister siblings: brother sister sibling half-brother half-sister
birthplace: born native birth
born birth: born birth native
die died death: died death killed buried
buried: buried cemetery interred
citizen citizenship nationality: born citizen national
author writer wrote write written: written author novel writer by wrote book
director directed directs: directed director film
producer produced produces produce: produced producer production
composer composed: composed composer music opera
performer performed singer sang sings: singer band album song recorded performed by
creator created made: created creator developed
founder founded found established: founded founder established formed
formed start started begin began: founded founder established formed
owner owns owned own: owned owner owns subsidiary acquired
employer employed works worked: worked employed professor
educated attended alma university attend: university college educated attended graduated
capital: capital
located location lies: located situated lies county district state city country
country: country republic kingdom nation
headquarters headquartered based: headquartered headquarters based offices
population inhabitants people: population census inhabitants
genre: genre style
manufacturer manufactured makes maker: manufactured manufacturer built produced company
publisher published publishes: published publisher
label: label records released
league plays played team club: plays club team league
border borders bordering adjacent shares: border borders bordered adjoins north south east west
language languages: language spoken
currency: currency
religion: religion church faith
successor replaced succeeded: succeeded successor replaced
predecessor preceded: preceded predecessor succeeded
president leader head ruler ruled: president leader prime minister governor
river waterway body: river lake sea bay
open opened: opened opening open
end ended abolished dissolved dissolve closed: ended abolished dissolved closed defunct
instance: is
awarded award awards received won win: awarded award won received prize
older younger: born
network station channel broadcast aired airs: network channel aired broadcast
character portrayed plays starred stars star: played starring portrayed role starred stars character
occupation profession job: is was worked
named namesake: named after
conflict war battle fought: war battle
administrative territorial entity territory: county district province municipality state region
administrative territorial entity territory includes contains: located
includes contains: county district province municipality state region
licensed broadcast license: licensed serve station
enrollment enrolled: students enrolled enrollment
seat: courthouse seat capital
charge: governor minister director head
mouth flows origin source: flows river tributary rises source
cast starring actor actress: starring stars cast actor actress
developer developed: developed developer
operator operated operates: operated operator
sport: football baseball basketball hockey sport
part member belong belongs: part member
position: position served minister player goalkeeper
branch military: army navy force
length long tall high height: metres feet miles long height
area size: area square
followed: followed successor
premiered released release aired: premiered released
voice voices voiced: voiced voice
screenwriter screenplay: written screenplay writer
distributed distributor: distributed released
chairman ceo executive: chairman chief executive president
formed form: formed founded
hometown: born raised
monarch king queen: king queen emperor reign
century year date: century
coach manager: coach manager head
"""


@lru_cache(maxsize=1)
def _relations() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in _RELATIONS.strip().splitlines():
        asked, _, written = line.partition(":")
        texts = {stem(token): token for token in tokenize(written)}
        for word in tokenize(asked):
            found.setdefault(stem(word), {}).update(texts)
    for key, texts in found.items():
        texts.pop(key, None)
    return found


def related(word: str) -> Mapping[str, str]:
    """Return words by which a text may express the stem `word` of a question, by their stems."""
    return _relations().get(word, {})
