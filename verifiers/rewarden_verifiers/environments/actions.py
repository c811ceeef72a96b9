"""The policy's actions in a response: tool calls, tags, whole turns, or a JSON list. Text that the environment wrote is
never an action."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.types import Step, Text
from rewarden_verifiers.environments.contract import MOST_CHARACTERS, Tool
from rewarden_verifiers.retrieval.trajectory import Piece, pieces_of
from rewarden_verifiers.view import apply_view

Form = Literal["auto", "calls", "tags", "turns", "json"]
ROLES = ("tool", "function", "observation", "environment", "user")
"""Roles of messages that the environment wrote."""

_TAG = re.compile(r"<action>((?:(?!<action>).){0,4000}?)</action>", re.DOTALL)
STEP = Tool(name="step", argument="action", meaning="Do an action, as text.", bare=True)
"""A tool that every environment has: the action as text."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action. text: None for a call without the tool's argument. told: the environment's answer, if the response
    contains it.
    """

    text: str | None
    told: str | None = None


def actions_of(response: Text, steps: Sequence[Step] | None, tools: Sequence[Tool], form: Form) -> list[Action]:
    """The actions in order. Raises InvalidSample for messages or steps of an unknown form."""
    pieces = pieces_of(response, steps or (), ROLES)
    own = [piece for piece in pieces if not piece.returned]
    if form == "json":
        return _listed("".join(piece.text for piece in own))
    if form == "auto":
        if any(piece.calls for piece in own):
            form = "calls"
        elif any(_TAG.search(_visible(piece)) for piece in own):
            form = "tags"
        elif isinstance(response, str):
            return []  # the text of a single turn is not an action unless it is marked as one
        elif any(tool.speech for tool in tools):
            form = "calls"
        else:
            form = "turns"
    known = {tool.name: tool for tool in (*tools, STEP)}
    found: list[Action] = []
    for at, piece in enumerate(pieces):
        if piece.returned:
            continue
        texts = _texts(piece, form, known)
        told: list[str | None] = [each.text for each in _answers(pieces, at)]
        if len(told) != len(texts):  # other tools were called too, or answers are missing
            told = [None] * len(texts)
        found += [Action(text, answer) for text, answer in zip(texts, told, strict=True)]
    return found


def _texts(piece: Piece, form: Form, known: Mapping[str, Tool]) -> list[str | None]:
    if form == "calls":
        calls = [json.loads(call) for call, _ in piece.calls]
        if not calls:
            return _spoken(_visible(piece).strip(), known)
        return [text for call in calls for text in _called(call["name"], call["arguments"], known)]
    text = _visible(piece)
    if form == "tags":
        return [_short(match[1].strip()) for match in _TAG.finditer(text)]
    return [_short(text.strip())] if text.strip() else []


def _called(name: Any, arguments: Any, known: Mapping[str, Tool]) -> list[str | None]:
    """The action of a call as a one-item list; empty if the environment does not have the tool."""
    tool = tool_of(known.values(), name)
    return [] if tool is None else [text_of_call(tool, arguments, name)]


def _spoken(text: str, known: Mapping[str, Tool]) -> list[str | None]:
    """The action of a turn without a call, as a one-item list; empty if the environment has no speech tool."""
    tool = next((tool for tool in known.values() if tool.speech), None)
    return [_short(tool.written(text))] if tool is not None and text else []


def tool_of(tools: Iterable[Tool], name: Any) -> Tool | None:
    """The tool that handles calls by this name."""
    kept = [*tools]
    found = next((tool for tool in kept if tool.name == name), None)
    if found is None and isinstance(name, str) and name.strip() and "\n" not in name:
        found = next((tool for tool in kept if tool.others), None)
    return found


def text_of_call(tool: Tool, arguments: Any, name: str | None = None) -> str | None:
    """The action, as text, for a tool's arguments: an object or its JSON; None if they do not fit the tool. name: the
    name in the call, if it differs."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    if tool.others and name is not None and name != tool.name and isinstance(arguments, Mapping):
        try:
            return _short(tool.written(name, json.dumps(arguments, ensure_ascii=False)))
        except RecursionError:
            # Attack: arguments that are nested too deeply to serialise.
            return None
    if not isinstance(arguments, Mapping) or set(arguments) != set(tool.arguments):
        return None
    values = [text for name in tool.arguments if (text := _text(arguments[name])) is not None]
    if len(values) != len(tool.arguments):
        return None
    try:
        # Attack: a line feed in an argument would shift the arguments after it.
        return _short(tool.written(*values))
    except ValueError:
        return None


def _text(given: object) -> str | None:
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) < 10**15:
        return str(given)
    return given if isinstance(given, str) else None


def _answers(pieces: Sequence[Piece], at: int) -> list[Piece]:
    """The environment's answers to a piece: everything that it wrote before the policy's next piece."""
    found: list[Piece] = []
    for piece in pieces[at + 1 :]:
        if not piece.returned:
            break
        found.append(piece)
    return found


def _listed(text: str) -> list[Action]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(value, list):
        return []
    return [Action(_short(one) if isinstance(one, str) else None) for one in value]


def _visible(piece: Piece) -> str:
    """The text after the end of the reasoning; empty if the reasoning never ends."""
    return apply_view(piece.text).text or ""


def _short(text: str) -> str:
    """Truncates an action to one character more than the limit, so that its episode refuses it."""
    return text[: MOST_CHARACTERS + 1]
