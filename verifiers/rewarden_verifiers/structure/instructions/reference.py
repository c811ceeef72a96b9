"""References of `instructions`, in the forms used by data sets."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidReference, near
from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import CHECKERS, Check
from rewarden_verifiers.structure.instructions.registry import ALIASES, find

Reference = str | dict[str, Any] | list[Any]

_MOST_INSTRUCTIONS = 128
_LONGEST = 1_000_000
_DEEPEST = 4
"""The maximum number of times that a text inside a text is parsed."""
_LISTS = ("instruction_id_list", "instruction_id")
_NAMES = ("id", "instruction_id")
_FUNCTION = "func_name"
"""The key of Tulu 3's form, which has one instruction and its arguments in one object."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction with its arguments parsed: its check, and the guard that applies in addition if guards are on."""

    name: str
    check: Check
    guard: Check | None
    why: str


def read(reference: Reference, guards: bool = True) -> tuple[Instruction, ...]:
    """Parses the instructions of a reference. Raises InvalidReference: an unknown id never counts as followed.

    guards: if False, the official checks are used where ours differ.
    """
    listed = _listed(reference, _DEEPEST)
    if not listed:
        raise InvalidReference("the reference holds no instruction", path="reference")
    if len(listed) > _MOST_INSTRUCTIONS:
        raise InvalidReference(f"the reference holds more than {_MOST_INSTRUCTIONS} instructions", path="reference")
    return tuple(_instruction(name, given, f"reference[{place}]", guards) for place, (name, given) in enumerate(listed))


def _instruction(name: Any, given: Any, path: str, guards: bool) -> Instruction:
    found = find(name) if isinstance(name, str) else None
    if found is None:
        hint = near(name, (*CHECKERS, *ALIASES), otherwise="")
        raise InvalidReference(f"there is no instruction {str(name)[:100]!r}{hint}", path=path)
    if isinstance(given, str):
        given = _parsed(given, f"{path}.kwargs")
    if given is not None and not isinstance(given, Mapping):
        raise InvalidReference("the arguments of an instruction must be an object", path=f"{path}.kwargs")
    arguments = Arguments(found.name, given or {}, f"{path}.kwargs")
    official = None if guards else found.official
    check = (official or found.build)(arguments)
    guard = None if found.guard is None else found.guard(arguments)
    if not found.name.startswith("custom:"):  # `custom:` instructions ignore any arguments, as in the official code
        arguments.finish()
    return Instruction(found.name, check, guard, found.why)


def _parsed(text: str, path: str) -> Any:
    """Parses a text as JSON or as a Python literal: open-instruct's data sets contain `str()` of a list."""
    if len(text) > _LONGEST:
        raise InvalidReference(f"a text longer than {_LONGEST} characters holds no instructions", path=path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)  # literals only: this runs no code
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InvalidReference("the text is neither JSON nor a Python literal", path=path) from None


def _listed(reference: Any, depth: int) -> list[tuple[Any, Any]]:
    """Lists ids with their arguments."""
    if isinstance(reference, str) and depth:
        return _listed(_parsed(reference, "reference"), depth - 1)
    if isinstance(reference, Mapping):
        for key in _LISTS:
            names = reference.get(key)
            if isinstance(names, Sequence) and not isinstance(names, str):
                return _paired(names, reference.get("kwargs"))
        if isinstance(reference.get(_FUNCTION), str):  # its arguments are next to the name
            return [(reference[_FUNCTION], {key: value for key, value in reference.items() if key != _FUNCTION})]
        for key in _NAMES:
            if isinstance(reference.get(key), str):
                return [(reference[key], reference.get("kwargs"))]
        raise InvalidReference("an instruction must have an id", path="reference")
    if isinstance(reference, Sequence) and not isinstance(reference, str) and depth:
        return [pair for entry in reference for pair in _listed(entry, depth - 1)]
    raise InvalidReference("the reference must be a list of instructions, each with an id and kwargs", path="reference")


def _paired(names: Sequence[Any], given: Any) -> list[tuple[Any, Any]]:
    if isinstance(given, str):
        given = _parsed(given, "reference.kwargs")
    if given is None:
        given = [None] * len(names)
    if not isinstance(given, Sequence) or len(given) != len(names):
        raise InvalidReference("kwargs must be as many as the instructions", path="reference.kwargs")
    return list(zip(names, given, strict=True))
