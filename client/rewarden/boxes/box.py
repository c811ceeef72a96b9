"""A box, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar, Union

from rewarden.boxes.call import BoxCall, BoxTransport, Content, Operation
from rewarden.boxes.notebook import AsyncNotebook
from rewarden.boxes.types import (
    BoxContent,
    BoxFile,
    BoxInfo,
    BoxLease,
    BoxRequest,
    BoxSnapshot,
    ExecOutput,
    ExecProgress,
    ExecRequest,
    ExecResult,
    ForkRequest,
    LeaseRequest,
    NotebookInfo,
    NotebookRequest,
    Right,
    ScoreRequest,
    SnapshotRequest,
    StepBegun,
    StepRequest,
)
from rewarden.boxes.wire import (
    answer,
    content,
    files_from_json,
    info_from_json,
    progress_from_json,
    result_from_json,
    to_json,
    understood_event,
)
from rewarden.errors import InternalError, InvalidRequest, NoRoom, Overloaded, Unavailable
from rewarden.retry import Retry, Tries
from rewarden.transports.base import understood
from rewarden.types import Limits, Text, Use, Verdict
from rewarden.wire.json import use_to_json, verdict_from_json

T = TypeVar("T")

Command = Union[str, Sequence[str]]
"""A program and its arguments, or a command line for the shell."""

_WAIT_S = 30
"""Seconds that one request waits for further output."""


class Desk:
    """The way to a server's boxes: makes calls, and retries those that the server refused before it did anything.

    A call that broke is never retried: it may have had its effect.
    """

    def __init__(self, transport: Callable[[], BoxTransport], retry: Retry, timeout_s: float | None) -> None:
        self.transport = transport
        self._retry = retry
        self.wait_s = _WAIT_S if timeout_s is None else max(0, min(_WAIT_S, int(timeout_s / 2)))

    async def call(self, call: BoxCall) -> Any:
        """Returns the answer. Raises RequestError."""
        return await self.tries(lambda: self.transport().box_call(call))

    async def tries(self, work: Callable[[], Awaitable[T]]) -> T:
        """Returns the result of an attempt. Raises RequestError."""
        tries = Tries(self._retry)
        while True:
            try:
                return await work()
            except (Overloaded, NoRoom) as error:
                await tries.failed(error)


class AsyncBox:
    """A box of a server. `async with client.box("python") as box:` opens one, and closes it at the end.

    id, info: of the open box, as of its opening. Each method raises `RequestError` subclasses: BoxEnded once the box
    has ended, with the reason. Any number of tasks can share a box.
    """

    def __init__(self, desk: Desk, asked: BoxRequest | None, info: BoxInfo | None, lease: str | None = None) -> None:
        self._desk = desk
        self._asked = asked
        self._info = info
        self._lease = lease

    @property
    def id(self) -> str:
        """Returns the box's id."""
        return self.info.id

    @property
    def info(self) -> BoxInfo:
        """Returns the box's state, as it was when it was opened."""
        if self._info is None:
            raise InvalidRequest("the box is not open: use `async with client.box(…)`, or open() it")
        return self._info

    async def __aenter__(self) -> AsyncBox:
        if self._info is None:
            await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._asked is not None:  # a box that was joined is not ours to close
            await self.close()

    async def open(self) -> AsyncBox:
        """Opens the box, and returns it."""
        if self._info is not None or self._asked is None:
            raise InvalidRequest("the box is already open")
        told = await self._desk.call(BoxCall(operation="open", value=to_json(self._asked)))
        self._info = understood(info_from_json, told)
        return self

    async def state(self) -> BoxInfo:
        """Returns the box's state and usage."""
        return understood(info_from_json, await self._call("get"))

    async def close(self) -> None:
        """Closes the box; everything that runs in it is killed. Closing twice has no effect."""
        await self._call("close")

    # --- programs

    async def exec(self, command: Command, **options: Any) -> ExecResult:
        """Runs a program and returns its result. options: `stdin`, `cwd`, `env`, `limits`; see `ExecRequest`."""
        return await self._exec(_request(command, **options))

    async def run(self, code: str, language: str = "python", **options: Any) -> ExecResult:
        """Runs source text in the box. options: as for `exec`."""
        return await self._exec(_request(None, code=code, language=language, **options))

    async def stream(self, command: Command, **options: Any) -> AsyncGenerator[ExecOutput | ExecResult, None]:
        """Runs a program; yields its output as it comes, then its result, whose output is empty. Closing the iterator
        kills the program."""
        call = self._made("exec", value=to_json(_request(command, **options)))
        ended = False
        async with aclosing(self._desk.transport().box_events(call)) as lines:
            async for line in lines:
                event = understood_event(line)
                if event is not None:
                    ended = isinstance(event, ExecResult)
                    yield event
        if not ended:
            raise Unavailable("the server's response ended before the program did")

    async def start(self, command: Command, *, feed: bool = False, **options: Any) -> AsyncProcess:
        """Starts a program in the background. feed: its input is written later. options: as for `exec`."""
        asked = _request(command, feed=feed, background=True, **options)
        told = await self._call("exec", value=to_json(asked))
        number = told.get("exec") if isinstance(told, dict) else None
        if type(number) is not int:
            raise InternalError("the server's response cannot be read: exec: must be a whole number")
        return AsyncProcess(self, number)

    async def _exec(self, asked: ExecRequest) -> ExecResult:
        return understood(result_from_json, await self._call("exec", value=to_json(asked)))

    # --- files

    async def notebook(
        self, kernel: str = "python", *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> AsyncNotebook:
        """Starts a notebook: a living interpreter."""
        told = await self._call("notebook", value=to_json(NotebookRequest(kernel=kernel, cwd=cwd, env=dict(env or {}))))
        info = understood(lambda told: answer(NotebookInfo, told), told)
        return AsyncNotebook(self._call, info.notebook)

    async def write(self, path: str, data: str | Content) -> None:
        """Writes a file; missing folders are made. path: absolute, or relative to the working folder."""
        await self._call("write", path=path, content=data.encode() if isinstance(data, str) else data)

    async def read(self, path: str) -> bytes:
        """Returns a file's bytes."""
        return b"".join([piece async for piece in self._bytes("read", path=path)])

    async def list(self, path: str = ".", depth: int = 1) -> list[BoxFile]:
        """Returns the entries of a folder."""
        return understood(files_from_json, await self._call("files", query={"path": path, "depth": depth}))

    async def remove(self, path: str) -> None:
        """Removes a file, a link, or a whole folder."""
        await self._call("remove", path=path)

    def archive(self, path: str = ".") -> AsyncGenerator[bytes, None]:
        """Yields a folder as a tar archive."""
        return self._bytes("archive", query={"path": path})

    async def extract(self, data: Content, path: str = ".") -> None:
        """Extracts a tar archive into a folder."""
        await self._call("extract", query={"path": path}, content=data)

    # --- copies, leases, verdicts

    async def fork(
        self, *, ttl_s: float | None = None, idle_s: float | None = None, rollout: str | None = None
    ) -> AsyncBox:
        """Returns a new box with a copy of the file system. The caller closes it."""
        asked = ForkRequest(ttl_s=ttl_s, idle_s=idle_s, rollout=rollout)
        told = understood(info_from_json, await self._call("fork", value=to_json(asked)))
        made = BoxRequest(image=told.image, rollout=told.rollout)
        return AsyncBox(self._desk, made, told, told.lease)

    async def snapshot(self, *, live: bool = False) -> BoxSnapshot:
        """Keeps a copy of the file system on the server; `client.box(…, snapshot=ID)` begins with it. live: the
        processes of the box go on meanwhile."""
        told = await self._call("snapshot", value=to_json(SnapshotRequest(live=live)))
        return understood(lambda told: answer(BoxSnapshot, told), told)

    async def lease(self, rights: Sequence[Right], *, expires_s: float = 600.0, rollout: str | None = None) -> BoxLease:
        """Returns a lease, with which another caller can use the box without a key."""
        asked = LeaseRequest(rights=tuple(rights), expires_s=expires_s, rollout=rollout)
        # `rights` has no default, and is therefore always sent.
        return understood(lambda told: answer(BoxLease, told), await self._call("lease", value=to_json(asked)))

    async def step(self, name: str) -> StepBegun:
        """Begins a further step of the box's task: lays its files, and runs its `setup.sh`."""
        # `step` has no default, and is therefore always sent.
        told = await self._call("step", value=to_json(StepRequest(step=name)))
        return understood(lambda told: answer(StepBegun, told), told)

    async def score(
        self,
        use: str | Mapping[str, Any] | Use,
        *,
        response: Text | None = None,
        response_file: str | None = None,
        reference: Any = None,
        prompt: Text | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Verdict:
        """Returns a verifier's verdict on a response, or on the text of a file in the box."""
        asked = ScoreRequest(
            use=use_to_json(use) if isinstance(use, Use) else use,
            response=response,
            response_file=response_file,
            reference=reference,
            prompt=prompt,
            metadata=metadata,
        )
        return understood(verdict_from_json, await self._call("score", value=to_json(asked)))

    # --- calls

    def _made(self, operation: Operation, **fields: Any) -> BoxCall:
        return BoxCall(operation=operation, box=self.id, lease=self._lease, **fields)

    async def _call(self, operation: Operation, **fields: Any) -> Any:
        call = self._made(operation, **fields)
        if call.content is not None and not isinstance(call.content, bytes):
            return await self._desk.transport().box_call(call)  # an iterator can be sent only once
        return await self._desk.call(call)

    def _bytes(self, operation: Operation, **fields: Any) -> AsyncGenerator[bytes, None]:
        return self._desk.transport().box_bytes(self._made(operation, **fields))


class AsyncProcess:
    """A program in the background of a box. number: in its box."""

    def __init__(self, box: AsyncBox, number: int) -> None:
        self._box = box
        self.number = number

    async def progress(self, after: int = 0, *, wait_s: int = 0) -> ExecProgress:
        """Returns its state, and the kept output from a position on. wait_s: seconds to wait for more (at most 60)."""
        query = {"after": after, "wait_s": wait_s}
        return understood(progress_from_json, await self._box._call("progress", number=self.number, query=query))

    async def output(self) -> AsyncGenerator[ExecOutput | ExecResult, None]:
        """Yields its kept output from the beginning as it comes, then its result."""
        after = 0
        while True:
            told = await self.progress(after, wait_s=self._box._desk.wait_s)
            for item in told.output:
                yield item
            after = told.next
            if told.state != "running":
                if told.result is not None:
                    yield told.result
                return
            if not self._box._desk.wait_s:
                await asyncio.sleep(0.1)

    async def wait(self) -> ExecResult:
        """Waits for its end. Returns its result with the output that was kept."""
        parts: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        async with aclosing(self.output()) as items:
            async for item in items:
                if isinstance(item, ExecResult):
                    stdout, stderr = (b"".join(parts[name]).decode(errors="replace") for name in ("stdout", "stderr"))
                    return replace(item, stdout=stdout, stderr=stderr)
                parts[item.stream].append(item.data)
        raise InternalError("the program ended without a result")

    async def write(self, data: str | Content, *, eof: bool = False) -> None:
        """Writes to its input, if it was started with `feed`. eof: and closes it."""
        sent = data.encode() if isinstance(data, str) else data
        await self._box._call("stdin", number=self.number, content=sent, query={"eof": int(eof)})

    async def close_stdin(self) -> None:
        """Closes its input."""
        await self.write(b"", eof=True)

    async def signal(self, signal: str | int) -> None:
        """Sends a signal (`INT`, 9) to it and its process group."""
        await self._box._call("signal", number=self.number, value={"signal": signal})

    async def kill(self) -> None:
        """Kills it, and forgets its output."""
        await self._box._call("kill", number=self.number)


def _request(
    command: Command | None,
    *,
    stdin: str | bytes | BoxContent | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
    **fields: Any,
) -> ExecRequest:
    if isinstance(command, str):
        fields["shell"] = command
    elif command is not None:
        fields["argv"] = tuple(command)
    if stdin is not None:
        fields["stdin"] = content(stdin)
    try:
        if limits is not None:
            fields["limits"] = limits if isinstance(limits, Limits) else Limits(**limits)
        return ExecRequest(**fields)
    except TypeError as error:
        raise InvalidRequest(f"exec: {str(error).partition(') ')[2] or error}") from None


def listed(told: Any) -> list[BoxInfo]:
    """Returns the boxes in an answer. Raises InternalError."""
    return [understood(info_from_json, each) for each in (told or {}).get("boxes") or ()]
