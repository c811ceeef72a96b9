"""References of `time`, prepared once: a moment, an order, a name, or several of these by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rewarden.errors import InvalidReference
from rewarden_verifiers.answer.number.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.number.normalise import clean
from rewarden_verifiers.answer.time.durations import find_durations
from rewarden_verifiers.answer.time.moments import GRANULARITIES, Clock, Duration, Moment, Period, Point, date
from rewarden_verifiers.answer.time.params import TimeParams
from rewarden_verifiers.answer.time.periods import only_period
from rewarden_verifiers.answer.time.reading import MAX_ORDER, MAX_PARTS, order_key, plain_name, read_moment

# A year or month that is only partly or roughly meant: it is never read as the whole or exact one.
_VAGUE = re.compile(
    r"\W*(?:(?:in|the) )*(?:spring|summer|autumn|fall|winter|early|mid|late|circa|ca|c)\b(?! of [a-z])", re.IGNORECASE
)
Value = bool | int | str  # bool is listed so that `true` is refused instead of being read as the year 1
Single = Value | tuple[str | int, ...] | dict[str, Value | tuple[str | int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """Several references, any of which can match."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    any: tuple[Value, ...]


Reference = AnyOf | Single


@dataclass(frozen=True, slots=True)
class Order:
    """Entries in their right order: indices by key. `names`: as given."""

    places: Mapping[str, int]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entity:
    """A name that is not a moment, without details that carry no meaning."""

    name: str


Expected = Point | Clock | Duration | Period | Order | Entity


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared reference: any of `alternatives`, or all of `parts`."""

    alternatives: tuple[Expected, ...] = ()
    parts: Mapping[str, Expected] | None = None


def prepare(reference: Reference, params: TimeParams) -> Prepared:
    """Prepares the reference, once for all its candidates. Raises InvalidReference if it is not a time."""
    if isinstance(reference, Mapping) and set(reference) == {"any"} and isinstance(reference["any"], tuple):
        reference = AnyOf(any=reference["any"])
    if isinstance(reference, AnyOf):
        if not reference.any:
            raise InvalidReference("the reference has no alternatives: 'any' is empty", path="reference.any")
        return Prepared(tuple(_expected(one, params, "reference.any") for one in reference.any))
    if not isinstance(reference, Mapping):
        return Prepared((_expected(reference, params, "reference"),))
    if not reference or len(reference) > MAX_PARTS:
        raise InvalidReference(f"the reference must have from 1 to {MAX_PARTS} parts", path="reference")
    parts = {
        plain_name(name): _expected(value, params, f"reference.{name}", named=True) for name, value in reference.items()
    }
    if len(parts) < len(reference) or "" in parts:
        raise InvalidReference("the names of the reference's parts must differ and must not be blank", path="reference")
    weights = {plain_name(name) for name in params.weights}
    if weights - parts.keys():
        raise InvalidReference(f"the reference has no part {min(weights - parts.keys())!r}", path="reference")
    if not sum(weight_of(name, params) for name in parts):
        raise InvalidReference("no part of the reference has a weight", path="reference")
    return Prepared(parts=parts)


def weight_of(name: str, params: TimeParams) -> float:
    """Returns the weight of a part."""
    return next((weight for given, weight in params.weights.items() if plain_name(given) == name), 1.0)


def _expected(given: Value | tuple[str | int, ...], params: TimeParams, path: str, *, named: bool = False) -> Expected:
    if isinstance(given, bool):
        raise InvalidReference(f"{path} must be a time, not true or false", path=path)
    if isinstance(given, tuple):
        return _order([str(item) for item in given], params, path)
    if isinstance(given, int) and params.kind in ("auto", "date"):
        year = date(given, None, None) if given > 0 else None
        if year is None:
            raise InvalidReference(f"{path}: a year is a number from 1 to 9999", path=path)
        return _precise_enough(year, params, path)
    text = str(given).strip()
    kind = params.kind if not named else "auto"
    if kind == "order":
        raise InvalidReference(f"{path}: an order is given as a list", path=path)
    if kind == "entity":
        return _entity(text, path)
    try:
        moment = (
            guessed(text, params)
            if kind == "auto"
            else read_moment(text, kind, params.day_order, params.two_part, params.plain)
        )
        if isinstance(moment, Period) and not only_period(clean(text)):
            raise Unreadable
    except TooExpensive:
        raise InvalidReference(f"{path} is too long", path=path) from None
    except Unreadable as error:
        if named and error.reason == "unparseable_answer" and not any(char.isdigit() for char in text):
            return _entity(text, path)
        problem = {"hedged": "names several times", "ambiguous": "is ambiguous: see 'day_order' and 'two_part'"}
        raise InvalidReference(
            f"{path}: {text[:80]!r} {problem.get(error.reason, 'is not a date, time or duration')}", path=path
        ) from None
    if isinstance(moment, Point) and moment.day is None and _VAGUE.match(text):
        raise InvalidReference(f"{path}: {text[:80]!r} is not a certain year or month", path=path)
    return _precise_enough(moment, params, path)


def _precise_enough(moment: Moment, params: TimeParams, path: str) -> Moment:
    if params.granularity != "reference" and isinstance(moment, (Point, Clock)):
        place = GRANULARITIES.index
        if place(params.granularity) > place(moment.granularity):
            raise InvalidReference(f"{path} is less precise than the parameter 'granularity'", path=path)
    return moment


def _entity(text: str, path: str) -> Entity:
    name = plain_name(text)
    if not any(char.isalnum() for char in name):
        raise InvalidReference(f"{path} is not a name", path=path)
    return Entity(name)


def _order(items: list[str], params: TimeParams, path: str) -> Order:
    if not 2 <= len(items) <= MAX_ORDER:
        raise InvalidReference(f"{path}: an order must have from 2 to {MAX_ORDER} entries", path=path)
    places = {order_key(item, params.day_order): place for place, item in enumerate(items)}
    if len(places) < len(items) or "" in places:
        raise InvalidReference(f"{path}: the entries of an order must differ and must not be blank", path=path)
    return Order(places, tuple(items))


def guessed(text: str, params: TimeParams) -> Moment:
    """The moment in a text, recognised by its form. Raises Unreadable and TooExpensive."""
    if ":" not in text:
        before, found = find_durations(clean(text[:4000]), "refuse", None)
        if len(found) == 1 and not before.strip() and not found[0].after.strip(" ."):
            return found[0].value
    try:
        return read_moment(text, "date", params.day_order)
    except Unreadable as error:
        if error.reason not in ("unparseable_answer", "hedged"):
            raise
        return read_moment(text, "clock", params.day_order)
