"""`listwise`: a group's members against each other, in every mode, and whom it costs what."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from rewarden_verifiers.judges.neutral_text import neutral_text
from rewarden_verifiers.judges.schedule import drawn
from tests.judges.conftest import Judged
from tests.judges.scripted import ScriptedJudge

BEST, MIDDLE, WORST = "Sonnet of the tide", "Limerick of the crab", "List of sea words"


def group(*texts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"response": text, "group": "g", "prompt": "Write of the sea.", **more} for text in texts]


def verdict(better: str) -> dict[str, Any]:
    return {"reason": f"{better} it is", "better": better}


def by_quality(*texts: str) -> list[dict[str, Any]]:
    """Rules of a judge of pairs that knows the order of texts, the best first."""
    return [
        {"when": [f"{a}\n[end of response_a", f"{b}\n[end of response_b"], "reply": verdict(name)}
        for better, worse in itertools.combinations(texts, 2)
        for a, b, name in ((better, worse, "A"), (worse, better, "B"))
    ]


def ranking(*ranks: int) -> dict[str, Any]:
    rows = [{"response": place, "rank": rank} for place, rank in enumerate(ranks, start=1)]
    return {"reason": "by beauty", "ranking": rows}


def by_list(texts: Sequence[str], rank: dict[str, int]) -> list[dict[str, Any]]:
    """Rules of a judge of lists for every order of some texts."""
    return [
        {
            "when": [f"{text}\n[end of responses {place}" for place, text in enumerate(order, start=1)],
            "reply": ranking(*(rank[text] for text in order)),
        }
        for order in itertools.permutations(texts)
    ]


def scores(found: Sequence[dict[str, Any]]) -> list[float | None]:
    return [one.get("score") for one in found]


# --- each with each ----------------------------------------------------------------------------------------------


async def test_win_rates_of_a_round_robin(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_quality(BEST, MIDDLE, WORST))
    found = await judged("listwise", samples=group(MIDDLE, WORST, BEST))
    assert scores(found) == [0.5, 0.0, 1.0]
    assert [one["passed"] for one in found] == [False, False, True]
    assert len(scripted.requests) == 6, "three pairs, two orders"
    evidence = found[2]["evidence"]
    assert (evidence["compared"], evidence["group"]["flip_rate"]) == (2, 0.0)
    assert 0 < evidence["standard_error"] < 0.5
    assert found[0]["feedback"].count("it is") == 2


@pytest.mark.parametrize("score", ["bradley_terry", "copeland", "rank"])
async def test_other_scores_order_alike(judged: Judged, scripted: ScriptedJudge, score: str) -> None:
    scripted.script(*by_quality(BEST, MIDDLE, WORST))
    found = scores(await judged("listwise", {"score": score}, samples=group(MIDDLE, WORST, BEST)))
    assert found[2] > found[0] > found[1]  # type: ignore[operator]
    assert found[0] == pytest.approx(0.5)


async def test_the_order_of_the_members_changes_nothing(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_quality(BEST, MIDDLE, WORST))
    params = {"orders": 1}
    first = await judged("listwise", params, samples=group(BEST, MIDDLE, WORST))
    asked = len(scripted.requests)
    second = await judged("listwise", params, samples=group(WORST, BEST, MIDDLE))
    assert scores(first) == [1.0, 0.5, 0.0]
    assert scores(second) == [0.0, 1.0, 0.5]
    assert (asked, len(scripted.requests)) == (3, 3), "the very same questions, which are remembered"


async def test_a_judge_that_likes_a_place_ranks_nobody(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "Response A:", "reply": verdict("A")})
    found = await judged("listwise", samples=group(BEST, MIDDLE, WORST))
    assert scores(found) == [0.5, 0.5, 0.5]
    assert all("order_flipped" in one["flags"] and one["evidence"]["group"]["flip_rate"] == 1.0 for one in found)
    left = await judged("listwise", {"disagree": "undecided"}, samples=group(BEST, MIDDLE, WORST))
    assert {(one["status"], one["fault"]) for one in left} == {("undecided", "verifier")}


async def test_hollow_members_lose_unasked(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_quality(BEST, MIDDLE))
    found = await judged("listwise", samples=group(":", MIDDLE, "<think>still", BEST))
    assert scores(found) == [0.0, pytest.approx(2 / 3), 0.0, 1.0]
    assert (found[0]["reason"], found[0]["fault"]) == ("blank", "policy")
    assert len(scripted.requests) == 2
    alone = await judged("listwise", samples=group("...", BEST))
    assert scores(alone) == [0.0, 1.0]
    assert len(scripted.requests) == 2
    assert "not_compared" in alone[1]["flags"]
    assert scores(await judged("listwise", samples=group("...", ":"))) == [0.0, 0.0]
    assert scores(await judged("listwise", {"score": "bradley_terry"}, samples=group("...", ":"))) == [0.0, 0.0]


async def test_equal_texts_share_comparisons_and_scores(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_quality(BEST, WORST))
    found = await judged("listwise", samples=group(WORST, BEST, WORST, WORST + " "))
    assert len(scripted.requests) == 2
    # Each of the three loses once and ties twice.
    assert scores(found) == [pytest.approx(1 / 3), 1.0, pytest.approx(1 / 3), pytest.approx(1 / 3)]
    same = await judged("listwise", samples=group(BEST, BEST))
    assert scores(same) == [0.5, 0.5]
    assert len(scripted.requests) == 2
    assert all("not_compared" in one["flags"] for one in same)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"score": "copeland"},
        {"score": "rank"},
        {"mode": "rank"},
        {"mode": "rank", "orders": 4},
        {"mode": "rank", "orders": 4, "score": "copeland"},
        {"mode": "rank", "orders": 4, "score": "rank"},
    ],
)
async def test_who_was_not_asked_about_is_an_opponent_like_any_other(
    judged: Judged, scripted: ScriptedJudge, params: dict[str, Any]
) -> None:
    """Members without substance, and copies of a text, weigh what they are: a member each, in every mode and score."""
    scripted.script(*by_quality(BEST, WORST), *by_list((BEST, WORST), {BEST: 1, WORST: 2}))
    assert scores(await judged("listwise", params, samples=group(BEST, WORST, ":"))) == [1.0, 0.5, 0.0]
    copied = await judged("listwise", params, samples=group(BEST, WORST, BEST))
    assert scores(copied) == [0.75, 0.0, 0.75], "a copy beats the worst, and is level with the other"
    both = await judged("listwise", params, samples=group(WORST, ":", BEST, WORST))
    assert scores(both) == [0.5, 0.0, 1.0, 0.5]


async def test_a_copy_with_what_nobody_sees_is_the_same_text(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_quality(BEST, WORST))
    hidden = BEST.replace(" ", " \u200b")
    found = await judged("listwise", samples=group(BEST, hidden, WORST))
    assert (scores(found), len(scripted.requests)) == ([0.75, 0.75, 0.0], 2)


@pytest.mark.parametrize("score", ["win_rate", "bradley_terry", "copeland", "rank"])
async def test_scores_are_the_same_to_the_last_digit_in_any_order(
    judged: Judged, scripted: ScriptedJudge, score: str
) -> None:
    texts = [f"Haiku {letter} of the pier" for letter in "abcde"]
    scripted.script(*by_quality(*texts[:3]), *by_quality(texts[3], texts[0], texts[4]), *by_quality(texts[4], texts[1]))
    scripted.script({"when": "Response A:", "reply": verdict("tie")})
    members = [*texts, texts[2]]
    found = scores(await judged("listwise", {"score": score}, samples=group(*members)))
    for turn in range(1, len(members)):
        turned = scores(await judged("listwise", {"score": score}, samples=group(*members[turn:], *members[:turn])))
        assert turned == [*found[turn:], *found[:turn]]


async def test_a_large_group_meets_a_bounded_number_of_opponents(judged: Judged, scripted: ScriptedJudge) -> None:
    texts = [f"Verse {letter} on the harbour" for letter in "abcdefghijkl"]
    scripted.script(*by_quality(*texts))
    found = await judged("listwise", {"opponents": 4, "orders": 1}, samples=group(*texts))
    assert len(scripted.requests) == 12 * 4 / 2
    assert {one["evidence"]["compared"] for one in found} == {4}
    assert found[0]["score"] == 1.0
    assert found[-1]["score"] == 0.0


async def test_several_opinions_on_a_pair_are_averaged(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(
        {"when": f"{BEST}\n[end of response_a", "replies": [verdict("A"), verdict("tie")]},
        {"when": f"{BEST}\n[end of response_b", "reply": verdict("B")},
    )
    found = await judged("listwise", {"samples": 2}, samples=group(BEST, WORST))
    assert scores(found) == [0.75, 0.25]


# --- lists -------------------------------------------------------------------------------------------------------


async def test_a_list_is_ranked_in_one_question_an_order(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_list((BEST, MIDDLE, WORST), {BEST: 1, MIDDLE: 2, WORST: 3}))
    found = await judged("listwise", {"mode": "rank"}, samples=group(MIDDLE, WORST, BEST))
    assert scores(found) == [0.5, 0.0, 1.0]
    orders = [sorted((BEST, MIDDLE, WORST), key=chat.index) for chat in scripted.chats()]
    shown = [[MIDDLE, WORST, BEST][place] for place in drawn([MIDDLE, WORST, BEST])]
    assert sorted(orders) == sorted([shown, shown[::-1]])  # asked at once: either may arrive first
    assert found[2]["feedback"].startswith("rank 1 of 3, shown as response")


async def test_equal_ranks_are_ties(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_list((BEST, MIDDLE, WORST), {BEST: 1, MIDDLE: 1, WORST: 3}))
    found = await judged("listwise", {"mode": "rank"}, samples=group(BEST, MIDDLE, WORST))
    assert scores(found) == [0.75, 0.75, 0.0]


async def test_a_judge_of_lists_that_likes_the_first_place_ranks_nobody(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    scripted.script({"when": "Response 3:", "reply": ranking(1, 2, 3)})
    found = await judged("listwise", {"mode": "rank"}, samples=group(BEST, MIDDLE, WORST))
    assert scores(found) == [0.5, 0.5, 0.5]
    assert found[0]["evidence"]["group"]["flip_rate"] == 1.0
    assert "order_flipped" in found[0]["flags"]


@pytest.mark.parametrize(
    "reply",
    [
        {"reason": "", "ranking": [{"response": 1, "rank": 1}, {"response": 1, "rank": 2}, {"response": 3, "rank": 3}]},
        {"reason": "", "ranking": [{"response": 1, "rank": 1}, {"response": 2, "rank": 2}]},
        {"reason": "", "ranking": [{"response": 1, "rank": 1}, {"response": 2, "rank": 2}, {"response": 4, "rank": 3}]},
        {"reason": "", "ranking": [{"response": 1, "rank": 0}, {"response": 2, "rank": 2}, {"response": 3, "rank": 3}]},
        {"reason": "", "ranking": [1, 2, 3]},
        "1 > 2 > 3",
    ],
)
async def test_a_list_that_leaves_one_out_says_nothing(judged: Judged, scripted: ScriptedJudge, reply: Any) -> None:
    scripted.script({"when": "Response 3:", "reply": reply})
    found = await judged("listwise", {"mode": "rank"}, samples=group(BEST, MIDDLE, WORST))
    assert {(one["status"], one["reason"], one["fault"]) for one in found} == {
        ("undecided", "unreadable_reply", "verifier")
    }


async def test_a_group_above_the_window_is_cut_into_windows(judged: Judged, scripted: ScriptedJudge) -> None:
    texts = [f"Couplet {letter} on gulls" for letter in "abcdef"]
    for window in itertools.combinations(texts, 3):
        scripted.script(*by_list(window, {text: rank for rank, text in enumerate(window, start=1)}))
    found = await judged("listwise", {"mode": "rank", "window": 3, "orders": 6}, samples=group(*texts))
    assert len(scripted.requests) <= 12
    assert all("Response 4:" not in chat for chat in scripted.chats())
    assert found[0]["score"] == 1.0
    assert found[-1]["score"] == 0.0
    assert {one["evidence"]["compared"] for one in found} == {6}


# --- against an anchor -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("anchor", "wanted"),
    [("first", [0.5, 0.0, 1.0]), (1, [1.0, 0.5, 1.0]), ("longest", [0.5, 0.0, 1.0]), ("shortest", [1.0, 0.5, 1.0])],
)
async def test_all_are_compared_with_an_anchor_that_has_a_half(
    judged: Judged, scripted: ScriptedJudge, anchor: Any, wanted: list[float]
) -> None:
    scripted.script(*by_quality(BEST, MIDDLE, WORST))
    found = await judged("listwise", {"mode": "reference", "anchor": anchor}, samples=group(MIDDLE, WORST, BEST))
    assert scores(found) == wanted
    assert [one["evidence"]["anchor"] for one in found] == [score == 0.5 for score in wanted]
    assert len(scripted.requests) == 4


async def test_the_anchor_is_drawn_from_the_texts(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_quality(BEST, MIDDLE, WORST))
    texts = [MIDDLE, WORST, BEST]
    found = await judged("listwise", {"mode": "reference"}, samples=group(*texts))
    turned = await judged("listwise", {"mode": "reference"}, samples=group(*texts[::-1]))
    assert scores(found) == scores(turned)[::-1]
    assert scores(found)[drawn(texts)[0]] == 0.5


async def test_a_hollow_anchor_gives_way(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script(*by_quality(BEST, WORST))
    found = await judged("listwise", {"mode": "reference", "anchor": "first"}, samples=group(":", WORST, BEST, WORST))
    assert scores(found) == [0.0, 0.5, 1.0, 0.5]


# --- whom it costs -----------------------------------------------------------------------------------------------


def garbled(text: str, *siblings: str) -> list[dict[str, Any]]:
    """A judge that cannot be read wherever the text stands, and can where a neutral one is in its place."""
    return [
        {"when": [f"{text}\n[end of response"], "reply": "@@@"},
        *(
            {
                "when": [f"{neutral_text(len(text))}\n[end of response_{own}", f"{shown}\n[end of response_{other}"],
                "reply": verdict("tie"),
            }
            for sibling in siblings
            for own, other in ("ab", "ba")
            for shown in (sibling, neutral_text(len(sibling)))
        ),
    ]


async def test_a_text_that_makes_replies_unreadable_costs_only_its_own_member(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    bad = "Chaos verse @@@"
    scripted.script(*by_quality(BEST, WORST), *garbled(bad, BEST, WORST))
    found = await judged("listwise", samples=group(BEST, bad, WORST))
    assert scores(found) == [1.0, 0.0, 0.0]
    assert (found[1]["reason"], found[1]["fault"]) == ("unreadable_reply", "policy")
    assert "unreadable_reply" in found[1]["flags"]
    assert [one["status"] for one in found] == ["scored"] * 3
    assert [found[place]["evidence"]["compared"] for place in (0, 2)] == [1, 1]
    assert found[0].get("flags") is None


async def test_an_anchor_that_spoils_comparisons_is_replaced(judged: Judged, scripted: ScriptedJudge) -> None:
    bad = "Chaos verse @@@"
    scripted.script(*by_quality(BEST, WORST), *garbled(bad, BEST, WORST))
    found = await judged("listwise", {"mode": "reference", "anchor": "first"}, samples=group(bad, WORST, BEST))
    assert scores(found) == [0.0, 0.5, 1.0]
    assert found[0]["reason"] == "unreadable_reply"


async def test_an_anchor_that_spoils_few_comparisons_is_scored_by_the_rest(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    """It meets the others as their anchor alone, and no half is left to it for spoiling one of them."""
    bad, spoiled = "Chaos verse @@@", "Shanty of the quay"
    others = [spoiled, BEST, MIDDLE, WORST]
    scripted.script(*by_quality(*others), *by_quality(BEST, bad), *by_quality(MIDDLE, bad), *by_quality(WORST, bad))
    scripted.script(
        *(
            {
                "when": [f"{own_text}\n[end of response_{own}", f"{text}\n[end of response_{other}"],
                "reply": verdict("tie") if own_text != bad else "@@@",
            }
            for own, other in ("ab", "ba")
            for own_text in (bad, neutral_text(len(bad)))
            for text in (spoiled, neutral_text(len(spoiled)))
        )
    )
    found = await judged("listwise", {"mode": "reference", "anchor": "first"}, samples=group(bad, *others))
    assert found[0]["score"] == 0.0
    assert (found[0]["evidence"]["compared"], found[0]["evidence"]["anchor"]) == (3, False)
    assert [one["status"] for one in found] == ["scored"] * 5


async def test_in_a_list_the_guilty_one_is_found_and_the_rest_ranked(judged: Judged, scripted: ScriptedJudge) -> None:
    bad = "Chaos verse @@@"
    good = (BEST, WORST)
    scripted.script({"when": "Chaos verse @@@", "reply": "@@@"}, *by_list(good, {BEST: 1, WORST: 2}))
    for order in itertools.permutations((bad, *good)):
        for gone in ({bad}, {bad, *good}):
            when = [
                f"{neutral_text(len(text)) if text in gone else text}\n[end of responses {place}"
                for place, text in enumerate(order, start=1)
            ]
            scripted.script({"when": when, "reply": ranking(1, 2, 3)})
    found = await judged("listwise", {"mode": "rank"}, samples=group(BEST, bad, WORST))
    assert scores(found) == [1.0, 0.0, 0.0]
    assert [one.get("reason") for one in found] == [None, "unreadable_reply", "outranked"]


async def test_pairs_that_the_judge_spoils_are_left_out(judged: Judged, scripted: ScriptedJudge) -> None:
    fourth = "Ode to a buoy"
    scripted.script(*by_quality(BEST, MIDDLE, WORST), {"when": [fourth], "reply": "hm"})
    scripted.script(*by_quality(fourth, BEST))
    found = await judged("listwise", samples=group(BEST, MIDDLE, WORST, fourth))
    # fourth: one of three comparisons; MIDDLE and WORST: two of three.
    assert [one["status"] for one in found] == ["scored", "scored", "scored", "undecided"]
    assert scores(found)[:3] == [pytest.approx(2 / 3), 0.5, 0.0]
    assert (found[3]["fault"], found[3]["reason"]) == ("verifier", "unreadable_reply")
    assert all("comparisons_missing" in found[place]["flags"] for place in (1, 2, 3))
    assert "comparisons_missing" not in found[0].get("flags", [])


async def test_an_unreachable_judge_is_an_error_of_those_it_leaves_without_verdict(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    fourth = "Ode to a buoy"
    scripted.script(*by_quality(BEST, MIDDLE, WORST))
    found = await judged("listwise", samples=group(BEST, MIDDLE, WORST, fourth))
    assert scores(found) == [1.0, 0.5, 0.0, None]
    assert (found[3]["status"], found[3]["fault"], found[3]["reason"]) == ("error", "infra", "provider_refused")
    assert all("comparisons_missing" in found[place]["flags"] for place in range(3))


async def test_an_anchor_that_nobody_was_compared_with_has_no_half(judged: Judged, scripted: ScriptedJudge) -> None:
    """The judge is dead: no member has a verdict, the anchor included."""
    scripted.script({"when": "Response A:", "reply": {"$reply": {"status": 500}}})
    found = await judged("listwise", {"mode": "reference"}, samples=group(BEST, MIDDLE, WORST))
    assert {(one["status"], one["fault"], one["reason"]) for one in found} == {("error", "infra", "provider_failed")}


REFUSED = {"$reply": {"status": 400, "text": "longer than the model's context"}}


async def test_a_text_that_the_judges_server_refuses_costs_only_its_own_member(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    """A text so long that no list with it fits would leave its siblings without verdicts, lists and anchors alike."""
    bomb = "Epic of a thousand cantos"
    good = (BEST, MIDDLE, WORST)
    rank = {BEST: 1, MIDDLE: 2, WORST: 3}
    scripted.script({"when": bomb, "reply": REFUSED}, *by_quality(*good))
    for pair in itertools.combinations(good, 2):
        ordered = sorted(pair, key=rank.__getitem__)
        scripted.script(*by_list(pair, {text: place for place, text in enumerate(ordered, start=1)}))
    listed = await judged("listwise", {"mode": "rank"}, samples=group(BEST, bomb, MIDDLE, WORST))
    assert scores(listed) == [1.0, None, 0.5, 0.0]
    assert (listed[1]["status"], listed[1]["fault"]) == ("error", "infra")
    params = {"mode": "reference", "anchor": 1}
    anchored = await judged("listwise", params, samples=group(BEST, bomb, MIDDLE, WORST))
    assert scores(anchored) == [1.0, None, 0.5, 0.0]


async def test_a_server_that_refuses_everything_is_asked_a_few_times_only(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    scripted.script({"when": "Response 1:", "reply": REFUSED})
    found = await judged("listwise", {"mode": "rank", "orders": 1}, samples=group(BEST, MIDDLE, WORST, "Ode to a buoy"))
    assert {(one["status"], one["fault"]) for one in found} == {("error", "infra")}
    assert len(scripted.requests) == 2 * (3 + 1), "the list, and two of it, each with the control"


# --- callers' mistakes -------------------------------------------------------------------------------------------


async def test_a_group_of_one_is_refused(judged: Judged) -> None:
    (found,) = await judged("listwise", samples=group(BEST))
    assert (found["status"], found["reason"], found["fault"]) == ("error", "invalid_sample", "caller")


async def test_members_that_answer_different_prompts_are_refused(judged: Judged, scripted: ScriptedJudge) -> None:
    found = await judged("listwise", samples=[*group(BEST), *group(WORST, prompt="Write of the moon.")])
    assert {(one["status"], one["fault"]) for one in found} == {("error", "caller")}
    assert scripted.requests == []


@pytest.mark.parametrize(
    "params",
    [
        {"mode": "reference", "score": "rank"},
        {"mode": "rank", "strength": True},
        {"mode": "rank", "by": "probability"},
        {"orders": 3},
        {"orders": 0},
        {"opponents": 0},
        {"window": 1},
        {"mode": "rank", "window": 64},
        {"anchor": -1},
        {"anchor": "second"},
        {"aggregate": "majority"},
        {"threshold": 2},
        {"mode": "reference", "anchor": 7},
    ],
)
async def test_bad_params_are_refused(judged: Judged, params: dict[str, Any]) -> None:
    found = await judged("listwise", params, samples=group(BEST, WORST))
    assert {(one["status"], one["reason"]) for one in found} == {("error", "invalid_params")}
