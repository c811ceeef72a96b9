"""The tagged codec: JSON with tags, and the frames that carry it. `docs/tagged-codec.md` is the format.

A candidate may have written any frame. The reader checks every tag and shape, bounds depth, size and digits, and builds
only plain values: no class or method of the sender's ever crosses.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import gc
import importlib
import json
import math
import os
import re
import sys
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 100
MAX_DIGITS = 100_000
"""The most digits of an integer in base 16, and of a decimal in base 10; a decimal's exponent may be twice that."""
MAX_FRACTION_DIGITS = 10_000
"""In base 16. Smaller than MAX_DIGITS: a fraction needs a greatest common divisor, which takes quadratic time."""
MAX_BYTES = 8 << 20
MAX_VALUES = 1_000_000
MAX_SAME_HASH = 64

Tagged = Any
"""A value in its JSON form: None, bool, str, or a dict with one key."""

Outward = Callable[[Any], Tagged]
"""Returns the tagged form of a value that the table does not know, or None."""

Inward = Callable[[Any], Any]
"""Returns the value of a `ref` tag's payload; raises for a bad one."""


class Uncrossable(Exception):
    """A value has no tagged form. type_name: the type of the first such value. unfit: its type crosses, but it is too
    large.
    """

    def __init__(self, type_name: str, why: str = "", *, unfit: bool = False) -> None:
        super().__init__(f"{type_name}: {why}" if why else type_name)
        self.type_name = type_name
        self.unfit = unfit


class BadFrame(Exception):
    """The received data is not a frame, or not a value in tagged form."""


class Lost(Exception):
    """The other side closed the channel."""


# --- encoding


def encode(value: Any, outward: Outward | None = None) -> Tagged:
    """Returns the tagged form of a plain value; exact types only. Raises Uncrossable."""
    with _Uncollected():
        return _Writer(outward).value(value, 0)


def _int_text(value: int) -> str:
    if value.bit_length() > 4 * MAX_DIGITS:
        raise Uncrossable("int", "too many digits", unfit=True)
    return f"{value:x}"


def _fits(value: decimal.Decimal) -> bool:
    """Returns whether a decimal's digits and exponent are bounded: arithmetic with 1E+999999999 can exhaust memory."""
    digits, exponent = value.as_tuple()[1:]
    return len(digits) <= MAX_DIGITS and (type(exponent) is not int or abs(exponent) <= 2 * MAX_DIGITS)


def _offset(value: Any) -> int | None:
    if value.tzinfo is None:
        return None
    offset = value.utcoffset()
    if type(offset) is not datetime.timedelta:
        raise Uncrossable(type(value).__name__, "its zone has no fixed offset")
    return offset // datetime.timedelta(microseconds=1)


def _day(value: datetime.date) -> list[int]:
    return [value.year, value.month, value.day]


def _clock(value: datetime.time | datetime.datetime) -> list[int]:
    return [value.hour, value.minute, value.second, value.microsecond, value.fold]


