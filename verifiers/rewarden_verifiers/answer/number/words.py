"""English number words: "twelve", "three million two hundred", "a dozen", "two thirds", "three and a half"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

SMALL: Mapping[str, int] = {
    word: value
    for value, word in enumerate(
        (
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
            "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
        )
    )
}  # fmt: skip
"""The numbers below twenty."""
TENS: Mapping[str, int] = {
    word: 10 * (place + 2)
    for place, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"))
}
"""Twenty to ninety."""
_HUNDRED, _DOZEN = "hundred", "dozen"
_SCALES: Mapping[str, int] = {
    "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "quadrillion": 10**15,
    "lakh": 10**5, "crore": 10**7,
}  # fmt: skip
MULTIPLIERS: Mapping[str, int] = {
    _HUNDRED: 100, _DOZEN: 12, **_SCALES,
    **{f"{word}s": value for word, value in _SCALES.items()}, "mn": 10**6, "mln": 10**6, "bn": 10**9, "tn": 10**12,
}  # fmt: skip
"""Multipliers that can follow a numeral: "1.5 million"."""
PARTS: Mapping[str, int] = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4,
    "fifth": 5, "fifths": 5, "sixth": 6, "sixths": 6, "seventh": 7, "sevenths": 7, "eighth": 8, "eighths": 8,
    "ninth": 9, "ninths": 9, "tenth": 10, "tenths": 10, "hundredth": 100, "hundredths": 100,
    "thousandth": 1000, "thousandths": 1000,
}  # fmt: skip
_ARTICLES = frozenset(("a", "an"))
STARTS = frozenset((*SMALL, *TENS, *_ARTICLES, "half"))
"""Words that can begin a number in words."""
_MAX_WORDS = 40


def number_in_words(words: Sequence[str], at: int) -> tuple[Fraction, int] | None:
    """The number that begins with the word at `at`, and its end; None if none does. Words are in lower case."""
    if words[at] not in STARTS:
        return None
    if words[at] == "half":
        # "half a million", "half a dozen", "half"
        if at + 2 < len(words) and words[at + 1] in _ARTICLES and words[at + 2] in MULTIPLIERS:
            return Fraction(MULTIPLIERS[words[at + 2]], 2), at + 3
        return Fraction(1, 2), at + 1
    if words[at] in _ARTICLES:
        following = words[at + 1] if at + 1 < len(words) else ""
        if following in PARTS:
            return Fraction(1, PARTS[following]), at + 2
        if following not in MULTIPLIERS:
            return None
    value, end = _whole(words, at)
    if end < len(words):
        if words[end] == "point":
            digits, after = _digits(words, end + 1)
            if digits:
                return Fraction(value) + Fraction(int(digits), 10 ** len(digits)), _scaled(words, after)[1]
        elif words[end] in PARTS and value > 0 and words[end - 1] in SMALL:
            return Fraction(value, PARTS[words[end]]), end + 1
    more = part_after(words, end)
    if more is not None:
        multiplier, last = _scaled(words, more[1])
        return (value + more[0]) * multiplier, last
    return Fraction(value), end


def part_after(words: Sequence[str], at: int) -> tuple[Fraction, int] | None:
    """The fraction that "and" adds to a number: "and a half", "and three quarters"; None if there is none."""
    if at + 2 < len(words) and words[at] == "and" and words[at + 2] in PARTS:
        count = 1 if words[at + 1] in _ARTICLES else SMALL.get(words[at + 1])
        if count:
            return Fraction(count, PARTS[words[at + 2]]), at + 3
    return None


def _scaled(words: Sequence[str], at: int) -> tuple[int, int]:
    if at < len(words) and words[at] in MULTIPLIERS:
        return MULTIPLIERS[words[at]], at + 1
    return 1, at


def _digits(words: Sequence[str], at: int) -> tuple[str, int]:
    digits = ""
    while at < len(words) and len(digits) < _MAX_WORDS and SMALL.get(words[at], 10) < 10:
        digits += str(SMALL[words[at]])
        at += 1
    return digits, at


def _whole(words: Sequence[str], at: int) -> tuple[int, int]:
    """A whole number. A word that cannot continue it ends it ("twenty thirty")."""
    total, current, largest = 0, 0, 10**18
    begin, empty = at, True  # empty: no word since the last scale
    while at < len(words) and at - begin < _MAX_WORDS:
        word = words[at]
        if word in _ARTICLES:
            if not empty or at + 1 >= len(words) or words[at + 1] not in MULTIPLIERS:
                break
            current, empty = 1, False
        elif word in SMALL:
            small = SMALL[word]
            fits = empty or (current % 100 == 0 and current and small) or (current % 10 == 0 and current % 100 >= 20)
            if not fits or (not empty and small == 0) or (current % 100 and small > 9):
                break
            current, empty = current + small, False
        elif word in TENS:
            if not empty and (current == 0 or current % 100):
                break
            current, empty = current + TENS[word], False
        elif word == _HUNDRED:
            if empty or not 0 < current < 100:
                break
            current *= 100
        elif word == _DOZEN:
            return total + current * 12, at + 1
        elif word in _SCALES:
            if empty or current == 0 or _SCALES[word] >= largest:
                break
            largest = _SCALES[word]
            total, current, empty = total + current * largest, 0, True
        elif word == "and":
            following = words[at + 1] if at + 1 < len(words) else ""
            below_hundred = following in TENS or SMALL.get(following, 0)
            after = words[at + 2] if at + 2 < len(words) else ""
            if after in PARTS or not below_hundred or not (words[at - 1] == _HUNDRED or words[at - 1] in _SCALES):
                break
        else:
            break
        at += 1
    return total + current, at
