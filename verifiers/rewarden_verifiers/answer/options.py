"""Texts of options, and the search for the one that an answer repeats: equal after normalisation, never merely
similar.

Normalisation changes only details without meaning: whitespace, full-width forms, quotation marks, emphasis, a final
full stop, and case unless two options differ only in it. It never drops a sign, a decimal point, an article or a digit,
so that 1.5 is not 15, -5 is not 5, and a lone "A" stays.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

MAX_TEXT = 4000
"""Maximum number of characters of an answer that is compared with options; a longer one repeats none."""

_FOLDED = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    ord(char): to
    for chars, to in (
        ("\u2018\u2019\u201b", "'"),
        ("\u201c\u201d\u201f\u00ab\u00bb", '"'),
        ("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63", "-"),
        ("\u3000\u00a0\u2007\u202f\u2009", " "),
        ("\u200b\u200c\u200d\u2060\ufeff", None),
        ("\u3002", "."),
    )
    for char in chars
}
_WRAPPED = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|emph|mbox|boxed)\s?\{([^{}]*)\}|\\\((.*)\\\)|\\\[(.*)\\\]"
    r"|\$\$(.*)\$\$|\$([^$]*)\$|\*\*(.*)\*\*|__(.*)__|`([^`]*)`|\"([^\"]*)\"|'([^']*)'",
    re.DOTALL,
)
# The separator after a repeated option: a remark set off by punctuation. "1,500" is not "1" with a remark.
_REMARK = re.compile(r"(?:,\s|;|:\s|\s\(|\s-\s|\.\s|\s(?:because|since|as|which)\b)")

_ADVERB = re.compile(r"^(?:definitely|certainly|clearly|indeed|simply|obviously|most likely|likely|probably)\s", re.I)
# Remarks that can name other options without choosing them.
_EXPLAINED = re.compile(r",?\s(?:not|rather than|instead of|unlike|because|since|as)\b")

_MAX_VALUE = 80
"""Maximum number of characters of an amount."""
_MAX_FIGURES = 40
_AMOUNT = re.compile(
    r"(?:[^\W\d]{1,3}\s?=\s?)?([-+\u2212]?)\s?([$€£¥]?)\s?(\d{1,3}(?:,\d{3})+|\d*)(\.\d+)?(?:/(\d+))?\s?(\D.*)?"
)
_FRACTION = re.compile(r"\\[dt]?frac\s?\{(\d{1,40})\}\s?\{(\d{1,40})\}")
_DEGREES = re.compile(r"\s?(?:\^\s?\{?\s?\\circ\s?\}?|\\degree(?![A-Za-z])|\bdegrees?\b)")
_DRESS = re.compile(r"\\(?:text|mathrm|textrm|mbox)\s?\{([^{}]*)\}|\\[,;:! ]|\\(?=[%$])|~")
_SET = re.compile(r"\$([^$]+)\$")
_MARK = re.compile(r"(?:^|(?<=\s))[*_]{0,2}(?:(\()([A-Z])\)|([A-Z])[.):、．])[*_]{0,2}(?=\s)")


def normal(text: str) -> str:
    """The text without details that carry no meaning; case is kept."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_FOLDED))
    text = " ".join(text.split())
    for _ in range(4):
        match = _WRAPPED.fullmatch(text)
        if match is None:
            break
        text = next((group for group in match.groups() if group is not None), "").strip()
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1].rstrip()
    return text


class Amount(NamedTuple):
    """A number and what it counts: a currency or a unit; empty if it has neither."""

    value: Fraction
    unit: str


def amount(text: str) -> Amount | None:
    r"""The amount, if the text is nothing else: "3.0", "1,200", "$\\frac{1}{2}$", "50 cm", "x = 5"; or None."""
    if len(text) > _MAX_VALUE:
        return None
    plain = _FRACTION.sub(r" \1/\2", normal(text))
    plain = _SET.sub(r"\1", plain)
    plain = _DRESS.sub(lambda dress: dress.group(1) or " ", _DEGREES.sub("°", plain))
    match = _AMOUNT.fullmatch(" ".join(plain.replace("$ ", "$").split()))
    if match is None:
        return None
    sign, currency, whole, part, below, unit = match.groups(default="")
    if not whole + part or len(whole) > _MAX_FIGURES or (below and (part or not int(below))):
        return None
    if any(char.isdigit() for char in unit) or not (unit[:1].isalpha() or unit in ("", "%", "°")):
        return None
    value = Fraction(whole.replace(",", "") + part) / (int(below) if below else 1)
    if below and value.denominator != int(below):
        return None  # "26/2" is an exercise, not another way to write 13
    return Amount(-value if sign in ("-", "\u2212") else value, (currency + unit).casefold())


