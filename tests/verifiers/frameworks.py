"""Test files of frameworks, judged by `code`: what the tests of each framework share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rewarden.errors import InvalidReference
from rewarden.types import Verdict
from rewarden_verifiers.execution.reference import read_reference
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference
from tests.verifiers.rooms import judged

Row = tuple[float, str, str]
"""A score, the program that earns it, and what is special about it."""


def file_test(language: str, name: str, content: str, *expect: str, **more: Any) -> dict[str, Any]:
    """A reference with one test file."""
    test: dict[str, Any] = {"type": "file", "name": name, "content": content}
    if expect:
        test["expect"] = list(expect)
    return {"language": language, "isolation": "shared", "tests": [test], **more}


async def assert_scores(reference: dict[str, Any], rows: Sequence[Row], **params: Any) -> Sequence[Verdict]:
    """Each program has the score next to it, and a flag that says that it shared a process with its tests."""
    pairs = [(f"```{reference['language']}\n{code}\n```", reference) for _, code, _ in rows]
    verdicts = await judged(pairs, **params)
    found = [(verdict.score, verdict.status, why) for verdict, (_, _, why) in zip(verdicts, rows, strict=True)]
    feedback = [(verdict.reason, verdict.feedback, verdict.evidence) for verdict in verdicts]
    assert found == [(score, "scored", why) for score, _, why in rows], feedback
    assert all("shared_process" in verdict.flags for verdict in verdicts if verdict.reason != "compile_error")
    return verdicts


def assert_refused(reference: dict[str, Any], path: str, words: str) -> None:
    """The reference is invalid at that path, for a reason with these words."""
    with pytest.raises(InvalidReference, match=words) as raised:
        read_reference(parse_reference(Registry().get("code"), reference))
    assert raised.value.details["path"] == f"reference.tests[0].{path}"
