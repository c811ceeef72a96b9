"""Attacks on blame through `code`: a candidate is blamed for the failures that it causes, and a reference for its
own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewarden.types import Sample, Verdict
from tests.attacks.sandbox.blame import BLAMES, BROKEN, HONEST, Blame
from tests.attacks.sandbox.judge import Judge, fenced, judge, reference


@pytest.fixture(scope="module")
def judged(launcher: str) -> Iterator[Judge]:
    """A judge of three slots."""
    with judge(launcher) as made:
        yield made


def told(verdict: Verdict) -> tuple[object, ...]:
    """Returns what matters when a test fails."""
    return (
        verdict.status,
        verdict.score,
        verdict.reason,
        verdict.fault,
        verdict.flags,
        verdict.feedback,
        verdict.evidence,
    )


@pytest.mark.parametrize("blame", BLAMES, ids=str)
def test_what_the_candidate_brings_about_is_its_own(judged: Judge, blame: Blame) -> None:
    verdict = judged.one(fenced(blame.attack, blame.language), blame.reference)
    assert verdict.status == "scored", told(verdict)
    passes = blame.expect is None and bool(blame.flags)
    assert (verdict.score, verdict.fault) == ((1.0, None) if passes else (0.0, "policy")), told(verdict)
    if blame.expect is not None:
        assert verdict.reason == blame.expect, told(verdict)
    assert set(blame.flags) <= set(verdict.flags), told(verdict)


@pytest.mark.parametrize("blame", BLAMES, ids=str)
def test_its_honest_twin_is_paid_without_a_flag(judged: Judge, blame: Blame) -> None:
    verdict = judged.one(fenced(blame.honest, blame.language), blame.reference)
    assert (verdict.status, verdict.score, verdict.flags) == ("scored", 1.0, ()), told(verdict)


@pytest.mark.parametrize("case", HONEST)
def test_an_honest_program_is_paid_whatever_its_reference_looks_like(judged: Judge, case: str) -> None:
    program, asked = HONEST[case]
    verdict = judged.one(fenced(program), asked)
    assert (verdict.status, verdict.score) == ("scored", 1.0), told(verdict)


@pytest.mark.parametrize(
    ("program", "prefix"),
    [
        ("raise ValueError\n", "n = int(input())\n"),
        ("1 / 0\n", "def f(a):\n    return a +"),
        ("raise ValueError\n", "import sys\nname = sys.argv[1]\n"),
    ],
)
def test_a_prompt_that_only_wants_to_be_continued_is_not_to_blame(judged: Judge, program: str, prefix: str) -> None:
    """Attack: fail behind a prompt that is not a program of its own, so as to go unscored."""
    asked = reference("python", [{"type": "stdio", "stdin": "4\n", "stdout": "8"}], prefix=prefix)
    verdict = judged.one(fenced(program), asked)
    assert (verdict.status, verdict.score, verdict.reason) == ("scored", 0.0, "runtime_error"), told(verdict)


def test_a_program_behind_a_prompt_in_another_language_fails_by_itself(judged: Judge) -> None:
    prefix = "#include <cstdlib>\nint main() {\n"
    asked = reference("cpp", [{"type": "stdio", "stdout": "1"}], prefix=prefix)
    verdict = judged.one(fenced("    std::exit(3);\n}", "cpp"), asked)
    assert (verdict.status, verdict.score, verdict.reason) == ("scored", 0.0, "runtime_error"), told(verdict)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_reference_is_no_zero(judged: Judge, case: str) -> None:
    program, asked, said = BROKEN[case]
    verdict = judged.one(fenced(program), asked)
    assert (verdict.status, verdict.reason, verdict.fault) == ("undecided", "invalid_reference", "reference"), told(
        verdict
    )
    assert said in (verdict.feedback or ""), told(verdict)


def test_a_pass_by_a_weak_test_may_be_kept_and_only_flagged(judged: Judge) -> None:
    blame = next(blame for blame in BLAMES if blame.expect == "weak_test_exploit")
    verdict = judged.one(fenced(blame.attack), blame.reference, provenance="flag")
    assert (verdict.score, verdict.flags) == (1.0, tuple(blame.flags)), told(verdict)


@pytest.mark.parametrize(
    "test", [{"type": "stdio", "stdout": "1"}, {"type": "call", "target": "f", "returns": 1}, {"type": "assert", "code": "assert f()"}]
)  # fmt: skip
def test_a_module_that_the_sandbox_has_not_is_named(judged: Judge, test: dict[str, object]) -> None:
    code = "import no_such_module\n\n\ndef f():\n    return 1\n"
    verdict = judged.one(fenced(code), reference("python", [test]), reveal="verdicts")
    assert (verdict.score, verdict.reason) == (0.0, "runtime_error"), told(verdict)
    assert "missing_module: no_such_module" in verdict.flags, told(verdict)
    assert "The sandbox does not have the module 'no_such_module'." in (verdict.feedback or ""), told(verdict)


def test_a_module_named_after_a_hidden_input_is_not_told(judged: Judge) -> None:
    """Attack: read a hidden test's input back from the name of the module that was missing."""
    code = "__import__('x' + input())"
    verdict = judged.one(
        fenced(code), reference("python", [{"type": "stdio", "stdin": "secret\n", "stdout": "1"}]), reveal="diffs"
    )
    assert (verdict.score, verdict.flags) == (0.0, ()), told(verdict)
    assert "secret" not in str(verdict), told(verdict)


def test_neighbours_of_these_are_judged_as_ever(judged: Judge) -> None:
    samples = [
        Sample(response=fenced(code, blame.language), reference=blame.reference)
        for blame in BLAMES
        for code in (blame.attack, blame.honest)
    ]
    verdicts = judged.judge(samples)
    assert [verdict.score for verdict in verdicts[1::2]] == [1.0] * len(BLAMES)
    assert {verdict.status for verdict in verdicts} == {"scored"}
