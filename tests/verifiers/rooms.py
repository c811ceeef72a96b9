"""Programs judged by `code` in two rooms: what the tests of each language share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings

NOT_BUILT = "sandbox-host build"
"""A part of the feedback where the image of a language is not built: the command that builds it."""

MANY = list(range(100_000))
"""So many numbers that a worker compares them."""


async def judged(pairs: Sequence[tuple[str, Mapping[str, Any]]], **params: Any) -> Sequence[Verdict]:
    """The verdicts of responses, each beside its reference. Skips where the language has no image here."""
    engine = Engine(settings=EngineSettings(workers=1))
    await engine.start()
    try:
        samples = [Sample(response=response, reference=dict(reference)) for response, reference in pairs]
        verdicts = (await engine.verify(Batch(samples=samples, use=Use(name="code", params=params)))).verdicts
    finally:
        await engine.close()
    for verdict in verdicts:
        if verdict.status == "undecided" and NOT_BUILT in str(verdict.feedback):
            pytest.skip(str(verdict.feedback))
    return verdicts


def calling(language: str, target: str, args: list[Any], returns: Any, **more: Any) -> dict[str, Any]:
    """A reference with one call."""
    return {
        "language": language,
        "tests": [{"type": "call", "target": target, "args": args, "returns": returns, **more}],
    }


def asserting(row: Mapping[str, Any], code: str) -> dict[str, Any]:
    """A reference with other test code."""
    return {**row, "tests": [{"type": "assert", "code": code}]}


async def assert_calls(rows: Sequence[tuple[float, str, Mapping[str, Any]]]) -> None:
    """Each program has the score next to it. Rows: score, program, reference."""
    pairs = [(f"```{reference['language']}\n{code}\n```", reference) for _, code, reference in rows]
    verdicts = await judged(pairs)
    found = [(verdict.score, verdict.status, code) for verdict, (_, code, _) in zip(verdicts, rows, strict=True)]
    assert found == [(score, "scored", code) for score, code, _ in rows]


async def assert_rooms(reference: Mapping[str, Any], rows: Sequence[tuple[float, str, str]]) -> None:
    """Each response has the score next to it. Rows: score, response, its title."""
    verdicts = await judged([(body, reference) for _, body, _ in rows], extraction=["last_block", "whole"])
    found = [(verdict.score, why) for verdict, (_, _, why) in zip(verdicts, rows, strict=True)]
    assert found == [(score, why) for score, _, why in rows], [verdict.feedback for verdict in verdicts]


async def assert_each(rows: Sequence[tuple[float, str, Mapping[str, Any], str]]) -> None:
    """Each response has the score next to it. Rows: score, response, reference, its title."""
    verdicts = await judged([(body, reference) for _, body, reference, _ in rows], extraction="whole")
    found = [(verdict.score, why) for verdict, (_, _, _, why) in zip(verdicts, rows, strict=True)]
    assert found == [(score, why) for score, _, _, why in rows], [verdict.feedback for verdict in verdicts]


async def assert_published(language: str, reference: Mapping[str, Any], right: str, wrong: str) -> None:
    """The same task as a row of MultiPL-E: one response passes, and another does not."""
    (test,) = reference["tests"]
    row = {"language": language, "prompt": reference["prefix"], "tests": test["code"], "stop_tokens": reference["stop"]}
    verdicts = await judged([(right, row), (wrong, row)], dataset="multipl_e", extraction="whole")
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0]


async def assert_shared(reference: Mapping[str, Any], rows: Sequence[tuple[float, str]]) -> None:
    """Each response has the score next to it in one process with the tests, and a flag that says so."""
    one = {**reference, "isolation": "shared"}
    verdicts = await judged([(body, one) for _, body in rows], extraction="whole")
    assert [verdict.score for verdict in verdicts] == [score for score, _ in rows]
    assert all("shared_process" in verdict.flags for verdict in verdicts)


async def assert_bad_frames(reference: Mapping[str, Any], bodies: Sequence[str]) -> None:
    """Each response fails because of the frame that it forges."""
    verdicts = await judged([(body, reference) for body in bodies], extraction="whole")
    found = [
        (verdict.score, "bad_frame" in verdict.flags, body[:120])
        for verdict, body in zip(verdicts, bodies, strict=True)
    ]
    assert found == [(0.0, True, body[:120]) for body in bodies]


async def assert_references_at_fault(pairs: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """No program can pass these, and none is blamed."""
    verdicts = await judged(pairs, extraction="whole")
    assert [(verdict.status, verdict.fault) for verdict in verdicts] == [("undecided", "reference")] * len(pairs)
