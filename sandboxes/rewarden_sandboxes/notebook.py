"""Notebooks: an interpreter that lives in a box and runs cells, one at a time.

An exec of the box runs a driver: `notebook_driver.py`, which manages a Jupyter kernel, or `notebook_interpreter.py`,
which manages an interpreter itself. Nothing that the driver says is trusted: the policy's programs run next to it, and
can stop, kill or replace it. Its words are bounded in size and in time, and whatever a cell does is the policy's: its
report says that it failed, exceeded its time, wrote too much, or ended its kernel.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rewarden_sandboxes.agent.frames import WINDOW
from rewarden_sandboxes.box import Exec
from rewarden_sandboxes.errors import BadJob, HostError
from rewarden_sandboxes.job import Clock, Report
from rewarden_sandboxes.notebook_kernels import KERNELS, command
from rewarden_sandboxes.notebook_outputs import Outputs, values
from rewarden_sandboxes.remote_box import RemoteBox
from rewarden_sandboxes.remote_exec import RemoteExec

START_S = 60.0
"""Seconds of CPU and idle time in which the first kernel must start. Waits for a cold disk count as idle."""

RESTART_S = 15.0
"""The same for a kernel whose files have been read before. Attack: a program that slows the start down, so that
a caller with a deadline gets no result."""

GRACE_S = 3.0
"""The same for a cell to end after an interrupt, and for the driver to confirm an order to restart its kernel."""

MOST_ORDER = WINDOW // 2
"""Bytes of a cell as JSON. With orders of this size, sending never waits. Attack: a driver that was stopped, to which
no order could be sent, and no time limit would apply."""

VARIABLES = "application/vnd.rewarden.variables+json"

_RESTARTED = "the kernel was restarted, and the variables of earlier cells are lost"
_SHORT_S = 0.5
_SLACK = 1 << 20
"""Bytes that the driver may write beyond a cell's outputs."""
_PER_VALUE, _FREE_VALUES = 64, 32
"""Bytes of memory that a JSON value takes here beyond its text, and the values of a line that are not counted. Attack:
`[[],[],…]`, which takes twenty times its size."""
_MOST_SAID = 2000

_NOT_FOUND = (126, 127)
"""The exit codes of an exec whose program or working folder cannot be used, as a shell has them."""

_STOP = object()
"""The event that `_Cell.stop` puts among the driver's lines. Attack: a line that says the same, again and again, each
of which would give the cell more time."""

Status = Literal["ok", "error", "time_limit", "output_limit", "interrupted", "kernel_died"]
"""`error`: the cell raised an exception. `time_limit`, `output_limit`, `interrupted`: it was interrupted for this
reason. `kernel_died`: its kernel ended."""

Fault = Literal["policy", "caller", "infra"]


class NotebookOver(HostError):
    """The notebook has no kernel, and gets none. `fault`: whose doing that is; None if only a control run can tell."""

    def __init__(self, message: str, fault: Fault | None) -> None:
        super().__init__(message)
        self.fault = fault


class KernelFault(NotebookOver):
    """No kernel started. A control run tells whose fault that is: one that starts in a fresh box of the same kind."""

    def __init__(self, message: str) -> None:
        super().__init__(message, None)


class LateKernel(KernelFault):
    """The kernel did not start in time."""


class NoKernel(KernelFault):
    """The box says that its image has no such kernel. Attack: a box whose policy has replaced the driver says so too,
    to blame the caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReport:
    """The end of a cell. outputs: in the format of nbformat 4. count: the kernel's number of the cell. restarted: a new
    kernel runs, without the variables. truncated: some output was dropped. exit_code, signal: of a kernel that died.
    over: no kernel runs any more. counted_s: seconds that it ran or was idle, with those that it took to end after an
    interrupt. output_bytes: the part of its limit that it used.
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
    output_bytes: int = 0


