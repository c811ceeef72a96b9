"""Decides whether two answers are the same, structure by structure.

The reference sets the meaning: `(1, 2)` is an interval if compared with `x > 1` and a point if compared with `(2, 1)`;
a bare list has no order if compared with a set, and has one if compared with a tuple. Several values are a hedge if the
reference has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.conditions import contradict, parted
from rewarden_verifiers.answer.math.exact import rational
from rewarden_verifiers.answer.math.expand import count_signs, elements
from rewarden_verifiers.answer.math.field import PRIME, Outside, image
from rewarden_verifiers.answer.math.limits import COMPARISON_COST, MAX_ITEMS, Budget, TooExpensive
from rewarden_verifiers.answer.math.numeric import Undefined
from rewarden_verifiers.answer.math.reading import join_words
from rewarden_verifiers.answer.math.regions import NoRegion, Region, is_interval, is_region, region, variable_of
from rewarden_verifiers.answer.math.scalars import Rules, Scalars, evaluator, opposite, takes_size
from rewarden_verifiers.answer.math.syntax import (
    Braces,
    Builder,
    Call,
    Conditioned,
    Constant,
    Group,
    Listing,
    Matrix,
    Measure,
    Membership,
    Mixed,
    Negation,
    Node,
    Number,
    Percent,
    Power,
    Product,
    Quotient,
    Ratio,
    Relation,
    Scalar,
    SetOperation,
    Sum,
    Symbol,
    Text,
    children,
    free_symbols,
    rename,
    walk,
)

_POINTS = (1, 2, 3)
_PARAMETERS = frozenset("knmljtNKMpqrs")
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_INEQUALITIES = {"<": (">", True), "<=": (">=", True), ">": (">", False), ">=": (">=", False)}


class Comparison:
    """One reference against one candidate."""

    def __init__(self, rules: Rules, budget: Budget | None = None) -> None:
        self.rules = rules
        self.budget = budget or Budget()
        self.scalars = Scalars(rules, self.budget)
        self.hedged = False

    @property
    def method(self) -> str:
        """Returns the method of the last decision."""
        return self.scalars.method

    def same(self, reference: Node, candidate: Node) -> bool | None:
        """The verdict on whole answers, with variables renamed if their names can be chosen freely."""
        try:
            verdict = self.answers(reference, candidate)
            if verdict or self.rules.strict:
                return verdict
            renamed = self._renamed(reference, candidate)
            if renamed is not None and self.answers(reference, renamed):
                return True
        except RecursionError:
            raise TooExpensive("nested too deeply") from None
        return verdict

    def answers(self, reference: Node, candidate: Node) -> bool | None:
        """The verdict on two answers, or on two of their items."""
        if reference == candidate:
            return True
        self.budget.spend(COMPARISON_COST)
        if isinstance(reference, Conditioned) or isinstance(candidate, Conditioned):
            return self.conditioned(reference, candidate)
        reference, candidate = self.settled(reference), self.settled(candidate, exactly=True)
        plain = isinstance(reference, Scalar) and isinstance(candidate, Scalar)
        if plain and not count_signs(reference) and not count_signs(candidate):
            return self.scalars.same(reference, candidate)
        if isinstance(reference, Text) or isinstance(candidate, Text):
            return self.words(reference, candidate)
        if isinstance(reference, Matrix) or isinstance(candidate, Matrix):
            return self.matrices(reference, candidate)
        order = in_order(reference)
        if order is not None and not _is_sorted(reference) and (theirs := in_order(candidate)) is not None:
            return order == theirs
        if is_region(reference) or is_region(candidate):
            verdict = self.regions(reference, candidate)
            if verdict is not None:
                return verdict
        first, second = elements(reference), elements(candidate)
        if first is not None or second is not None:
            return self.collections(reference, candidate)
        if isinstance(reference, Relation) or isinstance(candidate, Relation):
            return self.relations(reference, candidate)
        if isinstance(reference, Group) and isinstance(candidate, Group):
            return self.groups(reference, candidate)
        if isinstance(reference, Scalar) and isinstance(candidate, Scalar):
            return self.scalars.same(reference, candidate)
        if type(reference) is type(candidate):
            return self.alike(reference, candidate)
        return False

    def conditioned(self, reference: Node, candidate: Node) -> bool | None:
        """Answers of which at least one states conditions: these must not contradict the other's."""
        (ours, first), (theirs, second) = parted(reference), parted(candidate)
        if first and second and contradict(first, second, self.answers, self.pieces, self.budget):
            return False
        return self.answers(ours, theirs)

    # --- preparing

    def settled(self, node: Node, *, exactly: bool = False) -> Node:
        """The node without a part that only introduces it: `S = {1, 2}`, `x in {1, 2}`, `(a, b) = (1, 2)`, `x = ±2`.

        `exactly`: an approximation given with the exact value must be its rounding.
        """
        if isinstance(node, Membership) and isinstance(node.container, Braces | Listing):
            return node.container
        match node:
            case Product(factors=(Symbol(name=name), Group(opening="(") as point)) if name[0].isupper():
                return point  # P(1, 2)
        if not isinstance(node, Relation):
            return node
        operands, operators = node.operands, node.operators
        if "~" in operators:
            return self._approximated(node, exactly)
        if set(operators) != {"="}:
            return node
        first, last = operands[0], operands[-1]
        if len(operands) == 2 and isinstance(first, Group) and isinstance(last, Group) and first.opening == "(":
            if len(first.items) != len(last.items):
                return node
            pairs = zip(first.items, last.items, strict=True)
            return Listing(tuple(Relation(pair, ("=",)) for pair in pairs), "and")
        structured = not isinstance(last, Scalar) or (count_signs(last) and is_name(first))
        if structured and (is_name(first) or isinstance(last, Braces | Matrix | SetOperation)):
            return last
        return node

    def _approximated(self, node: Relation, exactly: bool) -> Node:
        """`x = sqrt(2) ~ 1.41` without its approximation, which must be close, or else the answer gives two values."""
        at = node.operators.index("~")
        kept = node.operands[: at + 1]
        if len(kept) == 1 and is_name(kept[0]):
            return node.operands[1]
        for other in node.operands[at + 1 :]:
            if not self._near(kept[-1], other) or (exactly and not self.scalars.rounds(kept[-1], other)):
                return node
        return kept[0] if len(kept) == 1 else Relation(kept, node.operators[:at])

    def _near(self, exact: Node, rough: Node) -> bool:
        return self.scalars.near(exact, rough, 0.01)

    def _renamed(self, reference: Node, candidate: Node) -> Node | None:
        """The candidate with its one unknown variable renamed to the reference's, if that name can be chosen freely.

        This applies to integer parameters of a periodic answer (pi k, pi n) and letters that differ only in case (C,
        c).
        """
        ours, theirs = _variables(reference), _variables(candidate)
        missing, foreign = ours - theirs, theirs - ours
        if len(missing) != 1 or len(foreign) != 1:
            return None
        (name,), (other,) = missing, foreign
        periodic = (
            name in _PARAMETERS and other in _PARAMETERS and any(part == Constant("pi") for part in walk(reference))
        )
        if periodic or name.lower() == other.lower():
            return rename(candidate, {other: name})
        return None

    # --- words

    def words(self, reference: Node, candidate: Node) -> bool:
        """Text equals the same words; a list of texts equals them in any order."""
        if isinstance(reference, Text) and isinstance(candidate, Text) and reference.words == candidate.words:
            return True
        ours = join_words(reference) if isinstance(reference, Text) else reference
        theirs = join_words(candidate) if isinstance(candidate, Text) else candidate
        if isinstance(ours, Listing) and isinstance(theirs, Listing):
            return bool(self.unordered(ours.items, theirs.items))
        if isinstance(reference, Text) and isinstance(candidate, Text):
            return words.tidy(reference.words) == words.tidy(candidate.words)
        return False

    # --- matrices and tuples

    def matrices(self, reference: Node, candidate: Node) -> bool | None:
        """Entry by entry; a vector equals the tuple of its entries."""
        ours, theirs = _entries(reference), _entries(candidate)
        if ours is None or theirs is None:
            return False
        vectors = 1 in ours[0] and 1 in theirs[0]
        if ours[0] != theirs[0] and not (vectors and len(ours[1]) == len(theirs[1]) and not self.rules.strict):
            return False
        return self.ordered(ours[1], theirs[1])

    def groups(self, reference: Group, candidate: Group) -> bool | None:
        """Tuples item by item. With two items the brackets matter, since they may be an interval's."""
        if len(reference.items) == 2 and (reference.opening, reference.closing) != (
            candidate.opening,
            candidate.closing,
        ):
            return False
        return self.ordered(reference.items, candidate.items)

    def ordered(self, ours: Sequence[Node], theirs: Sequence[Node]) -> bool | None:
        """Item by item."""
        if len(ours) != len(theirs):
            return False
        if len(ours) > MAX_ITEMS:
            raise TooExpensive("too many items")
        verdict: bool | None = True
        for one, two in zip(ours, theirs, strict=True):
            same = self.answers(one, two)
            if same is False:
                return False
            verdict = verdict if same else None
        return verdict

    def alike(self, reference: Node, candidate: Node) -> bool | None:
        """Structures of one type without rules of their own: part by part."""
        match reference, candidate:
            case Membership(), Membership():
                return self.ordered((reference.element, reference.container), (candidate.element, candidate.container))
            case SetOperation(), SetOperation():
                if reference.kind != candidate.kind:
                    return False
                if reference.kind == "minus":
                    return self.ordered(reference.operands, candidate.operands)
                return self.unordered(reference.operands, candidate.operands)
            case Builder(), Builder():
                return self.ordered((reference.element, reference.condition), (candidate.element, candidate.condition))
            case _:
                return False

    # --- lists and sets

    def collections(self, reference: Node, candidate: Node) -> bool | None:
        """Lists, sets and expressions with plus-minus signs."""
        verdict = self._collections(reference, candidate, together=False)
        if verdict is True or max(count_signs(reference), count_signs(candidate)) < 2:
            return verdict
        return self._collections(reference, candidate, together=True) or verdict

    def _collections(self, reference: Node, candidate: Node, *, together: bool) -> bool | None:
        ours = elements(reference, together=together)
        theirs = elements(candidate, together=together)
        if isinstance(reference, Listing) and isinstance(candidate, Listing) and _opposed(reference, candidate):
            return False
        if isinstance(reference, Braces):
            ours = self.distinct(ours or ())
        if isinstance(candidate, Braces) or (isinstance(reference, Braces) and isinstance(candidate, Listing)):
            theirs = self.distinct(theirs or ())
        # one value against several
        if ours is None or (len(ours) == 1 and not isinstance(reference, Braces)):
            target = reference if ours is None else ours[0]
            if isinstance(candidate, Listing) and isinstance(target, Group) and target.opening == "(":
                if self.rules.strict or candidate.joiner in words.EITHER:
                    return False
                return self.labelled(target.items, candidate.items, ordered=True)
            if isinstance(target, Group) and isinstance(candidate, Braces):
                return False
            theirs = (candidate,) if theirs is None else theirs
            if theirs and all(self.answers(target, _value(item)) for item in theirs):
                return True
            self.hedged = self.hedged or len(theirs) > 1
            return False
        if theirs is None:
            if isinstance(candidate, Group) and not isinstance(reference, Braces) and len(ours) == len(candidate.items):
                if not self.rules.strict and candidate.opening == "(" and candidate.closing == ")":
                    return self.labelled(ours, candidate.items, ordered=True)
                return False
            theirs = (candidate,)
        if isinstance(reference, Listing) and isinstance(candidate, Listing):
            return self.labelled(ours, theirs, ordered=False)
        if len(ours) != len(theirs):
            return False
        return self.unordered([_value(item) for item in ours], [_value(item) for item in theirs])

    def labelled(self, ours: Sequence[Node], theirs: Sequence[Node], *, ordered: bool) -> bool | None:
        """Lists whose items can have labels, `p = 3, q = 4`: if all labels differ, they determine which values to
        compare.
        """
        if len(ours) != len(theirs):
            return False
        our_labels, their_labels = _labels(ours), _labels(theirs)
        if our_labels and their_labels:
            if set(our_labels) == set(their_labels):
                return self.ordered(
                    [our_labels[name] for name in our_labels], [their_labels[name] for name in our_labels]
                )
            if not _in_words(ours) and not _in_words(theirs):
                return False
        our_values, their_values = [_value(item) for item in ours], [_value(item) for item in theirs]
        named = (our_labels and not _in_words(ours)) or (their_labels and not _in_words(theirs))
        if ordered or named:
            return self.ordered(our_values, their_values)
        return self.unordered(our_values, their_values)

    def unordered(self, ours: Sequence[Node], theirs: Sequence[Node]) -> bool | None:
        """Returns whether the items match one to one. Exact numbers are matched by value, the rest by trying."""
        if len(ours) != len(theirs):
            return False
        if len(ours) > MAX_ITEMS:
            raise TooExpensive("too many items")
        by_value: dict[Fraction, list[Node]] = {}
        rest: list[Node] = []
        for item in theirs:
            value = self._number(item)
            by_value.setdefault(value, []).append(item) if value is not None else rest.append(item)
        unmatched: list[Node] = []
        for item in ours:
            value = self._number(item)
            if value is not None and by_value.get(value):
                by_value[value].pop()
            else:
                unmatched.append(item)
        rest.extend(item for items in by_value.values() for item in items)
        uncertain = False
        for item in unmatched:
            for index, other in enumerate(rest):
                same = self.answers(item, other)
                if same:
                    del rest[index]
                    break
                uncertain = uncertain or same is None
            else:
                return None if uncertain else False
        return True

    def distinct(self, items: Sequence[Node]) -> tuple[Node, ...]:
        """Items without duplicates, as in a set."""
        if len(items) > MAX_ITEMS:
            raise TooExpensive("too many items")
        values: set[Fraction] = set()
        kept: list[Node] = []
        for item in items:
            value = self._number(item)
            if value is not None:
                if value in values:
                    continue
                values.add(value)
                kept.append(item)
            elif not any(self.answers(other, item) for other in kept):
                kept.append(item)
        return tuple(kept)

    def _number(self, item: Node) -> Fraction | None:
        """The exact value of an item that is a number without sign or unit."""
        if isinstance(item, Number):
            return item.value
        if not isinstance(item, Quotient | Negation | Mixed):
            return None
        if any(isinstance(part, Measure | Percent) for part in walk(item)):
            return None
        try:
            return rational(item, self.budget)
        except (TooExpensive, ZeroDivisionError):
            return None

    # --- sets of reals

    def regions(self, reference: Node, candidate: Node) -> bool | None:
        """Intervals, inequalities and unions; None if neither can be read as a set of reals."""
        ours_named, theirs_named = variable_of(reference), variable_of(candidate)
        if ours_named and theirs_named and ours_named.lower() != theirs_named.lower():
            return False
        try:
            ours = region(reference, self.budget)
        except NoRegion:
            return self.symbolic_regions(reference, candidate)
        if isinstance(candidate, Relation) and set(candidate.operators) == {"="}:
            candidate = candidate.operands[-1]
        together = _is_conjunction(candidate) and not _is_conjunction(reference)
        try:
            theirs = region(candidate, self.budget, together=together)
        except NoRegion:
            return False
        return self.pieces(ours, theirs)

    def pieces(self, ours: Region, theirs: Region) -> bool | None:
        """Piece by piece."""
        if len(ours) != len(theirs):
            return False
        verdict: bool | None = True
        for one, two in zip(ours, theirs, strict=True):
            for end, other in ((one.low, two.low), (one.high, two.high)):
                if (end.node is None) != (other.node is None):
                    if end.value != other.value or end.closed != other.closed:
                        return False
                    continue
                if end.node is None or other.node is None:
                    if end.value != other.value:
                        return False
                    continue
                if end.closed != other.closed:
                    return False
                same = self.scalars.same(end.node, other.node)
                if same is False:
                    return False
                verdict = verdict if same else None
        self.scalars.method = "region"
        return verdict

    def symbolic_regions(self, reference: Node, candidate: Node) -> bool | None:
        """Intervals whose ends contain variables: `a < x < a + 1` and `(a, a + 1)`."""
        if isinstance(reference, Relation) and isinstance(candidate, Relation):
            return self.inequalities(reference, candidate)
        ours, theirs = as_interval(reference), as_interval(candidate)
        if ours is not None and theirs is not None:
            return self.groups(ours, theirs)
        if isinstance(reference, Listing | Braces) or isinstance(candidate, Listing | Braces):
            return None
        if type(reference) is type(candidate):
            return self.alike(reference, candidate)
        return False

    def inequalities(self, reference: Relation, candidate: Relation) -> bool | None:
        """Chains of inequalities: the same differences with the same signs, up to positive factors; for numbers, the
        same numbers in the same order.
        """
        if not free_symbols(reference) and not free_symbols(candidate):
            return self._chains(reference, candidate)
        ours, theirs = _differences(reference), _differences(candidate)
        if ours is None or theirs is None or len(ours) != len(theirs):
            return False
        left = list(theirs)
        for operator, difference in ours:
            for index, (other_operator, other) in enumerate(left):
                if operator == other_operator and self.proportional(
                    difference, other, positive=operator in (">", ">=")
                ):
                    del left[index]
                    break
            else:
                return False
        return True

    def _chains(self, reference: Relation, candidate: Relation) -> bool | None:
        """Relations between constants: compared side by side, as written or reversed. A test for multiples is useless
        here, since two numbers always are multiples of each other, and so are two values of an unknown function.
        """
        turned = tuple(_TURNED.get(operator, operator) for operator in reversed(candidate.operators))
        verdict: bool | None = False
        for operators, operands in (
            (candidate.operators, candidate.operands),
            (turned, candidate.operands[::-1]),
        ):
            if reference.operators == operators:
                same = self.ordered(reference.operands, operands)
                if same:
                    return True
                verdict = None if same is None else verdict
        return verdict

    # --- equations

    def relations(self, reference: Node, candidate: Node) -> bool | None:
        """Equations against equations or against plain values."""
        if isinstance(reference, Relation) and isinstance(candidate, Relation):
            return self.equations(reference, candidate)
        if isinstance(candidate, Relation):
            value = self.stated_value(candidate)
            return False if value is None else self.answers(reference, value)
        assert isinstance(reference, Relation)
        return self.value_of_equation(reference, candidate)

    def stated_value(self, relation: Relation) -> Node | None:
        """Returns the value that `x = 3 + 2 = 5` gives to x: the last one. All values must agree."""
        operands = relation.operands
        if set(relation.operators) != {"="}:
            return None
        if len(operands) == 2 and is_name(operands[1]) and not is_name(operands[0]):
            return None if _speaks_of(operands[0], operands[1]) else operands[0]
        if _speaks_of(operands[-1], operands[0]):
            return None  # "x = x + x + x" gives no value: it echoes the task's own expression
        if _is_unsolved(operands[0]):
            return None  # "2x = 7" means that x is 7/2
        values = operands[1:] if free_symbols(operands[0]) or is_name(operands[0]) else operands
        for one, two in pairwise(values):
            if not self.answers(one, two) and not self._near_scalars(one, two):
                self.hedged = True
                return None
        return values[-1]

    def _near_scalars(self, one: Node, two: Node) -> bool:
        return isinstance(one, Scalar) and isinstance(two, Scalar) and not free_symbols(one) and self._near(one, two)

    def value_of_equation(self, reference: Relation, candidate: Node) -> bool | None:
        """A plain value compared with an equation: its right side, or the solution of a linear equation."""
        if set(reference.operators) != {"="}:
            return False
        operands = reference.operands
        if is_name(operands[0]):
            verdicts = [self.answers(operand, candidate) for operand in operands[1:]]
            if True in verdicts:
                return True
            if len(operands) > 2 or not isinstance(operands[0], Call):
                return None if None in verdicts else False
        if is_name(operands[-1]) and self.answers(operands[0], candidate):
            return True
        if _is_ratio(operands[0]):
            return self.answers(operands[-1], candidate)
        if not isinstance(candidate, Scalar) or self.rules.strict or len(operands) != 2:
            return False
        if self.scalars.same(operands[0], operands[1]):  # an identity: its value, but not the task's own side
            if _is_logarithm(operands[0]) or (candidate == operands[0] and not isinstance(candidate, Number)):
                return False
            return self.scalars.same(operands[1], candidate)
        return self.solves(Sum((operands[0], Negation(operands[1]))), candidate)

    def solves(self, difference: Node, value: Node) -> bool:
        """Returns whether the value solves difference = 0 for the one variable missing from it, in which the difference
        is linear.
        """
        missing = free_symbols(difference) - free_symbols(value)
        if len(missing) != 1 or not free_symbols(value) <= free_symbols(difference):
            return False
        (name,) = missing
        context = evaluator(30).context
        zero = context.mpf(10) ** -18
        tested = 0
        for row in range(4):
            bindings = {
                other: context.mpf(3 + 7 * row + 5 * column) / 8
                for column, other in enumerate(sorted(free_symbols(difference) - missing))
            }
            try:
                solution = evaluator(30).value(value, bindings, self.budget)
                at = [
                    evaluator(30).value(difference, {**bindings, name: point}, self.budget)
                    for point in (solution, context.mpf(1), context.mpf(2), context.mpf(4))
                ]
            except Undefined:
                continue
            size = max(abs(number) for number in at)
            linear = abs((at[3] - at[2]) - 2 * (at[2] - at[1])) <= zero * size
            if abs(at[0]) > zero * max(size, 1) or not linear or abs(at[2] - at[1]) <= zero * size:
                return False
            tested += 1
        self.scalars.method = "points"
        return tested >= 2

    def equations(self, reference: Relation, candidate: Relation) -> bool | None:
        """Equations: equal definitions of the same thing, or proportional differences."""
        if set(reference.operators) != {"="} or set(candidate.operators) != {"="}:
            return self.inequalities(reference, candidate)
        ours, theirs = reference.operands, candidate.operands
        if not free_symbols(reference) and not free_symbols(candidate):
            return self._chains(reference, candidate) or self._stated_alike(reference, candidate)
        if is_name(ours[0]) and is_name(theirs[0]):
            first, second = ours[0], theirs[0]
            right = self.stated_value(candidate)
            if right is None:
                return False
            if isinstance(first, Call) and isinstance(second, Call) and first.name == second.name:
                names = _matching_names(first, second)
                if names is not None:
                    return any(self.answers(operand, rename(right, names)) for operand in ours[1:])
            if first == second or (isinstance(first, Call) and second == Symbol("y")):
                return any(self.answers(operand, right) for operand in ours[1:])
            if isinstance(second, Call) and first == Symbol("y"):
                return any(self.answers(operand, right) for operand in ours[1:])
            if isinstance(first, Symbol) and isinstance(second, Symbol) and first.name.lower() == second.name.lower():
                return any(self.answers(operand, right) for operand in ours[1:])
        if len(ours) != len(theirs) or len(ours) > 4:
            return False
        if _is_solved(reference) and not _is_solved(candidate):
            return False  # "2x = 18" for "x = 9" echoes the task's own equation
        return all(
            self.proportional(Sum((a, Negation(b))), Sum((c, Negation(d))), positive=False)
            for a, b, c, d in zip(ours, ours[1:], theirs, theirs[1:], strict=False)
        )

    def _stated_alike(self, reference: Relation, candidate: Relation) -> bool | None:
        """Returns whether the same constant, such as f(1) or 2 + 3, gets the same value: `f(1) = 3 + 4 = 7`."""
        if not self.answers(reference.operands[0], candidate.operands[0]):
            return False
        value = self.stated_value(candidate)
        return False if value is None else self.answers(reference.operands[-1], value)

    def proportional(self, ours: Node, theirs: Node, *, positive: bool) -> bool:
        """Returns whether one expression is a constant multiple of the other; `positive`: by a positive constant."""
        if not isinstance(ours, Sum) or not isinstance(theirs, Sum):
            return False
        try:
            pairs = [(image(ours, at, self.budget), image(theirs, at, self.budget)) for at in _POINTS]
        except Outside:
            return self._proportional_at_points(ours, theirs, positive)
        (a, b) = pairs[0]
        if not all(one and two for one, two in pairs):
            return False
        if any((a * two - b * one) % PRIME for one, two in pairs[1:]):
            return False
        if not free_symbols(ours) and not free_symbols(theirs):
            return False  # two numbers are always proportional
        return not positive or self._proportional_at_points(ours, theirs, positive)

    def _proportional_at_points(self, ours: Node, theirs: Node, positive: bool) -> bool:
        names = sorted(free_symbols(ours) | free_symbols(theirs))
        context = evaluator(30).context
        pairs = []
        for row in range(10 if takes_size(ours) or takes_size(theirs) else 6):
            bindings = {
                name: context.mpf((17 * row + 29 * column + 5 * row * column) % 41 + 1)
                / (-13 if row >= 6 and opposite(name, row, column) else 13)
                for column, name in enumerate(names)
            }
            try:
                one = evaluator(30).value(ours, bindings, self.budget)
                two = evaluator(30).value(theirs, bindings, self.budget)
            except Undefined:
                continue
            if row >= 6 and (context.im(one) or context.im(two)):
                continue  # "ln |x|" for "ln x": compare only where the latter is defined
            if one and two:
                pairs.append((one, two))
        if len(pairs) < 3 or not names:
            return False
        (a, b) = pairs[0]
        self.scalars.method = "points"
        if any(abs(a * two - b * one) > 1e-18 * (abs(a * two) + abs(b * one)) for one, two in pairs[1:]):
            return False
        return not positive or bool(context.re(a / b) > 0)


