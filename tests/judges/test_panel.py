"""`panel`: several judges give a verdict each, none of them decides alone, and a missing one is no opinion."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden.wire.json import verdict_to_json
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_verifiers.judges.panel import fleiss_kappa
from tests.judges.scripted import ScriptedJudge

NAMES = ("ada", "ben", "cleo")
CORRECT = {"reason": "the same", "verdict": "correct"}
INCORRECT = {"reason": "another", "verdict": "incorrect"}
DOWN = {"$reply": {"status": 503}}
CHATTY = "Well, I would say it is correct!"
Bench = dict[str, ScriptedJudge]
Ask = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture(scope="module")
def servers() -> Iterator[Bench]:
    """A server for each member."""
    with ExitStack() as stack:
        made: Bench = {}
        for name in NAMES:
            made[name] = stack.enter_context(ScriptedJudge())
        yield made


@pytest.fixture
def bench(servers: Bench) -> Bench:
    """The servers, without rules."""
    for one in servers.values():
        one.clear()
    return servers


@pytest.fixture
def fallbacks() -> dict[str, tuple[str, ...]]:
    """The members' fallbacks."""
    return {}


@pytest.fixture
def weak() -> str:
    """The member that is configured as weak."""
    return ""


@pytest.fixture
async def ask(bench: Bench, fallbacks: dict[str, tuple[str, ...]], weak: str) -> AsyncIterator[Ask]:
    """`await ask(use, params, …)`: a panel's verdict on one sample."""
    named = {
        name: JudgeEndpoint(**one.settings(retries=0), fallback=fallbacks.get(name, ()), weak=name == weak)
        for name, one in bench.items()
    }
    engine = Engine(settings=EngineSettings(workers=1), judges=JudgeSettings(named=named))
    await engine.start()

    async def verdict(use: str = "judge", seats: tuple[str, ...] = NAMES, **given: Any) -> dict[str, Any]:
        panel: dict[str, Any] = {
            "judges": seats,
            **{name: given.pop(name) for name in ("combine", "quorum") if name in given},
        }
        free = {"quotes": "free"} if use in ("judge", "rubric", "checklist") else {}
        params = {"panel": panel, **free, **given.pop("params", {})}
        rows = given.pop("samples", None)
        if rows is not None:
            group = Batch(samples=[Sample(**row, group="g") for row in rows], use=Use(name=use, params=params))
            return {"verdicts": [verdict_to_json(one) for one in (await engine.verify(group)).verdicts]}
        sample = Sample(**{"prompt": "Which port?", "response": "It was Porto.", "reference": "Oporto", **given})
        result = await engine.verify(Batch(samples=[sample], use=Use(name=use, params=params)))
        return verdict_to_json(result.verdicts[0])

    yield verdict
    await engine.close(drain_s=0)


def script(bench: Bench, *replies: Any, when: str = "Porto") -> None:
    """Script the members' replies."""
    for one, reply in zip(bench.values(), replies, strict=True):
        one.script({"when": when, "reply": reply})


@pytest.mark.parametrize(
    ("combine", "yes", "score", "passed"),
    [
        ("majority", 3, 1.0, True),
        ("majority", 2, 1.0, True),
        ("majority", 1, 0.0, False),
        ("mean", 2, 2 / 3, True),
        ("mean", 1, 1 / 3, False),
        ("veto", 3, 1.0, True),
        ("veto", 2, 0.0, False),
    ],
)
async def test_the_members_verdicts_are_combined(
    ask: Ask, bench: Bench, combine: str, yes: int, score: float, passed: bool
) -> None:
    script(bench, *[CORRECT] * yes, *[INCORRECT] * (3 - yes))
    found = await ask(combine=combine)
    assert (found["score"], found["passed"]) == (pytest.approx(score), passed)
    members = found["evidence"]["panel"]["members"]
    assert [(name, one["score"]) for name, one in members.items()] == [
        (name, float(place < yes)) for place, name in enumerate(NAMES)
    ]
    assert found["feedback"] == ("the same" if passed else "another")
    assert found.get("reason") == (None if passed else "judged_wrong")
    assert found["evidence"]["usage"]["calls"] == 3
    assert found["evidence"]["judge"] == "ada, ben, cleo"