class _Writer:
    """Encodes one value; counts what it writes, because shared parts are written once per use."""

    def __init__(self, outward: Outward | None) -> None:
        self.outward = outward
        self.left = MAX_VALUES

    def value(self, value: Any, depth: int) -> Tagged:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return {"i": _int_text(value)}
        if kind is str:
            return self.put_text(value)
        if kind is float:
            return {"f": value.hex()}
        write = _WRITERS.get(kind)
        if write is None:
            return self.other(value, depth)
        return write(self, value, depth)

    def values(self, values: Any, depth: int) -> list[Tagged]:
        if depth >= MAX_DEPTH:  # a cycle ends here
            raise Uncrossable("nesting", f"deeper than {MAX_DEPTH}", unfit=True)
        out = []
        for value in values:
            self.left -= 1
            if self.left < 0:
                raise Uncrossable("size", f"more than {MAX_VALUES} values", unfit=True)
            out.append(self.value(value, depth + 1))
        return out

    def put_text(self, value: str) -> Tagged:
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return {"text": value.encode("utf-8", "surrogatepass").hex()}
        return value

    def pairs(self, value: Any, depth: int) -> list[list[Tagged]]:
        flat = self.values([part for pair in dict.items(value) for part in pair], depth)
        return [flat[at : at + 2] for at in range(0, len(flat), 2)]

    def put_decimal(self, value: decimal.Decimal, depth: int) -> Tagged:
        if not _fits(value):
            raise Uncrossable("Decimal", "too many digits", unfit=True)
        return {"decimal": str(value)}

    def put_fraction(self, value: fractions.Fraction, depth: int) -> Tagged:
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4 * MAX_FRACTION_DIGITS:
            raise Uncrossable("Fraction", "too many digits", unfit=True)
        return {"fraction": [_int_text(value.numerator), _int_text(value.denominator)]}

    def other(self, value: Any, depth: int) -> Tagged:
        """Returns the tagged form of a numpy value, if numpy is loaded, or of a value that `outward` knows."""
        kind = type(value)
        numpy = sys.modules.get("numpy")
        if numpy is not None and kind.__module__ == "numpy":
            if kind is numpy.ndarray:
                name = _dtype_name(value.dtype, kind.__name__)
                if value.size > self.left:
                    raise Uncrossable("ndarray", "too many elements", unfit=True)
                flat = self.values(value.ravel().tolist(), depth)
                return {"array": [name, list(value.shape), flat]}
            if issubclass(kind, numpy.generic):
                return {"scalar": [_dtype_name(value.dtype, kind.__name__), self.value(value.item(), depth)]}
        tagged = self.outward(value) if self.outward is not None else None
        if tagged is None:
            raise Uncrossable(kind.__name__)
        return tagged


_WRITERS: dict[type, Callable[[_Writer, Any, int], Tagged]] = {
    list: lambda writer, value, depth: {"l": writer.values(value, depth)},
    tuple: lambda writer, value, depth: {"t": writer.values(value, depth)},
    set: lambda writer, value, depth: {"s": writer.values(value, depth)},
    frozenset: lambda writer, value, depth: {"frozenset": writer.values(value, depth)},
    dict: lambda writer, value, depth: {"d": writer.pairs(value, depth)},
    collections.defaultdict: lambda writer, value, depth: {"d": writer.pairs(value, depth)},
    collections.OrderedDict: lambda writer, value, depth: {"d": writer.pairs(value, depth)},
    collections.Counter: lambda writer, value, depth: {"counter": writer.pairs(value, depth)},
    collections.deque: lambda writer, value, depth: {
        "deque": [writer.value(value.maxlen, depth), writer.values(value, depth)]
    },
    complex: lambda writer, value, depth: {"complex": [value.real.hex(), value.imag.hex()]},
    bytes: lambda writer, value, depth: {"bytes": value.hex()},
    bytearray: lambda writer, value, depth: {"bytearray": value.hex()},
    range: lambda writer, value, depth: {"range": [_int_text(part) for part in (value.start, value.stop, value.step)]},
    decimal.Decimal: _Writer.put_decimal,
    fractions.Fraction: _Writer.put_fraction,
    datetime.date: lambda writer, value, depth: {"date": _day(value)},
    datetime.time: lambda writer, value, depth: {"time": [*_clock(value), _offset(value)]},
    datetime.datetime: lambda writer, value, depth: {"datetime": [*_day(value), *_clock(value), _offset(value)]},
    datetime.timedelta: lambda writer, value, depth: {"timedelta": [value.days, value.seconds, value.microseconds]},
}

_DTYPES: dict[str, type] = {
    **{"bool": bool, "str": str, "complex64": complex, "complex128": complex},
    **{"float" + bits: float for bits in ("16", "32", "64")},
    **{sign + "int" + bits: int for sign in ("", "u") for bits in ("8", "16", "32", "64")},
}
"""The dtypes that cross, and the Python types of their elements."""


