"""The right calls, prepared once for all responses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

from rewarden.errors import InvalidReference
from rewarden_verifiers.structure.json.comparing import Rules
from rewarden_verifiers.structure.json.expected import Scheme, Target
from rewarden_verifiers.structure.json.strict import Malformed, canonical
from rewarden_verifiers.tools.tool_calls.calls import ARGUMENT_KEYS, Call, Untyped, calls_of
from rewarden_verifiers.tools.tool_calls.definitions import Tool, bound, tools_of
from rewarden_verifiers.tools.tool_calls.reading import read

T = TypeVar("T")

MAX_CALLS = 64
"""Calls of a reference, and of a response."""

MAX_ALLOWED = 256
"""Values of which any is right, for one argument."""

_WHOLE_KEYS = {"calls", "alternatives", "tools"}
_ADDED_KEYS = {"allowed", "optional"}


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """The values that an argument may have (any of `targets`; none: anything), and whether it may be left out."""

    targets: tuple[Target, ...]
    optional: bool
    weighs: bool = True
    """True if it counts at all."""
    listed: frozenset[str] = frozenset()
    """The values as canonical JSON."""


@dataclass(frozen=True, slots=True, eq=False)
class GoldCall:
    """A call that is right."""

    name: str
    arguments: Mapping[str, Argument]


@dataclass(frozen=True, slots=True, eq=False)
class Golden:
    """A reference, worked out: lists of calls of which any is right, and the tools that there are."""

    alternatives: tuple[tuple[GoldCall, ...], ...]
    tools: Mapping[str, Tool] | None

    @property
    def abstaining(self) -> bool:
        """Returns whether it is right to call nothing."""
        return not all(self.alternatives)


class Gilder:
    """Reads one reference. `tools` are those of the parameters; the reference's own go before them."""

    def __init__(self, scheme: Scheme, dots: bool, tools: Mapping[str, Tool] | None) -> None:
        self._scheme = scheme
        self._dots = dots
        self._tools = tools

    def read(self, reference: Any) -> Golden:
        """The reference, worked out. Raises InvalidReference."""
        lists: list[Any] = [reference]
        if isinstance(reference, Mapping) and reference and set(reference) <= _WHOLE_KEYS:
            if ("calls" in reference) == ("alternatives" in reference):
                raise InvalidReference("the reference needs either 'calls' or 'alternatives'", path="reference")
            lists = [reference["calls"]] if "calls" in reference else reference["alternatives"]
            if not isinstance(lists, list) or not 1 <= len(lists) <= MAX_CALLS:
                raise InvalidReference(
                    f"alternatives must be a list of 1 to {MAX_CALLS} lists of calls", path="reference.alternatives"
                )
            if reference.get("tools") is not None:
                try:
                    self._tools = named(tools_of(reference["tools"]), self._dots)
                except (TypeError, ValueError) as error:
                    raise InvalidReference(f"the reference's {error}", path="reference.tools") from None
        return Golden(tuple(self._calls(one) for one in lists), self._tools)

    def _calls(self, given: Any) -> tuple[GoldCall, ...]:
        items = given if isinstance(given, list) else [given]
        calls = tuple(call for item in items for call in self._item(item))
        if len(calls) > MAX_CALLS:
            raise InvalidReference(f"the reference has more than {MAX_CALLS} calls", path="reference")
        return calls

    def _item(self, item: Any) -> list[GoldCall]:
        try:
            if isinstance(item, str):
                reading = read(item)
                if reading.shape is None:
                    raise InvalidReference(f"the reference {item[:80]!r} is not a call", path="reference")
                return [self._plain(call, {}, ()) for call in reading.calls]
            if not isinstance(item, Mapping):
                raise InvalidReference("a call must be an object or a text", path="reference")
            value = dict(item)
            allowed, optional = value.pop("allowed", None), value.pop("optional", None)
            if set(item) & _ADDED_KEYS and any(key in value for key in (*ARGUMENT_KEYS, "name")):
                return [self._added(value, allowed or {}, optional or ())]
            calls = calls_of(dict(item))
            if calls is None and len(item) == 1:
                name, arguments = next(iter(item.items()))
                if isinstance(name, str) and name.strip() and isinstance(arguments, Mapping):
                    return [self._leaderboard(name, arguments)]
            if calls is None:
                calls = calls_of(dict(item), tagged=True) or []
            return [self._plain(call, {}, ()) for call in calls]
        except Malformed as malformed:
            raise InvalidReference(f"the reference is not a call: {malformed.message}", path="reference") from None

    def _added(self, value: dict[str, Any], allowed: Any, optional: Any) -> GoldCall:
        """A call with what else its arguments may be, and which may be left out."""
        if not isinstance(allowed, Mapping) or not all(isinstance(values, list) for values in allowed.values()):
            raise InvalidReference("'allowed' must be an object of lists", path="reference.allowed")
        if not isinstance(optional, (list, tuple)) or not all(isinstance(name, str) for name in optional):
            raise InvalidReference("'optional' must be a list of names", path="reference.optional")
        calls = calls_of(value, tagged=True) or []
        return self._plain(calls[0], allowed, optional)

    def _plain(self, call: Call, allowed: Mapping[str, list[Any]], optional: Any) -> GoldCall:
        name = plain_name(call.name, self._dots)
        tool = (self._tools or {}).get(name)
        given = bound(call, tool.parameters if tool is not None else ())
        if tool is not None:
            given = tool.settle(given)
        self._check(name, {key: value for key, value in given.items() if key not in optional})
        inner = [key for key in optional if key not in given and key.partition(".")[0] in given]
        top = [key for key in optional if key not in inner]
        arguments: dict[str, Argument] = {}
        for key in (*given, *(key for key in (*allowed, *top) if key not in given)):
            values = [given[key]] if key in given else []
            values += [value for value in allowed.get(key, ()) if value not in values]
            for path in inner:
                first, _, rest = path.partition(".")
                if first == key:
                    values += _without(values, rest.split("."), path)
            arguments[key] = self._argument(name, key, values, key in optional)
        return GoldCall(name, arguments)

    def _leaderboard(self, name: str, arguments: Mapping[str, Any]) -> GoldCall:
        """A call as the Berkeley function-calling leaderboard writes it: of each argument a list of the values that
        are right, "" among them where it may be left out; within objects and lists of objects the same again."""
        name = plain_name(name, self._dots)
        made: dict[str, Argument] = {}
        first: dict[str, Any] = {}
        for key, values in arguments.items():
            if not isinstance(values, list) or not values:
                raise InvalidReference(
                    f"the argument {key!r} must have a list of the values that are right", path="reference"
                )
            # The blank says that it may be left out, and is a value itself, as the leaderboard takes it.
            expanded = [one for value in values for one in _expanded(value)]
            made[key] = self._argument(name, key, expanded, "" in values)
            if not made[key].optional:
                first[key] = next((value for value in expanded if value is not None), None)
        self._check(name, first)
        return GoldCall(name, made)

    def _check(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Refuse a right call that its own tool would refuse: then nothing could be right."""
        if self._tools is None:
            return
        tool = self._tools.get(name)
        if tool is None:
            raise InvalidReference(f"the reference calls {name!r}, which is none of the tools", path="reference")
        if not tool.holds(arguments, [key for key, value in arguments.items() if value is None or value == ""]):
            raise InvalidReference(
                f"the reference's call of {name!r} is not valid for the tool's definition", path="reference"
            )

    def _argument(self, name: str, key: str, values: list[Any], optional: bool) -> Argument:
        if len(values) > MAX_ALLOWED:
            raise InvalidReference(f"the argument {key!r} has more than {MAX_ALLOWED} right values", path="reference")
        rules = self._scheme.at((name,), self._scheme.rules)
        rules = self._scheme.at((name, key), rules)
        try:
            targets = tuple(self._target(value, (name, key), rules) for value in values)
        except (ValueError, TypeError) as error:
            raise InvalidReference(f"the argument {key!r}: {error}", path="reference") from None
        return Argument(targets, optional, rules.weight > 0, frozenset(map(canonical, values)))

    def _target(self, value: Any, path: tuple[str, str], rules: Rules) -> Target:
        canonical(value)
        return Target(self._scheme.node(str(value) if isinstance(value, Untyped) else value, path, rules))


def _expanded(value: Any) -> list[Any]:
    """The values that a value of the leaderboard's form stands for."""
    if isinstance(value, Mapping):
        choices: list[list[tuple[str, Any] | None]] = []
        for key, values in value.items():
            if not isinstance(values, list):
                return [value]  # a plain object
            several = [(key, one) for item in values for one in _expanded(item)]
            choices.append([*several, *([None] if "" in values else [])])
        return [dict(pair for pair in pairs if pair is not None) for pairs in _ways(choices)]
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return [list(items) for items in _ways([_expanded(item) for item in value])]
    return [value]


def _without(values: Sequence[Any], steps: Sequence[str], path: str) -> list[Any]:
    """Each value that has something at a path, without it. Raises InvalidReference if none has."""
    left: list[Any] = []
    for value in values:
        *above, last = steps
        copy = deepcopy(value)
        inner = copy
        for step in above:
            inner = inner.get(step) if isinstance(inner, dict) else None
        if isinstance(inner, dict) and last in inner:
            del inner[last]
            left.append(copy)
    if not left:
        raise InvalidReference(f"'optional' names {path!r}, where the reference has nothing", path="reference.optional")
    return left


def _ways(choices: Sequence[Sequence[T]]) -> Iterator[tuple[T, ...]]:
    """The ways to take one of each. Raises InvalidReference if they are too many."""
    number = 1
    for options in choices:
        number *= len(options)
        if number > MAX_ALLOWED:
            raise InvalidReference(f"an argument covers more than {MAX_ALLOWED} values", path="reference")
    return itertools.product(*choices)


def plain_name(name: str, dots: bool) -> str:
    """A tool's name; with `dots` those of `math.sqrt` and `math_sqrt` are one."""
    return name.replace(".", "_") if dots else name


def named(tools: Mapping[str, Tool], dots: bool) -> dict[str, Tool]:
    """Tools under their plain names."""
    return {plain_name(name, dots): tool for name, tool in tools.items()}
