"""`calibration`: right answers, less the loss of the confidence that they state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.contract import spec_of, verifier
from rewarden_verifiers.group.calibration import CalibrationParams, _loss
from rewarden_verifiers.outcome import right, scored, undecided, wrong
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import group_outcomes, outcome_of


@verifier(version="1")
def told(response: str) -> Outcome:
    """Judges as the first word of the response says."""
    match response.split()[0]:
        case "right":
            return right()
        case "unknown":
            return undecided("no_idea")
        case "half":
            return scored(0.5)
        case _:
            return wrong()


REGISTRY = Registry()
SPEC = spec_of(told)
assert SPEC is not None
REGISTRY.add(SPEC)
PLANNER = Planner(REGISTRY)
CHANCES = st.integers(0, 100).map(lambda percent: percent / 100)
RULES = st.sampled_from(["brier", "log", "spherical"])


async def judged(*responses: str, **params: Any) -> Sequence[Outcome]:
    samples = [Sample(response=response, group="g") for response in responses]
    return await group_outcomes(PLANNER, Use(name="calibration", params={"use": "told", **params}), samples)


def stated(word: str, confidence: object) -> str:
    return f"{word} <confidence>{confidence}</confidence>"


@given(chance=CHANCES, rule=RULES)
def test_the_best_confidence_is_the_true_probability(chance: float, rule: Any) -> None:
    params = CalibrationParams(use="told", rule=rule)
    losses = {percent / 100: _loss(params, percent / 100, chance) for percent in range(101)}
    assert losses[chance] <= min(losses.values()) + 1e-12
    assert all(0 <= loss <= 1 for loss in losses.values())


@given(of_right=CHANCES, of_wrong=CHANCES, rule=RULES, weight=st.sampled_from([0.1, 0.5, 1.0]))
async def test_a_right_answer_never_earns_less_than_a_wrong_one(
    of_right: float, of_wrong: float, rule: str, weight: float
) -> None:
    """Attack: a wrong answer with an honest zero, for whoever pays for calibration alone."""
    outcomes = await judged(stated("right", of_right), stated("wrong", of_wrong), rule=rule, weight=weight)
    best, worst = (outcome.score for outcome in outcomes)
    assert best is not None
    assert worst is not None
    assert best >= worst


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("right", "no_confidence"),
        (stated("right", ""), "no_confidence"),
        (stated("right", "1e-3"), "bad_confidence"),
        (stated("right", "nan"), "bad_confidence"),
        (stated("right", "٠"), "bad_confidence"),
        (stated("right", "101%"), "bad_confidence"),
        (stated("right", "1 or 0"), "bad_confidence"),
        (stated("right", "1 0"), "bad_confidence"),
        (stated("right", "1 - 0.9"), "bad_confidence"),
        (stated("right", "0.8–0.9"), "bad_confidence"),
        (stated("right", ">0.9"), "bad_confidence"),
        (stated("right", "not 0.9"), "bad_confidence"),
        (stated("right", "0,9"), "bad_confidence"),
        (stated("right", "9/10/2"), "bad_confidence"),
        (stated("right", "0.9^2"), "bad_confidence"),
    ],
)
async def test_what_states_no_confidence_earns_the_least(response: str, reason: str) -> None:
    (outcome,) = await judged(response, weight=0.5)
    assert (outcome.score, outcome.passed, outcome.reason, outcome.fault) == (-0.5, False, reason, "policy")


@pytest.mark.parametrize(
    "confidence",
    [
        *("0.9", "90%", "90 %", r"90\%", "90 percent", "9/10", "9 / 10", "90/100", "9 out of 10", "**0.9**", "~0.9"),
        *(r"\boxed{0.9}", "0.9.", "high (0.9)", "0.9 (very high)", "I am 90% sure", "Confidence: 0.9 (90%)"),
    ],
)
async def test_a_confidence_has_many_forms(confidence: str) -> None:
    (outcome,) = await judged(stated("right", confidence))
    assert outcome.score == pytest.approx(0.99)


async def test_the_last_confidence_counts() -> None:
    (outcome,) = await judged(f"{stated('right', 0.1)} {stated('', 1)}")
    assert outcome.score == 1


async def test_a_member_that_cannot_be_judged_keeps_its_outcome_and_counts_nowhere() -> None:
    unknown, known = await judged(stated("unknown", 1), stated("right", 0.5), target="pass_rate")
    assert (unknown.status, unknown.reason) == ("undecided", "no_idea")
    assert known.score == 0.75
    assert known.evidence["group"]["stated"] == 1


async def test_what_says_nothing_of_passing_needs_a_bound() -> None:
    (refused,) = await judged(stated("half", 1))
    assert (refused.status, refused.reason) == ("error", "invalid_params")
    passed, failed = [(await judged(stated("half", 1), passing=bound))[0] for bound in (0.5, 0.6)]
    assert (passed.score, failed.score) == (1, -1)


async def test_the_loss_by_the_pass_rate_is_that_of_the_whole_group() -> None:
    outcomes = await judged(*[stated("right", 0.25)], *[stated("wrong", 0.25)] * 3, target="pass_rate")
    assert [outcome.score for outcome in outcomes] == pytest.approx([1 - 0.1875, -0.1875, -0.1875, -0.1875])


@pytest.mark.parametrize("confidence", ["0", "0.25", "0.5", "0.75", "1"])
@pytest.mark.parametrize("answer", ["12", "13"])
async def test_it_is_rlcrs_reward(answer: str, confidence: str) -> None:
    response = f"<think>…</think><answer>{answer}</answer><confidence>{confidence}</confidence>"
    sample = Sample(response=response, reference="12", group="g")
    use = {"name": "math", "params": {"extraction": ["answer_tag"]}}
    (ours,) = await group_outcomes(Planner(Registry()), Use(name="calibration", params={"use": use}), [sample])
    theirs = await outcome_of(Planner(Registry()), Use(name="rlcr"), sample)
    assert (ours.score, ours.passed) == (theirs.score, theirs.passed)