def _dtype_name(dtype: Any, type_name: str) -> str:
    name = "str" if dtype.kind == "U" else str(dtype.name)
    if name not in _DTYPES:
        raise Uncrossable(type_name, f"of {name}", unfit=True)
    return name


class _Uncollected:
    """Disables garbage collection while a tree of small objects is built: it takes nine tenths of the time and finds
    nothing.
    """

    def __enter__(self) -> None:
        self.was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *fault: object) -> None:
        if self.was_on:
            gc.enable()


def crosses(kind: type) -> bool:
    """Returns whether values of exactly this type cross, if their elements do."""
    if (kind.__module__, kind.__name__) == ("numpy", "ndarray"):
        return True
    return kind in _WRITERS or kind in (type(None), bool, int, str, float)


# --- decoding


def decode(tagged: Tagged, inward: Inward | None = None) -> Any:
    """Returns the plain value of a tagged form, which may be hostile. Raises only BadFrame."""
    try:
        with _Uncollected():
            return _Reader(inward).value(tagged, 0)
    except BadFrame:
        raise
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError) as fault:
        raise BadFrame(f"{type(fault).__name__} in a tagged value") from None


_INT = re.compile(r"-?(?:0|[1-9a-f][0-9a-f]*)\Z")
_FLOAT = re.compile(r"-?(?:0x[01]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}|inf)\Z|nan\Z")
_HEX = re.compile(r"(?:[0-9a-f]{2})*\Z")
_DECIMAL = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?(?:[Ee][+-]?[0-9]{1,6})?|Infinity|s?NaN[0-9]*)\Z")


def _int(text: Any, digits: int = MAX_DIGITS) -> int:
    if type(text) is not str or len(text) - text.startswith("-") > digits or not _INT.match(text):
        raise BadFrame("not an integer")
    return int(text, 16)  # linear in base 16; base 10 is quadratic


def _float(text: Any) -> float:
    if type(text) is not str or not _FLOAT.match(text):
        raise BadFrame("not a float")
    return float.fromhex(text)


def _hex(text: Any) -> bytes:
    if type(text) is not str or not _HEX.match(text):
        raise BadFrame("not hexadecimal")
    return bytes.fromhex(text)


def _row(payload: Any, length: int) -> list[Any]:
    if type(payload) is not list or len(payload) != length:
        raise BadFrame("not a row of the tag's length")
    return payload


def _small(payload: Any, length: int) -> list[int]:
    row = _row(payload, length)
    if any(type(part) is not int for part in row):
        raise BadFrame("not a row of integers")
    return row


def _zone(offset: Any) -> datetime.timezone | None:
    if offset is None:
        return None
    if type(offset) is not int or abs(offset) >= 86_400_000_000:
        raise BadFrame("not an offset")
    return datetime.timezone(datetime.timedelta(microseconds=offset))


def _moment(kind: Callable[..., Any], payload: Any, length: int) -> Any:
    """Returns a time or a datetime from its numbers, fold and offset."""
    *numbers, offset = _row(payload, length)
    *numbers, fold = _small(numbers, length - 1)
    return kind(*numbers, _zone(offset), fold=fold)


def _hashable(keys: list[Any]) -> list[Any]:
    """Returns the keys. Raises BadFrame if so many share a hash that building a set takes quadratic time."""
    if len(keys) > MAX_SAME_HASH and max(collections.Counter(map(hash, keys)).values()) > MAX_SAME_HASH:
        raise BadFrame("too many keys with one hash")
    return keys


