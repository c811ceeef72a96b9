"""A domain and a problem in PDDL, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from rewarden_verifiers.planning.pddl.conditions import All, Condition, Fact, World, condition
from rewarden_verifiers.planning.pddl.effects import TOTAL_COST, Effects, amount, effects
from rewarden_verifiers.planning.pddl.expressions import Expression, head, lists, names, parse, written
from rewarden_verifiers.planning.pddl.types import OBJECT, Types, typed

MAX_OBJECTS = 20_000
MAX_WORK = 100_000
"""Atoms that one action or the goal may look up or change; quantifiers over many objects exceed it."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action with its parameters and their types."""

    name: str
    parameters: tuple[tuple[str, frozenset[str]], ...]
    condition: Condition
    effects: Effects

    @property
    def work(self) -> int:
        """The most atoms that one step looks up or changes."""
        return 1 + self.condition.work + self.effects.work


@dataclass(frozen=True, slots=True)
class Problem:
    """The first state, the goals, and the actions between. costs: values of functions; None if each step costs 1."""

    world: World
    actions: Mapping[str, Action]
    start: frozenset[Fact]
    goals: tuple[Condition, ...]
    costs: Mapping[Fact, float] | None

    @property
    def goal_work(self) -> int:
        """The most atoms that are looked up to evaluate the goal."""
        return sum(goal.work for goal in self.goals)


_DOMAIN = (":requirements", ":types", ":constants", ":predicates", ":functions", ":action")
_PROBLEM = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")


def problem(domain_text: str, problem_text: str) -> Problem:
    """The planning problem. Raises ValueError for PDDL that is malformed or beyond what is supported."""
    domain = _sections(parse(domain_text), "domain", _DOMAIN)
    stated = _sections(parse(problem_text), "problem", _PROBLEM)
    types = Types.of(typed(_one(domain, ":types")))
    predicates = _signatures(lists(_one(domain, ":predicates")), types)
    objects: dict[str, frozenset[str]] = {}
    for section in (_one(domain, ":constants"), _one(stated, ":objects")):
        for name, kinds in typed(section):
            types.check(kinds)
            if objects.setdefault(name, kinds) != kinds:
                raise ValueError(f"the object {name} is declared twice, with different types")
    if len(objects) > MAX_OBJECTS:
        raise ValueError(f"more than {MAX_OBJECTS} objects")
    world = World(types, predicates, objects)
    functions = _functions(_one(domain, ":functions"), types)
    actions = {one.name: one for one in (_action(section, world, functions) for section in domain.get(":action", []))}
    if not actions:
        raise ValueError("the domain has no actions")
    if len(actions) < len(domain[":action"]):
        raise ValueError("two actions of the domain have the same name")
    start, values = _start(_one(stated, ":init"), world, functions)
    wanted = _one(stated, ":goal")
    goal = condition(wanted[0], world, set()) if len(wanted) == 1 else _refuse("the problem needs one :goal")
    made = Problem(world, actions, start, _flat(goal), values if ":metric" in stated else None)
    if ":metric" in stated and _one(stated, ":metric") != ["minimize", list(TOTAL_COST)]:
        raise ValueError("of metrics, only (:metric minimize (total-cost)) is supported")
    for action in actions.values():
        if action.work > MAX_WORK:
            raise ValueError(f"the action {action.name} ranges over too many objects")
    if made.goal_work > MAX_WORK:
        raise ValueError("the goal ranges over too many objects")
    return made


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _sections(expression: Expression, kind: str, known: tuple[str, ...]) -> dict[str, list[list[Expression]]]:
    """The sections of a definition by their keywords."""
    if not isinstance(expression, list) or head(expression) != "define" or len(expression) < 2:
        raise ValueError(f"the {kind} must be (define ({kind} …) …)")
    if not isinstance(expression[1], list) or head(expression[1]) != kind:
        raise ValueError(f"(define {written(expression[1])} …) does not define a {kind}")
    found: dict[str, list[list[Expression]]] = {}
    for section in lists(expression[2:]):
        word = head(section)
        if word not in known:
            raise ValueError(f"{word or written(section)} is not supported in a {kind}")
        found.setdefault(word, []).append(section[1:])
    return found


def _one(sections: Mapping[str, list[list[Expression]]], word: str) -> list[Expression]:
    """The content of a section that may occur once."""
    found = sections.get(word, [[]])
    if len(found) > 1:
        raise ValueError(f"{word} occurs twice")
    return found[0]


def _signatures(declared: list[list[Expression]], types: Types) -> dict[str, tuple[frozenset[str], ...]]:
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for one in declared:
        name = head(one)
        if not name or name in found:
            raise ValueError(f"{written(one)} does not declare a new name")
        kinds = [kind for _, kind in typed(one[1:])]
        for kind in kinds:
            types.check(kind)
        found[name] = tuple(kinds)
    return found


def _functions(declared: list[Expression], types: Types) -> dict[str, int]:
    """The functions with their numbers of arguments; `- number` after them says nothing more."""
    plain = [one for one in declared if one not in ("-", "number")]
    return {name: len(kinds) for name, kinds in _signatures(lists(plain), types).items()}


def _action(section: list[Expression], world: World, functions: Mapping[str, int]) -> Action:
    name = head(section)
    if not name or len(section) % 2 == 0:
        raise ValueError(f"{written(section)} is not an action")
    keys, parts = names(section[1::2]), section[2::2]
    given = dict(zip(keys, parts, strict=True))
    if len(given) < len(keys) or given.keys() - {":parameters", ":precondition", ":effect"}:
        raise ValueError(f"action {name}: only :parameters, :precondition and :effect are supported, each once")
    stated = given.get(":parameters", [])
    if not isinstance(stated, list):
        raise ValueError(f"action {name}: :parameters must be a list")
    parameters = typed(stated)
    variables = {variable for variable, _ in parameters}
    if len(variables) < len(parameters) or not all(variable.startswith("?") for variable in variables):
        raise ValueError(f"action {name}: parameters must be different names that begin with '?'")
    for _, kinds in parameters:
        world.types.check(kinds)
    try:
        met = condition(given.get(":precondition", []), world, variables)
        return Action(name, tuple(parameters), met, effects(given.get(":effect", []), world, variables, functions))
    except ValueError as error:
        raise ValueError(f"action {name}: {error}") from None


def _start(
    section: list[Expression], world: World, functions: Mapping[str, int]
) -> tuple[frozenset[Fact], dict[Fact, float]]:
    """The facts of the first state, and the values of functions."""
    facts: set[Fact] = set()
    values: dict[Fact, float] = {}
    for one in lists(section):
        if head(one) == "=" and len(one) == 3 and isinstance(one[1], list):
            function = tuple(names(one[1]))
            if not function or functions.get(function[0]) != len(function) - 1 or not isinstance(one[2], str):
                raise ValueError(f"{written(one)} does not give a function its value")
            values[function] = amount(one[2])
        elif head(one) != "not":  # what is not stated is false in any case
            facts.add(world.atom(one, set()))
    return frozenset(facts), values


def _flat(goal: Condition) -> tuple[Condition, ...]:
    """The conjuncts of a goal."""
    if isinstance(goal, All):
        return tuple(part for inner in goal.parts for part in _flat(inner))
    return (goal,)


def declared_types(action: Action) -> list[str]:
    """The types of an action's parameters, in words."""
    return ["any object" if kinds == {OBJECT} else " or ".join(sorted(kinds)) for _, kinds in action.parameters]
