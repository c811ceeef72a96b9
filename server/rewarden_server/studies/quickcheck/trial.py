"""The trial of a part: its three verdicts, how long they took, and the problem if one is not as expected."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.client import AsyncClient
from rewarden.errors import RequestError
from rewarden.types import Verdict
from rewarden_server.judges.failure import FIXES as JUDGE_FIXES
from rewarden_server.observe.check import Check, Problem
from rewarden_server.observe.health import mend_of
from rewarden_server.studies.quickcheck.part import Kind, Part
from rewarden_server.studies.quickcheck.question import Answer, Question

_FIXES: Mapping[Kind, str] = {
    "judge": "rewarden doctor",
    "model": "rewarden doctor",
    "language": "rewarden doctor",
    "database": "check the settings in [sql] (docs/sql.md)",
    "lean": "rewarden doctor --all",
}
"""By kind, the fix of a verdict without a score whose message names no command."""

_MISJUDGED: Mapping[Kind, str] = {
    "judge": "choose a stronger model, or measure this one: rewarden judge calibrate labelled.jsonl",
    "model": "check that it is the intended model and that the verifier's parameters fit it (docs/models.md)",
    "language": "rewarden sandbox-host build --force",
    "database": "see docs/sql.md",
    "lean": "see docs/lean.md",
}
"""By kind, the fix of a verdict with a score that is not the expected one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict and the seconds until it arrived."""

    verdict: Verdict
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result for one part. judged: in order; a part whose verdict had no score is not asked the rest."""

    part: Part
    question: Question | None = None
    judged: Mapping[Answer, Judged]
    problem: Problem | None = None
    unused: str = ""

    @property
    def name(self) -> str:
        """Returns the kind of the part and its name."""
        return f"{self.part.kind} {self.part.name}".rstrip()

    @property
    def check(self) -> Check:
        """Returns the trial as a line, with its problem."""
        if self.unused:
            return Check(self.name, self.unused, used=False)
        verdicts = ", ".join(f"{answer} {_told(one.verdict)}" for answer, one in self.judged.items())
        times = [f"{word} {_time(one.seconds)}" for word, one in zip(("first", "warm"), self._timed(), strict=False)]
        summary = "; ".join(filter(None, [verdicts, ", ".join(times)])) or "not judged"
        return Check(self.name, summary, problems=(self.problem,) if self.problem is not None else ())

    def as_json(self) -> dict[str, Any]:
        """Returns the trial as an object for JSON."""
        first, warm = (*(one.seconds for one in self._timed()), None, None)[:2]
        return {
            **self.check.as_json(),
            "use": None
            if self.question is None
            else {"name": self.question.use.name, "params": self.question.use.params},
            "verdicts": {answer: _plain(one.verdict) for answer, one in self.judged.items()},
            "first_s": first,
            "warm_s": warm,
        }

    def _timed(self) -> Sequence[Judged]:
        """The verdicts whose times count. An empty answer is mostly judged without asking the part."""
        return [one for answer, one in self.judged.items() if answer != "empty"]


async def tried(client: AsyncClient, part: Part, patience_s: float) -> Trial:
    """Tries a part. patience_s: the limit for each verdict. Raises RequestError if the target cannot be reached."""
    if part.unused:
        return Trial(part=part, judged={}, unused=part.unused)
    started = time.monotonic()
    try:
        for question in part.questions:
            judged = await _judged(client, question, patience_s, started)
            last = list(judged.values())[-1].verdict
            # Another kind of model, or of input: the request was wrong, and not the part.
            if last.fault != "caller":
                break
    except RequestError as error:
        if error.http_status >= 500:
            raise
        return Trial(part=part, judged={}, problem=Problem(error.message, _FIXES[part.kind]))
    if part.optional and last.reason == "missing_dependency":
        return Trial(part=part, judged={}, unused=f"not installed; {mend_of(last.feedback or '')}")
    return Trial(part=part, question=question, judged=judged, problem=_problem(part, question, judged))


async def _judged(client: AsyncClient, question: Question, patience_s: float, started: float) -> dict[Answer, Judged]:
    found: dict[Answer, Judged] = {}
    for answer, sample in question.samples().items():
        result = await client.verify([sample], question.use, deadline_s=patience_s)
        verdict = result.verdicts[0]
        found[answer] = Judged(verdict=verdict, seconds=time.monotonic() - started)
        if verdict.score is None:
            break
        started = time.monotonic()
    return found


def _problem(part: Part, question: Question, judged: Mapping[Answer, Judged]) -> Problem | None:
    for answer, one in judged.items():
        verdict = one.verdict
        if verdict.score is None:
            said = verdict.feedback or verdict.reason or verdict.status
            return Problem(f"the {answer} answer has no score: {said}", _fix(part.kind, verdict))
        if "judge_fallback" in verdict.flags:
            judge = verdict.evidence.get("judge")
            return Problem(f"it did not answer, and its fallback {judge} did", _FIXES[part.kind])
    found = _surprise(question, *(one.verdict for one in judged.values()))
    return None if found is None else Problem(found, _MISJUDGED[part.kind])


def _surprise(question: Question, right: Verdict, wrong: Verdict, empty: Verdict) -> str | None:
    """Returns the first difference from the expected verdicts, or None. All three have a score."""
    high, low, none = (verdict.score or 0.0 for verdict in (right, wrong, empty))
    if right.passed is False:
        said = right.feedback or right.reason
        return f"the right answer did not pass{f': {said}' if said else ''}"
    if wrong.passed:
        return "the wrong answer passed"
    if question.ordered and high < low:
        return f"the wrong answer scores {low:g}, more than the right one, {high:g}"
    if high == low:
        return f"the right and the wrong answer have the same score, {high:g}"
    if empty.passed or none > empty.range[0]:
        return f"the empty answer scores {none:g}, more than the minimum, {empty.range[0]:g}"
    return None


def _fix(kind: Kind, verdict: Verdict) -> str:
    if kind == "judge":
        return JUDGE_FIXES.get(str(verdict.evidence.get("kind")), _FIXES[kind])
    return mend_of(verdict.feedback or "", _FIXES[kind])


def _told(verdict: Verdict) -> str:
    return verdict.status if verdict.score is None else f"{verdict.score:.3g}"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds * 1000:.0f} ms"


def _plain(verdict: Verdict) -> dict[str, Any]:
    names = ("status", "score", "passed", "reason", "fault", "feedback")
    return {name: getattr(verdict, name) for name in names}