class _Reader:
    def __init__(self, inward: Inward | None) -> None:
        self.inward = inward

    def value(self, tagged: Tagged, depth: int) -> Any:
        kind = type(tagged)
        if tagged is None or kind is bool:
            return tagged
        if kind is str:
            if not tagged.isascii():
                tagged.encode()  # raises for a surrogate: such text has its own tag
            return tagged
        if kind is not dict or len(tagged) != 1:
            raise BadFrame("not a value")
        ((tag, payload),) = tagged.items()
        if tag == "i":
            return _int(payload)
        read = _READERS.get(tag)
        if read is None:
            raise BadFrame("no such tag")
        return read(self, payload, depth)

    def values(self, payload: Any, depth: int) -> list[Any]:
        if type(payload) is not list:
            raise BadFrame("not an array")
        if depth >= MAX_DEPTH:
            raise BadFrame("nested too deep")
        return [self.value(part, depth + 1) for part in payload]

    def take_dict(self, payload: Any, depth: int) -> Any:
        if type(payload) is not list:
            raise BadFrame("not an array")
        rows = [_row(pair, 2) for pair in payload]
        keys = _hashable(self.values([row[0] for row in rows], depth))
        values = self.values([row[1] for row in rows], depth)
        return {key: values[at] for at, key in enumerate(keys)}

    def take_deque(self, payload: Any, depth: int) -> Any:
        maxlen, values = _row(payload, 2)
        longest = self.value(maxlen, depth)
        if longest is not None and (type(longest) is not int or longest < 0):
            raise BadFrame("not a length")
        return collections.deque(self.values(values, depth), longest)

    def take_decimal(self, payload: Any, depth: int) -> Any:
        if type(payload) is not str or len(payload) > MAX_DIGITS + 16 or not _DECIMAL.match(payload):
            raise BadFrame("not a decimal")
        value = decimal.Decimal(payload)
        if not _fits(value):
            raise BadFrame("a decimal out of bounds")
        return value

    def take_fraction(self, payload: Any, depth: int) -> Any:
        numerator, denominator = (_int(part, MAX_FRACTION_DIGITS) for part in _row(payload, 2))
        if denominator <= 0 or math.gcd(numerator, denominator) != 1:
            raise BadFrame("not a fraction")
        return fractions.Fraction(numerator, denominator)

    def take_scalar(self, payload: Any, depth: int) -> Any:
        name, tagged = _row(payload, 2)
        value = self.take_elements(name, [tagged], depth)[0]
        numpy = _numpy()
        return value if numpy is None else numpy.array([value], dtype=name)[0]

    def take_array(self, payload: Any, depth: int) -> Any:
        name, shape, tagged = _row(payload, 3)
        values = self.take_elements(name, tagged, depth)
        if type(shape) is not list or len(shape) > 32 or any(size < 0 for size in _small(shape, len(shape))):
            raise BadFrame("not a shape")
        if math.prod(shape) != len(values) or max(shape, default=0) > MAX_VALUES:
            raise BadFrame("a shape that does not fit")
        if name == "str" and max(map(len, values), default=0) * len(values) > MAX_BYTES:
            raise BadFrame("an array of long texts")  # in numpy each element takes the space of the longest
        numpy = _numpy()
        return _nest(values, shape) if numpy is None else numpy.array(values, dtype=name).reshape(shape)

    def take_elements(self, name: Any, payload: Any, depth: int) -> list[Any]:
        if type(name) is not str or name not in _DTYPES:
            raise BadFrame("no such dtype")
        wanted = _DTYPES[name]
        values = self.values(payload, depth)
        if any(type(value) is not wanted for value in values):
            raise BadFrame("an element of another type")
        return values

    def take_ref(self, payload: Any, depth: int) -> Any:
        if self.inward is None:
            raise BadFrame("no such tag")
        return self.inward(payload)


def _nest(values: list[Any], shape: list[int]) -> Any:
    """Returns a flat array as nested lists, like numpy's tolist."""
    if not shape:
        return values[0]
    step = math.prod(shape[1:])
    return [_nest(values[at * step : (at + 1) * step], shape[1:]) for at in range(shape[0])]


def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None


