"""A verifier's schemas in few words, for its form and its page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def type_name(part: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """A JSON Schema in few words: `number or null`, `list of string`, `"strict" | "lax"`."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        target = root.get("$defs", {}).get(name, {})
        return type_name(target, root) if "enum" in target else name
    if "enum" in part:
        return " | ".join(json.dumps(value) for value in part["enum"])
    if "const" in part:
        return json.dumps(part["const"])
    for word in ("anyOf", "oneOf"):
        if word in part:
            return " or ".join(dict.fromkeys(type_name(option, root) for option in part[word]))
    kind = part.get("type")
    if kind == "array":
        items = part.get("items") or (part.get("prefixItems") or [{}])[0]
        return f"list of {type_name(items, root)}"
    return kind if isinstance(kind, str) else "anything"


def reads_reference(item: Mapping[str, Any]) -> bool:
    """Returns whether what was described looks at a sample's reference."""
    return "reference" in item["reads"] or "prepared" in item["reads"]
