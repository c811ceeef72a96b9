"""Reads answers of the expected kind: one date, time of day or duration; an order; parts by name.

Several moments are a hedge if one is expected, and so is a bound ("before 2024"). A moment can occur twice if both are
the same ("5 March 2024 (2024-03-05)").
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from rewarden_verifiers.answer.number.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.number.normalise import clean
from rewarden_verifiers.answer.time.durations import TwoPart, find_durations
from rewarden_verifiers.answer.time.moments import GRANULARITIES, Clock, Duration, Moment, Period, Point, Unit
from rewarden_verifiers.answer.time.periods import holds
from rewarden_verifiers.answer.time.points import DayOrder, find

MAX_TEXT = 4_000
MAX_PARTS = 64
MAX_ORDER = 200

MomentKind = Literal["date", "clock", "duration"]

_HEDGES = frozenset(
    (
        "or", "not", "before", "after", "between", "until", "till", "since", "either", "neither", "maybe", "possibly",
        "perhaps", "than", "least", "most", "over", "under", "up", "from", "by", "except", "unknown", "through", "if",
        "ago", "plus", "minus", "and", "to", "prior", "onwards", "onward", "later", "earlier", "never", "within",
        "past",
    )
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+|[0-9]+|[<>≤≥≠±/+]")
_BULLET = re.compile(r"^\s*(?:\(?[0-9]{1,3}[.)]|[-*•])\s+")
# Words that change a moment into another one, or deny it, if adjacent.
_ALTERED = re.compile(
    r"\b(?:following|preceding|succeeding|(?:any|every|all)\w{0,5}(?: days?)? but|half|"
    r"(?:week|fortnight|decade|century) of)(?: the)?$"
)
_DENIED = re.compile(r"\b(?:is|was) (?:wrong|incorrect|false|untrue)\b")
_MONTH_NUMBER = re.compile(r"\s*(0?[1-9]|1[0-2])\.?\s*")
_TITLE = re.compile(
    r"(?:the )?(?:(?:correct|right|final|chronological) )?(?:order|sequence|answer)(?: is)?\s*:\s*", re.IGNORECASE
)
_NUMBERED = re.compile(r"(?:^|(?<=\s))\(?([0-9]{1,3})[.)]\s+")
_TO = r"\\(?:to|(?:long)?rightarrow|Rightarrow|implies|prec)(?![A-Za-z])"
_ARROW = re.compile(rf"\$\s?{_TO}\s?\$|{_TO}")
_WORDS = re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|mathbf|mbox)(?![A-Za-z])")
_SEPARATORS = (
    re.compile(r"\n+"),
    re.compile(r"\s*(?:->|=>|→|⇒|>|<|≺)\s*"),
    re.compile(r"\s*;\s*"),
    re.compile(r"\s*,\s*(?:and\s+|then\s+|and\s+then\s+)?|\s+and\s+(?:then\s+)?|\s+then\s+"),
    re.compile(r"\s*[-–]\s*"),
    re.compile(r"\s+"),
)


def read_moment(
    text: str, kind: MomentKind, day_order: DayOrder, two_part: TwoPart = "refuse", plain: Unit | None = None
) -> Moment:
    """The single date, time of day or duration of an answer.

    Raises Unreadable (`hedged`, `malformed`, `ambiguous`, `contradictory`, `unparseable_answer`) and TooExpensive.
    """
    if len(text) > MAX_TEXT:
        raise TooExpensive
    found = _kept(text, kind, day_order, two_part, plain)
    if isinstance(found, Exception):
        raise found
    return found


@lru_cache(maxsize=4096)
def _kept(
    text: str, kind: MomentKind, day_order: DayOrder, two_part: TwoPart, plain: Unit | None
) -> Moment | Unreadable | TooExpensive:
    try:
        body = clean(text)
        return _duration(body, two_part, plain) if kind == "duration" else _point(body, kind, day_order)
    except (Unreadable, TooExpensive) as error:
        return error.with_traceback(None)


def numbered_month(text: str) -> Point | None:
    """The month in an answer that is only its number, if the reference is a month alone."""
    found = _MONTH_NUMBER.fullmatch(text)
    return None if found is None else Point(month=int(found[1]))


def _duration(text: str, two_part: TwoPart, plain: Unit | None) -> Duration:
    before, found = find_durations(text, two_part, plain)
    _quiet(before, bool(found))
    for one in found:
        _quiet(one.after, True)
    if not found:
        raise Unreadable
    if any(one.value.length() != found[0].value.length() for one in found):
        raise Unreadable("hedged")
    return found[0].value


def _point(text: str, kind: MomentKind, day_order: DayOrder) -> Point | Clock | Period:
    values: list[Point | Clock | Period] = []
    gaps: list[str] = []
    end = 0
    for found in find(text, day_order):
        gaps.append(text[end : found.start])
        values.append(found.value)
        end = found.end
    gaps.append(text[end:])
    for gap in gaps:
        _quiet(gap, bool(values))
    if kind == "clock":
        values = [value.clock if isinstance(value, Point) and value.clock is not None else value for value in values]
        values = [value for value in values if not isinstance(value, Period)]  # "on Monday at 2 pm"
    wanted = [value for value in values if isinstance(value, Clock) is (kind == "clock")]
    if not wanted:
        raise Unreadable
    if len(wanted) < len(values):
        raise Unreadable("hedged")
    first, *others = sorted(wanted, key=lambda value: isinstance(value, Period))
    for other in others:
        first = _merged(first, other)
    return first


def _quiet(gap: str, found: bool) -> None:
    """Checks that nothing around a moment doubts, bounds or extends it. Raises Unreadable."""
    lower = gap.lower().strip()
    if found and (_ALTERED.search(lower) or _DENIED.search(lower)):
        raise Unreadable("hedged")
    for word in _WORD.findall(gap.lower()):
        if word in _HEDGES or not word[0].isalpha():
            raise Unreadable("hedged" if found else "unparseable_answer")


def _merged(first: Point | Clock | Period, second: Point | Clock | Period) -> Point | Clock | Period:
    """Combines two moments that agree into the more precise one, or a point with its period. Raises Unreadable if they
    do not agree.
    """
    if isinstance(first, Point) and isinstance(second, Period):
        if holds(second, first) is False:
            raise Unreadable("contradictory")
        return first
    if isinstance(first, Point) and isinstance(second, Point):
        fine, coarse = sorted((first, second), key=lambda one: -GRANULARITIES.index(one.granularity))
        if fine.to(coarse.granularity) == coarse:
            return fine
        if fine.zone is not None and coarse.zone is not None and fine.instant() == coarse.instant():
            return fine
    elif first == second:
        return first
    raise Unreadable("hedged")


def read_parts(text: str, names: Sequence[str]) -> dict[str, str]:
    """The text of each named part: JSON, or "name: value", one a line or separated by semicolons; or else by commas or
    full stops before a name.

    Raises Unreadable for a duplicate name, and TooExpensive.
    """
    if len(text) > MAX_TEXT:
        raise TooExpensive
    given = _json(text)
    pairs: list[tuple[str, str]] = []
    if isinstance(given, list):
        for pair in given:
            if not isinstance(pair, tuple):
                raise Unreadable
            pairs.append((pair[0], pair[1] if isinstance(pair[1], str) else json.dumps(pair[1])))
    else:
        rows = text.splitlines()
        if sum(bool(row.strip()) for row in rows) == 1:
            rows = _before_names(names).split(text)
        for row in rows:
            name, sign, value = re.sub(_BULLET, "", row).partition(":")
            if not sign:
                name, sign, value = row.partition("=")
            if sign:
                pairs.append((name, value))
    wanted = set(names)
    found: dict[str, str] = {}
    for name, value in pairs:
        key = plain_name(name)
        if key in wanted:
            if key in found:
                raise Unreadable("hedged")
            found[key] = value.strip().strip('",')
    if not found:
        raise Unreadable
    return found


def _before_names(names: Sequence[str]) -> re.Pattern[str]:
    """The separators of parts in one line: "Event 1: 2019-03, Event 2: 2020-01. Months: 10"."""
    words = "|".join(r"\s+".join(re.escape(word) for word in name.split()) for name in names)
    return re.compile(rf";|[,.]\s+(?=(?:{words})\s*[:=])", re.IGNORECASE)


def _json(text: str) -> object:
    body = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if body[:1] not in ("{", "["):
        return None
    try:
        return json.loads(body, object_pairs_hook=list, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None


def plain_name(text: str) -> str:
    """A name without details that carry no meaning."""
    return " ".join(clean(text).strip("\"'`*-• .").casefold().split())


def order_key(text: str, day_order: DayOrder) -> str:
    """Returns the key of an entry of an order: its date if it is one, else its name."""
    try:
        moment = read_moment(text, "date", day_order)
    except (Unreadable, TooExpensive):
        return plain_name(text)
    return plain_name(text) if isinstance(moment, Period) else str(moment)  # "the Monday meeting" is a name


def read_order(text: str, places: Mapping[str, int], day_order: DayOrder) -> tuple[int, ...]:
    """Reads an answer's order of the reference's entries, as their indices.

    Raises Unreadable (`not_a_permutation`) if an entry is missing, duplicated or unknown.
    """
    if len(text) > MAX_TEXT:
        raise TooExpensive
    given = _json(text)
    if isinstance(given, list) and all(isinstance(item, str) for item in given):
        return _places([str(item) for item in given], places, day_order)
    body = _ARROW.sub(" -> ", text)
    if "\\" in body:
        body = _WORDS.sub(" ", body).replace("{", " ").replace("}", " ")
    body = body.strip().strip("[]()").strip().removesuffix(".")
    titled = _TITLE.match(body)
    for one in (body, body[titled.end() :]) if titled is not None else (body,):
        found = _separated(one, places, day_order)
        if found is not None:
            return found
    raise Unreadable("not_a_permutation")


def _separated(body: str, places: Mapping[str, int], day_order: DayOrder) -> tuple[int, ...] | None:
    """The order of the entries in a text, with any kind of separator; None if the text is not an order."""
    count = len(places)
    for separator in _SEPARATORS:
        parts = [_BULLET.sub("", part).strip() for part in separator.split(body)]
        parts = [part for part in parts if part]
        if len(parts) == count:
            try:
                return _places(parts, places, day_order)
            except Unreadable:
                continue
    if len(body) == count and all(len(name) == 1 for name in places):  # BAC
        return _places(list(body), places, day_order)
    marks = list(_NUMBERED.finditer(body))
    if marks and not marks[0].start() and [int(mark[1]) for mark in marks] == list(range(1, count + 1)):
        ends = [mark.start() for mark in marks[1:]] + [len(body)]
        numbered = [body[mark.end() : end].strip(" ,;") for mark, end in zip(marks, ends, strict=True)]  # 1) B 2) A
        try:
            return _places(numbered, places, day_order)
        except Unreadable:
            return None
    return None


def _places(parts: Sequence[str], places: Mapping[str, int], day_order: DayOrder) -> tuple[int, ...]:
    found = [_place(part, places, day_order) for part in parts]
    if sorted(found) != list(range(len(places))):
        raise Unreadable("not_a_permutation")
    return tuple(found)


def _place(part: str, places: Mapping[str, int], day_order: DayOrder) -> int:
    """The index of an entry, which can be in brackets; -1 for an unknown one."""
    for text in (part, part.strip("()[] ")):
        for key in (plain_name(text), order_key(text, day_order)):
            if key in places:
                return places[key]
    return -1
