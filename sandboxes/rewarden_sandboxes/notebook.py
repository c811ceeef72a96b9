"""Notebooks: a living interpreter in a box, to which cells are sent one after the other.

An exec of the box runs `notebook_driver.py`, which keeps a Jupyter kernel. Whatever a cell does is the policy's: it may
fail, exceed its time, write too much, or end its kernel, and its report says so. Errors are raised only where no kernel
starts or the box is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from rewarden_sandboxes.box import Exec
from rewarden_sandboxes.errors import BadJob, HostError
from rewarden_sandboxes.job import Clock, Report
from rewarden_sandboxes.notebook_outputs import Outputs
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_sandboxes.remote_exec import RemoteExec

KERNELS = ("python",)

PYTHON = "/usr/bin/python3"

START_S = 60.0
"""Seconds of CPU and idleness in which a kernel starts."""

GRACE_S = 3.0
"""The same after an interrupt, in which a cell ends, or its kernel is restarted."""

VARIABLES = "application/vnd.rewarden.variables+json"

_RESTARTED = "the kernel was started again, and knows nothing of the cells before"
_SIZE = "\0size"
"""The name under which a line's size travels with it; no line of the driver's has it."""
_SHORT_S = 0.5
_SLACK = 1 << 20
_MOST_WAITING = 128 << 20
_MOST_SAID = 2000

Status = Literal["ok", "error", "time_limit", "output_limit", "interrupted", "kernel_died"]
"""`error`: the cell raised an exception. `time_limit`, `output_limit`, `interrupted`: it was interrupted for that.
`kernel_died`: it ended its own kernel."""


class NoKernel(BadJob):
    """The image has no such kernel."""


class KernelFault(HostError):
    """The kernel did not start."""


class NotebookOver(HostError):
    """The notebook has no kernel any more, and gets none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReport:
    """The end of a cell. outputs: those of nbformat's version 4. count: the number that the kernel gives it. restarted:
    there is a new kernel, without the state. truncated: some output was dropped. exit_code, signal: of a kernel that
    died. over: there is no kernel any more. counted_s: the seconds that its time limit counts.
    """

    status: Status
    outputs: list[dict[str, Any]] = field(default_factory=list)
    count: int | None = None
    restarted: bool = False
    truncated: bool = False
    exit_code: int | None = None
    signal: int | None = None
    over: bool = False
    message: str = ""
    wall_time: float = 0.0
    counted_s: float = 0.0


