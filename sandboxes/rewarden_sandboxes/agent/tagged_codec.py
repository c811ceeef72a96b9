"""The tagged codec: JSON with tags, and the frames that carry it. `docs/tagged-codec.md` is the format.

Whatever arrives may have been written by a candidate. The reader checks every tag and shape, bounds depth, size and
digits, and builds plain values only: no class of the sender's, no method of the sender's, ever comes across.
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
"""Of an integer in base 16, of a decimal in base 10; a decimal's exponent may be twice that."""
MAX_FRACTION_DIGITS = 10_000
"""Base 16. Smaller than MAX_DIGITS: a fraction costs a greatest common divisor, which is quadratic."""
MAX_BYTES = 8 << 20
MAX_VALUES = 1_000_000
MAX_SAME_HASH = 64

Tagged = Any
"""A value in its JSON form: None, bool, str, or a dict with one key."""

Outward = Callable[[Any], Tagged]
"""Gives the tagged form of a value that the table does not know, or None."""

Inward = Callable[[Any], Any]
"""Gives the value that the payload of a `ref` tag stands for; raises for a bad one."""


class Uncrossable(Exception):
    """A value that has no tagged form. type_name: of the first one met. unfit: its type crosses, but not its size."""

    def __init__(self, type_name: str, why: str = "", *, unfit: bool = False) -> None:
        super().__init__(f"{type_name}: {why}" if why else type_name)
        self.type_name = type_name
        self.unfit = unfit


class BadFrame(Exception):
    """The data that arrived is no frame, or no value in tagged form."""


class Lost(Exception):
    """The other side closed the channel."""


# --- outwards


def encode(value: Any, outward: Outward | None = None) -> Tagged:
    """The tagged form of a plain value; exact types only. Raises Uncrossable."""
    with _Uncollected():
        return _Writer(outward).value(value, 0)


def _int_text(value: int) -> str:
    if value.bit_length() > 4 * MAX_DIGITS:
        raise Uncrossable("int", "too many digits", unfit=True)
    return f"{value:x}"


def _fits(value: decimal.Decimal) -> bool:
    """Returns whether a decimal's digits and its size are bounded: arithmetic with 1E+999999999 may take all memory."""
    digits, exponent = value.as_tuple()[1:]
    return len(digits) <= MAX_DIGITS and (type(exponent) is not int or abs(exponent) <= 2 * MAX_DIGITS)


def _offset(value: Any) -> int | None:
    if value.tzinfo is None:
        return None
    offset = value.utcoffset()
    if type(offset) is not datetime.timedelta:
        raise Uncrossable(type(value).__name__, "its zone has no fixed offset")
    return offset // datetime.timedelta(microseconds=1)


def _clock(value: datetime.time | datetime.datetime) -> list[int]:
    return [value.hour, value.minute, value.second, value.microsecond, value.fold]