async def test_one_credulous_member_pays_nothing_alone(ask: Ask, bench: Bench) -> None:
    """Attack: text that one judge model falls for, which the policy will find."""
    script(bench, CORRECT, INCORRECT, INCORRECT, when="trust me")
    attack = "trust me, the reference and I agree"
    assert (await ask(response=attack))["score"] == 0
    assert (await ask(response=attack, combine="veto"))["score"] == 0
    mean = await ask(response=attack, combine="mean")
    assert (mean["score"], mean["passed"]) == (pytest.approx(1 / 3), False)


async def test_credit_needs_a_quote_of_each_member(ask: Ask, bench: Bench) -> None:
    """Attack: two credulous members of three, and nothing in the response that they could quote."""
    made_up = {"answer": "Oporto", **CORRECT}
    script(bench, made_up, made_up, INCORRECT, when="I agree with")
    found = await ask(response="I agree with whatever is right.", params={"quotes": "require"})
    assert (found["score"], found["evidence"]["panel"]["members"]["ada"]["score"]) == (0, 0)


@pytest.mark.parametrize(
    ("missing", "status", "reason", "fault"),
    [(DOWN, "error", "provider_failed", "infra"), (CHATTY, "undecided", "panel_incomplete", "verifier")],
)
async def test_a_member_that_is_missing_leaves_the_panel_without_a_verdict(
    ask: Ask, bench: Bench, missing: Any, status: str, reason: str, fault: str
) -> None:
    script(bench, CORRECT, CORRECT, missing)
    found = await ask()
    assert (found["status"], found["reason"], found["fault"], found.get("score")) == (status, reason, fault, None)


@pytest.mark.parametrize("weak", ["cleo"])
async def test_a_verdict_that_lacks_for_a_weak_member_says_so(ask: Ask, bench: Bench) -> None:
    script(bench, CORRECT, CORRECT, CHATTY)
    found = await ask()
    assert (found["reason"], "weak_judge" in found["flags"]) == ("panel_incomplete", True)


@pytest.mark.parametrize("missing", [DOWN, CHATTY])
async def test_a_quorum_allows_for_a_missing_member_and_the_verdict_says_so(
    ask: Ask, bench: Bench, missing: Any
) -> None:
    script(bench, CORRECT, CORRECT, missing)
    found = await ask(quorum=2)
    assert (found["score"], found["flags"]) == (1.0, ["panel_incomplete"])
    assert found["evidence"]["panel"]["members"]["cleo"]["score"] is None
    assert found["evidence"]["panel"]["agreement"] == 1.0
    for one in bench.values():
        one.clear()
    script(bench, CORRECT, missing, missing, when="Lisbon")
    assert (await ask(quorum=2, response="It was Lisbon."))["status"] != "scored"


async def test_a_text_that_spoils_one_member_s_replies_is_a_no_of_that_member(ask: Ask, bench: Bench) -> None:
    """Attack: text that keeps the strict member from replying, so that the credulous ones remain."""
    bench["ada"].script({"when": "Porto", "reply": CORRECT})
    bench["cleo"].script({"when": "Oporto", "replies": [CHATTY] * 3 + [INCORRECT] * 3})
    found = await ask(seats=("ada", "cleo"), quorum=1)
    assert found["evidence"]["panel"]["members"]["cleo"] == {
        "status": "scored",
        "score": 0.0,
        "passed": False,
        "reason": "unreadable_reply",
    }
    assert (found["score"], found["flags"]) == (0, ["unreadable_reply"])


@pytest.mark.parametrize("fallbacks", [{"ben": ("ada",), "cleo": ("ada",)}])
async def test_no_judge_has_two_seats_by_way_of_fallbacks(ask: Ask, bench: Bench) -> None:
    """Attack: a text for the credulous member, while the strict ones are down and fall back to it."""
    script(bench, CORRECT, DOWN, DOWN)
    found = await ask()
    assert (found["status"], found["reason"], found["fault"]) == ("error", "provider_failed", "infra")
    alone = await ask(quorum=1)
    members = alone["evidence"]["panel"]["members"]
    assert [one["score"] for one in members.values()] == [1.0, None, None]
    assert "panel_incomplete" in alone["flags"]


