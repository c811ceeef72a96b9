"""The view: which part of a response is judged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidSample
from rewarden_verifiers.view import SPECIAL_TOKENS, View, Viewed, apply_view, plain, transcript, view_of
from tests.verifiers.counting import HOSTILE, steps

FULL, THINKING, OPEN = View(part="full"), View(part="thinking"), View(starts_open=True)


@pytest.mark.parametrize(
    ("response", "final"),
    [
        ("42", "42"),
        ("<think>so</think>42", "42"),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("<think>a</think>\nb\n<think>c</think>d", "d"),
        ("<think>a</think><call>b</call><think>c</think>d", "d"),
        ("<think>a</think> <think>b</think>c", "c"),
        ("so</think>42", "42"),
        ("<think>so</think>42<|im_end|>", "42"),
        ("4<|im_end|>2", "42"),
        ("", ""),
    ],
)
def test_the_final_part_follows_the_closed_thought(response: str, final: str) -> None:
    assert apply_view(response) == Viewed(final)


QUOTED = [
    "The tag <think> begins a thought.",
    "before <think>",
    "A model writes <think>so</think> first.",
    "`</think>` ends a thought.",
    "End it with ``</think>``, and go on.",
    "```\nso</think>42\n```\nis how it looks.",
    "~~~xml\n<think>so</think>\n~~~",
    "````md\n```\nso</think>42\n```\n````",
]


@pytest.mark.parametrize("answer", QUOTED)
def test_tags_that_are_quoted_are_text(answer: str) -> None:
    """Attack: none; each of these earned 0 for a thought that it quotes."""
    assert apply_view(answer) == Viewed(answer)
    assert apply_view(answer, THINKING) == Viewed(None, "no_thought")
    assert apply_view(f"<think>so</think>{answer}") == Viewed(answer)
    assert apply_view(f"<think>so</think>{answer}", THINKING) == Viewed("so")
    assert apply_view(f"so</think>{answer}", OPEN) == Viewed(answer)
    assert apply_view(message(content=answer, reasoning="so")) == Viewed(answer)


@pytest.mark.parametrize(
    "thought",
    [
        "They ask about <think> tags.",
        "They ask about `</think>`.",
        "Say\n```\n</think>\n```\nto them.",
        "```\nso</think>42\n```\n",
        "A fence that never ends:\n```python\nx = 1\n",
    ],
)
def test_tags_that_a_thought_quotes_do_not_end_it(thought: str) -> None:
    answer = "\n\n```python\nprint(42)\n```\n"
    assert apply_view(f"<think>{thought}</think>{answer}") == Viewed(answer)
    assert apply_view(f"<think>{thought}</think>{answer}", THINKING) == Viewed(thought)
    assert apply_view(f"{thought}</think>{answer}", OPEN) == Viewed(answer)


def test_a_closing_tag_within_code_ends_a_thought_that_nothing_else_ends() -> None:
    assert apply_view("<think>the ` sign</think>use ` it") == Viewed("use ` it")


def test_a_thought_ends_at_its_first_closing_tag() -> None:
    """As chat servers cut it: what comes after it is seen, and hides nothing."""
    assert apply_view("<think>12</think>13</think>14") == Viewed("13</think>14")


@pytest.mark.parametrize(
    "response",
    [
        "<think>42",
        " \n<think>42",
        "<think>a</think>b<think>c",
        "<think>a</think><think>b",
        "<think>a</think>\nb\n<think>c</think>\n<think>d",
    ],
)
def test_a_thought_that_never_closes_is_no_answer(response: str) -> None:
    assert apply_view(response) == Viewed(None, "unclosed_thought")


def test_where_the_template_opened_the_thought_no_closing_tag_means_still_thinking() -> None:
    assert apply_view("42", OPEN) == Viewed(None, "unclosed_thought")
    assert apply_view("so</think>42", OPEN) == Viewed("42")


def test_the_full_part_has_everything_but_special_tokens() -> None:
    assert apply_view("<think>so</think>42</s>", FULL) == Viewed("<think>so</think>42")
    assert apply_view("<think>so", FULL) == Viewed("<think>so")


def test_the_full_part_has_the_tag_that_the_template_wrote() -> None:
    view = View(part="full", starts_open=True)
    assert apply_view("so</think>42", view) == Viewed("<think>so</think>42")
    assert apply_view("\n<think>so</think>42", view) == Viewed("\n<think>so</think>42")


@pytest.mark.parametrize(
    ("response", "thought", "reason"),
    [
        ("<think>so</think>42", "so", None),
        ("so</think>42", "so", None),
        ("<think>so", None, "unclosed_thought"),
        ("42", None, "no_thought"),
    ],
)
def test_the_thought_alone(response: str, thought: str | None, reason: str | None) -> None:
    assert apply_view(response, THINKING) == Viewed(thought, reason)


def test_tags_of_ones_own_name_a_part_that_stands_anywhere() -> None:
    answer = View(part="thinking", open="<answer>", close="</answer>")
    assert apply_view("<think>so</think>\nThus:\n<answer>42</answer>!", answer) == Viewed("42")
    assert apply_view("<answer>42", answer) == Viewed(None, "unclosed_thought")
    assert apply_view("42</answer><answer>", answer) == Viewed("42")
    assert apply_view("42 <answer>", answer) == Viewed(None, "no_thought")


def message(**fields: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "?"}, {"role": "assistant", **fields}, {"role": "tool", "content": "x"}]


def test_messages_give_the_last_assistant_message() -> None:
    assert apply_view(message(content="42")) == Viewed("42")
    assert apply_view(message(content=[{"type": "text", "text": "4"}, {"type": "image"}, "2"])) == Viewed("42")
    assert apply_view(message(content=None, tool_calls=[])) == Viewed("")


CALLS = [
    {"type": "function", "function": {"name": "search", "arguments": '{"q": 1, "q": 2}'}},
    {"function": {"name": "now", "arguments": {}}},
    {"name": "bare", "arguments": {"é": [1]}},
]
IN_TAGS = (
    '\n<tool_call>\n{"name": "search", "arguments": "{\\"q\\": 1, \\"q\\": 2}"}\n</tool_call>'
    '\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    '\n<tool_call>\n{"name": "bare", "arguments": {"é": [1]}}\n</tool_call>'
)


def test_what_a_message_calls_is_shown_where_it_is_asked_for() -> None:
    """Nowhere else: a box in an argument is not an answer."""
    response = message(content="Wait.", tool_calls=CALLS)
    assert apply_view(response) == Viewed("Wait.")
    assert apply_view(response, View(calls=True)) == Viewed("Wait." + IN_TAGS)
    alone = apply_view(message(content=None, tool_calls=CALLS[1:2]), View(calls=True))
    assert alone == Viewed('\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>')
    assert view_of("full", View(calls=True)) == View(part="full", calls=True)
    assert view_of({"calls": False}, View(calls=True)) == View()


@pytest.mark.parametrize("text", ["a </think> b", "a <think> b", "</s>", "</tool_call><tool_call>", "<|im_end|>"])
def test_nothing_in_an_argument_is_taken_for_a_tag(text: str) -> None:
    seen = apply_view(message(content="", tool_calls=[{"name": "f", "arguments": {"t": text}}]), View(calls=True)).text
    assert seen is not None
    body = seen.removeprefix("\n<tool_call>\n").removesuffix("\n</tool_call>")
    assert json.loads(body) == {"name": "f", "arguments": {"t": text}}


def test_calls_of_other_protocols_are_shown_too() -> None:
    older = message(content=None, function_call={"name": "f", "arguments": "{}"})
    parts = message(content=[{"type": "text", "text": "Wait."}, {"type": "tool_use", "name": "f", "input": {"a": 1}}])
    assert apply_view(older, View(calls=True)).text == '\n<tool_call>\n{"name": "f", "arguments": "{}"}\n</tool_call>'
    said = 'Wait.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    assert apply_view(parts, View(calls=True)).text == said


@pytest.mark.parametrize("calls", ["search", 7, ["search"], [{"function": 7}]])
def test_calls_of_another_form_are_the_callers_mistake(calls: Any) -> None:
    with pytest.raises(InvalidSample, match="tool_calls"):
        apply_view(message(content="", tool_calls=calls), View(calls=True))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_thought_that_the_chat_server_set_apart_is_closed(field: str) -> None:
    response = message(content="42", **{field: "so"})
    assert apply_view(response) == Viewed("42")
    assert apply_view(response, OPEN) == Viewed("42")
    assert apply_view(response, THINKING) == Viewed("so")
    assert apply_view(response, FULL) == Viewed("<think>so</think>42")
    assert apply_view(response, View(part="full", open="[T]", close="[/T]")) == Viewed("[T]so[/T]42")
    assert plain(response) == "<think>so</think>42"


def test_tags_in_a_thought_that_was_set_apart_do_not_cut_the_answer() -> None:
    assert apply_view(message(content="42", reasoning="a </think> b <think>")) == Viewed("42")


KEPT = View(keep_tokens=True)


@pytest.mark.parametrize("token", SPECIAL_TOKENS)
def test_special_tokens_may_be_kept_within_the_text(token: str) -> None:
    assert apply_view(f"{token}4{token}2{token}\n{token} ", KEPT) == Viewed(f"4{token}2")
    assert apply_view(f"<think>so</think>4{token}2", KEPT) == Viewed(f"4{token}2")
    assert apply_view(f"{token}<think>so</think>42", KEPT) == Viewed("42")
    assert apply_view(f"{token}{token}", KEPT) == Viewed("")
    assert view_of("full", KEPT) == View(part="full", keep_tokens=True)
    assert view_of({"keep_tokens": False}, KEPT) == View()


def test_what_stripping_a_token_joins_is_text() -> None:
    assert apply_view("<|im_<|im_end|>end|>") == Viewed("<|im_end|>")


@pytest.mark.parametrize("token", SPECIAL_TOKENS)
def test_special_tokens_are_stripped(token: str) -> None:
    assert apply_view(f"4{token}2{token}") == Viewed("42")


def test_other_special_tokens_may_be_named() -> None:
    assert apply_view("42[EOS]</s>", view_of({"special_tokens": ["[EOS]"]})) == Viewed("42</s>")
    assert apply_view("42</s>", view_of({"special_tokens": []})) == Viewed("42</s>")


@pytest.mark.parametrize(
    ("response", "told"),
    [
        ([{"role": "user", "content": "x"}], "no message with role 'assistant'"),
        ([], "no message with role 'assistant'"),
        (["x"], "a message must be an object"),
        ([{"role": "assistant", "content": 5}], "must be text or a list of parts"),
    ],
)
def test_messages_that_hold_no_response_are_the_callers_fault(response: Any, told: str) -> None:
    with pytest.raises(InvalidSample, match=told):
        apply_view(response)


@pytest.mark.parametrize(
    ("params", "path"),
    [
        (5, "view"),
        ("finall", "view.part"),
        ({"prt": "full"}, "view.prt"),
        ({"part": None}, "view.part"),
        ({"open": ""}, "view.open"),
        ({"close": 1}, "view.close"),
        ({"open": "|", "close": "|"}, "view.close"),
        ({"starts_open": "yes"}, "view.starts_open"),
        ({"keep_tokens": 1}, "view.keep_tokens"),
        ({"special_tokens": "</s>"}, "view.special_tokens"),
        ({"special_tokens": [""]}, "view.special_tokens"),
        ({"special_tokens": 5}, "view.special_tokens"),
    ],
)
def test_a_wrong_view_is_told_by_its_path(params: Any, path: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        view_of(params)
    assert caught.value.details["path"] == path


def test_a_prompt_is_all_messages() -> None:
    assert transcript([{"role": "system", "content": "a"}, {"role": "user", "content": ["b"]}]) == "a\n\nb"


@given(
    st.text() | st.lists(st.sampled_from(HOSTILE)).map("".join), st.sampled_from([View(), FULL, THINKING, OPEN, KEPT])
)
def test_no_text_raises_and_what_is_seen_was_there(text: str, view: View) -> None:
    viewed = apply_view(text, view)
    assert (viewed.text is None) == (viewed.reason is not None)
    if viewed.text is not None and not view.starts_open and not any(token in text for token in SPECIAL_TOKENS):
        assert viewed.text in text


@pytest.mark.parametrize("view", [View(), FULL, THINKING, KEPT], ids=["final", "full", "thinking", "kept"])
@pytest.mark.parametrize("piece", HOSTILE)
def test_the_work_does_not_depend_on_the_size(piece: str, view: View) -> None:
    apply_view(piece, view)  # what is worked out once for each view is worked out now
    small, large = piece * 100, piece * 10_000
    assert steps(lambda: apply_view(large, view)) <= steps(lambda: apply_view(small, view)) + 50
