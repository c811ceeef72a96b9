"""Hacks that reach for what reports, in one process with assertions: none scores, and an honest program does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewarden.types import Sample
from tests.attacks.sandbox.forging import FORGING
from tests.attacks.sandbox.judge import Judge, fenced, judge
from tests.verifiers.rooms import NOT_BUILT


@pytest.fixture(scope="module")
def judged(launcher: str) -> Iterator[Judge]:
    """A judge of two slots."""
    with judge(launcher, slots=2) as made:
        yield made


@pytest.mark.parametrize("language", FORGING)
def test_no_program_reports_for_its_tests(judged: Judge, language: str) -> None:
    forging = FORGING[language]
    reference = {
        "language": language,
        "isolation": "shared",
        "entry_point": "add",
        "prefix": forging.prefix,
        "tests": [{"type": "assert", "code": forging.tests}],
    }
    programs = {"right": forging.right, **forging.hacks}
    samples = [Sample(response=fenced(code, language), reference=reference) for code in programs.values()]
    verdicts = judged.judge(samples)
    for verdict in verdicts:
        if verdict.status == "undecided" and NOT_BUILT in str(verdict.feedback):
            pytest.skip(str(verdict.feedback))
    found = {name: (verdict.score, verdict.status) for name, verdict in zip(programs, verdicts, strict=True)}
    told = {name: (v.reason, v.feedback, v.flags, v.evidence) for name, v in zip(programs, verdicts, strict=True)}
    assert found == {name: (float(name == "right"), "scored") for name in programs}, told
