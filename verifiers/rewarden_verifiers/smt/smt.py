"""The verifier `smt`: checks answers about SMT-LIB scripts, and scripts themselves, with Z3."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import Watch, verifier
from rewarden_verifiers.execution.candidate import Missing, find
from rewarden_verifiers.outcome import loosely, no_answer, right, undecided, wrong
from rewarden_verifiers.smt.expressions import Expression, TooLarge, Unreadable, read, text_of
from rewarden_verifiers.smt.model import NoModel, read_model, substituted
from rewarden_verifiers.smt.params import SmtParams
from rewarden_verifiers.smt.reference import MEANT, Problem, prepare
from rewarden_verifiers.smt.script import RESERVED, Refused, read_script
from rewarden_verifiers.smt.solver import Solved, solve

LABELS = frozenset({"smt2", "smt", "smt-lib", "smtlib", "smtlib2", "smt-lib2", "lisp", "scheme", "text", "z3"})
"""Fence labels for SMT-LIB."""

SAID = f"{RESERVED}response"
"""The name of the response's conjunction in a check."""

_SHOWN = 2_000
_STATUS = re.compile(r"((?:\bnot|n't)\s+)?\b(un)?sat(?:isfiable)?\b", re.IGNORECASE)


@verifier(version="1", requires=("smt",), libraries=("z3-solver",), blocking=True, prepare=prepare)
def smt(response: str, prepared: Problem, params: SmtParams, watch: Watch, finish_reason: str | None = None) -> Outcome:
    """The response solves an SMT-LIB script, or is a script equivalent to the reference's.

    | task | reference | the response |
    |---|---|---|
    | `solve` | `script`, `status` | `sat` or `unsat`; for `sat` also a model, as solvers print it |
    | `formalise` | `script`, `tests` | a script with the same constants |

    - `solve`: Z3 finds or confirms the reference's status. A model is checked without a search: its values replace the
      constants, and every assertion is evaluated. Values must be literals, and every constant must have one.
    - `formalise`: the response's assertions must be equivalent to the reference's: each set together with the negation
      of the other is unsatisfiable. The response may repeat the declarations of the reference's constants and define
      functions, but not declare other constants. If the reference has `tests`, each with a `term` and a `status`, the
      response's assertions together with each term must have that status instead.

    Only declarations, definitions and assertions reach the solver. They are serialised again, and the solver runs in a
    separate process with limits. `push`, `pop`, `reset`, assertions after `(check-sat)`, recursive definitions,
    objectives and output channels are refused as `forbidden_command`. If Z3 cannot decide a response's check but
    decides the reference's own checks within the same limits, the score is 0 and the reason `undecided_formula`;
    otherwise the verdict is undecided, with fault `reference`. A bare `sat` can be guessed; `model: required` rewards
    it only with a model.

    Other reasons with score 0: `wrong_status`, `wrong_model`, `incomplete_model`, `malformed_model`, `model_missing`,
    `hedged`, `malformed`, `redeclared`, `signature_changed`, `unknown_symbol`, `smt_error`, `not_equivalent`,
    `test_failed`, `time_limit`, `memory_limit`, `crashed`, `too_expensive`, `no_answer`.
    """
    found = find(response, params.rules, LABELS, params.unclosed)
    if isinstance(found, Missing):
        return no_answer(found.reason, flags=found.flags)
    judgement = _Judgement(prepared, params, watch, found.code.strip(), {"rule": found.rule})
    if prepared.task == "formalise":
        return judgement.formalised()
    if found.rule == "whole" and finish_reason in ("length", "abort"):
        # Attack: stopping, or getting cut off, after a line that reads like an answer.
        return no_answer(evidence=judgement.evidence)
    outcome = judgement.solved()
    return loosely(outcome) if judgement.loose else outcome


