"""The memory of tasks, on disk and by their digests: the results of checks, environments, and beginnings of steps.

Whatever is kept is about a digest, an image and the limits of the boxes: under other limits, a solution may fail.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rewarden_sandboxes.job import Limits

VERSION = 2
"""Raised whenever what is kept means something else, or is found out in another way."""

MOST_BYTES = 10 * 1024**3
"""The size of the folder, where nothing else is configured."""

_MOST_FILES = 20_000
_NEW = ".new-"
_ABANDONED_S = 86_400.0
"""Seconds after which a file that was never finished is nobody's any more."""


def default_folder() -> Path:
    """Returns the folder in which tasks are remembered, where nothing else is configured."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "rewarden" / "tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCheck:
    """The checks of one step. untouched, solved: the rewards of the untouched box and of the solution; None: the tests
    wrote none, or the solution proves nothing. rewritten: test files that the runs changed or added. left: processes
    lived on after the tests. problem: why the step cannot judge; None: it can. solution: the step has one."""

    step: str
    untouched: float | None
    solved: float | None = None
    solution: bool = True
    rewritten: tuple[str, ...] = ()
    left: bool = False
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
        """Returns the check of a step, None if the check ended before it."""
        return next((step for step in self.steps if step.step == name), None)

    @property
    def fault(self) -> str | None:
        """Returns why the task cannot judge, or None."""
        return self.problem or next((step.problem for step in self.steps if step.problem is not None), None)


@dataclass(frozen=True, slots=True)
class Memory:
    """The folder. All methods block. most_bytes: its size; what was used longest ago goes first. Attack: requests that
    each bring another task."""

    folder: Path
    most_bytes: int = MOST_BYTES

    def check(self, digest: str, image_id: str, limits: Limits) -> Checked | None:
        """Returns what is remembered of a task, or None."""
        path = self._check(digest, image_id, limits)
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            if told.pop("version") != VERSION:
                return None
            steps = tuple(StepCheck(**{**step, "rewritten": tuple(step["rewritten"])}) for step in told.pop("steps"))
            found = Checked(steps=steps, **told)
            os.utime(path)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None  # it is found out again
        return found

    def remember(self, checked: Checked, limits: Limits) -> None:
        """Keeps the result of a check."""
        told: dict[str, Any] = {"version": VERSION, **asdict(checked)}
        with self._written(self._check(checked.digest, checked.image_id, limits)) as file:
            file.write(json.dumps(told, indent=1).encode())

    def state(self, digest: str, image_id: str, limits: Limits) -> BinaryIO | None:
        """Returns the file of changes with which an environment or a step begins, or None if it is not kept."""
        path = self._state(digest, image_id, limits)
        try:
            file = path.open("rb")
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return file

    @contextlib.contextmanager
    def making(self, digest: str, image_id: str, limits: Limits) -> Iterator[BinaryIO]:
        """Yields a file for such changes, which is kept once the block has ended well."""
        with self._written(self._state(digest, image_id, limits)) as file:
            yield file

    def _check(self, digest: str, image_id: str, limits: Limits) -> Path:
        return self.folder / "checks" / f"{_key(digest, image_id, limits)}.json"

    def _state(self, digest: str, image_id: str, limits: Limits) -> Path:
        return self.folder / "states" / f"{_key(digest, image_id, limits)}.tar"

    @contextlib.contextmanager
    def _written(self, path: Path) -> Iterator[BinaryIO]:
        """Yields a file that takes the place of the path's at the end, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
        try:
            with os.fdopen(number, "wb") as file:
                yield file
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        self._forget(path)

    def _forget(self, newest: Path) -> None:
        """Deletes what was used longest ago, until the rest fits. The newest stays: somebody waits for it."""
        kept: list[tuple[float, int, str]] = []
        for place in ("checks", "states"):
            with contextlib.suppress(FileNotFoundError), os.scandir(self.folder / place) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):  # another server deletes as well
                        about = entry.stat(follow_symlinks=False)
                        if entry.name.startswith(_NEW) and time.time() - about.st_mtime < _ABANDONED_S:
                            continue
                        kept.append((about.st_mtime, about.st_blocks * 512, entry.path))
        size, count = sum(each for _, each, _ in kept), len(kept)
        for _, bytes_, name in sorted(kept):
            if size <= self.most_bytes and count <= _MOST_FILES:
                break
            if name != str(newest):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name)
                size, count = size - bytes_, count - 1


def _key(digest: str, image_id: str, limits: Limits) -> str:
    given = sorted(limits.given().items())
    return hashlib.sha256(repr((VERSION, digest, image_id, given)).encode()).hexdigest()


async def copied(changes: AsyncGenerator[bytes, None], file: BinaryIO) -> None:
    """Writes a stream of changes to a file."""
    async with contextlib.aclosing(changes):
        async for piece in changes:
            await asyncio.to_thread(file.write, piece)
