"""Requests to boxes, read from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from rewarden.boxes.types import BoxRequest
from rewarden.errors import InvalidRequest
from rewarden_sandboxes.box import OF_BOX, OF_EXEC
from rewarden_verifiers.schema import Misfit, read

T = TypeVar("T")


def request_of(kind: type[T], value: Any) -> T:
    """Returns the request of that type. Null means the same as an absent field. Raises InvalidRequest with the path."""
    try:
        made: T = read(kind, _without_nulls(value), "")
    except Misfit as misfit:
        message = misfit.message.strip()
        if kind is BoxRequest and misfit.path.startswith("limits.") and misfit.words == "is unknown":
            message += f"; a box has {_listed(OF_BOX)}, and a program in it {_listed(OF_EXEC)}"
        raise InvalidRequest(message, path=misfit.path) from None
    return made


def _listed(limits: frozenset[str]) -> str:
    return ", ".join(sorted(limits))


def _without_nulls(value: Any) -> Any:
    if type(value) is not dict:
        return value
    made = {name: item for name, item in value.items() if item is not None}
    if type(made.get("limits")) is dict:
        made["limits"] = {name: item for name, item in made["limits"].items() if item is not None}
    return made


def whole_in(query: Mapping[str, Any], name: str, least: int, most: int, otherwise: int) -> int:
    """Returns an integer parameter, given as a number or as digits. Raises InvalidRequest."""
    given = query.get(name)
    if given is None:
        return otherwise
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) <= 19:
        given = int(given)
    if type(given) is not int or not least <= given <= most:
        raise InvalidRequest(f"{name} must be a whole number from {least} to {most}", path=name)
    return given
