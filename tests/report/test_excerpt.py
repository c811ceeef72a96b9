"""Texts cut to size with the judged answer in them, and nothing lost without a number."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_server.studies.report.excerpt import Excerpt, excerpt, find_answer, messages


@pytest.mark.parametrize(
    ("text", "extracted", "rule", "marked"),
    [
        ("So \\boxed{4}", "4", "boxed", ["4"]),
        ("4 is not it, \\boxed{14}, no, \\boxed{4}. Step 4.", "4", "boxed", ["4"]),
        ("\\boxed{4} or \\boxed{5}", ["4", "5"], "boxed", ["4", "5"]),
        ("The answer is Paris.", "C", "phrase", ["Paris"]),  # what was read stands there in other words
        ("<think>\\boxed{9}</think>\\boxed{4}", "4", "boxed", ["4"]),
        ("\\boxed{9}</think>\\boxed{4}", "4", "boxed", ["4"]),  # the chat template opened the thought
        ("So \\boxed{4}, where <think> and </think> are tags.", "4", "boxed", ["4"]),
        ("It is 4. The tag `</think>` ends a thought, as in section 4.", "4", "boxed", ["4"]),
        ("<final>4</final> 4", "4", "tag:final", ["4"]),
        ("It is 42, or 4.", "4", None, ["4"]),
        ("It is 42.", "4", None, []),  # a part of another number
        ("C1=CC=CC=C1 is benzene", "C1=CC=CC=C1", "a rule of its own", ["C1=CC=CC=C1"]),
        ("x = 7", 7, None, ["7"]),
        ("nothing here", None, None, []),
        ("nothing here", {"a": 1}, None, []),
        ("true", True, None, []),
        ("", "", "boxed", []),
    ],
)
def test_the_answer_that_was_judged_is_found_again(text: str, extracted: Any, rule: Any, marked: list[str]) -> None:
    assert [text[start:end] for start, end in find_answer(text, extracted, rule)] == marked


def plain(pieces: Excerpt) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in pieces if not isinstance(piece, int))


def test_a_short_text_is_whole_and_marked() -> None:
    assert excerpt("a 4 b", 100, [(2, 3)]) == ["a ", ["4"], " b"]
    assert excerpt("", 100) == []


def test_a_long_text_keeps_its_ends_and_the_answer() -> None:
    text = "a" * 50_000 + "ANSWER" + "b" * 50_000
    pieces = excerpt(text, 900, [(50_000, 50_006)])
    assert pieces == ["a" * 300, 49_500, "a" * 200, ["ANSWER"], "b" * 200, 49_200, "b" * 600]


@given(st.text(max_size=300), st.integers(1, 200), st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300))))
def test_what_is_left_out_is_counted_and_nothing_is_told_twice(
    text: str, limit: int, places: list[tuple[int, int]]
) -> None:
    marks = []
    for start, end in sorted(places):
        if start < end <= len(text) and (not marks or start >= marks[-1][1]):
            marks.append((start, end))
    pieces = excerpt(text, limit, marks)
    left_out = sum(piece for piece in pieces if isinstance(piece, int))
    assert len(plain(pieces)) + left_out == len(text)
    whole = excerpt(text, 1000, marks)
    assert plain(whole) == text
    assert [piece[0] for piece in whole if isinstance(piece, list)] == [text[start:end] for start, end in marks]
    rest = text
    for piece in pieces:
        rest = rest[piece:] if isinstance(piece, int) else rest.removeprefix(plain([piece]))
    assert rest == ""


@given(st.text(max_size=200), st.one_of(st.none(), st.text(max_size=5), st.lists(st.text(max_size=3))), st.text())
def test_finding_never_raises_and_stays_in_the_text(text: str, extracted: Any, rule: str) -> None:
    found = find_answer(text, extracted, rule)
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all(one[1] <= other[0] for one, other in pairwise(found))


def test_messages_in_every_form_become_texts() -> None:
    chat = [
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": "done", "reasoning_content": "hm"},
        {"role": "assistant", "content": None, "tool_calls": [{"name": "f"}]},
        {
            "role": "assistant",
            "content": "look",
            "tool_calls": [{"function": {"name": "g", "arguments": '{"x": 1}'}}, {"name": "h", "arguments": "{torn"}],
        },
        {"role": "tool", "content": 3},
    ]
    assert messages(chat) == [
        ("user", "see\n[image_url]"),
        ("assistant", "<think>hm</think>\ndone"),
        ("tool call", "f"),
        ("assistant", "look"),
        ("tool call", 'g\n```json\n{\n  "x": 1\n}\n```'),
        ("tool call", "h\n```json\n{torn\n```"),
        ("tool", "3"),
    ]
    assert messages("plain") == [("", "plain")]
    assert messages(None) == []
    assert messages({"odd": 1}) == [("", '{"odd": 1}')]
