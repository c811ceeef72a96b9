"""The memory of tasks, on disk and by their digests: the results of checks, and environments."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

VERSION = 1
"""Raised whenever what is kept means something else, or is found out in another way."""


def default_folder() -> Path:
    """Returns the folder in which tasks are remembered, where nothing else is configured."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "rewarden" / "tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCheck:
    """The checks of one step. untouched, solved: the rewards of the untouched box and of the solution; None: the tests
    wrote none. rewritten: test files that the solution's run changed. problem: why the step cannot judge; None: it
    can. solution: the step has one."""

    step: str
    untouched: float | None
    solved: float | None = None
    solution: bool = True
    rewritten: tuple[str, ...] = ()
    problem: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The checks of a task. image_id: of the image on which they were made."""

    task: str
    digest: str
    image_id: str
    steps: tuple[StepCheck, ...]
    problem: str | None = None

    def step(self, name: str) -> StepCheck | None:
        """Returns the check of a step, None if an earlier one made it impossible."""
        return next((step for step in self.steps if step.step == name), None)

    @property
    def fault(self) -> str | None:
        """Returns why the task cannot judge, or None."""
        return self.problem or next((step.problem for step in self.steps if step.problem is not None), None)


@dataclass(frozen=True, slots=True)
class Memory:
    """The folder. All methods block."""

    folder: Path

    def check(self, digest: str, image_id: str) -> Checked | None:
        """Returns what is remembered of a task on an image, or None."""
        try:
            told = json.loads(self._check(digest, image_id).read_text(encoding="utf-8"))
            if told.pop("version") != VERSION:
                return None
            steps = tuple(StepCheck(**{**step, "rewritten": tuple(step["rewritten"])}) for step in told.pop("steps"))
            return Checked(steps=steps, **told)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # it is found out again

    def remember(self, checked: Checked) -> None:
        """Keeps the result of a check."""
        told: dict[str, Any] = {"version": VERSION, **asdict(checked)}
        with self._written(self._check(checked.digest, checked.image_id)) as file:
            file.write(json.dumps(told, indent=1).encode())

    def environment(self, digest: str, image_id: str) -> Path | None:
        """Returns the file of an environment's changes, or None if it was not made yet."""
        path = self._environment(digest, image_id)
        return path if path.is_file() else None

    @contextlib.contextmanager
    def making(self, digest: str, image_id: str) -> Any:
        """Yields a file for the changes of an environment, which is there once the block has ended well."""
        with self._written(self._environment(digest, image_id)) as file:
            yield file

    def _check(self, digest: str, image_id: str) -> Path:
        return self.folder / "checks" / f"{_key(digest, image_id)}.json"

    def _environment(self, digest: str, image_id: str) -> Path:
        return self.folder / "environments" / f"{_key(digest, image_id)}.tar"

    @contextlib.contextmanager
    def _written(self, path: Path) -> Any:
        """Yields a file that takes the place of the path's at the end, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(number, "wb") as file:
                yield file
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _key(digest: str, image_id: str) -> str:
    return hashlib.sha256(f"{VERSION} {digest} {image_id}".encode()).hexdigest()


async def copied(changes: AsyncGenerator[bytes, None], file: BinaryIO) -> None:
    """Writes a stream of changes to a file."""
    async with contextlib.aclosing(changes):
        async for piece in changes:
            file.write(piece)
