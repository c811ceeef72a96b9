"""A program in a box: its input, its output as it arrives, and its result."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from rewarden.boxes.types import ExecOutput, ExecProgress, ExecResult
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.job import Report
from rewarden_server.engine.lanes.single_runs import result_of

if TYPE_CHECKING:
    from rewarden_sandboxes.remote_exec import RemoteExec
    from rewarden_server.boxes.trajectory import Call

_PART = 1 << 16


class Running:
    """A started program. One task feeds its input; for a background program, another reads its output."""

    def __init__(
        self,
        number: int,
        exec_: RemoteExec,
        *,
        background: bool,
        stdin: bytes | None,
        kept: int,
        ended: Callable[[str], None],
        call: Call | None = None,
    ) -> None:
        """stdin: its whole input; None: empty, or fed later. kept: how many bytes of a background program's output are
        kept. ended: called once with its status, or with `killed`. call: its record in the box's trajectory."""
        self.number = number
        self.background = background
        self.result: ExecResult | None = None
        self.failure: HostError | None = None
        self._exec = exec_
        self._ended = ended
        self._call = call
        self._kept = Kept(kept)
        self._changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._feeding = loop.create_task(self._feed_all(_once(stdin))) if stdin is not None else None
        self._reading = loop.create_task(self._read_all()) if background else None

    @property
    def over(self) -> bool:
        """True if it has ended or was lost."""
        return self.result is not None or self.failure is not None

    @property
    def counted_s(self) -> float:
        """Time for which its processes ran or were idle, in seconds, as measured by the host; 0 before its end. Waiting
        for a CPU or for a stalled host does not count."""
        report = self._exec.report
        return 0.0 if report is None else min(report.wall_time, report.cpu_time + report.idle_time)

    async def feed(self, data: bytes) -> None:
        """Writes to its input; waits while the program does not read. Raises HostError if it has ended."""
        for start in range(0, len(data), _PART):
            await self._exec.send(data[start : start + _PART])

    def feed_beside(self, pieces: AsyncIterable[bytes]) -> None:
        """Writes pieces to its input as they arrive, and closes it after the last one, while its output is being
        read."""
        self._feeding = asyncio.get_running_loop().create_task(self._feed_all(pieces))

    def end_input(self) -> None:
        """Closes its input."""
        self._exec.close_stdin()

    def signal(self, number: int, *, group: bool) -> None:
        """Sends it a signal; with `group`, also all processes of its group."""
        if not self.over:
            self._exec.signal(number, group=group)

    async def output(self) -> AsyncGenerator[ExecOutput, None]:
        """Yields the output of a program in the foreground; `result` is set at the end. Raises HostError if the box is
        lost, and whatever its input raised."""
        try:
            async for item in self._items():
                yield item
        except HostError:
            if self._feeding is not None and self._feeding.done():
                self._feeding.result()
            raise
        self._settle(_result(self.number, self._exec.report, b"", b""))

    async def whole(self) -> ExecResult:
        """Returns the result of a foreground program, with all of its output. Raises HostError."""
        parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        async for item in self._items():
            parts[item.stream].append(item.data)
        stdout, stderr = (b"".join(parts[name]) for name in ("stdout", "stderr"))
        result = await asyncio.to_thread(_result, self.number, self._exec.report, stdout, stderr)
        self._settle(result)
        return result

    def progress(self, after: int) -> ExecProgress:
        """Returns the kept output of a background program from a position on."""
        output, dropped = self._kept.since(after)
        return ExecProgress(
            exec=self.number,
            state="ended" if self.over else "running",
            output=output,
            next=self._kept.end,
            dropped=dropped,
            result=self.result,
        )

    async def change(self, after: int, wait_s: float) -> None:
        """Waits until there is output after a position, the program ends, or `wait_s` seconds have passed."""
        try:
            async with asyncio.timeout(wait_s):
                while self._kept.end <= after and not self.over:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass

    async def close(self) -> None:
        """Kills it if it is still running."""
        tasks = [task for task in (self._feeding, self._reading) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if not self.over:
            self._ended("killed")
            await self._exec.close()

    async def _items(self) -> AsyncGenerator[ExecOutput, None]:
        async for item in self._exec:
            output = ExecOutput(stream=item.stream, data=item.data)
            if self._call is not None:
                self._call.add(output)
            yield output

    def _settle(self, result: ExecResult) -> None:
        self.result = result
        if self._call is not None:
            self._call.end(result)
        self._ended(result.status)

    async def _feed_all(self, pieces: AsyncIterable[bytes]) -> None:
        try:
            async for piece in pieces:
                await self.feed(piece)
            self._exec.close_stdin()
        except HostError:
            pass  # it ended before it had read everything, as programs may
        except Exception:
            self._exec.leave()  # it would wait for the rest forever
            raise

    async def _read_all(self) -> None:
        try:
            async for item in self._items():
                self._kept.add(item)
                self._changed.set()
            self._settle(_result(self.number, self._exec.report, b"", b""))
        except HostError as error:
            self.failure = error
        finally:
            self._changed.set()


class Kept:
    """The last bytes of a program's output. Positions count the bytes of both streams from the start."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: deque[ExecOutput] = deque()
        self._size = 0
        self.end = 0

    def add(self, item: ExecOutput) -> None:
        """Adds output, and drops the oldest if there is too much."""
        if not item.data:
            return
        last = self._items[-1] if self._items else None
        if last is not None and last.stream == item.stream and len(last.data) + len(item.data) <= _PART:
            self._items[-1] = replace(last, data=last.data + item.data)
        else:
            self._items.append(item)
        self.end += len(item.data)
        self._size += len(item.data)
        while self._size > self._most:
            first = self._items[0]
            surplus = self._size - self._most
            if len(first.data) <= surplus:
                self._items.popleft()
                self._size -= len(first.data)
            else:
                self._items[0] = replace(first, data=first.data[surplus:])
                self._size -= surplus

    def since(self, after: int) -> tuple[tuple[ExecOutput, ...], int]:
        """Returns the output from a position on, and how many bytes after that position have been dropped."""
        begin = self.end - self._size
        dropped = max(0, begin - after)
        skip = max(0, after - begin)
        found = []
        for item in self._items:
            if skip < len(item.data):
                found.append(replace(item, data=item.data[skip:]) if skip else item)
            skip = max(0, skip - len(item.data))
        return tuple(found), dropped


async def _once(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data


def _result(number: int, report: Report | None, stdout: bytes, stderr: bytes) -> ExecResult:
    told = report or Report(status="internal_error", message="the sandbox host returned no result for the program")
    made = result_of(replace(told, stdout=stdout, stderr=stderr), None)
    return ExecResult(exec=number, **{each.name: getattr(made, each.name) for each in fields(made)})
