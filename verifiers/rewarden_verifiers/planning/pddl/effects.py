"""Effects of actions: facts that are added and deleted, under conditions, and the cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import product

from rewarden_verifiers.planning.pddl.conditions import All, Binding, Condition, Fact, World, condition, grounded
from rewarden_verifiers.planning.pddl.conditions import quantified as quantified_variables
from rewarden_verifiers.planning.pddl.expressions import Expression, head, names, written

TOTAL_COST: Fact = ("total-cost",)


@dataclass(frozen=True, slots=True)
class Effect:
    """Facts that are added and deleted for every choice of objects under which the condition holds."""

    variables: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    condition: Condition
    adds: tuple[Fact, ...]
    deletes: tuple[Fact, ...]

    @property
    def work(self) -> int:
        """The most atoms that are looked up or changed."""
        choices = math.prod(map(len, self.domains))
        return choices * (self.condition.work + len(self.adds) + len(self.deletes))

    def changes(self, state: Set[Fact], binding: Binding) -> Iterator[tuple[list[Fact], list[Fact]]]:
        """The facts added and deleted in a state."""
        inner = dict(binding)
        for objects in product(*self.domains):
            inner.update(zip(self.variables, objects, strict=True))
            if self.condition.holds(state, inner):
                yield [grounded(atom, inner) for atom in self.adds], [grounded(atom, inner) for atom in self.deletes]


@dataclass(frozen=True, slots=True)
class Effects:
    """All effects of an action. costs: amounts, and functions whose values the problem states, of which each adds to
    the total cost."""

    parts: tuple[Effect, ...]
    costs: tuple[float | Fact, ...]

    @property
    def work(self) -> int:
        """The most atoms that are looked up or changed."""
        return sum(part.work for part in self.parts)

    def apply(self, state: set[Fact], binding: Binding) -> None:
        """Changes the state. All conditions are evaluated in the old one; a fact both deleted and added remains."""
        added: list[Fact] = []
        deleted: list[Fact] = []
        for part in self.parts:
            for adds, deletes in part.changes(state, binding):
                added += adds
                deleted += deletes
        state.difference_update(deleted)
        state.update(added)

    def cost(self, values: Mapping[Fact, float], binding: Binding) -> float:
        """The cost of the action. Raises KeyError for a function without a value."""
        return sum(one if isinstance(one, float) else values[grounded(one, binding)] for one in self.costs)


def effects(expression: Expression, world: World, variables: Set[str], functions: Mapping[str, int]) -> Effects:
    """The effects that an expression states. Raises ValueError."""
    parts: list[Effect] = []
    costs: list[float | Fact] = []
    _collect(expression, world, variables, functions, ((), (), All((), 0)), parts, costs)
    return Effects(tuple(parts), tuple(costs))


def _collect(
    expression: Expression,
    world: World,
    variables: Set[str],
    functions: Mapping[str, int],
    under: tuple[tuple[str, ...], tuple[tuple[str, ...], ...], Condition],
    parts: list[Effect],
    costs: list[float | Fact],
) -> None:
    if not isinstance(expression, list):
        raise ValueError(f"{expression} is not an effect")
    if not expression:
        return
    word, rest = head(expression), expression[1:]
    bound, domains, when = under
    if word == "and":
        for part in rest:
            _collect(part, world, variables, functions, under, parts, costs)
    elif word == "forall" and len(rest) == 2:
        more, over = quantified_variables(rest[0], world)
        inner = (bound + more, domains + over, when)
        _collect(rest[1], world, variables | set(more), functions, inner, parts, costs)
    elif word == "when" and len(rest) == 2:
        met = condition(rest[0], world, variables)
        both = All((when, met), when.work + met.work)
        _collect(rest[1], world, variables, functions, (bound, domains, both), parts, costs)
    elif word == "increase" and len(rest) == 2 and rest[0] == list(TOTAL_COST):
        if bound or when.work:
            raise ValueError(f"{written(expression)}: costs under a condition are not supported")
        costs.append(_amount(rest[1], world, variables, functions))
    elif word in ("increase", "decrease", "assign", "scale-up", "scale-down"):
        raise ValueError(f"{written(expression)}: of numeric effects, only (increase (total-cost) …) is supported")
    elif word == "not" and len(rest) == 1 and isinstance(rest[0], list):
        parts.append(Effect(bound, domains, when, (), (world.atom(rest[0], variables),)))
    else:
        parts.append(Effect(bound, domains, when, (world.atom(expression, variables),), ()))


def _amount(expression: Expression, world: World, variables: Set[str], functions: Mapping[str, int]) -> float | Fact:
    if isinstance(expression, str):
        return amount(expression)
    function = tuple(names(expression))
    if not function or functions.get(function[0]) != len(function) - 1:
        raise ValueError(f"{written(expression)}: the domain has no such function")
    world.terms(function[1:], variables)
    return function


def amount(text: str) -> float:
    """A cost: a finite number that is not negative. Raises ValueError."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text} is not a cost") from None
    if not 0 <= value <= 1e12:
        raise ValueError(f"{text} is not a cost from 0 to 1e12")
    return value
