"""The boxes that verifiers open for themselves: a limited number at a time, in the order of the requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rewarden.errors import InvalidSample, SandboxError
from rewarden_sandboxes.box import BoxSpec, Exec
from rewarden_sandboxes.errors import BadJob, FileFault, HostError
from rewarden_sandboxes.job import Limits, Report
from rewarden_sandboxes.settings import cores
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_verifiers.boxes import BoxEntry, BoxFault, FreshBox, Requests

if TYPE_CHECKING:
    from rewarden_sandboxes.remote_box import RemoteBox

T = TypeVar("T")

_FOR_EACH_CORE = 2
"""Boxes at once, for each core: while the files of one are copied, the programs of others run."""


_LABEL = "verifier"
"""The name of verifiers' boxes in the record of the network."""


class BoxLane:
    """A `rewarden_verifiers.boxes.Boxes`. Used on one loop."""

    def __init__(self, sandbox: SandboxLane) -> None:
        self._sandbox = sandbox
        self._turns = asyncio.Semaphore(_FOR_EACH_CORE * cores())
        self._identities: dict[str, str] = {}
        self._shared: dict[str, _Shared] = {}

    @asynccontextmanager
    async def open(
        self, image: str, *, limits: Limits, env: Mapping[str, str], network: Sequence[str] = ()
    ) -> AsyncIterator[FreshBox]:
        """See `Boxes.open`."""
        spec = BoxSpec(image=image, limits=limits, env=dict(env), network=tuple(network), label=_LABEL)
        async with self._turns:
            with said_as_ours():
                remote = await self._sandbox.box(spec, patient=True)
            self._identities[image] = remote.image
            try:
                yield OpenedBox(remote)
            finally:
                remote.leave()

    async def identity(self, image: str, limits: Limits) -> str:
        """See `Boxes.identity`."""
        if image not in self._identities:
            async with self.open(image, limits=limits, env={}):
                pass
        return self._identities[image]

    async def together(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """See `Boxes.together`."""
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = _Shared(asyncio.get_running_loop().create_task(work()))
            shared.task.add_done_callback(lambda _: self._shared.pop(key, None))
        shared.waiting += 1
        try:
            return cast(T, await asyncio.shield(shared.task))
        finally:
            shared.waiting -= 1
            if not shared.waiting and not shared.task.done():
                self._shared.pop(key, None)
                shared.task.cancel()


@dataclass(slots=True)
class _Shared:
    """Work that several wait for. It is cancelled when the last of them leaves."""

    task: asyncio.Task[Any]
    waiting: int = 0


class OpenedBox:
    """A `rewarden_verifiers.boxes.FreshBox`."""

    def __init__(self, remote: RemoteBox) -> None:
        self._remote = remote

    @property
    def image_id(self) -> str:
        """See `FreshBox.image_id`."""
        return self._remote.image

    async def run(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], limits: Limits) -> Report:
        """See `FreshBox.run`."""
        with said_as_ours():
            return await self._remote.run(Exec(argv=tuple(argv), cwd=cwd, env=dict(env), limits=limits))

    async def start(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> None:
        """See `FreshBox.start`."""
        with said_as_ours():
            await self._remote.exec(Exec(argv=tuple(argv), cwd=cwd, env=dict(env)))

    async def stop(self) -> None:
        """See `FreshBox.stop`."""
        with said_as_ours():
            await self._remote.stop()

    async def resume(self) -> None:
        """See `FreshBox.resume`."""
        with said_as_ours():
            await self._remote.resume()

    async def processes(self) -> int:
        """See `FreshBox.processes`."""
        with said_as_ours():
            return (await self._remote.clock()).processes or 0

    async def requests(self) -> Requests:
        """See `FreshBox.requests`."""
        with said_as_ours():
            clock = await self._remote.clock()
        return Requests(clock.unserved, clock.refused)

    async def list(self, path: str, depth: int) -> Sequence[BoxEntry]:
        """See `FreshBox.list`."""
        with said_as_ours():
            return [BoxEntry(entry.path, entry.kind, entry.size) for entry in await self._remote.list(path, depth)]

    async def read(self, path: str, most: int) -> bytes:
        """See `FreshBox.read`."""
        data = b""
        with said_as_ours():
            async with contextlib.aclosing(self._remote.get(path)) as pieces:
                async for piece in pieces:
                    data += piece
                    if len(data) > most:
                        raise BoxFault(f"{path} has more than {most} bytes")
        return data

    async def extract(self, path: str, data: AsyncIterable[bytes]) -> None:
        """See `FreshBox.extract`."""
        with said_as_ours():
            await self._remote.extract(path, data)

    async def archive(self, path: str) -> AsyncGenerator[bytes, None]:
        """See `FreshBox.archive`."""
        with said_as_ours():
            async with contextlib.aclosing(self._remote.archive(path)) as pieces:
                async for piece in pieces:
                    yield piece

    async def changes(self) -> AsyncGenerator[bytes, None]:
        """See `LiveBox.changes`."""
        with said_as_ours():
            async with contextlib.aclosing(self._remote.snapshot()) as pieces:
                async for piece in pieces:
                    yield piece

    async def restore(self, data: AsyncIterable[bytes]) -> None:
        """See `FreshBox.restore`."""
        with said_as_ours():
            await self._remote.restore(data)


class JudgedBox(OpenedBox):
    """A `rewarden_verifiers.boxes.LiveBox`."""

    def __init__(
        self, remote: RemoteBox, image: str, task: str | None, trajectory: Callable[[str], bytes] | None
    ) -> None:
        super().__init__(remote)
        self._trajectory = trajectory
        self.image = image
        self.task = task
        self.disk_mb = remote.limits.disk_mb or 0

    def trajectory(self, instruction: str) -> bytes | None:
        """See `LiveBox.trajectory`."""
        return None if self._trajectory is None else self._trajectory(instruction)


@contextlib.contextmanager
def said_as_ours() -> Iterator[None]:
    """Raises the errors of hosts as those that verifiers know."""
    try:
        yield
    except FileFault as error:
        raise BoxFault(error.message) from None
    except BadJob as error:
        if error.path == "network":  # its names are the operator's, not the sample's
            raise SandboxError(f"a verifier's box: {error.message}") from None
        raise InvalidSample(f"{error.path or 'the box'}: {error.message}", path=error.path) from None
    except HostError as error:
        raise SandboxError(error.message) from None
