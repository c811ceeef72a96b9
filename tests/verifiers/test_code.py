"""`code` as an orchestrator: its jobs for the sandbox, and its handling of a sandbox that fails.

A scripted sandbox stands in only to inject failures that a real one cannot be made to have. What programs really do is
in the cases, which every transport runs, and in the tests at the end, which need a sandbox.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rewarden.errors import InvalidSample, SandboxError
from rewarden.types import Batch, Outcome, Sample, Use, Verdict
from rewarden_sandboxes.job import CaseResult, CompileResult, Job, Report
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.plan import Planner
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import DirectContext, outcome_of

PLANNER = Planner(Registry())
CPP = "```cpp\nint main() {}\n```"
RIGHT = "```python\nprint(1)\n```"
OK = Report(status="ok", exit_code=0, stdout=b"1\n")
WRONG = Report(status="ok", exit_code=0, stdout=b"2\n")
STARVED: dict[str, Any] = {"status": "internal_error", "flags": ("starved",)}
BROKEN = Report(status="internal_error", message="a room could not be made")
WRONG_EXIT = Report(status="runtime_error", exit_code=1)
READY = CompileResult(report=Report(status="ok", exit_code=0))
EVENTS = Sequence[CompileResult | CaseResult | Exception]


@dataclass(eq=False)
class Scripted:
    """A sandbox that tells what it was told to, job by job, and notes what it was asked."""

    scripts: list[EVENTS]
    jobs: list[Job] = field(default_factory=list)
    closed: int = 0

    async def run(self, job: Job) -> AsyncIterator[CompileResult | CaseResult]:
        self.jobs.append(job)
        try:
            for event in self.scripts[len(self.jobs) - 1]:
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self.closed += 1

    async def lacking(self, languages: Sequence[str]) -> str | None:
        return None

    async def refused_flag(self, language: str, flags: Sequence[str]) -> tuple[int, str] | None:
        return next(((place, "is not a flag") for place, flag in enumerate(flags) if flag == "-bad"), None)


class Context(DirectContext):
    """A context whose sandbox is scripted."""

    def __init__(self, sandbox: Scripted, sample: Sample) -> None:
        super().__init__(PLANNER, sample)
        self._sandbox = sandbox

    @property
    def sandbox(self) -> Scripted:
        return self._sandbox


def case(index: int, report: Report, partner: Report | None = None) -> CaseResult:
    return CaseResult(index=index, program=report, partner=partner)


def stdio(count: int, **fields: Any) -> dict[str, Any]:
    return {"language": "python", "tests": [{"type": "stdio", "stdout": "1", **fields} for _ in range(count)]}


async def judged(reference: Any, *scripts: EVENTS, response: str = RIGHT, **params: Any) -> tuple[Outcome, Scripted]:
    sandbox = Scripted(list(scripts))
    sample = Sample(response=response, reference=reference)
    use = Use(name="code", params=params)
    return await outcome_of(PLANNER, use, sample, Context(sandbox, sample)), sandbox


# --- what is asked -----------------------------------------------------------------------------------------------


async def test_tests_on_stdin_are_cases_of_one_job() -> None:
    outcome, sandbox = await judged(stdio(3), [case(place, OK) for place in range(3)])
    assert outcome.score == 1.0
    (job,) = sandbox.jobs
    assert (job.program.code, job.program.mode, len(job.cases), job.partner) == (b"print(1)\n", "script", 3, None)


async def test_flags_are_those_of_the_candidates_compilation_and_of_no_judges() -> None:
    judge = {"type": "program", "language": "cpp", "code": "int main() {}"}
    reference = {**stdio(1), "language": "cpp", "flags": ["-O3", "-std=c++17"], "checker": judge}
    compiled = CompileResult(report=OK)
    _, sandbox = await judged(reference, [compiled, case(0, OK)], [compiled, case(0, OK)], response=CPP)
    assert [tuple(job.program.flags) for job in sandbox.jobs] == [("-O3", "-std=c++17"), ()]


@pytest.mark.parametrize("response", [CPP, "no program at all"])
async def test_a_flag_that_is_refused_is_the_references_fault_whatever_the_response_is(response: str) -> None:
    outcome, sandbox = await judged({**stdio(1), "language": "cpp", "flags": ["-O3", "-bad"]}, response=response)
    assert (outcome.status, outcome.fault, outcome.reason) == ("undecided", "reference", "invalid_reference")
    assert outcome.evidence["path"] == "reference.flags[1]"
    assert sandbox.jobs == []


async def test_expected_values_stay_out_of_the_candidates_room() -> None:
    reference = {
        "language": "python",
        "tests": [
            {"type": "stdio", "stdin": "in", "stdout": "secret"},
            {"type": "call", "target": "f", "returns": "secret"},
            {"type": "assert", "code": "assert f() == 'secret'"},
            {"type": "file", "name": "test_f.py", "content": "'secret'", "expect": ["secret"]},
            {
                "type": "stdio",
                "stdout": "secret",
                "checker": {"type": "interactive", "language": "python", "code": "'secret'"},
            },
        ],
    }
    _, sandbox = await judged(reference, [], [], [], [], [], scoring="fraction")
    assert [job.program.mode for job in sandbox.jobs] == ["script", "call", "serve", "serve", "script"]
    for job in sandbox.jobs:
        assert "secret" not in repr(job.program)
        for one in job.cases:
            assert "secret" not in repr((one.stdin, one.request, one.files, one.args))


async def test_the_first_failure_ends_the_run_and_closes_the_job() -> None:
    outcome, sandbox = await judged(stdio(3), [case(0, OK), case(1, WRONG), case(2, OK)])
    assert (outcome.score, outcome.reason, sandbox.closed) == (0.0, "wrong_answer", 1)
    assert outcome.evidence["counts"] == {"AC": 1, "SK": 1, "WA": 1}


async def test_a_judge_reads_all_outputs_in_one_job() -> None:
    judge = {"type": "program", "language": "c", "code": "int main(void) {}"}
    events = [CompileResult(report=Report(status="ok", exit_code=0)), *(case(place, OK) for place in range(2))]
    outcome, sandbox = await judged({**stdio(2), "checker": judge}, [case(0, OK), case(1, WRONG)], events)
    assert outcome.score == 1.0
    assert [one.files["output.txt"] for one in sandbox.jobs[1].cases] == [b"1\n", b"2\n"]


async def test_no_room_is_taken_without_a_program() -> None:
    outcome, sandbox = await judged(stdio(1), response="It is ```print(1)```.")
    assert (outcome.reason, outcome.flags, sandbox.jobs) == ("no_answer", ("no_answer",), [])


async def test_large_outputs_are_compared_beside_the_loop() -> None:
    big = b"x" * 100_000
    reference = {"language": "python", "tests": [{"type": "stdio", "stdout": big.decode()}]}
    sandbox = Scripted([[case(0, Report(status="ok", exit_code=0, stdout=big))]])
    sample = Sample(response=RIGHT, reference=reference)
    context = Context(sandbox, sample)
    assert (await outcome_of(PLANNER, Use(name="code"), sample, context)).score == 1.0
    assert context.verified == 1


def made(name: str) -> dict[str, Any]:
    """A test whose input a generator makes. Inputs are remembered: no two tests may use the same one."""
    return {
        "language": "python",
        "tests": [{"type": "stdio", "generate": ["g", "3"]}],
        "generators": {"g": {"language": "cpp", "code": f"// {name}"}},
        "solution": "print(1) # known",
    }


async def test_inputs_are_made_once_and_the_solution_answers_them() -> None:
    made_input = [READY, case(0, replace(OK, stdout=b"in"))]
    first, sandbox = await judged(made("once"), made_input, [case(0, OK)], [case(0, OK)])
    assert first.score == 1.0
    generator, solution, candidate = sandbox.jobs
    assert (generator.cases[0].args, solution.program.code) == (("3",), b"print(1) # known")
    assert solution.cases[0].stdin == candidate.cases[0].stdin == b"in"
    second, sandbox = await judged(made("once"), [case(0, WRONG)])
    assert (second.reason, len(sandbox.jobs)) == ("wrong_answer", 1)


async def test_the_solution_answers_in_its_own_language_whatever_the_programs_is() -> None:
    """Attack: answer in an allowed language in which there is no solution, so that the sample goes unscored."""
    reference = {**made("languages"), "languages": ["javascript"]}
    scripts: list[EVENTS] = [[READY, case(0, replace(OK, stdout=b"in"))], [case(0, OK)], [case(0, WRONG)]]
    outcome, sandbox = await judged(reference, *scripts, response="```javascript\nconsole.log(2)\n```")
    assert (outcome.score, outcome.reason) == (0.0, "wrong_answer")
    assert [job.program.language for job in sandbox.jobs] == ["cpp", "python", "javascript"]


@pytest.mark.parametrize(
    ("scripts", "fault", "path"),
    [
        ([[READY, case(0, BROKEN)]], "infra", None),
        ([[SandboxError("the host is gone")]], "infra", None),
        ([[READY]], "infra", None),
        ([[CompileResult(report=WRONG_EXIT)]], "reference", "reference.generators['g']"),
        ([[READY, case(0, WRONG_EXIT)]], "reference", "reference.generators['g']"),
        ([[READY, case(0, OK)], [case(0, WRONG_EXIT)]], "reference", "reference.solution"),
    ],
)
async def test_an_input_that_cannot_be_made_is_never_the_policys_fault(
    scripts: Sequence[EVENTS], fault: str, path: str | None
) -> None:
    outcome, _ = await judged(made("broken"), *scripts)
    assert (outcome.score, outcome.fault, outcome.evidence.get("path")) == (None, fault, path)


async def test_a_group_is_not_run_unless_those_that_it_requires_passed() -> None:
    tests = [{"type": "stdio", "stdout": "1", "group": name} for name in ("hard", "easy")]
    reference = {"language": "python", "tests": tests, "groups": {"hard": {"requires": ["easy"]}}}
    outcome, sandbox = await judged(reference, [case(0, WRONG)], scoring="fraction")
    assert (outcome.score, len(sandbox.jobs), outcome.evidence["counts"]) == (0.0, 1, {"SK": 1, "WA": 1})
    outcome, sandbox = await judged(reference, [case(0, OK)], [case(0, OK)], scoring="fraction")
    assert (outcome.score, len(sandbox.jobs)) == (1.0, 2)


async def test_every_run_of_a_test_must_leave_the_right_file() -> None:
    """Attack: leave now the right file and now a wrong one, and need time at random."""
    reference = {"language": "python", "tests": [{"type": "stdio", "outputs": {"a": "1"}}]}
    told = case(0, replace(OK, files={"a": b"1"}))
    assert (await judged(reference, [told]))[0].score == 1.0
    earlier = replace(told, earlier=(case(0, replace(OK, files={"a": b"2"})),))
    assert (await judged(reference, [earlier]))[0].score == 0.0


async def test_passes_do_not_multiply() -> None:
    """Attack: need time at random in each pass, so that all of its runs go on."""
    judge = {"type": "program", "language": "python", "code": "# asks", "protocol": "kattis", "passes": 4}
    asks = Report(status="runtime_error", exit_code=42, files={"feedback/nextpass.in": b"more"})

    def thrice(place: int) -> CaseResult:
        runs = [case(place, replace(OK, stdout=b"%d" % run)) for run in range(3)]
        return replace(runs[2], earlier=(runs[0], runs[1]))

    ran = [[thrice(0)], *[[thrice(place) for place in range(3)]] * 3]
    ruled = [[case(place, asks) for place in range(count)] for count in (3, 9, 9)]
    ruled.append([case(place, replace(asks, files={})) for place in range(9)])
    scripts = [script for both in zip(ran, ruled, strict=True) for script in both]
    outcome, sandbox = await judged({**stdio(1), "checker": judge}, *scripts)
    assert outcome.score == 1.0
    assert [len(job.cases) for job in sandbox.jobs] == [1, 3, 3, 9, 3, 9, 3, 9]


# --- what fails --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        [SandboxError("the host is gone")],
        [case(0, OK), SandboxError("the host is gone")],
        [case(0, OK), case(1, BROKEN)],
        [case(0, OK)],
        [],
        [CompileResult(report=BROKEN)],
    ],
)
async def test_a_sandbox_that_fails_is_an_error_and_never_a_zero(script: EVENTS) -> None:
    outcome, _ = await judged(stdio(2), script)
    assert (outcome.status, outcome.score, outcome.fault, outcome.reason) == ("error", None, "infra", "sandbox_failed")


async def test_an_unscored_verdict_has_the_flags_of_its_run() -> None:
    unsure = Report(status="internal_error", flags=("rerun", "starved"))
    outcome, _ = await judged(stdio(1), [case(0, unsure)])
    assert (outcome.fault, outcome.flags) == ("infra", ("rerun", "starved"))


@pytest.mark.parametrize(
    ("earlier", "last", "reason"),
    [
        (WRONG, OK, "wrong_answer"),
        (Report(status="runtime_error", exit_code=1, stdout=b"1\n"), OK, "runtime_error"),
        (OK, replace(OK, stdout=b"1\n\n"), None),
        (replace(WRONG, **STARVED), OK, "wrong_answer"),  # it ended by itself
        (
            replace(WRONG, **STARVED, exit_code=None),
            OK,
            "wrong_answer",
        ),  # beyond repair
        (OK, replace(WRONG, **STARVED), "wrong_answer"),
        (Report(**STARVED, stdout=b"1"), OK, None),  # it was cut off, and said nothing wrong
        (replace(OK, **STARVED), replace(OK, stdout=b"1\n\n"), None),
    ],
)
async def test_every_run_of_a_test_must_be_right(earlier: Report, last: Report, reason: str | None) -> None:
    """Attack: print now what is right and now what is wrong, and need time at random, so that one run is forgotten."""
    told = CaseResult(index=0, program=last, earlier=(CaseResult(index=0, program=earlier),))
    outcome, _ = await judged(stdio(1), [told])
    assert (outcome.status, outcome.score, outcome.reason) == ("scored", float(reason is None), reason)


@pytest.mark.parametrize("printed", [b"1\n", b"", b"1"])
async def test_what_the_host_starved_is_no_zero_where_it_could_have_become_right(printed: bytes) -> None:
    starved = Report(**STARVED, stdout=printed)
    outcome, _ = await judged(stdio(1), [case(0, starved)])
    assert (outcome.status, outcome.fault) == ("error", "infra")


async def test_a_judge_reads_what_every_run_printed() -> None:
    judge = {"type": "program", "language": "c", "code": "int main(void) {}"}
    told = CaseResult(index=0, program=OK, earlier=(CaseResult(index=0, program=WRONG),))
    compiled = CompileResult(report=Report(status="ok", exit_code=0))
    rejects = Report(status="runtime_error", exit_code=1)
    outcome, sandbox = await judged({**stdio(1), "checker": judge}, [told], [compiled, case(0, rejects), case(1, OK)])
    assert [one.files["output.txt"] for one in sandbox.jobs[1].cases] == [b"2\n", b"1\n"]
    assert (outcome.score, outcome.reason) == (0.0, "wrong_answer")


CRASH = Report(status="runtime_error", signal=11)


def checked(code: str) -> dict[str, Any]:
    """A test that a checker judges. Control runs are remembered: no two tests may use the same one."""
    return {**stdio(1), "checker": {"type": "program", "language": "cpp", "code": code}}


async def test_a_control_run_is_made_at_the_first_failure_and_remembered() -> None:
    reference = checked("// remembered")
    judging: list[EVENTS] = [[case(0, OK)], [READY, case(0, CRASH)]]
    first, sandbox = await judged(reference, *judging, [READY, case(0, OK)])
    assert (first.score, first.reason, first.fault) == (0.0, "judge_failed_on_output", "policy")
    assert sandbox.jobs[2].cases[0].files["output.txt"] == b"1"  # what is known to be right
    assert sandbox.closed == 3
    second, sandbox = await judged(reference, *judging)
    assert (second.score, second.reason, len(sandbox.jobs)) == (0.0, "judge_failed_on_output", 2)


async def test_no_control_run_is_made_for_what_a_judge_rules() -> None:
    outcome, sandbox = await judged(
        checked("// ruled"), [case(0, OK)], [READY, case(0, Report(status="ok", exit_code=0))]
    )
    assert (outcome.score, len(sandbox.jobs)) == (1.0, 2)


async def test_a_judge_that_fails_on_what_is_known_is_the_references_fault() -> None:
    scripts: list[EVENTS] = [[case(0, OK)], [READY, case(0, CRASH)], [READY, case(0, CRASH)]]
    outcome, _ = await judged(checked("// broken"), *scripts)
    assert (outcome.status, outcome.fault, outcome.reason) == ("undecided", "reference", "invalid_reference")


async def test_a_control_run_that_the_sandbox_fails_is_ours_and_made_again() -> None:
    reference = checked("// unlucky")
    judging: list[EVENTS] = [[case(0, OK)], [READY, case(0, CRASH)]]
    for failing in ([READY, case(0, BROKEN)], [SandboxError("the host is gone")]):
        outcome, _ = await judged(reference, *judging, failing)
        assert (outcome.status, outcome.fault) == ("error", "infra")
    outcome, _ = await judged(reference, *judging, [READY, case(0, OK)])
    assert (outcome.score, outcome.fault) == (0.0, "policy")


async def test_a_solution_is_the_first_that_a_judge_is_tried_on() -> None:
    reference = {**checked("// solved"), "solution": "print(1) # known"}
    scripts: list[EVENTS] = [[case(0, OK)], [READY, case(0, CRASH)], [case(0, replace(OK, stdout=b"one"))]]
    _, sandbox = await judged(reference, *scripts, [READY, case(0, OK)])
    assert sandbox.jobs[2].program.code == b"print(1) # known"
    assert sandbox.jobs[3].cases[0].files["output.txt"] == b"one"


async def test_no_control_run_begins_while_a_job_holds_its_slot() -> None:
    class Counting(Scripted):
        async def run(self, job: Job) -> AsyncIterator[CompileResult | CaseResult]:
            assert self.closed == len(self.jobs)
            async for event in super().run(job):
                yield event

    talks = {"type": "interactive", "language": "cpp", "code": "// holds"}
    reference = {**stdio(2), "checker": talks, "solution": "print(1)"}
    crashed = [READY, *(case(place, OK, CRASH) for place in range(2))]
    sandbox = Counting([crashed, [READY, case(0, OK, Report(status="ok", exit_code=0))]])
    sample = Sample(response=RIGHT, reference=reference)
    outcome = await outcome_of(PLANNER, Use(name="code"), sample, Context(sandbox, sample))
    assert (outcome.reason, len(sandbox.jobs)) == ("judge_failed_on_output", 2)


async def test_a_failure_of_ours_changes_nothing_that_is_decided() -> None:
    outcome, _ = await judged(stdio(2), [case(0, BROKEN), case(1, WRONG)])
    assert (outcome.score, outcome.reason, outcome.flags) == (0.0, "wrong_answer", ("internal_error",))
    assert outcome.evidence["counts"] == {"IE": 1, "WA": 1}
    open_, _ = await judged(stdio(2), [case(0, BROKEN), case(1, WRONG)], scoring="fraction")
    assert open_.status == "error"


async def test_what_the_sandbox_refuses_is_the_references_fault() -> None:
    outcome, _ = await judged(stdio(1), [InvalidSample("there is no language 'x'", path="program.language")])
    assert (outcome.status, outcome.fault, outcome.evidence["path"]) == ("undecided", "reference", "reference.language")


async def test_a_program_that_kills_its_sandbox_twice_is_scored() -> None:
    killed = Report(status="runtime_error", flags=("killed_sandbox",))
    reference = {"language": "python", "tests": [{"type": "assert", "code": "assert f()"}]}
    outcome, _ = await judged(reference, [case(0, killed)])
    assert (outcome.score, outcome.reason, outcome.flags) == (0.0, "runtime_error", ("killed_sandbox",))


async def test_a_compilation_that_does_not_end_is_a_compile_error() -> None:
    report = Report(status="time_limit", limit="cpu_s")
    outcome, _ = await judged(
        {**stdio(2), "language": "cpp"}, [CompileResult(report=report)], response="```cpp\nx\n```"
    )
    assert (outcome.score, outcome.reason) == (0.0, "compile_error")
    assert outcome.evidence["compile"]["limit"] == "cpu_s"


async def test_a_judge_that_does_not_compile_is_the_references_fault() -> None:
    failed = CompileResult(report=Report(status="runtime_error", exit_code=1))
    judge = {"type": "program", "language": "cpp", "code": "x"}
    outcome, _ = await judged({**stdio(1), "checker": judge}, [case(0, OK)], [failed])
    assert (outcome.status, outcome.evidence["path"]) == ("undecided", "reference.checker")
    talking = CompileResult(report=Report(status="runtime_error", exit_code=1), who="partner")
    outcome, _ = await judged({**stdio(1), "checker": {**judge, "type": "interactive"}}, [talking])
    assert (outcome.status, outcome.evidence["path"]) == ("undecided", "reference.checker")


async def test_an_expected_value_that_no_program_can_send_is_the_references_fault() -> None:
    reference = {"language": "python", "tests": [{"type": "call", "target": "f", "returns": [0.5] * 300_000}]}
    for ended in (Report(status="output_limit", limit="output_bytes"), Report(status="ok", exit_code=0, reply=b"{}")):
        outcome, _ = await judged(reference, [case(0, ended)])
        assert (outcome.status, outcome.evidence["path"]) == ("undecided", "reference.tests[0].returns")


async def test_a_bad_reference_changes_nothing_that_is_decided() -> None:
    tests = [{"type": "stdio", "stdout": "1"}, {"type": "call", "target": "f", "returns": {"$": {"x": 1}}}]
    reference = {"language": "python", "tests": tests}
    sent = Report(status="ok", exit_code=0, reply=b'{"value": null}')
    outcome, _ = await judged(reference, [case(0, WRONG)], [case(0, sent)], stop="never")
    assert (outcome.score, outcome.reason) == (0.0, "wrong_answer")
    outcome, _ = await judged(reference, [case(0, OK)], [case(0, sent)], stop="never")
    assert (outcome.status, outcome.evidence["path"]) == ("undecided", "reference.tests[1].returns")


async def test_every_verdict_of_a_shared_process_says_so() -> None:
    reference = {"language": "python", "isolation": "shared", "tests": [{"type": "assert", "code": "assert f()"}]}
    for response in (RIGHT, "It is ```f```."):
        outcome, _ = await judged(reference, [case(0, OK)], response=response)
        assert "shared_process" in outcome.flags


@pytest.mark.parametrize(
    "params",
    [
        {"first": 0},
        {"extraction": "last"},
        {"scoring": "best"},
        {"reveal": "all"},
        {"extraction": ["last_block", {"tag": "a b"}]},
    ],
)
async def test_parameters_that_make_no_sense_are_the_callers_fault(params: dict[str, Any]) -> None:
    outcome, sandbox = await judged(stdio(1), **params)
    assert (outcome.status, outcome.fault, outcome.reason, sandbox.jobs) == ("error", "caller", "invalid_params", [])


# --- for real ----------------------------------------------------------------------------------------------------


async def really(samples: Sequence[Sample], **params: Any) -> Sequence[Verdict]:
    engine = Engine(settings=EngineSettings(workers=1))
    await engine.start()
    try:
        return (await engine.verify(Batch(samples=samples, use=Use(name="code", params=params)))).verdicts
    finally:
        await engine.close()


def printing(code: str, **test: Any) -> Sample:
    reference = {"language": "python", "tests": [{"type": "stdio", "stdout": "", **test}]}
    return Sample(response=f"```python\n{code}\n```", reference=reference)


@pytest.mark.needs_server
async def test_ten_megabytes_arrive_whole_and_are_compared() -> None:
    lines = "\n".join(str(number) for number in range(1_250_000)) + "\n"
    assert len(lines) > 8_000_000
    code = "print('\\n'.join(str(number) for number in range(1250000)))"
    right = printing(code, stdout=lines)
    wrong = printing(code + "\nprint(0)", stdout=lines)
    returned = {
        "language": "python",
        "tests": [{"type": "call", "target": "f", "returns": list(range(100_000))}],
    }
    call = Sample(response="```python\ndef f():\n    return list(range(100000))\n```", reference=returned)
    verdicts = await really([right, wrong, call])
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0, 1.0]
    assert verdicts[1].reason == "wrong_answer"


@pytest.mark.needs_server
async def test_hundreds_of_tests_are_run_and_listed_in_bounds() -> None:
    tests = [{"type": "stdio", "stdin": str(n), "stdout": str(n if n != 170 else 0)} for n in range(200)]
    sample = Sample(response="```python\nprint(input())\n```", reference={"language": "python", "tests": tests})
    (verdict,) = await really([sample], scoring="fraction")
    assert verdict.score == pytest.approx(199 / 200)
    assert verdict.evidence["counts"] == {"AC": 199, "WA": 1}
    assert verdict.evidence["tests"][-1]["id"] == "170"
    assert verdict.evidence["omitted"] == 99


@pytest.mark.needs_server
async def test_a_stranger_in_the_output_is_no_defect() -> None:
    raw = printing("import sys; sys.stdout.buffer.write(bytes(range(256)))", stdout={"base64": _every_byte()})
    # Large enough to be compared by `output`, whose view would take the text after the tag for a thought.
    fooled = printing("print(chr(60) + 'think>' + 'x' * 70000)", stdout="<think>" + "x" * 70_000)
    assert [verdict.score for verdict in await really([raw, fooled])] == [1.0, 1.0]


def _every_byte() -> str:
    import base64

    return base64.b64encode(bytes(range(256))).decode()
