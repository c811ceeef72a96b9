"""Conditions: preconditions, goals, and the `when` of effects. Each holds in a state or does not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from rewarden_verifiers.planning.pddl.expressions import Expression, head, names, written
from rewarden_verifiers.planning.pddl.types import Types, typed

Fact = tuple[str, ...]
Binding = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class World:
    """Names that conditions and effects are checked against.

    objects: each with its types. of_type: the objects by the types of a variable, as they are asked for.
    """

    types: Types
    predicates: Mapping[str, tuple[frozenset[str], ...]]
    objects: Mapping[str, frozenset[str]]

    def atom(self, expression: list[Expression], variables: Set[str]) -> Fact:
        """An atom over objects and variables. Raises ValueError."""
        atom = tuple(names(expression))
        if not atom or atom[0] not in self.predicates:
            raise ValueError(f"{written(expression)}: the domain has no such predicate")
        if len(atom) - 1 != len(self.predicates[atom[0]]):
            wanted = len(self.predicates[atom[0]])
            raise ValueError(f"{written(expression)}: {atom[0]} has {wanted} arguments")
        self.terms(atom[1:], variables)
        return atom

    def terms(self, terms: Sequence[str], variables: Set[str]) -> None:
        """Raises ValueError for a term that is neither an object nor one of the variables."""
        for term in terms:
            if term not in variables and term not in self.objects:
                raise ValueError(f"{term} is neither an object nor a parameter")

    def members(self, kinds: frozenset[str]) -> tuple[str, ...]:
        """The objects of these types. Raises ValueError for an unknown type."""
        self.types.check(kinds)
        return tuple(name for name, own in self.objects.items() if self.types.fits(own, kinds))


class Condition(Protocol):
    """A condition. work: the most atoms that are looked up to evaluate it."""

    @property
    def work(self) -> int:
        """See the class."""

    def holds(self, state: Set[Fact], binding: Binding) -> bool:
        """Returns whether it holds, the parameters bound to objects."""

    def unmet(self, state: Set[Fact], binding: Binding) -> Iterator[str]:
        """The parts of a conjunction that do not hold, as PDDL."""


def grounded(atom: Fact, binding: Binding) -> Fact:
    """The atom with objects for its parameters."""
    return tuple([binding.get(term, term) for term in atom])


@dataclass(frozen=True, slots=True)
class Atom:
    """A fact, or two terms that are the same object."""

    atom: Fact
    work: int = 1

    def holds(self, state: Set[Fact], binding: Binding) -> bool:
        """See `Condition`."""
        fact = grounded(self.atom, binding)
        return fact[1] == fact[2] if fact[0] == "=" else fact in state

    def unmet(self, state: Set[Fact], binding: Binding) -> Iterator[str]:
        """See `Condition`."""
        if not self.holds(state, binding):
            yield written(list(grounded(self.atom, binding)))


@dataclass(frozen=True, slots=True)
class Not:
    """The contrary."""

    part: Condition
    text: str
    work: int

    def holds(self, state: Set[Fact], binding: Binding) -> bool:
        """See `Condition`."""
        return not self.part.holds(state, binding)

    def unmet(self, state: Set[Fact], binding: Binding) -> Iterator[str]:
        """See `Condition`."""
        if self.part.holds(state, binding):
            yield (
                f"(not {written(list(grounded(self.part.atom, binding)))})"
                if isinstance(self.part, Atom)
                else self.text
            )


@dataclass(frozen=True, slots=True)
class All:
    """Every part."""

    parts: tuple[Condition, ...]
    work: int

    def holds(self, state: Set[Fact], binding: Binding) -> bool:
        """See `Condition`."""
        return all(part.holds(state, binding) for part in self.parts)

    def unmet(self, state: Set[Fact], binding: Binding) -> Iterator[str]:
        """See `Condition`."""
        for part in self.parts:
            yield from part.unmet(state, binding)


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part."""

    parts: tuple[Condition, ...]
    text: str
    work: int

    def holds(self, state: Set[Fact], binding: Binding) -> bool:
        """See `Condition`."""
        return any(part.holds(state, binding) for part in self.parts)

    def unmet(self, state: Set[Fact], binding: Binding) -> Iterator[str]:
        """See `Condition`."""
        if not self.holds(state, binding):
            yield self.text


@dataclass(frozen=True, slots=True)
class Each:
    """The part for every choice of objects (`forall`), or for some choice (`exists`)."""

    variables: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    part: Condition
    every: bool
    text: str
    work: int

    def holds(self, state: Set[Fact], binding: Binding) -> bool:
        """See `Condition`."""
        inner = dict(binding)
        for objects in product(*self.domains):
            inner.update(zip(self.variables, objects, strict=True))
            if self.part.holds(state, inner) is not self.every:
                return not self.every
        return self.every

    def unmet(self, state: Set[Fact], binding: Binding) -> Iterator[str]:
        """See `Condition`."""
        if not self.holds(state, binding):
            yield self.text


def condition(expression: Expression, world: World, variables: Set[str]) -> Condition:
    """The condition that an expression states; an empty list always holds. Raises ValueError."""
    if not isinstance(expression, list):
        raise ValueError(f"{expression} is not a condition")
    if not expression:
        return All((), 0)
    word, rest = head(expression), expression[1:]
    text = written(expression)
    if word in ("and", "or"):
        parts = tuple(condition(part, world, variables) for part in rest)
        work = sum(part.work for part in parts)
        return All(parts, work) if word == "and" else Some(parts, text, work)
    if word == "not" and len(rest) == 1:
        part = condition(rest[0], world, variables)
        return Not(part, text, part.work)
    if word == "imply" and len(rest) == 2:
        first, then = (condition(part, world, variables) for part in rest)
        return Some((Not(first, "", first.work), then), text, first.work + then.work)
    if word in ("forall", "exists") and len(rest) == 2:
        bound, domains = quantified(rest[0], world)
        part = condition(rest[1], world, variables | set(bound))
        return Each(bound, domains, part, word == "forall", text, max(1, part.work) * math.prod(map(len, domains)))
    if word == "=" and len(rest) == 2:
        if any(isinstance(one, list) for one in rest):
            raise ValueError(f"{text}: numeric conditions are not supported")
        world.terms(names(rest), variables)
        return Atom(("=", *names(rest)))
    if word in ("<", "<=", ">", ">=", "preference", "at", "over") and word not in world.predicates:
        raise ValueError(f"{text}: only conditions over facts are supported")
    return Atom(world.atom(expression, variables))


def quantified(expression: Expression, world: World) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The variables of a quantifier, and the objects that each ranges over. Raises ValueError."""
    if not isinstance(expression, list):
        raise ValueError("a quantifier needs a list of variables")
    bound = typed(expression)
    return tuple(name for name, _ in bound), tuple(world.members(kinds) for _, kinds in bound)
