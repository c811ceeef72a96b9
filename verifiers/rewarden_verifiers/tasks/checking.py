"""Checks a task before its first use: its solution must get the full reward, and an untouched box must not.

The check is the control run for every verdict: a missing reward is the policy's fault only if the solution's run wrote
one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from rewarden.errors import InvalidSample, SandboxError
from rewarden_sandboxes.job import Limits
from rewarden_verifiers.boxes import Boxes, BoxFault
from rewarden_verifiers.tasks.judging import (
    Base,
    Ran,
    Size,
    State,
    TaskBoxes,
    build,
    check_image,
    identity_of,
    kept,
    solve,
    unserved,
)
from rewarden_verifiers.tasks.memory import Checked, Memory, StepCheck
from rewarden_verifiers.tasks.task import Environment, Step, Task, TaskFault

TOP = 1.0


@asynccontextmanager
async def opened(boxes: Boxes, task: Task, size: Size, memory: Memory) -> AsyncIterator[TaskBoxes]:
    """Yields the boxes of a task. The environment is built the first time, and then kept. Raises TaskFault,
    SandboxError.
    """
    async with AsyncExitStack() as stack:
        bases = {}
        for environment, image_id in zip(task.environments, await _images(boxes, task, size), strict=True):
            if environment.digest not in bases:
                state = await _state(stack, boxes, environment, size.limits(environment), memory, image_id)
                bases[environment.digest] = Base(image_id, state)
        yield TaskBoxes(boxes, task, size, bases)


async def _images(boxes: Boxes, task: Task, size: Size) -> list[str]:
    """Returns the identity of each environment's image. Raises InvalidSample if no host provides an image."""
    policy = await boxes.identity(task.environment.image, size.limits(task.environment))
    made = [policy]
    for environment in task.environments[1:]:
        try:
            made.append(await boxes.identity(environment.image, size.limits(environment)))
        except InvalidSample as error:
            raise InvalidSample(f"task {task.id!r}: the tests' own image: {error.message}", **error.details) from None
    return made


async def _identity(boxes: Boxes, task: Task, size: Size) -> str:
    """Returns the combined identity of all images, which is part of the key of a stored check."""
    return identity_of(await _images(boxes, task, size))


async def _state(
    stack: AsyncExitStack, boxes: Boxes, environment: Environment, limits: Limits, memory: Memory, image_id: str
) -> State | None:
    """Returns the changes that an environment makes to its image; they exist until the stack is closed. Raises
    TaskFault, SandboxError.
    """
    if not environment.actions:
        return None
    key = environment.digest
    file = await asyncio.to_thread(memory.state, key, image_id, limits)
    if file is None:
        await boxes.together(f"environment {key} {limits}", lambda: _make(boxes, environment, limits, memory, image_id))
        file = await asyncio.to_thread(memory.state, key, image_id, limits)
    if file is None:
        raise SandboxError("the environment of a task was made and not kept")
    return State(stack.enter_context(file))


async def _make(boxes: Boxes, environment: Environment, limits: Limits, memory: Memory, image_id: str) -> None:
    async with boxes.open(environment.image, limits=limits, env={}) as box:
        check_image(box, image_id)
        await build(box, environment)
        await memory.keep(environment.digest, image_id, limits, box.changes())


@asynccontextmanager
async def begun(own: TaskBoxes, boxes: Boxes, step: Step, size: Size, memory: Memory) -> AsyncIterator[State | None]:
    """Yields the state in which a step begins, which is where the solutions of the previous steps ended; None for the
    environment's own state. The task's check must have solved those steps. Raises SandboxError.
    """
    task = own.task
    if step == task.steps[0]:
        yield None
        return
    key = task.beginning(step)
    file = await asyncio.to_thread(memory.state, key, own.image_id, own.limits)
    if file is None:  # the check made it, but it was evicted before the check's result
        await boxes.together(f"check {size.digest(task)} {own.limits}", lambda: check(boxes, task, size, memory))
        file = await asyncio.to_thread(memory.state, key, own.image_id, own.limits)
    if file is None:
        raise SandboxError("the beginning of a step was made and not kept")
    with file:
        yield State(file)


