"""Verdicts of `number` and `time` per second, next to plain libraries on the bare texts, in the same run.

Load: 4,000 answers in boxes after a few words, 16 per reference, 10 of them right, in several spellings; references
prepared, no engine, one core, CPU time. The parser caches are emptied before each pass, as for new groups; within a
pass, siblings share parsed answers, as in training.
"""

from __future__ import annotations

import datetime
import math
import random
import time as clock
from collections.abc import Callable
from typing import Any

from benchmarks.report import Report
from rewarden.types import Outcome
from rewarden_verifiers.answer.number import reading as numbers
from rewarden_verifiers.answer.number.params import NumberParams
from rewarden_verifiers.answer.number.reference import prepare as prepare_number
from rewarden_verifiers.answer.number.units import registry
from rewarden_verifiers.answer.number.verifier import number
from rewarden_verifiers.answer.time import reading as moments
from rewarden_verifiers.answer.time.params import TimeParams
from rewarden_verifiers.answer.time.reference import prepare as prepare_time
from rewarden_verifiers.answer.time.verifier import time

_GROUPS, _MEMBERS, _RIGHT = 250, 16, 10
_PASSES = 3

Answers = list[tuple[str, str, bool]]
"""Reference, answer, and whether the answer is right."""


def _members(rng: random.Random, reference: str, right: list[str], wrong: list[str]) -> Answers:
    made = [(reference, right[place % len(right)], True) for place in range(_RIGHT)]
    made += [(reference, wrong[place % len(wrong)], False) for place in range(_MEMBERS - _RIGHT)]
    rng.shuffle(made)
    return made


def integers(rng: random.Random) -> Answers:
    """Returns plain whole numbers."""
    size = rng.randint(10, 99_999)
    return _members(rng, str(size), [str(size)], [str(size + step) for step in (1, -1, 2, 10)])


def spelled(rng: random.Random) -> Answers:
    """Returns numbers in several spellings."""
    cents = rng.randint(1_001, 99_999)
    right = [f"{cents / 100:.2f}", f"{cents}/100", rf"\frac{{{cents}}}{{100}}", rf"{cents} \times 10^{{-2}}"]
    return _members(rng, f"{cents / 100:.2f}", right, [f"{(cents + step) / 100:.2f}" for step in (7, -9, 55)])


def quantities(rng: random.Random) -> Answers:
    """Returns quantities with units that convert."""
    metres = rng.randint(100, 9_999)
    right = [f"{metres} m", f"{metres / 1000} km", rf"{metres}\ \mathrm{{m}}", f"{metres * 100} cm"]
    return _members(rng, f"{metres / 1000} km", right, [f"{metres} km", f"{metres + 7} m", f"{metres} kg"])


def dates(rng: random.Random) -> Answers:
    """Returns dates in several spellings."""
    day = datetime.date(1900, 1, 1) + datetime.timedelta(days=rng.randint(0, 45_000))
    right = [day.strftime(form) for form in ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%A, %d %B %Y")]
    others = [day + datetime.timedelta(days=step) for step in (1, -1, 31)]
    return _members(rng, day.isoformat(), right, [other.isoformat() for other in others])


def load(kind: Callable[[random.Random], Answers]) -> Answers:
    """Returns the 4,000 answers of a kind, the same every time."""
    rng = random.Random(7)
    return [one for _ in range(_GROUPS) for one in kind(rng)]


def rate(judge: Callable[[], list[Any]]) -> float:
    """Returns verdicts per second of CPU time, the best of a few passes."""
    best = math.inf
    for _ in range(_PASSES):
        numbers._kept.cache_clear()
        moments._kept.cache_clear()
        start = clock.process_time()
        count = len(judge())
        best = min(best, (clock.process_time() - start) / count)
    return 1 / best


def ours(answers: Answers, *, dated: bool = False) -> Callable[[], list[Outcome]]:
    """Judges every answer."""
    if dated:
        when = TimeParams()
        moments_of = {reference: prepare_time(reference, when) for reference, _, _ in answers}
        times = [(f"So it is \\boxed{{{answer}}}.", moments_of[reference]) for reference, answer, _ in answers]
        return lambda: [time(response, prepared, when) for response, prepared in times]
    params = NumberParams()
    golds = {reference: prepare_number(reference, params) for reference, _, _ in answers}
    rows = [(f"So it is \\boxed{{{answer}}}.", golds[reference]) for reference, answer, _ in answers]
    return lambda: [number(response, prepared, params) for response, prepared in rows]


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("number and time: 4,000 boxed answers, references prepared, one core, CPU time")
    kinds = {kind.__name__: load(kind) for kind in (integers, spelled, quantities, dates)}
    for name, answers in kinds.items():
        dated = name == "dates"
        judge = ours(answers, dated=dated)
        agreed = sum((outcome.score == 1.0) is right for outcome, (_, _, right) in zip(judge(), answers, strict=True))
        report.figure(f"{name}: share judged as labelled", agreed / len(answers), least=1.0)
        report.figure(name, rate(judge), "/s")
    floats = rate(lambda: [math.isclose(float(answer), float(gold)) for gold, answer, _ in kinds["integers"]])
    report.figure("math.isclose on the bare whole numbers", floats, "/s")
    bare = [(answer, gold) for gold, answer, _ in kinds["quantities"] if "\\" not in answer and "kg" not in answer]
    units = registry()

    def pints() -> list[Any]:
        return [units.Quantity(answer).to("km").magnitude == units.Quantity(gold).magnitude for answer, gold in bare]

    theirs = rate(pints)
    report.figure("pint on the bare quantities", theirs, "/s")
    report.figure("quantities: times pint", rate(ours(kinds["quantities"])) / theirs, least=1.0)
    iso = [answer for _, answer, _ in kinds["dates"] if answer[0].isdigit() and answer[4] == "-"]
    parsed = rate(lambda: [datetime.date.fromisoformat(answer) for answer in iso])
    report.figure("datetime.date.fromisoformat on the bare ISO dates", parsed, "/s")
    return report.broken
