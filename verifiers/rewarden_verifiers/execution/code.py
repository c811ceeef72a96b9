"""The verifier `code`: runs the program in a response on the reference's tests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

from rewarden.errors import SandboxError
from rewarden.types import Outcome, Use
from rewarden_sandboxes.job import Case, CaseResult, Job, Program
from rewarden_verifiers.contract import Context, VerifierSpec, spec_of, verifier
from rewarden_verifiers.execution import datasets
from rewarden_verifiers.execution.candidate import (
    BARE,
    Candidate,
    Missing,
    Rule,
    RuleLike,
    Unclosed,
    bare,
    find,
    labels_of,
    language_of,
    rules_of,
)
from rewarden_verifiers.execution.completion import Completion, complete
from rewarden_verifiers.execution.controls import Controls
from rewarden_verifiers.execution.feedback import Reveal, evidence, feedback
from rewarden_verifiers.execution.generators import generated
from rewarden_verifiers.execution.reference import PYTHON, CodeReference, invalid, read_reference
from rewarden_verifiers.execution.results import LIMITS, REASONS, missing_module
from rewarden_verifiers.execution.running import SuiteRun
from rewarden_verifiers.execution.scoring import Scoring, overall, reason, score_of, undecided_by
from rewarden_verifiers.outcome import no_answer, scored

_EXTRACTED = 20_000
"""The number of characters of the program that a verdict shows."""
_NAMED = 3
"""The maximum number of missing modules that a verdict names."""


@dataclass(frozen=True, kw_only=True)
class CodeParams:
    """Options of `code`.

    dataset: The data set whose rows the references are, as published: a row, or the field that holds its tests (see
        docs/datasets.md); null: the references are those of docs/code.md.
    languages: The languages that programs can be in, the one of fences without a label first, for rows of `dataset`
        that name none; by default the data set's own.
    extraction: Where to find the program: `strict` (the last fenced block labelled with the language, else the last
        block without a label, else a response without any fence, if all of it is a program), `lax` (as `strict`, then
        an answer tag, then the whole text), or an ordered list of `last_block`, `first_block`, `all_blocks` (joined),
        `answer_tag`, `whole` and `{"tag": name}`.
    labels: Further fence labels for the language, besides its usual names.
    unclosed: Whether a fence that is never closed counts: `refuse` (the response was cut off or is still being written)
        or `accept`.
    completion: Whether to put the reference's `prefix` before the program: `always`, `never`, or `auto` (only if the
        program does not define the tested function itself).
    scoring: How test results become a score: `all` (1 if every test passes, else 0), `fraction` of the tests that pass,
        `weighted` (the same, by weight), `groups` (a group of tests earns its points or nothing), `minimum` (the
        credit of the worst test). The reference says what a group is worth, how its tests share that, and which groups
        must pass first.
    first: Run only this many tests, in order; null: all.
    stop: When to stop: `failure` skips all tests after the first failure, and skipped tests earn nothing; `never`;
        `auto` acts as `failure` if the first failure decides the score (`all`) and `reveal` is `none`.
    reveal: What the feedback contains: `none`, `verdicts`, or `diffs` (inputs and outputs of failed public tests). For
        hidden tests, which is the default visibility, it gives only the number that passed.
    provenance: What to do if a pass rests on something other than the compared values (an argument changed in place, an
        object, nothing at all, the candidate's own helpers) and the reference has a `solution` whose pass does not:
        `score` fails the test (`weak_test_exploit`); `flag` keeps the pass and flags it. Without a solution the pass
        always stays, flagged.
    syntax_errors: The verdict of a program in Python that is not valid Python.
    """

    dataset: datasets.Name | None = None
    languages: tuple[str, ...] = ()
    extraction: str | tuple[RuleLike, ...] = "strict"
    labels: tuple[str, ...] = ()
    unclosed: Unclosed = "refuse"
    completion: Completion = "auto"
    scoring: Scoring = "all"
    first: int | None = None
    stop: Literal["auto", "failure", "never"] = "auto"
    reveal: Reveal = "none"
    provenance: Literal["score", "flag"] = "score"
    syntax_errors: Literal["runtime_error", "compile_error"] = "runtime_error"

    def __post_init__(self) -> None:
        if self.first is not None and self.first < 1:
            raise ValueError("first must be at least 1")
        if self.languages and self.dataset is None:
            raise ValueError("languages are for rows of a dataset; a reference of docs/code.md names its own")
        if not all(language.strip() for language in self.languages):
            raise ValueError("languages has a blank name")
        self.rules  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return (*rules_of("strict"), bare) if self.extraction == "strict" else rules_of(self.extraction)

    @property
    def stops(self) -> bool:
        """Returns whether the first failure ends the run."""
        return self.stop == "failure" or (self.stop == "auto" and self.scoring == "all" and self.reveal == "none")


def _children(params: CodeParams) -> list[Use]:
    return [Use(name="output")]


def _variant(params: CodeParams) -> VerifierSpec | None:
    return spec_of(published) if params.dataset is not None else None


@verifier(version="3", graded=True, determinism="sampled", children=_children, variant=_variant, per_python=True)
async def code(response: str | None, reference: CodeReference, params: CodeParams, ctx: Context) -> Outcome:
    """The program in the response passes the reference's tests, run in the locked rooms of the sandbox.

    Tests send stdin and compare stdout, call functions, run assertions, or run test files; the checker can be a
    program. The candidate never shares a process with an expected value, unless the reference sets `isolation: shared`.
    Every verdict is then flagged `shared_process`. See docs/code.md.

    A test that the program fails earns nothing, and the verdict has a reason: `wrong_answer`, `presentation_error`,
    `time_limit`, `memory_limit`, `output_limit`, `runtime_error`, `compile_error`. If the sandbox fails, the sample has
    no score, unless the other tests decide the score on their own. If a checker, test code or the prompt's code fails,
    control runs on known inputs determine whether the program or the reference is to blame (`judge_failed_on_output`).
    A pass that depends on a weak test is flagged. If the `solution` passes without the weakness, the test counts as
    failed.

    Determinism is declared as `sampled`: tests, limits and comparisons are exact, but a verdict judges a single run of
    a program that can draw random numbers, read the clock, or run close to its time limit.
    """
    return await _judged(response, reference, params, ctx)


_LARGE = 100_000
"""The number of characters from which a row is read in a thread, off the event loop."""
_READING: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


@verifier(
    version="3",
    name="code",
    graded=True,
    determinism="sampled",
    children=_children,
    resources=datasets.Unpacking,
    per_python=True,
)
async def published(
    response: str | None,
    reference: Any,
    params: CodeParams,
    metadata: Mapping[str, Any] | None,
    resources: datasets.Unpacking,
    ctx: Context,
) -> Outcome:
    """Runs `code` with rows of a data set as references."""
    assert params.dataset is not None
    most = resources.max_bytes
    read = partial(datasets.read_row, params.dataset, reference, metadata, params.languages, most)
    if isinstance(reference, str) and len(reference) < _LARGE:
        return await _judged(response, read(), params, ctx)
    # One row at a time: siblings reuse the first one's result, and few unpacked rows are in memory at once.
    async with _READING.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        found = await asyncio.to_thread(read)
    return await _judged(response, found, params, ctx)


async def _judged(response: str | None, reference: CodeReference, params: CodeParams, ctx: Context) -> Outcome:
    suite = read_reference(reference)
    lacking = await ctx.sandbox.lacking(reference.allowed)
    if lacking is not None:
        raise invalid(lacking, "reference.languages" if reference.languages else "reference.language")
    if reference.flags:
        refused = await ctx.sandbox.refused_flag(reference.language, reference.flags)
        if refused is not None:
            place, why = refused
            raise invalid(why, f"reference.flags[{place}]")
    shared = ("shared_process",) if reference.isolation == "shared" else ()
    if response is None:
        return no_answer(flags=shared)
    language = language_of(response, reference.allowed, params.labels)
    found = find(response, params.rules, labels_of(language or reference.language, params.labels), params.unclosed)
    if language is None and (found.reason == "no_answer" if isinstance(found, Missing) else _fell_back(found, params)):
        return no_answer("wrong_language", flags=shared)
    if isinstance(found, Missing):
        return no_answer(found.reason, flags=(*shared, *found.flags))
    language = language or reference.language
    if found.rule == BARE and language.lower() in PYTHON and not await _is_python(found.code, ctx):
        return no_answer(flags=shared)
    trials = await generated(ctx, suite, suite.trials[: params.first], Controls(ctx, suite, params.completion).solution)
    if language != reference.language:
        # The solution is written in the reference's first language, so it cannot serve here.
        reference = replace(reference, language=language, solution=None)
        suite = replace(suite, reference=reference)
    candidate = complete(found, reference, params.completion)
    run = SuiteRun(
        ctx,
        suite,
        trials,
        candidate,
        completion=params.completion,
        stops=params.stops,
        strict=params.provenance == "score",
        syntax_is_compiling=params.syntax_errors == "compile_error",
    )
    results = await run.run()
    if found.rule == BARE and results[0].verdict == "CE":
        return no_answer(flags=shared)  # not a program at all
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


def _fell_back(found: Candidate, params: CodeParams) -> bool:
    """Returns whether the whole response was taken only because no other rule found a program."""
    return found.rule == "whole" and len(params.rules) > 1


_PARSES = b"import ast, sys; ast.parse(sys.stdin.buffer.read())"


async def _is_python(text: str, ctx: Context) -> bool:
    """Returns whether a text is Python. It is parsed in the sandbox, because hostile text can exhaust the parser's
    process.

    Raises SandboxError.
    """
    job = Job(program=Program(language="python", code=_PARSES), cases=[Case(stdin=text.encode())])
    async with aclosing(ctx.sandbox.run(job)) as events:
        async for event in events:
            if isinstance(event, CaseResult):
                if event.program.status == "internal_error":
                    raise SandboxError(event.program.message or "the sandbox failed at a run")
                return event.program.status == "ok"
    raise SandboxError("the sandbox did not report a run")
