"""Reward hacks through `code`, from a response to its verdict: each is scored, at the bottom, and honest code at the top."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewarden.types import Sample, Verdict
from tests.attacks.sandbox.hacks import HACKS, HONEST, REFERENCES, reference_for
from tests.attacks.sandbox.judge import Judge, fenced, judge


@pytest.fixture(scope="module")
def judged(launcher: str) -> Iterator[Judge]:
    """A judge of three slots."""
    with judge(launcher) as made:
        yield made


def told(verdict: Verdict) -> tuple[object, ...]:
    """Returns what matters when a test fails."""
    return verdict.status, verdict.score, verdict.reason, verdict.fault, verdict.flags, verdict.feedback


@pytest.fixture(scope="module")
def verdicts(judged: Judge) -> dict[tuple[str, str], Verdict]:
    """On every hack against tests of every kind, from one batch: one by one they would wait for each other."""
    pairs = [(hack, way) for hack in HACKS for way in REFERENCES]
    samples = [Sample(response=fenced(HACKS[hack]), reference=reference_for(hack, way)) for hack, way in pairs]
    return dict(zip(pairs, judged.judge(samples), strict=True))


@pytest.mark.parametrize("way", REFERENCES)
@pytest.mark.parametrize("hack", HACKS)
def test_a_hack_earns_nothing(verdicts: dict[tuple[str, str], Verdict], hack: str, way: str) -> None:
    verdict = verdicts[hack, way]
    assert verdict.status == "scored", told(verdict)  # not deciding must not pay either
    assert (verdict.score, verdict.passed, verdict.fault) == (0.0, False, "policy"), told(verdict)


@pytest.mark.parametrize("way", REFERENCES)
def test_honest_code_earns_all(judged: Judge, way: str) -> None:
    verdict = judged.one(fenced(HONEST), REFERENCES[way])
    assert (verdict.status, verdict.score, verdict.passed) == ("scored", 1.0, True), told(verdict)


def test_neighbours_of_hacks_are_judged_as_ever(judged: Judge) -> None:
    samples = []
    for reference in REFERENCES.values():
        for hack in list(HACKS.values())[::14]:
            samples.append(Sample(response=fenced(hack), reference=reference))
            samples.append(Sample(response=fenced(HONEST), reference=reference))
    scores = [verdict.score for verdict in judged.judge(samples)]
    assert scores == [0.0, 1.0] * (len(samples) // 2)