def is_name(node: Node) -> bool:
    """Returns whether a left side only names the answer: a letter, `f(x)`, `AB`, `|AB|`, `S_n`, an angle."""
    match node:
        case Symbol():
            return True
        case Call(name="abs", arguments=(body,)):
            return isinstance(body, Symbol | Product) and is_name(body)
        case Call(name=name, arguments=arguments):
            known = len(name) > 1 and name[0].isalpha() and "_" not in name and "'" not in name
            return not known and all(isinstance(argument, Symbol | Number) for argument in arguments)
        case Product(factors=factors):
            return all(isinstance(factor, Symbol) for factor in factors) and len(set(map(repr, factors))) == len(
                factors
            )
        case Constant(name=name):
            return name == "e"  # e = sqrt(3)/2, an eccentricity
        case Text():
            return True
        case _:
            return False


def as_interval(node: Node) -> Group | None:
    """An interval from brackets, from a chain `a < x < b`, or from `x in [a, b]`."""
    match node:
        case Group() if is_interval(node):
            return node
        case Membership(container=Group() as container):
            return container if is_interval(container) else None
        case Relation(operands=(low, Symbol(name=name), high), operators=(first, second)):
            if name in free_symbols(low) | free_symbols(high):
                return None
            if {first, second} <= {"<", "<="}:
                return Group("[" if first == "<=" else "(", (low, high), "]" if second == "<=" else ")")
            if {first, second} <= {">", ">="}:
                return Group("[" if second == ">=" else "(", (high, low), "]" if first == ">=" else ")")
            return None
        case Relation(operands=(Symbol(name=name), bound), operators=(operator,)) if name not in free_symbols(bound):
            infinite = Constant("oo")
            if operator in (">", ">="):
                return Group("[" if operator == ">=" else "(", (bound, infinite), ")")
            if operator in ("<", "<="):
                return Group("(", (Negation(infinite), bound), "]" if operator == "<=" else ")")
            return None
        case _:
            return None


