"""Tagged JSON (docs/tagged-codec.md), read as plain values and written from a reference's JSON.

The input comes from a candidate's process, so it is hostile: sizes, depth and digits are limited, no number becomes a
hash table key, and no class of the candidate is ever looked up. Types that do not matter for a comparison become the
nearest plain value: a deque or an array becomes a list, a fraction or a decimal a float.

In a reference, arguments and results are plain JSON. Other values are written as `{"$": TAGGED}`, such as `{"$": {"t":
[{"i": "1"}, {"i": "2"}]}}` for the tuple (1, 2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from rewarden_verifiers.execution.values import Bag, Opaque, Tuple

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 100
MAX_DIGITS = 100_000
ESCAPE = "$"

_INTEGER = re.compile(rf"-?[0-9a-f]{{1,{MAX_DIGITS}}}")
_FLOAT = re.compile(r"-?0x[01](?:\.[0-9a-f]{1,13})?p[+-][0-9]{1,4}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL = ("nan", "inf", "-inf")
_ARRAY_DIMENSIONS = 64
_EMPTY_LISTS = 10_000
"""The maximum number of rows of an array without elements."""


class Untagged(Exception):
    """The text is not tagged JSON, or exceeds its limits."""


def loads(data: bytes) -> Any:
    """Parses the JSON of a mode's reply. Raises Untagged."""
    if len(data) > MAX_BYTES:
        raise Untagged(f"more than {MAX_BYTES} bytes")
    try:
        return json.loads(data.decode("ascii"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Untagged("no JSON") from error


def _refuse(text: str) -> Any:
    raise ValueError(text)


def decode(value: Any, depth: int = 0) -> Any:
    """Converts tagged JSON, as returned by `loads`, to a plain value. Raises Untagged."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if depth >= MAX_DEPTH:
        raise Untagged(f"nested deeper than {MAX_DEPTH}")
    if not isinstance(value, dict) or len(value) != 1:
        raise Untagged("no value")
    ((tag, payload),) = value.items()
    reader = _READERS.get(tag)
    if reader is None:
        raise Untagged("an unknown tag")
    try:
        return reader(payload, depth + 1)
    except (ValueError, OverflowError) as error:  # what readers raise on hostile input
        raise Untagged("no value") from error


def _integer(payload: Any, depth: int) -> int:
    if not isinstance(payload, str) or not _INTEGER.fullmatch(payload):
        raise Untagged("no integer")
    return int(payload, 16)


def _float(payload: Any, depth: int) -> float:
    if not isinstance(payload, str) or not (payload in _SPECIAL or _FLOAT.fullmatch(payload)):
        raise Untagged("no float")
    try:
        return float(payload) if payload in _SPECIAL else float.fromhex(payload)
    except OverflowError:
        raise Untagged("no float") from None


def _items(payload: Any, depth: int) -> list[Any]:
    if not isinstance(payload, list):
        raise Untagged("no array")
    return [decode(item, depth) for item in payload]


def _dict(payload: Any, depth: int) -> dict[str, Any]:
    """Returns a dictionary with its keys as JSON writes them. If two keys become equal (1 and "1"), one would hide the
    other, so that is not a plain value.
    """
    made: dict[str, Any] = {}
    for pair in _pairs(payload):
        name = key_text(decode(pair[0], depth))
        if name in made:
            raise Untagged("two keys that JSON writes alike")
        made[name] = decode(pair[1], depth)
    return made


def _pairs(payload: Any) -> list[Any]:
    if not isinstance(payload, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in payload):
        raise Untagged("no pairs")
    return payload


def key_text(key: Any) -> str:
    """Returns a dictionary's key as text: as JSON writes it, or in another form if JSON cannot."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int):
        return str(key) if key.bit_length() <= 10_000 else hex(key)
    return repr(key) if isinstance(key, float) else f"{type(key).__name__}:{_repr(key)}"


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError as error:  # an integer within it has more digits than `repr` writes
        raise Untagged("a key that cannot be written") from error


def _bytes(payload: Any, depth: int) -> bytes:
    if not isinstance(payload, str):
        raise Untagged("no bytes")
    return bytes.fromhex(payload)


def _complex(payload: Any, depth: int) -> complex:
    real, imaginary = _exactly(payload, 2)
    return complex(_float(real, depth), _float(imaginary, depth))


def _fraction(payload: Any, depth: int) -> float | int:
    above, below = (_integer(part, depth) for part in _exactly(payload, 2))
    if below <= 0:
        raise Untagged("no fraction")
    return above if below == 1 else above / below


def _decimal(payload: Any, depth: int) -> float:
    if not isinstance(payload, str) or len(payload) > MAX_DIGITS:
        raise Untagged("no decimal")
    word = payload.lower().lstrip("+-")
    if word.startswith(("nan", "snan")):
        return float("nan")
    if word == "infinity":
        return float("-inf" if payload.startswith("-") else "inf")
    if not _DECIMAL.fullmatch(payload):
        raise Untagged("no decimal")
    return float(payload)


def _range(payload: Any, depth: int) -> Opaque:
    return Opaque("range", tuple(str(_integer(part, depth)) for part in _exactly(payload, 3)))


def _instant(tag: str) -> Callable[[Any, int], Opaque]:
    def read(payload: Any, depth: int) -> Opaque:
        if not isinstance(payload, list) or len(payload) > 16:
            raise Untagged(f"no {tag}")
        if not all(part is None or (isinstance(part, int) and not isinstance(part, bool)) for part in payload):
            raise Untagged(f"no {tag}")
        return Opaque(tag, tuple(str(part) for part in payload))

    return read


def _array(payload: Any, depth: int) -> Any:
    _, shape, flat = _exactly(payload, 3)
    if not isinstance(shape, list) or len(shape) > _ARRAY_DIMENSIONS or not all(type(side) is int for side in shape):
        raise Untagged("no shape")
    items = _items(flat, depth)
    if not shape:
        return items[0] if len(items) == 1 else _bad_shape()
    if 0 in shape:
        shape = shape[: shape.index(0) + 1]
    size = 1
    for side in shape[:-1] if shape[-1] == 0 else shape:
        # Attack: a dimension of 10**9 before one of 0, which would create a billion empty lists.
        size *= side
        if side < 0 or size > max(len(items), _EMPTY_LISTS):
            return _bad_shape()
    if shape[-1] == 0:
        return _bad_shape() if items else _empty(shape)
    if size != len(items):
        return _bad_shape()
    for side in reversed(shape[1:]):
        items = [items[start : start + side] for start in range(0, len(items), side)]
    return items


def _empty(shape: list[int]) -> list[Any]:
    return [] if shape[0] == 0 else [_empty(shape[1:]) for _ in range(shape[0])]


def _bad_shape() -> Any:
    raise Untagged("an array that does not fit its shape")


def _exactly(payload: Any, count: int) -> list[Any]:
    if not isinstance(payload, list) or len(payload) != count:
        raise Untagged("a payload of another length")
    return payload


_READERS: Mapping[str, Callable[[Any, int], Any]] = {
    "i": _integer,
    "f": _float,
    "l": _items,
    "t": lambda payload, depth: Tuple(_items(payload, depth)),
    "s": lambda payload, depth: Bag(_items(payload, depth)),
    "frozenset": lambda payload, depth: Bag(_items(payload, depth)),
    "d": _dict,
    "counter": _dict,
    "text": lambda payload, depth: _bytes(payload, depth).decode("utf-8", "surrogatepass"),
    "bytes": _bytes,
    "bytearray": _bytes,
    "complex": _complex,
    "fraction": _fraction,
    "decimal": _decimal,
    "range": _range,
    **{tag: _instant(tag) for tag in ("date", "time", "datetime", "timedelta")},
    "deque": lambda payload, depth: _items(_exactly(payload, 2)[1], depth),
    "scalar": lambda payload, depth: decode(_exactly(payload, 2)[1], depth),
    "array": _array,
}


# --- a reference's values ----------------------------------------------------------------------------------------


def plain(value: Any, depth: int = 0) -> Any:
    """Converts a reference's JSON to a plain value. Raises Untagged."""
    if depth > MAX_DEPTH:
        raise Untagged(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, dict):
        if value.keys() == {ESCAPE}:
            return decode(value[ESCAPE], depth)
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    return value


def encode(value: Any, depth: int = 0) -> Any:
    """Converts a reference's JSON to tagged JSON. Raises Untagged."""
    if depth > MAX_DEPTH:
        raise Untagged(f"nested deeper than {MAX_DEPTH}")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"text": value.encode("utf-8", "surrogatepass").hex()}
        return value
    if isinstance(value, int):
        return {"i": format(value, "x")}
    if isinstance(value, float):
        return {"f": value.hex()}
    if isinstance(value, (list, tuple)):
        return {"l": [encode(item, depth + 1) for item in value]}
    if isinstance(value, dict):
        if value.keys() == {ESCAPE}:
            decode(value[ESCAPE], depth)  # rejected here rather than in the candidate's room
            return value[ESCAPE]
        return {"d": [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in value.items()]}
    raise Untagged(f"{type(value).__name__} is not JSON")


def fits(value: Any) -> bool:
    """Returns whether a program can send a reference's value. Raises Untagged."""
    return len(json.dumps({"value": encode(value)})) <= MAX_BYTES