class Notebook:
    """See the module. Any number of tasks may share one: their cells wait for each other, and waiting costs them no
    time. `message`: why it is over; None while it lives.
    """

    def __init__(self, kernel: str, running: RemoteExec) -> None:
        """For `open`."""
        self.kernel = kernel
        self.message: str | None = None
        self._exec = running
        self._lines: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._fault: HostError | None = None
        self._turn = asyncio.Lock()
        self._number = 0
        self._cell: _Cell | None = None
        self._stderr = b""
        self._waiting = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(
        cls, box: RemoteBox, kernel: str = "python", *, cwd: str = "", env: Mapping[str, str] | None = None
    ) -> Notebook:
        """A notebook whose kernel runs. Raises NoKernel, KernelFault, and HostError as the box does."""
        if kernel not in KERNELS:
            raise BadJob("kernel", f"unknown kernel {kernel[:40]!r}; there are {', '.join(KERNELS)}")
        argv = (PYTHON, "-I", "-c", _driver(), kernel)
        made = cls(kernel, await box.exec(Exec(argv=argv, stdin=True, cwd=cwd, env=dict(env or {}))))
        try:
            await made._start()
        except BaseException:
            made.leave()
            raise
        return made

    @property
    def busy(self) -> bool:
        """Returns whether a cell runs."""
        return self._turn.locked()

    async def run(self, code: str, *, timeout_s: float, output_bytes: int) -> CellReport:
        """Run a cell. timeout_s: seconds that it may run or be idle; waiting for a CPU is not counted. output_bytes: of
        its outputs, as JSON. A caller who leaves interrupts it. Raises NotebookOver, HostError.
        """
        order = {"do": "run", "code": code, "most": output_bytes}
        return await self._shielded(order, timeout_s, output_bytes)

    async def variables(self, *, timeout_s: float, output_bytes: int) -> tuple[list[dict[str, Any]], CellReport]:
        """The variables of the kernel, as it tells of them, and how telling ended. Raises as `run`."""
        report = await self._shielded({"do": "variables", "most": output_bytes}, timeout_s, output_bytes)
        found = [each.get("data", {}).get(VARIABLES) for each in report.outputs]
        rows = next((each for each in found if type(each) is list), [])
        return [row for row in rows if _is_variable(row)], report

    def interrupt(self) -> bool:
        """Interrupt the cell that runs. Returns whether there is one."""
        if self._cell is None:
            return False
        self._cell.stop("interrupted")
        return True

    async def restart(self) -> None:
        """Begin again with a kernel that knows nothing. A cell that runs is interrupted first. Raises NotebookOver,
        HostError.
        """
        self.interrupt()
        async with self._turn:
            await self._order(do="restart")
            await self._start()

    async def close(self) -> None:
        """Kill the kernel and its driver. Twice is once."""
        self.leave()
        await self._exec.close()
        await asyncio.gather(self._reading, *self._tasks, return_exceptions=True)

    def leave(self) -> None:
        """As `close`, without waiting."""
        if self.message is None:
            self.message = "the notebook was closed"
        self._exec.leave()

    async def _shielded(self, order: dict[str, Any], timeout_s: float, output_bytes: int) -> CellReport:
        task = asyncio.get_running_loop().create_task(self._run(order, timeout_s, output_bytes))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # It waits for its turn, or it runs: then its end is heard before another cell begins.
            if self._cell is not None and self._cell.task is task:
                self._cell.stop("interrupted")
                task.add_done_callback(_looked_at)
            else:
                task.cancel()
            raise

    async def _run(self, order: dict[str, Any], timeout_s: float, output_bytes: int) -> CellReport:
        async with self._turn:
            self._number += 1
            task = asyncio.current_task()
            self._cell = _Cell(self, self._number, task, timeout_s, output_bytes)
            try:
                return await self._cell.run(order)
            finally:
                self._cell = None

    # --- the driver --------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        """Wait for the kernel. Raises NoKernel, KernelFault, HostError."""
        watch = _Watch(self._exec)
        watch.begin(START_S)
        try:
            while (line := await self._line(watch)) is not None:
                match line.get("ev"):
                    case "ready":
                        return
                    case "missing":
                        raise NoKernel("kernel", f"the image has no kernel {self.kernel!r}: {_text(line)}")
                    case "failed":
                        raise KernelFault(f"the kernel did not start: {_text(line)}")
            raise KernelFault(f"the kernel did not start within {START_S:g} s")
        except HostError as error:
            self.message = self.message or error.message
            self.leave()
            raise
        finally:
            watch.end()

    async def _line(self, watch: _Watch) -> dict[str, Any] | None:
        """The next line of the driver; None once the watch has run out. Raises HostError when the box is lost, and
        NotebookOver once the driver has ended.
        """
        while True:
            try:
                async with asyncio.timeout(watch.left()):
                    line = await self._lines.get()
            except TimeoutError:
                if await watch.out():
                    return None
                continue
            if line is None:
                self._lines.put_nowait(None)
                raise self._fault or NotebookOver(self.message or "the notebook has ended")
            self._waiting -= line.get(_SIZE, 0)
            return line

    async def _order(self, **order: Any) -> None:
        """Raises NotebookOver, HostError."""
        if self.message is not None:
            raise self._fault or NotebookOver(self.message)
        with contextlib.suppress(HostError):  # why it has ended is read, after all that it said before
            await self._exec.send(json.dumps(order).encode() + b"\n")

    async def _read(self) -> None:
        """Reads the driver's lines until it ends."""
        begun = b""
        try:
            async for output in self._exec:
                if output.stream == "stderr":
                    self._stderr = (self._stderr + output.data)[-_MOST_SAID:]
                    continue
                *whole, last = output.data.split(b"\n")
                if whole:
                    whole[0] = begun + whole[0]
                    begun = b""
                for data in whole:
                    self._lines.put_nowait({**_object(data), _SIZE: len(data)})
                    self._waiting += len(data)
                begun += last
                if len(begun) + self._waiting > _MOST_WAITING:
                    raise ValueError("it says too much")
            self.message = self.message or self._end_of(self._exec.report)
        except HostError as error:
            self._fault = None if self.message else error
            self.message = self.message or error.message
        except (ValueError, RecursionError) as error:
            self.message = self.message or f"the notebook's driver cannot be understood: {error}"
        finally:
            self._exec.leave()
            self._lines.put_nowait(None)

    def _end_of(self, report: Report | None) -> str:
        how = "without a report" if report is None else f"with {report.limit or report.status}"
        said = self._stderr.decode(errors="replace").strip()
        return f"the notebook's driver ended {how}" + (f": {said}" if said else "")


