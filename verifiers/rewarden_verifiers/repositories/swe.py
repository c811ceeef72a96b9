"""The verifier `swe`: judges a patch to a repository by the repository's tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.outcome import no_answer, scored, too_expensive, undecided, wrong
from rewarden_verifiers.patches.patch import PatchError
from rewarden_verifiers.patches.reading import read_patch
from rewarden_verifiers.repositories.bench import Ran, bench, run_tests
from rewarden_verifiers.repositories.checking import Checks, RowCheck, checked
from rewarden_verifiers.repositories.reference import SweParams, SweReference
from rewarden_verifiers.repositories.reports import PASSED, XFAILED
from rewarden_verifiers.repositories.resources import SweResources
from rewarden_verifiers.repositories.row import Row, read_reference

_SHOWN = 20
_EXTRACTED = 4000


@verifier(version="1", graded=True, determinism="stateful", resources=SweResources)
async def swe(
    response: str, reference: SweReference, *, params: SweParams, resources: SweResources, ctx: Context
) -> Outcome:
    """The response's patch makes a repository's failing tests pass and breaks none that passed.

    The response contains the patch: a unified diff, search/replace blocks, or whole files. It is applied strictly in a
    fresh box with the repository. Then the row's tests are restored, whatever the patch did to them, and the row's test
    command runs without a network. Changes to tests, and to files that decide how tests are found and run, are dropped
    (flags `test_changes_dropped`, `configuration_changes_dropped`).

    Each row is checked before its first use: with its solution (`patch`) all tests must pass, and without it those of
    `fail_to_pass` must fail. If this check fails, the outcome is undecided, with the fault `reference`. The solution's
    run is the control: a failure that does not occur there is attributed to the candidate. See docs/repositories.md.

    Reasons with score 0: `no_patch` and the other reasons of `patch_similarity`, `tests_failed` (a share with `scoring:
    fraction`), `no_report`, `tests_changed`, `framework_changed`, `exit_code`, `time_limit`, `memory_limit`,
    `output_limit`.
    """
    row = read_reference(reference)
    try:
        patch = read_patch(response, params.forms)
    except PatchError as error:
        return _unusable(error)
    async with bench(ctx.boxes, row, resources.size, resources.repositories) as own:
        control = await checked(own, Checks(resources.shelf))
        if control.problem is not None:
            return undecided("row_refused", fault="reference", feedback=control.problem)
        try:
            ran = await run_tests(own, patch)
        except PatchError as error:
            return _unusable(error)
        if ran.results.python not in ("", control.python):
            control = await checked(own, Checks(resources.shelf), ran.results.python)
            if control.problem is not None:
                return undecided("row_refused", fault="reference", feedback=control.problem)
    return _Judged(row, params, control, ran, response).outcome()


def _unusable(error: PatchError) -> Outcome:
    details: dict[str, Any] = {"feedback": error.detail}
    if error.reason == "no_patch":
        return no_answer("no_patch", **details)
    if error.reason == "too_expensive":
        return too_expensive(**details)
    return wrong(error.reason, flags=("hedged",) if error.reason == "hedged" else (), **details)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The outcome of a run."""

    row: Row
    params: SweParams
    control: RowCheck
    ran: Ran
    response: str

    def outcome(self) -> Outcome:
        """Returns the outcome."""
        ran, control = self.ran, self.control
        passing, staying = self._passed(self.row.must_pass), self._passed(self.row.must_stay)
        details = self._details(passing, staying)
        if set(ran.rewritten) - set(control.rewritten):
            return wrong("tests_changed", **details)
        if self._tampered():
            return wrong("framework_changed", **details)
        if ran.end != "ended":
            return self._blamed(ran.end, details)
        if not ran.results.whole:
            return self._blamed("no_report", details)
        whole = len(passing) == len(self.row.must_pass) and len(staying) == len(self.row.must_stay)
        if whole and control.exits and ran.exits_otherwise:
            # Attack: print the lines of passed tests. The exit code carries the framework's own count of failures.
            return wrong("exit_code", **details)
        if whole:
            return scored(1.0, passed=True, **details)
        score = 0.0
        if self.params.scoring == "fraction":
            score = len(passing) / len(self.row.must_pass)
            score *= len(staying) / len(self.row.must_stay) if self.row.must_stay else 1.0
        return scored(score, passed=False, reason="tests_failed", fault="policy", **details)

    def _blamed(self, reason: str, details: dict[str, Any]) -> Outcome:
        """Returns a score of 0 if the control run showed that the candidate is to blame."""
        if self.control.whole:
            return wrong(reason, **details)
        return undecided(reason, fault="reference", **details)

    def _passed(self, ids: Sequence[str]) -> list[str]:
        excused = {*self.control.excused}
        told = self.ran.results.tests
        return [id for id in ids if told.get(id) == PASSED or (told.get(id) == XFAILED and id in excused)]

    def _tampered(self) -> list[str]:
        """Returns the changes to the framework or the tests' code that occurred in this run but not in the
        solution's.
        """
        found, control = self.ran.results, self.control
        made = sorted(set(found.alarms) - set(control.alarms))
        made += sorted(set(found.changed) - set(control.changed))
        made += sorted(set(found.states) - set(control.states))
        prints = control.prints
        made += sorted(id for id, mark in found.prints.items() if id in prints and prints[id] != mark)
        return made

    def _details(self, passing: Sequence[str], staying: Sequence[str]) -> dict[str, Any]:
        row, ran = self.row, self.ran
        flags = []
        if "test" in ran.dropped.values():
            flags.append("test_changes_dropped")
        if "configuration" in ran.dropped.values():
            flags.append("configuration_changes_dropped")
        if not self.control.solved:
            flags.append("unchecked")
        done = {*passing, *staying}
        missing = [id for id in row.ids if id not in done]
        failed = [f"{id}: {ran.results.tests.get(id, 'did not run')}" for id in missing]
        evidence: dict[str, Any] = {
            "fail_to_pass": f"{len(passing)} of {len(row.must_pass)}",
            "pass_to_pass": f"{len(staying)} of {len(row.must_stay)}",
            "exit_code": ran.exit_code,
        }
        if failed:
            evidence["failed"] = failed[:_SHOWN]
        if ran.dropped:
            evidence["dropped"] = list(ran.dropped)[:_SHOWN]
        if ran.rewritten:
            evidence["rewritten"] = list(ran.rewritten[:_SHOWN])
        if tampered := self._tampered():
            evidence["changed"] = tampered[:_SHOWN]
        components = {
            name: Component(status="scored", score=len(part) / len(ids))
            for name, part, ids in (
                ("fail_to_pass", passing, row.must_pass),
                ("pass_to_pass", staying, row.must_stay),
            )
            if ids
        }
        said = "\n".join([*failed[:_SHOWN], *ran.results.errors[:3], ran.output[-2000:]]).strip()
        return {
            "flags": tuple(flags),
            "feedback": said or None,
            "evidence": evidence,
            "components": components,
            "extracted": self.response[:_EXTRACTED],
        }
