"""The check of a task before it judges anybody: its solution must reach the top, and an untouched box must not.

It is the control run of every verdict: a missing reward is the policy's fault only if the solution's run wrote one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from rewarden.errors import SandboxError
from rewarden_verifiers.boxes import Boxes, BoxFault
from rewarden_verifiers.tasks.judging import Ran, Size, State, TaskBoxes, build, check_image, kept, solve
from rewarden_verifiers.tasks.memory import Checked, Memory, StepCheck, copied
from rewarden_verifiers.tasks.task import Environment, Step, Task, TaskFault

TOP = 1.0


@asynccontextmanager
async def opened(boxes: Boxes, task: Task, size: Size, memory: Memory) -> AsyncIterator[TaskBoxes]:
    """Yields the boxes of a task. The environment is made at the first time, and kept.
    Raises TaskFault, SandboxError."""
    environment = task.environment
    image_id = await boxes.identity(environment.image, size.limits(environment))
    if not environment.actions:
        yield TaskBoxes(boxes, task, size, image_id, None)
        return
    key = environment.digest
    path = await asyncio.to_thread(memory.environment, key, image_id)
    if path is None:
        await boxes.together(f"environment {key}", lambda: _make(boxes, task, size, memory, image_id))
        path = await asyncio.to_thread(memory.environment, key, image_id)
    if path is None:
        raise SandboxError("the environment of a task was made and not kept")
    with path.open("rb") as file:
        yield TaskBoxes(boxes, task, size, image_id, State(file))


async def _make(boxes: Boxes, task: Task, size: Size, memory: Memory, image_id: str) -> None:
    environment: Environment = task.environment
    async with boxes.open(environment.image, limits=size.limits(environment), env={}) as box:
        check_image(box, image_id)
        await build(box, environment)
        with memory.making(environment.digest, image_id) as file:
            await copied(box.changes(), file)


async def checked(boxes: Boxes, task: Task, size: Size, memory: Memory) -> Checked:
    """Returns the check of a task, which is made if none is remembered. Raises SandboxError."""
    image_id = await boxes.identity(task.environment.image, size.limits(task.environment))
    known = await asyncio.to_thread(memory.check, task.digest, image_id)
    if known is None:
        await boxes.together(f"check {task.digest}", lambda: check(boxes, task, size, memory))
        known = await asyncio.to_thread(memory.check, task.digest, image_id)
    if known is None:
        raise SandboxError("the check of a task was made and not kept, or its image was replaced meanwhile")
    return known


async def check(boxes: Boxes, task: Task, size: Size, memory: Memory) -> Checked:
    """Checks a task, and remembers the result. Raises SandboxError."""
    try:
        async with opened(boxes, task, size, memory) as own:
            found = await _checked(own, task)
    except (TaskFault, BoxFault) as fault:
        image_id = await boxes.identity(task.environment.image, size.limits(task.environment))
        found = Checked(task=task.id, digest=task.digest, image_id=image_id, steps=(), problem=str(fault))
    await asyncio.to_thread(memory.remember, found)
    return found


async def _checked(own: TaskBoxes, task: Task) -> Checked:
    """The steps one after the other: each begins where the solutions of those before it ended."""
    steps: list[StepCheck] = []
    before: State | None = None
    async with AsyncExitStack() as stack:
        for step in task.steps:
            async with own.box(before) as box:
                untouched_state = await stack.enter_async_context(kept(box.changes()))
            untouched = await own.verify(step, untouched_state)
            solved: Ran | None = None
            ended = ""
            if step.solve in step.solution:
                async with own.box(before) as box:
                    report = await solve(box, task, step, step.solution, task.solution_env)
                    ended = report.status
                    before = await stack.enter_async_context(kept(box.changes()))
                solved = await own.verify(step, before)
            steps.append(_judged(step, untouched, solved, ended))
            if solved is None or steps[-1].problem is not None:
                break
    return Checked(task=task.id, digest=task.digest, image_id=own.image_id, steps=tuple(steps))


def _judged(step: Step, untouched: Ran, solved: Ran | None, ended: str) -> StepCheck:
    where = f"step {step.name!r}: " if step.name else ""
    problem = None
    if untouched.reward is not None and untouched.reward.score >= TOP:
        problem = f"{where}an untouched box gets the reward {TOP:g}"
    elif solved is not None and solved.end != "ended":
        problem = f"{where}the tests of the solution's box reached the {solved.end.replace('_', ' ')}: {solved.output}"
    elif solved is not None and (solved.reward is None or solved.reward.score < TOP):
        got = solved.why if solved.reward is None else f"the reward is {solved.reward.score:g}"
        said = solved.output or f"the solution ended with {ended}"
        problem = f"{where}the solution does not reach the reward {TOP:g}: {got}: {said}"
        if solved.dropped:
            problem += (
                f" (its changes to {', '.join(solved.dropped[:3])} were not carried into the tests' box; "
                "list such paths in metadata.rewarden.keep)"
            )
    return StepCheck(
        step=step.name,
        untouched=untouched.reward.score if untouched.reward is not None else None,
        solved=solved.reward.score if solved is not None and solved.reward is not None else None,
        solution=solved is not None,
        rewritten=tuple(sorted(solved.rewritten)) if solved is not None else (),
        problem=problem,
        seconds=(solved or untouched).seconds,
    )
