"""Strict JSON (RFC 8259). Text that two parsers could read differently is rejected, with the reason.

Duplicate keys (parsers keep different ones), NaN and Infinity (not JSON), numbers that overflow or have hundreds of
digits, halves of surrogate pairs (not UTF-8), deep nesting and huge texts are all `Malformed`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from json import JSONDecodeError, JSONDecoder, dumps
from typing import Any, NoReturn

from rewarden.types import Outcome
from rewarden_verifiers.outcome import too_expensive, wrong

MAX_TEXT = 1_000_000
"""The maximum length of a JSON text in characters."""

MAX_DEPTH = 64
"""The maximum nesting depth of lists and objects."""

MAX_DIGITS = 300
"""The maximum number of digits of a number; every such integer has a floating-point value."""

MAX_VALUES = 50_000
"""The maximum number of values in a text, not counting keys."""

MAX_FAULTS = 2_000
"""The maximum number of brackets in prose that look like JSON but are not: finding each error takes time linear in the
whole text.
"""

BLANKS = " \t\r\n"
"""Characters that JSON treats as white space."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Malformed(Exception):
    """The text is not the JSON that was asked for. `reason` is in snake_case, `message` is for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    def outcome(self) -> Outcome:
        """The outcome of a response that contains such text."""
        evidence = {"fault": self.message}
        if self.reason == "too_long":
            return too_expensive(flags=("malformed",), evidence=evidence)
        return wrong(self.reason, flags=("malformed",), feedback=self.message, evidence=evidence)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):  # attack: show one value to a check, and another to the consumer of the answer
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise Malformed("duplicate_key", f"the key {key[:80]!r} occurs twice in an object")
            seen.add(key)
    return made


def _constant(name: str) -> NoReturn:
    raise Malformed("not_a_number", f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Malformed("huge_number", f"an integer of {len(digits)} characters")
    return int(digits)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):  # 1e999 becomes infinity
        raise Malformed("huge_number", f"{text[:40]} is beyond the range of numbers")
    return value


_DECODER = JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer, strict=True
)
# `raw_decode` wraps this in a function that costs as much as a small text.
_scan: Callable[[str, int], tuple[Any, int]] = vars(_DECODER)["scan_once"]


def parse(text: str) -> Any:
    """Parses a text that is JSON and nothing else except blanks. Raises Malformed. Takes linear time."""
    body = text.strip(BLANKS)
    value, end = decode(body, 0)
    if end != len(body):
        raise Malformed("trailing_text", f"after the JSON comes {body[end : end + 40].lstrip()!r}")
    return value


def decode(text: str, start: int) -> tuple[Any, int]:
    """Parses the JSON value that begins exactly at `start`, and returns its end as well. Raises Malformed."""
    if len(text) - start > MAX_TEXT:
        raise Malformed("too_long", f"more than {MAX_TEXT} characters")
    try:
        value, end = _scan(text, start)
    except StopIteration as stop:
        raise SyntaxFault("Expecting value", stop.value) from None
    except JSONDecodeError as error:
        raise SyntaxFault(error.msg, error.pos) from None
    except RecursionError:
        raise Malformed("too_deep", f"nested deeper than {MAX_DEPTH}") from None
    if end - start > MAX_DEPTH:
        _check(value, text, start, end)
    if not text.isascii() or (text.find("\\u", start, end) >= 0 and _SURROGATE.search(text, start, end) is not None):
        check_surrogates(dumps(value, ensure_ascii=False))
    return value, end


def check_surrogates(text: str) -> None:
    """Raises Malformed for a text with unpaired surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Malformed("lone_surrogate", "half of a surrogate pair is not text") from None


class SyntaxFault(Malformed):
    """The text from `position` on is not JSON at all."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__("malformed", f"{message.removesuffix(' at')} at character {position}")
        self.position = position


def _check(value: Any, text: str, start: int, end: int) -> None:
    """Checks the depth and the number of values. Counting signs is far cheaper than walking, and nearly always
    suffices.
    """
    brackets = text.count("[", start, end) + text.count("{", start, end)
    if brackets <= MAX_DEPTH and text.count(",", start, end) + brackets < MAX_VALUES:
        return
    number, level, waiting = 0, 0, [value]
    while waiting:
        level += 1
        number += len(waiting)
        if number > MAX_VALUES:
            raise Malformed("too_long", f"more than {MAX_VALUES} values")
        inner: list[Any] = []
        for item in waiting:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        # A level of scalars does not count as nesting: `[1]` has depth 1.
        if level > MAX_DEPTH and any(isinstance(item, (dict, list)) for item in waiting):
            raise Malformed("too_deep", f"nested deeper than {MAX_DEPTH}")
        waiting = inner


def canonical(value: Any) -> str:
    """Returns the same text for values that are the same JSON, regardless of key order."""
    return dumps(value, sort_keys=True, separators=(",", ":"))


def standing_in(text: str, wanted: Sequence[type]) -> list[tuple[Any, int, int]]:
    """Returns the outermost objects and lists in prose as (value, start, end), restricted to the types in `wanted` if
    any are given.

    Makes one pass: it continues after each value, or where parsing failed. Raises Malformed if an object begins but is
    not well formed: its parts are not an answer.
    """
    found: list[tuple[Any, int, int]] = []
    position = faults = 0
    while (match := _OPENING.search(text, position)) is not None:
        start = match.start()
        try:
            value, position = decode(text, start)
        except SyntaxFault as fault:
            if text[start] == "{" and text[start + 1 : fault.position].strip(BLANKS):
                raise
            if _opened(text, start, fault.position) > MAX_DEPTH:
                raise Malformed("too_deep", f"nested deeper than {MAX_DEPTH}") from None
            faults += 1
            if faults > MAX_FAULTS:
                raise Malformed("too_long", f"more than {MAX_FAULTS} brackets that begin no JSON") from None
            position = max(fault.position, start + 1)
            continue
        found.append((value, start, position))
    preferred = [item for item in found if isinstance(item[0], tuple(wanted))]
    return preferred or found


# A bracket followed by something that JSON permits there; all others are prose.
_OPENING = re.compile(r"\{(?=[ \t\r\n]*[\"}])|\[(?=[ \t\r\n]*[]\[{\"\-0-9tfnNI])")


def _opened(text: str, start: int, end: int) -> int:
    """Returns the number of open brackets after a part of a text, ignoring strings."""
    opened = text.count("[", start, end) + text.count("{", start, end)
    return opened - text.count("]", start, end) - text.count("}", start, end)
