"""A box, as its caller has it."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import errno
import json
import os
import posixpath
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Mapping
from dataclasses import replace

from rewarden_sandboxes.agent.room import BOX
from rewarden_sandboxes.box import Entry, Exec, Files, Opened, Output, Still
from rewarden_sandboxes.codec import box_event_from_answer, exec_to_message
from rewarden_sandboxes.errors import BadJob, FileFault, HostError
from rewarden_sandboxes.exchange import Event, Exchange
from rewarden_sandboxes.job import Limits, Report
from rewarden_sandboxes.remote_exec import RemoteExec
from rewarden_sandboxes.talk import Talk, check_size
from rewarden_sandboxes.v1 import sandbox_pb2 as pb

_MOST_SAID = 1 << 16
_MOST_SHOWN = 400
"""The maximum length of a path in an error, in characters. Attack: folders so deep that the error could not be sent."""
_PART = 1 << 20


class RemoteBox(Exchange[Output]):
    """See `rewarden_sandboxes.box`. Use it in an `async with` block, or close it. `image`: the identity of its image;
    empty if that has none. `limits`: with the defaults filled in. `enforced`: the mechanism that enforces each limit.
    `folder`: its working folder. `dropped`: the number of devices and sockets that the last snapshot or archive left
    out.
    """

    def __init__(self, talk: Talk, numbers: Iterator[int], message: pb.Box) -> None:
        self.image = ""
        self.limits = Limits()
        self.enforced: Mapping[str, str] = {}
        self.folder = BOX
        self.dropped = 0
        self._numbers = numbers
        self._stops = 0
        self._stopping: asyncio.Future[None] | None = None
        self._stills: deque[asyncio.Future[None]] = deque()
        super().__init__(talk, pb.Order(id=next(numbers), box=message), box_event_from_answer, "box")

    async def __aenter__(self) -> RemoteBox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def wait(self) -> HostError:
        """Waits for its end, and returns the reason."""
        await asyncio.shield(self._listening)
        assert self.fault is not None
        return self.fault

    # --- programs ----------------------------------------------------------------------------------------------------

    async def exec(self, what: Exec) -> RemoteExec:
        """Starts a program, and returns when it runs. Raises BadJob; HostError when the box has ended."""
        if self.fault is not None:
            raise self.fault
        try:
            message = exec_to_message(self._number, what)
        except (ValueError, TypeError) as error:
            raise BadJob("", f"the exec cannot be sent: {error}") from None
        check_size(message.ByteSize())
        begun = RemoteExec(self._talk, next(self._numbers), message)
        try:
            await begun.begin()
        except BaseException:
            begun.leave()
            raise
        return begun

    async def run(self, what: Exec, stdin: bytes = b"") -> Report:
        """Runs a program with `stdin` as its input until it ends. Returns its report and its output."""
        begun = await self.exec(replace(what, stdin=bool(stdin)))
        feeding = asyncio.get_running_loop().create_task(begun.feed(_pieces(stdin))) if stdin else None
        try:
            return await begun.finish()
        finally:
            await _end(begun, feeding)

    async def stop(self) -> None:
        """Stops all of its programs until `resume` has been called as many times. Returns when they have stopped. If it
        raises or is cancelled, it does not count.
        """
        self._stops += 1
        try:
            if self._stops == 1:
                self._stopping = self._still(True)
            assert self._stopping is not None
            await asyncio.shield(self._stopping)
        except BaseException:
            self._go_on()
            raise

    async def resume(self) -> None:
        """Resumes its programs."""
        going = self._go_on()
        if going is not None:
            await going

    def _go_on(self) -> asyncio.Future[None] | None:
        self._stops -= 1
        return None if self._stops else self._still(False)

    def _still(self, still: bool) -> asyncio.Future[None]:
        """Tells the host, and returns a task that ends with the answer."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.fault is not None:
            future.set_exception(self.fault)
            future.exception()  # nobody need look
            return future
        self._stills.append(future)
        self._talk.order(pb.Order(id=self._number, still=still))
        return future

    def _note(self, event: Event) -> None:
        if isinstance(event, Opened):
            self.image, self.limits, self.enforced = event.image, event.limits, event.enforced
            self.folder = event.folder
        elif isinstance(event, Still) and self._stills:
            future = self._stills.popleft()
            if not future.done():
                future.set_result(None)
        super()._note(event)

    def _over_with(self, fault: HostError) -> None:
        super()._over_with(fault)
        while self._stills:
            future = self._stills.popleft()
            if not future.done():
                future.set_exception(fault)

    # --- files -------------------------------------------------------------------------------------------------------

    async def put(self, path: str, data: bytes | AsyncIterable[bytes], mode: int = 0o644) -> None:
        """Writes a file, and creates the folders above it. Raises FileFault, as all of these do."""
        source = _pieces(data) if isinstance(data, bytes) else data
        await self._do(Files(work="put", path=self._place(path), mode=mode), source)

    async def get(self, path: str) -> AsyncGenerator[bytes, None]:
        """Yields the bytes of a regular file."""
        async with contextlib.aclosing(self._work(Files(work="get", path=self._place(path)))) as parts:
            async for part in parts:
                yield part

    async def list(self, path: str = ".", depth: int = 1) -> builtins.list[Entry]:
        """Returns the entries of a folder, and of its subfolders down to a depth; with depth 0, the path itself."""
        told = await self._do(Files(work="list", path=self._place(path), depth=depth))
        return [Entry(**entry) for entry in json.loads(told)]

    async def remove(self, path: str) -> None:
        """Removes a file, a link, or a folder with everything in it."""
        await self._do(Files(work="remove", path=self._place(path)))

    async def archive(self, path: str = ".") -> AsyncGenerator[bytes, None]:
        """Yields a tar stream of a folder's content, or of one file."""
        async with contextlib.aclosing(self._work(Files(work="archive", path=self._place(path)))) as parts:
            async for part in parts:
                yield part

    async def extract(self, path: str, data: AsyncIterable[bytes]) -> None:
        """Extracts a tar stream below a folder. Names that lead out of it and devices are refused."""
        await self._do(Files(work="extract", path=self._place(path)), data)

    async def snapshot(self, *, live: bool = False) -> AsyncGenerator[bytes, None]:
        """Yields a tar stream of all changes to the box's image. Its programs are stopped meanwhile, except with
        `live`.
        """
        if not live:
            await self.stop()
        try:
            async with contextlib.aclosing(self._work(Files(work="snapshot"))) as parts:
                async for part in parts:
                    yield part
        finally:
            if not live and self.fault is None:
                await self.resume()

    async def restore(self, data: AsyncIterable[bytes]) -> None:
        """Applies a snapshot to a fresh box of the same image."""
        await self._do(Files(work="restore"), data)

    def _place(self, path: str) -> str:
        return posixpath.join(self.folder, path)

    async def _do(self, files: Files, data: AsyncIterable[bytes] | None = None) -> bytes:
        async with contextlib.aclosing(self._work(files, data)) as parts:
            return b"".join([part async for part in parts])

    async def _work(self, files: Files, data: AsyncIterable[bytes] | None = None) -> AsyncGenerator[bytes, None]:
        """Works on files, and yields the output. Raises FileFault, HostError, and whatever `data` raises."""
        begun = await self.exec(Exec(files=files, stdin=data is not None, cwd="/"))
        feeding = asyncio.get_running_loop().create_task(begun.feed(data)) if data is not None else None
        said = b""
        try:
            try:
                async for output in begun:
                    if output.stream == "stdout":
                        yield output.data
                    else:
                        said = (said + output.data)[:_MOST_SAID]
            except HostError:
                if feeding is not None and feeding.done():
                    feeding.result()  # reading its input failed
                raise
            assert begun.report is not None
            self._judge(files, begun.report, said)
        finally:
            await _end(begun, feeding)

    def _judge(self, files: Files, report: Report, said: bytes) -> None:
        """Raises FileFault or HostError if work on files failed."""
        if report.status == "memory_limit":
            raise FileFault(files.path, errno.ENOMEM, os.strerror(errno.ENOMEM))
        try:
            told = json.loads(said)
            if report.status == "ok":
                self.dropped = int(told.get("dropped", 0))
                return
            fault = FileFault(_shown(str(told["path"])), int(told["errno"]), str(told["message"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise HostError(f"work on the box's files ended with {report.status}: {report.message}") from None
        raise fault


async def _end(begun: RemoteExec, feeding: asyncio.Task[None] | None) -> None:
    if feeding is not None:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    if begun.report is None:
        await begun.close()


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _PART):
        yield data[start : start + _PART]


def _shown(path: str) -> str:
    """Returns a path in the box as printable text, no matter what bytes it has, and how many."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN // 2]}…{text[-_MOST_SHOWN // 2 :]}"