class Notebook:
    """See the module. Any number of tasks may share one: their cells wait for each other, which costs them no time.

    ended: the reason why no kernel runs any more; None while it lives. cwd, env: those of its programs, as asked for.
    """

    def __init__(self, kernel: str, running: RemoteExec, cwd: str, env: Mapping[str, str]) -> None:
        """For `open`."""
        self.kernel = kernel
        self.cwd = cwd
        self.env = env
        self.ended: HostError | None = None
        self._exec = running
        self._lines: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._turn = asyncio.Lock()
        self._number = 0
        self._cell: _Cell | None = None
        self._death: CellReport | None = None
        """The report of a kernel whose death no caller has seen yet. The next cell returns it."""
        self._stderr = b""
        self._left = _SLACK
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(
        cls,
        box: RemoteBox,
        kernel: str = "python",
        *,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        start_s: float = START_S,
    ) -> Notebook:
        """Returns a notebook whose kernel runs. start_s: seconds of CPU and idle time in which it must start. Raises
        BadJob, KernelFault, NotebookOver, and HostError as the box does.
        """
        if kernel not in KERNELS:
            raise BadJob("kernel", f"unknown kernel {kernel[:40]!r}; known: {', '.join(KERNELS)}")
        env = dict(env or {})
        made = cls(kernel, await box.exec(Exec(argv=command(kernel), stdin=True, cwd=cwd, env=env)), cwd, env)
        try:
            await made._start(start_s)
        except BaseException:
            made.leave()
            raise
        return made

    @property
    def busy(self) -> bool:
        """Returns whether a cell runs."""
        return self._turn.locked()

    async def run(self, code: str, *, timeout_s: float, output_bytes: int) -> CellReport:
        """Runs a cell. timeout_s: seconds that it may run or be idle; waiting for a CPU does not count. output_bytes:
        of its outputs, as JSON, and 64 more for each value of a structured one. A caller who leaves interrupts its
        cell. Raises BadJob for a cell that is too long, NotebookOver, HostError.
        """
        size = order_bytes(code)
        if size > MOST_ORDER:
            raise BadJob("code", f"has {size} bytes as JSON; a cell may have {MOST_ORDER}: write data into a file")
        order = {"do": "run", "code": code, "most": output_bytes}
        return await self._shielded(order, timeout_s, output_bytes)

    async def variables(self, *, timeout_s: float, output_bytes: int) -> tuple[list[dict[str, Any]], CellReport]:
        """Returns the variables of the kernel, as it lists them, and the end of the listing. Raises as `run`."""
        report = await self._shielded({"do": "variables", "most": output_bytes}, timeout_s, output_bytes)
        found = [each.get("data", {}).get(VARIABLES) for each in report.outputs]
        rows = next((each for each in found if type(each) is list), [])
        return [row for row in rows if _is_variable(row)], report

    def interrupt(self) -> bool:
        """Interrupts the cell that runs. Returns whether there is one."""
        if self._cell is None:
            return False
        self._cell.stop("interrupted")
        return True

    async def restart(self) -> None:
        """Starts a new kernel in place of the old one. A cell that runs is interrupted first. Raises NotebookOver,
        HostError.
        """
        self.interrupt()
        async with self._turn:
            self._death = None
            await self._order(do="restart")
            await self._start()

    async def close(self) -> None:
        """Kills the kernel and its driver. Idempotent."""
        self.leave()
        await self._exec.close()
        await asyncio.gather(self._reading, *self._tasks, return_exceptions=True)

    def leave(self) -> None:
        """Kills them like `close`, without waiting."""
        self._end(NotebookOver("the notebook was closed", "caller"))

    def _end(self, why: HostError) -> None:
        """Ends it for the first reason that is given."""
        if self.ended is None:
            self.ended = why
        self._exec.leave()

    async def _shielded(self, order: dict[str, Any], timeout_s: float, output_bytes: int) -> CellReport:
        task = asyncio.get_running_loop().create_task(self._run(order, timeout_s, output_bytes))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # If it runs, it is interrupted, and ends before another cell begins.
            if self._cell is not None and self._cell.task is task:
                self._cell.left = True
                self._cell.stop("interrupted")
                task.add_done_callback(_looked_at)
            else:
                task.cancel()
            raise

    async def _run(self, order: dict[str, Any], timeout_s: float, output_bytes: int) -> CellReport:
        async with self._turn:
            listing = order["do"] == "variables"
            if self._death is not None and not listing:
                death, self._death = self._death, None
                return death
            self._number += 1
            task = asyncio.current_task()
            self._cell = cell = _Cell(self, self._number, task, timeout_s, output_bytes)
            try:
                report = await cell.run(order)
            finally:
                self._cell = None
            if report.restarted and (listing or cell.left):
                # The next cell was written for variables that are lost; it must not run as if nothing had happened.
                self._death = replace(report, status="kernel_died", outputs=[])
            return report

    # --- the driver --------------------------------------------------------------------------------------------------

    async def _start(self, first_s: float | None = None) -> None:
        """Waits until the kernel runs. first_s: the time of the first one; None: a later one, which starts after the
        order to restart. Raises KernelFault, NotebookOver, HostError.
        """
        first = first_s is not None
        watch = _Watch(self._exec)
        await watch.begin(GRACE_S if first_s is None else first_s)
        confirmed = first
        try:
            while (line := await self._line(watch)) is not None:
                match line.get("ev"):
                    case "ready":
                        return
                    case "restarting" if not confirmed:
                        confirmed = True
                        await watch.begin(RESTART_S)
                    case "missing":
                        raise NoKernel(f"the image has no kernel {self.kernel!r}: {_text(line)}")
                    case "failed":
                        raise KernelFault(f"the kernel did not start: {_text(line)}")
            raise LateKernel("the kernel did not start in time")
        except HostError as error:
            self._end(error)
            report = self._exec.report
            if first and report is not None and report.exit_code in _NOT_FOUND:
                raise NoKernel(f"no kernel can be started: {self._stderr.decode(errors='replace').strip()}") from None
            raise
        finally:
            watch.end()

    async def _line(self, watch: _Watch) -> dict[str, Any] | None:
        """Returns the next line of the driver; None when the watch has run out. Raises why the notebook has ended."""
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
                assert self.ended is not None
                raise self.ended.with_traceback(None)
            return line

    async def _order(self, **order: Any) -> None:
        """Sends an order. Raises why the notebook has ended."""
        if self.ended is not None:
            raise self.ended.with_traceback(None)
        with contextlib.suppress(HostError):  # the lines that precede its end are read first
            await self._exec.send(json.dumps(order).encode() + b"\n")

    async def _read(self) -> None:
        """Reads the driver's lines until it ends."""
        begun = bytearray()
        try:
            async for output in self._exec:
                if output.stream == "stderr":
                    self._stderr = (self._stderr + output.data)[-_MOST_SAID:]
                    continue
                self._charge(len(output.data))
                *whole, last = output.data.split(b"\n")
                for data in whole:
                    begun += data
                    self._charge(_PER_VALUE * max(0, values(begun) - _FREE_VALUES))
                    self._lines.put_nowait(_object(begun))
                    begun.clear()
                begun += last
            self._end(self._end_of(self._exec.report))
        except HostError as error:
            self._end(error)
        except (ValueError, RecursionError) as error:
            self._end(NotebookOver(f"the output of the notebook's driver cannot be read: {error}", "policy"))
        finally:
            self._lines.put_nowait(None)

    def _charge(self, size: int) -> None:
        """Counts bytes against what the driver may write in this cell. Raises ValueError beyond it: the driver stops
        long before, unless it was replaced."""
        self._left -= size
        if self._left < 0:
            raise ValueError("there is too much of it")

    def _end_of(self, report: Report | None) -> NotebookOver:
        """Returns why the notebook is over whose driver has ended. Only a program of the box can have killed it, unless
        the host says that it failed itself."""
        if report is None or report.status == "internal_error":
            why = "" if report is None or not report.message else f": {report.message}"
            return NotebookOver(f"the sandbox host failed to run the notebook{why}", "infra")
        said = self._stderr.decode(errors="replace").strip()
        how = f"the notebook's driver ended with {report.limit or report.status}"
        return NotebookOver(how + (f": {said}" if said else ""), "policy")


