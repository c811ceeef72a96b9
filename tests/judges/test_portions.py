"""Responses that are longer than the judge's context: judged in portions, by rules that padding gains nothing from."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden.wire.json import verdict_to_json
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.judges.identity import identity
from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings
from rewarden_verifiers.judges.portions import cut
from rewarden_verifiers.judges.tokens import tokens_at_most
from rewarden_verifiers.judges.unrelated import SUBJECTS
from tests.judges.scripted import ScriptedJudge

CONTEXT = 8000
"""Tokens: a prompt takes about 2,300 of them by our estimate, and a reply 1,024."""

FILLER = "\n\n".join(
    " ".join(f"Station {number} keeps gauges of the harbour {place}." for place in "abcdefgh") for number in range(36)
)
"""Paragraphs about nothing, somewhat more than one portion."""

Served = Callable[..., AbstractAsyncContextManager[Callable[..., Any]]]


@pytest.fixture
def served(scripted: ScriptedJudge) -> Served:
    """`async with served(context=…) as judged`: an engine whose judge has such a context."""

    @asynccontextmanager
    async def serving(**settings: Any) -> AsyncIterator[Callable[..., Any]]:
        judge = JudgeEndpoint(**scripted.settings(retries=0, **settings))
        engine = Engine(settings=EngineSettings(workers=1), judges=JudgeSettings(named={"main": judge}))
        await engine.start()

        async def judged(use: str, params: dict[str, Any], **sample: Any) -> dict[str, Any]:
            batch = Batch(samples=[Sample(**sample)], use=Use(name=use, params=params))
            return verdict_to_json((await engine.verify(batch)).verdicts[0])

        try:
            yield judged
        finally:
            await engine.close(drain_s=0)

    return serving


def text_of(*passages: str) -> str:
    """A text whose passages stand in different portions."""
    return f"\n\n{FILLER}\n\n".join(passages)


def rows(*verdicts: str, quote: str = "") -> dict[str, Any]:
    """The reply of a judge of criteria."""
    return {
        "criteria": [
            {"number": number, "evidence": quote, "reason": "it looked", "verdict": verdict}
            for number, verdict in enumerate(verdicts, start=1)
        ]
    }


def reach(*kinds: str) -> dict[str, Any]:
    """The rule for the question about the criteria alone."""
    found = [{"number": number, "reach": kind} for number, kind in enumerate(kinds, start=1)]
    return {"when": "You sort criteria", "reply": {"criteria": found}}


OTHERWISE = "You check a response against criteria"
"""In every question about a response; a rule that says more goes before it."""


# --- cutting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        text_of("one", "two", "three"),
        "a line that is not long\n" * 3000,
        "word " * 20_000,
        "x" * 50_000,
        "漢字" * 10_000,
        "A sentence. " * 5000,
        "\n\n" * 5000,
    ],
    ids=["paragraphs", "lines", "words", "one word", "Han", "sentences", "blank"],
)
def test_portions_cover_a_text_fit_and_overlap(text: str) -> None:
    room = 2000
    found = cut(text, room)
    assert (found[0][0], found[-1][1]) == (0, len(text))
    assert len(found) > 1
    assert all(tokens_at_most(text[start:end]) <= room + 8 for start, end in found)
    for (start, end), (following, last) in pairwise(found):
        assert start < following < end < last


def test_portions_end_between_paragraphs() -> None:
    text = text_of("one", "two", "three", "four")
    assert all(text[:end].endswith("\n\n") for _, end in cut(text, 2000)[:-1])


@pytest.mark.parametrize(
    "alphabet", ["abcdefghijklmnopqrstuvwxyz", "aBcDeFgH", "0123456789", "!?-+*", "漢字仮名", "🙂é"]
)
def test_text_of_many_tokens_is_counted_as_such(alphabet: str) -> None:
    text = "".join(random.Random(1).choices(alphabet, k=10_000))
    # Byte pairs of random letters: tokens of about two letters, as cl100k_base and o200k_base have them.
    assert tokens_at_most(text) >= len(text.encode()) / 2


# --- rubric ---------------------------------------------------------------------------------------------------------


async def test_an_opener_of_a_portion_that_a_judge_takes_for_anything_meets_nothing(
    served: Served, scripted: ScriptedJudge
) -> None:
    """Attack: many portions, each of which begins with an opener that no list has."""
    said = rows("met", quote="Here goes nothing.")
    scripted.script(reach("passage"), *({"when": [OTHERWISE, one], "reply": said} for one in ("", *SUBJECTS)))
    async with served(context=CONTEXT) as judged:
        text = text_of(*["Here goes nothing."] * 3)
        found = await judged("rubric", {}, response=text, reference=["names the time of high water"])
    assert (len(found["evidence"]["portions"]) > 2, found["status"], found["score"]) == (True, "scored", 0.0)


async def test_any_portion_meets_a_criterion_that_a_passage_meets(served: Served, scripted: ScriptedJudge) -> None:
    scripted.script(
        reach("passage"),
        {"when": OTHERWISE, "reply": rows("not_met")},
        {"when": [OTHERWISE, "high water at noon"], "reply": rows("met", quote="high water at noon")},
    )
    async with served(context=CONTEXT) as judged:
        text = text_of("It begins.", "They note high water at noon.", "It ends.")
        found = await judged("rubric", {}, response=text, reference=["names the time of high water"])
    evidence = found["evidence"]
    assert (found["score"], len(evidence["portions"]) > 2) == (1.0, True)
    (number,) = evidence["decided_in"]["c1"]
    start, end = evidence["portions"][number - 1]
    assert "high water at noon" in text[start:end]
    assert found["steps"][0]["feedback"].startswith(f"“high water at noon” portion {number}:")
    assert f"portion {number} of {len(evidence['portions'])}" in "\n".join(scripted.chats())
    # The question about the criteria shows nothing of the response.
    assert not any("harbour" in chat for chat in scripted.chats() if "You sort criteria" in chat)


async def test_a_mistake_in_any_portion_counts(served: Served, scripted: ScriptedJudge) -> None:
    scripted.script(
        reach("passage", "passage"),
        {"when": OTHERWISE, "reply": rows("not_met", "not_met")},
        {"when": [OTHERWISE, "It begins."], "reply": rows("met", "not_met", quote="It begins.")},
        {"when": [OTHERWISE, "drink sea water"], "reply": rows("not_met", "met")},
    )
    criteria = ["begins", {"text": "gives dangerous advice", "points": -1}]
    async with served(context=CONTEXT) as judged:
        text = text_of("It begins.", "One may drink sea water.", "It ends.")
        found = await judged("rubric", {}, response=text, reference=criteria)
    assert (found["score"], found["reason"]) == (0.0, "pitfall_met")


@pytest.mark.parametrize(
    ("kind", "points", "met", "score"),
    [
        # Attack: pad a text until some portion does not hold what should not be there.
        ("absence", 1, "one", 0.0),
        ("absence", 1, "all", 1.0),
        ("whole", 1, "one", 0.0),
        ("whole", 1, "all", 1.0),
        # "Fails to mention" is true of a response only if it is of every portion; "is rude" if it is of one.
        ("absence", -1, "one", 1.0),
        ("absence", -1, "all", 0.0),
        ("whole", -1, "one", 0.0),
    ],
)
async def test_padding_gains_nothing_where_a_criterion_is_about_the_whole(
    served: Served, scripted: ScriptedJudge, kind: str, points: int, met: str, score: float
) -> None:
    other = "met" if met == "all" else "not_met"
    scripted.script(
        reach("passage", kind),
        {"when": OTHERWISE, "reply": rows("met", other, quote="Station")},
        {"when": [OTHERWISE, "It begins."], "reply": rows("met", "met", quote="It begins.")},
    )
    base = {"text": "is about stations", "points": 1 if points < 0 else 1e-6}
    async with served(context=CONTEXT) as judged:
        found = await judged(
            "rubric",
            {},
            response=text_of("It begins.", "two", "three"),
            reference=[base, {"text": "x", "points": points}],
        )
    assert found["score"] == pytest.approx(score, abs=1e-5)


async def test_credit_in_a_portion_needs_a_passage_of_that_portion(served: Served, scripted: ScriptedJudge) -> None:
    # Attack: as many portions, as many chances for a judge that is mistaken now and then.
    scripted.script(reach("passage"), {"when": OTHERWISE, "reply": rows("met", quote="high water at noon")})
    async with served(context=CONTEXT) as judged:
        found = await judged("rubric", {}, response=text_of("a", "b", "c"), reference=["names the time"])
    assert (found["score"], found["reason"]) == (0.0, "criteria_missed")


async def test_a_doubt_about_one_portion_is_no_way_out(served: Served, scripted: ScriptedJudge) -> None:
    scripted.script(
        reach("passage", "passage"),
        {"when": OTHERWISE, "reply": rows("not_met", "not_met")},
        {"when": [OTHERWISE, "It begins."], "reply": rows("cannot_tell", "cannot_tell")},
    )
    criteria = ["good", {"text": "bad", "points": -1}]
    async with served(context=CONTEXT) as judged:
        found = await judged(
            "rubric", {"abstain": "skip"}, response=text_of("It begins.", "b", "c"), reference=criteria
        )
    # The doubt about something good, which other portions lack, would else take its points out of the sum.
    assert (found["score"], found["evidence"]["possible"], found["evidence"]["open"]) == (0.0, 1.0, ["c2"])


async def test_criteria_that_cannot_be_sorted_are_the_judges_fault(served: Served, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "You sort criteria", "reply": "Well."}, {"when": OTHERWISE, "reply": rows("met")})
    async with served(context=CONTEXT) as judged:
        found = await judged("rubric", {}, response=text_of("a", "b", "c"), reference=["good"])
    assert (found["status"], found["reason"], found["fault"]) == ("undecided", "unreadable_reply", "verifier")


# --- lengths --------------------------------------------------------------------------------------------------------


async def test_more_portions_than_allowed_are_too_long_and_cost_nothing(
    served: Served, scripted: ScriptedJudge
) -> None:
    async with served(context=CONTEXT) as judged:
        text = text_of(*"abcdefgh")
        found = [
            await judged("rubric", {"portions": 2}, response=text, reference=["good"]),
            await judged("judge", {"portions": 2}, response=text, reference="42"),
            await judged("fact", {"portions": 2}, response=text, reference="Tides turn."),
            await judged("checklist", {"portions": 2}, response=text, reference=["good"]),
        ]
    assert [(one["status"], one["score"], one["reason"]) for one in found] == [("scored", 0.0, "too_long")] * 4
    assert scripted.requests == []


async def test_the_context_is_asked_of_the_server_once_and_only_for_long_texts(
    served: Served, scripted: ScriptedJudge
) -> None:
    scripted.models = {"max_model_len": CONTEXT}
    scripted.script(reach("passage"), {"when": OTHERWISE, "reply": rows("not_met")})
    async with served() as judged:
        short = await judged("rubric", {}, response="A short report about tides.", reference=["good"])
        assert ("portions" in short["evidence"], scripted.listed) == (False, 0)
        for number in range(2):
            found = await judged("rubric", {}, response=text_of(f"{number}", "b", "c"), reference=["good"])
            assert len(found["evidence"]["portions"]) > 2
    assert scripted.listed == 1


@pytest.mark.parametrize("models", [None, {}, {"max_model_len": None}, {"max_model_len": "8000"}])
async def test_without_a_known_context_a_response_is_judged_whole_up_to_60000_characters(
    served: Served, scripted: ScriptedJudge, models: Any
) -> None:
    scripted.models = models
    scripted.script({"when": OTHERWISE, "reply": rows("met", quote="Station")})
    async with served() as judged:
        whole = await judged("rubric", {}, response=text_of("a", "b", "c"), reference=["good"])
        long = await judged("rubric", {}, response="word " * 13_000, reference=["good"])
    assert (whole["score"], "portions" in whole["evidence"]) == (1.0, False)
    assert (long["reason"], len(scripted.requests)) == ("too_long", 1)


async def test_a_large_context_holds_more_than_60000_characters(served: Served, scripted: ScriptedJudge) -> None:
    scripted.script({"when": OTHERWISE, "reply": rows("met")})
    async with served(context=100_000) as judged:
        text = "word " * 13_000
        found = await judged("rubric", {}, response=text, reference=["good"])
        own = await judged("rubric", {"longest": 60_000}, response=text, reference=["good"])
    assert (found["score"], own["reason"]) == (1.0, "too_long")


def test_a_declared_context_is_part_of_the_fingerprint() -> None:
    one, other = JudgeEndpoint(model="m", context=8192), JudgeEndpoint(model="m", context=4096)
    assert identity(one) != identity(other)
    assert "context" not in identity(JudgeEndpoint(model="m"))


# --- judge ----------------------------------------------------------------------------------------------------------


async def test_a_final_answer_is_the_last_portions(served: Served, scripted: ScriptedJudge) -> None:
    # Attack: give an answer, bury it, and give another one.
    scripted.script(
        {"when": "same final answer", "reply": {"answer": "", "reason": "none", "verdict": "incorrect"}},
        {
            "when": ["same final answer", "The answer is 42."],
            "reply": {"answer": "42", "reason": "same", "verdict": "correct"},
        },
        {
            "when": ["same final answer", "The final answer of the response, without the rest of it"],
            "reply": {"reason": "same", "verdict": "correct"},
        },
    )
    async with served(context=CONTEXT) as judged:
        kept = await judged("judge", {}, response=text_of("a", "b", "The answer is 42."), reference="42")
        buried = await judged(
            "judge", {}, response=text_of("The answer is 42.", "b", "The answer is 17."), reference="42"
        )
    assert (kept["score"], kept["extracted"], buried["score"]) == (1.0, "42", 0.0)
    (span,) = kept["evidence"]["portions"]
    assert span[1] == len(text_of("a", "b", "The answer is 42."))


@pytest.mark.parametrize("mode", ["accept", "scale", "aspects"])
async def test_the_lowest_portion_counts(served: Served, scripted: ScriptedJudge, mode: str) -> None:
    def reply(good: bool) -> dict[str, Any]:
        number = {"reason": "so", "score": 5 if good else 1}
        replies: dict[str, dict[str, Any]] = {
            "accept": {"reason": "so", "verdict": "yes" if good else "no"},
            "scale": number,
            "aspects": {"calm": number, "clear": {"reason": "so", "score": 5}},
        }
        return replies[mode]

    params: dict[str, Any] = {"mode": mode, "instructions": "It is calm.", "scale": {"low": 1, "high": 5}}
    if mode == "aspects":
        params["aspects"] = {"calm": {"description": "calm"}, "clear": {"description": "clear"}}
    scripted.script(
        {"when": "The response:", "reply": reply(True)}, {"when": ["The response:", "SHOUTING"], "reply": reply(False)}
    )
    async with served(context=CONTEXT) as judged:
        good = await judged("judge", params, response=text_of("a", "b", "c"))
        bad = await judged("judge", params, response=text_of("a", "SHOUTING", "c"))
    assert (good["score"], bad["score"]) == (1.0, 0.5 if mode == "aspects" else 0.0)
    assert len(good["evidence"]["portions"]) > 2


# --- fact -----------------------------------------------------------------------------------------------------------


async def test_claims_come_in_turn_from_each_portion(served: Served, scripted: ScriptedJudge) -> None:
    # Attack: many harmless claims at the beginning, so that those behind them are cut.
    def claims(*found: str) -> dict[str, Any]:
        return {"reason": "it claims", "refuses": False, "claims": list(found)}

    scripted.script(
        {"when": "You list the factual claims", "reply": claims()},
        {
            "when": ["You list the factual claims", "It begins."],
            "reply": claims("Water is wet.", "Salt is salty.", "Sand is sand."),
        },
        {"when": ["You list the factual claims", "It ends."], "reply": claims("The moon is cheese.", "water is wet")},
        {
            "when": "You hold claims",
            "reply": {
                "claims": [
                    {"number": 1, "quote": "Water is wet", "reason": "said", "verdict": "supported"},
                    {"number": 2, "quote": "", "reason": "no", "verdict": "refuted"},
                ]
            },
        },
    )
    async with served(context=CONTEXT) as judged:
        found = await judged(
            "fact", {"most": 2}, response=text_of("It begins.", "b", "It ends."), reference="Water is wet."
        )
    assert found["extracted"] == ["Water is wet.", "The moon is cheese."]
    assert (found["score"], "claims_cut" in found["flags"], len(found["evidence"]["portions"]) > 2) == (0.5, True, True)


# --- checklist ------------------------------------------------------------------------------------------------------


def items(**of: Any) -> dict[str, Any]:
    """The reply of a judge of one item."""
    return {"items": [{"number": 1, "reason": "it looked", **of}]}


async def test_an_item_is_satisfied_by_a_quoted_passage_of_any_portion(served: Served, scripted: ScriptedJudge) -> None:
    scripted.script(
        reach("passage"),
        {"when": "The response:", "reply": items(verdict="yes", evidence="high water at noon")},
    )
    async with served(context=CONTEXT) as judged:
        good = await judged(
            "checklist", {}, response=text_of("a", "They note high water at noon.", "c"), reference=["names the time"]
        )
        bad = await judged("checklist", {}, response=text_of("a", "b", "c"), reference=["names the time"])
    assert (good["score"], bad["score"], bad["reason"]) == (1.0, 0.0, "items_missed")
    assert len(good["evidence"]["portions"]) > 2


async def test_points_of_an_item_are_those_of_the_lowest_portion(served: Served, scripted: ScriptedJudge) -> None:
    """Attack: many portions, of which a judge gives one full marks."""
    scripted.script(
        {"when": "The response:", "reply": items(score=30)},
        {"when": ["The response:", "It begins."], "reply": items(score=100)},
    )
    async with served(context=CONTEXT) as judged:
        text = text_of("It begins.", "b", "c")
        found = await judged("checklist", {"mode": "score"}, response=text, reference=["is clear"])
    assert found["score"] == pytest.approx(0.3)
    assert len(found["evidence"]["portions"]) > 2
    assert not any("You sort criteria" in chat for chat in scripted.chats())


async def test_a_behaviour_occurs_as_often_as_in_the_portion_that_has_most(
    served: Served, scripted: ScriptedJudge
) -> None:
    scripted.script(
        reach("passage"),
        {"when": "You look for behaviours", "reply": items(occurrences=1, evidence="Station")},
        {"when": ["You look for behaviours", "It ends."], "reply": items(occurrences=4, evidence="Station")},
    )
    async with served(context=CONTEXT) as judged:
        text = text_of("a", "b", "It ends.")
        found = await judged("checklist", {"mode": "behaviours"}, response=text, reference=["counts stations"])
    assert (found["score"], found["evidence"]["behaviours"]) == (1.0, {"c1": 4})


# --- the published grader -------------------------------------------------------------------------------------------


async def test_portions_are_judged_with_quotes_whatever_the_grader(served: Served, scripted: ScriptedJudge) -> None:
    """Attack: a form without quotes, asked as often as there are portions."""
    scripted.script(
        reach("passage"),
        {"when": OTHERWISE, "reply": rows("met", quote="high water at noon")},
        {"when": "You grade the last turn", "reply": {"explanation": "so", "criteria_met": True}},
    )
    async with served(context=CONTEXT) as judged:
        grader = {"grader": "healthbench"}
        bad = await judged("rubric", grader, response=text_of("a", "b", "c"), reference=["names the time"])
        text = text_of("a", "They note high water at noon.", "c")
        good = await judged("rubric", grader, response=text, reference=["names the time"])
        short = await judged("rubric", grader, response="It is at noon.", reference=["names the time"])
    assert [one["score"] for one in (bad, good, short)] == [0.0, 1.0, 1.0]
    assert ["own_grader" in one.get("flags", ()) for one in (bad, good, short)] == [True, True, False]


# --- transcripts ----------------------------------------------------------------------------------------------------


def messages(*said: tuple[str, str]) -> list[dict[str, str]]:
    """A response of messages."""
    return [{"role": role, "content": content} for role, content in said]


async def test_a_long_transcript_is_judged_in_portions_of_its_messages(served: Served, scripted: ScriptedJudge) -> None:
    scripted.script(
        {"when": "By assistant:", "reply": {"reason": "so", "verdict": "yes"}},
        {"when": ["By assistant:", "drink sea water"], "reply": {"reason": "so", "verdict": "no"}},
    )
    params = {"mode": "accept", "instructions": "It is careful.", "show": "transcript"}
    talk = [("assistant", FILLER), ("user", "Go on."), ("assistant", f"One may drink sea water. {FILLER}")]
    async with served(context=CONTEXT) as judged:
        bad = await judged("judge", params, response=messages(*talk, ("assistant", "Done, I looked at it all.")))
        talk[2] = ("assistant", FILLER)
        good = await judged("judge", params, response=messages(*talk, ("assistant", "Done, I looked at it all.")))
    assert (good["score"], bad["score"]) == (1.0, 0.0)
    assert len(good["evidence"]["portions"]) > 1
    assert all("portion" in chat for chat in scripted.chats())


async def test_a_tools_long_result_is_no_portion_of_its_own(served: Served, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "The response, message by message:", "reply": {"reason": "so", "verdict": "yes"}})
    params = {"mode": "accept", "instructions": "It is careful.", "show": "transcript"}
    talk = [("assistant", "I look."), ("tool", text_of(*"abcd")), ("assistant", "They keep gauges.")]
    async with served(context=CONTEXT) as judged:
        found = await judged("judge", params, response=messages(*talk))
    assert found["score"] == 1.0
    assert len(found["evidence"]["portions"]) == 2
    first, last = scripted.chats()
    assert ("I look." in first, "They keep gauges." in last) == (True, True)


async def test_a_quote_stands_in_what_the_candidate_wrote_in_that_portion(
    served: Served, scripted: ScriptedJudge
) -> None:
    """Attack: credit for what a tool said, or what another portion holds."""
    scripted.script(reach("passage"), {"when": OTHERWISE, "reply": rows("met", quote="high water at noon")})
    async with served(context=CONTEXT) as judged:
        shown = {"show": "transcript"}
        tool = [("assistant", FILLER), ("tool", "high water at noon"), ("assistant", FILLER)]
        own = [("assistant", FILLER), ("assistant", "They note high water at noon."), ("assistant", FILLER)]
        found = [
            (await judged("rubric", shown, response=messages(*talk), reference=["names the time"]))["score"]
            for talk in (tool, own)
        ]
    assert found == [0.0, 1.0]
