"""Texts of the report: chat messages made flat, long texts cut to size, the answer that was judged marked.

An excerpt is a list of pieces, so that no place in a text needs to be counted twice (JavaScript counts characters
otherwise than Python): a string is text, `[string]` is text that is marked, a number says how many characters were
left out.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.errors import RequestError, SampleError
from rewarden_verifiers.extraction import extract
from rewarden_verifiers.thought import thought_of
from rewarden_verifiers.view import DEFAULT_VIEW

Piece = str | list[str] | int
Excerpt = list[Piece]

CALL = "tool call"
"""The role of what a message calls: each call is a turn of its own."""

_MOST_MARKS = 8
_CONTEXT = 200
"""Characters that stay around a mark in a part that is cut."""


def messages(text: Any) -> list[tuple[str, str]]:
    """(role, text) of each message; a plain text has no role. Whatever is not a chat is shown as JSON."""
    if text is None:
        return []
    if isinstance(text, str):
        return [("", text)]
    if isinstance(text, list) and all(isinstance(item, dict) and "role" in item for item in text):
        return [turn for item in text for turn in _turns(item)]
    return [("", shown(text))]


def shown(value: Any) -> str:
    """A value as a person reads it: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _turns(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    calls = message.get("tool_calls")
    called = [(CALL, _called(call)) for call in calls] if isinstance(calls, list) else []
    content = _content(message)
    return [*([(str(message["role"]), content)] if content or not called else []), *called]


def _called(call: Any) -> str:
    """A call as `name` and its arguments, which as JSON that came as text are indented too."""
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or "name" not in function:
        return shown(call)
    arguments = function.get("arguments")
    if arguments is None:
        return str(function["name"])
    with contextlib.suppress(ValueError, TypeError):
        arguments = json.loads(arguments)
    told = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, indent=2)
    return f"{function['name']}\n```json\n{told}\n```" if "```" not in told else f"{function['name']}\n{told}"


def _content(message: Mapping[str, Any]) -> str:
    parts: list[str] = []
    thought = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(thought, str):
        parts.append(f"{DEFAULT_VIEW.open}{thought}{DEFAULT_VIEW.close}")
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            parts.append(part["text"])
        elif isinstance(part, dict):
            parts.append(f"[{part.get('type', 'part')}]")
        elif part is not None:
            parts.append(shown(part))
    return "\n".join(parts)


def find_answer(text: str, extracted: Any, rule: Any = None) -> list[tuple[int, int]]:
    """Returns the spans of the judged answer in a response; none where they are unknown.

    The verdict's evidence names the `rule` that found the answer, and the same rule finds it again. Without one, the
    last occurrence of the extracted text counts.
    """
    wanted = [str(item) for item in (extracted if isinstance(extracted, list) else [extracted]) if _is_plain(item)]
    wanted = [item for item in dict.fromkeys(wanted) if item.strip()]
    thought = thought_of(text, DEFAULT_VIEW.open, DEFAULT_VIEW.close, starts_open=False)
    begin = 0 if thought is None else thought.answer
    if isinstance(rule, str):
        span = _by_rule(text[begin:], rule)
        if span is not None:
            start, end = begin + span[0], begin + span[1]
            inside = [place for item in wanted if (place := _last(text, item, start, end)) is not None]
            return _apart(inside or [(start, end)])
    places = []
    for item in wanted[:_MOST_MARKS]:
        place = _last(text, item, begin, len(text)) or _last(text, item, 0, begin)
        if place is not None:
            places.append(place)
    return _apart(places)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _by_rule(text: str, rule: str) -> tuple[int, int] | None:
    kind, colon, name = rule.partition(":")
    try:
        found = extract(text, [{"tag": name} if kind == "tag" and colon else rule])
    except (RequestError, SampleError):  # a rule of the verifier's own
        return None
    return None if found is None else found.span


def _last(text: str, wanted: str, start: int, end: int) -> tuple[int, int] | None:
    """The last place of a text; where there is one, such that it is not part of a longer word or number."""
    fallback: tuple[int, int] | None = None
    at = text.rfind(wanted, start, end)
    for _ in range(64):
        if at < 0:
            break
        after = at + len(wanted)
        if not (_joins(text[at - 1 : at], wanted[0]) or _joins(wanted[-1], text[after : after + 1])):
            return at, after
        fallback = fallback or (at, after)
        at = text.rfind(wanted, start, after - 1)
    return fallback if len(wanted) > 2 else None


_WORD = re.compile(r"\w")


def _joins(before: str, after: str) -> bool:
    return bool(before and after and _WORD.match(before) and _WORD.match(after))


def _apart(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns the places in order, without those that overlap an earlier one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def excerpt(text: str, limit: int, marks: Sequence[tuple[int, int]] = ()) -> Excerpt:
    """Returns about `limit` characters at most: the beginning, the end (twice as much), and the surroundings of the
    marks."""
    keep = [(0, len(text))]
    if len(text) > limit:
        keep = [(0, limit // 3), (len(text) - (limit - limit // 3), len(text))]
        for start, end in marks:
            end = min(end, start + limit)
            keep.append((max(0, start - _CONTEXT), min(len(text), end + _CONTEXT)))
    pieces: Excerpt = []
    at = 0
    for start, end in sorted(keep):
        if end <= at:
            continue
        if start > at:
            pieces.append(start - at)
        _add(pieces, text, max(start, at), end, marks)
        at = end
    return pieces


def _add(pieces: Excerpt, text: str, start: int, end: int, marks: Sequence[tuple[int, int]]) -> None:
    for first, last in marks:
        first, last = max(first, start), min(last, end)
        if first < last:
            if first > start:
                pieces.append(text[start:first])
            pieces.append([text[first:last]])
            start = last
    if start < end:
        pieces.append(text[start:end])
