"""Evaluation: what runs, what counts, and what the outcome says. Expected numbers are worked out by hand."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidParams, InvalidSample, PluginError
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_verifiers.contract import Member
from rewarden_verifiers.outcome import no_answer, right, scored, undecided
from rewarden_verifiers.recipes.load import parse_recipe, recipe_spec
from tests.recipes.toys import ERROR, Recorder, ToyRegistry, refusal, run

GATED: dict[str, Any] = {
    "name": "gated",
    "version": "1",
    "range": [-1, 1],
    "uses": {"form": "format", "answer": "math"},
    "score": "form.passed ? 0.9 * answer.score + 0.1 : -1.0",
}


def recipe(**fields: Any) -> dict[str, Any]:
    return {"name": "mine", "version": "1", "uses": {"answer": "math"}, **fields}


# --- what runs ---------------------------------------------------------------------------------------------------


async def test_a_gate_that_fails_keeps_the_rest_from_running() -> None:
    judged = await run(GATED, "answer 4")
    assert judged.asked == ["format"]
    assert judged.outcome.score == -1.0
    assert list(judged.outcome.components) == ["form"]


async def test_a_gate_that_holds_lets_the_rest_count() -> None:
    judged = await run(GATED, "- answer 4")
    assert judged.asked == ["format", "math"]
    assert judged.outcome.score == 1.0
    assert (await run(GATED, "- answer 5")).outcome.score == 0.1


async def test_each_component_runs_once_however_often_it_is_read() -> None:
    judged = await run(
        recipe(score="answer.passed ? answer.score * answer.score : answer.score", passed="answer.passed")
    )
    assert judged.asked == ["math"]


async def test_rows_are_tried_in_order_and_later_conditions_do_not_run() -> None:
    given = recipe(
        uses={"form": "format", "answer": "math", "style": "judge"},
        table=[
            {"when": "!form.passed", "score": 0},
            {"when": "answer.passed", "score": 1},
            {"when": "style.passed", "score": 0.5},
            {"otherwise": 0.25},
        ],
    )
    assert (await run(given, "answer 4")).asked == ["format"]
    assert (await run(given, "- answer 4")).asked == ["format", "math"]
    judged = await run(given, "- a good answer 5")
    assert (judged.asked, judged.outcome.score) == (["format", "math", "judge"], 0.5)
    assert judged.outcome.evidence["recipe"]["row"] == 2
    assert (await run(given, "- answer 5")).outcome.score == 0.25


async def test_components_that_are_surely_needed_run_at_the_same_time() -> None:
    """Each waits for the other to have begun: one after the other, this would never end."""
    begun = {"format": asyncio.Event(), "math": asyncio.Event()}
    other = {"format": "math", "math": "format"}

    class Meeting(Recorder):
        async def verify(self, use: Use, *, sample: Sample | None = None, **fields: Any) -> Outcome:
            assert use.name is not None
            begun[use.name].set()
            await begun[other[use.name]].wait()
            return right()

    spec = recipe_spec(parse_recipe({**GATED, "score": "0.5 * form.score + 0.5 * answer.score"}), ToyRegistry())
    sample = Sample(response="x")
    outcome = await asyncio.wait_for(
        spec.function(sample=sample, progress=None, ctx=Meeting(sample, ToyRegistry())), timeout=30
    )
    assert outcome.score == 1.0


# --- what cannot be told -----------------------------------------------------------------------------------------


async def test_an_undecided_component_on_the_branch_leaves_the_whole_undecided() -> None:
    outcome = (await run(GATED, "- answer ?")).outcome
    assert (outcome.status, outcome.score, outcome.reason, outcome.fault) == ("undecided", None, "too_hard", "verifier")
    assert outcome.components["form"].status == "scored"
    assert outcome.components["answer"].status == "undecided"


async def test_an_error_stays_an_error_with_its_fault_and_never_becomes_a_number() -> None:
    outcome = (await run(GATED, "- answer 4", outcomes={"math": ERROR})).outcome
    assert (outcome.status, outcome.score, outcome.reason, outcome.fault) == ("error", None, "provider_failed", "infra")
    assert outcome.feedback == "the endpoint is down"


async def test_an_error_on_a_branch_that_is_not_taken_does_not_matter() -> None:
    assert (await run(GATED, "answer 4", outcomes={"math": ERROR})).outcome.score == -1.0


async def test_what_or_absorbs_does_not_run_and_cannot_fail() -> None:
    given = recipe(uses={"a": "judge", "b": "math"}, main="b", score="a.passed || b.passed ? 1.0 : 0.0")
    assert (await run(given, "good", outcomes={"math": ERROR})).outcome.score == 1.0
    assert (await run(given, "bad", outcomes={"math": ERROR})).outcome.status == "error"


async def test_an_error_on_the_left_is_not_absorbed_by_the_right() -> None:
    given = recipe(uses={"a": "judge", "b": "math"}, main="b", score="a.passed || b.passed ? 1.0 : 0.0")
    assert (await run(given, outcomes={"judge": ERROR})).outcome.status == "error"


async def test_a_cascade_tries_the_next_and_says_who_decided() -> None:
    given = recipe(uses={"answer": {"cascade": ["math", "judge"]}}, score="answer.score")
    judged = await run(given, "good answer ?")
    assert (judged.asked, judged.outcome.score) == (["math", "judge"], 1.0)
    assert judged.outcome.components["answer"].verifier == "judge"
    assert judged.outcome.evidence["recipe"]["cascade"]["answer"] == [
        {"verifier": "math", "status": "undecided", "reason": "too_hard"},
        {"verifier": "judge", "status": "scored", "reason": None},
    ]
    assert (await run(given, "good answer 5")).asked == ["math"]  # a wrong answer is decided


TWO_REFERENCES = recipe(
    uses={"answer": "math", "evidence": {"name": "math", "reference": "metadata.evidence"}},
    score="0.5 * answer.score + 0.5 * evidence.score",
)


@pytest.mark.parametrize(("evidence", "score"), [("4", 1.0), ("5", 0.5)])
async def test_a_use_can_have_a_reference_of_its_own(evidence: str, score: float) -> None:
    judged = await run(TWO_REFERENCES, "answer 4", metadata={"evidence": evidence})
    assert judged.outcome.score == score
    assert judged.outcome.components["answer"].score == 1.0


async def test_a_row_without_a_uses_own_reference_is_the_callers_fault() -> None:
    for metadata in (None, {"other": "4"}):
        error = await refusal(TWO_REFERENCES, "answer 4", metadata=metadata)
        assert isinstance(error, InvalidSample)
        assert error.details["path"] == "metadata.evidence"


async def test_a_use_can_take_its_reference_from_a_field_of_the_rows() -> None:
    given = recipe(uses={"answer": {"name": "math", "reference": "reference.answer"}}, score="answer.score")
    judged = await run(given, "answer 4", reference={"answer": "4", "artefact": "It is 4."})
    assert judged.outcome.score == 1.0
    for reference in ("4", {"artefact": "It is 4."}):
        error = await refusal(given, "answer 4", reference=reference)
        assert isinstance(error, InvalidSample)
        assert error.details["path"] == "reference.answer"


async def test_members_of_a_group_have_their_own_second_references() -> None:
    given = recipe(
        uses={"short": "lengths", "evidence": {"name": "math", "reference": "metadata.evidence"}},
        main="evidence",
        score="evidence.score",
        passed="short.passed",
    )
    spec = recipe_spec(parse_recipe(given), ToyRegistry())
    samples = [Sample(response="answer 4", group="g", metadata={"evidence": one}) for one in ("4", "5")]
    ctx = Recorder(samples[0], ToyRegistry())
    members = [Member(index=place, sample=one, response="answer 4") for place, one in enumerate(samples)]
    outcomes = await spec.function(samples=members, progress=None, ctx=ctx)
    assert [one.score for one in outcomes] == [1.0, 0.0]


async def test_a_cascade_that_runs_out_is_as_unscored_as_its_last() -> None:
    given = recipe(uses={"answer": {"cascade": ["judge", "math"]}}, score="answer.score")
    outcome = (await run(given, "answer ?", outcomes={"judge": ERROR})).outcome
    assert (outcome.status, outcome.reason) == ("undecided", "too_hard")


async def test_a_default_stands_in_and_is_flagged_and_keeps_the_fault() -> None:
    given = recipe(uses={"answer": {"name": "math", "default": 0.25}}, score="answer.score")
    outcome = (await run(given, outcomes={"math": ERROR})).outcome
    assert (outcome.status, outcome.score, outcome.passed) == ("scored", 0.25, False)
    assert (outcome.reason, outcome.fault) == ("provider_failed", "infra")
    assert "default_used" in outcome.flags
    assert outcome.components["answer"].status == "error"


async def test_a_fallback_scores_what_could_not_be_scored_and_says_so() -> None:
    given = recipe(uses={"answer": "judge", "rule": "math"}, score="answer.score", fallback="0.5 * rule.score")
    judged = await run(given, outcomes={"judge": ERROR})
    assert (judged.outcome.score, judged.asked) == (0.5, ["judge", "math"])
    assert "fallback_used" in judged.outcome.flags
    assert judged.outcome.evidence["recipe"]["fallback"] == "answer"
    assert (await run(given, "good")).asked == ["judge"]
    both = (await run(given, "answer ?", outcomes={"judge": ERROR})).outcome
    assert (both.status, both.reason) == ("error", "provider_failed")


async def test_status_is_all_that_can_be_read_of_an_unscored_component() -> None:
    given = recipe(
        uses={"answer": "judge", "rule": "math"}, score='answer.status == "scored" ? answer.score : 0.5 * rule.score'
    )
    assert (await run(given, outcomes={"judge": ERROR})).outcome.score == 0.5
    for read in ("reason == 'x'", "fault == 'x'", "flags.exists(f, f == 'x')", "passed", "extracted == 'x'"):
        outcome = (await run(recipe(score=f"answer.{read} ? 0.0 : 1.0"), outcomes={"math": ERROR})).outcome
        assert outcome.status == "error", read


# --- inputs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "path"),
    [
        ('sample.finish_reason == "stop" ? 1.0 : 0.0', "finish_reason"),
        ("sample.token_count > 5.0 || answer.passed ? 1.0 : 0.0", "token_count"),
        ("sample.metadata.level * answer.score", "metadata.level"),
        ("progress.fraction * answer.score", "progress.fraction"),
    ],
)
async def test_an_absent_optional_input_is_the_callers_fault_and_never_a_zero(score: str, path: str) -> None:
    error = await refusal(recipe(score=score, passed="answer.passed"))
    assert isinstance(error, InvalidSample)
    assert error.details["path"] == path


async def test_has_makes_an_input_optional() -> None:
    given = recipe(
        score="has(sample.metadata.level) ? sample.metadata.level * answer.score : answer.score", range=[0, 9]
    )
    assert (await run(given)).outcome.score == 1.0
    assert (await run(given, metadata={"level": 3})).outcome.score == 3.0


async def test_declared_inputs_are_asked_for_before_anything_runs() -> None:
    for name in ("reference", "finish_reason", "metadata.level", "progress"):
        given = {**recipe(score="answer.score"), "inputs": [name]}
        spec = recipe_spec(parse_recipe(given), ToyRegistry())
        ctx = Recorder(Sample(response="answer 4"), ToyRegistry())
        with pytest.raises(InvalidSample) as raised:
            await spec.function(sample=ctx.sample, progress=None, ctx=ctx)
        assert raised.value.details["path"] == name
        assert ctx.asked == []


# --- results that are not scores ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "says"),
    [
        ("answer.score / (answer.score - 1.0)", "not a finite number"),
        ("(answer.score - 1.0) / (answer.score - 1.0)", "not a finite number"),
        ("answer.score + 0.5", "outside the declared range"),
        ("answer.evidence.nothing", "there is no key 'nothing'"),
        ("answer.evidence.rule", "not a number"),
        ("log(answer.score - 1.0)", "failed"),
    ],
)
async def test_a_result_that_is_no_score_is_the_recipes_fault_and_never_a_number(score: str, says: str) -> None:
    error = await refusal(recipe(score=score))
    assert isinstance(error, PluginError)
    assert error.fault == "verifier"
    assert says in error.message
    assert "mine" in error.message


async def test_sums_that_miss_an_end_of_the_range_by_a_rounding_are_at_it() -> None:
    given = recipe(score="answer.score * (0.1 + 0.7 + 0.2 + 0.0) + 0.0000000000000002")
    assert (await run(given)).outcome.score == 1.0


# --- what the outcome says ---------------------------------------------------------------------------------------


async def test_the_main_component_gives_answer_feedback_and_evidence() -> None:
    outcome = (await run(GATED, "- answer 4")).outcome
    assert (outcome.extracted, outcome.passed, outcome.reason) == ("4", True, None)
    assert outcome.evidence["rule"] == "toy"
    assert outcome.flags == ("toy",)
    assert {name: c.score for name, c in outcome.components.items()} == {"form": 1.0, "answer": 1.0}
    assert outcome.components["answer"].verifier == "math"
    assert (await run(GATED, "- answer 5")).outcome.feedback == "5 is not 4"


async def test_the_reason_is_that_of_the_component_that_decided() -> None:
    assert (await run(GATED, "answer 4")).outcome.reason == "bad_format"
    assert (await run(GATED, "- answer 5")).outcome.reason == "wrong"
    assert (await run(GATED, "-")).outcome.reason == "no_answer"
    both = {**GATED, "score": "0.5 * form.score + 0.5 * answer.score"}
    assert (await run(both, "answer 4")).outcome.reason is None  # passed: the main component is right
    assert (await run({**both, "passed": "form.passed && answer.passed"}, "answer 4")).outcome.reason == "bad_format"


async def test_flags_of_all_components_are_united() -> None:
    given = {**GATED, "score": "0.5 * form.score + 0.5 * answer.score"}
    outcome = (await run(given, "text", outcomes={"math": no_answer(flags=("untidy", "other"))})).outcome
    assert outcome.flags == ("untidy", "other", "no_answer")


async def test_without_a_notion_of_passing_full_marks_pass_an_expression_and_the_verdict_stays_silent() -> None:
    given = recipe(uses={"answer": "vowels"}, score="answer.passed ? 0.5 : answer.score")
    assert (await run(given, "aei")).outcome.score == 0.5
    outcome = (await run(given, "abcd")).outcome
    assert (outcome.score, outcome.passed) == (0.25, None)


async def test_what_passes_can_be_said() -> None:
    given = recipe(uses={"answer": "vowels"}, score="answer.score", passed="answer.score >= 0.5")
    assert (await run(given, "ab")).outcome.passed is True
    assert (await run(given, "abc")).outcome.passed is False


async def test_exclusion_does_not_depend_on_a_score() -> None:
    given = recipe(score="answer.score", exclude={"when": 'sample.finish_reason == "length"', "reason": "truncated"})
    for response, status in (("answer 4", "scored"), ("answer ?", "undecided")):
        outcome = (await run(given, response, finish_reason="length")).outcome
        assert (outcome.status, outcome.exclude, outcome.exclude_reason) == (status, True, "truncated")
    assert not (await run(given, finish_reason="stop")).outcome.exclude


async def test_the_first_exclusion_that_holds_gives_the_reason_and_one_that_cannot_be_told_none() -> None:
    given = recipe(
        score="answer.score",
        exclude=[
            {"when": "answer.passed", "reason": "too_easy"},
            {"when": "sample.token_count > 10.0", "reason": "too_long"},
        ],
    )
    assert (await run(given, "answer 4", token_count=99)).outcome.exclude_reason == "too_easy"
    assert (await run(given, "answer ?", token_count=99)).outcome.exclude_reason == "too_long"


# --- parameters and schedules ------------------------------------------------------------------------------------


async def test_parameters_are_overridden_by_the_use_and_handed_through_with_their_type() -> None:
    given = recipe(
        params={"weight": 0.5, "options": {"default": {}}, "which": "math"},
        uses={"answer": {"name": {"cel": "params.which"}, "params": {"cel": "params.options"}}},
        score="params.weight * answer.score",
    )
    assert (await run(given)).outcome.score == 0.5
    judged = await run(given, params={"weight": 0.25, "options": {"tolerance": 1}})
    assert judged.outcome.score == 0.25
    assert judged.uses == [Use(name="math", params={"tolerance": 1})]
    assert (await run(given, params={"which": "judge"})).asked == ["judge"]


async def test_what_samples_share_is_never_another_batchs() -> None:
    given = recipe(
        params={"slack": 0.5, "weight": 2},
        schedule={"late": "progress.step"},
        uses={
            "answer": {"name": "math", "params": {"tolerance": {"cel": "params.slack"}}},
            "again": {"name": "math", "params": {"tolerance": {"cel": "schedule.late"}}},
        },
        score="0.0 * params.weight * answer.score * again.score + params.weight / 10.0",
    )
    spec = recipe_spec(parse_recipe(given), ToyRegistry())
    assert spec.params_type is not None
    ours, theirs = spec.params_type(), spec.params_type(slack=0.25, weight=4.0)
    first, second = Progress(step=1), Progress(step=2)
    sample = Sample(response="answer 4", reference="4")
    found = []
    for params, progress in ((ours, first), (ours, first), (theirs, first), (theirs, second), (ours, first)):
        ctx = Recorder(sample, ToyRegistry())
        outcome = await spec.function(sample=sample, progress=progress, ctx=ctx, params=params)
        found.append((outcome.score, [use.params["tolerance"] for use in ctx.uses]))
    assert found == [
        (0.2, [0.5, 1.0]),
        (0.2, [0.5, 1.0]),
        (0.4, [0.25, 1.0]),
        (0.4, [0.25, 2.0]),
        (0.2, [0.5, 1.0]),
    ]


async def test_a_use_that_depends_on_the_parameters_alone_is_made_once() -> None:
    given = recipe(
        params={"slack": 0.5},
        uses={"answer": {"name": "math", "params": {"tolerance": {"cel": "params.slack"}}}},
        score="answer.score",
    )
    spec = recipe_spec(parse_recipe(given), ToyRegistry())
    assert spec.params_type is not None
    params = spec.params_type()
    uses: list[Use] = []
    for response in ("answer 4", "answer 5"):
        ctx = Recorder(Sample(response=response, reference="4"), ToyRegistry())
        await spec.function(sample=ctx.sample, progress=None, ctx=ctx, params=params)
        uses += ctx.uses
    assert uses[0] is uses[1]
    assert uses[0].params == {"tolerance": 0.5}


async def test_scheduled_values_follow_the_progress_and_are_reported() -> None:
    given = recipe(
        params={"until": 0.5},
        schedule={"weight": "max(0.0, 1.0 - progress.fraction / params.until)"},
        uses={"answer": {"name": "math", "params": {"tolerance": {"cel": "0.5 * progress.fraction"}}}},
        score="schedule.weight * answer.score",
    )
    judged = await run(given, progress=Progress(step=25, total_steps=100))
    assert judged.outcome.score == 0.5
    assert judged.outcome.effective == {"weight": 0.5, "uses.answer.params.tolerance": 0.125}
    assert judged.uses == [Use(name="math", params={"tolerance": 0.125})]
    assert (await run(given, progress=Progress(step=75, total_steps=100))).outcome.score == 0.0


# --- shaping -----------------------------------------------------------------------------------------------------


def shaped(**length: Any) -> dict[str, Any]:
    return recipe(range=[-3, 3], score="answer.score", shaping=[{"length": length}])


async def test_a_shaping_adds_a_component_of_its_own() -> None:
    given = shaped(kind="linear", start=0, end=-1, max=100)
    outcome = (await run(given, token_count=25)).outcome
    assert outcome.score == 0.75
    assert outcome.components["length"].score == -0.25
    assert outcome.evidence["recipe"]["base_score"] == 1.0
    assert outcome.evidence["recipe"]["shaping"]["length"] == {
        "kind": "linear", "by": "tokens", "length": 25, "side": "correct", "combine": "add", "value": -0.25,
        "term": -0.25, "start": 0.0, "end": -1.0, "max": 100.0,
    }  # fmt: skip


async def test_one_side_alone_may_be_shaped() -> None:
    given = shaped(kind="linear", max=100, wrong={"start": 0, "end": -1})
    right_, wrong_ = (await run(given, token_count=50)).outcome, (await run(given, "answer 5", token_count=50)).outcome
    assert (right_.score, "length" in right_.components) == (1.0, False)
    assert (wrong_.score, wrong_.components["length"].score) == (-0.5, -0.5)


async def test_sign_weight_and_cap_are_free() -> None:
    given = shaped(kind="linear", start=0, end=1, max=100, weight=-2, cap=0.75)
    assert (await run(given, token_count=25)).outcome.score == 0.5
    assert (await run(given, token_count=100)).outcome.score == 0.25


async def test_replacing_puts_the_curve_in_the_scores_place() -> None:
    given = shaped(
        kind="cosine", combine="replace", max=100, exceeded=-3,
        correct={"start": 2, "end": 1}, wrong={"start": -2, "end": 0},
    )  # fmt: skip
    assert (await run(given, token_count=50)).outcome.score == pytest.approx(1.5)
    assert (await run(given, "answer 5", token_count=50)).outcome.score == pytest.approx(-1.0)
    assert (await run(given, token_count=100)).outcome.score == -3.0


async def test_lengths_without_tokens_need_no_token_count() -> None:
    by_words = shaped(kind="linear", start=0, end=-1, max=4, by="words")
    assert (await run(by_words, "answer 4")).outcome.score == 0.5
    by_characters = shaped(kind="linear", start=0, end=-1, max=16, by="characters")
    assert (await run(by_characters, "answer 4")).outcome.score == 0.5


async def test_a_missing_token_count_is_found_before_anything_runs_even_where_the_side_is_not_shaped() -> None:
    given = shaped(kind="linear", max=100, wrong={"start": 0, "end": -1})
    error = await refusal(given, "answer 4")
    assert isinstance(error, InvalidSample)
    assert error.details["path"] == "token_count"


async def test_numbers_of_a_shaping_may_be_computed_and_scheduled() -> None:
    given = recipe(
        params={"limit": 100},
        score="answer.score",
        range=[-1, 1],
        shaping=[
            {"length": {"kind": "soft_overlong", "max": "params.limit", "buffer": 50, "weight": "progress.fraction"}}
        ],
    )
    outcome = (await run(given, token_count=75, progress=Progress(step=1, total_steps=2))).outcome
    assert outcome.score == 0.75  # 1 - 0.5 * (75 - 50) / 50
    assert outcome.effective == {"shaping.length.weight": 0.5}
    error = await refusal(given, token_count=75, progress=Progress(step=1, total_steps=2), params={"limit": 10})
    assert isinstance(error, InvalidParams)
    assert "0 < buffer <= max" in error.message


async def test_an_unscored_base_is_not_shaped() -> None:
    outcome = (await run(shaped(kind="linear", start=0, end=-1, max=100), "answer ?", token_count=5)).outcome
    assert (outcome.status, outcome.score) == ("undecided", None)
    assert "length" not in outcome.components


# --- groups and nesting ------------------------------------------------------------------------------------------


async def test_a_group_verifier_runs_once_and_only_when_a_member_needs_it() -> None:
    registry = ToyRegistry()
    spec = recipe_spec(
        parse_recipe(
            recipe(
                uses={"answer": "math", "short": "lengths"},
                score="answer.passed ? 0.5 + 0.5 * short.score : 0.0",
                shaping=[{"length": {"kind": "linear", "start": 0, "end": 0, "max": 10}}],
            )
        ),
        registry,
    )

    async def judge(*responses: str, **fields: Any) -> tuple[list[Outcome], list[str]]:
        samples = [
            Sample(response=r, reference="4", token_count=c) for r, c in zip(responses, fields["counts"], strict=True)
        ]
        ctx = Recorder(samples[0], registry)
        members = [Member(index=i, response=str(s.response), sample=s) for i, s in enumerate(samples)]
        return list(await spec.function(samples=members, progress=None, ctx=ctx)), ctx.asked

    outcomes, asked = await judge("answer 4", "so, answer 4", "answer 5", counts=[1, 2, 3])
    assert [outcome.score for outcome in outcomes] == [1.0, 0.5, 0.0]
    assert asked.count("lengths") == 1
    _, asked = await judge("answer 5", "answer 6", counts=[1, 2])
    assert "lengths" not in asked
    outcomes, _ = await judge("answer 4", "answer 4", counts=[1, None])
    assert [(o.status, o.fault) for o in outcomes] == [("scored", None), ("error", "caller")]


async def test_a_recipe_within_a_recipe_is_a_component_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "inner.yaml"
    path.write_text(
        "name: inner\nversion: '1'\nuses: {answer: math}\nscore: 0.5 * answer.score\npassed: answer.passed\n"
    )
    registry = ToyRegistry(inner=path)
    judged = await run(recipe(uses={"answer": "inner"}, score="answer.score + 0.25"), registry=registry)
    assert judged.outcome.score == 0.75
    inline = {"uses": {"answer": "math"}, "score": "0.5 * answer.score"}
    judged = await run(recipe(uses={"answer": {"recipe": inline}}, score="answer.score + 0.25"))
    assert judged.outcome.score == 0.75


async def test_scores_are_read_in_their_own_range() -> None:
    given = recipe(score="answer.score / 4.0 + 0.5")
    outcome = (await run(given, outcomes={"math": scored(-2.0, range=(-2.0, 2.0))})).outcome
    assert outcome.score == 0.0
    assert (
        await run(recipe(score="answer.passed ? 1.0 : 0.0"), outcomes={"math": scored(2.0, range=(-2.0, 2.0))})
    ).outcome.score == 1.0


async def test_an_undecided_reference_stays_the_references_fault() -> None:
    given = recipe(score="answer.score")
    outcome = (await run(given, outcomes={"math": undecided("bad_reference", fault="reference")})).outcome
    assert (outcome.status, outcome.fault) == ("undecided", "reference")
