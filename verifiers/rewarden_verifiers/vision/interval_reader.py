"""Reads intervals from JSON, tags and prose ("from 3.2 to 8.5 seconds", "00:03 - 00:08").

An invalid interval (NaN, three end points) is kept as None and counts as a prediction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden_verifiers.vision.clock import TIME, Time, time_of
from rewarden_verifiers.vision.documents import denies, values_in
from rewarden_verifiers.vision.reading import MAX_DEPTH, MAX_READ, Reading, read_json, read_twice

Span = tuple[Time, Time] | None
"""An interval as it was written: its start and end, or None if it is invalid."""

_UNITS = ("sec", "s", "frame", "second", "seconds", "timestamp")
_STARTS = ("start", "start_time", "starttime", "begin", "begin_time", "from", *(f"start_{unit}" for unit in _UNITS))
_ENDS = ("end", "end_time", "endtime", "finish", "to", "stop", *(f"end_{unit}" for unit in _UNITS))
_ABOUT = r"(?:(?:about|around|approximately|roughly)\s{1,2}|~\s{0,2})?"
_JOINT = (
    r"(?:\s{0,3}(?:up\s{1,2})?(?:to|-|–|—|−|~|until|till|through|and|,|;|→|->|-->|\.\.\.?)\s{0,3}(?:the\s{1,2})?"
    + _ABOUT
    + r"(?:frames?\s{1,2})?"
    # "lasts" requires "until": otherwise a duration follows, not an end.
    r"|[\s,;.→-]{1,6}(?:and\s{1,2})?(?:it\s{1,2})?(?:(?:ends?|ending|stops?|finish(?:es)?)"
    r"(?:[ _](?:time|until|timestamp|seconds?))?|(?:lasts?|continues?)\s(?:until|till|up\sto|to))\s{0,3}(?:at|:|=)?"
    r"\s{0,3}(?:the\s{1,2})?" + _ABOUT + r"(?:frame\s{1,2})?)"
)
_RANGE = re.compile(rf"(?<![\w.:])(?P<before>frames?\s{{1,2}})?(?P<a>{TIME}){_JOINT}(?P<b>{TIME})", re.IGNORECASE)
_TWO = re.compile(rf"\s{{0,9}}({TIME})\s{{1,4}}({TIME})\s{{0,9}}", re.IGNORECASE)
_COUNTED = re.compile(
    r"\s{1,2}(?!(?:and|or|then|but|plus|also|with|in|on|at|of|when|while|as|where|after|before|until|is|are|was|were|the"
    r"|an?|for|if|by|from|to|it|he|she|they|there|depending|either|not|about|roughly|again|maybe|perhaps|possibly)\b)"
    r"[A-Za-z]{3}",
    re.IGNORECASE,
)
"""A word after two numbers that may be the thing counted: "2-3 people"."""
_TAGGED = re.compile(
    r"<(interval|time|timestamps?|span|segment|moment|period|window)>([^<>]{0,2000})</\1>", re.IGNORECASE
)


def read_spans(text: str) -> Reading[Span]:
    """The intervals of an answer, in the most explicit form that it contains: tags, fenced JSON, JSON in the text,
    prose.

    Takes time linear in the text, and never raises.
    """
    return read_twice(text, _read)


def _read(text: str) -> Reading[Span]:
    if "<" in text:
        tagged = [span for match in _TAGGED.finditer(text) for span in _inner(match.group(2))]
        if tagged:
            return Reading(tuple(tagged[:MAX_READ]), "tags")
    read = read_json(text, walk)
    if read.items:
        return read
    prose = _prose(text)
    if prose:
        return Reading(tuple(prose), "prose")
    if (two := _TWO.fullmatch(text)) is not None:
        return Reading((_span(two.groups()),), "numbers")
    return Reading((), "none", denied=read.denied or denies(text))


def walk(value: Any, found: list[Span], depth: int = 0) -> None:
    """Collects all intervals in a JSON value, in order."""
    if depth > MAX_DEPTH or len(found) >= MAX_READ:
        return
    if isinstance(value, Mapping):
        fields = {str(key).casefold(): item for key, item in value.items()}
        start = next((fields[key] for key in _STARTS if key in fields), None)
        end = next((fields[key] for key in _ENDS if key in fields), None)
        if start is not None or end is not None:
            found.append(_span((start, end)))
            return
        before = len(found)
        for item in fields.values():
            if isinstance(item, (Mapping, list, tuple)):
                walk(item, found, depth + 1)
        if len(found) == before:  # otherwise its strings are reasons and descriptions
            for item in fields.values():
                if isinstance(item, str):
                    found += _prose(item)
    elif isinstance(value, (list, tuple)) and value:
        if len(value) == 1 and not depth and isinstance(value[0], (int, float)):
            return  # "[1]" is a footnote
        if all(not isinstance(item, (list, tuple, Mapping)) for item in value):
            ranges = [span for item in value if isinstance(item, str) for span in _prose(item)]
            # ["00:03 - 00:08"] is a list of intervals, ["00:03", "00:08"] is one.
            found += ranges or [_span(value)]
        else:
            for item in value:
                walk(item, found, depth + 1)


def _span(ends: Sequence[Any]) -> Span:
    if len(ends) != 2:
        return None
    start, end = time_of(ends[0]), time_of(ends[1])
    if start is None or end is None:
        return None
    return _of_one_unit(start, end)


def _of_one_unit(start: Time, end: Time) -> tuple[Time, Time]:
    if start.unit is None and end.unit == "frames":
        start = Time(start.value, "frames")
    if end.unit is None and start.unit == "frames":
        end = Time(end.value, "frames")
    return start, end


def _inner(text: str) -> list[Span]:
    found: list[Span] = []
    for value in values_in(text):
        walk(value, found)
    return found or _prose(text) or [_span(re.split(r"[\s,;]+", text.strip()))]


def _prose(text: str) -> list[Span]:
    """Ranges in prose. A unit after the second time also applies to the first: "3 to 8 minutes". If some ranges have a
    unit, numbers that count something else are dropped: "2-3 people walk in from 3 to 8 seconds".
    """
    found: list[Span] = []
    counted: set[int] = set()
    timed = False
    for match in _RANGE.finditer(text):
        first, second = match["a"], match["b"]
        start, end = time_of(first), time_of(second)
        if start is None or end is None:
            found.append(None)
        else:
            if start.unit is None and end.unit == "seconds" and ":" not in second:
                start = time_of(first + re.sub(r"^[-\d.\s]+", "", second)) or start
            if match["before"]:
                start = Time(start.value, "frames")
            found.append(_of_one_unit(start, end))
            if start.unit is not None or end.unit is not None:
                timed = True
            elif _COUNTED.match(text, match.end()):
                counted.add(len(found) - 1)
        if len(found) >= MAX_READ:
            break
    return [span for place, span in enumerate(found) if place not in counted] if timed and counted else found