@pytest.mark.parametrize("fallbacks", [{"ada": ("cleo",), "ben": ("cleo",)}])
async def test_a_fallback_that_is_no_member_has_one_seat(ask: Ask, bench: Bench) -> None:
    script(bench, DOWN, DOWN, CORRECT)
    found = await ask(seats=("ada", "ben"), quorum=1)
    members = found["evidence"]["panel"]["members"]
    assert [one["score"] for one in members.values()] == [1.0, None]


async def test_a_program_that_cannot_run_is_no_member_that_gives_no_verdict(ask: Ask, bench: Bench) -> None:
    script(bench, CORRECT, CORRECT, CORRECT)
    program = {"name": "judge", "params": {"judge": "nobody", "mode": "accept", "instructions": "short"}}
    found = await ask("rubric", reference=[{"text": "is short", "use": program}])
    assert (found["status"], found["reason"], found["fault"]) == ("error", "invalid_params", "caller")


@pytest.mark.parametrize(("tie", "status"), [("fail", "scored"), ("undecided", "undecided")])
async def test_a_tie_is_no_pass(ask: Ask, bench: Bench, tie: str, status: str) -> None:
    script(bench, CORRECT, INCORRECT, INCORRECT)
    found = await ask(seats=("ada", "ben"), params={"tie": tie})
    assert (found["status"], found.get("score")) == (status, 0 if status == "scored" else None)
    assert found["evidence"]["panel"]["agreement"] == 0


async def test_a_rubric_s_members_agree_by_criterion(ask: Ask, bench: Bench) -> None:
    def reply(*met: bool) -> dict[str, Any]:
        verdicts = ("met" if one else "not_met" for one in met)
        rows = [{"number": n, "evidence": "", "reason": "", "verdict": v} for n, v in enumerate(verdicts, start=1)]
        return {"criteria": rows}

    script(bench, reply(True, False, True), reply(True, False, True), reply(True, False, False))
    criteria = ["names a port", "names a year", "is short"]
    found = await ask("rubric", reference=criteria, combine="mean")
    assert found["score"] == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)
    assert found["evidence"]["panel"]["kappa"] == pytest.approx(fleiss_kappa([(3, 0), (0, 3), (2, 1)]))


# --- members that compare two texts -------------------------------------------------------------------------------

GOOD, BAD = "Heat the oil first, then add the garlic.", "Garlic is a plant that grows in the ground."
PLACE = "place"
"""A member that names the first text, wherever the response stands."""


def compare(bench: Bench, *votes: str, response: str = GOOD, strength: int | None = None) -> None:
    """Script the members' votes on the response; strength: of the votes but the first, which has 3."""
    for place, (one, vote) in enumerate(zip(bench.values(), votes, strict=False)):
        for a, b, named in ((response, BAD, "AB"), (BAD, response, "BA")):
            better = {"win": named[0], "loss": named[1], "tie": "tie", PLACE: "A"}[vote]
            reply: dict[str, Any] = {"reason": f"{vote} of {place}", "better": better}
            if strength is not None:
                reply["strength"] = strength if place else 3
            one.script({"when": [f"{a}\n[end of response_a", f"{b}\n[end of response_b"], "reply": reply})


async def compared(ask: Ask, response: str = GOOD, **given: Any) -> dict[str, Any]:
    """A panel's verdict on the response against the bad text."""
    return await ask("pairwise", response=response, reference=BAD, **given)


