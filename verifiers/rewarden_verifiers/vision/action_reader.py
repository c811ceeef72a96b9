"""Reads actions on a user interface: a type, a target, and a value to type, press, open or scroll.

Models write actions as JSON (with the arguments beside the name or in an object of their own), as function calls, or in
tags. Nothing is evaluated: a pattern parses the calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from rewarden_verifiers.vision.action_part import action_part
from rewarden_verifiers.vision.documents import fenced, values_in
from rewarden_verifiers.vision.numerals import NUMBER, number, numbers_in
from rewarden_verifiers.vision.point_reader import Place, PointReader, place_keys
from rewarden_verifiers.vision.reading import Reading

MAX_READ = 200
_MAX_CALLS = 400

TYPES: Mapping[str, tuple[str, ...]] = {
    "click": ("tap", "left_click", "leftclick", "touch", "select", "click_element", "single_click"),
    "double_click": ("doubleclick", "left_double", "double_tap"),
    "right_click": ("rightclick", "right_single"),
    "long_press": ("longpress", "long_click", "long_tap"),
    "type": ("input_text", "input", "write", "enter_text", "type_text", "typewrite", "text", "fill"),
    "scroll": (),
    "swipe": (),
    "drag": ("left_click_drag", "drag_to", "dragto"),
    "press": ("key", "press_key", "keypress", "hotkey", "key_press", "keyevent", "system_button"),
    "open_app": ("open", "launch", "launch_app", "openapp", "start_app"),
    "back": ("press_back", "navigate_back", "go_back"),
    "home": ("press_home", "navigate_home", "go_home"),
    "recent": ("press_recent", "recent_apps"),
    "enter": ("press_enter", "keyboard_enter"),
    "wait": ("sleep",),
    "complete": ("finish", "finished", "terminate", "done", "task_complete", "completed", "status_task_complete"),
    "impossible": ("infeasible", "status_task_impossible", "fail"),
}
"""The action types, and their other names."""

_NAMES = {other: name for name, others in TYPES.items() for other in (name, *others)}
_TYPE_KEYS = ("action_type", "action", "type", "function", "name")
_ARGUMENT_KEYS = ("arguments", "action_input", "args", "parameters", "params", "action_args", "kwargs")
_TEXT_KEYS = ("text", "input_text", "content", "value", "input")
_DIRECTION_KEYS = ("direction", "scroll_direction", "swipe_direction")
_KEY_KEYS = ("key", "keys", "button", "keycode")
_APP_KEYS = ("app", "app_name", "application", "package")
_ABSENT = frozenset(("", "none", "null", "no input text", "no input", "n/a"))
_ACTING_KEYS = {"back": "back", "home": "home", "enter": "enter", "return": "enter", "recent": "recent"}
"""Keys that count as actions."""
_DIRECTIONS = frozenset(("up", "down", "left", "right"))
_END_KEYS = ("end_point", "end_box", "coordinate2", "end_coordinate", "end", "to", "touch_end")

_CALL = re.compile(r"(?<![\w])(?:[A-Za-z_]{1,20}\.){0,2}([A-Za-z_]{1,30})\(")
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.){0,2000})\"|'((?:[^'\\\n]|\\.){0,2000})'")
_KEYWORD = re.compile(r"\s{0,4}([A-Za-z_]\w{0,24})\s{0,2}=\s{0,2}")
_LIST = rf"{NUMBER}(?:\s{{0,4}},\s{{0,4}}{NUMBER}){{0,3}}"
# Brackets are matched in pairs, so that the parenthesis that closes the call is not taken for the numbers'.
_NUMBERS = re.compile(rf"[\[(]\s{{0,4}}{_LIST}\s{{0,4}}[\])]|{_LIST}")
_TAG = re.compile(r"<(action|action_type|text|input_text|value|direction|key|app|app_name)>([^<>]{0,2000})</\1>", re.I)
_WORD = re.compile(r"[A-Za-z_]\w{0,40}")
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}


class Action(NamedTuple):
    """An action as it was written. `value` is the text, direction, key or app, whichever the action has."""

    type: str
    place: Place | None = None
    end: Place | None = None
    text: str | None = None
    direction: str | None = None
    key: str | None = None
    app: str | None = None


def canonical(name: str, aliases: Mapping[str, str]) -> str:
    """The canonical name of an action type."""
    plain = re.sub(r"[\s-]+", "_", name.strip().casefold())
    return aliases.get(plain) or _NAMES.get(plain, plain)


class ActionReader:
    """Reads actions. aliases: maps further names to canonical types."""

    def __init__(self, points: PointReader, aliases: Mapping[str, str]) -> None:
        self._points = points
        self._aliases = aliases

    def read(self, text: str) -> Reading[Action]:
        """The actions of an answer: in JSON (fenced blocks before plain text), else as calls, else in tags. In a turn
        `Thought: … Action: …`, only actions after the thought count. Never raises.
        """
        acting = action_part(text)
        text = text if acting is None else acting
        for parts, form in ((fenced(text), "fenced_json"), ([text], "json")):
            found = [action for part in parts for value in values_in(part) for action in self.walk(value)]
            if found:
                return Reading(tuple(found[:MAX_READ]), form)
        calls = self._calls(text)
        if calls:
            return Reading(tuple(calls), "call")
        tagged = self._tagged(text)
        return Reading((tagged,), "tags") if tagged is not None else Reading((), "none")

    def walk(self, value: Any, depth: int = 0) -> list[Action]:
        """All actions of a JSON value, in order."""
        if depth > 6:
            return []
        if isinstance(value, (list, tuple)):
            return [action for item in value[:MAX_READ] for action in self.walk(item, depth + 1)]
        if not isinstance(value, Mapping):
            return []
        fields = {str(key).casefold(): item for key, item in value.items()}
        inner = next((fields[key] for key in _ARGUMENT_KEYS if isinstance(fields.get(key), Mapping)), None)
        if inner is not None:
            arguments = {str(key).casefold(): item for key, item in inner.items()}
            # The tool may take the action as an argument, or its name may be the action itself.
            fields = (
                arguments if any(key in arguments for key in ("action", "action_type")) else {**fields, **arguments}
            )
        name = next((fields[key] for key in _TYPE_KEYS if isinstance(fields.get(key), str)), None)
        if name is not None:
            opened = _CALL.match(name)
            return self._calls(name) if opened is not None else [self._action(name, fields)]
        found = []
        for item in fields.values():
            if isinstance(item, (Mapping, list, tuple)):
                found += self.walk(item, depth + 1)
        return found

    def _action(self, name: str, fields: Mapping[str, Any]) -> Action:
        places: list[Place | None] = []
        if "x" in fields and "y" in fields:
            places.append(self._points.place([fields["x"], fields["y"]]))
        else:
            for key in place_keys(fields):
                self._place(fields[key], places)
        end: list[Place | None] = []
        for key in _END_KEYS:
            if key in fields:
                self._place(fields[key], end)
        type_ = canonical(name, self._aliases)
        key_ = _text(fields, _KEY_KEYS)
        text = _text(fields, _TEXT_KEYS)
        if type_ == "press" and key_ is None:
            key_, text = text, None  # {"action": "key", "text": "ctrl+c"}
        if type_ == "press" and key_ is not None and (named := _ACTING_KEYS.get(_plain(key_))) is not None:
            type_, key_ = named, None
        sound = [place for place in places if place is not None]
        return Action(
            type=type_,
            place=sound[0] if len(sound) == len(places) == 1 else None,
            end=end[0] if end else None,
            text=text,
            direction=_direction(fields),
            key=key_,
            app=_text(fields, _APP_KEYS),
        )

    def _place(self, item: Any, places: list[Place | None]) -> None:
        self._points.walk(numbers_in(item[:200]) if isinstance(item, str) else item, places)

    def _calls(self, text: str) -> list[Action]:
        """Calls of functions that are named after action types: `click(10, 20)`, `type(text="hello")`."""
        found: list[Action] = []
        for match in islice(_CALL.finditer(text), _MAX_CALLS):
            name = canonical(match.group(1), self._aliases)
            if name in TYPES or name in self._aliases.values():
                fields = self._arguments(text, match.end(), name)
                if fields is not None:
                    found.append(self._action(match.group(1), fields))
        return found

    @staticmethod
    def _arguments(text: str, at: int, name: str) -> dict[str, Any] | None:
        """The arguments of a call by name; None if they are not all plain numbers and strings."""
        fields: dict[str, Any] = {}
        loose: list[Any] = []
        for _ in range(8):
            keyword = _KEYWORD.match(text, at)
            at = keyword.end() if keyword else at
            while at < len(text) and text[at] in " \t":
                at += 1
            if text.startswith(")", at):
                break
            value: Any
            if (string := _STRING.match(text, at)) is not None:
                quoted = string.group(1) if string.group(1) is not None else string.group(2)
                value = _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), quoted)
                at = string.end()
            elif (numbers := _NUMBERS.match(text, at)) is not None:
                parts = numbers_in(numbers.group())
                value = parts if len(parts) > 1 else parts[0]
                at = numbers.end()
            elif (word := _WORD.match(text, at)) is not None:
                value = word.group()
                at = word.end()
            else:
                return None
            if keyword:
                fields[keyword.group(1).casefold()] = value
            else:
                loose.append(value)
            while at < len(text) and text[at] in " \t,":
                at += 1
        numbers_ = [part for value in loose for part in (value if isinstance(value, list) else [value])]
        numbers_ = [part for part in numbers_ if number(part) is not None]
        words = [value for value in loose if isinstance(value, str) and number(value) is None]
        if numbers_ and name != "type":
            fields.setdefault("coordinate", numbers_)
        elif numbers_:
            words = [str(value) for value in loose]
        if words:
            slot = {"scroll": "direction", "swipe": "direction", "press": "key", "open_app": "app"}.get(name, "text")
            fields.setdefault(slot, words[0])
        return fields

    def _tagged(self, text: str) -> Action | None:
        """`<action>click</action><point>10 20</point>`."""
        fields: dict[str, Any] = {}
        for match in _TAG.finditer(text):
            fields.setdefault(match.group(1).casefold(), match.group(2).strip())
        name = fields.pop("action", None) or fields.pop("action_type", None)
        if not isinstance(name, str) or not name or len(name) > 40:
            return None
        points = self._points.read(_TAG.sub("", text)).items
        if points:
            fields["points"] = [list(place) if place is not None else [] for place in points]
        return self._action(name, fields)


def _plain(text: str) -> str:
    return text.strip().casefold()


def _text(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of these fields that is not blank or a placeholder; models write "no input text" if there is none."""
    for key in keys:
        item = fields.get(key)
        if isinstance(item, (list, tuple)) and item and all(isinstance(part, str) for part in item):
            item = "+".join(item)
        if isinstance(item, str) and _plain(item) not in _ABSENT:
            return item
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            return str(item)
    return None


def _direction(fields: Mapping[str, Any]) -> str | None:
    for item in (_text(fields, _DIRECTION_KEYS), _text(fields, _TEXT_KEYS)):
        if item is not None and _plain(item) in _DIRECTIONS:
            return _plain(item)
    return None
