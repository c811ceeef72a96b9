"""Presets: the verdicts of benchmarks' own graders, as recorded by running these, and parameters that contradict them.

`official.jsonl` holds references and responses of our own making with the score that the official grader gave;
`benchmarks.preset_peers` runs both sides on thousands more.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidParams
from rewarden.types import Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_params
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
VERIFIERS = {"squad": "text", "math_verify": "math_verify"}
ROWS = [
    json.loads(line) for line in Path(__file__).with_name("official.jsonl").read_text(encoding="utf-8").splitlines()
]


def _params(verifier: str, params: dict[str, Any]) -> Any:
    return parse_params(Registry().get(verifier), params)


@pytest.mark.parametrize("preset", VERIFIERS)
async def test_the_verdict_is_the_official_one(preset: str) -> None:
    rows = [row for row in ROWS if row["preset"] == preset]
    scores = set()
    for row in rows:
        use = Use(name=VERIFIERS[preset], params={**row["params"], "preset": preset, "view": "full"})
        outcome = await outcome_of(PLANNER, use, Sample(response=row["response"], reference=row["reference"]))
        assert outcome.status == "scored", row
        assert outcome.score == pytest.approx(row["official"], abs=1e-12), row
        assert outcome.passed is (row["official"] == 1), row
        scores.add(outcome.score)
    assert {0.0, 1.0} <= scores


@pytest.mark.parametrize(
    ("verifier", "params", "named"),
    [
        ("text", {"preset": "squad", "case": False}, "case"),
        ("text", {"preset": "squad", "threshold": 0.5}, "threshold"),
        ("text", {"preset": "squad", "mode": "fuzzy"}, "mode"),
        ("text", {"preset": "squad", "articles": []}, "articles"),
        ("math_verify", {"preset": "math_verify", "reference_as": "boxed"}, "reference_as"),
        ("math_verify", {"preset": "math_verify", "strict": False}, "strict"),
    ],
)
def test_a_parameter_that_contradicts_the_preset_is_refused(verifier: str, params: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        _params(verifier, params)
    assert repr(params["preset"]) in str(refused.value)
    assert named in str(refused.value)


def test_parameters_that_agree_with_the_preset_or_are_free_stand() -> None:
    assert _params("text", {"preset": "squad"}).extraction == "whole"
    agreeing = {"preset": "squad", "articles": ["a", "an", "the"], "case": True, "extraction": "strict", "mode": "f1"}
    assert _params("text", agreeing).extraction == "strict"
    assert _params("math_verify", {"preset": "math_verify"}).reference_as == "text"


@pytest.mark.parametrize("verifier", ["text", "math_verify"])
def test_an_unknown_preset_is_refused_and_none_changes_nothing(verifier: str) -> None:
    with pytest.raises(InvalidParams, match="preset"):
        _params(verifier, {"preset": "glue"})
    with pytest.raises(InvalidParams, match="preset"):
        _params(verifier, {"preset": 3})
    assert _params(verifier, {"preset": None}) == _params(verifier, {})


async def test_where_a_tag_is_asked_for_saying_nothing_is_no_prediction() -> None:
    """An answer to a question without one is the empty text; a response without the tag is none."""
    use = Use(name="text", params={"preset": "squad", "extraction": "strict"})
    silent = await outcome_of(PLANNER, use, Sample(response="I had rather not say.", reference=[]))
    assert (silent.score, silent.reason) == (0.0, "no_answer")
    honest = await outcome_of(PLANNER, use, Sample(response="<answer>Paris</answer>", reference=["paris"]))
    assert honest.score == 1.0


async def test_beside_a_reference_that_cannot_be_parsed_an_answer_is_wrong_only_under_the_preset() -> None:
    sample = Sample(response=r"\boxed{5}", reference=r"\boxed{\frac{1}{}")
    official = await outcome_of(PLANNER, Use(name="math_verify", params={"preset": "math_verify"}), sample)
    usual = await outcome_of(PLANNER, Use(name="math_verify"), sample)
    assert (official.status, official.score) == ("scored", 0.0)
    assert (usual.status, usual.fault) == ("undecided", "reference")