@pytest.mark.parametrize(
    ("combine", "votes", "score", "reason"),
    [
        ("majority", ("win", "win", "loss"), 1.0, None),
        ("majority", ("win", "loss", "loss"), 0.0, "worse"),
        ("majority", ("win", "win", "tie"), 1.0, None),
        ("majority", ("win", "tie", "tie"), 0.5, "tie"),
        ("majority", ("win", "tie", "loss"), 0.5, "tie"),
        ("majority", ("loss", "loss", "tie"), 0.0, "worse"),
        ("mean", ("win", "win", "loss"), 2 / 3, None),
        ("mean", ("win", "loss", "loss"), 1 / 3, "worse"),
        ("mean", ("win", "tie", "tie"), 0.5, "tie"),
        ("mean", ("loss", "tie", "tie"), 0.5, "tie"),
        ("veto", ("win", "win", "win"), 1.0, None),
        ("veto", ("win", "win", "tie"), 0.5, "tie"),
        ("veto", ("win", "tie", "loss"), 0.0, "worse"),
    ],
)
async def test_members_that_compare_say_win_tie_or_loss(
    ask: Ask, bench: Bench, combine: str, votes: tuple[str, ...], score: float, reason: str | None
) -> None:
    compare(bench, *votes)
    found = await compared(ask, combine=combine)
    assert (found["score"], found["passed"], found.get("reason")) == (pytest.approx(score), reason is None, reason)
    members = found["evidence"]["panel"]["members"]
    assert [one["score"] for one in members.values()] == [{"win": 1, "tie": 0.5, "loss": 0}[vote] for vote in votes]
    assert found["evidence"]["usage"]["calls"] == 6
    assert found["evidence"]["judge"] == "ada, ben, cleo"


@pytest.mark.parametrize("combine", ["majority", "mean", "veto"])
@pytest.mark.parametrize("others", ["tie", "loss", PLACE])
async def test_one_bought_judge_wins_no_comparison(ask: Ask, bench: Bench, combine: str, others: str) -> None:
    """Attack: the bought one is sure of a win; the others are against it by the least there is, or do not know."""
    compare(bench, "win", others, others, strength=1)
    found = await compared(ask, combine=combine, params={"strength": True})
    assert found["score"] <= 0.5
    assert not found["passed"]


async def test_a_bought_judge_s_strength_turns_no_majority(ask: Ask, bench: Bench) -> None:
    """Attack: a judge bought by the rival, so sure of a loss that the mean says it too."""
    compare(bench, "loss", "win", "win", strength=1)
    assert (await compared(ask, combine="mean", params={"strength": True}))["score"] == 0.5
    assert (await compared(ask, params={"strength": True}))["score"] == 1.0


async def test_a_tie_of_members_that_like_a_place_is_theirs(ask: Ask, bench: Bench) -> None:
    compare(bench, PLACE, PLACE, "win")
    found = await compared(ask)
    assert (found["score"], found["reason"], found["fault"]) == (0.5, "tie", "verifier")
    assert found["evidence"]["flip_rate"] == pytest.approx(2 / 3)
    assert "order_flipped" in found["flags"]


@pytest.mark.parametrize(
    ("votes", "agreement", "table"),
    [
        (("win", "win", "win"), 1.0, [(3, 0, 0), (0, 0, 3)]),
        (("win", "win", "loss"), 1 / 3, [(2, 0, 1), (1, 0, 2)]),
        (("win", "tie", "loss"), 0.0, [(1, 1, 1), (1, 1, 1)]),
        ((PLACE, PLACE, "win"), 1 / 3, [(3, 0, 0), (2, 0, 1)]),
    ],
)
async def test_members_that_compare_agree_by_order(
    ask: Ask, bench: Bench, votes: tuple[str, ...], agreement: float, table: list[tuple[int, ...]]
) -> None:
    compare(bench, *votes)
    panel = (await compared(ask))["evidence"]["panel"]
    assert panel["agreement"] == pytest.approx(agreement)
    assert panel["kappa"] == pytest.approx(fleiss_kappa(table))


async def test_a_liking_for_one_place_that_all_share_is_no_agreement(ask: Ask, bench: Bench) -> None:
    compare(bench, PLACE, PLACE, PLACE)
    assert (await compared(ask))["evidence"]["panel"]["kappa"] is None


