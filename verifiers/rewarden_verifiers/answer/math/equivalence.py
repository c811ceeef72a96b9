"""Equality of two answers without a reference, and keys that avoid n² comparisons in large groups."""

from __future__ import annotations

from rewarden_verifiers.answer.math.compare import Comparison
from rewarden_verifiers.answer.math.exact import bits, rational
from rewarden_verifiers.answer.math.expand import count_signs
from rewarden_verifiers.answer.math.field import Outside, image
from rewarden_verifiers.answer.math.limits import MAX_TEXT, Budget, TooExpensive, Unreadable
from rewarden_verifiers.answer.math.normalise import clean
from rewarden_verifiers.answer.math.prepared import readings
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.scalars import Rules, has_decimals, strip_units
from rewarden_verifiers.answer.math.syntax import (
    Based,
    Braces,
    Degrees,
    Group,
    Listing,
    Node,
    Percent,
    Ratio,
    Relation,
    Scalar,
    Symbol,
    Text,
    walk,
)
from rewarden_verifiers.extraction import Ladder

_POINTS = (1, 2)


class MathEquivalence:
    """`Equivalence` of final answers."""

    def __init__(self, ladder: Ladder | None = None, rules: Rules | None = None) -> None:
        self.ladder = ladder or Ladder("strict", {})
        self.rules = rules or Rules()

    def extract(self, text: str) -> str | None:
        """The answer of a response; None if there is none, or if it offers several different ones."""
        found = self.ladder.find(text)
        if found is None:
            return None
        if any(self.same(found.text, other) is not True for other in found.texts[:-1]):
            return None
        return found.text

    def key(self, answer: str) -> str | None:
        """A canonical form: equal keys mean equal answers. None if the answer is too long for one."""
        try:
            node = read(answer).node
            return canonical(node, Budget()) or "text " + clean(answer)
        except (TooExpensive, Unreadable):
            return None

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether two answers are equal in either direction; None if undecidable."""
        if a == b:
            return True
        unknown = False
        for first, second in ((a, b), (b, a)):
            try:
                pairs = [(x, y) for x in readings(first, MAX_TEXT) for y in readings(second, MAX_TEXT)]
            except TooExpensive:
                return None
            except Unreadable:
                return False
            for one, two in pairs:
                try:
                    verdict = Comparison(self.rules).same(one, two)
                except TooExpensive:
                    verdict = None
                if verdict:
                    return True
                unknown = unknown or verdict is None
        return None if unknown else False


def canonical(node: Node, budget: Budget) -> str | None:
    """A text shared by equal answers of common kinds: numbers, expressions, tuples, sets and lists of these."""
    match node:
        case Listing(items=items) | Braces(items=items):
            keys = [canonical(item, budget) for item in items]
            if None in keys or (isinstance(node, Listing) and any(isinstance(item, Relation) for item in items)):
                return None
            unique = len(set(keys)) == len(keys)
            return "{" + ";".join(sorted(key for key in keys if key is not None)) + "}" if unique else None
        case Group(opening=opening, items=items, closing=closing):
            keys = [canonical(item, budget) for item in items]
            return None if None in keys else opening + ";".join(key for key in keys if key is not None) + closing
        case Relation(operands=(Symbol(), value), operators=("=",)):
            return canonical(value, budget)
        case Text(words=words):
            return "words " + words
        case _ if isinstance(node, Scalar):
            return _scalar(node, budget)
        case _:
            return None


def _scalar(node: Node, budget: Budget) -> str | None:
    body, unit = strip_units(node)
    if unit is not None or count_signs(body):
        return None
    if any(isinstance(part, Degrees | Percent | Ratio | Based) for part in walk(body)):
        return None
    try:
        value = rational(body, budget)
        if value is not None:
            return str(value) if bits(value) < 600 else None
        if has_decimals(body):
            return None
        return "image " + " ".join(f"{image(body, point, budget):x}" for point in _POINTS)
    except (Outside, ZeroDivisionError):
        return None
