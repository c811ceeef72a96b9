"""The verifier `task`: judges the final state of a box by a task's own tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InvalidReference, InvalidSample, SandboxError
from rewarden.types import Component, Outcome, Sample
from rewarden_verifiers.boxes import BoxFault, LiveBox
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.execution.candidate import Missing, bare, find, rules_of
from rewarden_verifiers.outcome import no_answer, scored, undecided, wrong
from rewarden_verifiers.tasks.checking import TOP, begun, checked, opened
from rewarden_verifiers.tasks.folder import read_task
from rewarden_verifiers.tasks.judging import Ran, State, TaskBoxes, check_image, kept, put, solve, unserved
from rewarden_verifiers.tasks.memory import Checked, StepCheck
from rewarden_verifiers.tasks.params import TaskParams, TaskReference
from rewarden_verifiers.tasks.resources import TaskResources
from rewarden_verifiers.tasks.task import File, Step, Task
from rewarden_verifiers.view import DEFAULT_VIEW, apply_view

_SHELL = frozenset({"bash", "sh", "shell", "zsh"})
_JSON = frozenset({"json"})
_MOST_FILES = 1000
_EXTRACTED = 4000
_UNSAFE = frozenset({"", ".", ".."})


class _NoAnswer(Exception):
    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class _Solution:
    """A response to run. files: the files for /solution, or those that the form `files` puts in place."""

    files: Mapping[str, File]
    script: bool
    text: str


@verifier(version="1", graded=True, determinism="stateful", resources=TaskResources, live_box=True)
async def task(
    sample: Sample,
    reference: str | TaskReference | None = None,
    *,
    params: TaskParams,
    resources: TaskResources,
    ctx: Context,
) -> Outcome:
    """The final state of a box passes the tests of a task folder, and the score is the reward that they write.

    The reference names a task of `tasks.folders`, or holds its files. Without a reference, it is the task with which
    the box was opened. For `POST /v1/sessions/{id}/score`, the state is that of the live box. For any other sample, the
    response (a shell script or files, see `form`) runs in a fresh box of the task.

    The tests run in a separate box with a copy of the files and none of the processes, under the task's time limits,
    and without a network unless both the task and the server allow one. If a request of the tests could not be served,
    the result is an error, never a 0. `/tests` and `/logs/verifier` always come from the task. Changes to system
    folders carry over only in the mode `shared`, which is flagged, or if the task lists them. See docs/tasks.md.

    Each task is checked before its first use: its solution must get the reward 1, and an untouched box must not.

    A response to a later step starts from the state that the solutions of the earlier steps left.

    Reasons with score 0: `no_reward`, `tests_changed`, `processes_left`, `unusable_files`, `time_limit`,
    `memory_limit`, `output_limit`, `no_answer`. If a task fails its check, the outcome is undecided, with the fault
    `reference`.
    """
    task_ = await asyncio.to_thread(_task, reference, ctx.box, resources)
    step = task_.step(params.step)
    if ctx.box is not None and ctx.box.image != task_.environment.image:
        raise InvalidSample(
            f"the box runs the image {ctx.box.image!r}, but the task needs {task_.environment.image!r}: open the box "
            "with `task`",
            path="use",
        )
    solution = None
    if ctx.box is None:
        try:
            solution = _solution(sample, params)
        except _NoAnswer as none:
            return none.outcome
    found = await checked(ctx.boxes, task_, resources.size, resources.memory)
    if found.fault is not None:
        return undecided("task_refused", fault="reference", feedback=f"task {task_.id!r}: {found.fault}")
    control = found.step(step.name)
    if solution is not None and (unsolved := _unsolved(task_, step, found)) is not None:
        return undecided(
            "step_out_of_reach",
            fault="reference",
            feedback=f"the step {step.name!r} begins where {unsolved!r} ends, which has no solution: judge a box",
        )
    flags: list[str] = []
    async with opened(ctx.boxes, task_, resources.size, resources.memory) as own:
        try:
            if solution is not None:
                async with begun(own, ctx.boxes, step, resources.size, resources.memory) as before:
                    ran = await _solved(own, step, before, solution, flags)
            else:
                assert ctx.box is not None
                check_image(ctx.box, own.image_id)
                async with kept(ctx.box.changes()) as state:
                    record = ctx.box.trajectory(step.instruction)
                    ran = await own.verify(step, state, disk_mb=ctx.box.disk_mb, trajectory=record)
        except BoxFault as fault:  # attack: files that cannot be copied, so that the sample goes unscored
            return no_answer("unusable_files", feedback=str(fault))
    judged = _Judged(task_, step, control, ran, flags, solution)
    return judged.outcome()


def _unsolved(task: Task, step: Step, found: Checked) -> str | None:
    """Returns the first step before this one that the check did not solve, or None."""
    for earlier in task.steps[: task.steps.index(step)]:
        control = found.step(earlier.name)
        if control is None or control.solved is None:
            return earlier.name
    return None


async def _solved(own: TaskBoxes, step: Step, before: State | None, solution: _Solution, flags: list[str]) -> Ran:
    """Runs a response in a box of its own, and returns the result of the tests. Raises BoxFault."""
    async with AsyncExitStack() as stack:
        async with own.box(step, before) as box:
            if solution.script:
                report = await solve(box, own.task, step, solution.files, {})
                if report.status.endswith("_limit"):
                    flags.append(f"solution_{report.status}")
            else:
                await put(box, own.task, solution.files)
            state = await stack.enter_async_context(kept(box.changes()))
        return await own.verify(step, state)


@dataclass
class _Judged:
    """The outcome of a run of tests. control: the check of the step."""

    task: Task
    step: Step
    control: StepCheck | None
    ran: Ran
    flags: list[str] = field(default_factory=list)
    solution: _Solution | None = None

    def outcome(self) -> Outcome:
        """Returns the outcome."""
        ran, control = self.ran, self.control
        if self.step.mode == "shared" or self.task.services:
            self.flags.append("shared_state")
        if ran.dropped:
            self.flags.append("system_changes_dropped")
        unchecked = control is None or control.solved is None
        if unchecked:
            self.flags.append("unchecked")
        if self._refused:
            self.flags.append("network_refused")
        if ran.left:
            self.flags.append("processes_left")
        # Attack: break the tests of a task without a solution, so that the sample goes unscored. If the tests wrote a
        # reward in any box, untouched or solved, they are known to work.
        proven = control is not None and (control.solved is not None or control.untouched is not None)
        known = frozenset(control.rewritten) if control is not None else frozenset[str]()
        details = self._details()
        if ran.rewritten - known:
            return wrong("tests_changed", **details)
        if not self._reached():
            if ran.requests.unserved:
                raise SandboxError(f"task {self.task.id!r}: {unserved(ran.requests)}; see the sandbox host's record")
            if unchecked and self._refused:
                return undecided("network_refused", fault="reference", **details)
        if ran.end != "ended":
            return wrong(ran.end, **details) if proven else undecided(ran.end, fault="reference", **details)
        if ran.left and not unchecked and not (control is not None and control.left):
            return wrong("processes_left", **details)
        if ran.reward is None:
            return wrong("no_reward", **details) if proven else undecided("no_reward", fault="reference", **details)
        parts = {name: Component(status="scored", score=value) for name, value in ran.reward.parts.items()}
        passed = ran.reward.score >= TOP
        return scored(
            ran.reward.score, passed=passed, reason=None if passed else "tests_failed", components=parts, **details
        )

    def _reached(self) -> bool:
        """Returns whether the reward is at least the solution's, so that nothing can have lowered it."""
        best = self.control.solved if self.control is not None else None
        reward = self.ran.reward
        return self.ran.end == "ended" and reward is not None and reward.score >= (TOP if best is None else best)

    @property
    def _refused(self) -> list[str]:
        """Returns the requests that were refused in this run but not in the check. With a solution, the check proves
        that the tests need none of them. Attack: files that direct the tests to a refused host, so that the sample goes
        unscored.
        """
        known = self.control.refused if self.control is not None else ()
        return [name for name in self.ran.requests.refused if name not in known]

    def _details(self) -> dict[str, Any]:
        ran = self.ran
        evidence: dict[str, Any] = {
            "task": self.task.id,
            "digest": self.task.digest[:16],
            "mode": self.step.mode,
            "exit_code": ran.exit_code,
        }
        if self.step.name:
            evidence["step"] = self.step.name
        if ran.dropped:
            evidence["dropped"] = list(ran.dropped)
        refused = ""
        if self._refused:
            evidence["refused"] = self._refused
            refused = f"the network of the task's tests does not allow {', '.join(self._refused[:5])}"
        sick = [f"the health check {check[:100]!r} failed" for check in ran.sick]
        said = "\n".join(filter(None, (refused, *sick, ran.why, ran.output)))
        return {
            "evidence": evidence,
            "flags": tuple(self.flags),
            "feedback": said or None,
            "extracted": None if self.solution is None else self.solution.text[:_EXTRACTED],
        }


