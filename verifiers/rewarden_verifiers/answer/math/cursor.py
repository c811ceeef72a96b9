"""A position in a list of tokens, and the state carried along while reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.limits import MAX_DEPTH, TooExpensive, Unreadable
from rewarden_verifiers.answer.math.syntax import Node
from rewarden_verifiers.answer.math.tokens import Token


class Style(NamedTuple):
    """Options for reading ambiguous notation."""

    thousands: bool = True  # 12,345 is one number
    tight: bool = False  # 1/2x is 1/(2x)
    common_log: bool = False  # \log without a base is the common logarithm


class Cursor(ABC):
    """Looks at and takes tokens. The layers of the grammar are subclasses; methods that a tighter layer needs from
    looser ones are declared here.
    """

    def __init__(self, tokens: list[Token], style: Style) -> None:
        self.tokens = tokens
        self.style = style
        self.index = 0
        self.depth = 0
        self.bars = 0  # open absolute values
        self.in_builder = False  # inside braces, where a bar is a separator
        self.conditions: list[Node] = []  # conditions on the item being read
        self.saw_tight = False
        self.saw_log = False
        self.end: Token = ("end", "", False)

    def peek(self, ahead: int = 0) -> Token:
        index = self.index + ahead
        return self.tokens[index] if index < len(self.tokens) else self.end

    def at(self, *texts: str) -> bool:
        kind, text, _ = self.peek()
        return kind in "oc" and text in texts

    def take(self, text: str) -> None:
        if not self.at(text):
            raise Unreadable(f"expected {text}")
        self.index += 1

    def at_remark(self) -> bool:
        """Returns whether the brackets here contain only words and end the answer: "12 (square units)"."""
        if not self.at("("):
            return False
        index = self.index + 1
        while index < len(self.tokens) and self.tokens[index][0] == "w" and self.tokens[index][1] not in words.HEDGES:
            index += 1
        return self.index + 1 < index == len(self.tokens) - 1 and self.tokens[index][1] == ")"

    def at_currency(self) -> bool:
        """Returns whether a currency precedes its amount here: "Rs. 930"."""
        return self.peek()[0] == "w" and self.peek()[1] in words.CURRENCIES and self.peek(1)[0] == "n"

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooExpensive("nested too deeply")

    @abstractmethod
    def listing(self) -> Node:
        """Items separated at this level."""

    @abstractmethod
    def item(self) -> Node:
        """One of the items."""

    @abstractmethod
    def relation(self) -> Node:
        """A chain of comparisons, a membership or an expression."""

    @abstractmethod
    def sum(self) -> Node:
        """Terms with signs."""

    @abstractmethod
    def product(self) -> Node:
        """Factors."""

    @abstractmethod
    def power(self) -> Node:
        """An atom with its postfix signs and exponents."""

    @abstractmethod
    def script(self) -> Node:
        """The argument of an exponent or a subscript."""

    @abstractmethod
    def starts_factor(self) -> bool:
        """Returns whether the next token begins a factor of an implicit product."""
