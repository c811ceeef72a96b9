"""Fields that verifiers need, derived from the rows of NeMo Gym's servers. Each function takes a row, and returns new
fields; `gym_servers.toml` names it in `derive`, and reads them as `$derived.NAME`. A value of None is absent. Raises
ValueError for a row that does not have its server's published form.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_JUDGEMENT = re.compile(r"judgement\W*(yes|no)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_GROUPS = re.compile(r"\s*!:!\s*")


def at(value: Any, path: str) -> Any:
    """Returns the value at a dotted path, or None."""
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def lettered(value: Any) -> Any:
    """Returns a list of objects with one key each, all of them option letters (`[{"A": "…"}, {"B": "…"}]`), as one
    object; options without a text are left out. Any other value is returned unchanged.
    """
    if not isinstance(value, list) or not value:
        return value
    if not all(isinstance(item, Mapping) and item and all(len(str(key)) == 1 for key in item) for item in value):
        return value
    return {str(key): text for item in value for key, text in item.items() if text is not None}


def options(row: Mapping[str, Any]) -> dict[str, Any]:
    """`options`, or BunsenBench's `choices` (texts, or objects with a letter), by letter; and the letters."""
    given = row.get("options") or row.get("choices") or at(row, "metadata.options")
    if isinstance(given, list) and not isinstance(lettered(given), dict):
        given = [_choice(item, chr(ord("A") + at)) for at, item in enumerate(given[:26])]
    found = lettered(given)
    found = found if isinstance(found, dict) and found else None
    return {"options": found, "letters": found and list(found)}


def _choice(item: Any, letter: str) -> dict[str, str]:
    if not isinstance(item, Mapping):
        return {letter: str(item)}
    named = next((str(item[key]) for key in ("letter", "label", "key", "id") if item.get(key)), letter)
    text = next((str(item[key]) for key in ("text", "content", "value", "choice") if item.get(key)), "")
    return {named.strip().upper()[:1] or letter: text}


def circles(row: Mapping[str, Any]) -> dict[str, Any]:
    """The number of circles of that colour, and the centre and radius of the first one."""
    given = row.get("circles")
    if not isinstance(given, list) or not all(isinstance(circle, Mapping) for circle in given):
        raise ValueError("the row has no list of circles")
    wanted = [circle for circle in given if circle.get("color") == row.get("target_color")]
    first = wanted[0] if wanted else {}
    centre = [first.get("x"), first.get("y")]
    return {"count": len(wanted), "centre": None if None in centre else centre, "radius": first.get("radius")}


def target(row: Mapping[str, Any]) -> dict[str, Any]:
    """The point `x,y` of `expected_answer`, and the distance at which the reward is 0."""
    parts = str(row.get("expected_answer", "")).split(",")
    try:
        point = [float(part) for part in parts]
    except ValueError:
        point = []
    if len(point) != 2:
        raise ValueError('expected_answer is not a point "x,y"')
    return {"target": point, "reach": row.get("max_dist", 0.15)}


def candidates(row: Mapping[str, Any]) -> dict[str, Any]:
    """The options as labels, with and without their articles."""
    given = row.get("options") or at(row, "verifier_metadata.options") or []
    if not isinstance(given, list):
        raise ValueError("options must be a list of strings")
    bare = [(str(option), _ARTICLE.sub("", str(option))) for option in given]
    return {"candidates": [{"name": name, "aliases": [short, f"the {short}"]} for name, short in bare]}


def events(row: Mapping[str, Any]) -> dict[str, Any]:
    """The events to schedule; None if no change of the calendar is expected."""
    given = row.get("exp_cal_state")
    if not isinstance(given, Mapping) or not all(isinstance(event, Mapping) for event in given.values()):
        raise ValueError("exp_cal_state must be an object of events")
    told = ("duration", "min_time", "max_time", "constraint")
    made = {name: {key: event[key] for key in told if key in event} for name, event in given.items()}
    return {"events": made or None}


def behind_prefix(row: Mapping[str, Any]) -> dict[str, Any]:
    """The expected answer without the prefix that every answer must have."""
    expected, prefix = row.get("expected_answer"), row.get("random_string_to_prepend")
    if not isinstance(expected, str) or not isinstance(prefix, str):
        raise ValueError("expected_answer and random_string_to_prepend must be strings")
    return {"behind_prefix": expected.removeprefix(prefix)}


