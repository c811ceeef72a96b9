"""Compares calls with the right calls: their pairs, and the points of each pair by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from rewarden_verifiers.structure.json.assignment import best_pairs
from rewarden_verifiers.structure.json.strict import Malformed, canonical
from rewarden_verifiers.tools.tool_calls.calls import Call, Untyped
from rewarden_verifiers.tools.tool_calls.definitions import Tool, bound
from rewarden_verifiers.tools.tool_calls.golden import Argument, GoldCall
from rewarden_verifiers.tools.tool_calls.python import bare

Order = Literal["set", "ordered"]
Extra = Literal["penalise", "names", "ignore"]

MAX_SHOWN = 20
_PERFECT = 1e6
"""The gain of a pair in pairing for being right in everything, so that as many as possible are."""
_SAME_NAME = 1e-6
"""The gain of a pair for its name alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights of the levels: the names of all calls, the argument names of each call, and each argument's value."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: float = 1.0
    arguments: float = 1.0
    values: float = 1.0

    def __post_init__(self) -> None:
        weights = (self.name, self.arguments, self.values)
        if any(not 0 <= weight <= 100 for weight in weights) or not sum(weights):
            raise ValueError("weights must lie between 0 and 100, one of them above 0")


@dataclass(slots=True, eq=False)
class Pair:
    """A call beside one that is right, of the same name. `keys`: Jaccard index of the arguments' names; `values`: what
    their values earn together, of `number`."""

    keys: float
    values: float
    number: int
    perfect: bool
    differs: list[str]


@dataclass(slots=True, eq=False)
class Match:
    """A response's calls against one list of right ones. Shares lie between 0 and 1."""

    whole: bool
    """Every call is there and right, and none beside them (where those count)."""
    right: int
    calls: float
    """The share of calls that are right in everything."""
    points: float
    """The share of points by level."""
    names: float
    arguments: float
    values: float
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Candidate:
    """A call of the response, its name plain; `invalid`: why its tool would refuse it."""

    call: Call
    name: str
    tool: Tool | None
    invalid: str | None = None


def candidate(call: Call, name: str, tools: Mapping[str, Tool] | None) -> Candidate:
    """A call, checked against the tool's definition where there are definitions."""
    if tools is None:
        return Candidate(call, name, None)
    tool = tools.get(name)
    if tool is None:
        return Candidate(call, name, None, "unknown_tool")
    arguments = tool.settle(bound(call, tool.parameters))
    return Candidate(Call(name, arguments), name, tool, None if tool.holds(arguments) else "invalid_arguments")


def match(
    golds: Sequence[GoldCall],
    candidates: Sequence[Candidate],
    weights: Weights,
    order: Order,
    extra: Extra,
    partial: bool,
) -> Match:
    """Pair and count. Raises TooExpensive."""
    if len(golds) == len(candidates) and _all_right(golds, candidates, order, partial):
        return Match(True, len(golds), 1.0, 1.0, 1.0, 1.0, 1.0)
    table: dict[tuple[int, int], Pair] = {}
    for row, gold in enumerate(golds):
        for column, one in enumerate(candidates):
            if gold.name == one.name:
                table[row, column] = _pair(gold, one, partial)
    gains = {
        place: _SAME_NAME
        + (_PERFECT if pair.perfect else 0.0)
        + weights.arguments * pair.keys
        + weights.values * pair.values
        for place, pair in table.items()
    }
    if order == "ordered":
        pairs = _aligned(len(golds), len(candidates), gains)
    elif len(table) == len({row for row, _ in table}) == len({column for _, column in table}):
        pairs = list(table)  # no name stands twice: there is nothing to choose
    else:
        pairs = best_pairs(
            [[gains.get((row, col), 0.0) for col in range(len(candidates))] for row in range(len(golds))]
        )
    return _counted(golds, candidates, {place: table[place] for place in pairs}, weights, extra)


def _all_right(golds: Sequence[GoldCall], candidates: Sequence[Candidate], order: Order, partial: bool) -> bool:
    """Returns whether each call is right, taken in the order in which the names come: nearly always the answer if it is
    yes.
    """
    waiting = list(candidates)
    for gold in golds:
        place = 0
        if order == "set":
            while place < len(waiting) and waiting[place].name != gold.name:
                place += 1
        if place == len(waiting) or waiting[place].name != gold.name:
            return False
        if not _pair(gold, waiting.pop(place), partial).perfect:
            return False
    return True


