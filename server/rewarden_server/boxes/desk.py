"""A caller's operations on boxes, as all transports offer them: JSON values and bytes in and out."""

from __future__ import annotations

import base64
import contextlib
import signal
from collections.abc import AsyncGenerator, AsyncIterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rewarden.boxes.call import BoxCall
from rewarden.boxes.types import (
    BoxRequest,
    CellRequest,
    ExecRequest,
    ForkRequest,
    LeaseRequest,
    NotebookRequest,
    Right,
    ScoreRequest,
    SnapshotRequest,
    StepRequest,
)
from rewarden.boxes.wire import output_to_json, progress_to_json, result_to_json, to_json
from rewarden.errors import InvalidRequest
from rewarden.wire.json import verdict_to_json
from rewarden_server.access.caller import Caller, charged, detail
from rewarden_server.boxes.box import Box
from rewarden_server.boxes.notebooks import Notebooks
from rewarden_server.boxes.registry import no_lease
from rewarden_server.boxes.requests import request_of, whole_in
from rewarden_server.boxes.running import Running
from rewarden_server.boxes.scoring import score

if TYPE_CHECKING:
    from rewarden_sandboxes.box import Entry
    from rewarden_server.service import Service

WAIT_S = 60
"""The longest that a call may wait for more output of a background program, in seconds."""

MOST_BYTES = 2**62
DEPTH = 64


