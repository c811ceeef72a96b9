"""The cpu lane: pure verifiers in worker processes that can be killed.

Fast workers take small batches of items. Each has its own queue, filled by the reference's hash so that a parsed
reference is reused, and idle workers steal from the longest queue. An item that takes longer than `slow_s` starts again
on a slow, low-priority worker, which holds one item at a time: there the item has its full limit and delays no other.
Verifiers that wait for something outside (`waits`) have a separate lane with more workers, and set their own limits.
The unexplained death of a worker affects only the item that it was processing, which is tried again alone; items that
it had not begun go back to the queues uncharged.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from rewarden.errors import InvalidSample, PluginError, SampleError, WorkerError
from rewarden.types import Outcome
from rewarden.wire.json import loads, outcome_from_json
from rewarden_server.engine import failures
from rewarden_server.engine.frames import FrameReader, pack
from rewarden_server.engine.observer import Observer
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.engine.shared_progress import SharedProgress
from rewarden_server.engine.work import Result, Work

_LIMITS = ("cpu", "memory", "recursion")
_WATCH_S = 0.05
_SLOW_NICE = 10
_ALONE_DEATHS = 2
"""Deaths of a worker, with an item that ran alone, after which the item is to blame."""

_USES = 2048
"""The number of uses that a worker keeps."""

_MAX_REPLY = 64 * 1024**2
_BARREN = 8
"""Consecutive workers that can die without finishing an item before the lane fails its items."""


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker process, from the lane's point of view."""

    row: int
    slow: bool
    queue: deque[Work]
    taken: dict[int, Work] = field(default_factory=dict)
    uses: set[int] = field(default_factory=set)
    items: int = 0
    reader: FrameReader = field(default_factory=lambda: FrameReader(_MAX_REPLY))
    outgoing: bytearray = field(default_factory=bytearray)
    writing: bool = False
    retiring: bool = False
    barren: bool = True
    reason: str = "died"
    pid: int = 0
    pidfd: int = -1
    connection: socket.socket | None = None
    stalled_cpu: float = 0.0
    stalled_since: float = 0.0

    def cpu_s(self) -> float:
        """Returns the CPU seconds that the process has used (its clock's id is a function of the pid; see
        clock_getcpuclockid)."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def kill(self, reason: str) -> None:
        """Kills it now. The pidfd cannot hit another process with the same pid."""
        self.reason = reason
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)


class CpuLane:
    """Worker processes, their queues, and their supervision. All methods run on the engine's loop."""

    def __init__(
        self,
        settings: EngineSettings,
        observer: Observer,
        on_done: Callable[[Work, Result, int], None],
        warm: Sequence[str],
        name: str = "cpu",
    ) -> None:
        self.name = name
        self._settings = settings
        self._observer = observer
        self._on_done = on_done
        self._warm = list(warm)
        self._rows = settings.workers + settings.slow_workers
        self._fast_queues: list[deque[Work]] = [deque() for _ in range(settings.workers)]
        self._slow_queue: deque[Work] = deque()
        self._workers: list[_Worker | None] = [None] * self._rows
        self._next_item = 1
        self._turn = 0
        self._barren = 0
        self._starting: asyncio.Task[None] | None = None
        self._ready = False
        self._closed = False
        self._template: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._board: SharedProgress | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._forks: asyncio.Lock = asyncio.Lock()
        self._respawns: set[asyncio.Task[None]] = set()

    # --- the life of the lane -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Starts the fork server and the workers, once."""
        await asyncio.shield(self.begin())

    def begin(self) -> asyncio.Task[None]:
        """Begins the start, and returns its task. If workers cannot be started, work queued by then fails."""
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
            self._starting.add_done_callback(self._started)
        return self._starting

    async def _start(self) -> None:
        await self._start_template()
        await asyncio.gather(*(self._spawn(row) for row in range(self._rows)))
        self._ready = True
        self._watch = asyncio.get_running_loop().call_later(_WATCH_S, self._look)
        for worker in self._workers:
            if worker is not None:
                self._feed(worker)

    async def _start_template(self) -> None:
        ours, theirs = socket.socketpair()
        if self._board is None:
            self._board = SharedProgress.make(self._rows)
        options = {
            "path": sys.path,
            "warm": self._warm,
            "preload": self._settings.eager,
            "rows": self._rows,
            "memory_mb": self._settings.worker_memory_mb,
        }
        module = "rewarden_server.engine.fork_server"
        words = [str(theirs.fileno()), json.dumps(options), str(self._board.descriptor)]
        with theirs:
            self._template = subprocess.Popen(
                [sys.executable, "-m", module, *words],
                pass_fds=(theirs.fileno(), self._board.descriptor),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        ours.setblocking(False)
        self._control = ours
        line = await self._control_line()
        if line != "ready":
            raise WorkerError("the fork server of the cpu workers did not start; see stderr")

    async def _control_line(self) -> str:
        assert self._control is not None
        loop = asyncio.get_running_loop()
        data = b""
        while not data.endswith(b"\n"):
            more = await loop.sock_recv(self._control, 64)
            if not more:
                return ""
            data += more
        return data.decode().strip()

    async def close(self) -> None:
        """Stops the workers and the fork server, without the queued work. Closing twice has no effect."""
        if self._closed:
            return
        self._closed = True
        if self._watch is not None:
            self._watch.cancel()
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        for task in list(self._respawns):
            task.cancel()
        await asyncio.gather(*self._respawns, return_exceptions=True)
        for worker in self._workers:
            if worker is not None:
                worker.kill("closed")
                self._detach(worker)
        self._workers = [None] * self._rows
        if self._control is not None:
            self._control.close()
        if self._template is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._template.wait)
        if self._board is not None:
            self._board.close()

    async def _spawn(self, row: int) -> None:
        slow = row >= self._settings.workers
        worker = _Worker(row, slow, self._slow_queue if slow else self._fast_queues[row])
        ours, theirs = socket.socketpair()
        loop = asyncio.get_running_loop()
        async with self._forks:
            if self._template is None or self._template.poll() is not None:
                await self._start_template()
            assert self._control is not None
            with theirs:
                message = f"{row} {_SLOW_NICE if slow else 0}".encode()
                socket.send_fds(self._control, [message], [theirs.fileno()])
            line = await self._control_line()
        if not line:
            ours.close()
            raise WorkerError("the fork server of the cpu workers has died")
        worker.pid = int(line)
        worker.pidfd = os.pidfd_open(worker.pid)
        ours.setblocking(False)
        worker.connection = ours
        self._workers[row] = worker
        assert self._board is not None
        self._board.write(row, 0, 0, 0.0)
        loop.add_reader(ours.fileno(), self._read, worker)

    # --- work in ------------------------------------------------------------------------------------------------

    def submit(self, work: Work) -> None:
        """Queues a piece of work, and starts the lane if necessary."""
        work.queued_at = time.monotonic()
        if work.slow:
            self._slow_queue.append(work)
        elif work.reference_key is not None:
            self._fast_queues[work.reference_key[0] % len(self._fast_queues)].append(work)
        else:
            self._turn = (self._turn + 1) % len(self._fast_queues)
            self._fast_queues[self._turn].append(work)
        if self._starting is None and not self._settings.eager:
            self._warm = [work.use.spec.name]  # a command that judges with one verifier waits for no other
        self._pump()

    def _pump(self) -> None:
        if not self._ready:
            self.begin()
            return
        for worker in self._workers:
            if worker is not None and len(worker.taken) < (1 if worker.slow else self._settings.prefetch):
                self._feed(worker)

    def _started(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._give_up(f"the cpu workers could not be started: {task.exception()}")

    def _give_up(self, message: str) -> None:
        error = WorkerError(message)
        for queue in (*self._fast_queues, self._slow_queue):
            while queue:
                self._fail(queue.popleft(), error)

    def info(self) -> dict[str, Any]:
        """Returns the state of the lane, ready for JSON; `pids` are those of the worker processes."""
        return {
            "workers": self._settings.workers,
            "slow_workers": self._settings.slow_workers,
            "depth": self._depth(),
            "pids": [worker.pid for worker in self._workers if worker is not None],
        }

    def _depth(self) -> int:
        """Returns the number of items that wait or run."""
        queued = sum(len(queue) for queue in self._fast_queues) + len(self._slow_queue)
        return queued + sum(len(worker.taken) for worker in self._workers if worker is not None)

    def _next(self, worker: _Worker) -> Work | None:
        while True:
            queue = worker.queue
            if not queue and not worker.slow:
                longest = max(self._fast_queues, key=len)
                if len(longest) < 2:
                    queue = longest
                else:  # steal half at once, from the far end, so that the rest keeps its affinity
                    for _ in range(len(longest) // 2):
                        queue.appendleft(longest.pop())
            if not queue:
                return None
            work = queue.popleft()
            if work.wanted:
                return work
            self._on_done(work, Result(), 0)  # its caller has left before it began

    def _feed(self, worker: _Worker) -> None:
        if worker.connection is None or worker.retiring:
            return
        limit = 1 if worker.slow else self._settings.prefetch
        while len(worker.taken) < limit:
            work = self._next(worker)
            if work is None:
                break
            self._send(worker, work)
        if worker.outgoing and not worker.writing:
            self._write(worker)

    def _send(self, worker: _Worker, work: Work) -> None:
        item = self._next_item
        self._next_item += 1
        work.started_at = time.monotonic()
        use = work.use
        limit = self._limit_s(worker)
        quick = not self._last_place(worker)
        frames = bytearray()
        try:
            if use.id not in worker.uses:
                if len(worker.uses) >= _USES:  # callers can use any number of different parameters
                    worker.uses.clear()
                    frames += pack(pickle.dumps(("forget",), 5))
                target = (use.spec.module, use.spec.function.__name__)
                frames += pack(pickle.dumps(("use", use.id, *target, _bare(use.params), use.resources), 5))
            arguments = {name: value for name, value in work.arguments.items() if name != "params"}
            message = ("item", item, use.id, work.op, work.reference_key, arguments, limit, quick)
            frames += pack(pickle.dumps(message, 5))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            what = f"verifier {use.spec.name!r}: its input cannot be sent to a worker: {error}"
            self._fail(work, PluginError(what))
            return
        except RecursionError:  # surfaces limit the depth, but `local` and rescored files do not pass through them
            self._fail(work, InvalidSample("a field of the sample is nested too deep"))
            return
        worker.uses.add(use.id)
        worker.taken[item] = work
        worker.outgoing += frames

    def _write(self, worker: _Worker) -> None:
        connection = worker.connection
        if connection is None:
            return
        try:
            while worker.outgoing:
                sent = connection.send(memoryview(worker.outgoing)[: 1 << 18])
                del worker.outgoing[:sent]
        except BlockingIOError:
            if not worker.writing:
                worker.writing = True
                asyncio.get_running_loop().add_writer(connection.fileno(), self._write, worker)
            return
        except OSError:
            return  # it has died; the reader will notice
        if worker.writing:
            worker.writing = False
            asyncio.get_running_loop().remove_writer(connection.fileno())

    # --- results out --------------------------------------------------------------------------------------------

    def _read(self, worker: _Worker) -> None:
        connection = worker.connection
        if connection is None:
            return
        try:
            data = connection.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost(worker)
            return
        try:
            for payload in worker.reader.feed(data):
                self._take(worker, payload)
        except (ValueError, KeyError, TypeError, IndexError):
            # A worker that violates the protocol has been taken over: its items run again elsewhere.
            worker.kill("died")
            return
        if worker.items >= self._settings.worker_items and not worker.retiring:
            worker.retiring = True
        if worker.retiring and not worker.taken:
            worker.kill("recycled")
            return
        self._feed(worker)

    def _take(self, worker: _Worker, payload: bytes) -> None:
        item, kind, content, run_s = loads(payload)
        work = worker.taken.pop(item)
        worker.items += 1
        worker.barren = False
        self._barren = 0
        if kind in _LIMITS:
            phase = "prepare" if content == 1 else "run"
            if kind != "cpu":
                worker.retiring = True  # a heap that was full once is not trusted again
            if kind == "cpu" and not self._last_place(worker):
                self._slow_down(work)
                self._pump()
                return
            self._limit(work, phase, kind, run_s)
            return
        result = Result(run_s=run_s, queue_s=max(work.started_at - work.queued_at, 0.0))
        if kind == "outcome":
            result.outcome = outcome_from_json(content)
        elif kind == "value":
            result.value = content
        else:
            status, reason, fault, message = content
            result.outcome = Outcome(status=status, reason=reason, fault=fault, feedback=message)
        self._on_done(work, result, len(payload))

    def _limit(self, work: Work, phase: str, what: str, run_s: float) -> None:
        outcome = failures.expired(work.use.spec, phase, self._settings.item_cpu_s, what)
        self._on_done(work, Result(outcome=outcome, run_s=run_s), 0)

    def _fail(self, work: Work, error: SampleError) -> None:
        self._on_done(work, Result(outcome=failures.outcome_of(error)), 0)

    def _last_place(self, worker: _Worker) -> bool:
        """Returns whether an item that expires on this worker has reached its limit, instead of starting again on a
        slow one."""
        return worker.slow or self._settings.slow_s >= self._settings.item_cpu_s

    def _limit_s(self, worker: _Worker) -> float:
        return self._settings.item_cpu_s if self._last_place(worker) else self._settings.slow_s

    # --- the watch, and death -----------------------------------------------------------------------------------

    def _look(self) -> None:
        """The parent's back-stop, for code that does not return to the interpreter, where the worker's own clock cannot
        stop it."""
        assert self._board is not None
        now = time.monotonic()
        self._observer.depth(self.name, self._depth())
        for worker in self._workers:
            if worker is None or not worker.taken:
                continue
            item, _, since = self._board.read(worker.row)
            if item == 0 or item not in worker.taken:
                worker.stalled_since = 0.0
                continue
            limit = self._limit_s(worker)
            cpu_until, wall_until = self._board.until(worker.row)
            try:
                used = worker.cpu_s()
            except OSError:
                continue  # it has just died; the reader will notice
            # If the host does not let a process run, its wall time means nothing.
            if 0 < cpu_until < used or (0 < wall_until < now and self._sleeps(worker)):
                worker.kill("limit")
            elif used - since > limit * 1.5 + 0.1:
                worker.kill("expired")
            elif used - worker.stalled_cpu > 0.001 or worker.stalled_since == 0.0:
                worker.stalled_cpu, worker.stalled_since = used, now
            elif now - worker.stalled_since > self._settings.idle_s and self._sleeps(worker):
                worker.kill("idle")
        self._watch = asyncio.get_running_loop().call_later(_WATCH_S, self._look)

    @staticmethod
    def _sleeps(worker: _Worker) -> bool:
        """Returns whether the process waits voluntarily. A process that is runnable but does not run is starved by the
        host, and is not to blame."""
        try:
            with open(f"/proc/{worker.pid}/stat", encoding="ascii", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0] in ("S", "T")
        except OSError:
            return False

    def _detach(self, worker: _Worker) -> None:
        if worker.connection is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(worker.connection.fileno())
            if worker.writing:
                loop.remove_writer(worker.connection.fileno())
            worker.connection.close()
            worker.connection = None
            os.close(worker.pidfd)

    def _lost(self, worker: _Worker) -> None:
        assert self._board is not None
        item, phase, _ = self._board.read(worker.row)
        self._detach(worker)
        self._workers[worker.row] = None
        self._observer.worker_ended(worker.reason)
        if self._closed:
            return
        if worker.barren and worker.reason == "died":
            self._barren += 1
        suspect = worker.taken.pop(item, None)
        for work in reversed(worker.taken.values()):  # never begun: back to the front, uncharged
            worker.queue.appendleft(work)
        worker.taken.clear()
        if suspect is not None:
            self._blame(suspect, worker, phase)
        if self._barren >= _BARREN:
            self._barren = 0
            self._give_up("the cpu workers die before they finish anything; see stderr")
        task = asyncio.ensure_future(self._respawn(worker.row))
        self._respawns.add(task)
        task.add_done_callback(self._respawns.discard)

    def _blame(self, work: Work, worker: _Worker, phase: str) -> None:
        if worker.reason == "idle":
            self._fail(work, failures.idle(work.use.spec, self._settings.idle_s))
        elif worker.reason in ("expired", "limit"):
            if self._last_place(worker):
                what = "cpu" if worker.reason == "expired" else "time"
                self._limit(work, phase, what, time.monotonic() - work.started_at)
            else:
                self._slow_down(work)
        else:
            work.deaths += worker.slow  # only deaths with an item that ran alone count against it
            if work.deaths >= _ALONE_DEATHS:
                self._on_done(work, Result(outcome=failures.killed(work.use.spec, phase)), 0)
            else:
                self._slow_down(work)

    def _slow_down(self, work: Work) -> None:
        """Starts the item again on a slow worker, alone."""
        work.slow = True
        self._slow_queue.append(work)

    async def _respawn(self, row: int) -> None:
        try:
            await self._spawn(row)
        except (WorkerError, OSError):
            if self._closed:
                return
            await asyncio.sleep(0.2)  # the next attempt replaces a template that has just died
            await self._spawn(row)
        worker = self._workers[row]
        if worker is not None:
            self._feed(worker)
        self._pump()


def _bare(params: Any) -> Any:
    """Returns parameters without their cached properties, which can hold objects that cannot be pickled, such as
    functions; a worker computes them itself."""
    if not is_dataclass(params) or isinstance(params, type) or not hasattr(params, "__dict__"):
        return params
    bare = object.__new__(type(params))
    for each in fields(params):
        object.__setattr__(bare, each.name, getattr(params, each.name))
    return bare
