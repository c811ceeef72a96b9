"""`countdown` and 24: an expression over the given numbers that has the target value."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rewarden_verifiers.puzzles import arithmetic
from rewarden_verifiers.puzzles.findings import RIGHT, Finding, Task, illegal, malformed, wrong

_FACES = {"A": 1, "J": 11, "Q": 12, "K": 13}
MAX_NUMBERS = 100
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_RATIONAL = re.compile(r"-?(?:\d+(?:/\d+)?|\\frac\{\d+\}\{\d+\})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Countdown(Task):
    """Numbers, or cards, and a target.

    numbers: each can be used as often as it is listed. Cards are `A`, `J`, `Q`, `K`. target: a whole number, or a
    fraction as text. use: whether `all` numbers must be used, or `some` suffice. faces: whether `J`, `Q`, `K` count 11,
    12, 13 (`rank`) or 10 (`ten`): the rule variants of GeneralPoints.
    """

    numbers: tuple[int | str, ...]
    target: int | str = 24
    use: Literal["all", "some"] = "all"
    faces: Literal["rank", "ten"] = "rank"
    task: Literal["countdown", "24"] = "countdown"

    def checker(self) -> CountdownChecker:
        """The puzzle. Raises ValueError."""
        if not 1 <= len(self.numbers) <= MAX_NUMBERS:
            raise ValueError(f"numbers must hold 1 to {MAX_NUMBERS} numbers")
        try:
            target = Fraction(self.target) if isinstance(self.target, int) else _target(self.target)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"target {self.target!r} must be a whole number or a fraction such as '3/4'") from None
        return CountdownChecker(Counter(self._number(one) for one in self.numbers), target, self.use == "all")

    def _number(self, one: int | str) -> int:
        if isinstance(one, str):
            face = _FACES.get(one.strip().upper())
            if face is not None:
                return min(face, 10) if self.faces == "ten" else face
            if not (one.isascii() and one.strip().isdigit() and len(one) <= 15):
                raise ValueError(f"numbers: {one!r} is neither a whole number nor a card")
            one = int(one)
        if not 0 <= one < 10**15:
            raise ValueError("numbers must lie between 0 and 10^15")
        return one


def _target(text: str) -> Fraction:
    if len(text) > 40 or "e" in text.casefold():  # "1e999999999" would exhaust memory
        raise ValueError
    return Fraction(text)


@dataclass(frozen=True, slots=True)
class CountdownChecker:
    """The numbers, how often each can be used, and the target."""

    numbers: Counter[int]
    target: Fraction
    all: bool

    def check(self, answer: str) -> Finding:
        """`illegal` if other numbers are used, or not all of them (both together are two mistakes); `wrong` if the
        value differs.
        """
        left, equals, right = answer.strip().removesuffix(".").partition("=")
        try:
            if equals and arithmetic.evaluate(right).numbers and not self._plain(right):
                return malformed("there is more than a number after '='")
            found = arithmetic.evaluate(left)
            stated = arithmetic.evaluate(right).value if equals else None
        except arithmetic.Malformed as error:
            return malformed(str(error))
        except arithmetic.Undefined:
            return wrong("it divides by zero")
        used = Counter(found.numbers)
        extra, left_out = used - self.numbers, self.numbers - used
        if extra or (self.all and left_out):
            both = bool(extra and left_out and self.all)
            said = f"{min(extra)} is used more often than it is given" if extra else f"{min(left_out)} is not used"
            return illegal(said, used=found.numbers[:50], mistakes=1 + both)
        value = str(found.value)[:50]
        if found.value != self.target:
            return wrong(f"its value is {value}", value=value)
        if stated is not None and stated != self.target:
            return wrong(f"it is said to be {str(stated)[:50]}", value=value)
        return RIGHT

    def _plain(self, text: str) -> bool:
        """Returns whether the answer is a plain number. A fraction counts as one only if the target is a fraction: 48/2
        is not a way to state 24.
        """
        written = "".join(arithmetic.tokens(text))
        return (_WHOLE if self.target.denominator == 1 else _RATIONAL).fullmatch(written) is not None