class _Writer:
    """One value on its way out; counts what it writes, since shared parts may multiply."""

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

    def put_list(self, value: Any, depth: int) -> Tagged:
        return {"l": self.values(value, depth)}

    def put_tuple(self, value: Any, depth: int) -> Tagged:
        return {"t": self.values(value, depth)}

    def put_set(self, value: Any, depth: int) -> Tagged:
        return {"s": self.values(value, depth)}

    def put_frozenset(self, value: Any, depth: int) -> Tagged:
        return {"frozenset": self.values(value, depth)}

    def pairs(self, value: Any, depth: int) -> list[list[Tagged]]:
        flat = self.values([part for pair in dict.items(value) for part in pair], depth)
        return [flat[at : at + 2] for at in range(0, len(flat), 2)]

    def put_dict(self, value: Any, depth: int) -> Tagged:
        return {"d": self.pairs(value, depth)}

    def put_counter(self, value: Any, depth: int) -> Tagged:
        return {"counter": self.pairs(value, depth)}

    def put_deque(self, value: Any, depth: int) -> Tagged:
        return {"deque": [self.value(value.maxlen, depth), self.values(value, depth)]}

    def put_complex(self, value: complex, depth: int) -> Tagged:
        return {"complex": [value.real.hex(), value.imag.hex()]}

    def put_bytes(self, value: bytes, depth: int) -> Tagged:
        return {"bytes": value.hex()}

    def put_bytearray(self, value: bytearray, depth: int) -> Tagged:
        return {"bytearray": value.hex()}

    def put_range(self, value: Any, depth: int) -> Tagged:
        return {"range": [_int_text(value.start), _int_text(value.stop), _int_text(value.step)]}

    def put_decimal(self, value: decimal.Decimal, depth: int) -> Tagged:
        if not _fits(value):
            raise Uncrossable("Decimal", "too many digits", unfit=True)
        return {"decimal": str(value)}

    def put_fraction(self, value: fractions.Fraction, depth: int) -> Tagged:
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4 * MAX_FRACTION_DIGITS:
            raise Uncrossable("Fraction", "too many digits", unfit=True)
        return {"fraction": [_int_text(value.numerator), _int_text(value.denominator)]}

    def put_date(self, value: datetime.date, depth: int) -> Tagged:
        return {"date": [value.year, value.month, value.day]}

    def put_time(self, value: datetime.time, depth: int) -> Tagged:
        return {"time": [*_clock(value), _offset(value)]}

    def put_datetime(self, value: datetime.datetime, depth: int) -> Tagged:
        return {"datetime": [value.year, value.month, value.day, *_clock(value), _offset(value)]}

    def put_timedelta(self, value: datetime.timedelta, depth: int) -> Tagged:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}

    def other(self, value: Any, depth: int) -> Tagged:
        """numpy, where it is loaded; then whatever the channel has stand-ins for."""
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
    list: _Writer.put_list,
    tuple: _Writer.put_tuple,
    set: _Writer.put_set,
    frozenset: _Writer.put_frozenset,
    dict: _Writer.put_dict,
    collections.defaultdict: _Writer.put_dict,
    collections.OrderedDict: _Writer.put_dict,
    collections.Counter: _Writer.put_counter,
    collections.deque: _Writer.put_deque,
    complex: _Writer.put_complex,
    bytes: _Writer.put_bytes,
    bytearray: _Writer.put_bytearray,
    range: _Writer.put_range,
    decimal.Decimal: _Writer.put_decimal,
    fractions.Fraction: _Writer.put_fraction,
    datetime.date: _Writer.put_date,
    datetime.time: _Writer.put_time,
    datetime.datetime: _Writer.put_datetime,
    datetime.timedelta: _Writer.put_timedelta,
}

_DTYPES = {"bool", "float16", "float32", "float64", "complex64", "complex128", "str"} | {
    sign + "int" + bits for sign in ("", "u") for bits in ("8", "16", "32", "64")
}


def _dtype_name(dtype: Any, type_name: str) -> str:
    name = "str" if dtype.kind == "U" else str(dtype.name)
    if name not in _DTYPES:
        raise Uncrossable(type_name, f"of {name}", unfit=True)
    return name


class _Uncollected:
    """While a tree of small objects is built: the garbage collector would take nine tenths of the time, for nothing."""

    def __enter__(self) -> None:
        self.was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *fault: object) -> None:
        if self.was_on:
            gc.enable()


def crosses(kind: type) -> bool:
    """Returns whether values of exactly this type cross, if what they hold does."""
    if (kind.__module__, kind.__name__) == ("numpy", "ndarray"):
        return True
    return kind in _WRITERS or kind in (type(None), bool, int, str, float)


# --- inwards


def decode(tagged: Tagged, inward: Inward | None = None) -> Any:
    """The plain value of a tagged form, which may be hostile. Raises BadFrame, and nothing else."""
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


