"""`code`: whether the program in a response does what its tests ask."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rewarden.types import Outcome, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.execution.candidate import (
    Completion,
    Missing,
    Rule,
    RuleLike,
    Unclosed,
    complete,
    find,
    labels_of,
    rules_of,
)
from rewarden_verifiers.execution.feedback import Reveal, evidence, feedback
from rewarden_verifiers.execution.reference import CodeReference, read_reference
from rewarden_verifiers.execution.results import LIMITS, REASONS, missing_module
from rewarden_verifiers.execution.running import SuiteRun
from rewarden_verifiers.execution.scoring import Scoring, overall, reason, score_of, undecided_by
from rewarden_verifiers.outcome import no_answer, scored

_EXTRACTED = 20_000
"""Characters of the program that a verdict shows."""
_NAMED = 3
"""Modules that a verdict names, of those that the program asked for in vain."""


@dataclass(frozen=True, kw_only=True)
class CodeParams:
    """Options of `code`.

    extraction: where the program stands: `strict` (the last fenced block in the language, or else the last without a
        label), `lax` (then an answer tag, then the whole text), or an ordered list of `last_block`, `first_block`,
        `all_blocks` (joined), `answer_tag`, `whole`, and `{"tag": name}`.
    labels: what fences may call the language, beside its usual names.
    unclosed: whether a fence that never closes counts: `refuse` (the response was cut off, or is still being written)
        or `accept`.
    completion: whether the reference's `prefix` comes before the program: `always`, `never`, or `auto`: where the
        program does not itself define what is tested.
    scoring: `all` (1 where every test passes, else 0), `fraction` of the tests, `weighted` (the same by weight),
        `groups` (a group of tests earns its weight whole or not at all), `minimum` (the worst test's credit).
    first: only so many tests are run, the first ones.
    stop: `failure`: the tests after the first that fails are skipped and earn nothing; `never`; `auto`: `failure`
        where the score is then decided (`all`) and nothing is to be revealed.
    reveal: what the feedback tells: `none`, `verdicts`, or `diffs` (inputs and outputs of failed public tests). Of
        hidden tests, which is what tests are by default, it tells no more than how many passed.
    provenance: what becomes of a test that was passed by something else than the values that it compares (an argument
        changed in place, an object, nothing at all, the candidate's own helpers), where the reference has a `solution`
        that passes without: `score`: it earns nothing (`weak_test_exploit`); `flag`: the pass stays, flagged. Without a
        solution it always stays, flagged.
    """

    extraction: str | tuple[RuleLike, ...] = "strict"
    labels: tuple[str, ...] = ()
    unclosed: Unclosed = "refuse"
    completion: Completion = "auto"
    scoring: Scoring = "all"
    first: int | None = None
    stop: Literal["auto", "failure", "never"] = "auto"
    reveal: Reveal = "none"
    provenance: Literal["score", "flag"] = "score"

    def __post_init__(self) -> None:
        if self.first is not None and self.first < 1:
            raise ValueError("first must be at least 1")
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)

    @property
    def stops(self) -> bool:
        """Returns whether the first failure ends the run."""
        return self.stop == "failure" or (self.stop == "auto" and self.scoring == "all" and self.reveal == "none")


def _children(params: CodeParams) -> list[Use]:
    return [Use(name="output")]


@verifier(version="2", graded=True, determinism="sampled", children=_children)
async def code(response: str | None, reference: CodeReference, params: CodeParams, ctx: Context) -> Outcome:
    """The program in the response passes the reference's tests, run in locked rooms of the sandbox.

    Tests give text on stdin and compare stdout, call functions, run assertions or test files; judges may be programs.
    The candidate never shares a process with an expected value, unless the reference asks for `isolation: shared`,
    which every verdict is then flagged for (`shared_process`). See docs/code.md.

    What the program causes is scored at the bottom with its reason: `wrong_answer`, `presentation_error`,
    `time_limit`, `memory_limit`, `output_limit`, `runtime_error`, `compile_error`. A failure of the sandbox's leaves
    the sample unscored, unless the other tests decide the score whatever that one would have said. Where a judge, test
    code or the prompt's code fails, control runs on what is known tell whether the program or the reference is to blame
    (`judge_failed_on_output`). A pass by a weak test is flagged; if the `solution` passes otherwise it earns nothing.

    Declared `sampled`: tests, limits and comparisons are exact, but what is judged is one run of a program, which may
    draw random numbers, read the clock, or need just as much time as it has.
    """
    suite = read_reference(reference)
    shared = ("shared_process",) if reference.isolation == "shared" else ()
    if response is None:
        return no_answer(flags=shared)
    found = find(response, params.rules, labels_of(reference.language, params.labels), params.unclosed)
    if isinstance(found, Missing):
        return no_answer(found.reason, flags=(*shared, *found.flags))
    candidate = complete(found, reference, params.completion)
    run = SuiteRun(
        ctx,
        suite,
        suite.trials[: params.first],
        candidate,
        completion=params.completion,
        stops=params.stops,
        strict=params.provenance == "score",
    )
    results = await run.run()
    seen = dict.fromkeys(flag for result in results for flag in result.flags)
    missing = sorted({name for result in results if (name := missing_module(result, candidate.code))})
    seen |= dict.fromkeys(f"missing_module: {name}" for name in missing[:_NAMED])
    problem = undecided_by(params.scoring, results)
    if problem is not None:
        problem.flags = (*shared, *seen)
        raise problem
    score = score_of(params.scoring, results)
    word = overall(results)
    limits = dict.fromkeys(REASONS[result.verdict] for result in results if result.verdict in LIMITS)
    if any(result.verdict == "IE" for result in results):
        seen["internal_error"] = None
    return scored(
        score,
        passed=score == 1.0,
        reason=None if score == 1.0 else reason(results),
        extracted=candidate.code[:_EXTRACTED],
        evidence={
            "verdict": word,
            "language": reference.language,
            "rule": candidate.rule,
            "completed": candidate.completed,
            **evidence(results, run.compiler),
        },
        feedback=feedback(params.reveal, results, run.compiler, missing[:_NAMED]),
        flags=(*shared, *limits, *seen),
    )