class _Cell:
    """One cell's run, from its order to its end."""

    def __init__(
        self, notebook: Notebook, number: int, task: asyncio.Task[Any] | None, timeout_s: float, output_bytes: int
    ) -> None:
        self.task = task
        self._notebook = notebook
        self._number = number
        self._watch = _Watch(notebook._exec)
        self._timeout_s = timeout_s
        self._most = output_bytes + _SLACK
        self._outputs = Outputs()
        self._truncated = False
        self._cause: Status | None = None
        self._killed = False
        self._done = False

    def stop(self, cause: Status) -> None:
        """Has it interrupted, unless it has ended; the first cause counts."""
        if self._cause is None and not self._done:
            self._cause = cause
            self._notebook._lines.put_nowait({"ev": "stop", "id": self._number})

    async def run(self, order: Mapping[str, Any]) -> CellReport:
        """Returns how it ended. Raises NotebookOver where it cannot begin, HostError."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._watch.begin(self._timeout_s)
        over = ""
        try:
            await self._notebook._order(id=self._number, **order)
            try:
                said = await self._until_done()
            except NotebookOver as error:  # only the policy's programs can have killed its driver
                said, over = {"status": "died"}, error.message
            wall_time = loop.time() - began
            counted_s = wall_time if wall_time < _SHORT_S else await self._watch.used()
            if self._cause == "time_limit":
                counted_s = self._timeout_s
        finally:
            self._watch.end()
        return self._report(said, over, wall_time, min(counted_s, self._timeout_s))

    async def _until_done(self) -> dict[str, Any]:
        """Returns the driver's last line. Raises HostError, NotebookOver."""
        while True:
            line = await self._notebook._line(self._watch)
            if line is None:
                if self._cause is None:
                    self._cause = "time_limit"
                    await self._interrupt()
                else:
                    await self._kill()
                continue
            self._most -= line.get(_SIZE, 0)
            match line.get("ev"):
                case "done" if line.get("id") == self._number:
                    self._done = True
                    if self._killed and line.get("status") != "died":  # it ended by itself just before
                        await self._notebook._start()
                        line["status"] = "died"
                    return line
                case "failed":
                    self._notebook.message = f"the kernel did not start again: {_text(line)}"
                case "stop" if line.get("id") == self._number:  # that of an earlier cell came after its end
                    await self._interrupt()
                case "full":
                    self._truncated = True
                    self.stop("output_limit")
                case "clear":
                    self._outputs.clear(wait=bool(line.get("wait")))
                case "update":
                    self._outputs.update(line.get("id"), line.get("data"), line.get("metadata"))
                case "output" if type(line.get("output")) is dict:
                    self._outputs.add(line["output"])
            if self._most < 0:
                self._notebook.leave()

    async def _interrupt(self) -> None:
        self._watch.begin(GRACE_S)
        await self._notebook._order(do="interrupt")

    async def _kill(self) -> None:
        """Ends the kernel, whose cell does not heed an interrupt; if that takes too long, the notebook."""
        if self._killed:
            self._notebook.leave()
        self._killed = True
        self._watch.begin(START_S)
        await self._notebook._order(do="restart")

    def _report(self, said: Mapping[str, Any], over: str, wall_time: float, counted_s: float) -> CellReport:
        died = said.get("status") == "died"
        status: Status = self._cause or ("kernel_died" if died else "ok" if said.get("status") == "ok" else "error")
        told = {name: value for name in ("count", "exit_code", "signal") if type(value := said.get(name)) is int}
        return CellReport(
            status=status,
            outputs=self._outputs.whole(),
            restarted=died and not over,
            truncated=self._truncated,
            over=bool(over),
            message=over or (_RESTARTED if died else ""),
            wall_time=wall_time,
            counted_s=counted_s,
            **({"count": told["count"]} if "count" in told else {}),
            **({name: told.get(name) for name in ("exit_code", "signal")} if status == "kernel_died" else {}),
        )


