"""`cascade`: the rule's yes costs no call, and what breaks is never hidden."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judges.conftest import Judged
from tests.judges.scripted import ScriptedJudge

RULE = {"rule": {"name": "text", "params": {"extraction": "whole"}}, "then": "judge"}
CORRECT = {"reason": "the same", "verdict": "correct"}
INCORRECT = {"reason": "another", "verdict": "incorrect"}


async def test_where_the_rule_passes_no_judge_is_asked(judged: Judged, scripted: ScriptedJudge) -> None:
    found = await judged("cascade", RULE, response="Lake Tana", reference="lake tana")
    assert (found["score"], found["passed"], found["evidence"]["branch"]) == (1.0, True, "rule")
    assert list(found["components"]) == ["rule"]
    assert scripted.requests == []


@pytest.mark.parametrize(("reply", "score", "asked"), [(CORRECT, 1.0, 2), (INCORRECT, 0.0, 1)])
async def test_where_it_says_no_the_judge_decides(
    judged: Judged, scripted: ScriptedJudge, reply: dict[str, str], score: float, asked: int
) -> None:
    scripted.script({"when": "source of the Blue Nile", "reply": reply})
    found = await judged("cascade", RULE, response="The source of the Blue Nile", reference="Lake Tana")
    assert (found["score"], found["evidence"]["branch"], len(scripted.requests)) == (score, "then", asked)
    assert [(name, part["score"], part["verifier"]) for name, part in found["components"].items()] == [
        ("rule", 0.0, "text"),
        ("then", score, "judge"),
    ]
    assert found["feedback"] == reply["reason"]


async def test_a_no_may_be_final(judged: Judged, scripted: ScriptedJudge) -> None:
    found = await judged("cascade", {**RULE, "when": "unsure"}, response="Nile", reference="Lake Tana")
    assert (found["score"], found["evidence"]["branch"], scripted.requests) == (0.0, "rule", [])


@pytest.mark.parametrize("when", ["unsure", "no_or_unsure"])
async def test_what_the_rule_cannot_tell_is_the_judges(judged: Judged, scripted: ScriptedJudge, when: str) -> None:
    scripted.script({"when": "forty-two", "reply": CORRECT})
    params = {"rule": "math", "then": "judge", "when": when}
    found = await judged("cascade", params, response="\\boxed{forty-two}", reference="many, many words: $\\frac{")
    assert found["components"]["rule"]["status"] == "undecided"
    assert (found["score"], found["evidence"]["branch"]) == (1.0, "then")
    assert "rule_failed" not in found.get("flags", [])


async def test_without_an_answer_the_no_may_be_kept(judged: Judged, scripted: ScriptedJudge) -> None:
    params = {"rule": "math", "then": "judge", "no_answer": "keep"}
    kept = await judged("cascade", params, response="It is four.", reference="4")
    assert (kept["score"], kept["reason"], scripted.requests) == (0.0, "no_answer", [])
    scripted.script({"when": "It is four.", "reply": CORRECT})
    assert (await judged("cascade", {**params, "no_answer": "ask"}, response="It is four.", reference="4"))[
        "score"
    ] == 1


async def test_a_judge_that_cannot_be_reached_leaves_no_zero(judged: Judged) -> None:
    found = await judged("cascade", RULE, response="Nile", reference="Lake Tana")
    assert (found["status"], found["fault"], found["score"]) == ("error", "infra", None)
    assert found["components"]["rule"]["score"] == 0.0


async def test_an_unreadable_judge_leaves_it_undecided(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "Nile", "reply": "Correct!"})
    found = await judged("cascade", RULE, response="Nile", reference="Lake Tana")
    assert (found["status"], found["reason"], found["fault"]) == ("undecided", "unreadable_reply", "verifier")


async def test_a_rule_that_fails_is_flagged_or_raised(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(
        {"when": "What is asked first", "reply": {"$reply": {"status": 500}}}, {"when": "Is it", "reply": CORRECT}
    )
    # A judge as the rule, which cannot be reached.
    first = {"name": "judge", "params": {"prompt": {"user": "What is asked first: {{ response }}"}}}
    second = {"name": "judge", "params": {"prompt": {"user": "Is it {{ response }}?"}}}
    params: dict[str, Any] = {"rule": first, "then": second}
    found = await judged("cascade", params, response="Lake Tana", reference="Lake Tana")
    assert (found["score"], found["flags"]) == (1.0, ["rule_failed"])
    assert found["components"]["rule"]["fault"] == "infra"
    raised = await judged("cascade", {**params, "failed": "raise"}, response="Lake Tana", reference="Lake Tana")
    assert (raised["status"], raised["fault"], raised["evidence"]["branch"]) == ("error", "infra", "rule")


async def test_a_mistake_of_the_callers_is_nobody_elses(judged: Judged, scripted: ScriptedJudge) -> None:
    params = {"rule": {"name": "number", "params": {"rel_tol": -1}}, "then": "judge"}
    found = await judged("cascade", params, response="Lake Tana", reference="4")
    assert (found["status"], found["fault"], scripted.requests) == ("error", "caller", [])


async def test_the_rule_may_say_yes_from_a_score(judged: Judged, scripted: ScriptedJudge) -> None:
    params = {
        "rule": {"name": "text", "params": {"extraction": "whole", "mode": "f1"}},
        "then": "judge",
        "threshold": 0.5,
    }
    found = await judged("cascade", params, response="Lake Tana Ethiopia", reference="Lake Tana")
    assert (found["score"], found["evidence"]["branch"], scripted.requests) == (pytest.approx(0.8), "rule", [])
    scripted.script({"when": "Lake Tana Ethiopia", "reply": INCORRECT})
    strict = {**params, "threshold": 0.9}
    last = await judged("cascade", strict, response="Lake Tana Ethiopia", reference="Lake Tana")
    assert (last["score"], last["evidence"]["branch"]) == (0.0, "then")
    best = await judged("cascade", {**strict, "combine": "max"}, response="Lake Tana Ethiopia", reference="Lake Tana")
    assert (best["score"], best["evidence"]["branch"]) == (pytest.approx(0.8), "rule")


async def test_both_must_score_in_one_range(judged: Judged, scripted: ScriptedJudge) -> None:
    score = "text.passed ? 1.0 : -1.0"
    signed = {"recipe": {"name": "signed", "range": [-1, 1], "uses": {"text": RULE["rule"]}, "score": score}}
    scripted.script({"when": "Nile", "reply": CORRECT})
    found = await judged("cascade", {**RULE, "rule": signed}, response="Nile", reference="Lake Tana")
    assert (found["status"], found["reason"], found["fault"]) == ("error", "invalid_params", "caller")


async def test_routes_may_end_in_another_rule(judged: Judged, scripted: ScriptedJudge) -> None:
    params = {"rule": {"name": "math"}, "then": RULE["rule"]}
    found = await judged("cascade", params, response="Lake Tana", reference="Lake Tana")
    assert (found["score"], found["components"]["then"]["verifier"], scripted.requests) == (1.0, "text", [])


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"rule": "text"},
        {"rule": "text", "then": {"nam": "judge"}},
        {**RULE, "when": "never"},
        {**RULE, "combine": "mean"},
        {**RULE, "threshold": float("nan")},
        {**RULE, "view": "full"},
    ],
)
async def test_bad_params_are_refused(judged: Judged, params: dict[str, Any]) -> None:
    found = await judged("cascade", params, response="Lake Tana", reference="Lake Tana")
    assert (found["status"], found["reason"]) == ("error", "invalid_params")


async def test_an_unknown_rule_is_named(judged: Judged) -> None:
    found = await judged("cascade", {**RULE, "rule": "no_such"}, response="x", reference="x")
    assert (found["status"], found["reason"]) == ("error", "unknown_verifier")