def in_order(node: Node) -> tuple[str, ...] | None:
    """Names in a meaningful order, from the smallest: those of a chain `b < a < c`, or of a list, which states an order
    if it is not sorted alphabetically.
    """
    match node:
        case Relation(operands=operands, operators=operators):
            names = _names(operands)
            if names is None or len(set(operators)) > 1 or operators[0] not in _INEQUALITIES:
                return None
            return names[::-1] if operators[0] in (">", ">=") else names
        case Listing(items=items, joiner=","):
            return _names(items)
        case _:
            return None


def _names(items: Sequence[Node]) -> tuple[str, ...] | None:
    """Three or more distinct names; None if there are other items."""
    names = [item.name for item in items if isinstance(item, Symbol) or item in (Constant("e"), Constant("i"))]
    return tuple(names) if len(names) == len(items) == len(set(names)) > 2 else None


def _is_sorted(node: Node) -> bool:
    return isinstance(node, Listing) and (names := _names(node.items)) is not None and list(names) == sorted(names)


def _is_conjunction(node: Node) -> bool:
    """Returns whether inequalities are joined by "and"."""
    return (
        isinstance(node, Listing)
        and node.joiner in words.BOTH
        and all(isinstance(item, Relation) for item in node.items)
    )


def _opposed(reference: Listing, candidate: Listing) -> bool:
    """Returns whether one list says "and" and the other "or". Between values, both words can mean that all hold."""
    joiners = {reference.joiner, candidate.joiner}
    if joiners.isdisjoint(words.BOTH) or joiners.isdisjoint(words.EITHER):
        return False
    signs = {words.CONJUNCTION, words.DISJUNCTION}
    return not joiners.isdisjoint(signs) or any(is_region(item) for item in (*reference.items, *candidate.items))


