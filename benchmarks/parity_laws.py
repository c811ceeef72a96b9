"""Rows for comparing rewards of formulas that are to fit points."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from benchmarks.parity_rows import Forms, Row, drawn, thought


@dataclass(frozen=True, slots=True)
class Law:
    """A token of a formula with its arguments."""

    token: str
    given: tuple[Law, ...] = ()


_WRITTEN: Mapping[str, str] = {
    "Add": "({} + {})", "Sub": "({} - {})", "Mul": "({}*{})", "Div": "({}/{})", "Exp": "exp({})", "Log": "log({})",
    "Sin": "sin({})", "Cos": "cos({})", "Sqrt": "sqrt({})",
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "Exp": math.exp, "Log": math.log, "Sin": math.sin, "Cos": math.cos, "Sqrt": math.sqrt
}  # fmt: skip
_OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": operator.truediv
}  # fmt: skip
_X1, _X2 = Law("X1"), Law("X2")


def _law(token: str, *given: Law) -> Law:
    return Law(token, given)


_LAWS = (
    _law("Add", _law("Mul", _X1, _X1), _law("Sin", _X2)),
    _law("Mul", _law("Add", _X1, _X2), _law("Cos", _X1)),
    _law("Sub", _law("Exp", _X1), _law("Mul", _X2, _X2)),
    _law("Div", _law("Add", _X1, _law("Mul", _X1, _X2)), _law("Exp", _X2)),
    _law("Add", _law("Sqrt", _X1), _law("Log", _law("Add", _X2, _X2))),
)
_SHORT = (_X1, _law("Sin", _X2), _law("Mul", _X1, _X2), _law("Exp", _law("Sin", _X1)))


def _text(law: Law) -> str:
    return _WRITTEN[law.token].format(*map(_text, law.given)) if law.given else law.token


def _tokens(law: Law) -> list[str]:
    """Returns the tokens, each before those of its arguments."""
    return [law.token, *(token for each in law.given for token in _tokens(each))]


def _value(law: Law, point: Mapping[str, float]) -> float:
    given = [_value(each, point) for each in law.given]
    if not given:
        return point[law.token]
    return _FUNCTIONS[law.token](*given) if len(given) == 1 else _OPERATORS[law.token](*given)


def _changed(rng: random.Random, law: Law) -> Law:
    """Returns the law with one token or variable changed for another."""
    if not law.given:
        return _X2 if law == _X1 else _X1
    place = rng.randrange(len(law.given) + 1)
    if place < len(law.given):
        changed = tuple(_changed(rng, each) if at == place else each for at, each in enumerate(law.given))
        return replace(law, given=changed)
    others = _FUNCTIONS if len(law.given) == 1 else _OPERATORS
    return replace(law, token=rng.choice([token for token in others if token != law.token]))


def laws() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose response is a formula in X1 and X2, without constants, and whose reference has the
    points and values of a law. The field `tokens` has the formula's tokens, each before its arguments."""

    def boxed(what: str) -> str:
        return rf"\boxed{{{what}}}"

    forms: Forms = {
        "plain": (12, lambda rng, why, what: f"{why} {boxed(what)}"),
        "thought": (3, lambda rng, why, what: f"<think>{why}</think>\n{boxed(what)}"),
        "equation": (3, lambda rng, why, what: f"{why} {boxed('y = ' + what)}"),
        "tight": (2, lambda rng, why, what: boxed(what.replace(" ", ""))),
        "empty": (1, lambda rng, why, what: ""),
    }

    def make(rng: random.Random) -> Row:
        law = rng.choice(_LAWS)
        kind = rng.choices(
            ("right", "changed", "twice", "outside", "longer", "other", "short", "undefined"),
            weights=(4, 6, 4, 4, 3, 3, 2, 1),
        )[0]
        told = {
            "right": law,
            "changed": _changed(rng, law),
            "twice": _changed(rng, _changed(rng, law)),
            "outside": _law(rng.choice(tuple(_FUNCTIONS)), law),
            "longer": _law("Add", law, _law("Sub", _X1, _X1)),
            "other": rng.choice(_LAWS),
            "short": rng.choice(_SHORT),
            "undefined": _law("Add", law, _law("Log", _law("Sub", _X1, _law("Add", _X1, _X2)))),
        }[kind]
        points = [(rng.uniform(0.5, 3), rng.uniform(0.5, 3)) for _ in range(rng.choice((5, 20, 40)))]
        values = [_value(law, {"X1": one, "X2": two}) for one, two in points]
        reference = {"variables": ["X1", "X2"], "points": [list(point) for point in points], "values": values}
        name, form = drawn(rng, forms)
        response = form(rng, thought(rng), _text(told))
        return Row(f"{kind}, {name}", response, reference, {"tokens": _tokens(told) if response else []})

    return make
