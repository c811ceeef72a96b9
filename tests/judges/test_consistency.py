"""`consistency`: thought against answer, by a judge and by rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_server.engine.engine import Engine
from rewarden_verifiers.judges.mentions import mentioned, overlap
from tests.judges.conftest import Judged
from tests.judges.driven import differences
from tests.judges.scripted import ScriptedJudge

SUPPORTS = {"conclusion": "4", "reason": "it ends there", "verdict": "supports"}
CONTRADICTS = {"conclusion": "4", "reason": "it ends at 4", "verdict": "contradicts"}
UNRELATED = {"conclusion": "", "reason": "it ends nowhere", "verdict": "unrelated"}
RESPONSE = "<think>2 and 2 are four, that is 4.</think>The answer is 5."


async def test_its_cases_hold(engine: Engine, scripted: ScriptedJudge) -> None:
    assert await differences("consistency", engine, scripted) == {}


async def test_both_sides_are_fenced_apart(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "are four", "reply": CONTRADICTS})
    verdict = await judged("consistency", response=RESPONSE, prompt="What is 2+2?")
    assert (verdict["score"], verdict["reason"], verdict["extracted"]) == (0.0, "contradicts", "5")
    chat = scripted.chats()[0]
    assert "]\n2 and 2 are four, that is 4.\n[end of reasoning " in chat
    assert "]\n5\n[end of answer " in chat
    schema = scripted.requests[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["conclusion", "reason", "verdict"]


async def test_a_thought_that_the_server_set_apart_is_read_too(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "]\nfour, I think\n[end of reasoning", "reply": SUPPORTS})
    message = {"role": "assistant", "content": "The answer is 4.", "reasoning_content": "four, I think"}
    assert (await judged("consistency", response=[message]))["score"] == 1.0


async def test_other_tags_may_hold_the_thought(judged: Judged, scripted: ScriptedJudge) -> None:
    scripted.script({"when": "]\nfour, I think\n[end of reasoning", "reply": SUPPORTS})
    params = {"tags": {"open": "<reason>", "close": "</reason>"}}
    verdict = await judged("consistency", params, response="<reason>four, I think</reason> The answer is 4.")
    assert verdict["score"] == 1.0


async def test_what_stands_before_the_answer_is_the_reasoning_where_wanted(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    scripted.script({"when": "]\n2 and 2 are\n[end of reasoning", "reply": SUPPORTS})
    response = r"<think>Hm, a sum.</think>2 and 2 are \boxed{4}"
    assert (await judged("consistency", {"reasoning": "before"}, response=response))["score"] == 1.0


@pytest.mark.parametrize(
    ("replies", "aggregate", "score", "reason"),
    [
        ([SUPPORTS, SUPPORTS, UNRELATED], "majority", 1.0, None),
        ([UNRELATED, UNRELATED, CONTRADICTS], "majority", 0.0, "unrelated"),
        ([SUPPORTS, CONTRADICTS, CONTRADICTS], "all", 0.0, "contradicts"),
        ([SUPPORTS, CONTRADICTS, CONTRADICTS], "any", 1.0, None),
        ([SUPPORTS, SUPPORTS, CONTRADICTS], "mean", 2 / 3, None),
    ],
)
async def test_opinions_are_combined(
    judged: Judged,
    scripted: ScriptedJudge,
    replies: list[Any],
    aggregate: str,
    score: float,
    reason: str | None,
) -> None:
    scripted.script({"when": "are four", "replies": replies})
    verdict = await judged("consistency", {"samples": 3, "aggregate": aggregate}, response=RESPONSE)
    assert (verdict["score"], verdict["reason"]) == (pytest.approx(score), reason)
    assert sorted(verdict["evidence"]["labels"]) == sorted(reply["verdict"] for reply in replies)


async def test_text_that_makes_replies_unreadable_counts_as_the_worst_label(
    judged: Judged, scripted: ScriptedJudge
) -> None:
    scripted.script({"when": "What is 2+2?", "replies": ["}", "{", "}", SUPPORTS, SUPPORTS, SUPPORTS]})
    verdict = await judged("consistency", response=RESPONSE, prompt="What is 2+2?")
    assert (verdict["score"], verdict["reason"], verdict["fault"]) == (0.0, "unreadable_reply", "policy")


async def test_a_long_thought_is_zero_and_not_shown(judged: Judged, scripted: ScriptedJudge) -> None:
    verdict = await judged("consistency", response=f"<think>{'so 4 ' * 20_000}</think>The answer is 4.")
    assert (verdict["reason"], scripted.requests) == ("too_long", [])


async def test_a_reasoning_may_need_some_words(judged: Judged, scripted: ScriptedJudge) -> None:
    response = "<think>4, of course</think>The answer is 4."
    assert (await judged("consistency", {"rule": "mentions"}, response=response))["score"] == 1.0
    params = {"rule": "mentions", "least_words": 4}
    assert (await judged("consistency", params, response=response))["reason"] == "no_reasoning"
    assert scripted.requests == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("4", "so it is 4."),
        ("4", "(4)"),
        ("4", "'4'"),
        ("4", "x=4"),
        ("4", "7-4"),
        ("1.5", "it is 1.5, then"),
        ("-5", "gives -5"),
        ("Paris", "Paris's streets"),
        ("PARIS", "in paris"),
        ("New  York", "in New\nYork"),
        ("h1", "exact h1.symm"),
        ("巴黎", "首都是巴黎。"),
        ("h₁", "use h₁"),
        ("a+b", "is a+b"),
    ],
)
def test_a_name_that_occurs_is_mentioned(name: str, text: str) -> None:
    assert mentioned([name], text) == [name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("4", "14 41 4.5 0.4 4,000 1,4"),
        ("5", "is -5"),
        ("5", "-5"),
        ("1.5", "15"),
        ("no", "not known, unknown"),
        ("h1", "h10 h1_symm xh1 h1'"),
        ("", "anything"),
        (" ", "any thing"),
        ("a", "cat"),
    ],
)
def test_a_part_of_another_word_or_number_is_not(name: str, text: str) -> None:
    assert mentioned([name], text) == []


def test_overlap_counts_different_words() -> None:
    assert overlap("a b b", "b c d", "answer") == 0.5
    assert overlap("a b b", "b c d", "reasoning") == pytest.approx(1 / 3)
    assert overlap("a b b", "b c d", "both") == pytest.approx(2 / 5)
    assert overlap("...", "b", "answer") is None


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_texts_can_be_compared(name: str, text: str) -> None:
    assert mentioned([name], text) in ([], [name])
    for share in (overlap(name, text, "answer"), overlap(name, text, "both")):
        assert share is None or 0 <= share <= 1
    assert mentioned([name], name) == ([name] if name.strip() and mentioned([name], f" {name} ") else [])


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"values": {"supports": 2}}, "params.values.supports"),
        ({"tags": {"open": "a", "close": "a"}}, "params.tags.close"),
        ({"tags": {"open": ""}}, "params.tags.open"),
        ({"least_words": 0}, "params.least_words"),
        ({"threshold": 0}, "params.threshold"),
        ({"answer": "nonsense"}, "extraction"),
        ({"reasoning": "before", "answer": "final"}, "params.answer"),
    ],
)
async def test_a_bad_option_is_named(judged: Judged, params: dict[str, Any], path: str) -> None:
    verdict = await judged("consistency", params, response=RESPONSE)
    assert (verdict["reason"], verdict["fault"]) == ("invalid_params", "caller")
    assert path in str(verdict)


# --- texts that are written to take long ---


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ab", "a" + "\u0301\u0323" * 30_000),
        ("ab", "a" + "\u0301\u200b\u0323\u034f" * 15_000),
        ("1" * 30_000, "1" * 60_000 + "x"),
        (".1" * 15_000, ".1" * 30_000 + "x"),
        ("12 " * 10_000 + "1", "12 " * 20_000),
    ],
)
def test_a_text_does_not_take_the_square_of_its_length(name: str, text: str) -> None:
    # Each would take seconds, and all that wait for the loop with it.
    for _ in range(3):
        assert mentioned([name], text) == []


def test_marks_up_to_thirty_are_compared() -> None:
    assert mentioned(["a\u0323\u0301"], "\u1ea1\u0301") == ["a\u0323\u0301"]
    assert mentioned(["ａ"], "A") == ["ａ"]


async def test_an_answer_that_is_too_long_is_not_searched_for_names(judged: Judged) -> None:
    params = {"rule": "mentions", "answer": "final", "reasoning": "thinking", "longest": 20}
    response = "<think>two</think>" + "apple " * 10
    assert (await judged("consistency", params, response=response, reference="apple"))["reason"] == "too_long"
