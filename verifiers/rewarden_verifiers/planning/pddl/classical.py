"""`pddl`: a classical plan, validated by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.planning.findings import Credit, Finding, Unread
from rewarden_verifiers.planning.pddl.problem import Problem, problem
from rewarden_verifiers.planning.pddl.simulation import Run, Step, TooMuchWork, run, unmet_goals
from rewarden_verifiers.planning.pddl.steps import Steps

_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Classical:
    """domain, problem: PDDL. plan: a plan that solves it. optimal_cost: the least cost of any plan; without it, that of
    `plan` stands for it. max_cost, max_steps: limits for a plan.
    """

    domain: str
    problem: str
    plan: str | None = None
    optimal_cost: float | None = None
    max_cost: float | None = None
    max_steps: int | None = None
    kind: Literal["pddl"] = "pddl"

    def checker(self, credit: Credit, optimal: bool) -> ClassicalChecker:
        """The planning problem. Raises ValueError."""
        if credit == "constraints":
            raise ValueError("credit 'constraints' is for trips, meetings and calendars; use 'goals'")
        made = problem(self.domain, self.problem)
        if not unmet_goals(made, made.start):
            # Attack: any harmless plan is paid.
            raise ValueError("the goal holds from the start, so any plan solves the problem")
        reader = Steps(made.actions.keys(), made.world.objects.keys())
        best, steps = self.optimal_cost, None
        if self.plan is not None:
            steps, cost = _solved(made, reader, self.plan)
            best = cost if best is None else best
            if cost < best:
                raise ValueError(f"the plan costs {cost:g}, less than optimal_cost {best:g}")
        if (optimal or credit == "cost") and best is None:
            raise ValueError("give optimal_cost, or an optimal plan: the parameters ask for the least cost")
        if credit == "prefix" and steps is None:
            raise ValueError("give a plan: credit 'prefix' compares with its length")
        most = min((limit for limit in (self.max_cost, best if optimal else None) if limit is not None), default=None)
        return ClassicalChecker(made, reader, credit, steps, best, most, self.max_steps)


def _solved(made: Problem, reader: Steps, text: str) -> tuple[int, float]:
    """The length and the cost of the reference's own plan. Raises ValueError unless it solves the problem."""
    try:
        plan = reader.read(text, True)
        done = run(made, plan)
    except Unread as error:
        raise ValueError(f"plan: {error}") from None
    except TooMuchWork:
        raise ValueError("plan: its simulation exceeds the limit") from None
    if done.why is not None:
        raise ValueError(f"plan: step {done.executed + 1}: {done.why}")
    if unmet := unmet_goals(made, done.state):
        raise ValueError(f"plan: it does not reach {unmet[0]}")
    return len(plan), done.cost


@dataclass(frozen=True, slots=True)
class ClassicalChecker:
    """A planning problem. length: steps of the known plan. best: the least cost. most: the highest cost allowed."""

    problem: Problem
    reader: Steps
    credit: Credit
    length: int | None
    best: float | None
    most: float | None
    max_steps: int | None

    def check(self, text: str, marked: bool) -> Finding:
        """See `Checker`."""
        try:
            plan = self.reader.read(text, marked)
            if not plan:
                return Finding(reason="no_answer")
            done = run(self.problem, plan)
        except Unread as error:
            return error.finding()
        except TooMuchWork:
            return Finding(reason="too_expensive")
        unmet = unmet_goals(self.problem, done.state)
        total = len(self.problem.goals)
        evidence = {
            "steps": len(plan),
            "executed": done.executed,
            "cost": done.cost,
            "goals": {"met": total - len(unmet), "total": total},
        }
        extracted = [f"({' '.join(step)})" for step in plan[:_SHOWN]]
        if done.why is not None:
            step = plan[done.executed]
            why = f"step {done.executed + 1} {ascii(' '.join(step))[:120]} cannot be executed: {done.why}"
            return Finding(
                reason="illegal",
                share=self._share(plan, done, unmet),
                why=why,
                extracted=extracted,
                evidence=evidence | {"failed_step": done.executed + 1},
            )
        if unmet:
            return Finding(
                reason="wrong",
                share=self._share(plan, done, unmet),
                why=f"the plan does not reach {', '.join(unmet[:5])}",
                extracted=extracted,
                evidence=evidence | {"unmet": unmet[:_SHOWN]},
            )
        if self.best is not None:
            evidence["optimal_cost"] = self.best
        share = 1.0 if not done.cost or self.best is None else min(1.0, self.best / done.cost)
        if self.max_steps is not None and len(plan) > self.max_steps:
            why = f"the plan has {len(plan)} steps, and may have {self.max_steps}"
            return Finding(reason="too_costly", why=why, extracted=extracted, evidence=evidence)
        if self.most is not None and done.cost > self.most + 1e-9:
            why = f"the plan costs {done.cost:g}, and may cost {self.most:g}"
            share = share if self.credit == "cost" else 0.0
            return Finding(reason="too_costly", share=share, why=why, extracted=extracted, evidence=evidence)
        return Finding(share=share if self.credit == "cost" else 1.0, extracted=extracted, evidence=evidence)

    def _share(self, plan: Sequence[Step], done: Run, unmet: Sequence[str]) -> float:
        """The share that an unsuccessful plan earns."""
        if self.credit == "goals":
            # Goals that hold from the start earn nothing, or a harmless step would be paid.
            before = len(unmet_goals(self.problem, self.problem.start))
            return max(0.0, (before - len(unmet)) / before)
        if self.credit == "prefix" and self.length is not None:
            return min(done.executed, self.length) / max(len(plan), self.length)
        return 0.0
