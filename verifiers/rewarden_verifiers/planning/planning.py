"""`planning`: checks that a plan can be executed and meets its goals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import VerifierSpec, spec_of, verifier
from rewarden_verifiers.outcome import loosely, no_answer, right, scored, too_expensive, wrong
from rewarden_verifiers.planning.calendar import Calendar
from rewarden_verifiers.planning.findings import Checker, Finding
from rewarden_verifiers.planning.meetings import Meetings
from rewarden_verifiers.planning.params import PlanningParams
from rewarden_verifiers.planning.pddl.classical import Classical
from rewarden_verifiers.planning.trip import Trip
from rewarden_verifiers.planning.written import MAX_TEXT
from rewarden_verifiers.puzzles.answers import undressed
from rewarden_verifiers.schema import parse_reference

KINDS: Mapping[str, type[Any]] = {"pddl": Classical, "trip": Trip, "meetings": Meetings, "calendar": Calendar}
"""Each kind of problem to what its references hold."""


def prepare(reference: dict[str, Any], params: PlanningParams) -> Checker:
    """The planning problem of a reference. Raises InvalidReference."""
    kind = reference.get("kind", params.kind) or ("pddl" if "domain" in reference else None)
    if not isinstance(kind, str) or kind not in KINDS:
        known = ", ".join(KINDS)
        raise InvalidReference(f"reference.kind must be one of {known}, not {kind!r}", path="reference.kind")
    spec = replace(cast(VerifierSpec, spec_of(planning)), reference_type=KINDS[kind])
    made = parse_reference(spec, {**reference, "kind": kind})
    try:
        checker: Checker = made.checker(params.credit, params.optimal)
        return checker
    except ValueError as error:
        raise InvalidReference(f"reference: {error}", path="reference") from None


@verifier(version="1", graded=True, prepare=prepare)
def planning(response: str, prepared: Checker, params: PlanningParams, finish_reason: str | None = None) -> Outcome:
    """Checks that a plan can be executed and achieves what is required. Any such plan is right, not only a known one.

    The reference is an object. Its field `kind` names the kind of problem; without it, the parameter `kind` does. With
    a `domain`, it is `pddl`.

    | kind | reference | the plan |
    |---|---|---|
    | `pddl` | `domain`, `problem`, `plan`, `optimal_cost`, `max_cost`, `max_steps` | one action per line |
    | `trip` | `days`, `cities`, `flights`, `one_way`, `events`, `start`, `end`, `budget` | `Day 1-5: Rome` |
    | `meetings` | `place`, `time`, `people`, `travel`, `need` | `Meet Ann from 9:24AM to 10:54AM.` |
    | `calendar` | `minutes`, `days`, `hours`, `busy`, `earliest` | `Monday, 14:30 - 15:00` |

    - `pddl`: the plan is simulated: every step must be executable, and the goal must hold at the end. Supported are
      STRIPS, types, constants, negative, disjunctive and quantified conditions, equality, conditional effects, and
      action costs. Steps are written `(action a b)`, `action(a, b)` or `action a b`, numbered or not, or as a JSON
      list. A reference whose goal holds from the start is rejected, because any plan solves it.
    - `trip`: `cities` gives the number of days in each city, and `flights` the pairs of cities with flights in both
      directions. Each of `events` has a `city`, its first and last day as `days`, and a `presence`: needed on `all` or
      `any` of these days. The day of a flight counts for both cities, unless `travel_day` is `separate`. `budget` has a
      `limit`, prices `per_day`, and prices of `flights` (`"Rome - Oslo": 90`).
    - `meetings`: the day starts at a `place` and a `time`. `people` gives each one's `place`, `start`, `end` and the
      least `minutes`, `travel` the minutes between places, and `need` how many must be met (by default all). Only the
      meetings of the plan count; the travel between them is computed.
    - `calendar`: `busy` gives each person's busy times by day (`{"Ann": {"Monday": [["9:00", "10:30"]]}}`).

    Trips, meetings and calendars can also be JSON: a list of `{"city", "days": [1, 5]}`, a list of
    `{"person", "start", "end"}`, or one `{"day", "start", "end"}`. Their references can give a plan as `solution`; if
    it does not meet the constraints, the reference is rejected.

    The plan is read from an answer tag, `<plan>`, `[PLAN]…[PLAN END]` or a box, which must contain only the plan.
    Without one, the response must contain one plan, in one piece; several different ones are `hedged`. An empty plan is
    `no_answer`. Quoted lines (`>`) do not count.

    The reasons are `illegal` (a step that cannot be executed; the first is explained), `wrong` (the goal is not
    reached, or constraints are violated; the evidence names them), `too_costly`, `malformed`, `hedged`, `no_answer` and
    `too_expensive`.
    """
    found = params.ladder.find(response, finish_reason=finish_reason)
    if found is None:
        return no_answer()
    evidence: dict[str, Any] = {"rule": found.rule}
    texts = dict.fromkeys(map(undressed, found.texts))
    if len(texts) > 1:
        return wrong("hedged", flags=("hedged",), evidence=evidence)
    (text,) = texts
    marked = found.rule != "plan_lines"
    if len(text) > MAX_TEXT:
        return too_expensive(evidence=evidence)
    if not text:
        return no_answer(evidence=evidence)
    outcome = _outcome(prepared.check(text, marked), evidence)
    return outcome if marked or outcome.reason == "no_answer" else loosely(outcome)


def _outcome(finding: Finding, evidence: dict[str, Any]) -> Outcome:
    details: dict[str, Any] = {"extracted": finding.extracted, "evidence": {**evidence, **finding.evidence}}
    if finding.why is not None:
        details["feedback"] = finding.why
    if finding.reason is None:
        return right(**details) if finding.share >= 1.0 else scored(finding.share, passed=True, **details)
    if finding.reason == "no_answer":
        return no_answer(**details)
    if finding.reason == "too_expensive":
        return too_expensive(**details)
    if finding.reason == "hedged":
        return wrong("hedged", flags=("hedged",), **details)
    if finding.share > 0.0:
        return scored(min(finding.share, 0.999), passed=False, reason=finding.reason, **details)
    return wrong(finding.reason, **details)
