"""A box, for threads: the same as `AsyncBox`, without `await`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewarden.boxes.box import AsyncBox, AsyncProcess, Command
from rewarden.boxes.notebook import AsyncNotebook
from rewarden.boxes.notebook_tool import Arguments
from rewarden.boxes.types import (
    BoxFile,
    BoxInfo,
    BoxLease,
    BoxSnapshot,
    CellResult,
    ExecOutput,
    ExecProgress,
    ExecResult,
    Right,
    StepBegun,
    Variable,
)
from rewarden.loop_thread import LoopThread
from rewarden.types import Use, Verdict


class Box:
    """A box of a server. `with client.box("python") as box:` opens one, and closes it at the end. See `AsyncBox`."""

    def __init__(self, box: AsyncBox, thread: LoopThread) -> None:
        self._box = box
        self._thread = thread

    @property
    def id(self) -> str:
        """Returns the box's id."""
        return self._box.id

    @property
    def info(self) -> BoxInfo:
        """Returns the box's state, as it was when it was opened."""
        return self._box.info

    def __enter__(self) -> Box:
        self._thread.run(self._box.__aenter__())
        return self

    def __exit__(self, *exc: object) -> None:
        self._thread.run(self._box.__aexit__(*exc))

    def open(self) -> Box:
        """As `AsyncBox.open`."""
        self._thread.run(self._box.open())
        return self

    def state(self) -> BoxInfo:
        """As `AsyncBox.state`."""
        return self._thread.run(self._box.state())

    def close(self) -> None:
        """As `AsyncBox.close`."""
        self._thread.run(self._box.close())

    def exec(self, command: Command, **options: Any) -> ExecResult:
        """As `AsyncBox.exec`."""
        return self._thread.run(self._box.exec(command, **options))

    def run(self, code: str, language: str = "python", **options: Any) -> ExecResult:
        """As `AsyncBox.run`."""
        return self._thread.run(self._box.run(code, language, **options))

    def stream(self, command: Command, **options: Any) -> Iterator[ExecOutput | ExecResult]:
        """As `AsyncBox.stream`."""
        return self._thread.iterate(lambda: self._box.stream(command, **options))

    def start(self, command: Command, *, feed: bool = False, **options: Any) -> Process:
        """As `AsyncBox.start`."""
        return Process(self._thread.run(self._box.start(command, feed=feed, **options)), self._thread)

    def notebook(self, kernel: str = "python", **options: Any) -> Notebook:
        """As `AsyncBox.notebook`."""
        return Notebook(self._thread.run(self._box.notebook(kernel, **options)), self._thread)

    def write(self, path: str, data: str | bytes) -> None:
        """As `AsyncBox.write`."""
        self._thread.run(self._box.write(path, data))

    def read(self, path: str) -> bytes:
        """As `AsyncBox.read`."""
        return self._thread.run(self._box.read(path))

    def list(self, path: str = ".", depth: int = 1) -> list[BoxFile]:
        """As `AsyncBox.list`."""
        return self._thread.run(self._box.list(path, depth))

    def remove(self, path: str) -> None:
        """As `AsyncBox.remove`."""
        self._thread.run(self._box.remove(path))

    def archive(self, path: str = ".") -> Iterator[bytes]:
        """As `AsyncBox.archive`."""
        return self._thread.iterate(lambda: self._box.archive(path))

    def extract(self, data: bytes, path: str = ".") -> None:
        """As `AsyncBox.extract`."""
        self._thread.run(self._box.extract(data, path))

    def fork(self, *, ttl_s: float | None = None, idle_s: float | None = None, rollout: str | None = None) -> Box:
        """As `AsyncBox.fork`."""
        return Box(self._thread.run(self._box.fork(ttl_s=ttl_s, idle_s=idle_s, rollout=rollout)), self._thread)

    def snapshot(self, *, live: bool = False) -> BoxSnapshot:
        """As `AsyncBox.snapshot`."""
        return self._thread.run(self._box.snapshot(live=live))

    def lease(self, rights: Sequence[Right], *, expires_s: float = 600.0, rollout: str | None = None) -> BoxLease:
        """As `AsyncBox.lease`."""
        return self._thread.run(self._box.lease(rights, expires_s=expires_s, rollout=rollout))

    def step(self, name: str) -> StepBegun:
        """As `AsyncBox.step`."""
        return self._thread.run(self._box.step(name))

    def score(self, use: str | Mapping[str, Any] | Use, **fields: Any) -> Verdict:
        """As `AsyncBox.score`."""
        return self._thread.run(self._box.score(use, **fields))


class Notebook:
    """A notebook in a box. See `AsyncNotebook`."""

    def __init__(self, notebook: AsyncNotebook, thread: LoopThread) -> None:
        self._notebook = notebook
        self._thread = thread

    @property
    def number(self) -> int:
        """Returns its number in the box."""
        return self._notebook.number

    def __enter__(self) -> Notebook:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def run(self, code: str, timeout_s: float | None = None, *, output_bytes: int | None = None) -> CellResult:
        """As `AsyncNotebook.run`."""
        return self._thread.run(self._notebook.run(code, timeout_s, output_bytes=output_bytes))

    def call(self, arguments: Arguments, timeout_s: float | None = None) -> str:
        """As `AsyncNotebook.call`."""
        return self._thread.run(self._notebook.call(arguments, timeout_s))

    def interrupt(self) -> bool:
        """As `AsyncNotebook.interrupt`."""
        return self._thread.run(self._notebook.interrupt())

    def restart(self) -> None:
        """As `AsyncNotebook.restart`."""
        self._thread.run(self._notebook.restart())

    def variables(self) -> list[Variable]:
        """As `AsyncNotebook.variables`."""
        return self._thread.run(self._notebook.variables())

    def close(self) -> None:
        """As `AsyncNotebook.close`."""
        self._thread.run(self._notebook.close())


class Process:
    """A program in the background of a box. See `AsyncProcess`."""

    def __init__(self, process: AsyncProcess, thread: LoopThread) -> None:
        self._process = process
        self._thread = thread

    @property
    def number(self) -> int:
        """Returns its number in the box."""
        return self._process.number

    def progress(self, after: int = 0, *, wait_s: int = 0) -> ExecProgress:
        """As `AsyncProcess.progress`."""
        return self._thread.run(self._process.progress(after, wait_s=wait_s))

    def output(self) -> Iterator[ExecOutput | ExecResult]:
        """As `AsyncProcess.output`."""
        return self._thread.iterate(self._process.output)

    def wait(self) -> ExecResult:
        """As `AsyncProcess.wait`."""
        return self._thread.run(self._process.wait())

    def write(self, data: str | bytes, *, eof: bool = False) -> None:
        """As `AsyncProcess.write`."""
        self._thread.run(self._process.write(data, eof=eof))

    def close_stdin(self) -> None:
        """As `AsyncProcess.close_stdin`."""
        self._thread.run(self._process.close_stdin())

    def signal(self, signal: str | int) -> None:
        """As `AsyncProcess.signal`."""
        self._thread.run(self._process.signal(signal))

    def kill(self) -> None:
        """As `AsyncProcess.kill`."""
        self._thread.run(self._process.kill())
