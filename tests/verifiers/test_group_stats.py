"""`group_stats`: own outcomes beside, or replaced by, what only the group can tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.contract import spec_of, verifier
from rewarden_verifiers.outcome import scored
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import group_outcomes


@verifier(version="1", graded=True, score_range=(-1.0, 3.0))
def plain_number(response: str) -> Outcome:
    """The response is the score, from -1 to 3; it has no notion of passing."""
    return scored(float(response), range=(-1.0, 3.0))


REGISTRY = Registry()
spec = spec_of(plain_number)
assert spec is not None
REGISTRY.add(spec)
PLANNER = Planner(REGISTRY)


async def judged(responses: Sequence[str], **params: Any) -> Sequence[Outcome]:
    use = Use(name="group_stats", params={"use": "plain_number", **params})
    return await group_outcomes(PLANNER, use, [Sample(response=text, group="g") for text in responses])


@pytest.mark.parametrize(
    ("score", "expected", "bounds"),
    [
        ("own", [3.0, 1.0, -1.0], (-1.0, 3.0)),
        ("mean", [1.0, 1.0, 1.0], (-1.0, 3.0)),
        ("best", [3.0, 3.0, 3.0], (-1.0, 3.0)),
        ("centred", [2.0, 0.0, -2.0], (-4.0, 4.0)),
        ("standardised", [math.sqrt(1.5), 0.0, -math.sqrt(1.5)], (-3.0, 3.0)),
        ("pass_rate", [1 / 3] * 3, (0.0, 1.0)),
        ("fail_rate", [2 / 3] * 3, (0.0, 1.0)),
        ("any_pass", [1.0] * 3, (0.0, 1.0)),
        ("all_pass", [0.0] * 3, (0.0, 1.0)),
    ],
)
async def test_every_kind_of_score_declares_its_range(
    score: str, expected: list[float], bounds: tuple[float, float]
) -> None:
    outcomes = await judged(["3", "1", "-1"], score=score)
    assert [outcome.score for outcome in outcomes] == pytest.approx(expected)
    assert {outcome.range for outcome in outcomes} == {bounds}
    assert [outcome.components["own"].score for outcome in outcomes] == [3.0, 1.0, -1.0]


async def test_a_verifier_without_a_notion_of_passing_passes_with_full_marks_or_at_the_threshold() -> None:
    assert (await judged(["3", "1"]))[0].evidence["group"]["passed"] == 1
    assert (await judged(["3", "1"], pass_threshold=1.0))[0].evidence["group"]["passed"] == 2


async def test_equal_scores_are_left_out_where_asked() -> None:
    assert all(outcome.exclude for outcome in await judged(["1", "1"], exclude_std_at_most=0.0))
    assert not any(outcome.exclude for outcome in await judged(["1", "2"], exclude_std_at_most=0.0))
    assert not any(outcome.exclude for outcome in await judged(["1", "1"]))
    assert [outcome.score for outcome in await judged(["1", "1"], exclude_std_at_most=0.0)] == [1.0, 1.0]


async def test_a_defect_in_one_member_is_not_the_others() -> None:
    outcomes = await judged(["3", "x", "1"], score="mean")
    assert [outcome.score for outcome in outcomes] == [2.0, None, 2.0]
    assert (outcomes[1].status, outcomes[1].fault) == ("error", "verifier")
    assert outcomes[1].evidence["group"]["unscored"] == 1


async def test_equal_scores_have_nothing_to_standardise() -> None:
    assert [outcome.score for outcome in await judged(["1", "1"], score="standardised")] == [0.0, 0.0]


@pytest.mark.parametrize("params", [{"ks": [0]}, {"ddof": 2}, {"score": "median"}, {"exclude_std_at_most": -1}])
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="group_stats", params={"use": "plain_number", **params}))


def test_the_use_must_be_given() -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="group_stats"))
