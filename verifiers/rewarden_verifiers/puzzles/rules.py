"""`puzzle_rules`: the part of `puzzle` that runs in a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import VerifierSpec, spec_of, verifier
from rewarden_verifiers.outcome import right, scored, undecided, wrong
from rewarden_verifiers.puzzles import answers
from rewarden_verifiers.puzzles.countdown import Countdown
from rewarden_verifiers.puzzles.findings import Checker, Task
from rewarden_verifiers.puzzles.generators import Generated
from rewarden_verifiers.puzzles.integrals import NEEDS_SANDBOX
from rewarden_verifiers.puzzles.knights import KnightsKnaves
from rewarden_verifiers.puzzles.latin import Futoshiki, Sudoku
from rewarden_verifiers.puzzles.maze import Maze
from rewarden_verifiers.puzzles.params import RulesParams
from rewarden_verifiers.puzzles.queens import NQueens
from rewarden_verifiers.puzzles.schedule import Schedule
from rewarden_verifiers.puzzles.solutions import Assignment, Grid
from rewarden_verifiers.puzzles.zebra import Zebra
from rewarden_verifiers.schema import parse_reference

TASKS: Mapping[str, type[Any]] = {
    "countdown": Countdown,
    "24": Countdown,
    "sudoku": Sudoku,
    "futoshiki": Futoshiki,
    "knights_knaves": KnightsKnaves,
    "zebra": Zebra,
    "n_queens": NQueens,
    "maze": Maze,
    "grid": Grid,
    "assignment": Assignment,
    "schedule": Schedule,
    "reasoning_gym": Generated,
}
"""Maps each kind of puzzle to the type of its references."""


def task_of(reference: Mapping[str, Any], params: RulesParams) -> str:
    """Returns the kind of a reference's puzzle: its own `task`, or the parameters', or, if it has a `dataset`, the
    library's.

    Raises InvalidReference.
    """
    task = reference.get("task", params.task) or ("reasoning_gym" if "dataset" in reference else None)
    if not isinstance(task, str) or task not in TASKS:
        known = ", ".join(TASKS)
        raise InvalidReference(f"reference.task must be one of {known}, not {task!r}", path="reference.task")
    return task


def prepare(reference: dict[str, Any], params: RulesParams) -> Checker:
    """The puzzle of a reference. Raises InvalidReference."""
    task = task_of(reference, params)
    spec = replace(cast(VerifierSpec, spec_of(puzzle_rules)), name="puzzle", reference_type=TASKS[task])
    made: Task = parse_reference(spec, {**reference, "task": task})
    try:
        return made.checker()
    except ValueError as error:
        raise InvalidReference(f"reference: {error}", path="reference") from None


@verifier(version="2", graded=True, prepare=prepare, libraries=("reasoning-gym", "sympy"), requires=("puzzles",))
def puzzle_rules(response: str, prepared: Checker, params: RulesParams) -> Outcome:
    """Applies the rules of a puzzle or a generator's own scorer, for `puzzle`. Use `puzzle` instead.

    Scores are between 0 and 1, regardless of the `outcomes` of `puzzle`. The outcome is undecided for the two data sets
    whose scorers run in the sandbox (`simple_integration`, `intermediate_integration`); only `puzzle` can use it.
    """
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    finding = prepared.check(found.text)
    evidence = {"rule": found.rule, **finding.evidence}
    extracted = found.text[: answers.EXCERPT]
    if finding.reason is None:
        return right(extracted=extracted, evidence=evidence)
    if finding.reason == NEEDS_SANDBOX:
        return undecided(NEEDS_SANDBOX, extracted=extracted, evidence=evidence)
    if finding.share and params.credit == "partial":
        share = min(finding.share, 0.999)
        evidence["kind"] = finding.reason
        return scored(
            share, passed=False, reason="partly_right", extracted=extracted, evidence=evidence, feedback=finding.why
        )
    return wrong(finding.reason, extracted=extracted, evidence=evidence, feedback=finding.why)