def _task(reference: str | TaskReference | None, box: LiveBox | None, resources: TaskResources) -> Task:
    if isinstance(reference, TaskReference):
        files = {name: File(text.encode("utf-8", "surrogatepass"), True) for name, text in reference.files.items()}
        return read_task("inline", files)
    name = reference if reference is not None else box.task if box is not None else None
    if name is None:
        raise InvalidReference("reference is missing: the id of a task, or its files")
    found = resources.tasks.get(name)
    if found is None:
        known = ", ".join(sorted(resources.tasks)[:20]) or "none (tasks.folders is empty)"
        raise InvalidReference(f"reference: unknown task {name[:100]!r}; known: {known}")
    return found


def _solution(sample: Sample, params: TaskParams) -> _Solution:
    """Converts the response to files to run. Raises _NoAnswer."""
    viewed = apply_view(sample.response, DEFAULT_VIEW)
    if viewed.text is None:
        raise _NoAnswer(no_answer(viewed.reason or "no_answer"))
    labels = _SHELL if params.form == "script" else _JSON
    found = find(viewed.text, (*rules_of("last_block"), bare), labels, "refuse")
    if isinstance(found, Missing):
        raise _NoAnswer(no_answer(found.reason, flags=found.flags))
    if params.form == "script":
        return _Solution({"solve.sh": File(found.code.encode(), True)}, True, found.code)
    return _Solution(_files(found.code), False, found.code)


def _files(text: str) -> dict[str, File]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise _NoAnswer(no_answer("not_json")) from None
    if not isinstance(told, dict) or not 0 < len(told) <= _MOST_FILES:
        raise _NoAnswer(no_answer("not_files"))
    made = {}
    for name, content in told.items():
        parts = name.lstrip("/").split("/")
        if not isinstance(content, str) or "\0" in name or not _is_text(name) or _UNSAFE.intersection(parts):
            raise _NoAnswer(no_answer("not_files"))
        made[name] = File(content.encode("utf-8", "replace"))
    return made


def _is_text(name: str) -> bool:
    """Returns whether a name can be encoded. Attack: an unpaired surrogate, which makes the archive writer fail."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
