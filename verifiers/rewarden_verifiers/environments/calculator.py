"""A calculator as a tool: it does the arithmetic, and the policy's answer is scored."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from fractions import Fraction

from rewarden_verifiers.environments.contract import BadOptions, Environment, NotAMove, Observation, Tool, Turn
from rewarden_verifiers.games.rules import shown
from rewarden_verifiers.puzzles.arithmetic import Malformed, Undefined, evaluate

_CALCULATE, _ANSWER = (
    Tool(name="calculate", argument="expression", meaning="Calculate an expression of + - * / and brackets."),
    Tool(name="answer", argument="number", meaning="Give the answer, which ends the episode."),
)
_ACTION = re.compile(r"(calculate|answer):[ ]?(\S.*)", re.ASCII)
_NUMBER = re.compile(r"([-+]?[0-9]{1,300})(?:/([0-9]{1,300})|\.([0-9]{1,300}))?", re.ASCII)
_MOST_DIGITS = 1000


@dataclass(frozen=True, kw_only=True)
class CalculatorOptions:
    """Options of `calculator`.

    question: by default, it asks for the value of an expression generated from the seed. answer: an integer, a decimal
    or a fraction; required with a question. terms: the number of terms of a generated expression. budget: the number of
    calculations; further ones are refused.
    """

    question: str | None = None
    answer: str | None = None
    terms: int = 4
    budget: int = 20

    def __post_init__(self) -> None:
        if (self.question is None) != (self.answer is None):
            raise ValueError("give question and answer, or neither")
        if not (2 <= self.terms <= 20 and 0 <= self.budget <= 1000):
            raise ValueError("terms must be 2 to 20, and budget 0 to 1000")


class Calculator(Environment):
    """A question with a numeric answer, and a calculator."""

    options = CalculatorOptions
    tools = (_CALCULATE, _ANSWER)
    max_steps = 50

    def reset(self, seed: int, options: CalculatorOptions) -> Observation:
        """See `Environment`."""
        self._left = options.budget
        if options.question is None or options.answer is None:
            question, self._answer = _made(options.terms, random.Random(seed))
        else:
            found = number_of(options.answer)
            if found is None:
                raise BadOptions(f"{shown(options.answer)} is not a number", "answer")
            question, self._answer = options.question, found
        return Observation(f"{question}\nActions: calculate: EXPRESSION, or answer: NUMBER.")

    def step(self, action: str) -> Turn:
        """See `Environment`."""
        found = _ACTION.fullmatch(action.strip())
        if found is None:
            raise NotAMove("an action is calculate: EXPRESSION or answer: NUMBER")
        return self._calculated(found[2]) if found[1] == "calculate" else self._answered(found[2])

    def _calculated(self, text: str) -> Turn:
        if not self._left:
            return Turn(observation=Observation("The budget of calculations is used up."))
        self._left -= 1
        try:
            value = evaluate(text).value
        except Malformed as error:
            raise NotAMove(str(error)) from None
        except Undefined:
            return Turn(observation=Observation("It divides by zero."))
        # The parser limits numbers and operators, so that no value has more than a few thousand digits.
        text = str(value)
        return Turn(observation=Observation(text if len(text) <= _MOST_DIGITS else "The value has too many digits."))

    def _answered(self, text: str) -> Turn:
        value = number_of(text)
        if value is None:
            raise NotAMove(f"{shown(text)} is not a number")
        right = value == self._answer
        return Turn(
            observation=Observation("Right." if right else "Wrong."),
            reward=float(right),
            done=True,
            success=right,
            why=None if right else "wrong",
            cost=0.0,
        )


def number_of(text: str) -> Fraction | None:
    """The number in a text: an integer, a decimal or a fraction."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or (found[2] and not int(found[2])):
        return None
    return Fraction(found[0])


def _made(terms: int, choose: random.Random) -> tuple[str, Fraction]:
    """A generated question and its answer."""
    while True:
        parts = [str(choose.randint(2, 99))]
        for _ in range(terms - 1):
            parts += [choose.choice("+-*/"), str(choose.randint(2, 99))]
        text = " ".join(parts)
        value = evaluate(text).value
        if len(str(value.numerator)) <= 12:
            return f"What is {text}? Give a whole number or a fraction.", value
