"""A plan as JSON: alone in a text, in a code fence, or as the only value in prose."""

from __future__ import annotations

import json
from typing import Any

from rewarden_verifiers.planning.findings import Unread
from rewarden_verifiers.structure.json.strict import Malformed, standing_in

MAX_TEXT = 200_000
"""Characters of a text that is read for a plan."""


def items(value: Any, what: str) -> list[Any]:
    """The items of a list, or of the one list that an object holds. what: the items' name. Raises Unread."""
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    if not isinstance(value, list):
        raise Unread("malformed", f"the JSON is not a list of {what}")
    if not value:
        raise Unread("no_answer")
    return value


def field(value: dict[str, Any], *names: str) -> Any:
    """The value of the first of these keys that an object has, or None."""
    return next((value[name] for name in names if name in value), None)


def parsed(text: str) -> Any:
    """The list or object of a text, or None if it has none. Raises Unread for JSON that is malformed or ambiguous."""
    try:
        found = [value for value, _, _ in standing_in(text, (list, dict)) if isinstance(value, (list, dict))]
    except Malformed as fault:
        raise Unread("malformed", fault.message) from None
    if len({json.dumps(value, sort_keys=True) for value in found}) > 1:
        raise Unread("hedged", "the response has several plans")
    return found[0] if found else None
