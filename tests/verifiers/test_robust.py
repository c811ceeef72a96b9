"""No text makes a verifier raise, and none makes it forget its score: two thousand responses for each verifier.
`make farm` tries ten thousand.

The responses are made of pieces: of the verifier's own cases, cut and glued at random, of what is known to upset
scanners, and of what Hypothesis thinks of.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewarden.errors import SampleError
from rewarden.types import BadSample, Outcome, Sample, Use
from rewarden.wire.json import outcome_to_json, sample_from_json
from rewarden_server.engine import scope
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.contract import VerifierSpec, call_prepare
from rewarden_verifiers.judges.resources import JUDGING
from rewarden_verifiers.models.resources import MODELLED
from rewarden_verifiers.registry import BUILT_IN, Registry
from tests.programs import HARDWARE, LEAN, SANDBOXED
from tests.verifiers.counting import HOSTILE
from tests.verifiers.direct import outcome_of

pytestmark = pytest.mark.slow

LIMITS = {"math": {"undecided_equality"}, "puzzle_rules": {"needs_sandbox"}, "search": {"unmarked_results"}}
"""The reasons for which a verifier may be undecided: it is at its wits' end, though reference and response are sound;
or `puzzle` is to decide the case, in a sandbox."""

ROUNDS, EACH = 20, 100
FEWER = dict.fromkeys((*JUDGING, "cascade", *MODELLED), 5)
"""Rounds of what ends by asking a judge or a model, of whom there is none here: what is left are the ways there."""
RUNNER = asyncio.Runner()
REGISTRY = Registry()
PLANNER = Planner(REGISTRY)
NAMES = [
    name for name in BUILT_IN if name not in (SANDBOXED | HARDWARE | LEAN) - {"puzzle"} and not REGISTRY.get(name).group
]

_PIECE = re.compile(r"\s+|\w+|[^\w\s]+")


@cache
def grounds(name: str) -> list[tuple[Use, Sample, list[str]]]:
    """The cases of a verifier that are about the response, each with the pieces of its own response."""
    found = []
    for case in load_cases(REGISTRY.get(name)):
        for given_sample in case.samples:
            sample = sample_from_json(given_sample)
            if isinstance(sample, BadSample) or not isinstance(sample.response, str):
                continue
            found.append((Use(name=name, params=case.params), sample, _PIECE.findall(sample.response)[:400]))
    return found


def response(rng: random.Random, pieces: list[str], thought_of: list[str]) -> str:
    """Pieces in their order with some lost, doubled or replaced, or out of any order."""
    strange = (*HOSTILE, *thought_of)
    if rng.random() < 0.5 and pieces:
        kept = [piece for piece in pieces if rng.random() > 0.05]
        for _ in range(rng.randrange(4)):
            kept.insert(rng.randrange(len(kept) + 1), rng.choice(strange))
        return "".join(kept)
    return "".join(rng.choice(pieces if pieces and rng.random() < 0.6 else strange) for _ in range(rng.randrange(12)))


@pytest.fixture(autouse=True)
def _prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare each reference once for all its candidates, as a worker does: of `math` and `math_verify` it is more than
    half of the work.
    """
    kept: dict[tuple[str, str, str], Any] = {}

    def prepared(spec: VerifierSpec, reference: Any, params: Any, *more: Any) -> Any:
        key = (spec.name, canonical(reference), canonical(params))
        if key not in kept:
            try:
                kept[key] = call_prepare(spec, reference, params, *more)
            except SampleError as error:
                kept[key] = error
        if isinstance(kept[key], SampleError):
            raise kept[key]
        return kept[key]

    monkeypatch.setattr(scope, "call_prepare", prepared)


@pytest.mark.stress
@pytest.mark.parametrize("name", NAMES)
def test_no_response_makes_a_verifier_raise(name: str) -> None:
    cases = grounds(name)
    honest: dict[int, Outcome] = {}

    @settings(
        max_examples=FEWER.get(name, ROUNDS), deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.integers(0, 1 << 60), st.lists(st.text(max_size=20), min_size=1, max_size=8))
    def rounds(seed: int, thought_of: list[str]) -> None:
        rng = random.Random(seed)
        for _ in range(EACH):
            place = rng.randrange(len(cases))
            use, sample, pieces = cases[place]
            if place not in honest:
                honest[place] = judged(use, sample)
            text = response(rng, pieces, thought_of)
            outcome = judged(use, replaced(sample, text))
            if outcome.reason == "sandbox_failed" or outcome.evidence.get("path") in ("params.judge", "params.model"):
                continue  # it runs programs, or asks a judge or a model, which are not there
            # Not deciding must not be for the policy to choose (promise 2).
            told = (use, sample.reference, text, outcome.reason, outcome.feedback)
            if honest[place].status == "scored" and outcome.status != "scored":
                assert outcome.fault == "reference" or outcome.reason in LIMITS.get(name, ()), told
            assert outcome.status != "error" or outcome.fault in ("reference", "caller"), told
            if outcome.score is not None:
                low, high = outcome.range
                assert low <= outcome.score <= high
            json.dumps(outcome_to_json(outcome), allow_nan=False)

    rounds()


def replaced(sample: Sample, text: str) -> Sample:
    return replace(sample, response=text)


def judged(use: Use, sample: Sample) -> Outcome:
    """The outcome without an engine; orchestrators are driven by hand, as nothing here ever waits: except those that
    ask several judges at once, or a model."""
    routine = outcome_of(PLANNER, use, sample)
    by_meaning = use.params.get("by") == "embedding" or "embedding" in use.params.get("metrics", ())
    if use.name in FEWER or by_meaning:
        return RUNNER.run(routine)
    try:
        routine.send(None)
    except StopIteration as ended:
        outcome: Outcome = ended.value
        return outcome
    raise AssertionError("a pure verifier waited")