@dataclass
class _Judgement:
    """The judgement of one response. text: the extracted answer."""

    problem: Problem
    params: SmtParams
    watch: Watch
    text: str
    evidence: dict[str, Any] = field(default_factory=dict)
    loose: bool = False

    # --- solve ---------------------------------------------------------------------------------------------------

    def solved(self) -> Outcome:
        """The outcome for an answer about the reference's script."""
        problem = self.problem
        try:
            statuses, model = self._answer()
        except TooLarge as error:
            return self._zero("too_expensive", str(error), flags=("too_expensive",))
        if model and not statuses:
            statuses = {"sat"}
        if not statuses:
            return no_answer(extracted=self.text[:_SHOWN], evidence=self.evidence)
        if len(statuses) > 1:
            return self._zero("hedged", "it says both sat and unsat", flags=("hedged",))
        (status,) = statuses
        self.evidence |= {"status": status, "confirmed": problem.found.decided}
        if status == "unsat":
            if model:
                return self._zero("hedged", "it says unsat, but gives a model", flags=("hedged",))
            return self._right() if problem.status == "unsat" else self._zero("wrong_status", None)
        if self.params.model == "ignored" or (not model and self.params.model == "optional") or problem.script.sorts:
            return self._right() if problem.status == "sat" else self._zero("wrong_status", None)
        if not model:
            return self._zero("model_missing", "give a model: the values of the constants")
        return self._modelled(model)

    def _answer(self) -> tuple[set[str], list[Expression]]:
        """The statuses that the text states, and its model."""
        try:
            given = read(self.text)
        except TooLarge:
            raise
        except Unreadable:
            given = ["?"]
        atoms = {one.lower() for one in given if isinstance(one, str)}
        if atoms <= {"sat", "unsat", "unknown"}:
            return atoms - {"unknown"}, [one for one in given if not isinstance(one, str)]
        text = self.text
        if self.evidence["rule"] == "whole":
            # Attack: both words somewhere in a long text.
            text = text.rstrip().rpartition("\n")[2]
            self.loose = True
        return {"unsat" if bool(match[1]) != bool(match[2]) else "sat" for match in _STATUS.finditer(text)}, []

    def _modelled(self, model: Sequence[Expression]) -> Outcome:
        problem = self.problem
        try:
            text = substituted(problem.script, read_model(model, problem.script))
        except NoModel as error:
            return self._zero(error.reason, str(error), flags=("hedged",) if error.reason == "hedged" else ())
        checked = solve(text, self.params.bounds, self.watch)
        if checked.answer == "sat":
            if problem.status == "unsat":
                raise InvalidReference(
                    "reference.status: it says unsat, but a response has a model", path="reference.status"
                )
            return self._right()
        if checked.answer == "unsat":
            return self._zero("wrong_model", "an assertion is false under these values")
        if problem.status == "unsat":
            return self._zero("wrong_status", None)
        return self._unsure(checked, decided=self._own_model_checks())

    def _own_model_checks(self) -> bool:
        """Returns whether Z3 can verify its own model of the reference in the same way."""
        problem, bounds = self.problem, self.params.bounds
        with self.watch.preparing():
            own = solve(problem.script.text + problem.script.asserted, bounds, self.watch, model=True)
            if own.answer != "sat":
                return False
            try:
                text = substituted(problem.script, read_model(read(own.output), problem.script))
            except (Unreadable, NoModel):
                return False
            return solve(text, bounds, self.watch).decided

    # --- formalise -----------------------------------------------------------------------------------------------

    def formalised(self) -> Outcome:
        """The outcome for a script."""
        problem = self.problem
        try:
            own = read_script(self.text, given=problem.script)
        except TooLarge as error:
            return self._zero("too_expensive", str(error), flags=("too_expensive",))
        except Unreadable as error:
            return self._zero("malformed", str(error))
        except Refused as error:
            return self._zero(error.reason, str(error))
        if not own.assertions:
            return no_answer("no_assertion", extracted=self.text[:_SHOWN], evidence=self.evidence)
        # The reference's terms are parsed before anything in the response can change the meaning of a name.
        names = [f"{RESERVED}test{place}" for place in range(len(problem.tests))]
        terms = [
            f"(define-fun {name} () Bool {text_of(term)})\n"
            for name, (term, _) in zip(names, problem.tests, strict=True)
        ]
        text = "".join(
            (problem.script.text, problem.script.conjunction(MEANT), *terms, own.text, own.conjunction(SAID))
        )
        if problem.tests:
            return self._tested(text, names)
        for direction, claim in (
            ("too_weak", f"(assert {SAID})\n(assert (not {MEANT}))\n"),
            ("too_strong", f"(assert {MEANT})\n(assert (not {SAID}))\n"),
        ):
            checked = solve(text + claim, self.params.bounds, self.watch)
            if checked.answer == "sat":
                self.evidence["difference"] = direction
                words = "allows what must not be" if direction == "too_weak" else "excludes what must be allowed"
                return self._zero("not_equivalent", f"it {words}")
            if checked.answer != "unsat":
                return self._unsure(checked, decided=problem.decided)
        return self._right()

    def _tested(self, text: str, names: Sequence[str]) -> Outcome:
        passed = 0
        for name, (_, status) in zip(names, self.problem.tests, strict=True):
            checked = solve(f"{text}(assert {SAID})\n(assert {name})\n", self.params.bounds, self.watch)
            if not checked.decided:
                return self._unsure(checked, decided=True)
            passed += checked.answer == status
        self.evidence["tests"] = {"passed": passed, "total": len(names)}
        return self._right() if passed == len(names) else self._zero("test_failed", None)

    # --- verdicts ------------------------------------------------------------------------------------------------

    def _unsure(self, checked: Solved, *, decided: bool) -> Outcome:
        """The outcome of an undecided check. decided: whether the reference's own check was decided."""
        if checked.answer == "error":
            return self._zero("smt_error", checked.output[:500])
        if not decided:
            return undecided(
                "undecided_reference", fault="reference", extracted=self.text[:_SHOWN], evidence=self.evidence
            )
        reason = "undecided_formula" if checked.answer == "unknown" else checked.answer
        return self._zero(reason, "z3 cannot decide it within the limits", flags=("too_expensive",))

    def _right(self) -> Outcome:
        return right(extracted=self.text[:_SHOWN], evidence=self.evidence)

    def _zero(self, reason: str, words: str | None, *, flags: Sequence[str] = ()) -> Outcome:
        return wrong(reason, feedback=words, extracted=self.text[:_SHOWN], evidence=self.evidence, flags=flags)
