"""The functions that expressions can call, with the types of their arguments and results."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

import re2

from rewarden_verifiers.extraction import encodable

Type = Literal["double", "int", "mixed", "bool", "string", "null", "list", "any"]
"""`mixed`: an integer or a double, depending on the branch: valid as a result, not as an operand."""

_DECIMAL = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE | re.ASCII)
_SHOWN = 60


class Failure(Exception):
    """An operation that does not apply to its value."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that expressions can call. `argument` is the type of each argument; `most` is None if their number is
    not limited. `call` can raise Failure, ValueError and ArithmeticError."""

    least: int
    most: int | None
    argument: Type
    result: Type
    call: Callable[..., Any]


def short(value: Any) -> str:
    """Returns a value abbreviated for messages. Reads no more of a large value than it shows."""
    text = repr(value[:_SHOWN]) if isinstance(value, str) else reprlib.repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "…"


def is_number(value: Any) -> bool:
    """Returns True for a double or an integer."""
    return type(value) is float or type(value) is int


def _size(value: Any) -> int:
    """Returns the number of characters of a text, items of a list, or keys of a mapping."""
    if not isinstance(value, (str, list, dict)):
        raise Failure(f"{short(value)} has no size")
    return len(value)


def _double(value: Any) -> float:
    if is_number(value) or (isinstance(value, str) and _DECIMAL.fullmatch(value)):
        return float(value)
    raise Failure(f"{short(value)} is not a number")


def _string(value: Any) -> str:
    """Returns doubles in full, without an exponent: `0.0000001`, and `1` for 1.0."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if not is_number(value):
        raise Failure(f"{short(value)} has no text")
    if not math.isfinite(value):
        return str(value).replace("nan", "NaN")
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@lru_cache(maxsize=256)
def _pattern(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise Failure(f"{short(text)} is not a pattern: {error}") from None


def _matches(text: str, pattern: str) -> bool:
    # Attack: half of a surrogate pair in an answer, on which RE2 raises.
    return _pattern(pattern).search(encodable(text)) is not None


FUNCTIONS: Mapping[str, Function] = {
    "min": Function(1, None, "double", "double", min),
    "max": Function(1, None, "double", "double", max),
    "clamp": Function(3, 3, "double", "double", lambda x, low, high: min(max(x, low), high)),
    "abs": Function(1, 1, "double", "double", abs),
    "floor": Function(1, 1, "double", "double", lambda x: float(math.floor(x))),
    "ceil": Function(1, 1, "double", "double", lambda x: float(math.ceil(x))),
    "sqrt": Function(1, 1, "double", "double", math.sqrt),
    "cos": Function(1, 1, "double", "double", math.cos),
    "exp": Function(1, 1, "double", "double", math.exp),
    "log": Function(1, 1, "double", "double", math.log),
    "pow": Function(2, 2, "double", "double", math.pow),
    "size": Function(1, 1, "any", "int", _size),
    "double": Function(1, 1, "any", "double", _double),
    "string": Function(1, 1, "any", "string", _string),
}
"""Called as `f(x)`."""

METHODS: Mapping[str, Function] = {
    "contains": Function(1, 1, "string", "bool", lambda text, part: part in text),
    "startsWith": Function(1, 1, "string", "bool", lambda text, part: text.startswith(part)),
    "endsWith": Function(1, 1, "string", "bool", lambda text, part: text.endswith(part)),
    "matches": Function(1, 1, "string", "bool", _matches),
    "size": Function(0, 0, "any", "int", _size),
}
"""Called as `x.f(y)`. `matches` uses a linear-time regular expression engine."""
