"""Problems of our own: each solution gets the verdict that is written next to it.

A problem is a YAML file in `problems/`: `statement`; `tests`, each with `stdin` and `stdout`, or with `make`, Python
that sets both, where they are long; `checker` and `limits` as in a reference of `code`; `solutions`, each with
`language`, `code`, `expect`, the verdict over all tests, and where that is not AC a `title` that says what is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from rewarden.types import Sample, Verdict
from rewarden_sandboxes.job import Case, CaseResult, Job, JobEvent, Limits, Program
from rewarden_verifiers.execution.checkers import TextChecker, compare
from tests.attacks.sandbox.grounds import LAUNCHERS, Ground, ground
from tests.attacks.sandbox.judge import Judge, fenced, judge

FOLDER = Path(__file__).parent / "problems"
WORDS = {
    "runtime_error": "RE",
    "time_limit": "TLE",
    "memory_limit": "MLE",
    "output_limit": "OLE",
    "internal_error": "IE",
}
LIMITS = Limits(cpu_s=2.0, wall_s=1.0, memory_mb=512, output_bytes=8 << 20)


@dataclass(frozen=True, slots=True)
class Solution:
    """A program for a problem, and what becomes of it."""

    problem: str
    language: str
    expect: str
    title: str
    code: str

    def __str__(self) -> str:
        return f"{self.problem}: {self.language} {self.expect} {self.title}".strip()


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem; tests are pairs of stdin and stdout."""

    name: str
    tests: Sequence[tuple[str, str]]
    checker: Mapping[str, Any]
    limits: Mapping[str, Any]
    solutions: Sequence[Solution]

    def reference(self, language: str) -> dict[str, Any]:
        """The reference of `code` for solutions in one language."""
        return {
            "language": language,
            "tests": [{"type": "stdio", "stdin": stdin, "stdout": stdout} for stdin, stdout in self.tests],
            "checker": dict(self.checker),
            "limits": {**{name: getattr(LIMITS, name) for name in ("cpu_s", "wall_s", "memory_mb")}, **self.limits},
        }

    def job(self, solution: Solution) -> Job:
        """All tests as one job."""
        own = {name: getattr(LIMITS, name) for name in ("cpu_s", "wall_s", "memory_mb", "output_bytes")} | dict(
            self.limits
        )
        return Job(
            program=Program(language=solution.language, code=solution.code.encode(), limits=Limits(**own)),
            cases=[Case(stdin=stdin.encode()) for stdin, _ in self.tests],
        )


def read(path: Path) -> Problem:
    """A problem from its file."""
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    tests = []
    for test in told["tests"]:
        made: dict[str, str] = dict(test)
        if "make" in test:
            exec(test["make"], made)  # noqa: S102 - a file of ours
        tests.append((made["stdin"], made["stdout"]))
    solutions = [
        Solution(path.stem, each["language"], each["expect"], each.get("title", ""), each["code"])
        for each in told["solutions"]
    ]
    return Problem(path.stem, tests, told.get("checker", {"type": "trimmed"}), told.get("limits", {}), solutions)


PROBLEMS = {path.stem: read(path) for path in sorted(FOLDER.glob("*.yaml"))}
SOLUTIONS = [solution for problem in PROBLEMS.values() for solution in problem.solutions]


def test_the_set_is_as_large_and_as_varied_as_it_should_be() -> None:
    assert len(PROBLEMS) >= 30
    assert all(4 <= len(problem.tests) <= 10 for problem in PROBLEMS.values())
    accepted = {
        problem.name: {each.language for each in problem.solutions if each.expect == "AC"}
        for problem in PROBLEMS.values()
    }
    assert all("python" in languages for languages in accepted.values())
    counts = Counter(language for languages in accepted.values() for language in languages)
    assert all(counts[language] >= 8 for language in ("c", "cpp", "javascript", "bash")), counts
    assert {"WA", "PE", "TLE", "MLE", "OLE", "RE", "CE"} <= {each.expect for each in SOLUTIONS}


# --- straight through the host


@pytest.fixture(scope="module", params=LAUNCHERS)
def host(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """A host of four slots."""
    with ground(request.param, slots=4, warm=2) as made:
        yield made


def seen(problem: Problem, events: Sequence[JobEvent]) -> str:
    """The verdict over what a host told: the first test's that did not pass."""
    results = [event for event in events if isinstance(event, CaseResult)]
    if not results:
        return "CE"
    checker = TextChecker(**problem.checker)
    for result, (_, stdout) in zip(results, problem.tests, strict=True):
        if result.program.status != "ok":
            return WORDS[result.program.status]
        verdict = compare(checker, result.program.stdout, stdout.encode()).verdict
        if verdict != "AC":
            return verdict
    return "AC"


@pytest.mark.group("languages")
@pytest.mark.needs_server
@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_the_host_runs_them_as_they_are(host: Ground, problem: Problem) -> None:
    answers = host.together([problem.job(solution) for solution in problem.solutions])
    found = {str(solution): seen(problem, events) for solution, events in zip(problem.solutions, answers, strict=True)}
    assert found == {str(solution): solution.expect for solution in problem.solutions}


# --- through the verifier


@pytest.fixture(scope="module", params=LAUNCHERS)
def judged(request: pytest.FixtureRequest) -> Iterator[Judge]:
    """A judge with four slots."""
    with judge(request.param, slots=4) as made:
        yield made


def word(verdict: Verdict) -> str:
    """The word over all tests."""
    return str(verdict.evidence.get("verdict", f"{verdict.status} {verdict.reason} {verdict.feedback}"))


@pytest.mark.group("languages")
@pytest.mark.needs_server
@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_code_judges_them_as_it_should(judged: Judge, problem: Problem) -> None:
    verdicts = judged.judge(
        [
            Sample(response=fenced(solution.code, solution.language), reference=problem.reference(solution.language))
            for solution in problem.solutions
        ]
    )
    found = {str(solution): word(verdict) for solution, verdict in zip(problem.solutions, verdicts, strict=True)}
    assert found == {str(solution): solution.expect for solution in problem.solutions}
    for solution, verdict in zip(problem.solutions, verdicts, strict=True):
        assert verdict.score == (1.0 if solution.expect == "AC" else 0.0)
        assert verdict.fault == (None if solution.expect == "AC" else "policy")
