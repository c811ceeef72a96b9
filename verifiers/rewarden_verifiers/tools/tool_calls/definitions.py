"""Definitions of tools: parameters by JSON Schema, as OpenAI, Anthropic, MCP and the function-calling leaderboard
write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rewarden_verifiers.structure.json.strict import Malformed
from rewarden_verifiers.structure.json.validation import Validation, validation
from rewarden_verifiers.tools.tool_calls.calls import Call, Untyped
from rewarden_verifiers.tools.tool_calls.python import bare

MAX_TOOLS = 512
"""Definitions of one sample."""

_MOST_FAULTS = 200
"""Faults of a call's arguments that are looked at."""

_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
# Python's and Java's words for types, which the function-calling leaderboard uses.
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("dict", "HashMap"), "object"),
    **dict.fromkeys(("tuple", "ArrayList", "Array"), "array"),
    **dict.fromkeys(("float", "double"), "number"),
    **dict.fromkeys(("long", "int"), "integer"),
    **dict.fromkeys(("str", "String"), "string"),
    **dict.fromkeys(("Boolean", "bool"), "boolean"),
}


class Tool:
    """A tool: the names of its parameters in order, and what validates its arguments."""

    __slots__ = ("_properties", "_validation", "parameters")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        properties = schema.get("properties")
        self._properties: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        self.parameters = tuple(self._properties)
        self._validation: Validation = validation(dict(schema), {}, "auto", None, "linear")

    def settle(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, those of bare text read as the type that their parameter has."""
        return {
            name: self._typed(name, value) if isinstance(value, Untyped) else value for name, value in arguments.items()
        }

    def holds(self, arguments: Mapping[str, Any], excused: Collection[str] = ()) -> bool:
        """Returns whether settled arguments are valid; excused: those whose values the reference itself lists."""
        # What stands as bare text may be either; the validator takes neither for the other.
        texts = {name: str(value) if type(value) is Untyped else value for name, value in arguments.items()}
        if self._validation.holds(texts):
            return True
        values = {name: _value(value) if type(value) is Untyped else value for name, value in arguments.items()}
        if values != texts and self._validation.holds(values):
            return True
        if not excused:
            return False
        paths = [f"/{name[:80]}" for name in excused]
        faults = self._validation.faults(values, _MOST_FAULTS)
        return len(faults) < _MOST_FAULTS and all(
            any(fault["path"] == path or fault["path"].startswith(f"{path}/") for path in paths) for fault in faults
        )

    def _typed(self, name: str, value: Untyped) -> Any:
        schema = self._properties.get(name)
        kinds = schema.get("type") if isinstance(schema, dict) else None
        listed = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        if listed and "string" not in listed:
            with suppress(Malformed):
                return bare(value)
        # `null` between tags stays what it may be: the reference may list it where the definition says text. Templates
        # of Qwen's kind write `None`.
        return str(value) if listed and value.strip() not in ("null", "None") else value


def _value(text: str) -> Any:
    try:
        return bare(text)
    except Malformed:
        return str(text)


def tools_of(definitions: Sequence[Any]) -> dict[str, Tool]:
    """The tools by name. Raises ValueError, naming the definition at fault."""
    if len(definitions) > MAX_TOOLS:
        raise ValueError(f"there are more than {MAX_TOOLS} tools")
    tools: dict[str, Tool] = {}
    for index, definition in enumerate(definitions):
        inner = definition.get("function", definition) if isinstance(definition, Mapping) else None
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(name, str) or not name.strip():
            raise ValueError(f"tools[{index}] must be an object with a name, or with a 'function' that has one")
        if name in tools:
            raise ValueError(f"tools[{index}]: the name {name!r} is taken")
        schema: Any = next((inner[key] for key in _SCHEMA_KEYS if key in inner), {})
        if not isinstance(schema, Mapping):
            raise ValueError(f"tools[{index}]: the parameters must be a JSON Schema")
        try:
            tools[name] = Tool(_plain(schema))
        except ValueError as error:
            raise ValueError(f"tools[{index}]: {error}") from None
    return tools


def bound(call: Call, names: Sequence[str]) -> dict[str, Any]:
    """The arguments of a call, positional ones under their names; one too many, or given twice, under its place."""
    if not call.positional:
        return call.arguments
    arguments = dict(call.arguments)
    for place, value in enumerate(call.positional):
        name = names[place] if place < len(names) else None
        arguments[name if name is not None and name not in arguments else f"#{place}"] = value
    return arguments


def _plain(schema: Any, depth: int = 0) -> Any:
    """A schema with the words of JSON Schema for types, `any` dropped."""
    if depth > 64:
        raise ValueError("the schema is nested too deep")
    if isinstance(schema, list):
        return [_plain(item, depth + 1) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            if value == "any":
                continue
            made[key] = _TYPES.get(value, value)
        elif key in ("default", "enum", "const", "examples", "example", "required"):
            made[key] = value
        elif key == "properties" and isinstance(value, Mapping):  # a parameter may itself be called `type`
            made[key] = {name: _plain(inner, depth + 1) for name, inner in value.items()}
        else:
            made[key] = _plain(value, depth + 1)
    return made
