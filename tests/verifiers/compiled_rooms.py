"""Assertions about programs in two rooms, in compiled languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.types import Verdict
from tests.verifiers.rooms import judged

Row = tuple[float, str, Mapping[str, Any], str]
"""A score, the response that earns it, its reference, and what is special about it."""


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
