"""The growth of a verdict's cost with the response, over three sizes, for every verifier that is a plain function.

Load: for each verifier, one of its own scored cases, whose response follows or precedes 32, 64 and 128 thousand
characters: of prose, and of each of the fragments that slow scanners down (`tests.verifiers.counting.HOSTILE`). The
lowest CPU time of three counts. The exponent is log2 of the growth per doubling: 1 is linear, 2 quadratic. Verdicts
that take under a millisecond at the largest size are too cheap to measure.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

from benchmarks.report import Report
from rewarden.types import BadSample, Sample, Use
from rewarden.wire.json import sample_from_json
from rewarden_server.engine.plan import Planner
from rewarden_server.engine.scope import run_inline
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.registry import BUILT_IN, Registry
from tests.verifiers.counting import HOSTILE

SIZES = (32_000, 64_000, 128_000)
PROSE = "We add the two sides, 3.5 and 12 in all, and compare it with the first; (b) the box [1, 2, 3, 4] is near.\n"
CHEAP_S = 0.001
MOST = 1.4


def _samples(spec: VerifierSpec) -> list[tuple[Use, Sample]]:
    found: list[tuple[Use, Sample]] = []
    for case in load_cases(spec):
        sample = sample_from_json(case.samples[0])
        if case.kind == "full" and not isinstance(sample, BadSample) and isinstance(sample.response, str):
            found.append((Use(name=case.verifier, params=case.params), sample))
    return found


def _seconds(planner: Planner, use: Use, sample: Sample) -> float:
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        plan = planner.plan(planner.bind(use), sample, None)
        if plan.viewless is None:
            run_inline(plan)
        best = min(best, time.process_time() - start)
    return best


def _growth(planner: Planner, use: Use, sample: Sample, filler: str, *, before: bool) -> tuple[float, float]:
    """Returns the exponent between the first and the last size, and the seconds at the last size."""
    times = []
    for size in SIZES:
        filled = filler * (size // len(filler))
        text = f"{filled}\n{sample.response}" if before else f"{sample.response}\n{filled}"
        times.append(_seconds(planner, use, replace(sample, response=text)))
    return math.log2(max(times[-1], 1e-9) / max(times[0], 1e-9)) / 2, times[-1]


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("growth: exponent of the cost in the response's size, the worst filler of each verifier")
    registry = Registry()
    planner = Planner(registry)
    for name in BUILT_IN:
        spec = registry.get(name)
        if spec.group or spec.orchestrates:
            continue
        worst, slowest, of = 0.0, 0.0, ""
        for use, sample in _samples(spec)[::4][:5]:
            for filler in (PROSE, *HOSTILE):
                for before in (True, False):
                    exponent, seconds = _growth(planner, use, sample, filler, before=before)
                    slowest = max(slowest, seconds)
                    for _ in range(3):  # a burst of other load looks like growth, but not four times in a row
                        if seconds <= CHEAP_S or exponent <= max(worst, MOST):
                            break
                        exponent = min(exponent, _growth(planner, use, sample, filler, before=before)[0])
                    if seconds > CHEAP_S and exponent > worst:
                        worst, of = exponent, f"{filler[:16]!r} {'before' if before else 'after'} {dict(use.params)}"
        report.figure(f"{name}: exponent", worst, most=MOST)
        report.figure(f"{name}: {SIZES[-1] // 1000} thousand characters at most", 1000 * slowest, "ms")
        if worst > MOST:
            print(f"      with {of}")
    return report.broken
