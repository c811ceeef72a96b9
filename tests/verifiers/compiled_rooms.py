"""Judging, calls and faults for tests of programs in two rooms, in languages whose image a machine can lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings

Row = tuple[float, str, Mapping[str, Any], str]
"""A score, the response that earns it, its reference, and what is special about it."""


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
        said = verdict.feedback or str(verdict.evidence)
        if "sandbox-host build" in said:
            pytest.skip(said)
    return verdicts


async def scores(rows: Sequence[Row], **params: Any) -> None:
    """Asserts that each response earns its score."""
    verdicts = await judged([(response, reference) for _, response, reference, _ in rows], **params)
    found = [(verdict.score, verdict.status, row[3]) for verdict, row in zip(verdicts, rows, strict=True)]
    assert found == [(score, "scored", why) for score, _, _, why in rows], [verdict.feedback for verdict in verdicts]


async def faults(pairs: Sequence[tuple[str, Mapping[str, Any]]], **params: Any) -> Sequence[Verdict]:
    """Returns the verdicts. Asserts that the reference is at fault in each."""
    verdicts = await judged(pairs, **params)
    found = [(verdict.status, verdict.fault) for verdict in verdicts]
    assert found == [("undecided", "reference")] * len(verdicts), [verdict.feedback for verdict in verdicts]
    return verdicts


def calling(language: str, target: str, args: list[Any], returns: Any, **more: Any) -> dict[str, Any]:
    """A reference with one call."""
    return {
        "language": language,
        "tests": [{"type": "call", "target": target, "args": args, "returns": returns, **more}],
    }
