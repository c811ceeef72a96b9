"""The caller's side of an exec in a box."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import replace

from rewarden_sandboxes.box import Output
from rewarden_sandboxes.codec import box_event_from_answer
from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.exchange import Exchange
from rewarden_sandboxes.job import Report
from rewarden_sandboxes.talk import Talk
from rewarden_sandboxes.v1 import sandbox_pb2 as pb


class RemoteExec(Exchange[Output]):
    """A program in a box. Iteration yields its output as it arrives; afterwards `report` says how it ended."""

    def __init__(self, talk: Talk, number: int, message: pb.Exec) -> None:
        super().__init__(talk, pb.Order(id=number, exec=message), box_event_from_answer, "exec")

    @property
    def number(self) -> int:
        """Returns its number, which is unique in the box."""
        return self._number

    async def __aiter__(self) -> AsyncIterator[Output]:
        """Yields its output. Raises HostError if it is lost or its box is closed."""
        while (output := await self._next()) is not None:
            yield output

    async def finish(self) -> Report:
        """Read the rest of its output. Returns its report with that output. Raises as iteration does."""
        found: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        async for output in self:
            found[output.stream].append(output.data)
        assert self.report is not None
        return replace(self.report, stdout=b"".join(found["stdout"]), stderr=b"".join(found["stderr"]))

    async def feed(self, data: AsyncIterable[bytes]) -> None:
        """Write all of this to its stdin, then close that. A program that has stopped reading does not block this; an
        error of `data` kills it.
        """
        try:
            async for part in data:
                try:
                    await self.send(part)
                except HostError:  # it has ended, as its reader will notice
                    return
        except BaseException:
            self.leave()
            raise
        self.close_stdin()

    def close_stdin(self) -> None:
        """Close its stdin."""
        if not self._over:
            self._talk.order(pb.Order(id=self._number, eof=True))

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to its process, or to its whole process group."""
        if not self._over:
            self._talk.order(pb.Order(id=self._number, signal=pb.Signal(number=number, group=group)))