async def checked(boxes: Boxes, task: Task, size: Size, memory: Memory) -> Checked:
    """Returns the check of a task, and runs it if no result is stored. Raises SandboxError."""
    limits = size.limits(task.environment)
    image_id = await _identity(boxes, task, size)
    known = await asyncio.to_thread(memory.check, size.digest(task), image_id, limits)
    if known is None:
        await boxes.together(f"check {size.digest(task)} {limits}", lambda: check(boxes, task, size, memory))
        known = await asyncio.to_thread(memory.check, size.digest(task), image_id, limits)
    if known is None:
        raise SandboxError("the check of a task was made and not kept, or its image was replaced meanwhile")
    return known


async def check(boxes: Boxes, task: Task, size: Size, memory: Memory) -> Checked:
    """Checks a task, and stores the result. Raises SandboxError."""
    limits = size.limits(task.environment)
    try:
        async with opened(boxes, task, size, memory) as own:
            found = await _checked(own, task, size, memory)
    except (TaskFault, BoxFault) as fault:
        image_id = await _identity(boxes, task, size)
        found = Checked(task=task.id, digest=size.digest(task), image_id=image_id, steps=(), problem=str(fault))
    await asyncio.to_thread(memory.remember, found, limits)
    return found


async def _checked(own: TaskBoxes, task: Task, size: Size, memory: Memory) -> Checked:
    """Checks the steps in order: each begins where the solutions of the previous ones ended.

    If a step has no solution, later solutions may fail because of that, which proves nothing; but the untouched box
    still must not get the full reward.
    """
    steps: list[StepCheck] = []
    before: State | None = None
    whole = True
    async with AsyncExitStack() as stack:
        for place, step in enumerate(task.steps):
            if place and whole and before is not None:
                await memory.keep(task.beginning(step), own.image_id, own.limits, before.pieces())
            async with own.box(step, before) as box:
                untouched_state = await stack.enter_async_context(kept(box.changes()))
            untouched = _served(task, await own.verify(step, untouched_state))
            after: State | None = None
            solved: Ran | None = None
            ended = ""
            if step.solve in step.solution:
                async with own.box(step, before) as box:
                    report = await solve(box, task, step, step.solution, task.solution_env)
                    ended = report.status
                    after = await stack.enter_async_context(kept(box.changes()))
                solved = _served(task, await own.verify(step, after))
                if not whole and not _tops(solved):
                    solved = None
            steps.append(_judged(step, untouched, solved, ended, size))
            if steps[-1].problem is not None:
                break
            if solved is None:
                whole = False
            else:
                before = after
    return Checked(task=task.id, digest=size.digest(task), image_id=own.identity, steps=tuple(steps))


def _tops(ran: Ran) -> bool:
    return ran.end == "ended" and ran.reward is not None and ran.reward.score >= TOP


def _served(task: Task, ran: Ran) -> Ran:
    """Returns a run that proves something about the task. Raises SandboxError if the network may have caused the
    failure, which must not be stored.
    """
    if ran.requests.unserved and not _tops(ran):
        raise SandboxError(f"the check of task {task.id!r} cannot end: {unserved(ran.requests)}")
    return ran


def _judged(step: Step, untouched: Ran, solved: Ran | None, ended: str, size: Size) -> StepCheck:
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
        if solved.unsearched:
            problem += (
                f" ({', '.join(solved.unsearched[:3])} is the policy's, so the tests' box does not search it for "
                "programs; call them by their path, or list it in metadata.rewarden.keep)"
            )
        problem += _beyond(step, solved, size)
        if solved.sick:
            problem += f" (the health check {solved.sick[0][:100]!r} failed)"
    return StepCheck(
        step=step.name,
        untouched=untouched.reward.score if untouched.reward is not None else None,
        solved=solved.reward.score if solved is not None and solved.reward is not None else None,
        solution=step.solve in step.solution,
        rewritten=tuple(sorted(untouched.rewritten | (solved.rewritten if solved is not None else frozenset()))),
        left=untouched.left or (solved is not None and solved.left),
        refused=tuple(sorted({*untouched.requests.refused, *(solved.requests.refused if solved is not None else ())})),
        problem=problem,
        seconds=(solved or untouched).seconds,
    )


def _beyond(step: Step, solved: Ran, size: Size) -> str:
    """Returns, in words, which network access the solution's tests may have lacked; empty if none."""
    if solved.requests.refused:
        return (
            f" (the tests asked for {', '.join(solved.requests.refused[:3])}, which they may not reach: list such "
            "hosts in verifier.allowed_hosts, and in the setting tasks.network)"
        )
    if step.network and not size.reached(step):
        return f" (the tests may not reach {', '.join(step.network[:3])}: the setting tasks.network lists no such host)"
    return ""
