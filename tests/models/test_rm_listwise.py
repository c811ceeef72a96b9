"""`rm_listwise`: a group's members among each other, by letters, by what is written, and by rewards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.models.conftest import Differences, Judged
from tests.models.scripted import ScriptedModel

SCALAR = {"by": "scalar"}
POOL = {"by": "scalar", "mode": "pool"}
TEXTS = [f"Member {letter} says that hedgehogs hibernate." for letter in "abcdef"]


def group(texts: Sequence[str]) -> dict[str, Any]:
    return {"samples": [{"prompt": "What do hedgehogs do?", "response": text, "group": "g"} for text in texts]}


def rewards(values: Sequence[float], texts: Sequence[str] = TEXTS) -> list[dict[str, Any]]:
    return [{"task": "classify", "when": text, "reply": [value]} for text, value in zip(texts, values, strict=False)]


def orders(one: str, other: str, share: float) -> list[dict[str, Any]]:
    """The first text has this share of the probability wherever it stands."""
    return [
        {
            "task": "choose",
            "when": [f"{a}\n[end of response_a", f"{b}\n[end of response_b"],
            "reply": {"A": of, "B": 1 - of},
        }
        for a, b, of in ((one, other, share), (other, one, 1 - share))
    ]


async def test_its_cases(differences: Differences) -> None:
    assert await differences("rm_listwise") == {}


@pytest.mark.parametrize(
    "params", [SCALAR, POOL, {**SCALAR, "mode": "reference"}, {**SCALAR, "score": "bradley_terry"}]
)
async def test_a_members_place_in_the_group_does_not_matter(
    judged: Judged, scripted: ScriptedModel, params: dict[str, Any]
) -> None:
    scripted.script(*rewards([0.3, -1.0, 2.0, 0.9]))
    forward = await judged("rm_listwise", params, **group(TEXTS[:4]))
    backward = await judged("rm_listwise", params, **group(TEXTS[3::-1]))
    assert [one["score"] for one in forward] == [one["score"] for one in backward][::-1]


@pytest.mark.parametrize("params", [POOL, SCALAR, {**SCALAR, "mode": "reference"}])
async def test_by_rewards_each_text_is_asked_about_once(
    judged: Judged, scripted: ScriptedModel, params: dict[str, Any]
) -> None:
    scripted.script(*rewards([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]))
    await judged("rm_listwise", params, **group([*TEXTS, TEXTS[0], ""]))
    assert len(scripted.tasks) == len(TEXTS)


async def test_a_pool_and_a_round_robin_by_rewards_agree(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script(*rewards([0.3, -1.0, 2.0]))
    members = group([*TEXTS[:3], TEXTS[0], "Thought process:"])
    for score in ("win_rate", "rank"):
        pool = await judged("rm_listwise", {**POOL, "score": score}, **members)
        each = await judged("rm_listwise", {**SCALAR, "score": score}, **members)
        assert [one["score"] for one in pool] == pytest.approx([one["score"] for one in each])


async def test_opponents_bound_the_comparisons(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script({"task": "choose", "when": "What do hedgehogs do?", "reply": {"A": 0.5, "B": 0.5}})
    found = await judged("rm_listwise", {"opponents": 2}, **group(TEXTS))
    assert [one["evidence"]["compared"] for one in found] == [2] * 6
    assert len(scripted.tasks) == 6 * 2  # six pairs on the ring, each in both orders


async def test_one_order_alone_costs_half(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script({"task": "choose", "when": "What do hedgehogs do?", "reply": {"A": 0.5, "B": 0.5}})
    await judged("rm_listwise", {"orders": 1}, **group(TEXTS[:3]))
    assert len(scripted.tasks) == 3


async def test_the_anchor_is_drawn_from_the_texts_the_same_every_time(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script(*rewards([0.0, 1.0, 2.0, 3.0]))
    params = {**SCALAR, "mode": "reference"}
    drawn = set()
    for shift in range(4):
        texts = TEXTS[shift:4] + TEXTS[:shift]
        found = await judged("rm_listwise", params, **group(texts))
        anchors = [place for place, one in enumerate(found) if one["evidence"]["anchor"]]
        assert len(anchors) == 1
        assert found[anchors[0]]["score"] == 0.5
        drawn.add(texts[anchors[0]])
    assert len(drawn) == 1


async def test_comparisons_stay_comparisons(judged: Judged, scripted: ScriptedModel) -> None:
    """Three that beat each other in a circle are level; no number of their own says otherwise."""
    a, b, c = TEXTS[:3]
    scripted.script(*orders(a, b, 0.9), *orders(b, c, 0.9), *orders(c, a, 0.9))
    for score in ("win_rate", "bradley_terry", "copeland", "rank"):
        found = await judged("rm_listwise", {"score": score}, **group((a, b, c)))
        assert [one["score"] for one in found] == pytest.approx([0.5] * 3)
        assert found[0]["evidence"]["group"]["comparisons"] == 3


async def test_of_two_that_are_too_long_both_forfeit(judged: Judged, scripted: ScriptedModel) -> None:
    too_long = {
        "$error": {"kind": "too_long", "message": "x", "details": {"tokens": 9000, "context": 4096, "candidate": 8900}}
    }
    a, b, c = TEXTS[:3]
    scripted.script(*({"task": "classify", "when": text, "reply": too_long} for text in (a, b)), *rewards([1.0], [c]))
    for params in (SCALAR, POOL):
        found = await judged("rm_listwise", params, **group((a, b, c)))
        assert [one["score"] for one in found[:2]] == [0.0, 0.0]
        assert [one["reason"] for one in found[:2]] == ["too_long", "too_long"]
        assert all("too_long" in one["flags"] for one in found[:2])
        assert found[2]["status"] == "scored"


async def test_a_prompt_that_is_too_long_is_the_callers(judged: Judged, scripted: ScriptedModel) -> None:
    details = {"tokens": 9000, "context": 4096, "candidate": 10}
    reply = {"$error": {"kind": "too_long", "message": "x", "details": details}}
    scripted.script(
        *({"task": kind, "when": "What do hedgehogs do?", "reply": reply} for kind in ("choose", "classify"))
    )
    for params in ({}, SCALAR, POOL):
        found = await judged("rm_listwise", params, **group(TEXTS[:2]))
        assert {(one["status"], one["reason"], one["fault"]) for one in found} == {
            ("error", "input_too_long", "caller")
        }


async def test_a_model_that_cannot_be_reached_gives_no_number(judged: Judged, scripted: ScriptedModel) -> None:
    reply = {"$error": {"kind": "failed", "message": "gone"}}
    scripted.script(
        *({"task": kind, "when": "What do hedgehogs do?", "reply": reply} for kind in ("choose", "classify"))
    )
    for params in ({}, SCALAR, POOL):
        found = await judged("rm_listwise", params, **group(TEXTS[:3]))
        assert {(one["status"], one["reason"], one["fault"]) for one in found} == {("error", "model_failed", "infra")}


async def test_a_lost_comparison_costs_the_other_members_nothing(judged: Judged, scripted: ScriptedModel) -> None:
    a, b, c = TEXTS[:3]
    failed = {"$error": {"kind": "memory", "message": "x"}}
    lost = [{**rule, "reply": failed} for rule in orders(a, b, 0.5)]
    scripted.script(*lost, *orders(a, c, 1.0), *orders(b, c, 0.75))
    found = await judged("rm_listwise", {}, **group((a, b, c)))
    assert [one["score"] for one in found] == pytest.approx([1.0, 0.75, 0.125])
    assert "comparisons_missing" in found[0]["flags"]
    assert "comparisons_missing" not in found[2].get("flags", [])


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"mode": "pool"}, "params.mode"),
        ({"mode": "reference", "score": "rank"}, "params.score"),
        ({**POOL, "score": "copeland"}, "params.score"),
        ({"score": "softmax"}, "params.score"),
        ({"anchor": -1}, "params.anchor"),
        ({"orders": 3}, "params.orders"),
        ({"opponents": 0}, "params.opponents"),
    ],
)
async def test_bad_parameters_are_named(judged: Judged, params: dict[str, Any], path: str) -> None:
    found = await judged("rm_listwise", params, **group(TEXTS[:2]))
    assert {(one["status"], one["reason"]) for one in found} == {("error", "invalid_params")}
    assert path in str(found[0])


@pytest.mark.parametrize("orders", [1, 2])
async def test_a_head_that_reads_pairs_ranks_a_group(judged: Judged, scripted: ScriptedModel, orders: int) -> None:
    worth = dict(zip(TEXTS[:3], (0.0, 40.0, -40.0), strict=True))
    for first in worth:
        for second in worth:
            if first != second:
                where = {"first": first, "second": second}
                reply = worth[first] - worth[second]
                scripted.script({"task": "pair", "when": first, "where": where, "reply": reply})
    found = await judged("rm_listwise", {"by": "pair", "orders": orders}, **group(TEXTS[:3]))
    assert [one["score"] for one in found] == [pytest.approx(0.5), pytest.approx(1.0), pytest.approx(0.0)]
    assert len(scripted.tasks) == 3 * orders
    assert {task["prompt"] for _, task in scripted.tasks} == {"What do hedgehogs do?"}


async def test_of_a_pair_that_is_too_long_the_longer_text_loses(judged: Judged, scripted: ScriptedModel) -> None:
    long = TEXTS[2] + " And so on." * 50
    details = {"tokens": 120, "context": 100, "candidate": 110}
    error = {"$error": {"kind": "too_long", "message": "x", "details": details}}
    scripted.script({"task": "pair", "when": long, "reply": error})
    scripted.script(
        *({"task": "pair", "when": [*TEXTS[:2]], "where": {"first": one}, "reply": 0.0} for one in TEXTS[:2])
    )
    found = await judged("rm_listwise", {"by": "pair"}, **group([*TEXTS[:2], long]))
    assert [one["reason"] for one in found][2] == "too_long"
    assert [one["status"] for one in found] == ["scored"] * 3
    assert found[2]["score"] == 0.0