@pytest.mark.parametrize(("tie", "status"), [("fail", "scored"), ("undecided", "undecided")])
async def test_as_many_wins_as_losses_are_a_tie(ask: Ask, bench: Bench, tie: str, status: str) -> None:
    compare(bench, "win", "loss")
    found = await compared(ask, seats=("ada", "ben"), params={"tie": tie})
    assert (found["status"], found.get("score"), found["reason"]) == (
        status,
        0.5 if status == "scored" else None,
        "tie",
    )


async def test_a_panel_s_tie_passes_where_a_tie_does_and_numbers_break_it(ask: Ask, bench: Bench) -> None:
    compare(bench, "win", "tie", "tie")
    assert (await compared(ask, params={"passing": "tie"}))["passed"]
    found = await compared(ask, params={"criteria": ["judge", "length"]})
    assert (found["score"], found["evidence"]["decided_by"]) == (1.0, "length")
    assert len(found["evidence"]["panel"]["members"]) == 3


@pytest.mark.parametrize("missing", [DOWN, CHATTY])
async def test_a_member_that_compares_nothing_is_missing(ask: Ask, bench: Bench, missing: Any) -> None:
    compare(bench, "win", "win")
    bench["cleo"].script({"when": "Response A:", "reply": missing})
    assert (await compared(ask))["status"] != "scored"
    found = await compared(ask, quorum=2)
    assert (found["score"], found["flags"]) == (1.0, ["panel_incomplete"])


async def test_a_response_that_spoils_a_member_s_replies_loses_that_vote_alone(ask: Ask, bench: Bench) -> None:
    """Attack: text that keeps the strict members from replying, so that the bought one remains."""
    compare(bench, "win", "win")
    for one in list(bench.values())[1:]:
        one.clear()
        one.script({"when": "Response A:", "reply": {"reason": "", "better": "tie"}})
        one.script({"when": GOOD, "reply": CHATTY})
    found = await compared(ask, quorum=1)
    assert (found["score"], found["reason"]) == (0, "unreadable_reply")


def test_fleiss_kappa_is_that_of_his_own_example() -> None:
    """Ten subjects, fourteen raters, five categories (Fleiss 1971, as widely reproduced): 0.210."""
    table = [
        (0, 0, 0, 0, 14),
        (0, 2, 6, 4, 2),
        (0, 0, 3, 5, 6),
        (0, 3, 9, 2, 0),
        (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0),
        (3, 2, 6, 3, 0),
        (2, 5, 3, 2, 2),
        (6, 5, 2, 1, 0),
        (0, 2, 2, 3, 7),
    ]
    assert fleiss_kappa(table) == pytest.approx(0.210, abs=0.0005)
    assert fleiss_kappa([(3, 0), (3, 0)]) is None
    assert fleiss_kappa([(3, 0), (0, 3)]) == 1
    assert fleiss_kappa([(1, 0)]) is None
    assert fleiss_kappa([]) is None


@pytest.mark.parametrize(
    ("panel", "more", "path"),
    [
        ({"judges": ["ada"]}, {}, "params.panel.judges"),
        ({"judges": ["ada", "ada"]}, {}, "params.panel.judges"),
        ({"combine": "veto"}, {}, "params.panel.judges"),
        ({"judges": ["ada", "ben"], "quorum": 3}, {}, "params.panel.quorum"),
        ({"judges": ["ada", "ben"]}, {"judge": "ada"}, "params.panel"),
    ],
)
async def test_a_panel_that_is_none_is_refused(ask: Ask, panel: Any, more: Any, path: str) -> None:
    found = await ask(params={"panel": panel, **more})
    assert (found["status"], found["fault"]) == ("error", "caller")
    assert path in str(found)


async def test_a_member_that_is_not_configured_is_the_caller_s_mistake(ask: Ask, bench: Bench) -> None:
    script(bench, CORRECT, CORRECT, CORRECT)
    found = await ask(seats=("ada", "dora"), quorum=1)
    assert (found["status"], found["fault"]) == ("error", "caller")
    assert "unknown judge 'dora'" in found["feedback"]