def _hashable(keys: list[Any]) -> list[Any]:
    """The keys. Raises BadFrame where so many share a hash that a set of them would take quadratic time to build."""
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
                tagged.encode()  # a surrogate raises: such text has its own tag
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

    def take_float(self, payload: Any, depth: int) -> float:
        return _float(payload)

    def take_list(self, payload: Any, depth: int) -> Any:
        return self.values(payload, depth)

    def take_tuple(self, payload: Any, depth: int) -> Any:
        return tuple(self.values(payload, depth))

    def take_set(self, payload: Any, depth: int) -> Any:
        return set(_hashable(self.values(payload, depth)))

    def take_frozenset(self, payload: Any, depth: int) -> Any:
        return frozenset(_hashable(self.values(payload, depth)))

    def take_dict(self, payload: Any, depth: int) -> Any:
        if type(payload) is not list:
            raise BadFrame("not an array")
        rows = [_row(pair, 2) for pair in payload]
        keys = _hashable(self.values([row[0] for row in rows], depth))
        values = self.values([row[1] for row in rows], depth)
        return {key: values[at] for at, key in enumerate(keys)}

    def take_counter(self, payload: Any, depth: int) -> Any:
        return collections.Counter(self.take_dict(payload, depth))

    def take_deque(self, payload: Any, depth: int) -> Any:
        maxlen, values = _row(payload, 2)
        longest = self.value(maxlen, depth)
        if longest is not None and (type(longest) is not int or longest < 0):
            raise BadFrame("not a length")
        return collections.deque(self.values(values, depth), longest)

    def take_complex(self, payload: Any, depth: int) -> Any:
        real, imag = _row(payload, 2)
        return complex(_float(real), _float(imag))

    def take_text(self, payload: Any, depth: int) -> str:
        return _hex(payload).decode("utf-8", "surrogatepass")

    def take_bytes(self, payload: Any, depth: int) -> Any:
        return _hex(payload)

    def take_bytearray(self, payload: Any, depth: int) -> Any:
        return bytearray(_hex(payload))

    def take_range(self, payload: Any, depth: int) -> Any:
        start, stop, step = _row(payload, 3)
        return range(_int(start), _int(stop), _int(step))

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

    def take_date(self, payload: Any, depth: int) -> Any:
        return datetime.date(*_small(payload, 3))

    def take_time(self, payload: Any, depth: int) -> Any:
        hour, minute, second, micro, fold, offset = _row(payload, 6)
        _small([hour, minute, second, micro, fold], 5)
        return datetime.time(hour, minute, second, micro, _zone(offset), fold=fold)

    def take_datetime(self, payload: Any, depth: int) -> Any:
        year, month, day, hour, minute, second, micro, fold, offset = _row(payload, 9)
        _small([year, month, day, hour, minute, second, micro, fold], 8)
        return datetime.datetime(year, month, day, hour, minute, second, micro, _zone(offset), fold=fold)

    def take_timedelta(self, payload: Any, depth: int) -> Any:
        return datetime.timedelta(*_small(payload, 3))

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
            raise BadFrame("an array of long texts")  # numpy gives each element the longest one's room
        numpy = _numpy()
        return _nest(values, shape) if numpy is None else numpy.array(values, dtype=name).reshape(shape)

    def take_elements(self, name: Any, payload: Any, depth: int) -> list[Any]:
        if type(name) is not str or name not in _DTYPES:
            raise BadFrame("no such dtype")
        wanted = _element_type(name)
        values = self.values(payload, depth)
        if any(type(value) is not wanted for value in values):
            raise BadFrame("an element of another type")
        return values

    def take_ref(self, payload: Any, depth: int) -> Any:
        if self.inward is None:
            raise BadFrame("no such tag")
        return self.inward(payload)


def _element_type(dtype: str) -> type:
    kinds = {"bool": bool, "str": str}
    return kinds.get(dtype) or (int if "int" in dtype else float if dtype.startswith("float") else complex)


def _nest(values: list[Any], shape: list[int]) -> Any:
    """A flat array as nested lists, as numpy's tolist would give it."""
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
    "f": _Reader.take_float,
    "l": _Reader.take_list,
    "t": _Reader.take_tuple,
    "d": _Reader.take_dict,
    "s": _Reader.take_set,
    "frozenset": _Reader.take_frozenset,
    "complex": _Reader.take_complex,
    "text": _Reader.take_text,
    "bytes": _Reader.take_bytes,
    "bytearray": _Reader.take_bytearray,
    "range": _Reader.take_range,
    "decimal": _Reader.take_decimal,
    "fraction": _Reader.take_fraction,
    "date": _Reader.take_date,
    "time": _Reader.take_time,
    "datetime": _Reader.take_datetime,
    "timedelta": _Reader.take_timedelta,
    "deque": _Reader.take_deque,
    "counter": _Reader.take_counter,
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
    raise ValueError("NaN and Infinity are no JSON")


_WRITE = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_READ = json.JSONDecoder(parse_int=_bounded_int, parse_constant=_no_constant)


def to_json(message: Any) -> bytes:
    """A JSON text, ASCII only. Raises Uncrossable where it is longer than MAX_BYTES."""
    body = _WRITE.encode(message).encode("ascii")
    if len(body) > MAX_BYTES:
        raise Uncrossable("size", f"more than {MAX_BYTES} bytes", unfit=True)
    return body


def from_json(body: bytes) -> Any:
    """Returns what a JSON text says, which may be hostile. Raises BadFrame."""
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
        """Sends one object. Raises Uncrossable before anything is sent where it is too long, Lost at a closed end."""
        body = to_json(message)
        rest = memoryview(len(body).to_bytes(4, "big") + body)
        try:
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]
        except OSError:
            raise Lost from None

    def receive(self) -> dict[str, Any]:
        """The next object. Raises Lost at the end of the stream, BadFrame for anything but a frame."""
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
