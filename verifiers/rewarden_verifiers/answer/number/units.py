"""Units: products of names, read by a strict grammar. `pint` only gives the meaning of a single name.

Text never reaches pint's evaluator, which would compute anything in it (`10**10**10 m`). Factors and offsets are exact
fractions, so that 1 mile is exactly 1609.344 m and 25 degC exactly 77 degF.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

_MAX_NAME = 40
_MAX_POWER = 12
_MAX_DEPTH = 4
_MAX_FACTORS = 16

Dimension = tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of a dimension: the factor that converts a value to base units, and the offset that is then added."""

    factor: Fraction
    offset: Fraction
    dimension: Dimension

    def to(self, other: Unit, value: Fraction) -> Fraction:
        """Converts a value in this unit to the other one, which must have the same dimension."""
        return (value * self.factor + self.offset - other.offset) / other.factor


CURRENCIES: Mapping[str, str] = {
    "$": "USD", "us$": "USD", "usd": "USD", "dollar": "USD", "dollars": "USD", "€": "EUR", "eur": "EUR",
    "euro": "EUR", "euros": "EUR", "£": "GBP", "gbp": "GBP", "¥": "JPY", "jpy": "JPY", "yen": "JPY", "₹": "INR",
    "inr": "INR", "rs": "INR", "rupee": "INR", "rupees": "INR", "cny": "CNY", "rmb": "CNY", "yuan": "CNY", "₩": "KRW",
    "krw": "KRW", "chf": "CHF", "cad": "CAD", "aud": "AUD",
}  # fmt: skip
"""Signs, codes and names of currencies, in lower case. They have no exchange rates: different ones never match."""
_CENTS = frozenset(("cent", "cents", "¢"))
# Words of prose that pint reads as units: "5 in total", "5 at most", "5 a day", "5 as planned".
_PROSE = frozenset(("a", "am", "are", "as", "at", "i", "is", "to", "me", "has", "pa", "x", "y", "pi", "π", "e", "k"))
_ALIASES: Mapping[str, str] = {
    "°c": "degC", "°f": "degF", "°k": "kelvin", "°": "degree", "deg": "degree", "celsius": "degC",
    "fahrenheit": "degF", "centigrade": "degC", "sq": "square", "cu": "cubic", "kph": "kilometer_per_hour",
    "kmh": "kilometer_per_hour", "kmph": "kilometer_per_hour", "sqm": "square_meter", "cc": "cubic_centimeter",
    "sec": "second", "ω": "ohm", "au": "astronomical_unit",
}  # fmt: skip
_CAPITALS: Mapping[str, str] = {"Kg": "kg", "KG": "kg", "Km": "km", "KM": "km", "KWh": "kWh", "Kwh": "kWh", "KJ": "kJ"}
_DEGREES = frozenset(("°", "deg", "degree", "degrees"))
_SCALES: Mapping[str, str] = {
    "c": "degC", "celsius": "degC", "centigrade": "degC", "f": "degF", "fahrenheit": "degF", "kelvin": "kelvin",
}  # fmt: skip
_ACCIDENTS = frozenset(("technical_atmosphere",))  # its symbol "at" would make units of "cats", "rats" and "mats"
_PREFIXED_POWERS: Mapping[str, int] = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_FOLLOWING_POWERS: Mapping[str, int] = {"squared": 2, "cubed": 3}
_RAISED = re.compile(r"([^\W\d_]+)([2-4])")
_ADDED = {"kilometer_per_hour": ("kilometer", "hour"), "square_meter": ("meter",), "cubic_centimeter": ("centimeter",)}


@lru_cache(maxsize=1)
def registry() -> Any:
    """The only registry, created for the first unit (or before workers fork). Exact; nothing is cached on disk."""
    import pint

    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)


@lru_cache(maxsize=4096)
def named(name: str) -> Unit | None:
    """The unit of a name: "km", "hours", "degC", "dollars"; None if there is none.

    Prefixes must match the form of the name: a short one before a symbol ("km"), a long one before a name
    ("kilometers"). pint alone would also read "cats" as centi-technical-atmospheres.
    """
    if len(name) > _MAX_NAME or name in _PROSE:
        return None
    lower = name.lower()
    if lower in CURRENCIES and (not name.isalpha() or len(name) > 2 or name == "Rs"):
        return Unit(Fraction(1), Fraction(0), ((f"currency {CURRENCIES[lower]}", Fraction(1)),))
    if lower in _CENTS:
        return Unit(Fraction(1, 100), Fraction(0), (("currency USD", Fraction(1)),))
    name = _CAPITALS.get(name) or _ALIASES.get(lower, name)
    if name in _ADDED:
        return _compound(name)
    for candidate in dict.fromkeys((name, lower)):
        if candidate == lower and len(lower) < 4 and candidate != name:
            break  # case distinguishes symbols: "mm" is not "MM"
        canonical = _canonical(candidate)
        if canonical is not None:
            return _meaning(canonical)
    return None


def _compound(name: str) -> Unit | None:
    names = _ADDED[name]
    first = named(names[0])
    if first is None:
        return None
    if len(names) == 2:
        second = named(names[1])
        return None if second is None else product([(first, 1), (second, -1)])
    return product([(first, 2 if name.startswith("square") else 3)])