def _in_words(items: Sequence[Node]) -> bool:
    """Returns whether values are labelled with words, for which others can choose different words."""
    bodies = (parted(item)[0] for item in items)
    return any(isinstance(body, Relation) and isinstance(body.operands[0], Text) for body in bodies)


def _is_unsolved(left: Node) -> bool:
    """Returns whether a left side is an expression in one bare variable, such as `2x`, so that the equation still has
    to be solved: `x`, `x^2`, `sin x` and `x + y` are quantities that can be an answer.
    """
    if is_name(left) or isinstance(left, Power) or len(free_symbols(left)) != 1:
        return False
    pending: list[Node] = [left]
    while pending:
        node = pending.pop()
        if isinstance(node, Symbol):
            return True
        if not isinstance(node, Call):
            pending.extend(children(node))
    return False


def _is_ratio(left: Node) -> bool:
    """Returns whether a left side names a ratio: `S_1 : S`, `AB : BC : CA`. A quotient of variables is an equation."""
    match left:
        case Ratio(parts=parts):
            return all(is_name(part) for part in parts)
        case Quotient(top=top, bottom=bottom):
            return all(is_name(part) and _is_quantity(part) for part in (top, bottom))
        case _:
            return False


def _is_quantity(node: Node) -> bool:
    """Returns whether a name is a quantity's, not a variable's: with a capital letter or a subscript."""
    return any(isinstance(part, Symbol) and ("_" in part.name or part.name[0].isupper()) for part in walk(node))


