"""The reference of `smt`, checked once for all its responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden_verifiers.contract import Watch
from rewarden_verifiers.smt.expressions import Expression, Unreadable, read, text_of
from rewarden_verifiers.smt.params import SmtParams, Task
from rewarden_verifiers.smt.script import RESERVED, Hidden, Refused, Script, read_script
from rewarden_verifiers.smt.solver import Bounds, Solved, solve

Status = Literal["sat", "unsat"]

MEANT = f"{RESERVED}reference"
"""The name of the reference's conjunction in a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A hidden test of a formalisation.

    term: A term over the reference's constants; it is asserted together with the response's assertions.
    status: What the solver must answer.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    term: str
    status: Status


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtReference:
    """A script, and the task.

    script: SMT-LIB 2. Of the task `solve`, the problem; of `formalise`, a formula that is right. status: The status of
    the script (`solve`), if Z3 cannot find it out. task: `solve` or `formalise`; by default as the parameter says.
    tests: Hidden tests of a formalisation (`formalise`). With tests, these decide, and not equivalence.
    """

    # A misspelt key must not be silently ignored.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    script: str
    status: Status | None = None
    task: Task | None = None
    tests: tuple[Query, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A checked reference. found: Z3's result for the script. decided: whether Z3 decides the reference's own checks
    within the limits; if so, an undecided check is the response's fault. tests: parsed terms with their statuses.
    """

    task: Task
    script: Script
    stated: Status | None
    found: Solved
    decided: bool
    tests: tuple[tuple[Expression, Status], ...] = ()

    @property
    def status(self) -> str:
        """The status of the script."""
        return self.stated or self.found.answer


def prepare(reference: str | SmtReference, params: SmtParams, watch: Watch) -> Problem:
    """Checks a reference. Raises InvalidReference naming the field."""
    given = SmtReference(script=reference) if isinstance(reference, str) else reference
    task = given.task or params.task
    try:
        script = read_script(given.script, trusted=task == "solve")
    except (Unreadable, Refused) as error:
        raise _invalid("script", str(error)) from None
    if not script.assertions:
        raise _invalid("script", "it asserts nothing")
    bounds = params.bounds
    found = solve(script.text + script.asserted, bounds, watch)
    if found.answer == "error":
        raise _invalid("script", f"z3 rejects it: {found.output[:300]}")
    if task == "solve":
        return _problem(given, script, found, params)
    if given.status is not None:
        raise _invalid("status", "it belongs to the task `solve`")
    hidden = script.hidden()
    script = hidden.script
    if given.tests:
        return Problem("formalise", script, None, found, True, _tests(given, hidden, bounds, watch))
    if found.answer == "unsat":
        # Attack: any contradiction is equivalent to an unsatisfiable script.
        raise _invalid("script", "it is unsatisfiable, so `(assert false)` is equivalent to it; give tests")
    denied = solve(f"{script.text}{script.conjunction(MEANT)}(assert (not {MEANT}))\n", bounds, watch)
    if denied.answer == "unsat":
        raise _invalid("script", "it is valid, so `(assert true)` is equivalent to it")
    return Problem("formalise", script, None, found, found.decided and denied.decided)


def _problem(given: SmtReference, script: Script, found: Solved, params: SmtParams) -> Problem:
    if given.tests:
        raise _invalid("tests", "they belong to the task `formalise`")
    if found.decided and given.status is not None and given.status != found.answer:
        raise _invalid("status", f"it says {given.status}, but z3 finds {found.answer}")
    if not found.decided and given.status is None:
        raise _invalid("status", f"z3 cannot decide the script within the limits ({found.answer}); give its status")
    if params.model == "required" and script.sorts:
        raise _invalid("script", "it declares sorts without a definition, so no model can be checked")
    return Problem("solve", script, given.status, found, found.decided)


def _tests(given: SmtReference, hidden: Hidden, bounds: Bounds, watch: Watch) -> tuple[tuple[Expression, Status], ...]:
    """The parsed tests. The reference's own formula must pass each of them."""
    made: list[tuple[Expression, Status]] = []
    script = hidden.script
    for place, test in enumerate(given.tests):
        field = f"tests[{place}].term"
        try:
            terms = read(test.term)
        except Unreadable as error:
            raise _invalid(field, str(error)) from None
        if len(terms) != 1:
            raise _invalid(field, "it must be one term")
        term = hidden.term(terms[0])
        own = solve(f"{script.text}{script.asserted}(assert {text_of(term)})\n", bounds, watch)
        if own.answer == "error":
            raise _invalid(field, f"z3 rejects it: {own.output[:300]}")
        if own.answer != test.status:
            raise _invalid(f"tests[{place}].status", f"it says {test.status}; for the script, z3 says {own.answer}")
        made.append((term, test.status))
    if {status for _, status in made} != {"sat", "unsat"}:
        # Attack: `(assert false)` makes every test unsat, and an empty script makes every test sat.
        raise _invalid("tests", "at least one must be sat and one unsat, or a constant formula passes them all")
    return tuple(made)


def _invalid(field: str, message: str) -> InvalidReference:
    return InvalidReference(f"reference.{field}: {message}", path=f"reference.{field}")
