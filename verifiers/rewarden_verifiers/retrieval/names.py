"""Names in sentences, and whether sources have them: a person, place or work that no source has is made up."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from rewarden_verifiers.words import tokens, visible

_WORD = re.compile(r"[^\W\d_](?:[^\W_]|[\u0300-\u036f])*")
_LEAD = re.compile(r"\s*(?:[-*•]\s+)?(?:\*\*|__)(?:[^\s*_]+\s*){1,4}:?(?:\*\*|__):?")
"""A heading in bold type at the beginning of a sentence: "**Early Life**: …"."""
_EMPHASIS = re.compile(r"[*_`]+")
_PLAIN_LIST = """
ad am article bc bce ce chapter citation doc document dr figure mr mrs ms paper passage pm prof professor reference
section sir source study table text
"""
_PLAIN = frozenset(_PLAIN_LIST.split())
"""Words for sources and forms of address, which sentences write like names."""
_GERMAN_LIST = "auf das dem der ein eine für im ist mit nicht und von wurde zum zur"
_GERMAN = frozenset(_GERMAN_LIST.split())
_ENDINGS_LIST = "s es y a e o en n an ian ans ians ey ish ese er ers ic i ia al ist ism land"
_ENDINGS = frozenset(("", *_ENDINGS_LIST.split()))
_RELATED_LIST = """
british britain danish denmark dutch netherlands english england finnish finland french france greek greece
irish ireland norwegian norway polish poland portuguese portugal scottish scotland spanish spain swiss switzerland
welsh wales
jan january feb february mar march apr april jun june jul july aug august sep september sept september oct october
nov november dec december
"""
_WORDS = _RELATED_LIST.split()
_PAIRS = list(zip(_WORDS[::2], _WORDS[1::2], strict=True))
_RELATED = dict(_PAIRS) | {two: one for one, two in _PAIRS}
"""Other forms of words that have no stem in common."""
_SHORTEST_STEM = 3


def names(text: str) -> list[list[str]]:
    """The names of a sentence, each as its words in small letters.

    A name is a run of capitalised words that neither begin the sentence nor follow a full stop or a colon. Sentences in
    capitals, and in German, where every noun has one, have none.
    """
    text = visible(text)
    lead = _LEAD.match(text)
    text = _EMPHASIS.sub("", text[lead.end() :] if lead is not None else text)
    if text.isupper() or len(_GERMAN.intersection(tokens(text))) > 1:
        return []
    found: list[list[str]] = []
    end = -2
    for place, word in enumerate(_WORD.finditer(text)):
        written = word.group()
        small = written.lower()
        before = text[: word.start()].rstrip()[-1:]
        first = not place or before in (".", ":", "!", "?", "")
        if first or not written[0].isupper() or len(written) < 2 or small in _PLAIN:
            continue
        if end == word.start() - 1 and found:
            found[-1].append(small)
        else:
            found.append([small])
        end = word.end()
    return found


@dataclass(frozen=True, eq=False)
class Names:
    """The words of a source, among which names are looked for."""

    words: Sequence[str]

    @cached_property
    def distinct(self) -> frozenset[str]:
        """Its different words."""
        return frozenset(self.words)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Beginnings of its words, of which the rest is an ending."""
        return frozenset(stem for word in self.distinct for stem in _stems(word))

    @cached_property
    def initials(self) -> str:
        """The first letters of its words."""
        return "".join(word[0] for word in self.words)

    @cached_property
    def main_initials(self) -> str:
        """The first letters of its longer words, for "USA"."""
        return "".join(word[0] for word in self.words if len(word) > 3)

    def has(self, word: str) -> bool:
        """Returns whether it has a word of a name, in another form ("German" for "Germany"), or as initials."""
        if word in self.distinct or _RELATED.get(word) in self.distinct or not self.stems.isdisjoint(_stems(word)):
            return True
        return len(word) <= 6 and (word in self.initials or word in self.main_initials) and len(word) > 2


def made_up(found: Sequence[Sequence[str]], sources: Collection[Names]) -> bool:
    """Returns whether one of these names is in no source."""
    for name in found:
        short = "".join(word[0] for word in name)
        if len(name) > 1 and any(short in source.distinct for source in sources):
            continue
        if not all(any(source.has(word) for source in sources) for word in name):
            return True
    return False


def _stems(word: str) -> list[str]:
    return [word[:cut] for cut in range(_SHORTEST_STEM, len(word) + 1) if word[cut:] in _ENDINGS]