class _Watch:
    """Counts the seconds in which a notebook ran or was idle: waiting for a CPU is the host's doing."""

    def __init__(self, running: RemoteExec) -> None:
        self._exec = running
        self._loop = asyncio.get_running_loop()
        self._first: asyncio.Task[Clock] | None = None
        self._budget = 0.0
        self._began = 0.0
        self._next = 0.0

    def begin(self, budget_s: float) -> None:
        """Count from now."""
        self.end()
        self._first = self._loop.create_task(self._exec.clock())
        self._budget = budget_s
        self._began = self._loop.time()
        self._next = self._began + budget_s

    def end(self) -> None:
        """Ask no more."""
        if self._first is not None:
            self._first.cancel()
            self._first.add_done_callback(_looked_at)

    def left(self) -> float:
        """Returns the seconds until it is worth to look."""
        return max(0.01, self._next - self._loop.time())

    async def used(self) -> float:
        """Returns the seconds since it began to count: no more than have passed. 0 once the notebook is over."""
        assert self._first is not None
        try:
            first, now = await self._first, await self._exec.clock()
        except HostError:
            return 0.0
        return min(self._loop.time() - self._began, now.cpu_s + now.idle_s - first.cpu_s - first.idle_s)

    async def out(self) -> bool:
        """Returns whether the budget is used up."""
        used = await self.used()
        self._next = self._loop.time() + self._budget - used
        return used >= 0.99 * self._budget


def _looked_at(task: asyncio.Task[Any]) -> None:
    """For a task whose end nobody waits for."""
    if not task.cancelled():
        task.exception()


def _object(data: bytes) -> dict[str, Any]:
    """A line of the driver. Raises ValueError, RecursionError."""
    line = json.loads(data)
    if type(line) is not dict:
        raise ValueError("a line is no object")
    return line


def _text(line: Mapping[str, Any]) -> str:
    return str(line.get("message", ""))[:_MOST_SAID]


def _is_variable(row: Any) -> bool:
    """Returns whether a kernel tells of a variable as `notebook_driver.py` has it do."""
    if type(row) is not dict or row.keys() != {"name", "type", "size", "shape", "text"}:
        return False
    texts = all(type(row[name]) is str for name in ("name", "type", "text"))
    shape = row["shape"]
    listed = shape is None or (type(shape) is list and all(type(each) is int for each in shape))
    return texts and listed and type(row["size"]) in (int, type(None))


@cache
def _driver() -> str:
    return Path(__file__).with_name("notebook_driver.py").read_text("utf-8")
