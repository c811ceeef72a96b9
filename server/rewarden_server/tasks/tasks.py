"""The tasks of a server, and the preparation of their boxes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rewarden.boxes.types import StepBegun
from rewarden.errors import InvalidRequest, NotFound, SampleError, SandboxError, Unavailable, near
from rewarden_server.engine.lanes.boxes import BoxLane, OpenedBox
from rewarden_verifiers.boxes import BoxFault
from rewarden_verifiers.tasks.checking import checked, opened
from rewarden_verifiers.tasks.judging import SETUP, TaskBoxes, ended, lay, tail
from rewarden_verifiers.tasks.resources import TaskResources
from rewarden_verifiers.tasks.task import Task, TaskFault

if TYPE_CHECKING:
    from rewarden_sandboxes.remote_box import RemoteBox


class Tasks:
    """Finds tasks, and turns fresh boxes into tasks' boxes."""

    def __init__(self, resources: TaskResources, boxes: BoxLane) -> None:
        self.resources = resources
        self._boxes = boxes

    def find(self, id: str) -> Task:
        """Returns a task. Raises NotFound."""
        found = self.resources.tasks.get(id)
        if found is None:
            raise NotFound(f"unknown task {id[:100]!r}{near(id, self.resources.tasks)}")
        return found

    @asynccontextmanager
    async def ready(self, id: str) -> AsyncIterator[Begun]:
        """Yields what a task's box starts with. First, the task is checked and its environment made, unless both are
        cached. Raises RequestError."""
        task = self.find(id)
        resources = self.resources
        try:
            found = await checked(self._boxes, task, resources.size, resources.memory)
            if found.fault is not None:
                raise InvalidRequest(f"the task {id!r} failed its check: {found.fault}", path="task")
            async with opened(self._boxes, task, resources.size, resources.memory) as own:
                yield Begun(own, task)
        except SandboxError as error:
            raise Unavailable(f"the task {id!r} cannot begin now: {error.message}", retry_after_s=1.0) from None
        except (SampleError, BoxFault) as error:
            raise InvalidRequest(f"the task {id!r} cannot begin: {error}", path="task") from None

    async def step(self, task: Task, name: str, remote: RemoteBox) -> StepBegun:
        """Starts a step in a box that a policy has used. If its leftovers get in the way of the step's files, the
        policy is told, and the tests judge as usual. Raises RequestError."""
        try:
            step = task.step(name)
        except TaskFault as fault:
            raise InvalidRequest(fault.message, path="step") from None
        problem = None
        try:
            setup = await lay(OpenedBox(remote), task, step)
            if setup is not None and setup.status != "ok":
                problem = f"{SETUP} {ended(setup)}: {tail(setup)}"
        except BoxFault as fault:
            problem = f"the files cannot be laid: {fault}"
        except SandboxError as error:
            raise Unavailable(f"the step {name!r} cannot begin now: {error.message}", retry_after_s=1.0) from None
        return StepBegun(step=step.name, instruction=step.instruction, problem=problem)


class Begun:
    """The common start of a task's boxes: image, environment and limits."""

    def __init__(self, own: TaskBoxes, task: Task) -> None:
        self._own = own
        self._task = task
        self.image = task.environment.image
        self.env = task.environment.env
        self.limits = own.limits

    async def fill(self, remote: RemoteBox) -> None:
        """Prepares a fresh box for the task's first step. Raises SandboxError, TaskFault."""
        await self._own.begin(OpenedBox(remote), self._task.steps[0])
