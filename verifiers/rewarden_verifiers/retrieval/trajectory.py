"""Trajectories: the policy's calls and the environment's results, told apart by marks that the policy cannot write.

The environment wrote messages of the role of tools, and the spans that the sample's steps mark. All other text is the
policy's, whatever tags it contains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from rewarden.errors import InvalidSample
from rewarden.types import Step, Text
from rewarden_verifiers.view import turns
from rewarden_verifiers.words import tokens

KINDS = ("tool", "observation", "environment", "information", "result")
"""Kinds of steps that the environment wrote."""

Marks = Sequence[tuple[str, str]]
"""Opening and closing marks of calls in text."""

_QUERY_KEYS = ("query", "queries", "q", "question", "search_query", "keywords", "text", "url", "id", "doc_id")
_CALL = re.compile(r"<tool_call>\n(.*)\n</tool_call>")


@dataclass(slots=True, eq=False)
class Lookup:
    """A call and what came back for it. name: of the tool; empty where results follow no call that can be read. query:
    in short. key: equal for equal calls. asked: the texts of the arguments. said: all that the policy wrote in that
    turn. message: the index of the message.
    """

    name: str
    query: str
    key: str
    message: int
    malformed: bool = False
    asked: str = ""
    said: str = ""
    results: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The calls with their results, in order. last: what the policy wrote after the last result. own: all that it
    wrote. marked: the environment's part is known.
    """

    lookups: tuple[Lookup, ...]
    last: str
    own: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the response: the policy's, or one that the environment `returned`.

    calls: structured ones of the policy's message, each with its id. answers: the id of the call that is answered.
    """

    text: str
    message: int
    returned: bool = False
    calls: tuple[tuple[str, str | None], ...] = ()
    answers: str = ""


def trajectory(response: Text, steps: Sequence[Step] | None, roles: Sequence[str], marks: Marks) -> Trajectory:
    """The calls of a response and their results. Results of parallel calls are assigned by id, else in order.

    What the environment wrote before the policy wrote anything is given, and no call's result. Raises InvalidSample for
    a step that does not lie within its message.
    """
    pieces = pieces_of(response, steps or (), roles)
    lookups: list[Lookup] = []
    asking: Piece | None = None
    turn: list[Lookup] = []
    ids: dict[str, Lookup] = {}
    answered = 0
    for piece in pieces:
        if not piece.returned:
            asking, answered = piece, 0
            turn, ids = _calls(piece, marks)
            lookups += turn
        elif asking is not None:
            if not turn:
                turn = [Lookup("", "", "", asking.message, malformed=True)]
                lookups += turn
            lookup = ids.get(piece.answers) or turn[min(answered, len(turn) - 1)]
            lookup.results.append(piece.text)
            answered += 1
    last = pieces[-1].text if pieces and not pieces[-1].returned else ""
    texts = [piece.text for piece in pieces if not piece.returned]
    own = "\n".join([*texts, *(lookup.asked for lookup in lookups)])
    return Trajectory(tuple(lookups), last, own, not isinstance(response, str) or bool(steps))


def pieces_of(response: Text, steps: Sequence[Step], roles: Sequence[str]) -> list[Piece]:
    """The parts of a response in order, and who wrote each. Raises InvalidSample for a step that does not lie within
    its message."""
    messages = turns(response)
    spans: dict[int, list[tuple[int, int]]] = {}
    for place, step in enumerate(steps):
        path = f"steps[{place}]"
        if not 0 <= step.message < len(messages):
            raise InvalidSample(f"{path}.message: the response has no message {step.message}", path=f"{path}.message")
        length = len(messages[step.message].content)
        end = length if step.end is None else step.end
        if not 0 <= step.start <= end <= length:
            raise InvalidSample(f"{path} does not lie within its message", path=path)
        if step.kind in KINDS:
            spans.setdefault(step.message, []).append((step.start, end))
    found: list[Piece] = []
    for index, turn in enumerate(messages):
        raw: Mapping[str, Any] = {} if isinstance(response, str) else response[index]
        if turn.role in roles:
            found.append(Piece(turn.content, index, returned=True, answers=str(raw.get("tool_call_id") or "")))
        elif turn.role == "assistant":
            at = 0
            for start, end in sorted(spans.get(index, ())):
                found.append(Piece(turn.content[at : max(at, start)], index))
                found.append(Piece(turn.content[max(at, start) : end], index, returned=True))
                at = max(at, end)
            found.append(Piece(turn.content[at:], index, calls=_structured(turn.calls, raw)))
    # Blanks between two results are not a turn of the policy's.
    return [piece for piece in found if piece.returned or piece.calls or piece.text.strip()]


def _structured(written: str, raw: Mapping[str, Any]) -> tuple[tuple[str, str | None], ...]:
    calls = _CALL.findall(written)
    given = raw.get("tool_calls") or ()
    ids = [one.get("id") if isinstance(one, Mapping) else None for one in given]
    return tuple((call, ids[place] if place < len(ids) else None) for place, call in enumerate(calls))


def _calls(piece: Piece, marks: Marks) -> tuple[list[Lookup], dict[str, Lookup]]:
    """The calls of a turn, and those with an id by it."""
    found: list[Lookup] = []
    ids: dict[str, Lookup] = {}
    for text, call_id in piece.calls:
        lookup = _of_object(json.loads(text), piece)
        found.append(lookup)
        if isinstance(call_id, str):
            ids[call_id] = lookup
    if not found and marks:
        first = min((at for one, _ in marks if (at := piece.text.find(one)) >= 0), default=0)
        for written in _marked(tuple(map(tuple, marks))).finditer(piece.text):
            number = next(place for place in range(len(marks)) if written[f"m{place}"] is not None)
            lookup = _of_text(written[f"m{number}"].strip(), marks[number][0].strip("<|>"), piece)
            # Attack: text around a call, which an environment that repeats what it was told repeats too.
            lookup.asked = f"{lookup.asked}\n{piece.text[first:]}"
            found.append(lookup)
    return found, ids


@lru_cache(maxsize=64)
def _marked(marks: tuple[tuple[str, ...], ...]) -> re.Pattern[str]:
    # Up to the next mark, so that of many opening ones without a closing one none is searched to the end. A server may
    # drop the mark at which it stops.
    openings = "|".join(re.escape(one) for one, _ in marks)
    parts = [
        f"{re.escape(one)}(?P<m{place}>(?:(?!{openings}|{re.escape(two)}).){{0,20000}})(?:{re.escape(two)}|\\Z)"
        for place, (one, two) in enumerate(marks)
    ]
    return re.compile("|".join(parts), re.DOTALL)


def _of_text(content: str, tool: str, piece: Piece) -> Lookup:
    if content.startswith("{"):
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return Lookup(tool, content[:200], "", piece.message, malformed=True, said=piece.text)
        if "name" in value:
            return _of_object(value, piece)
        return _lookup(tool, value, piece)
    if not tokens(content):
        return Lookup(tool, "", "", piece.message, malformed=True, said=piece.text)
    return _lookup(tool, {"query": content}, piece)


def _of_object(value: Mapping[str, Any], piece: Piece) -> Lookup:
    name, arguments = value.get("name"), value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(name, str) or not name.strip() or not isinstance(arguments, Mapping):
        shown = str(value.get("arguments"))[:200]
        return Lookup(name if isinstance(name, str) else "", shown, "", piece.message, malformed=True, said=piece.text)
    return _lookup(name.strip(), arguments, piece)


def _lookup(name: str, arguments: Mapping[str, Any], piece: Piece) -> Lookup:
    written = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
    query = next((arguments[key] for key in _QUERY_KEYS if arguments.get(key)), written)
    shown = "; ".join(map(str, query)) if isinstance(query, list) else str(query)
    # As words: another case, punctuation or invisible characters make no other call.
    key = f"{name.casefold()} {' '.join(tokens(written))}"
    asked = "\n".join(_texts(arguments))
    return Lookup(name, shown[:200], key, piece.message, asked=asked, said=f"{piece.text}\n{asked}")


def _texts(value: Any, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping) and depth < 20:
        return [text for item in value.values() for text in _texts(item, depth + 1)]
    if isinstance(value, list) and depth < 20:
        return [text for item in value for text in _texts(item, depth + 1)]
    return [str(value)] if isinstance(value, (int, float)) else []
