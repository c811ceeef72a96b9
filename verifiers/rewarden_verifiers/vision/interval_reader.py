"""Reading intervals: from JSON, tags and prose ("from 3.2 to 8.5 seconds", "00:03 - 00:08").

What is written as an interval but is none (NaN, three ends) is kept as None: it counts as a prediction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewarden_verifiers.vision.clock import TIME, Time, time_of
from rewarden_verifiers.vision.documents import fenced, says_nothing, values_in

MAX_READ = 2000
_MAX_DEPTH = 8


class Span(NamedTuple):
    """An interval as it was written; None where it is none."""

    ends: tuple[Time, Time] | None


class Spans(NamedTuple):
    """What an answer holds. `form` says how it was written; `denied`: it says in so many words that there is none."""

    items: tuple[Span, ...]
    form: str
    denied: bool = False


_STARTS = ("start", "start_time", "starttime", "begin", "begin_time", "from", "start_sec", "start_s", "start_frame")
_ENDS = ("end", "end_time", "endtime", "finish", "to", "stop", "end_sec", "end_s", "end_frame")
_ABOUT = r"(?:(?:about|around|approximately|roughly)\s{1,2}|~\s{0,2})?"
_JOINT = (
    r"(?:\s{0,3}(?:to|-|–|—|−|~|until|till|through|and|,|;|→|->|-->|\.\.\.?)\s{0,3}" + _ABOUT + r"(?:frames?\s{1,2})?"
    r"|[\s,]{1,3}(?:and\s{1,2})?(?:it\s{1,2})?(?:ends?|ending|stops?|finish(?:es)?|end_time|end)\s{0,3}(?:at|:|=)?"
    r"\s{0,3}" + _ABOUT + r"(?:frame\s{1,2})?)"
)
_RANGE = re.compile(rf"(?<![\w.:])(?P<before>frames?\s{{1,2}})?(?P<a>{TIME}){_JOINT}(?P<b>{TIME})", re.IGNORECASE)
_TAGGED = re.compile(
    r"<(interval|time|timestamps?|span|segment|moment|period|window)>([^<>]{0,2000})</\1>", re.IGNORECASE
)
_DENIAL = re.compile(
    r"\b(?:no|none|not|nothing|never|null|absent|empty|without|isn't|doesn't|cannot|n/a)\b", re.IGNORECASE
)
_MAX_DENIAL = 400


def read_spans(text: str) -> Spans:
    """The intervals of an answer, by the most explicit form that it holds: tags, fenced JSON, JSON in the text, prose.

    Linear in the text; never raises.
    """
    if "<" in text:
        tagged = [span for match in _TAGGED.finditer(text) for span in _inner(match.group(2))]
        if tagged:
            return Spans(tuple(tagged[:MAX_READ]), "tags")
    empty = False
    for parts, form in ((fenced(text), "fenced_json"), ([text], "json")):
        found: list[Span] = []
        for part in parts:
            for value in values_in(part):
                empty = empty or says_nothing(value)
                walk(value, found)
        if found:
            return Spans(tuple(found), form)
    prose = _prose(text)
    if prose:
        return Spans(tuple(prose), "prose")
    denied = 0 < len(text) <= _MAX_DENIAL and _DENIAL.search(text) is not None
    return Spans((), "none", denied=empty or denied)


def walk(value: Any, found: list[Span], depth: int = 0) -> None:
    """All intervals of a JSON value, in order."""
    if depth > _MAX_DEPTH or len(found) >= MAX_READ:
        return
    if isinstance(value, Mapping):
        fields = {str(key).casefold(): item for key, item in value.items()}
        start = next((fields[key] for key in _STARTS if key in fields), None)
        end = next((fields[key] for key in _ENDS if key in fields), None)
        if start is not None or end is not None:
            found.append(_span((start, end)))
            return
        for item in fields.values():
            if isinstance(item, (Mapping, list, tuple)):
                walk(item, found, depth + 1)
            elif isinstance(item, str):
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
        return Span(None)
    start, end = time_of(ends[0]), time_of(ends[1])
    if start is None or end is None:
        return Span(None)
    return Span(_of_one_unit(start, end))


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
    """Ranges in a text. A unit behind the second time holds for the first as well: "3 to 8 minutes"."""
    found: list[Span] = []
    for match in _RANGE.finditer(text):
        first, second = match["a"], match["b"]
        start, end = time_of(first), time_of(second)
        if start is None or end is None:
            found.append(Span(None))
        else:
            if start.unit is None and end.unit == "seconds" and ":" not in second:
                start = time_of(first + re.sub(r"^[-\d.\s]+", "", second)) or start
            if match["before"]:
                start = Time(start.value, "frames")
            found.append(Span(_of_one_unit(start, end)))
        if len(found) >= MAX_READ:
            break
    return found
