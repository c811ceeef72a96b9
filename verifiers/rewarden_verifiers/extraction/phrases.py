"""Phrases that announce an answer: "the answer is …", "Answer: …", in English and in the languages of `languages`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from rewarden_verifiers.extraction.extracted import MARKUP, Extracted, joins, lowered, trimmed
from rewarden_verifiers.extraction.languages import LANGUAGES, Language
from rewarden_verifiers.extraction.statement import REACH, stated

_ANSWER: tuple[str, ...] = ("answer",)
_OPTION = tuple(f"{which} {what}" for what in ("option", "choice") for which in ("final", "correct", "right", "best"))
_CUE_END = re.compile(
    r"s?[\s*_]{0,8}(?:(?:is|are|(?:would|should|must|has to|will) be)\b|[:=\uff1a]"
    r"|(?<=\s)[-\u2013\u2014]\s)[\s*_]{0,8}[:\uff1a]?",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"[*_`\s:]*(?:not\b|n't)", re.IGNORECASE)
_REACH = 4000
"""Number of characters at the end of a response that are searched for cues of other languages. English cues are
searched everywhere.
"""

_LEAD_IN = re.compile(
    r"(?:[\s,.:;*_$-]|\b(?:and|or|so|then|but|the|my|a|final|correct|hence|thus|therefore)\b){1,20}$", re.I
)
# "The answer is 12. Or 13."
_OTHERWISE = re.compile(r"[\s.;,*_$]{0,8}(?:or|or else|or maybe|alternatively)\b[,:]?\s{1,4}([^\n]{1,60})", re.I)
_MOST = 8
"""Maximum number of phrases in a cluster."""

_NEAR = 2 * REACH
"""Number of characters before a phrase in which the previous phrase of its cluster begins."""

_BLANKS = r"[\s*_\xa0]{0,8}"
_ANSWERED = re.compile(r"A[\t ]{0,4}[:\uff1a][\t ]{0,8}(?=\S)")


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"


def _cue_end(language: Language) -> re.Pattern[str]:
    """Returns the pattern that links a cue to its answer; its group matches if a verb after the answer must complete
    the phrase.
    """
    end = r"(?![^\W\d_])" if language.spaced else ""
    tailed = rf"|({_BLANKS}(?=\S))" if language.tails else ""
    return re.compile(rf"{_BLANKS}(?:(?:{_any(language.links)}){end}|[:\uff1a]){_BLANKS}[:\uff1a]?{tailed}")


_LINKED: dict[str, list[tuple[Language, re.Pattern[str]]]] = {}
for _language in LANGUAGES.values():
    for _cue in _language.cues:
        _LINKED.setdefault(_cue, []).append((_language, _cue_end(_language)))
    for _cue in _language.whole:
        _LINKED.setdefault(_cue, []).append((_language, re.compile(rf"{_BLANKS}[:\uff1a]?")))
_ALL = tuple(_LINKED)
_ASCII = tuple(cue for cue in _LINKED if cue.isascii())
_OTHER_CUE = re.compile(_any((*_ASCII, *_OPTION)))
_BESIDE = 200
"""Number of characters before a phrase in which a phrase of its cluster in another language begins."""


def phrase(text: str) -> Extracted | None:
    """The answer that the last phrase announces; several if its cluster announces different ones."""
    lower = lowered(text)
    at, last = _final(text, lower)
    if last is None:
        return None
    others = _OTHER_CUE.search(lower, max(0, at - _BESIDE), at) is not None or not text.isascii()
    near = others or lower.find("answer", max(0, at - _NEAR), at) >= 0
    before = _beside(text, lower, at, others) if near else ()
    also = _OTHERWISE.match(text, last.span[1])
    if also is None and not before:
        return last
    texts = dict.fromkeys(one.text for one in (*before, last))
    if also is not None:
        texts[also.group(1).strip(MARKUP + ".")] = None
    return replace(last, texts=tuple(texts), span=((*before, last)[0].span[0], last.span[1]))


def _final(text: str, lower: str) -> tuple[int, Extracted | None]:
    """The last phrase of a text in any language, and its position."""
    at, last = _last_of(text, lower, _ANSWER, _english, 0, len(text))
    if lower.find("option", at) >= 0 or lower.find("choice", at) >= 0:
        place, other = _last_of(text, lower, _OPTION, _english, at, len(text))
        if other is not None:
            at, last = place, other
    if last is None or not text.isascii():
        cues = _ASCII if text.isascii() else _ALL
        place, other = _last_of(text, lower, cues, _foreign, max(at, len(text) - _REACH), len(text))
        if other is not None:
            return place, other
    return at, last


def _beside(text: str, lower: str, at: int, others: bool) -> list[Extracted]:
    """The phrases of the same cluster before the one at a position. others: include other languages.

    Attack: say one answer in one language, and another in another.
    """
    found: list[Extracted] = []
    for _ in range(_MOST):
        floor = max(0, at - _NEAR)
        place, before = _last_of(text, lower, (*_ANSWER, *_OPTION), _english, floor, at)
        if others:
            nearer, other = _last_of(text, lower, _ALL, _foreign, max(place, floor), at)
            if other is not None:
                place, before = nearer, other
        if before is None or not joins(text, min(before.span[1], at), at):
            break
        if before.span[1] > at:
            # "The answer is 12, so the answer is 13": the first answer ends where the next phrase begins.
            stop = _LEAD_IN.sub("", text[before.span[0] : at])
            if stop.count("{") != stop.count("}"):
                break  # the next phrase is inside a formula that this one announces
            before = replace(before, texts=(stop,), span=(before.span[0], before.span[0] + len(stop)))
        if before.text:
            found.insert(0, before)
        at = place
    return found


def _last_of(
    text: str,
    lower: str,
    cues: tuple[str, ...],
    read: Callable[[str, str, int, str], Extracted | None],
    floor: int,
    end: int,
) -> tuple[int, Extracted | None]:
    """The last phrase with one of these cues that begins between two positions: its position, and the answer it
    announces.
    """
    best: Extracted | None = None
    begin = floor
    for cue in cues:
        at = lower.rfind(cue, begin, end)
        while at >= begin:
            found = read(text, lower, at, cue)
            if found is not None:
                best, begin = found, at
                break
            at = lower.rfind(cue, begin, at)
    return begin, best


def _english(text: str, lower: str, at: int, cue: str) -> Extracted | None:
    """Returns the answer that a phrase at this position announces: "answer is", "correct option:", but not "an answer
    to".
    """
    if at and lower[at - 1].isalnum():
        return None
    match = _CUE_END.match(text, at + len(cue))
    if match is None or _DENIAL.match(text, match.end()) is not None:
        return None
    return stated(text, match.end(), "phrase")


def _foreign(text: str, lower: str, at: int, cue: str) -> Extracted | None:
    for language, link in _LINKED[cue]:
        if language.spaced and at and lower[at - 1].isalpha():
            continue
        match = link.match(lower, at + len(cue))
        found = None if match is None else stated(text, match.end(), "phrase")
        if match is None or found is None:
            continue
        for tail in language.tails:
            if found.text.endswith(tail):
                return trimmed(text, found.span[0], found.span[1] - len(tail), "phrase", MARKUP + ".")
        if not link.groups or match.group(1) is None:
            return found
    return None


def answer_line(text: str) -> Extracted | None:
    """The answer on the last line if it has the form `A: 18`, as in dialogues of questions and answers."""
    end = len(text.rstrip())
    start = text.rfind("\n", 0, end) + 1
    match = _ANSWERED.match(text, start, end)
    return None if match is None else stated(text, match.end(), "phrase")