_READERS: dict[Any, Callable[[_Reader, Any, int], Any]] = {
    "f": lambda reader, payload, depth: _float(payload),
    "l": _Reader.values,
    "t": lambda reader, payload, depth: tuple(reader.values(payload, depth)),
    "d": _Reader.take_dict,
    "s": lambda reader, payload, depth: set(_hashable(reader.values(payload, depth))),
    "frozenset": lambda reader, payload, depth: frozenset(_hashable(reader.values(payload, depth))),
    "complex": lambda reader, payload, depth: complex(*map(_float, _row(payload, 2))),
    "text": lambda reader, payload, depth: _hex(payload).decode("utf-8", "surrogatepass"),
    "bytes": lambda reader, payload, depth: _hex(payload),
    "bytearray": lambda reader, payload, depth: bytearray(_hex(payload)),
    "range": lambda reader, payload, depth: range(*map(_int, _row(payload, 3))),
    "decimal": _Reader.take_decimal,
    "fraction": _Reader.take_fraction,
    "date": lambda reader, payload, depth: datetime.date(*_small(payload, 3)),
    "time": lambda reader, payload, depth: _moment(datetime.time, payload, 6),
    "datetime": lambda reader, payload, depth: _moment(datetime.datetime, payload, 9),
    "timedelta": lambda reader, payload, depth: datetime.timedelta(*_small(payload, 3)),
    "deque": _Reader.take_deque,
    "counter": lambda reader, payload, depth: collections.Counter(reader.take_dict(payload, depth)),
    "scalar": _Reader.take_scalar,
    "array": _Reader.take_array,
    "ref": _Reader.take_ref,
}


# --- JSON texts and frames


def _bounded_int(text: str) -> int:
    if len(text) > 20:  # int() of a long text is quadratic
        raise ValueError("a long integer")
    return int(text)


def _no_constant(text: str) -> float:
    raise ValueError("NaN and Infinity are not JSON")


_WRITE = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_READ = json.JSONDecoder(parse_int=_bounded_int, parse_constant=_no_constant)


def to_json(message: Any) -> bytes:
    """Returns a JSON text, ASCII only. Raises Uncrossable if it is longer than MAX_BYTES."""
    body = _WRITE.encode(message).encode("ascii")
    if len(body) > MAX_BYTES:
        raise Uncrossable("size", f"more than {MAX_BYTES} bytes", unfit=True)
    return body


def from_json(body: bytes) -> Any:
    """Returns the value of a JSON text, which may be hostile. Raises BadFrame."""
    if len(body) > MAX_BYTES:
        raise BadFrame("too long")
    try:
        with _Uncollected():
            return _READ.decode(body.decode("utf-8"))
    except (ValueError, RecursionError, MemoryError):
        raise BadFrame("not JSON") from None


class Channel:
    """Frames over a stream socket: four bytes of length, big-endian, then a JSON object of at most MAX_BYTES."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._ahead = bytearray()

    def send(self, message: dict[str, Any]) -> None:
        """Sends one object. Raises Uncrossable if it is too long, before anything is sent, and Lost if the channel is
        closed.
        """
        body = to_json(message)
        rest = memoryview(len(body).to_bytes(4, "big") + body)
        try:
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]
        except OSError:
            raise Lost from None

    def receive(self) -> dict[str, Any]:
        """Receives the next object. Raises Lost at the end of the stream, BadFrame for anything but a frame."""
        size = int.from_bytes(self._take(4), "big")
        if size > MAX_BYTES:
            raise BadFrame("a frame longer than the limit")
        message = from_json(self._take(size))
        if type(message) is not dict:
            raise BadFrame("not an object")
        return message

    def _take(self, size: int) -> bytes:
        while len(self._ahead) < size:
            try:
                part = os.read(self.descriptor, 1 << 16)
            except OSError:
                part = b""
            if not part:
                raise Lost
            self._ahead += part
        taken = bytes(self._ahead[:size])
        del self._ahead[:size]
        return taken
