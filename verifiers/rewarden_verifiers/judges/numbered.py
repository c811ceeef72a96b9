"""Replies about a numbered list: each number exactly once, or the reply says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden_verifiers.judges.replies import UnreadableError


def numbered(name: str, count: int, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a reply: under `name`, `count` entries of a number (from 1) and the properties, all required."""
    entry = {
        "type": "object",
        "properties": {"number": {"type": "integer", "minimum": 1, "maximum": count}, **properties},
        "required": ["number", *properties],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": entry, "minItems": count, "maxItems": count}},
        "required": [name],
        "additionalProperties": False,
    }


def by_number(found: Mapping[str, Any], name: str, count: int) -> list[Mapping[str, Any]]:
    """The entries in the order of their numbers. Raises UnreadableError where one stands twice and so another lacks."""
    rows = {row["number"]: row for row in found[name]}
    if len(rows) != count:
        raise UnreadableError("a number stands twice")
    return [rows[number] for number in range(1, count + 1)]
