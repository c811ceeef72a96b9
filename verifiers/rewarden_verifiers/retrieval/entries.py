"""Entries of ranked lists as models write them: an id with a word, a rank or a remark, or several ids in one entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rewarden_verifiers.retrieval.citations import without_lead
from rewarden_verifiers.retrieval.lists import clean

MOST_WORDS = 10_000
_RANK = re.compile(
    r"(?:(?:rank|place|position|no\.?|number|#)\s{0,2}#?\d{1,5}|\[\d{1,5}\]|\(\d{1,5}\)|\d{1,5}(?:st|nd|rd|th)"
    r"|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)(?:\s{0,2}[:.)–—-])?\s{1,4}(?=\S)",
    re.IGNORECASE,
)
"""A rank before an id."""
_REMARKS = (": ", " - ", " – ", " — ", " (")
_BETWEEN = (re.compile(r",?\s+(?:and|&)\s+"), re.compile(r"[,;]?\s+\(?\d{1,5}[.)]\s+"), re.compile(r"\s+"))
"""The separators between several ids of one entry; blanks last."""
_FIRST = re.compile(r"\(?1[.)]\s+")
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


def meant(written: str, known: Callable[[str], bool]) -> str:
    """The id that an entry means: itself, or what it is without a rank or a word before it, or a remark after it."""
    for plain in _plain(written):
        if known(plain):
            return plain
    return written


def _plain(written: str) -> Iterator[str]:
    ended = written.removesuffix(".")
    yield from (written, ended, ended.removeprefix("and "))  # "d3, d7, and d9."
    rank = _RANK.match(written)
    for text in (ended, ended[rank.end() :]) if rank is not None else (ended,):
        yield clean(text)
        yield clean(without_lead(text))
        for mark in _REMARKS:
            before, found, _ = text.partition(mark)
            if found:
                yield clean(before)
                yield clean(without_lead(before.strip("*_`")))


def several(written: str, known: Callable[[str], bool]) -> list[str] | None:
    """The ids of an entry that has several, as "d3 d7 d1" has; None if it has not.

    One of them is known, and all others are, too, or are written like it: words of prose are no ids.
    """
    for between in _BETWEEN:
        parts = [meant(part, known) for part in between.split(_FIRST.sub("", written, count=1).strip())[:MOST_WORDS]]
        shapes = {_shape(part) for part in parts if known(part)}
        if len(parts) > 1 and shapes and all(known(part) or _shape(part) in shapes for part in parts):
            return parts
    return None


def _shape(one: str) -> str | None:
    """The form of an id with digits: "d12" and "d7" are written alike."""
    return _LETTERS.sub("a", _DIGITS.sub("9", one)) if _DIGITS.search(one) else None
