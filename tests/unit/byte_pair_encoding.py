"""A byte-pair encoding in a few lines: the oracle for counters that remember words."""

from __future__ import annotations

import regex

# The patterns of tiktoken's encodings (MIT licence); `$` is the text's very end there.
PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\Z|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "r50k_base": (
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++\Z|\s+(?!\S)|\s"
    ),
}
# Some go over what a space joins (" w", " (") and some lose by it ("Fo" is whole, " Fo" is not).
_MERGES = (
    "wo,rd,word, w, wo, word,Fo,Foo,b, f, b,ba,bar, .,\n\n,.\n, (,( ,  ,    , \n,\r\n,\t\t,!!,/\n"
    ",12,123,'s,st"
).split(",")


class BytePairEncoding:
    """Encodes a text as tiktoken does, with ranks for some pairs only."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._pattern = regex.compile(PATTERNS[name])
        self._ranks = {merged.encode(): rank for rank, merged in enumerate(_MERGES)}

    def encode_ordinary(self, text: str, /) -> list[int]:
        """Return a number for each token; which one says nothing."""
        return [
            hash(token)
            for part in self._pattern.findall(text)
            for token in self._merged(part.encode())
        ]

    def _merged(self, part: bytes) -> list[bytes]:
        tokens = [part[place : place + 1] for place in range(len(part))]
        while True:
            ranked = [
                (self._ranks[tokens[place] + tokens[place + 1]], place)
                for place in range(len(tokens) - 1)
                if tokens[place] + tokens[place + 1] in self._ranks
            ]
            if not ranked:
                return tokens
            _, place = min(ranked)
            tokens[place : place + 2] = [tokens[place] + tokens[place + 1]]
