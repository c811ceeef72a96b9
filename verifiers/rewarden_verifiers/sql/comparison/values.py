"""Converts cells to values that compare the same for every engine.

Numbers are numbers: 2 = 2.0 = Decimal('2.00') = TRUE, to the last digit; NaN equals NaN. Text is text: '5' is not 5.
Dates, times, intervals and UUIDs equal the ISO texts in which SQLite stores them, but only if one of the two columns
has real ones: a date then equals its midnight. Two text columns are compared as texts. Lists and structures are equal
part by part; the order of a structure's names does not count.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

Key = Hashable
"""A hashable stand-in for a cell: cells are equal if their keys are."""

_WORD = 2**63
_DIGITS = 100_000
_DATED = (date, time, timedelta, UUID)
_AS_THEY_ARE = frozenset({bool, str, bytes, type(None)})
_NUMBERS = frozenset({int, float})
_NAN = ("nan",)

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII)
_SPAN = re.compile(r"(?:(-?\d{1,9}) days?,? ?)?(?:(-?)(\d{1,9}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", re.ASCII)


class _Mark(enum.Enum):
    LIST = enum.auto()
    STRUCTURE = enum.auto()
    END = enum.auto()
    NUMBER = enum.auto()


NUMBER: Key = _Mark.NUMBER
"""The placeholder for a number that was separated out."""

Number = int | float
"""A finite number in the range of floats. An int if its type represents whole numbers exactly."""

Shape = tuple[Key, tuple[Number, ...]]
"""A cell without its numbers, and the numbers."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The tolerance for numbers. Two whole numbers (of exact integer types) have none."""

    abs: float
    rel: float

    def __bool__(self) -> bool:
        return self.abs > 0 or self.rel > 0

    def near(self, one: Number, other: Number) -> bool:
        """Returns whether two numbers agree. Symmetric but not transitive. The numbers close to one that is not whole
        form an interval whose ends grow with it.
        """
        if type(one) is int and type(other) is int:
            return one == other
        return math.isclose(one, other, rel_tol=self.rel, abs_tol=self.abs)

    def reach(self, value: Number) -> float:
        """An upper bound on the distance of close numbers."""
        if self.rel >= 1:
            return math.inf
        # Slightly more than the definition, to allow for rounding.
        return max(self.abs, abs(value) * self.rel / (1 - self.rel)) * (1 + 1e-9) + 5e-324


@dataclass(frozen=True, slots=True)
class Reading:
    """The way to read cells. folded: ignores the case of texts and white space at their ends. dated: texts that contain
    a date, a time, an interval or a UUID are read as one.
    """

    folded: bool = False
    dated: bool = False

    def keys(self, cells: Sequence[Any], kinds: frozenset[type]) -> Sequence[Key]:
        """The keys of cells, given their types."""
        changed = str in kinds and (self.dated or self.folded)
        if not changed and kinds <= _AS_THEY_ARE | _NUMBERS and _ordinary(cells, kinds):
            return cells
        return [self.key(cell) for cell in cells]

    def shapes(self, cells: Sequence[Any], kinds: frozenset[type]) -> tuple[Sequence[Key] | None, Sequence[Any]]:
        """The keys of cells without their numbers, and the numbers of each cell, given the cells' types. If every cell
        is a number, the keys are None, and each number stands for itself.
        """
        if kinds <= _NUMBERS and _ordinary(cells, kinds):
            return None, cells
        found = [self.shape(cell) for cell in cells]
        return [shape for shape, _ in found], [numbers for _, numbers in found]

    def key(self, cell: Any) -> Key:
        """Returns the key of a cell. Never raises."""
        kind = type(cell)
        if kind is float:
            return _float(cell)
        if kind is str:
            return self._text(cell)
        if kind is int:
            return _int(cell)
        if cell is None or kind is bool or kind is bytes:
            return cell  # type: ignore[no-any-return]
        if kind is Decimal:
            return _decimal(cell)
        if isinstance(cell, (list, tuple, Mapping)):
            return tuple(map(self._leaf, _parts(cell)))
        return self._other(cell)

    def shape(self, cell: Any) -> Shape:
        """The cell's key without its numbers, and the numbers. Never raises."""
        number = _number(cell)
        if number is not None:
            return NUMBER, (number,)
        if isinstance(cell, (list, tuple, Mapping)):
            numbers = []
            shape: list[Key] = []
            for part in _parts(cell):
                number = _number(part)
                if number is not None:
                    numbers.append(number)
                shape.append(self._leaf(part) if number is None else NUMBER)
            return tuple(shape), tuple(numbers)
        return self.key(cell), ()

    def _leaf(self, part: Any) -> Key:
        return part if isinstance(part, _Mark) else self.key(part)

    def _text(self, text: str) -> Key:
        if self.dated and 0 < len(text) <= 64:
            found = _dated_text(text)
            if found is not None:
                return found
        return text.strip().casefold() if self.folded else text

    def _other(self, cell: Any) -> Key:
        if isinstance(cell, (date, time, timedelta, UUID)):
            return _dated(cell)
        if isinstance(cell, (bytearray, memoryview)):
            return bytes(cell)
        if isinstance(cell, str):
            return self._text(str(cell))
        return (type(cell).__name__, str(cell))


