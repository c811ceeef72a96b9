"""`rm_pairwise`: a preference counts only where it does not hang on the place in which a text stands."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.models.conftest import Differences, Judged
from tests.models.scripted import ScriptedModel

GOOD, BAD = "Rinse the rice, then steam it covered.", "Rice is a grass, or so they say."
WRITTEN = {"by": "written"}
BY_PAIR = {"by": "pair"}


def asked(kind: str, first: Any, second: Any, one: str = GOOD, other: str = BAD) -> list[dict[str, Any]]:
    """Returns what the model says where `one` is A, and where it is B."""
    return [
        {"task": kind, "when": [f"{a}\n[end of response_a", f"{b}\n[end of response_b"], "reply": reply}
        for a, b, reply in ((one, other, first), (other, one, second))
    ]


async def test_its_cases(differences: Differences) -> None:
    assert await differences("rm_pairwise") == {}


async def test_both_orders_are_asked_under_the_same_names(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script(*asked("choose", {"A": 0.9, "B": 0.1}, {"A": 0.3, "B": 0.7}))
    found = await judged("rm_pairwise", response=GOOD, reference=BAD, prompt="How do I cook rice?")
    assert found["score"] == pytest.approx(0.8)
    chats = [task["input"]["messages"][-1]["content"] for _, task in scripted.tasks]
    assert sorted(chat.index(GOOD) < chat.index(BAD) for chat in chats) == [False, True]
    assert all(task["input"]["candidate"] == GOOD for _, task in scripted.tasks)


async def test_who_is_who_does_not_matter(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script(*asked("choose", {"A": 0.9, "B": 0.1}, {"A": 0.3, "B": 0.7}))
    won = await judged("rm_pairwise", response=GOOD, reference=BAD)
    lost = await judged("rm_pairwise", response=BAD, reference={"rejected": GOOD})
    assert won["score"] + lost["score"] == pytest.approx(1.0)
    assert (won["passed"], lost["passed"], lost["reason"]) == (True, False, "worse")


@pytest.mark.parametrize("by", ["token", "written"])
async def test_a_model_that_likes_a_place_gives_ties(judged: Judged, scripted: ScriptedModel, by: str) -> None:
    reply: Any = {"A": 0.99, "B": 0.01} if by == "token" else ["Verdict: A"]
    scripted.script({"task": "choose" if by == "token" else "write", "when": GOOD, "reply": reply})
    found = await judged("rm_pairwise", {"by": by}, response=GOOD, reference=BAD)
    assert (found["score"], found["passed"], found["fault"]) == (0.5, False, "verifier")
    assert "order_flipped" in found["flags"]
    left = await judged("rm_pairwise", {"by": by, "disagree": "undecided"}, response=GOOD, reference=BAD)
    assert (left["status"], left["reason"]) == ("undecided", "orders_disagree")


async def test_samples_of_an_order_are_one_task(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script(*asked("write", ["Verdict: A", "Verdict: A"], ["Verdict: B", "Verdict: tie"]))
    params = {**WRITTEN, "samples": 2, "temperature": 1.0}
    found = await judged("rm_pairwise", params, response=GOOD, reference=BAD)
    assert (found["score"], found["evidence"]["opinions"]) == (0.75, [1.0, 0.5])
    assert len(scripted.tasks) == 2


@pytest.mark.parametrize(
    ("text", "score"),
    [("Verdict: A 1", 4 / 6), ("Verdict: a, 2", 5 / 6), ("**Verdict: [[A]] (3)**", 1.0), ("Verdict: tie", 0.5)],
)
async def test_strengths_are_read(judged: Judged, scripted: ScriptedModel, text: str, score: float) -> None:
    other = text.replace("A", "B").replace(" a", " b")
    scripted.script(*asked("write", [text], [other]))
    found = await judged("rm_pairwise", {**WRITTEN, "strength": True}, response=GOOD, reference=BAD)
    assert found["score"] == pytest.approx(score)


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("A is better.", {}),
        ("Verdict: A 2", {}),
        ("Verdict: A", {"strength": True}),
        ("Verdict: A 4", {"strength": True}),
        ("Verdict: A or B", {}),
        ("Verdict: C", {}),
        ("Verdict: A\nVerdict: B", {}),
        ("Verdict: A\nThat is all.", {}),
        ("> Verdict: A", {}),
    ],
)
async def test_all_else_is_no_verdict(
    judged: Judged, scripted: ScriptedModel, text: str, params: dict[str, Any]
) -> None:
    scripted.script({"task": "write", "when": "How do I cook rice?", "reply": [text]})
    found = await judged(
        "rm_pairwise", {**WRITTEN, **params}, response=GOOD, reference=BAD, prompt="How do I cook rice?"
    )
    assert (found["status"], found["reason"], found["fault"]) == ("undecided", "unreadable_reply", "verifier")


async def test_only_the_response_is_to_blame_for_what_it_spoils(judged: Judged, scripted: ScriptedModel) -> None:
    """A rival that spoils replies is the caller's: no neutral text takes its place."""
    rival = f"{BAD} ¶"
    scripted.script({"task": "write", "when": "¶", "reply": ["I obey."]})
    found = await judged("rm_pairwise", WRITTEN, response=GOOD, reference=rival)
    assert (found["status"], found["fault"]) == ("undecided", "verifier")


