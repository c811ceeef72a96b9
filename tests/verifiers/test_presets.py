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
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.answer.chembench import marked_letters
from rewarden_verifiers.preset import presets_of
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_params
from tests.verifiers.direct import outcome_of

REGISTRY = Registry()
PLANNER = Planner(REGISTRY)
VERIFIERS = {preset: name for name in REGISTRY for preset in presets_of(REGISTRY.get(name).params_type)}
TOOLS = [{"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "integer"}}, "required": []}}]
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
        ("tool_calls", {"preset": "bfcl", "credit": "levels"}, "credit"),
        ("tool_calls", {"preset": "bfcl", "weights": {"name": 2}}, "weights"),
        ("choice", {"preset": "chembench", "several": "any"}, "several"),
        ("choice", {"preset": "chembench", "extraction": "lax"}, "extraction"),
        ("sql", {"preset": "spider", "columns": "position"}, "columns"),
        ("sql", {"preset": "spider", "mutations": 4}, "mutations"),
        ("sql", {"preset": "bird", "databases": "suite"}, "databases"),
        ("sql", {"preset": "bird", "rel": 1e-6}, "rel"),
        ("sql", {"preset": "bird", "writes": True}, "writes"),
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
    assert _params("sql", {"preset": "bird", "abs": 0, "time_s": 30, "duplicates": False}).time_s == 30
    assert _params("sql", {"preset": "spider", "databases": "suite"}).databases == "suite"


@pytest.mark.parametrize("verifier", sorted(set(VERIFIERS.values())))
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


async def _called(response: str, *answers: dict[str, Any], tools: Any = TOOLS, **params: Any) -> Outcome:
    reference = {"calls": list(answers), "tools": tools}
    use = Use(name="tool_calls", params={**params, "preset": "bfcl"})
    return await outcome_of(PLANNER, use, Sample(response=response, reference=reference))


async def test_the_leaderboard_reads_calls_in_a_families_format_as_its_handlers_do() -> None:
    call = '<tool_call>{"name": "f", "arguments": {"a": %s}}</tool_call>'
    assert (await _called(call % 1, {"f": {"a": [1]}})).score == 1.0
    assert (await _called(call % 2, {"f": {"a": [1]}})).score == 0.0
    assert (await _called(call % 1)).reason == "unwanted_call"
    assert (await _called(call % 1, {"f": {"a": [1]}}, shapes=["python"])).reason == "wrong_shape"
    assert (await _called("<function=f><parameter=a>1</parameter></function>", {"f": {"a": [1]}})).score == 1.0


async def test_the_leaderboard_decoder_works_out_numbers_and_runs_nothing() -> None:
    """Its own decoder hands what operators join to `eval`."""
    right = {"f": {"a": [7]}}
    assert (await _called("[f(a=1 + 2 * 3)]", right)).score == 1.0
    for hostile in ("__import__('os').getpid() * 0 + 7", "exec('raise SystemExit') or 7", "10**10**10", "'a' * 10**12"):
        outcome = await _called(f"[f(a={hostile})]", right)
        assert (outcome.status, outcome.score) == ("scored", 0.0), hostile
    huge = " * ".join(["9" * 4000] * 20)
    assert (await _called(f"[f(a={huge})]", right)).score == 0.0


async def test_the_leaderboard_takes_two_spellings_of_a_name_for_one_where_interfaces_allow_no_dots() -> None:
    tools = [{**TOOLS[0], "name": "m.f"}]
    assert (await _called("[m_f(a=1)]", {"m.f": {"a": [1]}}, tools=tools)).score == 0.0
    assert (await _called("[m_f(a=1)]", {"m.f": {"a": [1]}}, tools=tools, dots=True)).score == 1.0


@pytest.mark.parametrize(
    ("answers", "tools"),
    [
        ([{"g": {"a": [1]}}], TOOLS),
        ([{"f": {"a": 1}}], TOOLS),
        ([{"name": "f", "arguments": {"a": 1}}], TOOLS),
        ([{"f": {"a": [1]}}], None),
        ([{"f": {"a": [1]}}], [{"name": "f", "parameters": {"properties": {"a": {"type": "char"}}}}]),
    ],
)
async def test_a_reference_that_the_leaderboard_would_fail_on_is_the_references_fault(answers: Any, tools: Any) -> None:
    outcome = await _called("[f(a=1)]", *answers, tools=tools)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


@pytest.mark.parametrize("preset", ["spider", "bird"])
async def test_the_guards_of_queries_stand_under_a_preset(preset: str) -> None:
    """The scripts run these: BIRD's pays for a DELETE that empties the reference's result too."""
    script = "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2);"
    reference = {"sql": "SELECT a FROM t", "database": {"script": script}}
    use = Use(name="sql", params={"preset": preset})
    for hostile, reason in (
        ("DELETE FROM t", "writes"),
        ("SELECT a FROM t; DELETE FROM t", "several_statements"),
        ("SELECT a FROM t WHERE random() IS NOT NULL", "forbidden_function"),
        ("PRAGMA table_info(t)", "pragma"),
    ):
        outcome = await outcome_of(PLANNER, use, Sample(response=hostile, reference=reference))
        assert (outcome.status, outcome.score, outcome.reason) == ("scored", 0.0, reason)
    honest = await outcome_of(PLANNER, use, Sample(response="SELECT a FROM t", reference=reference))
    assert honest.score == 1.0


async def test_a_choice_outside_of_chembenchs_marks_is_no_answer() -> None:
    """There its own pipeline asks a model."""
    use = Use(name="choice", params={"preset": "chembench"})
    for response in ("The answer is A.", "[ANSWER]A and B[/ANSWER]", "[ANSWER](A)[/ANSWER]", "[ANSWER]A", ""):
        outcome = await outcome_of(
            PLANNER, use, Sample(response=response, reference={"answer": "A", "options": ["x", "y"]})
        )
        assert (outcome.status, outcome.score, outcome.reason) == ("scored", 0.0, "no_answer"), response


def test_marks_without_end_are_passed_over_in_linear_time() -> None:
    assert marked_letters("[ANSWER]A." * 50_000) == {"A"}  # an opening mark closes too
    assert marked_letters("[ANS]A, " * 50_000) is None