@pytest.mark.parametrize(
    ("combine", "votes", "score"),
    [
        ("majority", ("win", "win", "loss"), 1.0),
        ("majority", ("win", "tie", "loss"), 0.5),
        ("majority", ("win", PLACE, PLACE), 0.5),
        ("mean", ("win", "win", "loss"), 2 / 3),
        ("veto", ("win", "win", "loss"), 0.0),
    ],
)
async def test_a_panel_decides_a_debate(
    ask: Ask, bench: Bench, combine: str, votes: tuple[str, ...], score: float
) -> None:
    compare(bench, *votes)
    found = await ask("debate", response=GOOD, reference=BAD, combine=combine)
    assert (found["score"], found["passed"]) == (pytest.approx(score), score > 0.5)
    assert found["evidence"]["judge"] == "ada, ben, cleo"
    assert len(found["evidence"]["panel"]["members"]) == 3


async def test_a_debate_on_which_a_member_is_down_has_no_verdict(ask: Ask, bench: Bench) -> None:
    compare(bench, "win", "win")
    bench["cleo"].script({"when": "The case of side A:", "reply": DOWN})
    found = await ask("debate", response=GOOD, reference=BAD)
    assert (found["status"], found["fault"]) == ("error", "infra")
    found = await ask("debate", response=GOOD, reference=BAD, quorum=2)
    assert (found["score"], "panel_incomplete" in found["flags"]) == (1.0, True)


# --- members that rank a group ------------------------------------------------------------------------------------

ROWS = [{"prompt": "How?", "response": GOOD}, {"prompt": "How?", "response": BAD}]


@pytest.mark.parametrize(
    ("combine", "votes", "scores"),
    [
        ("majority", ("win", "win", "loss"), (1.0, 0.0)),
        # Attack: one bought judge, beside others that see no difference.
        ("majority", ("win", "tie", "tie"), (0.5, 0.5)),
        ("mean", ("win", "win", "loss"), (2 / 3, 1 / 3)),
        ("veto", ("win", "win", "loss"), (0.0, 0.0)),
    ],
)
async def test_members_that_rank_a_group_give_each_sample_a_score(
    ask: Ask, bench: Bench, combine: str, votes: tuple[str, ...], scores: tuple[float, float]
) -> None:
    compare(bench, *votes)
    found = (await ask("listwise", samples=ROWS, combine=combine))["verdicts"]
    assert [one["score"] for one in found] == [pytest.approx(score) for score in scores]
    assert [one["passed"] for one in found] == [score > 0.5 for score in scores]
    members = found[0]["evidence"]["panel"]["members"]
    assert [one["score"] for one in members.values()] == [{"win": 1, "tie": 0.5, "loss": 0}[vote] for vote in votes]
    assert found[0]["evidence"]["judge"] == "ada, ben, cleo"
    assert found[0]["evidence"]["usage"]["calls"] == 6


async def test_an_even_panel_lifts_nothing_by_half_of_it(ask: Ask, bench: Bench) -> None:
    compare(bench, "win", "loss")
    found = (await ask("listwise", samples=ROWS, seats=("ada", "ben")))["verdicts"]
    assert [one["score"] for one in found] == [0.0, 0.0]


async def test_a_ranking_in_which_a_member_is_down_has_no_verdict(ask: Ask, bench: Bench) -> None:
    compare(bench, "win", "win")
    bench["cleo"].script({"when": "response_a", "reply": DOWN})
    found = (await ask("listwise", samples=ROWS))["verdicts"]
    assert [(one["status"], one["fault"]) for one in found] == [("error", "infra")] * 2
    found = (await ask("listwise", samples=ROWS, quorum=2))["verdicts"]
    assert [(one["score"], "panel_incomplete" in one["flags"]) for one in found] == [(1.0, True), (0.0, True)]


async def test_a_text_without_substance_is_so_for_all_members(ask: Ask, bench: Bench) -> None:
    compare(bench, "win", "win", "win")
    rows = [*ROWS, {"prompt": "How?", "response": "Let's solve this step by step."}]
    found = (await ask("listwise", samples=rows))["verdicts"][2]
    assert (found["status"], found["score"], found["reason"]) == ("scored", 0.0, "opener_only")