@lru_cache(maxsize=512)
def listed_in(prompt: str) -> tuple[str, ...] | None:
    """The last list of options in a prompt, as "A. …" or "(A) …", each on its own line or all on one; or None.

    Examples before the question also have lists, and an instruction after it ("answer (A) or (B)") is not a list.
    """
    runs: list[list[re.Match[str]]] = []
    for mark in _MARK.finditer(prompt):
        letter = mark.group(2) or mark.group(3)
        if letter == "A":
            runs.append([mark])
        elif runs and ord(letter) == ord("A") + len(runs[-1]) and mark.group(1) == runs[-1][0].group(1):
            runs[-1].append(mark)
    for run in reversed(runs):
        ends = [mark.start() for mark in run[1:]]
        ends.append(prompt.find("\n", run[-1].end()))
        texts = [prompt[mark.end() : end if end >= 0 else None].strip() for mark, end in zip(run, ends, strict=True)]
        if len(texts) > 1 and all(re.search(r"\w", text) for text in texts):
            return tuple(texts)
    return None


@dataclass(frozen=True, eq=False)
class Options:
    """The texts of a question's options. `duplicates` contains the indices of options with equal texts."""

    places: Mapping[str, int]
    caseless: bool
    duplicates: frozenset[int]

    @cached_property
    def amounts(self) -> Mapping[Amount, int]:
        """The options that are amounts; empty if two of them are equal."""
        found = [(read, place) for text, place in self.places.items() if (read := amount(text)) is not None]
        amounts = dict(found)
        return amounts if len(amounts) == len(found) else {}

    def valued(self, text: str) -> int | None:
        """The option with the answer's amount, or None. A unit shared by all options is optional, and a unit that no
        option has is ignored.
        """
        said = amount(text) if self.amounts else None
        if said is None:
            return None
        units = {each.unit for each in self.amounts}
        if len(units) == 1 and "" in (said.unit, *units):
            said = Amount(said.value, *units)
        return self.amounts.get(said)

    def match(self, text: str) -> int | None:
        """The option that the answer repeats word for word, or None."""
        return self.places.get(self._key(text)) if len(text) <= MAX_TEXT else None

    def begun(self, text: str) -> int | None:
        """The option that the answer repeats before a remark ("Paris, the capital"), or None.

        If one option's text contains another's, the longest one counts. An answer whose remark names yet another option
        is rejected ("Paris, London").
        """
        if len(text) > MAX_TEXT:
            return None
        key = _ADVERB.sub("", self._key(text), count=1)
        fitting = [place for place in self.places if place and key.startswith(place) and _REMARK.match(key, len(place))]
        if not fitting:
            return None
        best = max(fitting, key=len)
        remark = key[len(best) :]
        if _EXPLAINED.match(remark):
            return self.places[best]
        named = any(place != best and place and _stands_in(place, remark) for place in self.places)
        return None if named else self.places[best]

    def others(self, text: str, chosen: str) -> bool:
        """Returns whether a text names another option besides the chosen one."""
        key, own = self._key(text), self._key(chosen)
        return any(place and place not in own and _stands_in(place, key) for place in self.places)

    def _key(self, text: str) -> str:
        key = normal(text)
        return key.casefold() if self.caseless else key


def _stands_in(place: str, text: str) -> bool:
    at = text.find(place)
    while at >= 0:
        end = at + len(place)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            return True
        at = text.find(place, at + 1)
    return False


def options_of(texts: tuple[str, ...]) -> Options:
    """The options with these texts, in order."""
    keys = [normal(text) for text in texts]
    folded = [key.casefold() for key in keys]
    caseless = len(set(folded)) == len(set(keys))
    if caseless:
        keys = folded
    duplicates = frozenset(number for number, key in enumerate(keys) if keys.count(key) > 1)
    places = {key: number for number, key in enumerate(keys) if number not in duplicates}
    return Options(places, caseless, duplicates)