def _counted(
    golds: Sequence[GoldCall],
    candidates: Sequence[Candidate],
    pairs: Mapping[tuple[int, int], Pair],
    weights: Weights,
    extra: Extra,
) -> Match:
    paired, used = {row for row, _ in pairs}, {column for _, column in pairs}
    over = [one for column, one in enumerate(candidates) if column not in used]
    missing = [gold for row, gold in enumerate(golds) if row not in paired]
    # Names by multiset: a duplicate call is one too many.
    left = [one.name for one in candidates]
    for gold in golds:
        if gold.name in left:
            left.remove(gold.name)
    shared = len(candidates) - len(left)
    all_names = len(golds) if extra == "ignore" else len(golds) + len(candidates) - shared
    names = shared / all_names if all_names else 1.0
    keys = sum(pair.keys for pair in pairs.values())
    values = sum(pair.values for pair in pairs.values())
    value_count = sum(pair.number for pair in pairs.values()) + sum(_required(gold) for gold in missing)
    most_keys, most_values = float(len(golds)), float(value_count)
    if extra == "penalise":
        most_keys += len(over)
        most_values += sum(len(one.call.arguments) + len(one.call.positional) for one in over)
    most = weights.name + weights.arguments * most_keys + weights.values * most_values
    points = (weights.name * names + weights.arguments * keys + weights.values * values) / most if most else 0.0
    right = sum(pair.perfect for pair in pairs.values())
    number = len(golds) if extra == "ignore" else max(len(golds), len(candidates))
    whole = right == len(golds) and (extra == "ignore" or not over)
    return Match(
        whole=whole,
        right=right,
        calls=right / number if number else 1.0,
        points=1.0 if whole else min(1.0, points),
        names=names,
        arguments=keys / most_keys if most_keys else 1.0,
        values=values / most_values if most_values else float(not missing),
        missing=[gold.name[:80] for gold in missing[:MAX_SHOWN]],
        extra=[one.name[:80] for one in over[:MAX_SHOWN]],
        differs=[path for pair in pairs.values() for path in pair.differs][:MAX_SHOWN],
    )


def _required(gold: GoldCall) -> int:
    return sum(not argument.optional and argument.weighs for argument in gold.arguments.values())


def _pair(gold: GoldCall, one: Candidate, partial: bool) -> Pair:
    given = bound(one.call, one.tool.parameters if one.tool is not None else tuple(gold.arguments))
    number = common = 0
    earned = 0.0
    differs: list[str] = []
    for key, argument in gold.arguments.items():
        if not argument.weighs:
            continue
        if key not in given:
            if not argument.optional:
                number += 1
                differs.append(f"{gold.name}.{key}"[:120])
            continue
        number += 1
        common += 1
        credit = _credit(argument, given[key], partial)
        earned += credit
        if credit < 1:
            differs.append(f"{gold.name}.{key}"[:120])
    strange = [key for key in given if key not in gold.arguments]
    differs += [f"{gold.name}.{key}"[:120] for key in strange[:MAX_SHOWN]]
    union = number + len(strange)
    keys = common / union if union else 1.0
    invalid = None if one.invalid is None or _excused(gold, one, given) else one.invalid
    if invalid is not None:  # the tool would refuse the call: its values do nothing
        earned = 0.0
        differs.append(f"{gold.name}: {invalid}")
    perfect = invalid is None and keys == 1.0 and earned >= number
    return Pair(keys, earned, number, perfect, differs)


def _excused(gold: GoldCall, one: Candidate, given: Mapping[str, Any]) -> bool:
    """Returns whether a tool refuses a call for nothing but values that the reference itself lists."""
    if one.tool is None:
        return False
    listed = [key for key, argument in gold.arguments.items() if key in given and _listed(argument, given[key])]
    return bool(listed) and one.tool.holds(given, listed)


def _listed(argument: Argument, value: Any) -> bool:
    return any(canonical(reading) in argument.listed for reading in _readings(value))


def _credit(argument: Argument, value: Any, partial: bool) -> float:
    """Returns what an argument's value earns: the best over those that are right."""
    if not argument.targets:
        return 1.0
    best = 0.0
    readings = _readings(value)
    for target in argument.targets:
        for reading in readings:
            found = target.compare(reading, 1.0)
            if found.exact:
                return 1.0
            if partial and found.f > best:
                best = found.f
    return best


def _readings(value: Any) -> list[Any]:
    """The values that one may be: bare text is text, or the value that it reads as."""
    if not isinstance(value, Untyped):
        return [value]
    readings: list[Any] = [str(value)]
    with suppress(Malformed):
        readings.append(bare(value))
    return readings


def _aligned(rows: int, columns: int, gains: Mapping[tuple[int, int], float]) -> list[tuple[int, int]]:
    """The pairs of the greatest total gain whose order is that of both lists."""
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows - 1, -1, -1):
        line, below = best[row], best[row + 1]
        for column in range(columns - 1, -1, -1):
            gain = gains.get((row, column))
            line[column] = max(below[column], line[column + 1], 0.0 if gain is None else gain + below[column + 1])
    pairs: list[tuple[int, int]] = []
    row = column = 0
    while row < rows and column < columns:
        gain = gains.get((row, column))
        if gain is not None and best[row][column] == gain + best[row + 1][column + 1]:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return pairs
