"""Equality of two scalars: exact arithmetic first, then identity testing, then high-precision values.

Rules for decimals without a relative tolerance. A decimal is first taken as exact. In addition,

- a decimal agrees with a value within one part in a million (in a billion if the reference is a whole number);
- a reference such as 30.52 is met by an exact value that rounds to it, given three significant digits, and by a finer
  decimal that rounds to it, given four (`significant_digits`, the exact form one less);
- an exact reference that is not whole, such as 600/7, is met by a decimal that is its correct rounding with at least
  four significant digits (`significant_digits`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from rewarden_verifiers.answer.math.exact import rational
from rewarden_verifiers.answer.math.field import Outside, image
from rewarden_verifiers.answer.math.limits import MAX_CONFIRMED_DIGITS, Budget, TooExpensive
from rewarden_verifiers.answer.math.numeric import Evaluator, Undefined, Value
from rewarden_verifiers.answer.math.syntax import (
    Based,
    Call,
    Constant,
    Degrees,
    Measure,
    Negation,
    Node,
    Number,
    Percent,
    Power,
    Product,
    Quotient,
    Ratio,
    Series,
    Sum,
    free_symbols,
    walk,
)
from rewarden_verifiers.answer.math.units import conversion

Units = Literal["ignore", "lenient", "require"]


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for what counts as equal; see `MathParams` for the meaning of each."""

    rel_tol: float | None = None
    significant_digits: int = 4
    units: Units = "lenient"
    strict: bool = False


_FIELD_POINTS = (1, 2, 3)
_TIGHT = 50  # digits of the first comparison of values without variables
_CONFIRM = 400  # digits at which agreement is confirmed
_AT_POINTS = 30


@lru_cache(maxsize=8)
def evaluator(digits: int) -> Evaluator:
    """The evaluator for a precision."""
    return Evaluator(digits)


def has_infinity(node: Node) -> bool:
    """Returns whether the tree contains infinity."""
    return any(isinstance(part, Constant) and part.name == "oo" for part in walk(node))


def has_decimals(node: Node) -> bool:
    """Returns whether the tree contains a literal with a decimal point."""
    return any(isinstance(part, Number) and part.places is not None for part in walk(node))


def resolution(node: Node) -> Fraction | None:
    """The unit of the last written place, for a single decimal, percentage or number in scientific notation."""
    match node:
        case Number(places=places):
            return None if places is None else Fraction(1, 10**places)
        case Negation(body=body) | Measure(body=body) | Degrees(body=body):
            return resolution(body)
        case Percent(body=body):
            inner = resolution(body)
            return None if inner is None else inner / 100
        case Product(factors=(Number() as digits, Power(base=Number(value=ten), exponent=Number(value=shift)))):
            inner = resolution(digits)
            if inner is None or ten != 10 or shift.denominator != 1 or abs(shift) > 400:
                return None
            return inner * Fraction(10) ** shift.numerator
        case _:
            return None


def strip_units(node: Node) -> tuple[Node, str | None]:
    """The node without its unit, and the unit; `5 ft 3 in` becomes a sum in feet."""
    match node:
        case Measure(body=body, unit=unit):
            return body, unit
        case Negation(body=body):
            inner, unit_found = strip_units(body)
            return Negation(inner), unit_found
        case Product(factors=factors):
            if len(factors) > 1 and all(isinstance(factor, Measure) for factor in factors):
                return _added(factors)
            inner, unit_found = strip_units(factors[-1])
            return (node, None) if unit_found is None else (Product((*factors[:-1], inner)), unit_found)
        case Quotient(top=top, bottom=bottom):
            inner, unit_found = strip_units(top)
            return (node, None) if unit_found is None else (Quotient(inner, bottom), unit_found)
        case Sum(terms=terms):
            if all(isinstance(term, Measure) for term in terms):
                return _added(terms)
            inner, unit_found = strip_units(terms[-1])
            return (node, None) if unit_found is None else (Sum((*terms[:-1], inner)), unit_found)
        case _:
            return node, None


def _added(parts: tuple[Node, ...]) -> tuple[Node, str | None]:
    """Adds measures of one dimension, in the unit of the first one."""
    first = parts[0]
    assert isinstance(first, Measure)
    terms: list[Node] = []
    for part in parts:
        assert isinstance(part, Measure)
        factor = conversion(first.unit, part.unit)
        if factor is None:
            return Product(parts), None
        terms.append(Product((Number(factor), part.body)))
    return Sum(tuple(terms)), first.unit


def _bare(node: Node, kind: type[Degrees] | type[Percent]) -> Node | None:
    """The node without an outermost degree or percent sign."""
    if isinstance(node, kind):
        return node.body
    if isinstance(node, Negation) and isinstance(node.body, kind):
        return Negation(node.body.body)
    return None


