"""The answers of Kimina's server for a snippet: the Lean REPL's own form, made of what our processes said.

Read in project-numina/kimina-lean-server (fb2393d, January 2026) and in kimina-client 0.2.1, which sorts answers so:

    {"error": "… timed out …"}                  timeout_error
    {"error": …}                                server_error
    {"response": {"message": …}}                repl_error
    {"response": {"messages": […error…]}}       lean_error
    {"response": {"sorries": […]}}              sorry
    {"response": {…}}                           valid
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewarden_verifiers.provers import Checked, Goal, Message, Position

_DEEPEST = 40
"""The greatest depth of tactics within tactics in an infotree. Deeper tactics are attached at this depth: a snippet can
nest them without limit, and parsers of JSON have limits."""

_NO_ENV = 0
"""The REPL's number for the state after a snippet. It is of no use here, because no state outlives its snippet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A snippet's answer, less its id. time: seconds. error: why there is no response. usage: of `debug`."""

    time: float = 0.0
    error: str | None = None
    response: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None

    @property
    def size(self) -> int:
        """Its approximate number of characters."""
        told = self.response or {}
        return 256 + sum(len(str(each)) for name in ("messages", "sorries", "infotree") for each in told.get(name, ()))


def reply_of(checked: Checked, timeout_s: float, *, infotree: bool, debug: bool) -> Reply:
    """Returns the reply to a snippet whose limit was `timeout_s`."""
    usage = _usage(checked) if debug else None
    if checked.status == "time_limit":
        # Exactly their words: clients look for "timed out".
        return Reply(time=timeout_s, error=f"Lean REPL command timed out in {timeout_s} seconds", usage=usage)
    time = round(checked.wall_s, 6)
    if checked.status != "ok":
        why = checked.status if checked.limit is None else f"{checked.status}, {checked.limit}"
        return Reply(time=time, response={"message": f"the Lean process stopped early: {why}"}, usage=usage)
    if checked.truncated and not any(message.severity == "error" for message in checked.messages):
        # A flood of messages must not push out the one that says what is wrong.
        return Reply(
            time=time, response={"message": "Lean's output for this snippet is too long and was cut"}, usage=usage
        )
    response: dict[str, Any] = {"env": _NO_ENV}
    if checked.messages:
        response["messages"] = [_message(message) for message in checked.messages]
    sorries = [_sorry(goal) for goal in checked.sorries] or _told_sorries(checked.messages)
    if sorries:
        response["sorries"] = sorries
    if infotree:
        response["infotree"] = _tree(checked.tactics)
    return Reply(time=time, response=response, usage=usage)


def _usage(checked: Checked) -> dict[str, Any]:
    """`cpu_max`: per cent of one CPU, on the average."""
    return {"cpu_max": round(100 * checked.cpu_s / checked.wall_s, 1) if checked.wall_s > 0 else 0.0}


def _message(message: Message) -> dict[str, Any]:
    return {"severity": message.severity, **_span(message.start, message.end), "data": message.text}


def _span(start: Position, end: Position | None) -> dict[str, Any]:
    return {"pos": _place(start), **({"endPos": _place(end)} if end is not None else {})}


def _place(position: Position) -> dict[str, int]:
    return {"line": position.line, "column": position.column}


def _sorry(goal: Goal) -> dict[str, Any]:
    return {**_span(goal.start, goal.end), "goal": "\n\n".join(goal.goals)}


def _told_sorries(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Declarations that use `sorry` according to Lean, at an unknown place (in a macro, or `sorryAx` itself): without
    an entry in `sorries`, a client takes them for proved."""
    return [
        {**_span(message.start, message.end or message.start), "goal": ""}
        for message in messages
        if message.severity == "warning" and message.text.startswith("declaration uses") and "sorry" in message.text
    ]


def _tree(tactics: Sequence[Goal]) -> list[dict[str, Any]]:
    """The infotree's tactic nodes; nested tactics are children. The goals are those before each tactic."""
    roots: list[dict[str, Any]] = []
    around: list[tuple[tuple[int, int], list[dict[str, Any]]]] = []
    for tactic in sorted(tactics, key=lambda goal: (_at(goal.start), [-part for part in _at(goal.end)])):
        while around and around[-1][0] < _at(tactic.end):
            around.pop()
        node: dict[str, Any] = {
            "kind": "TacticInfo",
            "node": {
                "stx": {
                    "pp": tactic.text,
                    "range": {"synthetic": False, "start": _place(tactic.start), "finish": _place(tactic.end)},
                },
                "goalsBefore": list(tactic.goals),
            },
            "children": [],
        }
        (around[-1][1] if around else roots).append(node)
        if len(around) < _DEEPEST:
            around.append((_at(tactic.end), node["children"]))
    return roots


def _at(position: Position) -> tuple[int, int]:
    return position.line, position.column