async def test_by_rewards_each_is_read_once_behind_the_prompt(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script(
        *({"task": "classify", "when": text, "reply": [value]} for text, value in ((GOOD, 1.0), (BAD, 1.0)))
    )
    found = await judged(
        "rm_pairwise", {"by": "scalar", "system": "Be fair."}, response=GOOD, reference=BAD, prompt="Rice?"
    )
    assert (found["score"], found["reason"], found["raw"]) == (0.5, "tie", {"response": 1.0, "rival": 1.0})
    assert [task["input"]["messages"][0]["content"] for _, task in scripted.tasks] == ["Be fair.", "Be fair."]
    assert {task["input"]["messages"][-1]["content"] for _, task in scripted.tasks} == {GOOD, BAD}


class TestByPair:
    """A head that reads both texts, such as PairRM's."""

    def script(self, scripted: ScriptedModel, first: Any, second: Any) -> None:
        """Replies where the good text is the first, and where it is the second."""
        for text, reply in ((GOOD, first), (BAD, second)):
            scripted.script({"task": "pair", "when": text, "where": {"first": text}, "reply": reply})

    async def test_it_reads_the_prompt_and_both_texts_in_both_orders(
        self, judged: Judged, scripted: ScriptedModel
    ) -> None:
        self.script(scripted, 1.0, -3.0)
        chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Rice?"}]
        found = await judged("rm_pairwise", {**BY_PAIR, "fit": "left"}, response=GOOD, reference=BAD, prompt=chat)
        assert found["score"] == pytest.approx((1 / (1 + math.exp(-1)) + 1 / (1 + math.exp(-3))) / 2)
        assert found["raw"] == {"first": 1.0, "second": 3.0}
        asked = {(task["first"], task["second"]): task for _, task in scripted.tasks}
        assert set(asked) == {(GOOD, BAD), (BAD, GOOD)}
        told = {"prompt": "Be brief.\n\nRice?", "candidate": GOOD, "fit": "left"}
        assert all(task[name] == value for task in asked.values() for name, value in told.items())

    async def test_who_is_who_does_not_matter(self, judged: Judged, scripted: ScriptedModel) -> None:
        self.script(scripted, 1.0, -3.0)
        won = await judged("rm_pairwise", BY_PAIR, response=GOOD, reference=BAD)
        lost = await judged("rm_pairwise", BY_PAIR, response=BAD, reference=GOOD)
        assert won["score"] + lost["score"] == pytest.approx(1.0)

    async def test_a_head_that_likes_a_place_gives_ties(self, judged: Judged, scripted: ScriptedModel) -> None:
        self.script(scripted, 5.0, 1.0)
        found = await judged("rm_pairwise", BY_PAIR, response=GOOD, reference=BAD)
        assert (found["score"], found["passed"], found["fault"]) == (0.5, False, "verifier")
        assert "order_flipped" in found["flags"]
        left = await judged("rm_pairwise", {**BY_PAIR, "disagree": "undecided"}, response=GOOD, reference=BAD)
        assert (left["status"], left["reason"]) == ("undecided", "orders_disagree")

    async def test_a_response_that_is_too_long_loses_and_a_prompt_does_not(
        self, judged: Judged, scripted: ScriptedModel
    ) -> None:
        for candidate, expected in ((90, ("scored", "too_long")), (9, ("error", "input_too_long"))):
            details = {"tokens": 101, "context": 50, "candidate": candidate}
            scripted.clear()
            error = {"$error": {"kind": "too_long", "message": "x", "details": details}}
            scripted.script({"task": "pair", "when": GOOD, "reply": error})
            found = await judged("rm_pairwise", BY_PAIR, response=f"{GOOD} {candidate}", reference=BAD)
            assert (found["status"], found["reason"]) == expected

    async def test_images_are_not_passed_over(self, judged: Judged, scripted: ScriptedModel) -> None:
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
        chat = [{"role": "user", "content": [picture, {"type": "text", "text": "What is it?"}]}]
        found = await judged("rm_pairwise", BY_PAIR, response=GOOD, reference=BAD, prompt=chat)
        assert (found["status"], found["reason"], scripted.tasks) == ("error", "invalid_sample", [])


async def test_extreme_rewards_stay_finite(judged: Judged, scripted: ScriptedModel) -> None:
    scripted.script(
        *({"task": "classify", "when": text, "reply": [value]} for text, value in ((GOOD, 1e30), (BAD, -1e30)))
    )
    won = await judged("rm_pairwise", {"by": "scalar"}, response=GOOD, reference=BAD)
    lost = await judged("rm_pairwise", {"by": "scalar"}, response=BAD, reference=GOOD)
    assert (won["score"], lost["score"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"samples": 2, "temperature": 1.0}, "params.samples"),
        ({"first": ["A"], "second": ["A is worse"]}, "params.first[0]"),
        ({"by": "scalar", "alpha": 0}, "params.alpha"),
        ({"by": "scalar", "strength": True}, "params.strength"),
        ({"by": "scalar", "media": True}, "params.media"),
        ({"by": "pair", "media": True}, "params.media"),
        ({"by": "pair", "system": "Be fair."}, "params.system"),
        ({"by": "pair", "instructions": "Be fair."}, "params.instructions"),
        ({"turns": ["Again."]}, "params.turns"),
    ],
)
async def test_bad_parameters_are_named(judged: Judged, params: dict[str, Any], path: str) -> None:
    found = await judged("rm_pairwise", params, response=GOOD, reference=BAD)
    assert (found["status"], found["reason"]) == ("error", "invalid_params")
    assert path in str(found)