def _canonical(name: str) -> str | None:
    """pint's own name, with its prefix; None if pint knows none, or only by a coincidence of letters."""
    for prefix, unit, suffix in registry().parse_unit_name(name):
        if unit in _ACCIDENTS:
            continue
        if not prefix and (not suffix or len(name) > 3):
            return str(unit)
        if prefix and name.lower().startswith(prefix) and len(name) - len(prefix) > 2:
            return str(prefix + unit)
        if prefix and not suffix and len(name) <= 5 and not (name.isalpha() and name.islower() and len(name) > 4):
            return str(prefix + unit)
    return None


def _meaning(canonical: str) -> Unit | None:
    """The factor, offset and dimension of one of pint's names; None for a scale that is not linear (decibels)."""
    known = registry()
    try:
        known.get_name(canonical)
        converter = known._units[canonical].converter
        if not converter.is_multiplicative and not hasattr(converter, "offset"):
            return None
        factor, root = known.get_root_units(canonical)
        offset = Fraction(getattr(converter, "offset", 0))
        dimension = tuple(sorted((str(name), Fraction(power)) for name, power in root._units.items()))
    except Exception:  # noqa: BLE001 - whatever pint raises for a name, the name is not a unit
        return None
    return Unit(Fraction(factor), offset, dimension)


def product(parts: Sequence[tuple[Unit, int]]) -> Unit:
    """The product of powers of units. Offsets only make sense for a single unit: degC/min is a rate."""
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    factor = Fraction(1)
    dimension: dict[str, Fraction] = {}
    for unit, power in parts:
        factor *= unit.factor**power
        for name, exponent in unit.dimension:
            dimension[name] = dimension.get(name, Fraction(0)) + exponent * power
    return Unit(factor, Fraction(0), tuple(sorted((name, power) for name, power in dimension.items() if power)))


class UnitReader:
    """Reads a product of units from tokens: `kg*m/s^2`, `meters per second squared`, `J/(kg K)`, `square feet`.

    As in pint, division takes the next factor only: J/kg*K is (J/kg)*K.
    """

    def __init__(self, tokens: Sequence[tuple[str, str]], at: int) -> None:
        self._tokens = tokens
        self._at = at

    def read(self) -> tuple[Unit, int] | None:
        """The unit, and its end; None if no unit begins here."""
        parts = self._parts(0)
        return (product(parts), self._at) if parts else None

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else ("end", "")

    def _parts(self, depth: int) -> list[tuple[Unit, int]]:
        found: list[tuple[Unit, int]] = []
        while len(found) < _MAX_FACTORS:
            start, sign = self._at, 1
            kind, text = self._peek()
            if text == "/" or text.lower() == "per":
                sign = -1
                self._at += 1
            elif text in ("*", "·", "×") and found:
                self._at += 1
            elif kind == "number" and text == "1" and not found and self._peek(1)[1] == "/":
                self._at += 2
                sign = -1
            factor = self._factor(depth)
            if factor is None:
                self._at = start
                break
            found += [(unit, power * sign) for unit, power in factor]
        return found

    def _factor(self, depth: int) -> list[tuple[Unit, int]] | None:
        kind, text = self._peek()
        if text == "(" and depth < _MAX_DEPTH:
            start = self._at
            self._at += 1
            inner = self._parts(depth + 1)
            if not inner or self._peek()[1] != ")":
                self._at = start
                return None
            self._at += 1
            power = self._power()
            return [(unit, exponent * power) for unit, exponent in inner]
        if kind != "word" and text not in ("°", "$", "€", "£", "¥", "₹", "¢", "₩"):
            return None
        scale = _SCALES.get(self._peek(1)[1].lower()) if text.lower() in _DEGREES else None
        if scale is not None and (unit := named(scale)) is not None:  # "25° C", "25 degrees Celsius"
            self._at += 2
            return [(unit, 1)]
        before = _PREFIXED_POWERS.get(text.lower())
        if before is not None and self._peek(1)[0] == "word" and (unit := named(self._peek(1)[1])) is not None:
            self._at += 2
            return [(unit, before)]
        if text == "in" and self._peek(1)[0] in ("word", "number"):
            return None  # "5 in total"
        unit = named(text)
        if unit is not None:
            self._at += 1
            return [(unit, self._power())]
        raised = _RAISED.fullmatch(text)  # m2, cm3
        if raised is not None and (unit := named(raised.group(1))) is not None:
            self._at += 1
            return [(unit, int(raised.group(2)))]
        return None

    def _power(self) -> int:
        kind, text = self._peek()
        if text.lower() in _FOLLOWING_POWERS:
            self._at += 1
            return _FOLLOWING_POWERS[text.lower()]
        if text != "^":
            return 1
        at = self._at + 1
        bracket = self._peek(1)[1] == "("
        at += bracket
        sign = 1
        if at < len(self._tokens) and self._tokens[at][1] in ("-", "+"):
            sign = -1 if self._tokens[at][1] == "-" else 1
            at += 1
        kind, text = self._tokens[at] if at < len(self._tokens) else ("end", "")
        if kind != "number" or not text.isdigit() or len(text) > 2 or int(text) > _MAX_POWER:
            return 1
        if bracket and (at + 1 >= len(self._tokens) or self._tokens[at + 1][1] != ")"):
            return 1
        self._at = at + 1 + bracket
        return sign * int(text)