class Desk:
    """Serves one caller. Every method raises RequestError."""

    def __init__(self, service: Service, caller: Caller, surface: str) -> None:
        self._service = service
        self._boxes = service.boxes
        self._notebooks = Notebooks(service.boxes)
        self._caller = caller
        self._surface = surface
        self._counted_s = 0.0

    @property
    def counted_s(self) -> float:
        """Returns how long foreground programs and cells ran or were idle, in seconds, as measured by the hosts."""
        return self._counted_s + self._notebooks.counted_s

    def left_s(self, box: Box) -> float:
        """Returns the seconds until a box expires; below 0 afterwards."""
        return self._boxes.left_s(box)

    def box(self, id: str, right: Right) -> Box:
        """Returns a box if the caller has this right in it."""
        detail(box=id[:100])
        box = self._boxes.find(id, self._caller, right)
        if box.rollout is not None:
            detail(rollout=box.rollout[:100])
        return box

    # --- boxes

    async def open(self, call: BoxCall) -> dict[str, Any]:
        """Returns a new box."""
        no_lease(self._caller)
        asked = request_of(BoxRequest, call.value or {})
        with charged(1):
            box = await self._boxes.open(asked, self._caller.name)
        detail(box=box.id)
        return to_json(box.info())

    async def list(self, call: BoxCall) -> dict[str, Any]:
        """Returns the caller's open boxes."""
        return {"boxes": [to_json(info) for info in self._boxes.listed(self._caller)]}

    async def get(self, call: BoxCall) -> dict[str, Any]:
        """Returns a box with its usage."""
        return to_json(await self._boxes.info(self.box(call.box, "read")))

    async def close(self, call: BoxCall) -> None:
        """Closes a box."""
        detail(box=call.box[:100])
        await self._boxes.close(call.box, self._caller)

    # --- programs

    async def exec(self, call: BoxCall) -> dict[str, Any]:
        """Runs a program and returns its result, or starts it in the background and returns its number."""
        box = self.box(call.box, "exec")
        asked = request_of(ExecRequest, call.value)
        with charged(1):
            async with self._boxes.using(box):
                running = await self._boxes.begin(box, asked)
                if asked.background:
                    return {"exec": running.number}
                try:
                    return result_to_json(await running.whole())
                finally:
                    self._counted_s += running.counted_s
                    await self._boxes.finish(box, running)

    async def events(self, call: BoxCall, stdin: AsyncIterable[bytes] | None = None) -> AsyncGenerator[Any, None]:
        """Yields a program's output as it arrives, then its result. stdin: its input, fed while it runs."""
        box = self.box(call.box, "exec")
        asked = request_of(ExecRequest, call.value)
        if asked.background:
            raise InvalidRequest("background: the output of a program in the background is not streamed; ask for it")
        with charged(1):
            async with self._boxes.using(box):
                running = await self._boxes.begin(box, asked, streams=True)
                if stdin is not None:
                    running.feed_beside(stdin)
                try:
                    yield {"begun": {"exec": running.number}}
                    async for output in running.output():
                        yield output_to_json(output)
                    assert running.result is not None
                    yield {"ended": result_to_json(running.result)}
                finally:
                    await self._boxes.finish(box, running)

    async def progress(self, call: BoxCall) -> dict[str, Any]:
        """Returns the kept output of a background program, and its result if it has ended."""
        box, running = self._running(call)
        after = whole_in(call.query, "after", 0, MOST_BYTES, 0)
        wait_s = whole_in(call.query, "wait_s", 0, WAIT_S, 0)
        async with self._boxes.using(box) as remote:
            if wait_s:
                await running.change(after, wait_s)
            if running.failure is not None:
                raise remote.fault or running.failure
            return progress_to_json(running.progress(after))

    async def stdin(self, call: BoxCall) -> None:
        """Writes to a program's input."""
        box, running = self._running(call)
        eof = whole_in(call.query, "eof", 0, 1, 0)
        async with self._boxes.using(box):
            await self._boxes.feed(box, running, _pieces_in(call), eof=bool(eof))

    async def signal(self, call: BoxCall) -> None:
        """Sends a signal to a program and its process group."""
        box, running = self._running(call)
        number = _signal((call.value or {}).get("signal"))
        async with self._boxes.using(box):
            running.signal(number, group=True)

    async def kill(self, call: BoxCall) -> None:
        """Kills a program, and forgets its output."""
        box, running = self._running(call)
        async with self._boxes.using(box):
            await self._boxes.finish(box, running)

    def _running(self, call: BoxCall) -> tuple[Box, Running]:
        box = self.box(call.box, "exec")
        return box, self._boxes.running(box, call.number or 0)

    # --- notebooks

    async def notebook(self, call: BoxCall) -> dict[str, Any]:
        """Starts a notebook."""
        box = self.box(call.box, "exec")
        with charged(1):
            return to_json(await self._notebooks.open(box, request_of(NotebookRequest, call.value or {})))

    async def notebooks(self, call: BoxCall) -> dict[str, Any]:
        """Returns the notebooks of a box."""
        return {"notebooks": [to_json(each) for each in self._notebooks.listed(self.box(call.box, "exec"))]}

    async def cell(self, call: BoxCall) -> dict[str, Any]:
        """Runs a cell."""
        box = self.box(call.box, "exec")
        with charged(1):
            return to_json(await self._notebooks.run(box, call.number or 0, request_of(CellRequest, call.value)))

    async def interrupt(self, call: BoxCall) -> dict[str, Any]:
        """Interrupts the running cell."""
        return {"interrupted": await self._notebooks.interrupt(self.box(call.box, "exec"), call.number or 0)}

    async def restart(self, call: BoxCall) -> dict[str, Any]:
        """Gives a notebook a new kernel."""
        return to_json(await self._notebooks.restart(self.box(call.box, "exec"), call.number or 0))

    async def variables(self, call: BoxCall) -> dict[str, Any]:
        """Returns the variables of a notebook."""
        found = await self._notebooks.variables(self.box(call.box, "exec"), call.number or 0)
        return {"variables": [to_json(each) for each in found]}

    async def end(self, call: BoxCall) -> None:
        """Ends a notebook."""
        await self._notebooks.end(self.box(call.box, "exec"), call.number or 0)

    # --- files

    async def files(self, call: BoxCall) -> dict[str, Any]:
        """Returns the entries of a folder."""
        box = self.box(call.box, "files")
        depth = whole_in(call.query, "depth", 0, DEPTH, 1)
        async with self._boxes.using(box) as remote:
            found = await remote.list(_place(call.query), depth)
        return {"files": [_file(each) for each in found]}

    async def read(self, call: BoxCall) -> AsyncGenerator[bytes, None]:
        """Yields a file's bytes."""
        box = self.box(call.box, "files")
        async with self._boxes.using(box) as remote, contextlib.aclosing(remote.get(_path(call))) as pieces:
            async for piece in pieces:
                yield piece

    async def write(self, call: BoxCall) -> None:
        """Writes a file."""
        async with self._boxes.using(self.box(call.box, "files")) as remote:
            await remote.put(_path(call), _pieces_in(call))

    async def remove(self, call: BoxCall) -> None:
        """Removes a file or a folder."""
        async with self._boxes.using(self.box(call.box, "files")) as remote:
            await remote.remove(_path(call))

    async def archive(self, call: BoxCall) -> AsyncGenerator[bytes, None]:
        """Yields a folder as a tar archive."""
        box = self.box(call.box, "files")
        async with self._boxes.using(box) as remote, contextlib.aclosing(remote.archive(_place(call.query))) as pieces:
            async for piece in pieces:
                yield piece

    async def extract(self, call: BoxCall) -> None:
        """Extracts a tar archive."""
        async with self._boxes.using(self.box(call.box, "files")) as remote:
            await remote.extract(_place(call.query), _pieces_in(call))

    # --- copies, leases, verdicts

    async def fork(self, call: BoxCall) -> dict[str, Any]:
        """Returns a new box with a copy of the file system."""
        box = self.box(call.box, "fork")
        lease = self._caller.lease
        made = await self._boxes.fork(box, request_of(ForkRequest, call.value or {}), lease)
        detail(fork=made.id)
        info = made.info()
        if lease is not None:
            info = replace(info, lease=self._boxes.renewed(lease, made))
        return to_json(info)

    async def snapshot(self, call: BoxCall) -> dict[str, Any]:
        """Keeps a copy of the file system."""
        box = self.box(call.box, "snapshot")
        made = await self._boxes.snapshot(box, live=request_of(SnapshotRequest, call.value or {}).live)
        detail(snapshot=made.snapshot)
        return to_json(made)

    async def snapshots(self, call: BoxCall) -> dict[str, Any]:
        """Returns the caller's snapshots."""
        no_lease(self._caller)
        return {"snapshots": [to_json(each) for each in await self._boxes.snapshots.listed(self._caller.name)]}

    async def forget(self, call: BoxCall) -> None:
        """Deletes a snapshot."""
        no_lease(self._caller)
        await self._boxes.snapshots.delete(call.box, self._caller.name)

    async def lease(self, call: BoxCall) -> dict[str, Any]:
        """Signs a lease."""
        no_lease(self._caller)
        box = self.box(call.box, "read")
        made = self._boxes.lease(box, request_of(LeaseRequest, call.value), self._caller)
        detail(rights=list(made.rights))
        return to_json(made)

    async def step(self, call: BoxCall) -> dict[str, Any]:
        """Begins a step of the box's task."""
        box = self.box(call.box, "score")
        asked = request_of(StepRequest, call.value)
        with charged(1):
            return to_json(await self._boxes.step(box, asked.step))

    async def score(self, call: BoxCall) -> dict[str, Any]:
        """Returns a verdict."""
        box = self.box(call.box, "score")
        return verdict_to_json(await score(self._service, box, request_of(ScoreRequest, call.value), self._surface))