class _Cell:
    """One run of a cell, from its order to its end."""

    def __init__(
        self, notebook: Notebook, number: int, task: asyncio.Task[Any] | None, timeout_s: float, output_bytes: int
    ) -> None:
        """`left`: its caller does not wait for it any more."""
        self.task = task
        self.left = False
        self._notebook = notebook
        self._number = number
        self._watch = _Watch(notebook._exec)
        self._timeout_s = timeout_s
        self._most = notebook._left = output_bytes + _SLACK
        self._outputs = Outputs()
        self._truncated = False
        self._cause: Status | None = None
        self._killed = False
        self._confirmed = False
        self._done = False

    def stop(self, cause: Status) -> None:
        """Interrupts it, unless it has ended. The first cause counts."""
        if self._cause is None and not self._done:
            self._cause = cause
            self._notebook._lines.put_nowait({"ev": _STOP, "id": self._number})

    async def run(self, order: Mapping[str, Any]) -> CellReport:
        """Returns its end. Raises NotebookOver if the policy did not cause it, HostError."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self._watch.begin(self._timeout_s)
        over = ""
        try:
            await self._notebook._order(id=self._number, **order)
            try:
                said = await self._until_done()
            except NotebookOver as error:
                # A kernel that does not start again had started before: then this cell has ended the one that ran.
                if not (error.fault == "policy" or isinstance(error, KernelFault)):
                    raise
                said, over = {"status": "died"}, error.message
            wall_time = loop.time() - began
            counted_s = wall_time if wall_time < _SHORT_S else await self._watch.total()
        finally:
            self._watch.end()
        return self._report(said, over, wall_time, counted_s)

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
            match line.get("ev"):
                case "done" if line.get("id") == self._number:
                    self._done = True
                    if self._killed and line.get("status") != "died":  # it had ended by itself just before
                        await self._notebook._start()
                        line["status"] = "died"
                    return line
                case "restarting" if self._killed and not self._confirmed:
                    self._confirmed = True
                    await self._watch.begin(RESTART_S)
                case "failed":
                    self._notebook._end(KernelFault(f"the kernel did not start again: {_text(line)}"))
                case event if event is _STOP:
                    if line["id"] == self._number:  # that of an earlier cell came after its end
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

    async def _interrupt(self) -> None:
        await self._watch.begin(GRACE_S)
        await self._notebook._order(do="interrupt")

    async def _kill(self) -> None:
        """Ends the kernel of a cell that ignores an interrupt. Attack: stop the driver, so that nobody ends it; then
        the notebook ends."""
        if self._killed:
            why = "its driver does not answer: a program in the box has stopped it"
            self._notebook._end(NotebookOver(why, "policy"))
            return
        self._killed = True
        await self._watch.begin(GRACE_S)
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
            output_bytes=self._most - self._notebook._left,
            **({"count": told["count"]} if "count" in told else {}),
            **({name: told.get(name) for name in ("exit_code", "signal")} if status == "kernel_died" else {}),
        )


class _Watch:
    """Counts the seconds in which a notebook runs or is idle. Waiting for a CPU is the host's doing."""

    def __init__(self, running: RemoteExec) -> None:
        self._exec = running
        self._loop = asyncio.get_running_loop()
        self._first: asyncio.Task[Clock] | None = None
        self._budget = 0.0
        self._earlier = 0.0
        self._began = 0.0
        self._next = 0.0

    async def begin(self, budget_s: float) -> None:
        """Begins a new budget now."""
        if self._first is not None:
            self._earlier = await self.total()
        self.end()
        self._first = self._loop.create_task(self._exec.clock())
        self._budget = budget_s
        self._began = self._loop.time()
        self._next = self._began + budget_s

    def end(self) -> None:
        """Stops asking for the clock."""
        if self._first is not None:
            self._first.cancel()
            self._first.add_done_callback(_looked_at)

    def left(self) -> float:
        """Returns the seconds until the next reading of the clock."""
        return max(0.01, self._next - self._loop.time())

    async def used(self) -> float:
        """Returns the seconds of the budget that are used: no more than have passed. 0 once the notebook is over."""
        assert self._first is not None
        try:
            first, now = await self._first, await self._exec.clock()
        except HostError:
            return 0.0
        passed = self._loop.time() - self._began
        return max(0.0, min(passed, now.cpu_s + now.idle_s - first.cpu_s - first.idle_s))

    async def total(self) -> float:
        """Returns the seconds that are used of all its budgets."""
        return self._earlier + min(await self.used(), self._budget)

    async def out(self) -> bool:
        """Returns whether the budget is used up."""
        used = await self.used()
        self._next = self._loop.time() + self._budget - used
        return used >= 0.99 * self._budget


def order_bytes(code: str) -> int:
    """Returns the size of a cell as JSON."""
    return len(json.dumps(code))


def _looked_at(task: asyncio.Task[Any]) -> None:
    """Retrieves the exception of a task that nobody awaits."""
    if not task.cancelled():
        task.exception()


def _object(data: bytes | bytearray) -> dict[str, Any]:
    """Returns a line of the driver. Raises ValueError, RecursionError."""
    line = json.loads(data)
    if type(line) is not dict:
        raise ValueError("a line is not an object")
    return line


def _text(line: Mapping[str, Any]) -> str:
    return str(line.get("message", ""))[:_MOST_SAID]


def _is_variable(row: Any) -> bool:
    """Returns whether a kernel describes a variable in the form of our drivers."""
    if type(row) is not dict or row.keys() != {"name", "type", "size", "shape", "text"}:
        return False
    texts = all(type(row[name]) is str for name in ("name", "type", "text"))
    shape = row["shape"]
    listed = shape is None or (type(shape) is list and all(type(each) is int for each in shape))
    return texts and listed and type(row["size"]) in (int, type(None))
