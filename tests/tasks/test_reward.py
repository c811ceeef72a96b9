"""Rewards, as tests write them."""

from __future__ import annotations

import pytest

from rewarden_verifiers.tasks.reward import Unreadable, read_json, read_text


@pytest.mark.parametrize(("text", "score"), [(b"1", 1.0), (b" 0.25\n", 0.25), (b"1e-1", 0.1), (b"0", 0.0)])
def test_a_number_is_the_score(text: bytes, score: float) -> None:
    assert read_text(text).score == score


@pytest.mark.parametrize("text", [b"", b"nan", b"inf", b"1.5", b"-1", b"1 1", b"yes", b"\xff", "１".encode()])
def test_anything_else_is_unreadable(text: bytes) -> None:
    with pytest.raises(Unreadable):
        read_text(text)


@pytest.mark.parametrize(
    ("text", "score", "parts"),
    [
        (b'{"reward": 0.75}', 0.75, {}),
        (b'{"reward": 1, "style": 0.5}', 1.0, {"reward": 1.0, "style": 0.5}),
        (b'{"a": 1, "b": 0.5}', 0.75, {"a": 1.0, "b": 0.5}),
    ],
)
def test_named_rewards_are_parts(text: bytes, score: float, parts: dict[str, float]) -> None:
    found = read_json(text)
    assert (found.score, dict(found.parts)) == (score, parts)


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b"[1]",
        b"1",
        b'{"reward": true}',
        b'{"reward": "1"}',
        b'{"a": 2}',
        b'{"a": 1, "a": 0}',
        b'{"a": NaN}',
        b"{",
    ],
)
def test_other_json_is_unreadable(text: bytes) -> None:
    with pytest.raises(Unreadable):
        read_json(text)