def _is_logarithm(node: Node) -> bool:
    """Returns whether a side is a logarithm, so that the task asked for the equation itself: `log_6 216 = 3`."""
    return any(isinstance(part, Call) and part.name == "ln" for part in (node, *children(node)))


def _variables(node: Node) -> frozenset[str]:
    """The free variables of an answer, without labels before its values."""
    node = parted(node)[0]
    if isinstance(node, Listing | Braces):
        return frozenset().union(*map(_variables, node.items)) if node.items else frozenset()
    return free_symbols(_value(node))


def _speaks_of(value: Node, label: Node) -> bool:
    """Returns whether a value contains the variable that it defines."""
    return isinstance(label, Symbol) and label.name in free_symbols(value)


def _is_solved(relation: Relation) -> bool:
    """Returns whether an equation gives a variable a value without variables, on either side."""
    if len(relation.operands) != 2:
        return False
    return any(
        (isinstance(one, Symbol) or (isinstance(one, Call) and is_name(one))) and not free_symbols(two)
        for one, two in (relation.operands, relation.operands[::-1])
    )


def _value(item: Node) -> Node:
    """An item without its label."""
    if isinstance(item, Conditioned):
        return Conditioned(_value(item.body), item.conditions)
    if isinstance(item, Relation) and set(item.operators) == {"="} and is_name(item.operands[0]):
        return item.operands[-1]
    return item


