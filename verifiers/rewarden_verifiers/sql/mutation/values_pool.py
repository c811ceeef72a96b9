"""Values for the columns of mutated databases: the constants of the queries, their neighbours, and existing values."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rewarden_verifiers.sql.mutation.constants import Constant, Needs
from rewarden_verifiers.sql.mutation.habits import Habits, Look, Value, dated

_MOST = 40
"""The number of values of each kind that a column draws from."""


@dataclass(frozen=True, slots=True)
class Pool:
    """near: values around the constants that this column is compared with; the constants themselves are more frequent.
    far: values from the other constants. own: its existing values, and some slightly outside and between them. null:
    whether it may be NULL.
    """

    near: tuple[Value, ...]
    far: tuple[Value, ...]
    own: tuple[Value, ...]
    null: bool


def pools(habits: Habits, needs: Needs, strict: bool) -> list[Pool]:
    """Returns a pool for each column of a table.

    strict: whether the schema uses NOT NULL consistently, so that a column without it can be NULL even if no sampled
    row is. Otherwise a column can be NULL only if one already is, or a query tests it for NULL.
    """
    found = []
    held = dict(needs.held)
    for place, column in enumerate(habits.part.columns):
        name = column.name.lower()
        look = habits.looks[place]
        mine = held.get(name, ())
        others = [value for value in needs.constants if value not in mine]
        free = column.name not in habits.part.frozen and not any(column.name in key for key in habits.part.unique)
        found.append(
            Pool(
                near=(*_exact(look, mine) * 2, *_fitting(look, mine)),
                far=_fitting(look, others),
                own=tuple(dict.fromkeys((*look.samples[:_MOST], *_wider(look)))),
                null=free
                and not column.not_null
                and not column.primary_key
                and (look.nulls or strict or name in needs.null_minded),
            )
        )
    return found


def _wider(look: Look) -> Iterator[Value]:
    """Yields values slightly outside and between the existing ones, so that boundaries drawn at these are crossed."""
    if look.closed or not look.samples:
        return
    low, high = min(look.samples), max(look.samples)
    made: list[Value] = []
    if look.kind == "int":
        step = max(1, (high - low) // 4)
        made = [high + step, high + 1, low - 1, low - step, (low + high) // 2, (low + high) // 2 + 1]
    elif look.kind == "float":
        step = (high - low) / 4 or 1.0
        made = [high + step, low - step, (low + high) / 2, low + step]
    elif look.kind in ("date", "datetime") and low.year > 2 and high.year < 9990:
        made = [high + datetime.timedelta(40), low - datetime.timedelta(40), low + (high - low) / 2]
    elif look.form is not None:
        moments = [
            moment + datetime.timedelta(days) for days in (40, -40) for moment in _parsed((low, high), look.form)
        ]
        made = [moment.strftime(look.form) for moment in moments]
    yield from (value for value in made if look.permits(value))


def _parsed(texts: Iterable[str], form: str) -> list[datetime.datetime]:
    moments = [datetime.datetime.strptime(text, form) for text in texts]
    return [moment for moment in moments if 2 < moment.year < 9990]


def _exact(look: Look, constants: Iterable[Constant]) -> tuple[Value, ...]:
    """The constants that the column can contain."""
    values = (next(neighbours(constant, look), None) for constant in constants)
    return tuple(value for value in values if value is not None and look.permits(value))


def _fitting(look: Look, constants: Iterable[Constant]) -> tuple[Value, ...]:
    values = (value for constant in constants for value in neighbours(constant, look))
    return tuple(dict.fromkeys(value for value in values if look.permits(value)))[:_MOST]


def neighbours(constant: Constant, look: Look) -> Iterator[Value]:
    """Yields a constant as a value of a column, and adjacent values on both sides."""
    if look.kind in ("int", "float", "decimal"):
        number = _number(constant)
        if number is None:
            return
        if look.kind == "int":
            yield from (int(number // 1), int(number // 1) + 1, int(number // 1) - 1, -int(number // 1) - 1)
            return
        for near in (number, number + 1, number - 1, number + 0.5, number - 0.5, -number - 1):
            yield Decimal(str(near)) if look.kind == "decimal" else float(near)
    elif look.kind == "text" and look.form is None:
        yield from _texts(str(constant), look)
    elif look.kind in ("text", "date", "datetime"):
        for moment in _moments(str(constant)):
            if look.kind == "text":
                yield moment.strftime(look.form or "")
            else:
                yield moment.date() if look.kind == "date" else moment


def _number(constant: Constant) -> int | float | None:
    if not isinstance(constant, str):
        return constant
    try:
        value = float(constant)
    except ValueError:
        return None
    return value if abs(value) < 2**62 else None


def _moments(text: str) -> Iterator[datetime.datetime]:
    """Yields dates and times at the boundaries of the period that a constant names."""
    form = dated(text)
    day = datetime.timedelta(days=1)
    if form is not None:
        moment = datetime.datetime.strptime(text, form)
        if moment.year in range(2, 9998):
            yield from (moment, moment + day, moment - day)
            if "%H" in form:
                second = datetime.timedelta(seconds=1)
                yield from (moment + second, moment - second)
            else:
                yield moment + datetime.timedelta(hours=12)
        return
    year = re.fullmatch(r"\D*([12]\d{3})(?:-(\d\d))?\D*", text)
    if year is not None:
        month = int(year[2] or 1)
        if 1 <= month <= 12:
            first = datetime.datetime(int(year[1]), month, 1)
            yield from (first, first - day, first + 40 * day, first + 366 * day)


def _texts(text: str, look: Look) -> Iterator[str]:
    if "%" in text or "_" in text or "*" in text:
        core = text.strip("%*")
        filled = core.replace("%", "").replace("*", "").replace("_", "a")
        some = [value for value in look.samples if isinstance(value, str)][:3] or ["Ab"]
        for inner in (filled, filled[:1].upper() + filled[1:]):
            yield inner
            for sample in some:
                yield inner + sample[-3:]
                yield sample[:3] + inner
                yield sample[:3] + inner.lower()
                yield sample[:3] + inner + sample[-2:]
        yield from (filled[:-1], filled[1:])
        return
    yield text
    yield from (text.swapcase(), text.lower(), text.upper(), text[:1].upper() + text[1:])
    if text:
        yield from (text[:-1] + _next(text[-1]), text + text[-1], text[:-1], text + " x", "x " + text, text + "s")
        yield from (text + text[-1].lower() * 2, text.split(" ")[0], text + " Jr")
    if text.isdigit():
        yield from (str(int(text) + 1).zfill(len(text)), str(max(0, int(text) - 1)).zfill(len(text)))


def _next(sign: str) -> str:
    for run in ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        if sign in run:
            return run[(run.index(sign) + 1) % len(run)]
    return sign


def fresh(look: Look, taken: Any, number: random.Random) -> Value | None:
    """Returns a value that no row of a key column has, modelled on the existing ones; None if that is impossible."""
    if look.closed or not look.samples:
        return None
    if look.kind == "int":
        low, high = min(look.samples), max(look.samples)
        some = (number.randint(max(low, high - 50), high + 50) for _ in range(50))
        return next((value for value in some if value not in taken), None)
    if look.kind == "float":
        low, high = min(look.samples), max(look.samples)
        reals = (round(number.uniform(low, high + (high - low) / 4), 2) for _ in range(20))
        return next((value for value in reals if value not in taken), None)
    if look.kind == "date":
        first, span = min(look.samples), (max(look.samples) - min(look.samples)).days + 30
        days = (first + datetime.timedelta(number.randrange(span)) for _ in range(20) if first.year < 9000)
        return next((value for value in days if value not in taken), None)
    if look.kind == "text" and look.form is not None:
        moments = _parsed([number.choice(look.samples) for _ in range(20)], look.form)
        texts = ((moment + datetime.timedelta(number.randint(1, 60))).strftime(look.form) for moment in moments)
        return next((value for value in texts if value not in taken), None)
    if look.kind == "text":
        for _ in range(20):
            letters = list(number.choice(look.samples))
            for place in range(len(letters) - 1, max(-1, len(letters) - 4), -1):
                if number.random() < 0.6:
                    letters[place] = _next(letters[place])
            made = "".join(letters)
            if made.lower().rstrip() not in taken and look.permits(made):
                return made
    return None