def judgement(row: Mapping[str, Any]) -> dict[str, Any]:
    """The word of `Judgement: Yes`."""
    found = _JUDGEMENT.search(str(row.get("expected_judgement", "")))
    if found is None:
        raise ValueError('expected_judgement is neither "Judgement: Yes" nor "Judgement: No"')
    return {"judgement": found[1].capitalize()}


def instructions(row: Mapping[str, Any]) -> dict[str, Any]:
    """Ids and arguments, from `verifier_metadata` or, in earlier rows, from the top level. An instruction about the
    prompt gets the prompt if its arguments do not have it.
    """
    within = row.get("verifier_metadata")
    told = {**row, **(within if isinstance(within, Mapping) else {})}
    ids, arguments = told.get("instruction_id_list"), told.get("kwargs")
    if not isinstance(ids, list) or not isinstance(arguments, list) or len(ids) != len(arguments):
        raise ValueError("instruction_id_list and kwargs must be lists of equal length")
    given = [{key: value for key, value in (one or {}).items() if value is not None} for one in arguments]
    return {"instructions": {"instruction_id_list": ids, "kwargs": given}}


def lines(row: Mapping[str, Any]) -> dict[str, Any]:
    """The number of lines that must match."""
    return {"lines": at(row, "verifier.verify_min_matches") or 1}


def schema(row: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with every property required and no others allowed, as in Gym; and the schema of an object with such a
    value under `tool_payload_key`."""
    try:
        found = json.loads(row["schema_str"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"schema_str is not JSON: {error}") from None
    _tighten(found)
    key = row.get("tool_payload_key")
    return {"schema": found, "payload": {key: found} if isinstance(key, str) else None}


def _tighten(found: Any) -> None:
    open_: list[Any] = [found]
    while open_:
        value = open_.pop()
        if isinstance(value, dict):
            if isinstance(value.get("properties"), dict):
                value |= {"required": list(value["properties"]), "additionalProperties": False}
            open_ += value.values()


def action(row: Mapping[str, Any]) -> dict[str, Any]:
    """The expected calls of `expected_action`; none if it is a message."""
    given = row.get("expected_action")
    if not isinstance(given, Mapping):
        raise ValueError("expected_action must be an object")
    kind = given.get("type", "function_call")
    calls = given.get("calls", []) if kind == "function_call_batch" else [given] if kind == "function_call" else []
    return {"calls": [{"name": call.get("name"), "arguments": call.get("arguments")} for call in calls]}


def unittest(row: Mapping[str, Any]) -> dict[str, Any]:
    """A file of tests that imports the code under test, and the names of its tests."""
    content, name = at(row, "verifier_metadata.test"), at(row, "verifier_metadata.entry_point")
    if not isinstance(content, str) or not isinstance(name, str):
        raise ValueError("verifier_metadata.test and verifier_metadata.entry_point must be strings")
    try:
        body = ast.parse(content).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ValueError(f"verifier_metadata.test is not valid Python: {error}") from None
    classes = [one for one in body if isinstance(one, ast.ClassDef)]
    methods = [(one.name, each.name) for one in classes for each in one.body if isinstance(each, ast.FunctionDef)]
    tests = [f"{one}::{each}" for one, each in methods if each.startswith("test")]
    if not tests:
        raise ValueError("verifier_metadata.test has no test")
    return {"test": f"from solution import *\n{content}", "tests": tests}


def ether0(row: Mapping[str, Any]) -> dict[str, Any]:
    """The judging function and its argument: `product_eval!:!CCO!:!…`."""
    parts = _GROUPS.split(str(at(row, "verifier_metadata.solution") or ""))
    if len(parts) != 3:
        raise ValueError("verifier_metadata.solution is not function!:!answer!:!kind")
    return {"function": parts[0], "answer": parts[1]}


DERIVED: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "options": options,
    "circles": circles,
    "target": target,
    "candidates": candidates,
    "events": events,
    "behind_prefix": behind_prefix,
    "judgement": judgement,
    "instructions": instructions,
    "lines": lines,
    "schema": schema,
    "action": action,
    "unittest": unittest,
    "ether0": ether0,
}
"""Name to function."""