def _parts(cell: Any) -> Iterator[Any]:
    """The leaves of a list or structure, between marks. It does not recurse, so a value nested ten thousand levels deep
    is compared like any other.
    """
    stack = [cell]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            yield _Mark.STRUCTURE
            stack.append(_Mark.END)
            for name, value in sorted(item.items(), key=lambda pair: repr(pair[0]), reverse=True):
                stack += (value, name)
        elif isinstance(item, (list, tuple)):
            yield _Mark.LIST
            stack.append(_Mark.END)
            stack.extend(reversed(item))
        else:
            yield item


def kinds_of(cells: Iterable[Any]) -> frozenset[type]:
    """The types of cells, including those inside lists and structures."""
    found = frozenset(map(type, cells))
    if any(issubclass(kind, (list, tuple, Mapping)) for kind in found):
        found |= {type(part) for cell in cells for part in _parts(cell)}
    return found


def holds_dates(kinds: frozenset[type]) -> bool:
    """Returns whether the types include dates, times, intervals or UUIDs."""
    return any(issubclass(kind, _DATED) for kind in kinds)


def holds_fractions(kinds: frozenset[type]) -> bool:
    """Returns whether the types include numbers that need not be whole."""
    return any(issubclass(kind, (float, Decimal)) for kind in kinds)


def _ordinary(cells: Sequence[Any], kinds: frozenset[type]) -> bool:
    """Returns whether all numbers are finite and fit into 64 bits, so that each is its own key."""
    if kinds.isdisjoint(_NUMBERS):
        return True
    numbers = cells if kinds <= _NUMBERS else [cell for cell in cells if type(cell) in _NUMBERS]
    # The sum is finite unless there is a NaN, which comparisons do not detect.
    return min(numbers) >= -_WORD and max(numbers) <= _WORD and math.isfinite(sum(numbers))


def _number(cell: Any) -> Number | None:
    """A finite number in the range of floats. Numbers beyond it are compared exactly."""
    kind = type(cell)
    if kind is float:
        return cell if math.isfinite(cell) else None
    if kind is str or cell is None or not isinstance(cell, (int, float, Decimal)):
        return None
    try:
        value = float(cell)  # ValueError: a signalling NaN
        if not math.isfinite(value):
            return None
        return int(cell) if not isinstance(cell, float) and cell == int(cell) else value
    except (OverflowError, ValueError, ArithmeticError):
        return None


# Keys of numbers. Python's hash of a number is its remainder modulo 2^61 - 1, so a dictionary of 100,000 multiples of
# that takes quadratic time. Only a handful of 64-bit numbers share a hash; for larger numbers, the key is a text.


def _int(cell: int) -> Key:
    return cell if -_WORD <= cell <= _WORD else ("number", hex(cell))


def _float(cell: float) -> Key:
    if -_WORD <= cell <= _WORD:
        return cell
    if cell != cell:
        return _NAN
    return cell if math.isinf(cell) else ("number", hex(int(cell)))


def _decimal(cell: Decimal) -> Key:
    if cell.is_nan():
        return _NAN
    if cell.is_infinite():
        return math.inf if cell > 0 else -math.inf
    sign, digits, exponent = cell.as_tuple()
    text = "".join(map(str, digits))
    kept = text.rstrip("0")
    exponent = int(exponent) + len(text) - len(kept)
    if not kept:
        return 0
    if exponent >= 0 and len(kept) + exponent <= _DIGITS:
        return _int(int(cell))
    if exponent < 0:
        value = float(cell)
        if value == cell:
            return value
    return ("number", sign, kept, exponent)


def _dated(cell: date | time | timedelta | UUID) -> Key:
    if isinstance(cell, datetime):
        if cell.utcoffset() is None:
            return cell.replace(tzinfo=None)
        try:
            return ("utc", cell.astimezone(UTC).replace(tzinfo=None))
        except OverflowError:
            return ("utc", cell.isoformat())
    if isinstance(cell, date):
        return datetime(cell.year, cell.month, cell.day)
    if isinstance(cell, time):
        past = timedelta(hours=cell.hour, minutes=cell.minute, seconds=cell.second, microseconds=cell.microsecond)
        offset = cell.utcoffset()
        return past if offset is None else ("utc", past - offset)
    return cell


def _dated_text(text: str) -> Key | None:
    text = text.strip()
    if _DATE.fullmatch(text):
        try:
            return _dated(datetime.fromisoformat(text))
        except ValueError:
            return None
    if _UUID.fullmatch(text):
        return UUID(text)
    found = _SPAN.fullmatch(text)
    if found is None or (found[1] is None and found[3] is None):
        return None
    past = timedelta(
        hours=int(found[3] or 0),
        minutes=int(found[4] or 0),
        seconds=int(found[5] or 0),
        microseconds=int((found[6] or "").ljust(6, "0")),
    )
    try:
        return timedelta(days=int(found[1] or 0)) + (-past if found[2] else past)
    except OverflowError:
        return None
