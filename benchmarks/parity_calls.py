"""Rows for comparing rewards of tool calls: right calls, calls that are partly right, needless ones, and none."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.parity_rows import Form, Row, drawn, thought

Call = dict[str, Any]
"""A call with `name` and `parameters`."""

_TOOLS: Mapping[str, Sequence[str]] = {
    "get_weather": ("city", "days"),
    "book_table": ("place", "people", "time"),
    "search": ("query",),
    "convert": ("amount", "unit"),
    "list_alarms": (),
}
_VALUES: Sequence[Any] = ("Oslo", "Lima", "noon", "fjord ferries", 2, 3, 7.5, True, ["a", "b"], {"unit": "km"})


def _calls(rng: random.Random, number: int) -> list[Call]:
    """Returns calls of different tools."""
    return [
        {"name": name, "parameters": {key: rng.choice(_VALUES) for key in _TOOLS[name]}}
        for name in rng.sample(list(_TOOLS), number)
    ]


def _copied(calls: Sequence[Call]) -> list[Call]:
    return [{"name": call["name"], "parameters": dict(call["parameters"])} for call in calls]


def _changed(rng: random.Random, calls: Sequence[Call], kind: str) -> list[Call]:
    """Returns the calls with a mistake of a kind."""
    made = _copied(calls)
    one = rng.choice(made)
    if kind == "value" and one["parameters"]:
        one["parameters"][rng.choice(list(one["parameters"]))] = "Quito"
    elif kind == "key" and one["parameters"]:
        one["parameters"]["where"] = one["parameters"].pop(next(iter(one["parameters"])))
    elif kind == "more keys":
        one["parameters"]["verbose"] = True
    elif kind == "name":
        one["name"] = "forecast"
    elif kind == "fewer":
        made = made[1:] or [{"name": "forecast", "parameters": {}}]
    elif kind == "extra":
        made += _calls(rng, 1)
    elif kind == "twice":
        made.append(_copied([one])[0])
    elif kind == "turned":
        made.reverse()
    return made


def _told(calls: Sequence[Call]) -> str:
    lines = "\n".join(json.dumps(call) for call in calls)
    return f"<tool_call>\n{lines}\n</tool_call>"


_FORMS: dict[str, tuple[int, Form]] = {
    "plain": (14, lambda rng, why, what: f"<think>{why}</think>\n{what}"),
    "no thought": (2, lambda rng, why, what: what),
    "no break": (1, lambda rng, why, what: f"<think>{why}</think>{what}"),
    "blanks": (1, lambda rng, why, what: f"\n<think>{why}</think>\n{what}\n\n"),
    "between": (1, lambda rng, why, what: f"<think>{why}</think>\nSo:\n{what}"),
    "after": (1, lambda rng, why, what: f"<think>{why}</think>\n{what}\nDone."),
    "with reply": (1, lambda rng, why, what: f"<think>{why}</think>\n{what}\n<response>I look.</response>"),
    "cut": (1, lambda rng, why, what: f"<think>{why}"),
    "empty": (1, lambda rng, why, what: ""),
}

_KINDS = {
    "right": 8, "turned": 2, "value": 4, "key": 2, "more keys": 2, "name": 2, "fewer": 2, "extra": 2, "twice": 1,
    "broken": 1, "reply": 1,
}  # fmt: skip


def tool_calls() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose reference lists the right calls, or none where the policy must only reply.

    No two of a reference's calls are of one tool.
    """

    def make(rng: random.Random) -> Row:
        calls = _calls(rng, rng.choice((0, 1, 1, 1, 2, 2, 3)))
        reply = "<response>I cannot tell.</response>"
        if calls:
            kind = rng.choices(list(_KINDS), weights=list(_KINDS.values()))[0]
            what = _told(_changed(rng, calls, kind)) if kind != "reply" else reply
            what = what.replace("}\n</tool_call>", "\n</tool_call>") if kind == "broken" else what
        else:
            kind = rng.choice(("silent", "silent", "silent", "needless"))
            what = reply if kind == "silent" else _told(_calls(rng, 1))
        name, form = drawn(rng, _FORMS)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), calls)

    return make
