"""Reads formulas of first-order logic, and tabulates their truth.

The connectives, loosest first: equivalence, implication (to the right), exclusive or, or, and, not. A quantifier
reaches as far to the right as it can. Each literal, such as `Owns(x, y)`, is one input of the truth table; quantifiers
do not change it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["literal", "not", "and", "or", "xor", "implies", "iff", "all", "some"]

MOST_CHARACTERS = 4_000
_MOST_TOKENS = 400
"""Maximum number of tokens of a formula, which bounds the depth of a chain of implications."""
MOST_LITERALS = 12
"""Maximum number of literals of a formula: a truth table of 4,096 rows."""
_DEEPEST = 60

_SYMBOLS: Mapping[str, str] = {
    **dict.fromkeys(("¬", "~", "!", "not", r"\neg", r"\lnot"), "not"),
    **dict.fromkeys(("∧", "&", "&&", "and", r"\land", r"\wedge"), "and"),
    **dict.fromkeys(("∨", "|", "||", "or", r"\lor", r"\vee"), "or"),
    **dict.fromkeys(("⊕", "^", "xor", r"\oplus"), "xor"),
    **dict.fromkeys(("→", "->", "=>", "⇒", r"\to", r"\rightarrow", r"\Rightarrow", r"\implies"), "implies"),
    **dict.fromkeys(("↔", "<->", "<=>", "⇔", r"\leftrightarrow", r"\Leftrightarrow", r"\iff"), "iff"),
    **dict.fromkeys(("∀", "forall", r"\forall"), "all"),
    **dict.fromkeys(("∃", "exists", r"\exists"), "some"),
    **{mark: mark for mark in "(),.:"},
    **{"[": "(", "]": ")"},
}
_TOKEN = re.compile(
    r"\s*(?:(\\[A-Za-z]+)|(<->|<=>|->|=>|&&|\|\||[¬~!∧&∨|⊕^→⇒↔⇔∀∃(),.:\[\]])|([\w'-]*\w)|(\S))", re.UNICODE
)


_ARGUMENT = re.compile(r"(?<=[(,])[\w-]+(?=[,)])")
"""A variable or constant as an argument of a literal; names of literals and functions are followed by a bracket."""
_FIRST_MARK = 0xF0000
"""In a private-use plane: no text contains names with these characters."""


class NoFormulaError(ValueError):
    """The text is not a formula."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A node. text: the literal, or the variable of a quantifier."""

    kind: Kind
    parts: tuple[Formula, ...] = ()
    text: str = ""


def read(text: str) -> Formula:
    """Parses the formula in a text. Raises NoFormulaError. Linear in the text."""
    if len(text) > MOST_CHARACTERS:
        raise NoFormulaError(f"it is longer than {MOST_CHARACTERS} characters")
    reader = _Reader(_tokens(text))
    formula = reader.loosest()
    if reader.next is not None:
        raise NoFormulaError(f"{reader.next[1]!r} was not expected")
    return formula


def literals(formula: Formula) -> list[str]:
    """Returns the literals of a formula, each once, in the order of the text."""
    found: dict[str, None] = {}
    stack = [formula]
    while stack:
        node = stack.pop()
        if node.kind == "literal":
            found[node.text] = None
        stack.extend(reversed(node.parts))
    return list(found)


def quantifiers(formula: Formula) -> str:
    """Returns the quantifiers, ∀ or ∃, in the order of the text, after negations are moved inwards."""
    found: list[str] = []

    def walk(node: Formula, upright: bool) -> None:
        if node.kind in ("all", "some"):
            found.append("∀" if (node.kind == "all") is upright else "∃")
        turned = node.kind == "not"
        for place, part in enumerate(node.parts):
            flips = turned or (node.kind == "implies" and place == 0)
            walk(part, upright is not flips)

    walk(formula, True)
    return "".join(found)


def numbered(formula: Formula) -> Formula:
    """Returns the formula with each bound variable replaced by the mark of its quantifier, in the order of the text.

    Formulas that differ only in the names of their variables become equal.
    """
    count = 0

    def walk(node: Formula, bound: Mapping[str, str]) -> Formula:
        nonlocal count
        if node.kind == "literal":
            return Formula("literal", text=_ARGUMENT.sub(lambda found: bound.get(found[0], found[0]), node.text))
        if node.kind in ("all", "some"):
            bound = {**bound, node.text: mark(count)}
            count += 1
        return Formula(node.kind, tuple(walk(part, bound) for part in node.parts), node.text)

    return walk(formula, {})


def mark(place: int) -> str:
    """Returns the character that replaces the variable of a quantifier."""
    return chr(_FIRST_MARK + place)


def marks(text: str) -> list[int]:
    """Returns the indices of the quantifiers whose variables occur in a text, in order."""
    return [ord(character) - _FIRST_MARK for character in text if ord(character) >= _FIRST_MARK]


