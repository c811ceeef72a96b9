"""Simulation: executes a plan step by step, as far as it can be executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewarden_verifiers.planning.findings import shown
from rewarden_verifiers.planning.pddl.conditions import Fact
from rewarden_verifiers.planning.pddl.problem import Action, Problem, declared_types

MAX_WORK = 500_000
"""Atoms that the steps of a plan may look up or change together."""

Step = tuple[str, ...]
"""An action's name and its arguments."""


class TooMuchWork(Exception):
    """The plan has more steps than can be simulated within the bounds."""


@dataclass(frozen=True, slots=True)
class Run:
    """A simulated plan. executed: its steps before the first that cannot be executed. why: the reason for that."""

    state: frozenset[Fact]
    executed: int
    cost: float
    why: str | None


def run(problem: Problem, plan: Sequence[Step]) -> Run:
    """Executes the steps until one cannot be. Raises TooMuchWork."""
    state, cost, work = set(problem.start), 0.0, 0
    for index, step in enumerate(plan):
        action = problem.actions.get(step[0])
        binding, why = _binding(problem, action, step)
        if action is None or why is not None:
            return Run(frozenset(state), index, cost, why)
        work += action.work
        if work > MAX_WORK:
            raise TooMuchWork
        if not action.condition.holds(state, binding):
            unmet = next(action.condition.unmet(state, binding))
            return Run(frozenset(state), index, cost, f"its precondition {unmet} does not hold")
        if problem.costs is None:
            cost += 1.0
        else:
            try:
                cost += action.effects.cost(problem.costs, binding)
            except KeyError as missing:
                return Run(frozenset(state), index, cost, f"the problem gives {_written(missing.args[0])} no value")
        action.effects.apply(state, binding)
    return Run(frozenset(state), len(plan), cost, None)


def _binding(problem: Problem, action: Action | None, step: Step) -> tuple[Mapping[str, str], str | None]:
    """The objects of the parameters, or what is wrong with the step's names."""
    arguments = step[1:]
    if action is None:
        return {}, f"there is no action {shown(step[0])}"
    if len(arguments) != len(action.parameters):
        return {}, f"{action.name} takes {len(action.parameters)} arguments, not {len(arguments)}"
    for (_, kinds), name, words in zip(action.parameters, arguments, declared_types(action), strict=True):
        own = problem.world.objects.get(name)
        if own is None:
            return {}, f"there is no object {shown(name)}"
        if not problem.world.types.fits(own, kinds):
            return {}, f"{name} is not of the type {words}"
    return {name: value for (name, _), value in zip(action.parameters, arguments, strict=True)}, None


def unmet_goals(problem: Problem, state: frozenset[Fact]) -> list[str]:
    """The conjuncts of the goal that do not hold, one text each."""
    return [", ".join(goal.unmet(state, {})) for goal in problem.goals if not goal.holds(state, {})]


def _written(step: Step) -> str:
    return f"({' '.join(step)})"
