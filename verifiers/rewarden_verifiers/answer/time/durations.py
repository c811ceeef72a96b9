"""Durations in text: "2 h 30 min", "PT2H30M", "ninety minutes", "an hour and a half", "1:30:00"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rewarden_verifiers.answer.number.limits import Unreadable
from rewarden_verifiers.answer.number.numerals import numeral
from rewarden_verifiers.answer.number.tokens import Tokens
from rewarden_verifiers.answer.number.words import STARTS, number_in_words, part_after
from rewarden_verifiers.answer.time.moments import DAY, HOUR, MINUTE, SECOND, UNITS, Duration, Unit

TwoPart = Literal["hours", "minutes", "refuse"]

_SPELLED: tuple[tuple[str, int, Fraction], ...] = (  # names, months, nanoseconds
    ("century centuries", 1200, Fraction(0)),
    ("decade decades", 120, Fraction(0)),
    ("year years yr yrs y", 12, Fraction(0)),
    ("month months mo mos mth mths", 1, Fraction(0)),
    ("fortnight fortnights", 0, Fraction(14 * DAY)),
    ("week weeks wk wks w", 0, Fraction(7 * DAY)),
    ("day days d", 0, Fraction(DAY)),
    ("hour hours hr hrs h", 0, Fraction(HOUR)),
    ("minute minutes min mins m", 0, Fraction(MINUTE)),
    ("second seconds sec secs s", 0, Fraction(SECOND)),
    ("millisecond milliseconds ms", 0, Fraction(SECOND, 1000)),
    ("microsecond microseconds us μs", 0, Fraction(SECOND, 10**6)),
    ("nanosecond nanoseconds ns", 0, Fraction(1)),
)
_SIZES: dict[str, tuple[int, int, Fraction]] = {
    name: (rank, months, nanos) for rank, (names, months, nanos) in enumerate(_SPELLED) for name in names.split()
}
_NUMBER = r"[0-9]{1,12}(?:[.,][0-9]{1,9})?"
_ISO = re.compile(
    rf"(?<![^\W_])P(?=[0-9T])(?:(?P<years>{_NUMBER})Y)?(?:(?P<months>{_NUMBER})M)?(?:(?P<weeks>{_NUMBER})W)?"
    rf"(?:(?P<days>{_NUMBER})D)?(?:T(?=[0-9])(?:(?P<hours>{_NUMBER})H)?(?:(?P<minutes>{_NUMBER})M)?"
    rf"(?:(?P<seconds>{_NUMBER})S)?)?(?![^\W_])"
)
_CLOCKED = re.compile(
    r"(?<![0-9:])(?P<first>[0-9]{1,4}):(?P<second>[0-9]{2})(?::(?P<third>[0-9]{2}))?(?:\.(?P<fraction>[0-9]{1,9}))?"
    r"(?![0-9:])"
)
_TOUCHING = re.compile(r"(?<=[0-9])([A-Za-zμ]{1,4})(?=[0-9])")  # 2h30m
_FIELDS: tuple[Unit, ...] = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")


@dataclass(frozen=True, slots=True)
class FoundDuration:
    """A duration, and the text before and after it."""

    value: Duration
    after: str


def find_durations(text: str, two_part: TwoPart, unit: Unit | None) -> tuple[str, list[FoundDuration]]:
    """The durations of a cleaned text in order, with the text between them, and the text before the first.

    `unit`: the unit of a plain number; None: a plain number is not a duration. Raises Unreadable for a time such as
    "1:30" that can be hours or minutes (`ambiguous`).
    """
    spans = list(_marked(text, two_part))
    if spans:
        before = text[: spans[0][1]]
        ends = [start for _, start, _ in spans[1:]] + [len(text)]
        return before, [
            FoundDuration(value, text[end:following]) for (value, _, end), following in zip(spans, ends, strict=True)
        ]
    return _worded(Tokens(_TOUCHING.sub(r" \1 ", text)), unit)


def _marked(text: str, two_part: TwoPart) -> Iterator[tuple[Duration, int, int]]:
    for match in _ISO.finditer(text):
        given = [(field, match[field]) for field in _FIELDS if match[field] is not None]
        if given:
            yield _sum(given), match.start(), match.end()
    for match in _CLOCKED.finditer(text):
        yield _clocked(match, two_part), match.start(), match.end()


def _sum(given: list[tuple[Unit, str]]) -> Duration:
    months, nanos = Fraction(0), Fraction(0)
    for field, digits in given:
        value = Fraction(digits.replace(",", "."))
        if field in ("years", "months"):
            months += value * (12 if field == "years" else 1)
        else:
            nanos += value * UNITS[field]
    return Duration(months, nanos)


def _clocked(match: re.Match[str], two_part: TwoPart) -> Duration:
    first, second = int(match["first"]), int(match["second"])
    third = None if match["third"] is None else int(match["third"])
    if second > 59 or (third is not None and third > 59):
        raise Unreadable("malformed")
    fraction = Fraction(int((match["fraction"] or "0").ljust(9, "0")))
    if third is not None:
        return Duration(nanos=first * HOUR + second * MINUTE + third * SECOND + fraction)
    if two_part == "refuse" and match["fraction"] is None:
        raise Unreadable("ambiguous")  # 1:30 is an hour and a half, or a minute and a half
    if two_part == "hours" and match["fraction"] is None:
        return Duration(nanos=Fraction(first * HOUR + second * MINUTE))
    return Duration(nanos=first * MINUTE + second * SECOND + fraction)


def _worded(tokens: Tokens, unit: Unit | None) -> tuple[str, list[FoundDuration]]:
    before: list[str] = []
    found: list[tuple[Duration, list[str]]] = []
    at = 0
    while at < len(tokens):
        read = _duration(tokens, at, unit)
        if read is None:
            (found[-1][1] if found else before).append(tokens.lower[at])
            at += 1
        else:
            found.append((read[0], []))
            at = read[1]
    return " ".join(before), [FoundDuration(value, " ".join(words)) for value, words in found]


def _duration(tokens: Tokens, at: int, unit: Unit | None) -> tuple[Duration, int] | None:
    """The duration that begins at a token: numbers with units, each smaller than the previous one."""
    negative = tokens.items[at][1] == "-" and (at == 0 or tokens.spaced[at]) and at + 1 < len(tokens)
    at += negative
    months, nanos = Fraction(0), Fraction(0)
    rank = -1
    plain: Fraction | None = None
    while at < len(tokens):
        place = at
        if rank >= 0 and tokens.lower[place] in ("and", ","):
            place += 1
            place += place < len(tokens) and tokens.lower[place] == "and"
        read = _amount(tokens, place)
        if read is None:
            break
        amount, end = read
        name = tokens.lower[end] if end < len(tokens) else ""
        size = _SIZES.get(name)
        if size is None or (len(name) == 1 and tokens.items[end][1] != name):  # "5 M" is not 5 minutes
            if rank < 0:
                plain, at = amount, end
            break
        if size[0] <= rank:
            break
        rank, at = size[0], end + 1
        more = part_after(tokens.lower, at)  # "an hour and a half"
        if more is not None:
            amount, at = amount + more[0], more[1]
        months += amount * size[1]
        nanos += amount * size[2]
        if at < len(tokens) and tokens.items[at][1] == ".":  # "2 hrs. 5 min."
            following = _amount(tokens, at + 1) if at + 1 < len(tokens) else None
            at += following is not None
    if rank >= 0:
        sign = -1 if negative else 1
        return Duration(sign * months, sign * nanos), at
    if plain is not None and unit is not None:
        value = -plain if negative else plain
        if unit in ("years", "months"):
            return Duration(months=value * (12 if unit == "years" else 1)), at
        return Duration(nanos=value * UNITS[unit]), at
    return None


def _amount(tokens: Tokens, at: int) -> tuple[Fraction, int] | None:
    """A number, in digits or words."""
    if at >= len(tokens):
        return None
    kind, text = tokens.items[at]
    if kind == "number":
        read = numeral(text, tokens.exponents[at], "point")
        if read is None:
            raise Unreadable
        at += 1
        if at + 1 < len(tokens) and tokens.items[at][1] == "/" and tokens.items[at + 1][0] == "number":
            below = numeral(tokens.items[at + 1][1], "", "point")
            if below is None or not below.value:
                raise Unreadable
            return read.value / below.value, at + 2
        if at + 2 < len(tokens) and tokens.items[at][0] == "number" and tokens.items[at + 1][1] == "/":  # 1 1/2 hours
            part = _amount(tokens, at)
            if part is None or part[0] >= 1:
                raise Unreadable
            return read.value + part[0], part[1]
        more = part_after(tokens.lower, at)
        return (read.value + more[0], more[1]) if more is not None else (read.value, at)
    if kind != "word" or tokens.lower[at] not in STARTS:
        return None
    following = tokens.lower[at + 1] if at + 1 < len(tokens) else ""
    if tokens.lower[at] in ("a", "an") and following in _SIZES:
        return Fraction(1), at + 1
    if tokens.lower[at] == "half" and following in ("a", "an"):
        after = tokens.lower[at + 2] if at + 2 < len(tokens) else ""
        if after in _SIZES:
            return Fraction(1, 2), at + 2
    return number_in_words(tokens.lower, at)
