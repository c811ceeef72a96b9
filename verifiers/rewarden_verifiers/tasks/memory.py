"""The store of tasks: results of checks, environments, and initial states of steps, on disk, by digest.

An entry applies to one digest, image and set of box limits: under other limits, a solution can fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rewarden_sandboxes.job import Limits
from rewarden_verifiers.tasks.shelf import Shelf

VERSION = 4
"""Incremented when the meaning of an entry or the way to compute it changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCheck:
    """The checks of one step. untouched, solved: the rewards of the untouched box and of the solution; None if the
    tests wrote none, or the solution proves nothing. rewritten: test files that the runs changed or added. left:
    processes outlived the tests. refused: requests of the tests that their network does not allow, each as `HOST:PORT`.
    problem: why the step cannot judge, or None. solution: whether the step has one.
    """

    step: str
    untouched: float | None
    solved: float | None = None
    solution: bool = True
    rewritten: tuple[str, ...] = ()
    left: bool = False
    refused: tuple[str, ...] = ()
    problem: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The checks of a task. image_id: the identity of the images on which they ran."""

    task: str
    digest: str
    image_id: str
    steps: tuple[StepCheck, ...]
    problem: str | None = None

    def step(self, name: str) -> StepCheck | None:
        """Returns the check of a step, or None if the check stopped before it."""
        return next((step for step in self.steps if step.step == name), None)

    @property
    def fault(self) -> str | None:
        """Returns why the task cannot judge, or None."""
        return self.problem or next((step.problem for step in self.steps if step.problem is not None), None)


@dataclass(frozen=True, slots=True)
class Memory:
    """See the module. All methods block."""

    shelf: Shelf

    def check(self, digest: str, image_id: str, limits: Limits) -> Checked | None:
        """Returns a task's stored check, or None."""
        file = self.shelf.open(self._check(digest, image_id, limits))
        if file is None:
            return None
        try:
            with file:
                told = json.load(file)
            if told.pop("version") != VERSION:
                return None
            steps = tuple(
                StepCheck(**{**step, "rewritten": tuple(step["rewritten"]), "refused": tuple(step["refused"])})
                for step in told.pop("steps")
            )
            return Checked(steps=steps, **told)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None  # the check runs again

    def remember(self, checked: Checked, limits: Limits) -> None:
        """Stores the result of a check."""
        told: dict[str, Any] = {"version": VERSION, **asdict(checked)}
        with self.shelf.writing(self._check(checked.digest, checked.image_id, limits)) as file:
            file.write(json.dumps(told, indent=1).encode())

    def state(self, digest: str, image_id: str, limits: Limits) -> BinaryIO | None:
        """Returns the changes with which an environment or a step begins, or None if they are not stored."""
        return self.shelf.open(self._state(digest, image_id, limits))

    async def keep(self, digest: str, image_id: str, limits: Limits, changes: AsyncGenerator[bytes, None]) -> None:
        """Stores such changes once the stream is complete. Unlike the other methods, it does not block."""
        writing = self.shelf.writing(self._state(digest, image_id, limits))
        file = await asyncio.to_thread(writing.__enter__)
        try:
            await copied(changes, file)
        except BaseException as error:
            await asyncio.to_thread(writing.__exit__, type(error), error, error.__traceback__)
            raise
        await asyncio.to_thread(writing.__exit__, None, None, None)

    def _check(self, digest: str, image_id: str, limits: Limits) -> Path:
        return self.shelf.folder / "checks" / f"{_key(digest, image_id, limits)}.json"

    def _state(self, digest: str, image_id: str, limits: Limits) -> Path:
        return self.shelf.folder / "states" / f"{_key(digest, image_id, limits)}.tar"


def _key(digest: str, image_id: str, limits: Limits) -> str:
    given = sorted(limits.given().items())
    return hashlib.sha256(repr((VERSION, digest, image_id, given)).encode()).hexdigest()


async def copied(changes: AsyncGenerator[bytes, None], file: BinaryIO) -> None:
    """Writes a stream of changes to a file."""
    async with contextlib.aclosing(changes):
        async for piece in changes:
            await asyncio.to_thread(file.write, piece)