def _file(entry: Entry) -> dict[str, Any]:
    """Returns an entry as a `BoxFile`. Programs choose the bytes of its name and target; most JSON readers reject a
    lone surrogate, and would then get no entry of the folder at all."""
    told: dict[str, Any] = {"kind": entry.kind, "size": entry.size, "mode": entry.mode}
    for name, text in (("name", entry.path), ("target", entry.target)):
        if text is not None:
            data = text.encode("utf-8", "surrogateescape")
            told[name] = data.decode("utf-8", "replace")
            if told[name] != text:
                told[f"{name}_base64"] = base64.b64encode(data).decode()
    return told


async def _nothing() -> AsyncGenerator[bytes, None]:
    return
    yield b""


async def _one(data: bytes) -> AsyncGenerator[bytes, None]:
    yield data


def _pieces_in(call: BoxCall) -> AsyncIterable[bytes]:
    if call.content is None:
        return _nothing()
    return _one(call.content) if isinstance(call.content, bytes) else call.content


def _path(call: BoxCall) -> str:
    if not call.path:
        raise InvalidRequest("path: is missing", path="path")
    return call.path


def _place(query: Mapping[str, Any]) -> str:
    found = query.get("path")
    return found if isinstance(found, str) and found else "."


def _signal(given: Any) -> int:
    """Returns a signal's number, by its name with or without SIG, or by its number."""
    try:
        if isinstance(given, str):
            return int(signal.Signals[given if given.startswith("SIG") else f"SIG{given}"])
        if type(given) is int:
            return int(signal.Signals(given))
    except (KeyError, ValueError):
        pass
    raise InvalidRequest("signal: must be a signal's name, such as INT, or its number", path="signal")
