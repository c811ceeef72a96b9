"""The steps of a plan in text or JSON: `(action a b)`, `action(a, b)`, or `action a b`, numbered or not."""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

from rewarden_verifiers.planning.findings import Unread, shown
from rewarden_verifiers.planning.pddl.expressions import lowered
from rewarden_verifiers.planning.pddl.simulation import Step
from rewarden_verifiers.planning.written import items, parsed
from rewarden_verifiers.puzzles.answers import undressed
from rewarden_verifiers.structure.json.strict import Malformed, standing_in

MAX_STEPS = 20_000
_NAME = r"[^\s(),;\[\]{}\"'`<>|]{1,200}"
_LEAD = re.compile(
    r"[ \t]{0,20}(?:[-*•+][ \t]{1,4})?(?:\*\*)?(?:(?:step|action)[ \t]{0,4})?"
    r"(?:(?:(?P<number>[0-9]{1,6})[.):](?![0-9])|[0-9]{1,6}\.[0-9]{1,6}:)(?:\*\*)?[ \t]{0,8})?",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"\([ \t]*({_NAME}(?:[ \t]+{_NAME})*)[ \t]*\)")
_CALLED = re.compile(rf"({_NAME})\(({_NAME}(?:[ \t]*,[ \t]*{_NAME})*)?[ \t]*\)")
_BETWEEN = re.compile(r"[ \t]*[,.]?[ \t]*")
_TAIL = re.compile(r"[ \t]*+\.?(?:\[[0-9.]{1,12}\])?[ \t]*+(?:;.*)?")


class Steps:
    """Reads the plans of a problem. actions, objects: its names; a step without brackets must consist of these."""

    def __init__(self, actions: Set[str], objects: Set[str]) -> None:
        self._actions, self._objects = actions, objects

    def read(self, text: str, marked: bool) -> list[Step]:
        """The steps of a plan. Raises Unread.

        marked: the text must be a plan and nothing else. Otherwise the plan is the one run of lines that are steps, or
        the one JSON list of steps; two different ones are a hedge.
        """
        whole = undressed(text)
        if whole.startswith(("[", "{")):
            return _listed(parsed(whole))
        plans = self._plans(whole if marked else text, marked)
        if not marked:
            plans |= dict.fromkeys(_plans_in_json(text))
        if len(plans) > 1:
            raise Unread("hedged", "the response has several plans")
        if not plans:
            raise Unread("no_answer")
        (plan,) = plans
        return list(plan)

    def _plans(self, text: str, marked: bool) -> dict[tuple[Step, ...], None]:
        """The different plans of a text, each a run of lines that are steps."""
        plans: dict[tuple[Step, ...], None] = {}
        current: list[Step] = []
        number = -1
        count = 0
        for line in [*text.splitlines(), None]:
            steps, own = ([], None) if line is None else self._steps(line)
            if steps is None or line is None:
                if steps is None and marked and line is not None:
                    raise Unread("malformed", f"{shown(line.strip())} is not a step of a plan")
                if current and (marked or any(step[0] in self._actions for step in current)):
                    plans[tuple(current)] = None
                current = []
                number = -1
                continue
            if own is not None:
                if own <= number and current:
                    # Two plans without a word between them: the numbering begins anew.
                    raise Unread("hedged", f"the steps are numbered {number}, {own}")
                number = own
            count += len(steps)
            if count > MAX_STEPS:
                raise Unread("too_expensive")
            current += steps
        return plans

    def _steps(self, line: str) -> tuple[list[Step] | None, int | None]:
        """The steps of a line and the number before them; None if there is anything else in the line."""
        bare = line.strip()
        if not bare or bare.startswith(";"):
            return [], None
        lead = _LEAD.match(line)
        at = lead.end() if lead else 0
        number = int(lead["number"]) if lead and lead["number"] else None
        rest = line[at:].strip().strip("`*").strip()
        if not rest:
            return ([], number) if number is not None else (None, None)
        found: list[Step] = []
        at = 0
        while at < len(rest):
            if (listed := _LISTED.match(rest, at)) is not None:
                found.append(tuple(lowered(listed.group(1)).split()))
                at = listed.end()
            elif (called := _CALLED.match(rest, at)) is not None:
                arguments = [one.strip() for one in lowered(called.group(2) or "").split(",")]
                found.append((lowered(called.group(1)), *filter(None, arguments)))
                at = called.end()
            else:
                break
            if _TAIL.fullmatch(rest, at):
                return found, number
            at = _BETWEEN.match(rest, at).end()  # type: ignore[union-attr]
        if found or at:
            return None, None
        words = lowered(rest.split(";")[0]).rstrip(".").split()
        if words and words[0] in self._actions and all(word in self._objects for word in words[1:]):
            return [tuple(words)], number
        return None, None


def _plans_in_json(text: str) -> list[tuple[Step, ...]]:
    """The plans that stand as JSON lists in prose; what is not a plan is prose."""
    found: list[tuple[Step, ...]] = []
    try:
        values = standing_in(text, (list, dict))
    except Malformed:
        return found
    for value, _, _ in values:
        try:
            found.append(tuple(_listed(value)))
        except Unread:
            continue
    return found


def _listed(value: Any) -> list[Step]:
    """The steps of a JSON list: texts, lists of names, or objects with the action and its arguments. Raises Unread."""
    steps = items(value, "steps")
    if len(steps) > MAX_STEPS:
        raise Unread("too_expensive")
    return [_step(one) for one in steps]


def _step(value: Any) -> Step:
    if isinstance(value, str):
        listed = _LISTED.fullmatch(value.strip()) or _CALLED.fullmatch(value.strip())
        if listed is None:
            raise Unread("malformed", f"{shown(value)} is not a step such as (action a b)")
        words = " ".join(group for group in listed.groups() if group)
        return tuple(lowered(words).replace(",", " ").split())
    if isinstance(value, dict):
        names = [value[key] for key in ("action", "name") if key in value]
        arguments = [value[key] for key in ("args", "arguments", "parameters") if key in value]
        if len(names) == 1 and len(arguments) <= 1 and len(value) == len(names) + len(arguments):
            value = [names[0], *(arguments[0] if arguments and isinstance(arguments[0], list) else arguments)]
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return tuple(lowered(one.strip()) for one in value)
    raise Unread("malformed", f"{shown(repr(value))} is not a step")