class Scalars:
    """Compares scalars under fixed rules, spending one budget."""

    def __init__(self, rules: Rules, budget: Budget) -> None:
        self.rules = rules
        self.budget = budget
        self.method = "identical"
        self.converted = False  # the candidate writes the reference's value in another base

    def same(self, reference: Node, candidate: Node) -> bool | None:
        """Returns whether the candidate equals the reference; None if undecidable."""
        if reference == candidate:
            return True
        rules = self.rules
        reference, unit = strip_units(reference)
        candidate, other = strip_units(candidate)
        if rules.units != "ignore":
            if unit is not None and other is not None:
                factor = conversion(unit, other)
                if factor is None:
                    return False
                if factor != 1:
                    candidate = Product((Number(factor), candidate))
            elif unit is not None and rules.units == "require":
                return False
        if isinstance(reference, Ratio) or isinstance(candidate, Ratio):
            return self._ratios(reference, candidate)
        if isinstance(reference, Based) or isinstance(candidate, Based):
            return self._based(reference, candidate)
        results = [self._plain(reference, candidate)]
        if results[0] is not True and not rules.strict:
            for kind in (Degrees, Percent):
                ours, theirs = _bare(reference, kind), _bare(candidate, kind)
                if (ours is None) != (theirs is None):
                    results.append(self._plain(ours or reference, theirs or candidate))
        if True in results:
            return True
        return None if None in results else False

    def _ratios(self, reference: Node, candidate: Node) -> bool | None:
        if not isinstance(reference, Ratio) or not isinstance(candidate, Ratio):
            return False
        if len(reference.parts) != len(candidate.parts):
            return False
        first, second = reference.parts[0], candidate.parts[0]
        verdict: bool | None = True
        for ours, theirs in zip(reference.parts[1:], candidate.parts[1:], strict=True):
            same = self._plain(Product((ours, second)), Product((theirs, first)))
            if same is False:
                return False
            verdict = verdict if same else None
        return verdict

    def _based(self, reference: Node, candidate: Node) -> bool | None:
        """Numerals in a base are equal digit by digit; a missing base is accepted, another base is another answer."""
        ours = (reference.digits, reference.base) if isinstance(reference, Based) else (_digits(reference), None)
        theirs = (candidate.digits, candidate.base) if isinstance(candidate, Based) else (_digits(candidate), None)
        if ours[0] is None or theirs[0] is None:
            return False
        if None in (ours[1], theirs[1]) and self.rules.strict:
            return False
        if ours[1] is None and ours[0] != theirs[0] and isinstance(candidate, Based):
            self.converted = self._rational(reference) == self._rational(candidate)
            return self.converted
        return ours[0] == theirs[0] and (ours[1] == theirs[1] or None in (ours[1], theirs[1]))

    def _plain(self, reference: Node, candidate: Node) -> bool | None:
        infinite = has_infinity(reference), has_infinity(candidate)
        if any(infinite):
            self.method = "infinity"
            return all(infinite) and _infinity_sign(reference) == _infinity_sign(candidate) is not None
        ours, ours_large = self._rational(reference)
        theirs, theirs_large = self._rational(candidate)
        if ours is not None and theirs is not None:
            self.method = "exact"
            if ours == theirs:
                return True
            return self._close(ours, theirs, reference, candidate, exact=True)
        if ours_large or theirs_large:
            return self._large(reference, candidate, ours_large, theirs_large)
        symbols = free_symbols(reference) | free_symbols(candidate)
        inexact = has_decimals(reference) or has_decimals(candidate)
        verdict = self._in_field(reference, candidate)
        if verdict is not None and (verdict or not (inexact or self.rules.rel_tol is not None)):
            self.method = "identity"
            # Values that are equal in the field must also agree in floating point.
            return self.near(reference, candidate, 1e-9, 1e-9) if verdict and not symbols else verdict
        if symbols:
            self.method = "points"
            return self._at_points(reference, candidate, symbols, inexact)
        self.method = "numeric"
        return self._numerically(reference, candidate, inexact)

    def _rational(self, node: Node) -> tuple[Fraction | None, bool]:
        """The exact value if there is one, and whether it is too large to write out."""
        try:
            return rational(node, self.budget), False
        except ZeroDivisionError:
            return None, False
        except TooExpensive:
            if self.budget.left < 0:
                raise
            return None, True

    def _close(self, ours: Value, theirs: Value, reference: Node, candidate: Node, *, exact: bool) -> bool:
        """Applies the rules for decimals and the requested tolerance; `ours` and `theirs` are Fractions or real mpf."""
        rules = self.rules
        difference = abs(ours - theirs)
        size = abs(ours)
        if rules.rel_tol is not None:
            share = Fraction(rules.rel_tol) if exact else rules.rel_tol
            return bool(difference <= share * size)
        ours_decimal, theirs_decimal = has_decimals(reference), has_decimals(candidate)
        if not (ours_decimal or theirs_decimal):
            return False
        whole = exact and not ours_decimal and Fraction(ours).denominator == 1
        narrow = Fraction(1, 10**9) if whole or rules.strict else Fraction(1, 10**6)
        ours_place, theirs_place = resolution(reference), resolution(candidate)
        if ours_place is not None and ours_place == theirs_place:
            return False  # two decimals with the same number of places that differ are two numbers
        if difference <= (narrow * size if exact else float(narrow) * size):
            self.method = "decimal"
            return True
        if rules.strict or whole or rules.significant_digits <= 0:
            return False
        self.method = "rounding"
        enough = 10 ** (rules.significant_digits - 1)
        if (
            ours_place is not None
            and (theirs_place is None or theirs_place < ours_place)
            and not (theirs_decimal and theirs_place is None)
        ):
            needed = enough if theirs_place is not None else enough // 10
            return _within(difference, ours_place / 2, exact) and _at_least(size, needed * ours_place, exact)
        if theirs_place is not None and (ours_place is None or ours_place < theirs_place):
            return _within(difference, theirs_place / 2, exact) and _at_least(abs(theirs), enough * theirs_place, exact)
        return False

    def _in_field(self, reference: Node, candidate: Node) -> bool | None:
        """Returns whether the images are equal; None if an expression has none."""
        try:
            for point in _FIELD_POINTS:
                if image(reference, point, self.budget) != image(candidate, point, self.budget):
                    return False
        except Outside:
            return None
        return True

    def near(self, reference: Node, candidate: Node, share: float, least: float = 0) -> bool:
        """Returns whether values agree in floating point, within a share of the larger one (or of `least`). Expressions
        without a value count as agreeing.
        """
        try:
            ours = evaluator(20).value(reference, {}, self.budget)
            theirs = evaluator(20).value(candidate, {}, self.budget)
        except Undefined:
            return True
        return bool(abs(ours - theirs) <= share * max(abs(ours), abs(theirs), least))

    def rounds(self, exact: Node, rough: Node) -> bool:
        """Returns whether a decimal is the rounding or truncation of a value. Always true without decimal places."""
        place = resolution(rough)
        if place is None:
            return True
        try:
            value = evaluator(_AT_POINTS).value(exact, {}, self.budget)
            written = evaluator(_AT_POINTS).value(rough, {}, self.budget)
        except Undefined:
            return True
        left = (abs(value) - abs(written)) / evaluator(_AT_POINTS).context.mpf(float(place))
        return bool(-0.5 - 1e-9 <= left < 1)

    def _large(self, reference: Node, candidate: Node, ours_large: bool, theirs_large: bool) -> bool | None:
        """Compares rationals too large to write out. If the reference is moderate, a candidate's size is its own fault.
        Otherwise, different images in the field refute equality, and equal ones together with the leading digits
        confirm it.
        """
        if theirs_large and not ours_large:
            raise TooExpensive("value too large")
        self.method = "identity"
        verdict = self._in_field(reference, candidate)
        if verdict is None:
            raise TooExpensive("value too large")
        return verdict and self.near(reference, candidate, 1e-9, 1e-9)

    def _numerically(self, reference: Node, candidate: Node, inexact: bool) -> bool | None:
        """Compares values without variables."""
        try:
            ours = evaluator(_TIGHT).value(reference, {}, self.budget)
        except Undefined:
            return None
        try:
            theirs = evaluator(_TIGHT).value(candidate, {}, self.budget)
        except Undefined:
            return False
        real = evaluator(_TIGHT).context.im(ours) == 0 == evaluator(_TIGHT).context.im(theirs)
        size = max(abs(ours), abs(theirs))
        if abs(ours - theirs) > 1e-40 * max(size, 1):
            if real and (inexact or self.rules.rel_tol is not None):
                return self._close(ours, theirs, reference, candidate, exact=False)
            return False
        if size == 0:
            return True
        # a difference of one must be visible however large the values are
        places = max(0, int(evaluator(_TIGHT).context.mag(size)) * 3 // 10)
        digits = _CONFIRM + places
        if digits > MAX_CONFIRMED_DIGITS:
            raise TooExpensive("value too large")
        # sqrt(a + 1) and sqrt(a + 2) differ by half of 1 / sqrt(a): roots of adjacent numbers need places after the
        # point
        behind = 2 * places if digits + 3 * places <= MAX_CONFIRMED_DIGITS else 0
        digits += behind + places if behind else 0
        at = evaluator(-(-digits // _CONFIRM) * _CONFIRM)
        try:
            ours = at.value(reference, {}, self.budget)
            theirs = at.value(candidate, {}, self.budget)
        except Undefined:
            return None
        return bool(abs(ours - theirs) <= at.context.mpf(10) ** (40 - _CONFIRM - behind))

    def _at_points(self, reference: Node, candidate: Node, symbols: frozenset[str], inexact: bool) -> bool | None:
        """Compares values at fixed points. Where both are real they must agree; if neither ever is, they are compared
        as complex numbers.

        Points where only one side is real are ignored as long as they are a minority: log(x(x-1)) and log(x) + log(x-1)
        are equal wherever the latter is defined.
        """
        at = evaluator(_AT_POINTS)
        context = at.context
        tolerance = 1e-6 if inexact else 1e-18
        if self.rules.rel_tol is not None:
            tolerance = max(tolerance, self.rules.rel_tol)
        both_real = one_real = complex_same = complex_different = defined = 0
        whole_numbers = _counts(reference) or _counts(candidate)
        sized = takes_size(reference) or takes_size(candidate)
        for bindings in _points(sorted(symbols), whole_numbers, sized):
            values = {name: context.mpf(value.numerator) / value.denominator for name, value in bindings.items()}
            try:
                ours = at.value(reference, values, self.budget)
            except (Undefined, TooExpensive):
                if self.budget.left < 0:
                    raise
                continue
            defined += 1
            try:
                theirs = at.value(candidate, values, self.budget)
            except (Undefined, TooExpensive):
                if self.budget.left < 0:
                    raise
                one_real += 1
                continue
            same = bool(abs(ours - theirs) <= tolerance * max(abs(ours), abs(theirs), 1e-12))
            ours_real = abs(context.im(ours)) < 1e-20 * max(abs(ours), 1)
            theirs_real = abs(context.im(theirs)) < 1e-20 * max(abs(theirs), 1)
            if ours_real and theirs_real:
                if not same:
                    return False
                both_real += 1
            elif ours_real or theirs_real:
                one_real += 1
            elif same:
                complex_same += 1
            else:
                complex_different += 1
        if not defined:
            return None
        if both_real:
            return both_real >= 3 and both_real >= one_real
        return complex_same >= 3 and not complex_different and not one_real


def _counts(node: Node) -> bool:
    """Returns whether a variable is a count: the range of a sum, or the argument of a factorial or binomial."""
    for part in walk(node):
        if isinstance(part, Series) and free_symbols(part):
            return True
        if isinstance(part, Call) and part.name in ("factorial", "factorial2", "binom") and free_symbols(part):
            return True
    return False


def takes_size(node: Node) -> bool:
    """Returns whether the absolute value of an expression with variables is taken, so that signs matter: `|ab|` is not
    `ab`.
    """
    return any(isinstance(part, Call) and part.name == "abs" and free_symbols(part) for part in walk(node))


def opposite(name: str, row: int, column: int) -> bool:
    """Returns whether a variable is negative at points with mixed signs. Letters that name points never are: `|AB|` is
    `AB`.
    """
    return not name[0].isupper() and (row + column) % 2 == 1


def _points(names: list[str], whole_numbers: bool, sized: bool) -> Iterator[dict[str, Fraction]]:
    """Fixed points: between 0 and 1, above 1, negative, and whole numbers of both parities; or only the last kind.
    sized: also points with mixed signs.
    """
    for row in range(8 if whole_numbers else 0, 15 if sized else 13):
        bindings: dict[str, Fraction] = {}
        for column, name in enumerate(names):
            wobble = Fraction((37 * row + 61 * column + 11 * row * column) % 89 + 1, 97)
            if row < 3:
                value = wobble
            elif row < 6:
                value = 1 + 3 * wobble + Fraction(column, 7)
            elif row < 8:
                value = -1 - 2 * wobble
            else:
                # later letters get larger values, so that n over k is defined for k < n
                value = Fraction(row - 5 + (3 * column if len(names) < 4 else column) + (row * column) % 2)
                if row >= 13 and opposite(name, row, column):
                    value = -value
            bindings[name] = value
        yield bindings


def _within(difference: Value, bound: Fraction, exact: bool) -> bool:
    if exact:
        return bool(difference <= bound)
    return bool(difference <= float(bound) * (1 + 1e-9))


def _at_least(size: Value, bound: Fraction, exact: bool) -> bool:
    return bool(size >= bound) if exact else bool(size >= float(bound))


def _digits(node: Node) -> str | None:
    if isinstance(node, Number) and node.places is None and node.value.denominator == 1:
        return str(node.value)
    return None


def _infinity_sign(node: Node) -> int | None:
    """The sign of an infinite scalar, if it is obvious."""
    match node:
        case Constant(name="oo"):
            return 1
        case Negation(body=body):
            sign = _infinity_sign(body)
            return None if sign is None else -sign
        case _:
            return None