def _labels(items: Sequence[Node]) -> dict[str, Node]:
    """Values by label, if all items have labels and all labels differ; else empty."""
    found: dict[str, Node] = {}
    for item in items:
        body = parted(item)[0]
        if not isinstance(body, Relation) or set(body.operators) != {"="} or not is_name(body.operands[0]):
            return {}
        found[repr(body.operands[0])] = _value(item)
    return found if len(found) == len(items) else {}


def _entries(node: Node) -> tuple[tuple[int, int], tuple[Node, ...]] | None:
    """Shape and entries of a matrix, or of a tuple as a row."""
    if isinstance(node, Relation) and set(node.operators) == {"="}:
        node = node.operands[-1]
    match node:
        case Matrix(rows=rows):
            return (len(rows), len(rows[0])), tuple(entry for row in rows for entry in row)
        case Group(items=items):
            if all(isinstance(item, Group) for item in items):
                rows = tuple(item.items for item in items if isinstance(item, Group))
                if len({len(row) for row in rows}) == 1:
                    return (len(rows), len(rows[0])), tuple(entry for row in rows for entry in row)
            return (1, len(items)), items
        case _:
            return None


def _matching_names(ours: Call, theirs: Call) -> dict[str, str] | None:
    """Returns the renaming of the candidate's arguments to the reference's; None if they are not plain variables."""
    if len(ours.arguments) != len(theirs.arguments):
        return None
    names: dict[str, str] = {}
    for one, two in zip(ours.arguments, theirs.arguments, strict=True):
        if isinstance(one, Symbol) and isinstance(two, Symbol):
            names[two.name] = one.name
        elif one != two:
            return None
    return names


def _differences(relation: Relation) -> list[tuple[str, Node]] | None:
    """Each step of a chain, as an operator and a difference to compare with zero."""
    found: list[tuple[str, Node]] = []
    for left, operator, right in zip(relation.operands, relation.operators, relation.operands[1:], strict=False):
        if operator in _INEQUALITIES:
            turned, swap = _INEQUALITIES[operator]
            found.append((turned, Sum((right, Negation(left)) if swap else (left, Negation(right)))))
        elif operator in ("=", "!="):
            found.append((operator, Sum((left, Negation(right)))))
        else:
            return None
    return found
