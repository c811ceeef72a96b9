"""Units that follow a number: their names, and conversion factors between units of the same dimension.

A unit is recognised only after a value. Names outside this table ("apples") still count as a unit if they are written
as text, but have no dimension: they neither convert nor conflict.
"""

from __future__ import annotations

from fractions import Fraction as F

_LENGTH = {
    "mm": F(1, 1000), "cm": F(1, 100), "dm": F(1, 10), "m": F(1), "km": F(1000), "meter": F(1), "metre": F(1),
    "centimeter": F(1, 100), "centimetre": F(1, 100), "millimeter": F(1, 1000), "kilometer": F(1000),
    "kilometre": F(1000), "inch": F(254, 10000), "inche": F(254, 10000), "in": F(254, 10000), "ft": F(3048, 10000),
    "foot": F(3048, 10000), "feet": F(3048, 10000), "yard": F(9144, 10000), "yd": F(9144, 10000),
    "mile": F(1609344, 1000), "mi": F(1609344, 1000),
}  # fmt: skip
_TIME = {
    "s": F(1), "sec": F(1), "second": F(1), "min": F(60), "minute": F(60), "h": F(3600), "hr": F(3600),
    "hour": F(3600), "day": F(86400), "week": F(604800), "ms": F(1, 1000),
}  # fmt: skip
_MASS = {
    "mg": F(1, 1000), "g": F(1), "gram": F(1), "kg": F(1000), "kilogram": F(1000), "ton": F(1000000), "t": F(1000000),
    "tonne": F(1000000), "lb": F(45359237, 100000), "pound": F(45359237, 100000), "oz": F(28349523125, 10**9),
    "ounce": F(28349523125, 10**9),
}  # fmt: skip
_VOLUME = {"ml": F(1, 1000), "l": F(1), "liter": F(1), "litre": F(1), "milliliter": F(1, 1000)}
_MONEY = {"dollar": F(1), "usd": F(1), "$": F(1), "cent": F(1, 100)}
_OTHER = {
    "degree": "angle", "deg": "angle", "rad": "radian", "radian": "radian", "n": "force", "newton": "force",
    "j": "energy", "joule": "energy", "kj": "energy-k", "w": "power", "watt": "power", "v": "voltage",
    "volt": "voltage", "a": "current", "hz": "frequency", "pa": "pressure", "ohm": "resistance", "mol": "amount",
    "k": "kelvin", "euro": "euro", "eur": "euro", "rupee": "rupee", "rs": "rupee", "yuan": "yuan", "pence": "pence",
    "month": "month", "year": "year", "acre": "acre", "hectare": "hectare",
    "gallon": "gallon", "unit": "", "sq": "", "square": "", "cubic": "", "sq.": "", "cu": "",
    "percent": "percent", "people": "", "person": "", "way": "", "student": "", "point": "", "time": "",
    "arrangement": "", "combination": "", "element": "", "item": "", "number": "", "outcome": "", "pair": "",
    "permutation": "", "piece": "", "place": "", "possibility": "", "solution": "", "value": "",
    "gram": "mass", "celsius": "celsius", "°c": "celsius", "°f": "fahrenheit",
}  # fmt: skip

_FACTORS: dict[str, tuple[str, F]] = {}
for _dimension, _table in (
    ("length", _LENGTH), ("time", _TIME), ("mass", _MASS), ("volume", _VOLUME), ("money", _MONEY)
):  # fmt: skip
    for _name, _factor in _table.items():
        _FACTORS[_name] = (_dimension, _factor)

_SPEED = {"mph": F(1609344, 3600000), "kmh": F(1000, 3600), "kph": F(1000, 3600)}

# Letters that are a unit even without \text, directly after a number. Other single letters are variables.
BARE_UNITS = frozenset(
    name
    for name in (*_FACTORS, *_OTHER, *_SPEED)
    if len(name) > 1 and name.isalpha() and name not in ("in", "number", "place", "time", "value", "way")
)


def singular(word: str) -> str:
    """The word without its plural ending, if it probably has one."""
    if word in _FACTORS or word in _OTHER:
        return word
    for ending in ("es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and (stem in _FACTORS or stem in _OTHER):
            return stem
    return word


def is_unit(word: str) -> bool:
    """Returns whether bare letters after a number are a unit: `5 km`, `3 hours`; never one letter."""
    return singular(word.lower()) in BARE_UNITS


def reduce_unit(text: str) -> dict[str, tuple[F, int]] | None:
    """The unit as `{dimension: (factor, power)}`; empty for words without a dimension, None if the unit is unknown.

    Understands products, quotients and powers of known names: `km/h`, `m^2`, `square feet`, `cm^{3}`.
    """
    result: dict[str, tuple[F, int]] = {}
    sign, pending = 1, 1
    words = text.lower().replace("^", " ^").replace("/", " / ").replace("*", " ").replace(".", " ").split()
    last: str | None = None
    for word in words:
        if word in ("/", "per"):
            sign = -1
            continue
        if word.startswith("^"):
            digits = word[1:].strip("{}() ")
            if last is None or not digits.lstrip("-").isdecimal() or len(digits) > 2:
                return None
            factor, power = result[last]
            result[last] = (factor, power * int(digits))
            continue
        if word in ("square", "sq"):
            pending = 2
            continue
        if word in ("cubic", "cu"):
            pending = 3
            continue
        name = singular(word)
        if name in _SPEED and not result:
            result = {"length": (_SPEED[name], sign), "time": (F(1), -sign)}
            last = "length"
            continue
        if name in _FACTORS:
            last, factor = _FACTORS[name]
        elif name in _OTHER:
            if not _OTHER[name]:
                continue
            last, factor = _OTHER[name], F(1)
        else:
            return None
        if last in result:
            return None
        result[last] = (factor, sign * pending)
        pending = 1
    return result


def _counted(unit: str) -> frozenset[str]:
    """The words of a name, without plural endings."""
    return frozenset(word.removesuffix("s") for word in unit.split())


def conversion(reference: str, candidate: str) -> F | None:
    """Returns the factor that converts a value from the candidate's unit to the reference's. None: the units conflict.

    An unknown unit neither converts nor conflicts: the factor is one. Two counted things conflict if their names share
    no word: 3 apples are not 3 oranges.
    """
    if reference == candidate:
        return F(1)
    ours, theirs = reduce_unit(reference), reduce_unit(candidate)
    if ours is None and theirs is None:
        return F(1) if _counted(reference) & _counted(candidate) else None
    if not ours or not theirs:
        return F(1)
    if ours.keys() != theirs.keys():
        return None
    factor = F(1)
    for dimension, (size, power) in ours.items():
        other, exponent = theirs[dimension]
        if power != exponent:
            return None
        factor *= (other / size) ** power
    return factor
