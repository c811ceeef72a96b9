"""A tool call, and how one is read from a JSON value in the shapes of the common interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden_verifiers.structure.json.strict import Malformed, parse

MAX_NAME = 256
"""Characters of a tool's name."""

# In order of preference; of each kind a call has one. `function` is a name as text and a call as an object.
NAME_KEYS = ("name", "tool_name", "tool", "function", "action")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "params", "input", "tool_input", "action_input")

_TEXT_KEYS = ("tool_input", "action_input")
"""Keys under which agents write the one argument of a tool as text."""
_NO_ACTION = "Final Answer"
"""The action of an agent that answers and calls nothing, as LangChain's prompts have it."""


class Untyped(str):
    """An argument that was written as bare text (XML), so that `5` may be a number or a text."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Call:
    """A call. `positional`: arguments without a name, which only the Python shape has."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()


def calls_of(value: Any, *, tagged: bool = False) -> list[Call] | None:
    """The calls that a JSON value is: one call, a list of them, or a message with `tool_calls`; None if it is none.

    tagged: the value stands where only calls may stand, so that an object with nothing but a name is one. Raises
    Malformed for an object that is a call but not well formed, and for a list that mixes calls with other things.
    """
    if isinstance(value, dict):
        if isinstance(value.get("tool_calls"), list):
            return _listed(value["tool_calls"], True)
        if value.get("action") == _NO_ACTION and len(value) == 2 and "action_input" in value:
            return []
        return [_call(value)] if _like(value, tagged) else None
    if isinstance(value, list):
        if not value:
            return []
        if any(isinstance(item, dict) and _like(item, tagged) for item in value):
            return _listed(value, tagged)
    return None


def _listed(items: list[Any], tagged: bool) -> list[Call]:
    calls: list[Call] = []
    for item in items:
        if not isinstance(item, dict) or not _like(item, tagged):
            raise Malformed("malformed_call", "a list of calls holds something that is none")
        calls.append(_call(item))
    return calls


def _like(value: Mapping[str, Any], tagged: bool) -> bool:
    """Returns whether an object is meant as a call."""
    if "name" in value and "arguments" in value and isinstance(value["name"], str):
        return True
    if not tagged and _defines(value.get("function", value)):
        return False
    if isinstance(value.get("function"), dict):
        return True
    if not any(isinstance(value.get(key), str) for key in NAME_KEYS):
        return tagged
    return tagged or any(key in value for key in ARGUMENT_KEYS)


def _defines(value: Any) -> bool:
    """Returns whether an object is the definition of a tool: a schema of parameters stands for its arguments."""
    schema = value.get("parameters") if isinstance(value, dict) else None
    return isinstance(schema, dict) and schema.get("type") == "object" and isinstance(schema.get("properties"), dict)


def _call(value: Mapping[str, Any]) -> Call:
    if len(value) == 2:  # the common form, without the search for others
        name, arguments = value.get("name"), value.get("arguments")
        if type(name) is str and type(arguments) is dict and 0 < len(name) <= MAX_NAME and (name := name.strip()):
            return Call(name, arguments)
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    names = [key for key in NAME_KEYS if isinstance(value.get(key), str)]
    given = [key for key in ARGUMENT_KEYS if key in value]
    if len(names) != 1 or len(given) > 1:  # the attack: one name for the check, another for the tool server
        raise Malformed("malformed_call", f"a call needs one name and one set of arguments, not {names + given}")
    name = value[names[0]]
    if not name.strip() or len(name) > MAX_NAME:
        raise Malformed("malformed_call", f"a tool's name must not be blank or longer than {MAX_NAME} characters")
    arguments = value[given[0]] if given else None
    if given and given[0] in _TEXT_KEYS and isinstance(arguments, str) and arguments.strip()[:1] not in ("", "{"):
        return Call(name.strip(), {}, (Untyped(arguments.strip()),))
    if isinstance(arguments, str) and arguments.strip():  # OpenAI sends the arguments as JSON text
        arguments = parse(arguments)
        if isinstance(arguments, str):  # written as text twice: no serving layer undoes that
            raise Malformed("malformed_call", f"the arguments of {name[:40]!r} are text within text")
    if arguments is None or arguments == "":
        arguments = {}
    if not isinstance(arguments, dict):
        raise Malformed("malformed_call", f"the arguments of {name[:40]!r} are not an object")
    return Call(name.strip(), arguments)