def marked(formula: Formula, order: Sequence[int]) -> Formula:
    """Returns a numbered formula with its marks permuted: each is replaced by the mark at its index in `order`."""
    changed = {_FIRST_MARK + place: mark(other) for place, other in enumerate(order)}

    def walk(node: Formula) -> Formula:
        return Formula(node.kind, tuple(map(walk, node.parts)), node.text.translate(changed))

    return walk(formula)


def arguments(literal: str) -> list[str]:
    """Returns the arguments of a literal."""
    inner = literal.partition("(")[2]
    found, depth = [""], 0
    for character in inner[:-1]:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return found if inner else []


def table(formula: Formula, inputs: Mapping[str, int], rows: int) -> int:
    """Returns the truth table of a formula as bits, one per row. inputs: the column of each literal. rows: their
    number.
    """
    every = (1 << rows) - 1

    def value(node: Formula) -> int:
        if node.kind == "literal":
            return inputs[node.text]
        one, *others = (value(part) for part in node.parts)
        if node.kind in ("all", "some"):
            return one
        if node.kind == "not":
            return every & ~one
        (other,) = others
        if node.kind == "and":
            return one & other
        if node.kind == "or":
            return one | other
        if node.kind == "xor":
            return one ^ other
        if node.kind == "implies":
            return (every & ~one) | other
        return every & ~(one ^ other)

    return value(formula)


def columns(count: int) -> list[int]:
    """Returns the columns of a truth table with `count` inputs, as bits: each combination is one row."""
    rows = 1 << count
    every = (1 << rows) - 1
    return [every // ((1 << (1 << place)) + 1) << (1 << place) for place in range(count)]


def _tokens(text: str) -> list[tuple[str, str]]:
    """Returns the tokens, each with its kind: a connective, a mark, or `name`."""
    found: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(text.strip()):
        command, symbol, name, other = match.groups()
        written = command or symbol or name or other
        if command and command not in _SYMBOLS:
            raise NoFormulaError(f"{command!r} has no meaning in a formula")
        if other:
            raise NoFormulaError(f"{other!r} has no meaning in a formula")
        kind = _SYMBOLS.get(written if name is None else written.lower())
        found.append((kind or "name", written))
    if not found:
        raise NoFormulaError("it is empty")
    if len(found) > _MOST_TOKENS:
        raise NoFormulaError(f"it has over {_MOST_TOKENS} symbols and names")
    return found


_LOOSE: Sequence[Kind] = ("iff", "implies", "xor", "or", "and")


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    @property
    def next(self) -> tuple[str, str] | None:
        """The next token to read; None at the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def loosest(self) -> Formula:
        """Parses a whole formula."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NoFormulaError("it is nested too deeply")
        formula = self._level(0)
        self._depth -= 1
        return formula

    def _level(self, level: int) -> Formula:
        if level == len(_LOOSE):
            return self._tight()
        kind = _LOOSE[level]
        parts = [self._level(level + 1)]
        while self._take(kind):
            parts.append(self._level(level + 1))
        if kind == "implies":
            formula = parts.pop()
            while parts:
                formula = Formula(kind, (parts.pop(), formula))
            return formula
        formula = parts[0]
        for part in parts[1:]:
            formula = Formula(kind, (formula, part))
        return formula

    def _tight(self) -> Formula:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NoFormulaError("it is nested too deeply")
        formula = self._tightest()
        self._depth -= 1
        return formula

    def _tightest(self) -> Formula:
        if self._take("not"):
            return Formula("not", (self._tight(),))
        for kind in ("all", "some"):
            if self._take(kind):
                variable = self._variable()
                _ = self._take(".") or self._take(":")
                body = self.loosest()
                return Formula("all" if kind == "all" else "some", (body,), variable)
        if self._take("("):
            formula = self.loosest()
            self._need(")")
            return formula
        return Formula("literal", text=self._term())

    def _term(self) -> str:
        """Returns a name with its arguments, without spaces."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NoFormulaError("it is nested too deeply")
        name = self._name()
        if self._take("("):
            arguments = [self._term()]
            while self._take(","):
                arguments.append(self._term())
            self._need(")")
            name = f"{name}({','.join(arguments)})"
        self._depth -= 1
        return name

    def _variable(self) -> str:
        if self.next is None or self.next[0] != "name":
            raise NoFormulaError("a quantifier has no variable")
        self._place += 1
        return self._tokens[self._place - 1][1]

    def _name(self) -> str:
        """Returns a name, which can consist of several words: `dc universe` is DcUniverse."""
        words: list[str] = []
        while self.next is not None and self.next[0] == "name" and (not words or len(self.next[1]) > 1):
            words.append(self.next[1].replace("'", ""))
            self._place += 1
        if not words:
            raise NoFormulaError(f"{self.next[1]!r} was not expected" if self.next else "it breaks off")
        return words[0] if len(words) == 1 else "".join(word[:1].upper() + word[1:] for word in words)

    def _take(self, kind: str) -> bool:
        if self.next is not None and self.next[0] == kind:
            self._place += 1
            return True
        return False

    def _need(self, kind: str) -> None:
        if not self._take(kind):
            raise NoFormulaError(f"{kind!r} is missing")
